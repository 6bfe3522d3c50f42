//! `eagre copy` against `cmp`-like comparison and what people expect of `cp`; and that nothing half-written is ever seen.
#![forbid(unsafe_code)]

mod common;

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use common::{eagre, on_a_small_disk, parts, seeded};

fn noise(length: usize) -> Vec<u8> {
    let mut random = seeded(length as u64);
    (0..length).map(|_| random.u64(..256) as u8).collect()
}

/// Runs `eagre copy`, and returns code, output and complaints.
fn copy(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    parts(&eagre().current_dir(folder).arg("copy").args(arguments).output().unwrap())
}

#[track_caller]
fn assert_copies(folder: &Path, arguments: &[&str]) {
    assert_eq!(copy(folder, arguments), (0, String::new(), String::new()), "{arguments:?}");
}

/// The names in a folder, hidden ones too.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A folder on a disk and, where there is such a thing, one in memory.
fn folders() -> Vec<tempfile::TempDir> {
    let mut folders = vec![tempfile::tempdir().unwrap()];
    match tempfile::tempdir_in("/dev/shm") {
        Ok(folder) => folders.push(folder),
        Err(_) => eprintln!("skipped: no /dev/shm here"),
    }
    folders
}

#[test]
fn every_size_everywhere() {
    let folders = folders();
    let sizes = [0, 1, 511, 4095, 4096, 4097, 512 << 10, (1 << 20) - 1, 1 << 20, (2 << 20) + 1, (9 << 20) + 4097];
    for size in sizes {
        let content = noise(size);
        for (from, to) in folders.iter().flat_map(|from| folders.iter().map(move |to| (from, to))) {
            fs::write(from.path().join("source"), &content).unwrap();
            let (source, target) = (from.path().join("source"), to.path().join("target"));
            for verify in [false, true] {
                let mut command = eagre();
                command.arg("copy").args([&source, &target]);
                if verify {
                    command.arg("--verify");
                }
                assert_eq!(parts(&command.output().unwrap()), (0, String::new(), String::new()));
                assert!(fs::read(&target).unwrap() == content, "{size} bytes, {source:?} to {target:?}");
                fs::remove_file(&target).unwrap();
            }
        }
    }
}

/// Where data begins and ends, as the file system tells.
fn stretches(path: &Path) -> Vec<(u64, u64)> {
    use rustix::fs::{SeekFrom, seek};
    let file = File::open(path).unwrap();
    let mut found = Vec::new();
    let mut at = 0;
    while let Ok(start) = seek(&file, SeekFrom::Data(at)) {
        at = seek(&file, SeekFrom::Hole(start)).unwrap();
        found.push((start, at));
    }
    found
}

#[test]
fn holes_stay_holes() {
    for folder in folders() {
        let path = |name: &str| folder.path().join(name);
        let file = File::create(path("sparse")).unwrap();
        for (offset, length) in [(1 << 20, 5000), (10 << 20, 3 << 20), (40 << 20, 1)] {
            file.write_all_at(&noise(length), offset).unwrap();
        }
        file.set_len((50 << 20) + 7).unwrap();
        File::create(path("hole")).unwrap().set_len(100 << 20).unwrap();
        for name in ["sparse", "hole"] {
            assert_copies(folder.path(), &["--verify", name, "copy"]);
            assert!(fs::read(path(name)).unwrap() == fs::read(path("copy")).unwrap());
            assert_eq!(stretches(&path(name)), stretches(&path("copy")), "{name}");
            let blocks = |name: &str| fs::metadata(path(name)).unwrap().blocks();
            assert!(blocks("copy") <= blocks(name) + 16, "{} for {}", blocks("copy"), blocks(name));
        }
    }
}

#[test]
fn into_directories_over_files_and_through_links() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a"), "new").unwrap();
    fs::create_dir(path("folder")).unwrap();
    assert_copies(folder.path(), &["a", "folder"]);
    assert_copies(folder.path(), &["a", "folder/"]);
    assert_eq!(fs::read(path("folder/a")).unwrap(), b"new");

    // What is there is replaced; who has it open keeps what was there.
    fs::write(path("b"), "old and longer").unwrap();
    let mut open = File::open(path("b")).unwrap();
    assert_copies(folder.path(), &["a", "b"]);
    assert_eq!(fs::read(path("b")).unwrap(), b"new");
    let mut old = String::new();
    open.read_to_string(&mut old).unwrap();
    assert_eq!(old, "old and longer");

    fs::write(path("behind"), "old").unwrap();
    symlink("behind", path("link")).unwrap();
    assert_copies(folder.path(), &["a", "link"]);
    assert_eq!(fs::read(path("behind")).unwrap(), b"new");
    assert!(fs::symlink_metadata(path("link")).unwrap().is_symlink());
}

#[test]
fn modes_and_times() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mode = |name: &str| fs::metadata(path(name)).unwrap().mode() & 0o7777;
    fs::write(path("a"), "x").unwrap();
    fs::set_permissions(path("a"), Permissions::from_mode(0o4775)).unwrap();
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    File::options().write(true).open(path("a")).unwrap().set_modified(then).unwrap();

    // As cp does, asked in the same environment.
    assert_copies(folder.path(), &["a", "ours"]);
    let cp = Command::new("cp").args(["a", "theirs"]).current_dir(folder.path()).status().unwrap();
    assert!(cp.success());
    assert_eq!(mode("ours"), mode("theirs"));
    assert_ne!(fs::metadata(path("ours")).unwrap().modified().unwrap(), then);

    // A file that is there keeps its mode.
    fs::set_permissions(path("ours"), Permissions::from_mode(0o600)).unwrap();
    assert_copies(folder.path(), &["a", "ours"]);
    assert_eq!(mode("ours"), 0o600);

    assert_copies(folder.path(), &["-p", "a", "ours"]);
    assert_eq!(mode("ours"), 0o4775);
    assert_eq!(fs::metadata(path("ours")).unwrap().modified().unwrap(), then);
}

#[test]
fn a_file_is_not_copied_onto_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a"), "content").unwrap();
    fs::hard_link(path("a"), path("hard")).unwrap();
    symlink("a", path("soft")).unwrap();
    for target in ["a", "./a", "hard", "soft", "."] {
        let (code, _, err) = copy(folder.path(), &["a", target]);
        assert_eq!(code, 2);
        assert!(err.contains("this is the file to be copied; name another target"), "{err}");
        assert_eq!(fs::read(path("a")).unwrap(), b"content");
    }
}

#[test]
fn what_cannot_be_copied() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), "x").unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    for (arguments, why) in [
        (&["missing", "b"][..], "eagre: copy: missing: No such file or directory; check the name\n"),
        (&["folder", "b"], "eagre: copy: folder: is a directory; copy it with -r\n"),
        (&["a", "missing/b"], "eagre: copy: missing/b: No such file or directory; check the name\n"),
        (&["-", "folder"], "eagre: copy: folder: Is a directory; name a file in it\n"),
        (&["a", "b/"], "eagre: copy: b/: Is a directory; name a file in it\n"),
        (&["--json", "a", "-"], "eagre: copy: standard output: it cannot take both the copy and --json; name a file\n"),
        (&["--verify", "a", "-"], "eagre: copy: standard output: cannot be read back, so it cannot be verified\n"),
    ] {
        assert_eq!(copy(folder.path(), arguments), (2, String::new(), why.to_owned()), "{arguments:?}");
        assert_eq!(names(folder.path()), ["a", "folder"]);
    }
}

#[test]
fn pipes_devices_and_files_whose_size_is_a_lie() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let content = noise(3_000_000);
    fs::write(path("a"), &content).unwrap();

    let output = eagre().current_dir(folder.path()).args(["copy", "a", "-"]).output().unwrap();
    assert!(output.stdout == content && output.status.success());

    for arguments in [&["copy", "-", "b"][..], &["copy", "--verify", "-", "b"]] {
        let mut child = eagre().current_dir(folder.path()).args(arguments).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(&content).unwrap();
        assert!(child.wait().unwrap().success());
        assert!(fs::read(path("b")).unwrap() == content);
    }

    // Standard input is copied from where it stands.
    let mut stdin = File::open(path("a")).unwrap();
    stdin.read_exact(&mut [0; 1000]).unwrap();
    assert!(eagre().current_dir(folder.path()).args(["copy", "-", "b"]).stdin(stdin).status().unwrap().success());
    assert!(fs::read(path("b")).unwrap() == content[1000..]);

    assert_copies(folder.path(), &["/proc/version", "version"]);
    assert_eq!(fs::read(path("version")).unwrap(), fs::read("/proc/version").unwrap());
    assert_copies(folder.path(), &["a", "/dev/null"]);
    if Path::new("/dev/full").exists() {
        let (code, _, err) = copy(folder.path(), &["a", "/dev/full"]);
        assert_eq!(code, 2);
        assert_eq!(err, "eagre: copy: /dev/full: No space left on device; make room, or write elsewhere\n");
    }

    rustix::fs::mknodat(
        rustix::fs::CWD,
        path("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let mut child = eagre().current_dir(folder.path()).args(["copy", "fifo", "b"]).spawn().unwrap();
    fs::write(path("fifo"), &content).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(fs::read(path("b")).unwrap() == content);
}

#[test]
fn nobody_reads_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), noise(1 << 20)).unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = eagre().current_dir(folder.path()).args(["copy", "a", "-"]).stdout(writer).output().unwrap();
    assert_eq!(parts(&output), (0, String::new(), String::new()));
}

/// Stopped in the middle, by whatever signal: nothing is there that was not before.
#[test]
fn killed_it_leaves_nothing() {
    // Not INT: whoever runs this in the background may have it ignored, and children inherit that.
    for signal in ["TERM", "KILL"] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("b"), "old").unwrap();
        let mut child =
            eagre().current_dir(folder.path()).args(["copy", "-", "b"]).stdin(Stdio::piped()).spawn().unwrap();
        // More than a pipe holds: when this returns, some of it has been read, and the copy is under way.
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(&noise(3 << 20)).unwrap();
        let kill = Command::new("kill").args([OsStr::new("-s"), signal.as_ref()]).arg(child.id().to_string()).status();
        assert!(kill.unwrap().success());
        assert!(!child.wait().unwrap().success());
        assert_eq!(names(folder.path()), ["b"], "{signal}");
        assert_eq!(fs::read(path("b")).unwrap(), b"old");
    }
}

#[test]
fn a_limit_on_the_size_of_files_is_an_error_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), noise(3 << 20)).unwrap();
    let script = format!("ulimit -f 1024 && exec '{}' copy a b", env!("CARGO_BIN_EXE_eagre"));
    let output = Command::new("bash").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
    let what = "eagre: copy: b: File too large; raise 'ulimit -f', or write to a file system that takes larger files\n";
    assert_eq!(parts(&output), (2, String::new(), what.into()));
    assert_eq!(names(folder.path()), ["a"]);
}

#[test]
fn a_full_disk_before_and_in_the_middle() {
    let source = tempfile::NamedTempFile::new().unwrap();
    fs::write(source.path(), noise(8 << 20)).unwrap();
    let source = source.path().display();
    let full = "No space left on device; make room, or write elsewhere";
    // Known beforehand, and seen in the middle, where the length is not known.
    for script in [format!("\"$EAGRE\" copy {source} b; ls"), format!("cat {source} | \"$EAGRE\" copy - b; ls")] {
        let Some(output) = on_a_small_disk("4M", &script) else { return };
        let (_, out, err) = parts(&output);
        assert_eq!((out.as_str(), err), ("mounted\n", format!("eagre: copy: b: {full}\n")));
    }
}

#[test]
fn json_and_explanation() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), noise(5 << 20)).unwrap();
    let (code, out, err) = copy(folder.path(), &["--json", "--explain", "--verify", "a", "b"]);
    assert_eq!(code, 0);
    assert!(err.starts_with("eagre: copy: ") && err.contains("thread") && err.lines().count() == 1, "{err}");
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["source"]["file"], "a");
    assert_eq!(json["target"]["file"], "b");
    assert_eq!((json["bytes"].as_u64(), json["data"].as_u64()), (Some(5 << 20), Some(5 << 20)));
    assert_eq!(json["verified"], true);
}

/// A source that changes its size while it is copied: the copy is a state the file was in, or there is none.
#[test]
fn a_source_that_shrinks_or_grows() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { folder.path().join(name) };
    let content = noise(24 << 20);
    for round in 0..12 {
        fs::write(path("a"), &content).unwrap();
        let mut child = eagre();
        child.current_dir(folder.path()).args(["copy", "a", "b"]).stderr(Stdio::piped());
        let child = child.spawn().unwrap();
        let file = File::options().append(true).open(path("a")).unwrap();
        if round % 2 == 0 {
            file.set_len(1000).unwrap();
        } else {
            (&file).write_all(b"more").unwrap();
        }
        let (code, _, err) = parts(&child.wait_with_output().unwrap());
        if code == 2 {
            assert_eq!(err, "eagre: copy: a: the file shrank while it was copied\n");
            assert_eq!(names(folder.path()), ["a"]);
            continue;
        }
        let copied = fs::read(path("b")).unwrap();
        let grown = [&content[..], b"more"].concat();
        assert!(copied == content || copied == grown || copied == content[..1000], "{} bytes", copied.len());
        fs::remove_file(path("b")).unwrap();
    }
}
