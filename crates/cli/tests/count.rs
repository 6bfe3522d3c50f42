//! What `eagre count` does that `wc` does not, or not everywhere: totals on demand, JSON, progress.
#![forbid(unsafe_code)]

mod common;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, ChildStdin, Stdio};

use common::{eagre, parts, run};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Two small files: 2 lines of 4 bytes, and 1 line of 6.
fn two_files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), "1\n2\n").unwrap();
    fs::write(folder.path().join("b"), "1\nrest").unwrap();
    folder
}

fn run_in(folder: &tempfile::TempDir, arguments: &[&str]) -> (i32, String, String) {
    parts(&eagre().current_dir(folder.path()).args(arguments).output().unwrap())
}

#[test]
fn totals_on_demand() {
    let folder = two_files();
    for (arguments, expected) in [
        (&["a", "b"][..], " 2  4 a\n 1  6 b\n 3 10 total\n"),
        (&["a", "b", "--total=auto"], " 2  4 a\n 1  6 b\n 3 10 total\n"),
        (&["a", "b", "--total=never"], " 2  4 a\n 1  6 b\n"),
        (&["a", "b", "--total=only"], "3 10\n"),
        (&["a", "--total=only", "-l"], "2\n"),
        (&["a", "--total=always"], "2 4 a\n2 4 total\n"),
        (&["a", "--total=always", "-c"], "4 a\n4 total\n"),
        // The last one counts.
        (&["a", "b", "--total=only", "--total=never"], " 2  4 a\n 1  6 b\n"),
        (&["-l", "-l", "a"], "2 a\n"),
    ] {
        let (code, out, err) = run_in(&folder, &[&["count"], arguments].concat());
        assert_eq!((code, out.as_str(), err.as_str()), (0, expected, ""), "{arguments:?}");
    }
}

#[test]
fn a_sum_that_does_not_fit_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vast");
    // Only some file systems have files of nearly 2^63 bytes.
    if File::create(&path).unwrap().set_len((1 << 62) + 4100).is_err() {
        eprintln!("skipped: no files of 4 EiB here");
        return;
    }
    let vast = path.to_str().unwrap();
    let (code, _, err) = run(&["count", "-c", vast, vast, vast, vast]);
    assert_eq!(code, 2);
    assert!(err.contains("the sum does not fit 64 bits"), "{err}");
}

#[test]
fn json() {
    let folder = two_files();
    let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let (code, out, _) = run_in(&folder, &["count", "--json", "a", "b"]);
    assert_eq!(code, 0);
    assert_eq!(
        parse(&out),
        serde_json::json!({
            "files": [{"file": "a", "lines": 2, "bytes": 4}, {"file": "b", "lines": 1, "bytes": 6}],
            "total": {"lines": 3, "bytes": 10},
        })
    );

    let (code, out, err) = run_in(&folder, &["count", "--json", "-l", "a", "missing", "."]);
    assert_eq!(code, 2);
    assert_eq!(err.lines().count(), 2, "{err}");
    assert_eq!(
        parse(&out),
        serde_json::json!({
            "files": [
                {"file": "a", "lines": 2},
                {"file": "missing", "error": "No such file or directory"},
                {"file": ".", "lines": 0, "error": "Is a directory"},
            ],
            "total": {"lines": 2},
        })
    );

    let (_, out, _) = run_in(&folder, &["count", "--json", "--total=never"]);
    assert_eq!(parse(&out), serde_json::json!({"files": [{"file": null, "lines": 0, "bytes": 0}]}));
}

#[test]
fn json_keeps_the_bytes_of_names_that_are_not_text() {
    let folder = tempfile::tempdir().unwrap();
    let name = std::ffi::OsStr::from_bytes(b"x\xff");
    fs::write(folder.path().join(name), "").unwrap();
    let output = eagre().current_dir(folder.path()).args(["count", "--json"]).arg(name).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["files"][0]["file"], "x\u{fffd}");
    assert_eq!(json["files"][0]["file_hex"], "78ff");
}

#[test]
fn compressed_files_are_counted_as_what_is_in_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let text = "some line\n".repeat(100_000);
    for (tool, suffix) in [("gzip", "gz"), ("zstd", "zst"), ("lz4", "lz4")] {
        let mut packer = std::process::Command::new(tool);
        let output = File::create(path("packed")).unwrap();
        let Ok(mut child) = packer.arg("-c").stdin(Stdio::piped()).stdout(output).spawn() else {
            eprintln!("skipped: no {tool} here");
            continue;
        };
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
        let packed = fs::read(path("packed")).unwrap();
        let named = format!("x.{suffix}");
        fs::write(path(&named), &packed).unwrap();
        let size = packed.len();

        let count = |arguments: &[&str]| run_in(&folder, &[&["count", "-c"], arguments].concat());
        assert_eq!(count(&[&named]), (0, format!("1000000 {named}\n"), String::new()));
        assert_eq!(count(&[&named, "--decompress=never"]), (0, format!("{size} {named}\n"), String::new()));
        // Without the suffix only on demand.
        assert_eq!(count(&["packed"]), (0, format!("{size} packed\n"), String::new()));
        assert_eq!(count(&["packed", "--decompress"]), (0, "1000000 packed\n".into(), String::new()));
        let (code, out, _) = run_in(&folder, &["count", &named, "packed", "--decompress=always"]);
        assert_eq!((code, out.lines().next()), (0, Some(format!(" 100000 1000000 {named}").as_str())));
        for (arguments, expected) in [(&["-c"][..], size), (&["-c", "--decompress"], 1_000_000)] {
            let stdin = File::open(path("packed")).unwrap();
            let output = eagre().arg("count").args(arguments).stdin(stdin).output().unwrap();
            assert_eq!(parts(&output), (0, format!("{expected}\n"), String::new()));
        }

        fs::write(path(&named), &packed[..size / 2]).unwrap();
        let (code, _, err) = run_in(&folder, &["count", &named]);
        let half = size / 2;
        let why = format!("{tool}: ends in the middle, at byte {half}: the file is truncated");
        assert_eq!((code, err), (2, format!("eagre: count: {named}: {why}\n")));
    }
}

#[test]
fn names_that_cannot_be_meant_are_said_by_their_position() {
    let folder = two_files();
    fs::write(folder.path().join("list"), "a\0\0b").unwrap();
    let (code, out, err) = run_in(&folder, &["count", "-l", "--files0-from=list"]);
    assert_eq!((code, out.as_str()), (2, " 2 a\n 1 b\n 3 total\n"));
    assert_eq!(err, "eagre: count: list: name 2: a file name cannot be empty\n");

    let (code, out, err) = run_in(&folder, &["count", "--files0-from=list", "a"]);
    assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{err}");
    let (code, _, err) = run_in(&folder, &["count", "--files0-from=nothing"]);
    assert_eq!((code, err.as_str()), (2, "eagre: count: nothing: No such file or directory; check the name\n"));
}

#[test]
fn messages_are_one_line_whatever_a_file_is_called() {
    let (code, out, err) = run(&["count", "no\nsuch\x1b[2Jfile"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert_eq!(err, "eagre: count: 'no'$'\\n''such'$'\\033''[2Jfile': No such file or directory; check the name\n");
}

#[test]
fn an_unreadable_standard_input_is_trouble() {
    let folder = tempfile::tempdir().unwrap();
    let write_only = File::create(folder.path().join("x")).unwrap();
    let output = eagre().args(["count", "-l"]).stdin(write_only).output().unwrap();
    let (code, out, err) = parts(&output);
    assert_eq!((code, out.as_str()), (2, ""));
    assert_eq!(err, "eagre: count: standard input: Bad file descriptor\n");
}

/// A command that counts a pipe of ours, with a terminal for standard error.
struct OnTerminal {
    child: Child,
    pipe: ChildStdin,
    terminal: File,
}

impl OnTerminal {
    fn start(arguments: &[&str]) -> OnTerminal {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap();
        let their_end = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let mut command = eagre();
        command.arg("count").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(their_end);
        let mut child = command.spawn().unwrap();
        OnTerminal { pipe: child.stdin.take().unwrap(), child, terminal: terminal.into() }
    }

    /// Waits for something on the terminal, a moment at most.
    fn has_shown_something(&self) -> bool {
        let moment = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
        poll(&mut [PollFd::new(&self.terminal, PollFlags::IN)], Some(&moment)).unwrap() > 0
    }

    /// Ends the pipe after so many lines, and returns what the terminal got.
    fn end(self, lines: u64) -> String {
        drop(self.pipe);
        let output = self.child.wait_with_output().unwrap();
        let counts: Vec<u64> =
            String::from_utf8_lossy(&output.stdout).split_whitespace().map(|number| number.parse().unwrap()).collect();
        assert_eq!(counts, [lines, 5 * lines]);
        // Nobody has the other end open any more, so reading ends (with an error, on a terminal).
        let mut seen = Vec::new();
        let _ = { self.terminal }.read_to_end(&mut seen);
        String::from_utf8_lossy(&seen).into_owned()
    }
}

/// Both get a line now and then until one shows progress. By then the other, which began earlier, would have shown its own.
#[test]
fn long_work_shows_progress_on_a_terminal_and_takes_it_away_unless_it_is_switched_off() {
    let mut silent = OnTerminal::start(&["--no-progress"]);
    let mut telling = OnTerminal::start(&[]);
    let mut lines = 0;
    while lines == 0 || !telling.has_shown_something() {
        assert!(lines < 5000, "no progress is shown");
        for command in [&mut silent, &mut telling] {
            command.pipe.write_all(b"line\n").unwrap();
        }
        lines += 1;
    }
    assert_eq!(silent.end(lines), "");
    let seen = telling.end(lines);
    assert!(seen.ends_with("\r\x1b[K"), "{seen:?}");
    let shown = seen.strip_prefix("\reagre: count: ").and_then(|shown| shown.split_once(" B, "));
    let bytes: u64 = shown.unwrap_or_else(|| panic!("{seen:?}")).0.parse().unwrap();
    assert!(bytes > 0 && bytes <= 5 * lines && bytes.is_multiple_of(5), "{seen:?}");
}
