//! `eagre copy` of directories and several files against `cp` itself, on trees with everything a file system allows.
#![forbid(unsafe_code)]

mod common;
#[path = "common/trees.rs"]
mod trees;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use common::{on_a_small_disk, parts, seeded};
use rustix::fs::Mode;
use trees::*;

#[test]
fn trees_are_copied_as_cp_copies_them() {
    for seed in 1..=6 {
        let room = Room::number(seed);
        grow(&mut seeded(seed), &room.path().join("tree"), 2, false);
        let umask = ["022", "077", "002", "027"][seed as usize % 4];
        for (us, them) in [(&["-rp"][..], &["-r", PRESERVE][..]), (&["-r"], &["-r"]), (&["-R", "--verify"], &["-R"])] {
            let (code, _, err) = ours(room.path(), umask, &[us, &["tree", "ours"]].concat());
            assert_eq!((code, err.as_str()), (0, ""), "seed {seed}");
            let (success, complaint) = theirs(room.path(), umask, &[them, &["tree", "theirs"]].concat());
            assert!(success, "{complaint}");
            let (mut ours, mut theirs) = (look(&room.path().join("ours")), look(&room.path().join("theirs")));
            if us != ["-rp"] {
                (ours, theirs) = (without_times(ours), without_times(theirs));
            }
            assert_alike(&ours, &theirs, &format!("{us:?}, seed {seed}, umask {umask}"));
            for name in ["ours", "theirs"] {
                let path = room.path().join(name);
                assert!(Command::new("chmod").args(["-R", "u+rwX"]).arg(&path).status().unwrap().success());
                fs::remove_dir_all(path).unwrap();
            }
        }
    }
}

/// Into a tree that is there: files are replaced, directories filled up, and what does not go together is told.
#[test]
fn trees_are_copied_into_others_as_cp_does() {
    let (mut refused, keep_existing) = (0, theirs_keep_existing());
    for seed in 1..=8 {
        let room = Room::number(seed);
        grow(&mut seeded(seed), &room.path().join("tree"), 2, true);
        for name in ["ours", "theirs"] {
            grow(&mut seeded(seed + 100), &room.path().join(name), 2, true);
        }
        for (us, them) in [(&["-rT"][..], &["-rT"][..]), (&["-rTn"], &["-rTn"]), (&["-rTp"], &["-rT", PRESERVE])] {
            if us == ["-rTn"] && !keep_existing {
                continue;
            }
            let (code, _, err) = ours(room.path(), "022", &[us, &["tree", "ours"]].concat());
            let (success, complaint) = theirs(room.path(), "022", &[them, &["tree", "theirs"]].concat());
            assert_eq!(code == 0, success, "seed {seed}:\n{err}\n{complaint}");
            // One line each.
            let lines = complaint.lines().filter(|line| line.starts_with("cp: ")).count();
            assert_eq!(err.lines().count(), lines, "seed {seed}, {us:?}:\n{err}\n{complaint}");
            assert!(
                err.lines()
                    .all(|line| line.trim_start_matches("eagre: copy: ").trim_start_matches('\'').starts_with("ours/")),
                "{err}"
            );
            refused += lines;
            let (ours, theirs) = (look(&room.path().join("ours")), look(&room.path().join("theirs")));
            assert_alike(&without_times(ours), &without_times(theirs), &format!("{us:?}, seed {seed}"));
        }
    }
    assert!(refused > 20, "{refused}");
}

/// Every form of arguments, each in a fresh room.
#[test]
fn arguments_mean_what_they_mean_to_cp() {
    let forms: &[&[&str]] = &[
        &["a", "new"],
        &["a", "dir"],
        &["a", "dir/"],
        &["a", "to-dir"],
        &["a", "b", "dir"],
        &["a", "b", "dir/"],
        &["a", "b", "to-dir"],
        &["a", "b", "new"],
        &["a", "b", "other/a"],
        &["a", "missing", "b", "dir"],
        &["a", "d", "b", "dir"],
        &["a", "other/a", "dir"],
        &["to-a", "a", "dir"],
        &["dangling", "dir"],
        &["-t", "dir", "a"],
        &["-t", "dir", "a", "b"],
        &["-t", "new", "a"],
        &["-t", "a", "b"],
        &["-T", "a", "new"],
        &["-T", "a", "b"],
        &["-T", "a", "dir"],
        &["-T", "a", "b", "dir"],
        &["-n", "a", "b"],
        &["-n", "a", "new"],
        &["-n", "b", "a", "dir"],
        &["-n", "a", "dangling"],
        &["-n", "a", "dir"],
        &["a"],
        &["-t", "dir"],
        &["d", "new"],
        &["d", "dir"],
        &["-r", "d", "new"],
        &["-r", "d/", "new"],
        &["-r", "d", "new/"],
        &["-r", "d", "dir"],
        &["-r", "d/", "dir/"],
        &["-r", "d/.", "dir"],
        &["-r", "d/.", "new"],
        &["-r", "d/sub/..", "dir"],
        &["-r", "d", "other"],
        &["-r", "d", "to-dir"],
        &["-rT", "d", "dir"],
        &["-rT", "d", "to-dir"],
        &["-rT", "d", "a"],
        &["-r", "d", "a"],
        &["-r", "d", "missing/new"],
        &["-r", "a", "dir"],
        &["-r", "a", "new"],
        &["-r", "a", "d", "dir"],
        &["-r", "d", "other/d", "dir"],
        &["-r", "a", "other/a", "dir"],
        &["-r", "to-d", "new"],
        &["-r", "to-d/", "new"],
        &["-r", "to-d", "dir"],
        &["-r", "dangling", "dir"],
        &["-r", "dangling", "to-a", "dir"],
        &["-r", "to-a", "a"],
        &["-r", "a", "to-a"],
        &["-r", "to-a", "b"],
        &["-r", "a", "dir/to-a"],
        &["-r", "missing", "d", "dir"],
        &["-r", "-t", "dir", "d", "a"],
        &["-rn", "other/d", "d"],
        &["-rnT", "other/d", "d"],
        &["-r", "other/dir", "a"],
        &["-r", "a", "d"],
        &["-r", ".", "/proc/self/cwd/../new"],
    ];
    let keep_existing = theirs_keep_existing();
    for form in forms {
        if !keep_existing && form.iter().any(|argument| ["-n", "-rn", "-rnT"].contains(argument)) {
            continue;
        }
        let (us, them) = (Room::new(), Room::new());
        let rooms = [us.path().join("room"), them.path().join("room")];
        for room in &rooms {
            fs::create_dir(room).unwrap();
            furnish(room);
        }
        let (code, _, err) = ours(&rooms[0], "022", form);
        let (success, complaint) = theirs(&rooms[1], "022", form);
        assert_eq!(code == 0, success, "{form:?}:\n{err}\n{complaint}");
        assert!(code == 0 && err.is_empty() || code == 2 && err.starts_with("eagre: "), "{form:?}: {err}");
        let (ours, theirs) = (look(us.path()), look(them.path()));
        assert_alike(&without_times(ours), &without_times(theirs), &format!("{form:?}"));
    }
}

/// Deeper than a path may be long, with fewer open files than there are directories.
#[test]
fn deep_trees() {
    let room = Room::new();
    let levels = 2100;
    fs::create_dir(room.path().join("deep")).unwrap();
    let flags = rustix::fs::OFlags::DIRECTORY;
    let mut at = File::open(room.path().join("deep")).unwrap();
    for level in 0..levels {
        rustix::fs::mkdirat(&at, "d", Mode::from_raw_mode(0o755)).unwrap();
        let file = rustix::fs::openat(
            &at,
            "f",
            rustix::fs::OFlags::CREATE | rustix::fs::OFlags::WRONLY,
            Mode::from_raw_mode(0o644),
        );
        File::from(file.unwrap()).write_all(format!("{level}").as_bytes()).unwrap();
        at = rustix::fs::openat(&at, "d", flags, Mode::empty()).unwrap().into();
    }
    let script = format!("ulimit -n 200 && exec '{}' copy -rp deep copy", env!("CARGO_BIN_EXE_eagre"));
    let output = Command::new("bash").args(["-c", &script]).current_dir(room.path()).output().unwrap();
    assert_eq!(parts(&output), (0, String::new(), String::new()));
    let mut at = File::open(room.path().join("copy")).unwrap();
    for level in 0..levels {
        let file = rustix::fs::openat(&at, "f", rustix::fs::OFlags::RDONLY, Mode::empty()).unwrap();
        let mut text = String::new();
        File::from(file).read_to_string(&mut text).unwrap();
        assert_eq!(text, format!("{level}"));
        at = rustix::fs::openat(&at, "d", flags, Mode::empty()).unwrap().into();
    }
    for name in ["deep", "copy"] {
        assert!(Command::new("rm").arg("-rf").arg(room.path().join(name)).status().unwrap().success());
    }
}

#[test]
fn a_tree_mounted_into_itself() {
    let script = "mkdir source target && echo x > source/x && mkdir source/within && mount --bind target source/within && \
                  \"$EAGRE\" copy -r source target; find target | sort";
    let Some(output) = on_a_small_disk("4M", script) else { return };
    let (_, out, err) = parts(&output);
    assert_eq!(
        err,
        "eagre: copy: target/source/within/source: a directory cannot be copied into itself; name a target outside of it\n"
    );
    assert_eq!(out, "target\ntarget/source\ntarget/source/within\ntarget/source/x\n");
}

#[test]
fn hard_links_become_files_of_their_own() {
    let room = Room::new();
    let path = |name: &str| room.path().join(name);
    fs::create_dir(path("tree")).unwrap();
    fs::write(path("tree/a"), "one").unwrap();
    fs::hard_link(path("tree/a"), path("tree/b")).unwrap();
    assert_eq!(ours(room.path(), "022", &["-rp", "tree", "copy"]), (0, String::new(), String::new()));
    for name in ["copy/a", "copy/b"] {
        assert_eq!((fs::read(path(name)).unwrap(), fs::metadata(path(name)).unwrap().nlink()), (b"one".to_vec(), 1));
    }
}
