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

/// A control group of 64 MiB for one test, gone with it. `None` where none can be made.
struct Group(std::path::PathBuf);

impl Group {
    fn new() -> Option<Group> {
        let made = [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        let name = format!("eagre-test-stats-{}", std::process::id());
        made.into_iter().find_map(|(root, limit)| {
            let group = Group(Path::new(root).join(&name));
            fs::create_dir(&group.0).ok()?;
            // In a folder that is no control group there is no such file, and none is made.
            let limit = fs::OpenOptions::new().write(true).open(group.0.join(limit));
            std::io::Write::write_all(&mut limit.ok()?, b"67108864").ok()?;
            Some(group)
        })
    }

    /// Runs `eagre stats` in the group.
    fn run(&self, arguments: &str, input: &str) -> (Option<i32>, String, String) {
        let script = format!("echo $$ >'{}/cgroup.procs' || exit 99; {input} stats {arguments}", self.0.display());
        let output =
            Command::new("sh").args(["-c", &script]).env("EAGRE", env!("CARGO_BIN_EXE_eagre")).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// The system kills who takes more than the group has; memory that is reserved and not touched yet counts as free there.
#[test]
fn a_control_group_is_an_error_and_no_end() {
    let Some(group) = Group::new() else {
        eprintln!("skipped: no control group of our own");
        return;
    };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("keys");
    write_keys(&path, 1_000_000);
    let file = path.display();
    for (arguments, input) in [
        (format!("-j1 {file}"), "\"$EAGRE\""),
        (format!("-j2 {file}"), "\"$EAGRE\""),
        (format!("-j2 --columns median,var {file}"), "\"$EAGRE\""),
        // All different: what is sorted is as large as what is reserved beside it.
        ("-j1 --columns median".to_owned(), "seq -f 'k;%.0f' 4000000 | \"$EAGRE\""),
        (String::new(), "head -c 1G /dev/zero | \"$EAGRE\""),
        ("--csv".to_owned(), "head -c 1G /dev/zero | \"$EAGRE\""),
    ] {
        let (code, out, err) = group.run(&arguments, input);
        if code == Some(99) {
            eprintln!("skipped: this process may not enter a control group");
            return;
        }
        assert_eq!((code, out.as_str(), err.lines().count()), (Some(2), "", 1), "{input} {arguments}: {err}");
        assert!(err.contains("out of memory") && err.contains("in the control group are left"), "{err}");
    }
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
