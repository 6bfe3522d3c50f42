//! `eagre sort` and trouble: whatever happens, the input is intact, the output complete or as it was, and nothing is left
//! behind.
#![forbid(unsafe_code)]

mod common;

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{names, on_a_small_disk, parts, seeded};
use rustix::fs::{CWD, FileType, Mode};
use rustix::process::{Pid, Signal, kill_process};

/// A folder with an input that takes several runs, and a folder for them.
struct Room {
    folder: tempfile::TempDir,
    input: Vec<u8>,
    sorted: Vec<u8>,
}

impl Room {
    fn new() -> Room {
        let folder = tempfile::tempdir().unwrap();
        let mut random = seeded(7);
        let mut input = Vec::new();
        while input.len() < 5 << 20 {
            input.extend((0..random.usize(0..6)).map(|_| random.u8(b'a'..=b'z')));
            input.push(b'\n');
        }
        let mut lines: Vec<_> = input.split_inclusive(|&byte| byte == b'\n').collect();
        lines.sort_unstable();
        let sorted = lines.concat();
        fs::write(folder.path().join("data"), &input).unwrap();
        fs::create_dir(folder.path().join("runs")).unwrap();
        Room { folder, input, sorted }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The command in the folder, with little memory.
    fn command(&self, arguments: &str) -> Command {
        // Whoever runs this in the background may have the signal ignored, and children inherit that.
        let mut command = Command::new("env");
        command.arg("--default-signal=INT").arg(env!("CARGO_BIN_EXE_eagre"));
        command.current_dir(self.folder.path()).args(["sort", "--memory", "16M", "-T", "runs"]);
        command.args(arguments.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &str) -> (i32, String, String) {
        parts(&self.command(arguments).output().unwrap())
    }

    /// Runs a script of the shell in the folder.
    fn script(&self, script: &str) -> (i32, String, String) {
        let mut command = Command::new("bash");
        command.current_dir(self.folder.path()).env("EAGRE", env!("CARGO_BIN_EXE_eagre")).args(["-c", script]);
        parts(&command.stdin(Stdio::null()).output().unwrap())
    }

    fn is_sorted(&self, name: &str) -> bool {
        fs::read(self.path(name)).unwrap() == self.sorted
    }

    /// Nothing but these names is there, and no run.
    fn holds(&self, expected: &[&str], what: &str) {
        assert_eq!(names(self.folder.path()), expected, "{what}");
        assert!(names(&self.path("runs")).is_empty(), "{what}");
    }
}

fn end(child: &Child, signal: Signal) {
    // It may have ended already.
    let _ = kill_process(Pid::from_child(child), signal);
}

/// A FIFO in the folder.
fn fifo(room: &Room) -> PathBuf {
    let path = room.path("fifo");
    rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    path
}

/// Waits until the process has a handler for the signal.
fn wait_for_handler(child: &mut Child, signal: i32) {
    let status = format!("/proc/{}/status", child.id());
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
        if caught >> (signal - 1) & 1 == 1 {
            return;
        }
        std::thread::yield_now();
    }
}

/// Waits until the process has had so many page faults, of which it has some wherever it is in its work, or has ended. Returns
/// how many it had.
fn wait_for_faults(child: &mut Child, count: u64) -> u64 {
    let stat = format!("/proc/{}/stat", child.id());
    let mut faults = 0;
    while child.try_wait().unwrap().is_none() && faults < count {
        let text = fs::read_to_string(&stat).unwrap_or_default();
        // The tenth field; the second is a name in parentheses.
        let field = text.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(7));
        faults = field.and_then(|field| field.parse().ok()).unwrap_or(0).max(faults);
        // The processors are for the sort.
        std::thread::sleep(Duration::from_micros(200));
    }
    faults
}

/// Kills the sort of a file in its own place at many moments. The hidden name that a file has for a moment, when it
/// replaces another, may be left.
#[test]
fn a_sort_that_is_killed() {
    let room = Room::new();
    let mut child = room.command("--plan classic data -o data").spawn().unwrap();
    let whole = wait_for_faults(&mut child, u64::MAX);
    assert!(child.wait().unwrap().success());
    assert!(room.is_sorted("data"));
    let mut random = seeded(1);
    for plan in ["classic", "one-pass --memory 256M", "merge-pass"] {
        for round in 0..6 {
            fs::write(room.path("data"), &room.input).unwrap();
            let mut child = room.command(&format!("--plan {plan} data -o data")).spawn().unwrap();
            wait_for_faults(&mut child, random.u64(0..whole + whole / 10));
            let signal = [Signal::KILL, Signal::TERM, Signal::INT][round % 3];
            end(&child, signal);
            let mut err = String::new();
            child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
            let status = child.wait().unwrap();
            let name = if signal == Signal::INT { "SIGINT" } else { "SIGTERM" };
            match (status.code(), status.signal()) {
                // It was done before, or has no handler yet.
                (Some(0), _) => assert_eq!(err, ""),
                (_, Some(number)) => assert_eq!(number, signal.as_raw()),
                (code, _) => {
                    assert_eq!((code, err), (Some(2), format!("eagre: sort: data: it was stopped by {name}\n")));
                }
            }
            assert!(room.is_sorted("data") || fs::read(room.path("data")).unwrap() == room.input, "{plan} {status}");
            for hidden in names(room.folder.path()).iter().filter(|name| name.starts_with(".eagre-")) {
                assert_eq!(signal, Signal::KILL);
                fs::remove_file(room.path(hidden)).unwrap();
            }
            room.holds(&["data", "runs"], &format!("{plan} {status}"));
        }
    }
}

#[test]
fn a_signal_is_one_line_and_exit_code_2() {
    let room = Room::new();
    fifo(&room);
    for (signal, name) in [(Signal::INT, "SIGINT"), (Signal::TERM, "SIGTERM")] {
        let mut child = room.command("data fifo -o out").spawn().unwrap();
        let mut pipe = OpenOptions::new().write(true).open(room.path("fifo")).unwrap();
        pipe.write_all(&room.input).unwrap();
        wait_for_handler(&mut child, signal.as_raw());
        end(&child, signal);
        let (code, out, err) = parts(&child.wait_with_output().unwrap());
        assert_eq!((code, &*out, &*err), (2, "", &*format!("eagre: sort: out: it was stopped by {name}\n")));
        room.holds(&["data", "fifo", "runs"], name);
    }
    // A signal that is ignored from the beginning is still.
    let (code, _, err) = room.script(
        "trap '' INT; \"$EAGRE\" sort data fifo -o out & exec 3>fifo; kill -INT $!; kill -INT $!; exec 3>&-; wait $!",
    );
    assert_eq!((code, &*err), (0, ""));
    assert!(room.is_sorted("out"));
}

#[test]
fn a_full_disk() {
    let room = Room::new();
    let folder = room.folder.path().display();
    // From a pipe, whose size is not known before.
    for (arguments, said) in [
        (format!("-T '{folder}/runs' -o out"), "eagre: write: out: No space left on device at byte "),
        (format!("-T . -o '{folder}/out'"), "eagre: write: ./temporary file: No space left on device at byte "),
        (format!("-T '{folder}/runs'  > out"), "eagre: write: standard output: No space left on device"),
    ] {
        let script =
            format!("cat '{folder}/data' | \"$EAGRE\" sort --memory 16M {arguments}; echo $? $(ls -A | wc -w)");
        let Some(output) = on_a_small_disk("2m", &script) else { return };
        let (_, out, err) = parts(&output);
        let left = if arguments.contains('>') { 2 } else { 1 };
        assert_eq!(out, format!("2 {left}\n"), "{arguments}: {err}");
        assert!(err.starts_with(said) && err.ends_with("; make room, or write elsewhere\n"), "{arguments}: {err}");
        assert_eq!(err.lines().count(), 1, "{err}");
        room.holds(&["data", "runs"], &arguments);
    }
    // Of a file the size is known, and nothing is begun.
    let script = format!("\"$EAGRE\" sort --memory 16M -T . '{folder}/data' -o '{folder}/out'; echo $? $(ls -A)");
    let Some(output) = on_a_small_disk("2m", &script) else { return };
    let (_, out, err) = parts(&output);
    assert_eq!(out, "2 mounted\n");
    assert!(err.contains("no room for") && err.contains("--temp"), "{err}");
    room.holds(&["data", "runs"], "room is checked");
}

#[test]
fn limits_of_the_process() {
    let room = Room::new();
    for (limits, arguments) in [
        ("ulimit -f 1000", "data -o out"),
        ("ulimit -f 1000", "--plan classic - -o out <data"),
        ("ulimit -v 100000", "data -o out"),
        ("ulimit -v 300000", "data -o out"),
        ("ulimit -v 2000000", "data -o out"),
        ("ulimit -n 12", "data -o out"),
        ("ulimit -n 20", "data -o out"),
        ("ulimit -n 40", "data -o out"),
    ] {
        let (code, out, err) = room.script(&format!("{limits}; exec \"$EAGRE\" sort --memory 16M -T runs {arguments}"));
        let what = format!("{limits}: {arguments}: {err}");
        assert_eq!(out, "", "{what}");
        if code == 0 {
            assert!(!limits.contains("-f") && err.is_empty() && room.is_sorted("out"), "{what}");
            fs::remove_file(room.path("out")).unwrap();
        } else {
            assert_eq!((code, err.lines().count()), (2, 1), "{what}");
            let option = if limits.contains("-f") { "raise 'ulimit -f'" } else { "" };
            assert!(err.starts_with("eagre: ") && err.contains(option), "{what}");
        }
        room.holds(&["data", "runs"], &what);
    }
    // Whatever is refused first, the line says what to do.
    for options in ["", "--compress gz", "--compress-runs"] {
        for limit in [150_000, 250_000, 350_000, 450_000] {
            let script = format!("ulimit -v {limit}; exec \"$EAGRE\" sort -j2 {options} -T runs data -o out");
            let (code, _, err) = room.script(&script);
            if code == 0 {
                fs::remove_file(room.path("out")).unwrap();
            } else {
                assert!((code, err.lines().count()) == (2, 1) && err.contains("ulimit -v"), "{limit} {options}: {err}");
            }
        }
    }
    // Few threads, for somebody who is not root.
    let setpriv = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    let can = Command::new("sh").args(["-c", &format!("{setpriv} true 2>&1")]).output();
    if !can.is_ok_and(|can| can.status.success()) {
        return eprintln!("skipped: threads: setpriv may not change the user");
    }
    room.script("chmod 777 . runs; chmod 644 data");
    for most in [1, 2, 3, 4] {
        let script = format!("ulimit -u {most}; exec {setpriv} \"$EAGRE\" sort --memory 16M -j2 -T runs data -o out");
        let (code, _, err) = room.script(&script);
        if code == 0 {
            assert!(room.is_sorted("out"));
            fs::remove_file(room.path("out")).unwrap();
        } else {
            assert_eq!(err.lines().count(), 1, "{most}: {code} {err}");
        }
        room.holds(&["data", "runs"], &err);
    }
}

#[test]
fn temporary_files_that_cannot_be_made() {
    let room = Room::new();
    fs::write(room.path("file"), "").unwrap();
    for (folder, why) in [("nowhere", "No such file or directory"), ("file", "Not a directory")] {
        let (code, _, err) = room.run(&format!("--plan classic -T {folder} data -o out"));
        // The option may be given several times, and the first folder takes the first run.
        assert_eq!(code, 2, "{err}");
        assert!(
            err.contains(folder) && err.contains(why) && err.contains("--temp") && err.lines().count() == 1,
            "{err}"
        );
        room.holds(&["data", "file", "runs"], folder);
    }
    let (code, _, err) = room.run("data -o nowhere/out");
    assert_eq!((code, &*err), (2, "eagre: sort: nowhere/out: No such file or directory; check the name\n"));
}

#[test]
fn an_input_that_changes() {
    let room = Room::new();
    let pipe = fifo(&room);
    type Change = fn(&Path);
    let changes: [Change; 3] = [
        |data| OpenOptions::new().append(true).open(data).unwrap().write_all(b"more\n").unwrap(),
        |data| OpenOptions::new().write(true).open(data).unwrap().set_len(1000).unwrap(),
        |data| OpenOptions::new().write(true).open(data).unwrap().write_all(b"x").unwrap(),
    ];
    for change in changes {
        fs::write(room.path("data"), &room.input).unwrap();
        fs::write(room.path("out"), "old").unwrap();
        let child = room.command("data fifo -o out").spawn().unwrap();
        let mut pipe = OpenOptions::new().write(true).open(&pipe).unwrap();
        // More than a pipe holds: when it is written, the first input has been read.
        pipe.write_all(&room.input).unwrap();
        change(&room.path("data"));
        drop(pipe);
        let (code, _, err) = parts(&child.wait_with_output().unwrap());
        assert_eq!((code, &*err), (2, "eagre: read: data: it was changed while it was sorted\n"));
        assert_eq!(fs::read(room.path("out")).unwrap(), b"old");
        room.holds(&["data", "fifo", "out", "runs"], "changed");
    }
}

#[test]
fn pipes_links_and_nothing() {
    let room = Room::new();
    // A reader that has enough is no trouble.
    let (_, out, err) =
        room.script("\"$EAGRE\" sort --memory 16M --plan classic -T runs data | head -1; echo ${PIPESTATUS[0]}");
    assert_eq!((&*out, &*err), ("\n0\n", ""));
    let mut child = room.command("").stdin(File::open(room.path("data")).unwrap()).spawn().unwrap();
    let mut out = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut out).unwrap();
    assert!(child.wait().unwrap().success() && out == room.sorted);
    assert_eq!(room.script("\"$EAGRE\" sort - <data -o data"), (0, String::new(), String::new()));
    assert!(room.is_sorted("data"));
    // A link leads to what is replaced.
    std::os::unix::fs::symlink("real", room.path("link")).unwrap();
    for _ in 0..2 {
        assert_eq!(room.run("data -o link"), (0, String::new(), String::new()));
        assert!(room.is_sorted("real") && room.path("link").is_symlink());
    }
    fs::write(room.path("empty"), "").unwrap();
    for arguments in ["empty -o none", "empty empty -o none", "-m empty -o none", "--gensort empty -o none"] {
        assert_eq!(room.run(arguments), (0, String::new(), String::new()), "{arguments}");
        assert_eq!(fs::read(room.path("none")).unwrap(), b"");
    }
    room.holds(&["data", "empty", "link", "none", "real", "runs"], "");
}

/// More inputs than can be merged at once, and than files that are usually open.
#[test]
fn many_inputs_are_merged() {
    let room = Room::new();
    let mut list = Vec::new();
    let mut expected = Vec::new();
    for number in 0..300 {
        let name = format!("part{number}");
        // The last line of some lacks its end.
        let end = if number % 3 == 0 { "" } else { "\n" };
        fs::write(room.path(&name), format!("{:03}\n{number:03}{end}", number / 7)).unwrap();
        list.extend([name.as_bytes(), b"\0"].concat());
        expected.extend([format!("{:03}\n", number / 7), format!("{number:03}\n")]);
    }
    fs::write(room.path("list"), list).unwrap();
    expected.sort();
    for unique in [false, true] {
        let option = if unique { "-u" } else { "" };
        let said = room.run(&format!("-m {option} --files0-from list -o out"));
        assert_eq!(said, (0, String::new(), String::new()));
        assert_eq!(fs::read_to_string(room.path("out")).unwrap(), expected.concat());
        expected.dedup();
    }
    assert!(names(&room.path("runs")).is_empty());
}
