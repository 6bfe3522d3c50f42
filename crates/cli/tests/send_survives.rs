//! `eagre send` and `eagre receive`, and trouble: broken connections, processes that are killed or stopped, full disks.
#![forbid(unsafe_code)]

mod common;

#[path = "common/remote.rs"]
mod remote;

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use common::{eagre, names, on_a_small_disk, seeded};
use remote::{assert_arrives, fine, folders, noise, run, start, transfer};
use rustix::process::Signal;
use serde_json::Value;

/// Between the two sides: passes on what comes, and cuts each of the first `cuts` connections that carries more than 700 kB.
fn cutting_proxy(to: String, cuts: u32) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let left = Arc::new(AtomicU32::new(cuts));
    thread::spawn(move || {
        for caller in listener.incoming() {
            let Ok(caller) = caller else { return };
            let Ok(called) = TcpStream::connect(&to) else { continue };
            for (from, to) in [(&caller, &called), (&called, &caller)] {
                let (from, to, left) = (from.try_clone().unwrap(), to.try_clone().unwrap(), left.clone());
                thread::spawn(move || pass_on(from, to, &left));
            }
        }
    });
    address
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, left: &AtomicU32) {
    let (mut passed, mut buffer) = (0, vec![0; 1 << 16]);
    while let Ok(now @ 1..) = from.read(&mut buffer) {
        passed += now;
        let one_less = |left: u32| left.checked_sub(1);
        if passed > 700_000 && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok() {
            let _ = from.shutdown(Shutdown::Both);
            let _ = to.shutdown(Shutdown::Both);
            return;
        }
        if to.write_all(&buffer[..now]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// Nobody notices but by the wait.
#[test]
fn broken_connections_are_made_again() {
    let [from, to] = folders();
    fs::write(from.path().join("a"), noise(6 << 20)).unwrap();
    for security in [&[][..], &["--token", "token"]] {
        for folder in [&from, &to] {
            fs::write(folder.path().join("token"), "a secret of this test and no other").unwrap();
            fs::set_permissions(folder.path().join("token"), Permissions::from_mode(0o600)).unwrap();
        }
        for receiver_calls in [false, true] {
            let (listens, calls) = if receiver_calls { (&from, &to) } else { (&to, &from) };
            let side = |sends: bool| if sends { ["send", "--retry", "60"] } else { ["receive", "--retry", "60"] };
            let file = |sends: bool| sends.then_some(["--streams", "3", "a"]).into_iter().flatten();
            let listening = ["--listen", "127.0.0.1:0"].into_iter().chain(file(receiver_calls));
            let mut waiting = start(
                listens.path(),
                side(receiver_calls).into_iter().chain(security.iter().copied()).chain(listening),
            );
            let proxy = cutting_proxy(waiting.address(), 5);
            let calling = if receiver_calls { vec!["--connect", &proxy] } else { vec!["a", &proxy] };
            let calling = side(!receiver_calls).into_iter().chain(security.iter().copied()).chain(calling);
            assert_eq!((start(calls.path(), calling).end(), waiting.end()), (fine(), fine()));
            assert!(fs::read(from.path().join("a")).unwrap() == fs::read(to.path().join("a")).unwrap());
            fs::remove_file(to.path().join("a")).unwrap();
        }
    }
}

/// Killed in the middle, either side: without `--resume` nothing is there; with it, the next transfer goes on.
#[test]
fn killed_in_the_middle() {
    let content = noise(6 << 20);
    for resume in [false, true] {
        for killed in ["sender", "receiver"] {
            let [from, to] = folders();
            fs::write(from.path().join("a"), &content).unwrap();
            fs::write(to.path().join("a"), "old").unwrap();
            let mut own = vec!["receive", "--listen", "127.0.0.1:0", "--retry", "1"];
            own.extend(resume.then_some("--resume"));
            let mut receiver = start(to.path(), &own);
            let address = receiver.address();
            let streams = if resume == (killed == "sender") { "3" } else { "1" };
            let options = ["send", "--retry", "1", "--limit", "4M", "--streams", streams];
            let sender = start(from.path(), options.into_iter().chain(["a", &address]));
            receiver.wait_until_written(2 << 20);
            let survivor = match killed {
                "sender" => {
                    sender.kill();
                    receiver
                }
                _ => {
                    receiver.kill();
                    sender
                }
            };
            let (code, _, err) = survivor.end();
            assert_eq!((code, err.lines().count()), (Some(2), 1), "{killed}: {err}");
            let expected = if resume { &[".a.eagre-part", "a"][..] } else { &["a"] };
            assert_eq!(names(to.path()), expected, "{killed}");
            assert_eq!(fs::read(to.path().join("a")).unwrap(), b"old");
            if !resume {
                continue;
            }
            let (sent, received) = transfer(
                from.path(),
                &["--json", "--streams", streams],
                &["a".as_ref()],
                to.path(),
                &["--json", "--resume"],
            );
            for (code, out, err) in [sent, received] {
                assert_eq!((code, err.as_str()), (Some(0), ""));
                let json: Value = serde_json::from_slice(&out).unwrap();
                assert!(json["resumed"].as_u64().unwrap() >= 1 << 20, "{json}");
                assert_eq!(json["files"][0]["blake3"], blake3::hash(&content).to_hex().as_str());
            }
            assert_eq!(names(to.path()), ["a"]);
            assert!(fs::read(to.path().join("a")).unwrap() == content);
        }
    }
}

/// Killed again and again at random moments, either side first, it comes to its end and everything is right. The variable
/// `EAGRE_KILLS` says how often.
#[test]
fn killed_again_and_again() {
    let kills = std::env::var("EAGRE_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(10);
    let [from, to] = folders();
    fs::create_dir_all(from.path().join("t/d")).unwrap();
    for (name, size) in [("t/a", 300_000), ("t/b", 5 << 20), ("t/d/c", 70_000), ("t/d/e", 9 << 20), ("t/f", 1)] {
        fs::write(from.path().join(name), noise(size)).unwrap();
    }
    let mut random = seeded(9);
    for _ in 0..kills {
        let mut receiver = start(to.path(), ["receive", "--listen", "127.0.0.1:0", "--resume"]);
        let address = receiver.address();
        let sender = start(from.path(), ["send", "--limit", "32M", "t", &address]);
        receiver.wait_until_written_or_ended(random.u64(..2 << 20));
        let (first, second) = if random.bool() { (sender, receiver) } else { (receiver, sender) };
        for one in [first, second] {
            one.signal(Signal::KILL);
            drop(one.end());
        }
    }
    assert_arrives(from.path(), &[], &["t"], to.path(), &["--resume"]);
    for name in ["t/a", "t/b", "t/d/c", "t/d/e", "t/f"] {
        assert!(fs::read(from.path().join(name)).unwrap() == fs::read(to.path().join(name)).unwrap(), "{name}");
    }
    assert_eq!(names(&to.path().join("t")), ["a", "b", "d", "f"]);
    assert_eq!(names(&to.path().join("t/d")), ["c", "e"]);
}

/// What is there already does not travel again, unless it is another file.
#[test]
fn resuming_compares() {
    let [from, to] = folders();
    let content = noise(2 << 20);
    for name in ["whole", "part", "other", "long"] {
        fs::write(from.path().join(name), &content).unwrap();
    }
    fs::write(to.path().join(".part.eagre-part"), &content[..1 << 20]).unwrap();
    fs::write(to.path().join(".other.eagre-part"), noise(1 << 20)).unwrap();
    fs::write(to.path().join(".long.eagre-part"), [&content[..], b"more"].concat()).unwrap();
    fs::write(from.path().join("changed"), noise(77)).unwrap();
    fs::write(to.path().join("changed"), [7; 77]).unwrap();
    fs::write(to.path().join("whole"), &content).unwrap();
    for name in ["whole", "changed"] {
        let time = fs::metadata(from.path().join(name)).unwrap().modified().unwrap();
        File::options().write(true).open(to.path().join(name)).unwrap().set_modified(time).unwrap();
    }
    let inode = fs::metadata(to.path().join("whole")).unwrap().ino();
    let all: Vec<_> = ["whole", "part", "other", "long", "changed"].iter().map(OsStr::new).collect();
    let (sent, (code, out, err)) = transfer(from.path(), &[], &all, to.path(), &["--json", "--resume"]);
    assert_eq!((sent, code, err.as_str()), (fine(), Some(0), ""));
    let json: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(json["resumed"].as_u64(), Some(3 << 20), "{json}");
    assert_eq!(names(to.path()), ["changed", "long", "other", "part", "whole"]);
    assert!(fs::read(to.path().join("changed")).unwrap() == noise(77));
    for name in ["whole", "part", "other", "long"] {
        assert!(fs::read(to.path().join(name)).unwrap() == content, "{name}");
    }
    assert_eq!(fs::metadata(to.path().join("whole")).unwrap().ino(), inode);
    // An unfinished file that is a link is not followed.
    fs::remove_file(to.path().join("part")).unwrap();
    fs::write(to.path().join("precious"), "x").unwrap();
    symlink("precious", to.path().join(".part.eagre-part")).unwrap();
    let (_, (code, _, err)) = transfer(from.path(), &[], &["part".as_ref()], to.path(), &["--resume"]);
    assert_eq!((code, err.lines().count()), (Some(2), 1), "{err}");
    assert_eq!(fs::read(to.path().join("precious")).unwrap(), b"x");
}

/// Stopped by a signal, either side leaves nothing, and the other hears of it at once.
#[test]
fn stopped_it_leaves_nothing() {
    for stopped in ["send", "receive"] {
        let [from, to] = folders();
        fs::write(from.path().join("a"), noise(12 << 20)).unwrap();
        let mut receiver = start(to.path(), ["receive", "--listen", "127.0.0.1:0", "--retry", "600"]);
        let address = receiver.address();
        let sender = start(from.path(), ["send", "--retry", "600", "--limit", "4M", "a", &address]);
        receiver.wait_until_written(1 << 20);
        let (place, first, second) = match stopped {
            "send" => (&*address, sender, receiver),
            _ => ("127.0.0.1:0", receiver, sender),
        };
        first.signal(Signal::TERM);
        let (code, _, err) = first.end();
        assert_eq!((code, err), (Some(2), format!("eagre: {stopped}: {place}: it was stopped by SIGTERM\n")));
        // It would try again for ten minutes.
        let (code, _, err) = second.end();
        assert_eq!((code, err.lines().count()), (Some(2), 1), "{err}");
        assert!(err.ends_with(": the other side gave up: it was cancelled\n"), "{err}");
        assert_eq!(names(to.path()), [""; 0]);
    }
}

#[test]
fn a_full_disk() {
    let from = tempfile::tempdir().unwrap();
    fs::write(from.path().join("a"), noise(8 << 20)).unwrap();
    let sender = |arguments: &[&str], stdin: Option<File>| {
        let mut command = eagre();
        command.current_dir(from.path()).args(["send", "--listen", "127.0.0.1:0", "--retry", "1"]).args(arguments);
        if let Some(stdin) = stdin {
            command.stdin(stdin);
        }
        let mut sender = run(command);
        let address = sender.address();
        (sender, address)
    };
    // Known beforehand, and seen in the middle, where what is written is kept.
    for (resume, left) in [("", "mounted\n"), ("--resume", ".a.eagre-part\nmounted\n")] {
        let (sender, address) = sender(&["a"], None);
        let script = format!("\"$EAGRE\" receive {resume} --retry 1 --connect {address}; ls -A");
        let Some(output) = on_a_small_disk("4M", &script) else {
            sender.signal(Signal::KILL);
            drop(sender.end());
            return;
        };
        let full = "No space left on device";
        let (_, out, err) = common::parts(&output);
        assert_eq!((out.as_str(), err), (left, format!("eagre: receive: a: {full}; make room, or write elsewhere\n")));
        let (code, _, err) = sender.end();
        assert_eq!((code, err.lines().count()), (Some(2), 1), "{err}");
        assert!(err.starts_with("eagre: send: ") && err.contains(&format!("a: {full}")), "{err}");
    }
}

#[test]
fn a_limit_on_the_size_of_files() {
    let [from, to] = folders();
    fs::write(from.path().join("a"), noise(3 << 20)).unwrap();
    fs::write(from.path().join("b"), "1").unwrap();
    let mut sender = start(from.path(), ["send", "--listen", "127.0.0.1:0", "a", "b"]);
    let address = sender.address();
    let script = format!("ulimit -f 1024 && exec '{}' receive --connect {address}", env!("CARGO_BIN_EXE_eagre"));
    let mut receiver = Command::new("bash");
    receiver.args(["-c", &script]).current_dir(to.path()).stdin(Stdio::null());
    let (code, _, err) = run(receiver).end();
    let what =
        "eagre: receive: a: File too large; raise 'ulimit -f', or write to a file system that takes larger files\n";
    assert_eq!((code, err.as_str()), (Some(2), what));
    let (code, _, err) = sender.end();
    assert_eq!((code, err.as_str()), (Some(2), "eagre: send: a: not taken by the other side: File too large\n"));
    assert_eq!(names(to.path()), ["b"], "the next file may be smaller");
}

#[test]
fn nobody_reads_standard_output() {
    let [from, to] = folders();
    fs::write(from.path().join("a"), noise(3 << 20)).unwrap();
    let mut sender = start(from.path(), ["send", "--listen", "127.0.0.1:0", "--retry", "1", "a"]);
    let address = sender.address();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut receiver = eagre();
    receiver.current_dir(to.path()).args(["receive", "--connect", &address, "-"]).stdout(writer);
    let output = receiver.output().unwrap();
    assert_eq!(common::parts(&output), (0, String::new(), String::new()));
    assert_eq!(sender.end().0, Some(2));
}
