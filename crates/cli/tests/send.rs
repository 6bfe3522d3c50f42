//! `eagre send` and `eagre receive`: two processes over loopback, and what arrives.
#![forbid(unsafe_code)]

mod common;

#[path = "common/remote.rs"]
mod remote;
#[path = "common/trees.rs"]
mod trees;

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use common::{eagre, names, seeded};
use remote::{assert_arrives, fine, folders, noise, run, start, transfer};
use rustix::process::Signal;
use serde_json::Value;

#[test]
fn files_of_every_size() {
    let [from, to] = folders();
    let sizes = [0, 1, 4096, (1 << 20) - 9, 1 << 20, (3 << 20) + 77];
    let names: Vec<_> = sizes.iter().map(|size| format!("of {size} bytes")).collect();
    for (size, name) in sizes.iter().zip(&names) {
        fs::write(from.path().join(name), noise(*size)).unwrap();
    }
    let sources: Vec<_> = names.iter().map(String::as_str).collect();
    assert_arrives(from.path(), &[], &sources, to.path(), &[]);
    for name in &names {
        assert!(fs::read(from.path().join(name)).unwrap() == fs::read(to.path().join(name)).unwrap(), "{name}");
    }
    assert_eq!(common::names(to.path()), common::names(from.path()), "and nothing else");
}

/// Everything that a tree may have, but for special files.
#[test]
fn trees_with_odd_names() {
    let [from, to] = folders();
    let tree = from.path().join("tree");
    trees::grow(&mut seeded(1), &tree, 2, true);
    // Links that lead out of the tree are for another test.
    let leads_out = |path: &Path| {
        let to = fs::read_link(path).unwrap_or_default();
        to.is_absolute() || to.starts_with("..") && path.parent() == Some(&tree)
    };
    let links: Vec<_> = trees::look(&tree).into_keys().map(|path| tree.join(path)).collect();
    for link in links {
        if link.is_symlink() && (leads_out(&link) || fs::read_link(&link).unwrap().starts_with("../..")) {
            fs::remove_file(&link).unwrap();
            symlink("b", &link).unwrap();
            trees::set_time(&link, 1_000_000_000);
        }
    }
    let plain = |path: &Path| {
        let mut seen = trees::look(path);
        for one in seen.values_mut() {
            // Owners and extended attributes do not travel, nor the times of links.
            one.attributes.clear();
            one.owner = (0, 0);
            if one.kind == 0o120_000 {
                one.time = (0, 0);
            }
        }
        seen
    };
    let before = plain(&tree);
    assert!(before.len() > 30, "{}", before.len());
    // The umask of this process is that of its children; modes are kept less the umask.
    let umask = rustix::process::umask(rustix::fs::Mode::empty());
    rustix::process::umask(umask);
    for (send, receive) in [(&[][..], &[][..]), (&["--compress", "auto"], &["--resume"])] {
        assert_arrives(from.path(), send, &["tree"], to.path(), receive);
        let mut expected = before.clone();
        for one in expected.values_mut().filter(|one| one.kind != 0o120_000) {
            one.mode &= !umask.bits();
        }
        trees::assert_alike(&plain(&to.path().join("tree")), &expected, "what arrived");
    }
    // What is in a directory, without the directory.
    fs::create_dir(to.path().join("inside")).unwrap();
    assert_arrives(&tree, &[], &["."], &to.path().join("inside"), &[]);
    let inside = |path: &Path| plain(path).into_keys().collect::<Vec<_>>();
    assert_eq!(inside(&to.path().join("inside")), inside(&tree));
}

#[test]
fn digests_are_those_of_the_contents() {
    let [from, to] = folders();
    let content = noise(2_500_000);
    fs::create_dir(from.path().join("d")).unwrap();
    fs::write(from.path().join("d/a"), &content).unwrap();
    fs::write(from.path().join(OsStr::from_bytes(b"d/\xff")), b"").unwrap();
    let (sent, received) = transfer(from.path(), &["--json"], &["d".as_ref()], to.path(), &["--json"]);
    for (code, out, err) in [sent, received] {
        assert_eq!((code, err.as_str()), (Some(0), ""));
        let json: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!((json["bytes"].as_u64(), json["failed"].as_u64()), (Some(2_500_000), Some(0)));
        let mut files = json["files"].as_array().unwrap().clone();
        // Several threads let files appear.
        files.sort_by_key(|file| file["bytes"].as_u64() == Some(0));
        assert_eq!(files.len(), 2);
        assert_eq!(files[0]["file"], "d/a");
        assert_eq!(files[0]["blake3"], blake3::hash(&content).to_hex().as_str());
        assert_eq!(files[1]["file_hex"], "642fff");
        assert_eq!(files[1]["blake3"], blake3::hash(b"").to_hex().as_str());
    }
}

/// Over several connections the same arrives, and the rate is that of all together.
#[test]
fn several_connections() {
    let [from, to] = folders();
    fs::write(from.path().join("a"), noise(9 << 20)).unwrap();
    let began = std::time::Instant::now();
    let send = ["--streams", "3", "--limit", "9M", "--compress", "auto"];
    assert_arrives(from.path(), &send, &["a"], to.path(), &[]);
    assert!(fs::read(from.path().join("a")).unwrap() == fs::read(to.path().join("a")).unwrap());
    assert!(began.elapsed() > Duration::from_millis(800), "{:?}", began.elapsed());
    for number in ["0", "17", "many"] {
        let (code, _, err) = start(from.path(), ["send", "--streams", number, "a", "localhost"]).end();
        assert_eq!(code, Some(2));
        assert!(err.contains("--streams"), "{err}");
    }
}

/// Who calls does not decide who sends.
/// Contents by RDMA, where there is libfabric.
#[test]
fn by_rdma() {
    let doctor = eagre().args(["doctor", "--json"]).output().unwrap();
    let doctor: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    if doctor["facts"]["libfabric"]["value"] == "none" {
        eprintln!("skipped: {}", doctor["facts"]["libfabric"]["why"]);
        return;
    }
    for how in ["tcp", "shm,copy,unchecked"] {
        let [from, to] = folders();
        fs::write(from.path().join("large"), noise((9 << 20) + 77)).unwrap();
        fs::write(from.path().join("empty"), "").unwrap();
        assert_arrives(from.path(), &["--rdma", how], &["large", "empty"], to.path(), &["--rdma", how]);
        for name in ["large", "empty"] {
            assert!(
                fs::read(from.path().join(name)).unwrap() == fs::read(to.path().join(name)).unwrap(),
                "{how}: {name}"
            );
        }
    }
}

#[test]
fn the_receiver_may_call() {
    let [from, to] = folders();
    fs::write(from.path().join("a"), noise(3 << 20)).unwrap();
    let mut sender = start(from.path(), ["send", "--listen", "127.0.0.1:0", "a"]);
    let address = sender.address();
    assert_eq!(start(to.path(), ["receive", "--connect", &address]).end(), fine());
    assert_eq!(sender.end(), fine());
    assert!(fs::read(to.path().join("a")).unwrap() == fs::read(from.path().join("a")).unwrap());
}

/// The side that calls may be started first.
#[test]
fn the_caller_waits_for_the_other_side() {
    let [from, to] = folders();
    fs::write(from.path().join("a"), "1").unwrap();
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let sender = start(from.path(), ["send", "a", &port]);
    let mut receiver = start(to.path(), ["receive", "--listen", &port]);
    receiver.address();
    assert_eq!((sender.end(), receiver.end()), (fine(), fine()));
}

#[test]
fn compression_changes_nothing_but_the_way() {
    let [from, to] = folders();
    let text: Vec<u8> = (0..3 << 20).map(|at: u32| b"eagre"[(at / 7 % 5) as usize]).collect();
    fs::write(from.path().join("text"), &text).unwrap();
    fs::write(from.path().join("noise"), noise(3 << 20)).unwrap();
    for how in ["zstd", "lz4", "auto", "none"] {
        assert_arrives(from.path(), &["--compress", how], &["text", "noise"], to.path(), &[]);
        for name in ["text", "noise"] {
            let path = to.path().join(name);
            assert!(fs::read(&path).unwrap() == fs::read(from.path().join(name)).unwrap(), "{how} {name}");
            fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn pipes() {
    let [from, to] = folders();
    let content = noise((2 << 20) + 12_345);
    for compress in ["none", "zstd"] {
        let mut receiver = start(to.path(), ["receive", "--listen", "127.0.0.1:0", "-"]);
        let address = receiver.address();
        let mut sender = eagre();
        sender.current_dir(from.path()).args(["send", "--compress", compress, "-", &address]);
        let (reader, mut writer) = std::io::pipe().unwrap();
        let sender = run({
            sender.stdin(reader);
            sender
        });
        writer.write_all(&content).unwrap();
        drop(writer);
        assert_eq!(sender.end(), fine());
        let (code, out, err) = receiver.end();
        assert_eq!((code, err.as_str()), (Some(0), ""));
        assert!(out == content, "{} bytes", out.len());
    }
    // A single file may go to a pipe, but nothing else.
    fs::write(from.path().join("a"), &content).unwrap();
    let (sent, (code, out, _)) = transfer(from.path(), &[], &["a".as_ref()], to.path(), &["-"]);
    assert_eq!((sent, code), (fine(), Some(0)));
    assert!(out == content);
    fs::write(from.path().join("b"), "").unwrap();
    let (sent, received) = transfer(from.path(), &[], &["a".as_ref(), "b".as_ref()], to.path(), &["-"]);
    for (code, out, err) in [sent, received] {
        assert_eq!((code, out.len(), err.lines().count()), (Some(2), 0, 1));
        assert!(
            err.contains(
                "what is sent: it is more than one file, which a pipe cannot take; receive them into a directory"
            ),
            "{err}"
        );
    }
    // And a pipe has no name in a directory.
    let (sent, received) = transfer(from.path(), &[], &["-".as_ref()], to.path(), &[]);
    for (code, _, err) in [sent, received] {
        assert_eq!(code, Some(2));
        assert!(
            err.contains("what is sent: it is a pipe, which has no name; receive it with 'eagre receive -'"),
            "{err}"
        );
    }
    assert_eq!(names(to.path()), [""; 0]);
}

#[test]
fn a_file_that_is_there_is_replaced_as_a_whole() {
    let [from, to] = folders();
    fs::write(from.path().join("a"), "new").unwrap();
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_234_567_890);
    File::options().write(true).open(from.path().join("a")).unwrap().set_modified(then).unwrap();
    fs::set_permissions(from.path().join("a"), Permissions::from_mode(0o4750)).unwrap();
    fs::write(to.path().join("a"), "old and longer").unwrap();
    let mut open = File::open(to.path().join("a")).unwrap();
    for receive in [&[][..], &["--resume"]] {
        assert_arrives(from.path(), &[], &["a"], to.path(), receive);
        assert_eq!(fs::read(to.path().join("a")).unwrap(), b"new");
        let there = fs::metadata(to.path().join("a")).unwrap();
        assert_eq!((there.modified().unwrap(), there.mode() & 0o7700), (then, 0o700));
    }
    let mut old = String::new();
    open.read_to_string(&mut old).unwrap();
    assert_eq!(old, "old and longer");
    assert_eq!(names(to.path()), ["a"]);
}

/// What is in the way stays, both sides say so, and the rest arrives.
#[test]
fn what_is_in_the_way() {
    let ([from, to], outside) = (folders(), tempfile::tempdir().unwrap());
    for name in ["a", "b", "c", "d/x", "e"] {
        fs::create_dir_all(from.path().join("d")).unwrap();
        fs::write(from.path().join(name), "new").unwrap();
    }
    fs::create_dir(to.path().join("a")).unwrap();
    fs::write(outside.path().join("file"), "old").unwrap();
    symlink(outside.path().join("file"), to.path().join("b")).unwrap();
    symlink(outside.path().join("none"), to.path().join("c")).unwrap();
    symlink(outside.path(), to.path().join("d")).unwrap();
    let all: Vec<_> = ["a", "b", "c", "d", "e"].iter().map(OsStr::new).collect();
    for receive in [&[][..], &["--resume"]] {
        let (sent, received) = transfer(from.path(), &[], &all, to.path(), receive);
        let whys = [
            ("a", "there is a directory of this name"),
            ("b", "there is a symbolic link of this name"),
            ("c", "there is a symbolic link of this name"),
            ("d/", "there is a symbolic link of this name"),
            ("d/x", "its directory could not be made"),
        ];
        let lines = |before: &str| -> String {
            whys.iter().map(|(name, why)| format!("eagre: {before}: {name}: {why}\n")).collect()
        };
        assert_eq!(received, (Some(2), Vec::new(), lines("receive")), "{receive:?}");
        let theirs = lines("send").replace(": there", ": not taken by the other side: there");
        let theirs = theirs.replace(": its", ": not taken by the other side: its").replace("d/:", "d:");
        assert_eq!(sent, (Some(2), Vec::new(), theirs));
        assert_eq!(fs::read(to.path().join("e")).unwrap(), b"new");
        assert_eq!(fs::read(outside.path().join("file")).unwrap(), b"old");
        assert_eq!(names(outside.path()), ["file"]);
        assert_eq!(names(to.path()), ["a", "b", "c", "d", "e"]);
        fs::remove_file(to.path().join("e")).unwrap();
    }
}

#[test]
fn links_are_sent_if_they_stay_inside() {
    let [from, to] = folders();
    fs::create_dir_all(from.path().join("t/d")).unwrap();
    for (leads, name) in [("d", "t/inside"), ("../inside", "t/d/up"), ("/etc/passwd", "t/absolute"), ("../..", "t/out")]
    {
        symlink(leads, from.path().join(name)).unwrap();
    }
    let (sent, received) = transfer(from.path(), &[], &["t".as_ref()], to.path(), &[]);
    for (code, _, err) in [sent, received] {
        assert_eq!((code, err.lines().count()), (Some(2), 2), "{err}");
        assert!(err.contains("t/absolute: ") && err.contains("t/out: "), "{err}");
    }
    assert_eq!(names(&to.path().join("t")), ["d", "inside"]);
    assert_eq!(fs::read_link(to.path().join("t/d/up")).unwrap(), Path::new("../inside"));
    // A link that is named stands for what it leads to.
    assert_arrives(from.path(), &[], &["t/inside"], to.path(), &[]);
    assert!(fs::symlink_metadata(to.path().join("inside")).unwrap().is_dir());
}

#[test]
fn special_files_are_left_out_and_said() {
    let [from, to] = folders();
    fs::create_dir(from.path().join("d")).unwrap();
    drop(std::os::unix::net::UnixListener::bind(from.path().join("d/s")).unwrap());
    let (sent, received) = transfer(from.path(), &[], &["d".as_ref()], to.path(), &[]);
    assert_eq!(sent, (Some(0), Vec::new(), "eagre: send: d/s: not sent: this is a socket\n".into()));
    assert_eq!(received, fine());
    assert_eq!(names(&to.path().join("d")), [""; 0]);
}

/// A file that cannot be read is said at both sides, and the rest is sent.
#[test]
fn a_file_that_cannot_be_read() {
    let [from, to] = folders();
    for name in ["a", "b"] {
        fs::write(from.path().join(name), name).unwrap();
    }
    let mut receiver = start(to.path(), ["receive", "--listen", "127.0.0.1:0"]);
    let address = receiver.address();
    let mut sender = eagre();
    if trees::is_root() {
        // Root reads everything; a limit of open files does not help either. Take the file away between the two looks at it.
        eprintln!("skipped: root reads every file");
        receiver.signal(Signal::KILL);
        drop(receiver.end());
        return;
    }
    fs::set_permissions(from.path().join("a"), Permissions::from_mode(0o000)).unwrap();
    sender.current_dir(from.path()).args(["send", "a", "b", &address]);
    let (code, _, err) = run(sender).end();
    assert_eq!(code, Some(2));
    assert!(err.starts_with("eagre: send: a: Permission denied; "), "{err}");
    let (code, _, err) = receiver.end();
    assert_eq!((code, err.as_str()), (Some(2), "eagre: receive: a: not sent by the other side: Permission denied\n"));
    assert_eq!(names(to.path()), ["b"]);
}

#[test]
fn tokens_and_keys() {
    let [from, to] = folders();
    fs::write(from.path().join("a"), noise(1_500_000)).unwrap();
    let id = |arguments: &[&str]| {
        let mut command = eagre();
        command.current_dir(from.path()).env("XDG_CONFIG_HOME", from.path().join("config")).arg("id").args(arguments);
        run(command).end()
    };
    for token in ["right", "wrong"] {
        assert_eq!(id(&["--token", token]), fine());
        assert_eq!(fs::metadata(from.path().join(token)).unwrap().mode() & 0o777, 0o600);
    }
    let (code, _, err) = id(&["--token", "right"]);
    assert_eq!((code, err.lines().count()), (Some(2), 1), "an existing token stays: {err}");
    let right = from.path().join("right");
    let right = right.to_str().unwrap();
    assert_arrives(from.path(), &["--token", "right"], &["a"], to.path(), &["--token", right]);
    assert!(fs::read(to.path().join("a")).unwrap() == fs::read(from.path().join("a")).unwrap());
    fs::remove_file(to.path().join("a")).unwrap();

    // A sender with a wrong token, or none, is turned away at once; the receiver waits on.
    let mut receiver = start(to.path(), ["receive", "--listen", "127.0.0.1:0", "--token", right]);
    let address = receiver.address();
    for wrong in [&["--token", "wrong"][..], &[]] {
        let mut sender = eagre();
        sender.current_dir(from.path()).args(["send", "--retry", "600"]).args(wrong).args(["a", &address]);
        let (code, _, err) = run(sender).end();
        assert_eq!((code, err.lines().count()), (Some(2), 1), "{err}");
        assert!(err.starts_with(&format!("eagre: send: {address}: ")) && err.contains("token"), "{err}");
    }
    assert_eq!(names(to.path()), [""; 0]);
    let mut sender = eagre();
    sender.current_dir(from.path()).args(["send", "--token", "right", "a", &address]);
    assert_eq!((run(sender).end(), receiver.end()), (fine(), fine()));
    fs::remove_file(to.path().join("a")).unwrap();

    // Keys: each side knows the other's.
    let (code, first, _) = id(&[]);
    let first = String::from_utf8(first).unwrap().trim().to_owned();
    assert!(code == Some(0) && first.len() == 71 && first.starts_with("sha256:"), "{first}");
    assert_eq!(String::from_utf8(id(&[]).1).unwrap().trim(), first, "the key stays");
    assert_eq!(fs::metadata(from.path().join("config/eagre/identity")).unwrap().mode() & 0o777, 0o600);
    let second = String::from_utf8(id(&["--identity", "second"]).1).unwrap().trim().to_owned();
    let identity = from.path().join("config/eagre/identity");
    let identity = identity.to_str().unwrap();
    let receive = ["--identity", identity, "--peer", &second];
    assert_arrives(from.path(), &["--identity", "second", "--peer", &first], &["a"], to.path(), &receive);
    let (code, _, err) = start(from.path(), ["send", "--identity", "none", "--peer", &first, "a", "localhost"]).end();
    assert_eq!(
        (code, err.as_str()),
        (Some(2), "eagre: send: none: this side has no key yet; make one with 'eagre id'\n")
    );
}

#[test]
fn no_key_is_enough_on_loopback_only() {
    let [from, to] = folders();
    fs::write(from.path().join("a"), "1").unwrap();
    for (arguments, what) in [
        (&["receive", "--listen", "0.0.0.0:0"][..], "receive: 0.0.0.0"),
        (&["send", "--listen", "[::]:0", "a"], "send: ::"),
        (&["send", "a", "192.0.2.1"], "send: 192.0.2.1"),
        (&["receive", "--connect", "192.0.2.1"], "receive: 192.0.2.1"),
    ] {
        let (code, out, err) = start(from.path(), arguments).end();
        assert_eq!((code, out.len()), (Some(2), 0));
        let why = "is not loopback: it needs a token or keys; give both sides the same token, which 'eagre id --token FILE' makes";
        assert_eq!(err, format!("eagre: {what} {why}\n"));
    }
    let mut receiver = start(to.path(), ["receive", "--listen", "0.0.0.0:0", "--insecure-plain"]);
    let address = receiver.address();
    let address = address.replace("0.0.0.0", "127.0.0.1");
    assert_eq!(start(from.path(), ["send", "a", &address]).end(), fine());
    assert_eq!(receiver.end(), fine());
}

#[test]
fn a_receiver_may_stay() {
    let [from, to] = folders();
    let content = noise(1_200_000);
    for number in 0..4 {
        fs::write(from.path().join(number.to_string()), &content).unwrap();
    }
    let mut receiver = start(to.path(), ["receive", "--listen", "127.0.0.1:0", "--keep", "--json"]);
    let address = receiver.address();
    let senders: Vec<_> = (0..4).map(|number| start(from.path(), ["send", &number.to_string(), &address])).collect();
    for sender in senders {
        assert_eq!(sender.end(), fine());
    }
    for number in 0..4 {
        assert!(fs::read(to.path().join(number.to_string())).unwrap() == content);
    }
    receiver.signal(Signal::TERM);
    let (code, out, err) = receiver.end();
    assert_eq!(code, Some(2));
    assert_eq!(err, "eagre: receive: 127.0.0.1:0: it was stopped by SIGTERM\n");
    let objects = serde_json::Deserializer::from_slice(&out).into_iter::<Value>();
    assert_eq!(objects.map(|object| object.unwrap()["files"].as_array().unwrap().len()).sum::<usize>(), 4);
}

#[test]
fn mistakes_are_one_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), "1").unwrap();
    fs::create_dir_all(folder.path().join("d")).unwrap();
    fs::write(folder.path().join("d/a"), "1").unwrap();
    for (arguments, said) in [
        (&["send", "a"][..], "eagre: usage: send: the host is missing; see 'eagre send --help'"),
        (&["send", "none", "localhost"], "eagre: send: none: No such file or directory; check the name"),
        (&["send", "a", "d/a", "localhost"], "eagre: send: d/a: another one has the same name; send them one by one"),
        (&["send", "a", "-", "localhost"], "eagre: send: standard input: a pipe is sent alone; send them one by one"),
        (
            &["send", "/dev/null", "localhost"],
            "eagre: send: /dev/null: this is a device; send what comes from it with '-'",
        ),
        (&["receive", "none"], "eagre: receive: none: there is no such directory; create it first (mkdir)"),
        (&["receive", "a"], "eagre: receive: a: not a directory; name a directory"),
        (
            &["receive", "--keep", "-"],
            "eagre: receive: standard output: it takes one file, and --keep is for many; name a directory",
        ),
        (
            &["receive", "--json", "-"],
            "eagre: receive: standard output: it cannot take both the file and --json; name a directory",
        ),
        (
            &["send", "--peer", "x", "a", "localhost"],
            "eagre: usage: send: invalid value 'x' for '--peer <FINGERPRINT>': not a fingerprint, which is sha256: and 64 hexadecimal digits; see 'eagre send --help'",
        ),
        (
            &["send", "--limit", "0", "a", "localhost"],
            "eagre: usage: send: invalid value '0' for '--limit <RATE>': not a number of bytes; see 'eagre send --help'",
        ),
        (
            &["receive", "--identity", "x"],
            "eagre: receive: receive --identity: it names a key, and nobody is trusted; add --peer FINGERPRINT",
        ),
    ] {
        let (code, out, err) = start(folder.path(), arguments).end();
        assert_eq!((code, out.len(), err.as_str()), (Some(2), 0, format!("{said}\n").as_str()), "{arguments:?}");
    }
    for arguments in [
        &["send", "a", "local host"][..],
        &["send", "--retry", "0", "a", "127.0.0.1:1"],
        &["send", "--token", "a", "a", "localhost"],
        &["send", "--token", "a", "--insecure-plain", "a", "localhost"],
        &["receive", "--listen", "127.0.0.1:0", "--connect", "localhost"],
        &["receive", "--listen", "127.0.0.1:x"],
    ] {
        let (code, out, err) = start(folder.path(), arguments).end();
        assert_eq!((code, out.len(), err.lines().count()), (Some(2), 0, 1), "{arguments:?}: {err}");
        assert!(err.starts_with("eagre: ") && err.contains("; "), "{err}");
    }
    // Two of a kind.
    let mut one = start(folder.path(), ["receive", "--listen", "127.0.0.1:0"]);
    let address = one.address();
    let (code, _, err) = start(folder.path(), ["receive", "--connect", &address]).end();
    assert_eq!(code, Some(2));
    assert!(err.contains("both sides receive; start 'eagre send' on one of them"), "{err}");
    one.kill();
}
