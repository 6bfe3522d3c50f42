//! `eagre copy` of directories where not all of it can be done: what is told, what is left, what goes on.
#![forbid(unsafe_code)]

mod common;
#[path = "common/trees.rs"]
mod trees;

use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Command;

use common::{on_a_small_disk, parts};
use rustix::fs::{CWD, FileType, Mode};
use trees::*;

#[test]
fn what_is_wrong_with_arguments_is_said() {
    let room = Room::new();
    furnish(room.path());
    let before = look(room.path());
    let usage = "see 'eagre copy --help'";
    for (form, why) in [
        (&["a"][..], format!("eagre: usage: copy: the target is missing; {usage}\n")),
        (&["-T", "a", "b", "dir"], format!("eagre: usage: copy: with -T, there can be only one source; {usage}\n")),
        (&["a", "b", "new"], "eagre: copy: new: not a directory; create it first\n".into()),
        (&["-t", "a", "b"], "eagre: copy: a: not a directory; create it first\n".into()),
        (&["d", "new"], "eagre: copy: d: is a directory; copy it with -r\n".into()),
        (
            &["-r", "d", "d/new"],
            "eagre: copy: d/new: a directory cannot be copied into itself; name a target outside of it\n".into(),
        ),
        (
            &["-r", "d", "d"],
            "eagre: copy: d/d: a directory cannot be copied into itself; name a target outside of it\n".into(),
        ),
        (
            &["-r", "d", "to-d/sub"],
            "eagre: copy: to-d/sub/d: a directory cannot be copied into itself; name a target outside of it\n".into(),
        ),
        (
            &["-rT", "d", "d"],
            "eagre: copy: d: a directory cannot be copied into itself; name a target outside of it\n".into(),
        ),
        (
            &["-r", ".", "d/sub"],
            "eagre: copy: d/sub/.: a directory cannot be copied into itself; name a target outside of it\n".into(),
        ),
        (
            &["-r", "d", "a"],
            "eagre: copy: a: the target exists and is not a directory, but the source is one; name another target\n"
                .into(),
        ),
        (
            &["-T", "-r", "a", "dir"],
            "eagre: copy: dir: the target is a directory, but the source is not; name another target\n".into(),
        ),
        (
            &["-r", "a", "dangling"],
            "eagre: copy: dangling: the target is a dangling symbolic link; remove it first\n".into(),
        ),
        (&["-r", "a", "to-a"], "eagre: copy: to-a: this is the file to be copied; name another target\n".into()),
        (
            &["-", "a", "dir"],
            "eagre: copy: -: standard input has no name for the copy in a directory; name a file in it\n".into(),
        ),
        (&["-r", "d", "-"], "eagre: copy: d: a directory cannot go to standard output; name a directory\n".into()),
        (&["-r", "missing", "dir"], "eagre: copy: missing: No such file or directory; check the name\n".into()),
    ] {
        assert_eq!(ours(room.path(), "022", form), (2, String::new(), why), "{form:?}");
        assert_alike(&look(room.path()), &before, &format!("{form:?}"));
    }
}

/// What fails is told, and the rest is copied.
#[test]
fn the_rest_goes_on() {
    let room = Room::new();
    furnish(room.path());
    let (code, _, err) = ours(room.path(), "022", &["a", "missing", "d", "b", "-t", "other"]);
    assert_eq!(
        (code, err.as_str()),
        (
            2,
            "eagre: copy: missing: No such file or directory; check the name\n\
             eagre: copy: d: is a directory; copy it with -r\n"
        )
    );
    assert_eq!(fs::read(room.path().join("other/b")).unwrap(), b"what was in b");
    // Another of the same name is not written over what was just copied.
    let (code, _, err) = ours(room.path(), "022", &["a", "other/d/x", "d/x", "dir"]);
    assert_eq!(
        (code, err.as_str()),
        (
            2,
            "eagre: copy: dir/x: this would overwrite the copy of another source; copy them into different directories\n"
        )
    );
    assert_eq!(fs::read(room.path().join("dir/x")).unwrap(), b"what was in other/d/x");
    // Nor through a link that was.
    let path = |name: &str| room.path().join(name);
    fs::create_dir_all(path("one/t")).unwrap();
    fs::create_dir_all(path("two/t")).unwrap();
    symlink("../../b", path("one/t/x")).unwrap();
    fs::write(path("two/t/x"), "elsewhere").unwrap();
    let (code, _, err) = ours(room.path(), "022", &["-r", "one/t", "two/t", "dir"]);
    assert_eq!(code, 2);
    assert_eq!(
        err,
        "eagre: copy: dir/t/x: this would overwrite the copy of another source; copy them into different directories\n"
    );
    assert_eq!(fs::read(path("b")).unwrap(), b"what was in b");
}

#[test]
fn what_may_not_be_read_is_told_and_leaves_nothing() {
    if is_root() {
        eprintln!("skipped: root may read everything");
        return;
    }
    let room = Room::new();
    furnish(room.path());
    fs::set_permissions(room.path().join("d/x"), Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(room.path().join("d/sub"), Permissions::from_mode(0o000)).unwrap();
    let (code, _, err) = ours(room.path(), "022", &["-r", "d", "new"]);
    let mut lines: Vec<_> = err.lines().collect();
    lines.sort_unstable();
    let cure = "Permission denied; ask for permission (chmod, chown) or run as a user who has it";
    assert_eq!(
        (code, lines),
        (2, vec![&*format!("eagre: copy: d/sub: {cure}"), &*format!("eagre: copy: d/x: {cure}")])
    );
    assert_eq!(common::names(&room.path().join("new")), ["link"]);
    assert_eq!(fs::metadata(room.path().join("new")).unwrap().mode() & 0o777, 0o755);
}

/// Where a directory above may not be searched, as for `cp`: nobody gets from there into the source either.
#[test]
fn below_a_directory_that_may_not_be_searched() {
    if is_root() {
        eprintln!("skipped: root may search everything");
        return;
    }
    let room = Room::new();
    let here = room.path().join("closed/here");
    fs::create_dir_all(here.join("tree/sub")).unwrap();
    fs::write(here.join("tree/sub/file"), "x").unwrap();
    let close = |mode| fs::set_permissions(room.path().join("closed"), Permissions::from_mode(mode)).unwrap();
    let script = "chmod 000 .. && cp -r tree theirs && \"$EAGRE\" copy -r tree ours; code=$?; \"$EAGRE\" copy -r tree tree/sub; exit $code";
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(&here).env("EAGRE", env!("CARGO_BIN_EXE_eagre"));
    let output = command.output().unwrap();
    close(0o755);
    let into_itself =
        "eagre: copy: tree/sub/tree: a directory cannot be copied into itself; name a target outside of it\n".into();
    assert_eq!(parts(&output), (0, String::new(), into_itself));
    assert_alike(&without_times(look(&here.join("ours"))), &without_times(look(&here.join("theirs"))), "closed above");
}

#[test]
fn a_full_disk_costs_what_does_not_fit() {
    let room = Room::new();
    let tree = room.path().join("tree");
    fs::create_dir(&tree).unwrap();
    for (name, length) in [("a", 100_000), ("b", 20 << 20), ("c", 200_000), ("d", 6 << 20)] {
        fs::write(tree.join(name), vec![7; length]).unwrap();
    }
    let script = format!("\"$EAGRE\" copy -r {} copy; cd copy; stat -c '%n %s' *; ls -A | wc -l", tree.display());
    let Some(output) = on_a_small_disk("8M", &script) else { return };
    let (_, out, err) = parts(&output);
    assert_eq!(err, "eagre: copy: copy/b: No space left on device; make room, or write elsewhere\n");
    assert_eq!(out, "a 100000\nc 200000\nd 6291456\n3\n");
}

#[test]
fn a_limit_on_the_size_of_files_costs_those_that_are_larger() {
    let room = Room::new();
    let tree = room.path().join("tree");
    fs::create_dir(&tree).unwrap();
    for (name, length) in [("a", 100_000), ("b", 3 << 20), ("c", 200_000)] {
        fs::write(tree.join(name), vec![7; length]).unwrap();
    }
    let script = format!("ulimit -f 1024 && exec '{}' copy -r tree copy", env!("CARGO_BIN_EXE_eagre"));
    let output = Command::new("bash").args(["-c", &script]).current_dir(room.path()).output().unwrap();
    let what =
        "eagre: copy: copy/b: File too large; raise 'ulimit -f', or write to a file system that takes larger files\n";
    assert_eq!(parts(&output), (2, String::new(), what.into()));
    assert_eq!(common::names(&room.path().join("copy")), ["a", "c"]);
}

/// Stopped in the middle: every file that is there is complete, and nothing else is there, but the hidden name of a file that
/// was about to replace another.
#[test]
fn interrupted_it_leaves_whole_files_and_nothing_else() {
    let room = Room::new();
    let (tree, copy) = (room.path().join("tree"), room.path().join("copy"));
    fs::create_dir(&tree).unwrap();
    fs::create_dir(&copy).unwrap();
    let content = |at: u32| format!("{at} ").repeat(5000);
    for at in 0..1000 {
        fs::write(tree.join(at.to_string()), content(at)).unwrap();
        // Replacing needs a name for a moment.
        if at % 2 == 0 {
            fs::write(copy.join(at.to_string()), "old").unwrap();
        }
    }
    // Whoever runs this in the background may have the signal ignored, and children inherit that.
    let mut command = Command::new("env");
    command.arg("--default-signal=INT").arg(env!("CARGO_BIN_EXE_eagre")).args(["copy", "-rT", "tree", "copy"]);
    let mut child = command.current_dir(room.path()).spawn().unwrap();
    let begun = || fs::read_dir(&copy).unwrap().count() > 500;
    while !begun() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let _ = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status();
    let status = child.wait().unwrap();
    if status.success() {
        eprintln!("skipped: the copy was faster than the signal");
    }
    let (mut complete, mut hidden) = (0, 0);
    for name in common::names(&copy) {
        let text = fs::read_to_string(copy.join(&name)).unwrap();
        if name.starts_with(".eagre-") {
            // Between `link` and `rename`: complete, and on its way to a name that another file still has.
            let at: u32 = text.split(' ').next().unwrap().parse().unwrap();
            assert!(text == content(at) && at.is_multiple_of(2), "{name} is not complete");
            assert_eq!(fs::read_to_string(copy.join(at.to_string())).unwrap(), "old", "{name}");
            hidden += 1;
            continue;
        }
        let at: u32 = name.parse().unwrap_or_else(|_| panic!("{name} is left"));
        assert!(text == content(at) || (text == "old" && at.is_multiple_of(2)), "{name} is not complete");
        complete += u32::from(text != "old");
    }
    assert!(hidden <= 1, "{hidden}");
    assert!(complete > 0);
}

/// Several files, of which one is still coming: none has appeared before it is on the disk.
#[test]
fn interrupted_while_it_reads_a_pipe() {
    let room = Room::new();
    fs::create_dir(room.path().join("copy")).unwrap();
    rustix::fs::mknodat(CWD, room.path().join("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let mut command = Command::new("env");
    command.arg("--default-signal=INT").arg(env!("CARGO_BIN_EXE_eagre")).args(["copy", "pipe", "missing", "copy"]);
    let mut child = command.current_dir(room.path()).spawn().unwrap();
    // More than a pipe holds: when this returns, the copy is under way.
    let mut pipe = File::options().write(true).open(room.path().join("pipe")).unwrap();
    pipe.write_all(&vec![7; 3 << 20]).unwrap();
    assert!(Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().unwrap().success());
    assert!(!child.wait().unwrap().success());
    assert_eq!(common::names(&room.path().join("copy")), [""; 0]);
}
