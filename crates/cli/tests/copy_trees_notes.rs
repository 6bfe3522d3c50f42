//! `eagre copy` of directories: attributes that users and systems attach to files, times, and what --json says.
#![forbid(unsafe_code)]

mod common;
#[path = "common/trees.rs"]
mod trees;

use std::fs::{self};
use std::time::{Duration, SystemTime};

use common::{on_a_small_disk, parts};
use rustix::fs::XattrFlags;
use trees::*;

/// The file that is replaced, and the one that replaces it: as cp, which writes into the file that is there.
#[test]
fn notes_on_files() {
    let room = Room::new();
    let path = |name: &str| room.path().join(name);
    let write = |name: &str, notes: &[(&str, &str)]| {
        fs::write(path(name), name).unwrap();
        notes
            .iter()
            .all(|(note, value)| rustix::fs::setxattr(path(name), *note, value.as_bytes(), XattrFlags::empty()).is_ok())
    };
    for (us, them) in [(&["a", "ours"][..], &["a", "theirs"][..]), (&["-p", "a", "ours"], &[PRESERVE, "a", "theirs"])] {
        if !write("a", &[("user.both", "of a"), ("user.a", "1")]) {
            eprintln!("skipped: no extended attributes here");
            return;
        }
        assert!(write("ours", &[("user.both", "old"), ("user.old", "2")]));
        assert!(write("theirs", &[("user.both", "old"), ("user.old", "2")]));
        assert_eq!(ours(room.path(), "022", us), (0, String::new(), String::new()));
        assert!(theirs(room.path(), "022", them).0);
        assert_eq!(attributes(&path("ours")), attributes(&path("theirs")), "{us:?}");
    }
}

/// Where notes cannot be kept, one line says which.
#[test]
fn notes_that_are_not_kept_are_told() {
    let room = Room::new();
    fs::create_dir(room.path().join("tree")).unwrap();
    for name in ["tree/a", "tree/b"] {
        fs::write(room.path().join(name), "x").unwrap();
        for note in ["user.one", "user.two"] {
            if rustix::fs::setxattr(room.path().join(name), note, b"1", XattrFlags::empty()).is_err() {
                eprintln!("skipped: no extended attributes here");
                return;
            }
        }
    }
    let tree = room.path().join("tree").display().to_string();
    // A file system without any.
    let script = format!(
        "mkdir ram && mount -t ramfs none ram && cd ram && \"$EAGRE\" copy -p {tree}/a one && \"$EAGRE\" copy -rp {tree} two && \
         \"$EAGRE\" copy {tree}/a plain && ls . two"
    );
    let Some(output) = on_a_small_disk("4M", &script) else { return };
    let list = "user.one (Operation not supported), user.two (Operation not supported)";
    let expected = format!(
        "eagre: copy: one: extended attributes not kept: {list}\n\
         eagre: copy: two: extended attributes of 2 files not kept: {list}\n"
    );
    assert_eq!(parts(&output), (0, ".:\none\nplain\ntwo\n\ntwo:\na\nb\n".into(), expected));
}

#[test]
fn json_of_a_tree() {
    let room = Room::new();
    furnish(room.path());
    let (code, out, err) =
        ours(room.path(), "022", &["-r", "--verify", "--json", "--explain", "d", "a", "missing", "dir"]);
    assert_eq!(code, 2);
    // A line for each file, and one for what is missing.
    assert_eq!(err.lines().count(), 4, "{err}");
    assert!(err.contains("eagre: copy: dir/d/x: 1 thread with pieces of "), "{err}");
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    for (key, number) in [("files", 3), ("directories", 2), ("others", 1), ("failed", 1), ("bytes", 15 + 19 + 13)] {
        assert_eq!(json[key].as_u64(), Some(number), "{key}: {out}");
    }
    assert_eq!(json["verified"], true);
}

/// Neither reading the source nor reading back the copy counts as an access.
#[test]
fn times_of_access_are_kept() {
    for number in 1..=2 {
        let room = Room::number(number);
        let path = |name: &str| room.path().join(name);
        fs::create_dir(path("d")).unwrap();
        let then = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_789);
        for (name, length) in [("d/small", 1000), ("d/large", (3 << 20) + 1)] {
            fs::write(path(name), vec![7; length]).unwrap();
        }
        for arguments in [&["-rp", "d", "a"][..], &["-rp", "--verify", "d", "b"], &["-p", "--verify", "d/large", "c"]] {
            for name in ["d/small", "d/large"] {
                set_time(&path(name), 1_000_000_000);
            }
            assert_eq!(ours(room.path(), "022", arguments), (0, String::new(), String::new()));
        }
        for name in ["a/small", "a/large", "b/small", "b/large", "c"] {
            let copied = fs::metadata(path(name)).unwrap();
            assert_eq!((copied.accessed().unwrap(), copied.modified().unwrap()), (then, then), "{name}, {number}");
        }
    }
}
