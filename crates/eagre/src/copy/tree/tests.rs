//! The events of a tree copy. The resulting trees are compared with those of `cp` in the tests of the command.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::super::target_in;
use super::itself::lies_in;
use super::place::{Place, id};
use super::*;

/// The events as text.
fn told(event: &Event<'_>, top: &Path) -> Option<String> {
    let name = |path: &Path| path.strip_prefix(top).unwrap().display().to_string();
    Some(match event {
        Event::File { from, to, copied } => format!("{} to {}, {} bytes", name(from), name(to), copied.bytes),
        Event::Directory(to) => format!("{} complete", name(to)),
        Event::Other(to) => format!("{} made", name(to)),
        Event::Failed { at, error, .. } => format!("{}: {error}", name(at)),
        Event::Progress(_) | Event::Unkept(..) => return None,
    })
}

#[test]
fn a_file_appears_when_it_is_told_and_its_directory_after_it() {
    let room = tempfile::tempdir().unwrap();
    let path = |name: &str| room.path().join(name);
    fs::create_dir_all(path("tree/deep")).unwrap();
    fs::write(path("tree/deep/file"), "12345").unwrap();
    symlink("anywhere", path("tree/link")).unwrap();
    fs::set_permissions(path("tree/deep"), fs::Permissions::from_mode(0o555)).unwrap();
    let mut story = Vec::new();
    let mut done = 0;
    let mut watch = |event: Event<'_>| {
        match event {
            Event::File { to, .. } => assert_eq!(fs::read(to).unwrap(), b"12345"),
            Event::Progress(bytes) => done = bytes,
            _ => {}
        }
        story.extend(told(&event, room.path()));
    };
    let mut trees = TreeCopier::new(Copier::new());
    trees.copy(&path("tree"), &path("copy"), &mut watch);
    assert!(!path("copy/deep/file").exists(), "before it is durable");
    trees.finish(&mut watch);
    story.sort();
    assert_eq!(
        story,
        ["copy complete", "copy/deep complete", "copy/link made", "tree/deep/file to copy/deep/file, 5 bytes"]
    );
    assert_eq!(done, 5);
    assert_eq!(fs::metadata(path("copy/deep")).unwrap().permissions().mode() & 0o777, 0o555);
    assert_eq!(measure(&path("tree"), true), 5);
    // Or it cannot be removed.
    for name in ["tree/deep", "copy/deep"] {
        fs::set_permissions(path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_dropped_copier_leaves_no_file() {
    let room = tempfile::tempdir().unwrap();
    let path = |name: &str| room.path().join(name);
    fs::create_dir(path("tree")).unwrap();
    fs::write(path("tree/file"), "x").unwrap();
    let mut trees = TreeCopier::new(Copier::new());
    trees.copy(&path("tree"), &path("copy"), &mut |_| ());
    drop(trees);
    assert_eq!(fs::read_dir(path("copy")).unwrap().count(), 0);
}

/// The way up from a deep directory leads through `..`, and is used only if it still leads to the right directory.
#[test]
fn a_directory_that_is_moved_meanwhile() {
    let room = tempfile::tempdir().unwrap();
    let path = |name: &str| room.path().join(name);
    let deep = |top: &str, levels: usize| path(top).join(["d"; 40][..levels].join("/"));
    fs::create_dir_all(deep("tree", 40)).unwrap();
    symlink("x", deep("tree", 40).join("link")).unwrap();
    fs::write(path("tree/file"), "x").unwrap();
    let mut story = Vec::new();
    let mut trees = TreeCopier::new(Copier::new());
    let mut watch = |event: Event<'_>| {
        if matches!(event, Event::Other(_)) {
            fs::rename(deep("tree", 3), path("elsewhere")).unwrap();
        }
        if matches!(event, Event::Failed { .. }) {
            story.extend(told(&event, room.path()));
        }
    };
    trees.copy(&path("tree"), &path("copy"), &mut watch);
    trees.finish(&mut watch);
    assert_eq!(story, ["copy/d/d/d: writing: it was moved while it was copied"]);
    assert_eq!(fs::read_link(deep("copy", 40).join("link")).unwrap(), Path::new("x"));
}

#[test]
fn names_that_sources_have_in_a_directory() {
    for (from, to) in [
        ("a", "dir/a"),
        ("x/a", "dir/a"),
        ("x/a/", "dir/a"),
        ("x/a//", "dir/a"),
        (".", "dir/."),
        ("x/.", "dir/."),
        ("x/./", "dir/."),
        ("..", "dir/."),
        ("x/..", "dir/."),
        ("/", "dir/."),
        ("...", "dir/..."),
        ("x/.a", "dir/.a"),
    ] {
        // As paths, `dir/.` and `dir` compare equal.
        assert_eq!(target_in(from.as_ref(), "dir".as_ref()).as_os_str(), to, "{from}");
    }
}

#[test]
fn paths_inside_a_directory_are_recognised() {
    let room = tempfile::tempdir().unwrap();
    let path = |name: &str| room.path().join(name);
    fs::create_dir_all(path("a/b/c")).unwrap();
    fs::create_dir_all(path("ab")).unwrap();
    symlink("a/b", path("link")).unwrap();
    let inside = id(&Place::of(&path("a")).look().unwrap().unwrap());
    for (name, is_inside) in [
        ("a", true),
        ("a/new", true),
        ("a/b/c/new", true),
        ("link/new", true),
        ("link/c/..", true),
        ("link", false),
        ("ab", false),
        ("ab/new", false),
        ("new", false),
    ] {
        assert_eq!(lies_in(&path(name), inside), Ok(is_inside), "{name}");
    }
    assert!(lies_in(&path("missing/new"), inside).is_err());
}

/// Another program may replace a pipe or device that was just made. Its file must not get the mode and owner of the
/// copy.
#[test]
fn a_replaced_file_is_not_held() {
    let room = tempfile::tempdir().unwrap();
    let path = |name: &str| room.path().join(name);
    let pipe = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path("pipe"), rustix::fs::FileType::Fifo, pipe, 0).unwrap();
    fs::write(path("file"), "x").unwrap();
    symlink("pipe", path("link")).unwrap();
    let look = |path: &Path| Place::of(path).look().unwrap().unwrap();
    let holds = |there: &Path, original: &Path| Place::of(there).hold(&look(original)).is_ok();
    assert!(holds(&path("pipe"), &path("pipe")) && holds(&path("link"), &path("link")));
    for other in ["file", "link"] {
        assert!(!holds(&path(other), &path("pipe")), "{other}");
    }
    assert!(holds("/dev/null".as_ref(), "/dev/null".as_ref()));
    assert!(!holds("/dev/full".as_ref(), "/dev/null".as_ref()));
}
