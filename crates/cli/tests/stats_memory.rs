//! `eagre stats` and memory: more keys than there is room for are an error, and those that fit take little.
#![forbid(unsafe_code)]

mod common;

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use common::parts;

/// `keys` different keys, each once or twice.
fn write_keys(path: &Path, keys: u64) {
    let mut text = String::new();
    for number in (0..keys).chain((0..keys).step_by(3)) {
        // Not in order.
        writeln!(text, "key{};{}.5", number * 7_919 % keys, number % 100).unwrap();
    }
    fs::write(path, text).unwrap();
}

/// Runs `eagre stats` where addresses are limited to so many KiB.
fn limited(kib: u64, arguments: &str, path: &Path) -> (i32, String, String) {
    let eagre = env!("CARGO_BIN_EXE_eagre");
    let script = format!("ulimit -v {kib}; exec \"$0\" stats {arguments} \"$1\"");
    parts(&Command::new("sh").args(["-c", &script, eagre]).arg(path).output().unwrap())
}

#[test]
fn too_many_keys_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    write_keys(&path, 1_000_000);
    for arguments in ["-j1", "-j2", "-j2 --columns median", "-j1 --sort count", "--csv"] {
        let (code, out, err) = limited(90_000, arguments, &path);
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{arguments}: {err}");
        assert!(err.contains("out of memory: ") && err.contains(" keys so far take "), "{arguments}: {err}");
        assert!(err.ends_with("; ulimit -v unlimited\n") || err.contains("the system gives no more"), "{err}");
    }
    // With room for them, they are counted.
    let (code, out, err) = limited(4_000_000, "--columns count", &path);
    assert_eq!((code, err.as_str(), out.lines().count()), (0, "", 1_000_000));
    assert!(out.lines().all(|line| line.ends_with(";1") || line.ends_with(";2")));
}

/// A line without an end.
#[test]
fn a_line_that_is_too_long_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("line");
    // A hole: zeros that take no disk.
    fs::File::create(&path).unwrap().set_len(2 << 30).unwrap();
    for arguments in ["-j1", "-j2", "--csv"] {
        let (code, out, err) = limited(500_000, arguments, &path);
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{arguments}: {err}");
        assert!(err.contains("out of memory"), "{arguments}: {err}");
    }
    // What cannot be read twice.
    let eagre = env!("CARGO_BIN_EXE_eagre");
    for arguments in ["", "--csv"] {
        let script = format!("head -c 2G /dev/zero | (ulimit -v 500000; exec \"$0\" stats {arguments})");
        let (code, out, err) = parts(&Command::new("sh").args(["-c", &script, eagre]).output().unwrap());
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{arguments}: {err}");
        assert!(err.contains("out of memory"), "{arguments}: {err}");
    }
}

/// What a million keys take, the process and its buffers included.
#[test]
fn a_key_takes_little() {
    if !Path::new("/usr/bin/time").exists() {
        eprintln!("skipped: no /usr/bin/time");
        return;
    }
    const KEYS: u64 = 1_000_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    write_keys(&path, KEYS);
    for threads in ["-j1", "-j2"] {
        let mut command = Command::new("/usr/bin/time");
        command.args(["-f", "%M", env!("CARGO_BIN_EXE_eagre"), "stats", threads]).arg(&path);
        // Without a mapping: its pages are the system's.
        let (code, _, err) = parts(&command.env("EAGRE_PLAN", "read").output().unwrap());
        let kib: u64 = err.trim().parse().unwrap();
        assert_eq!(code, 0);
        assert!(kib * 1024 <= KEYS * 120 + (24 << 20), "{threads}: {kib} KiB");
    }
}
