//! `eagre copy` of directories and several files against `cp` itself, on trees with everything a file system allows.
#![forbid(unsafe_code)]

mod common;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use common::{Random, on_a_small_disk, parts};
use rustix::fs::{AtFlags, CWD, FileType, Mode, Timespec, Timestamps, XattrFlags};

/// Everything that can be seen of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    kind: u32,
    mode: u32,
    owner: (u32, u32),
    /// Seconds and nanoseconds of the last change.
    time: (i64, i64),
    /// Of a file, its length and a checksum; the text of a link; the number of a device.
    content: OsString,
    attributes: Vec<(OsString, Vec<u8>)>,
}

fn attributes(path: &Path) -> Vec<(OsString, Vec<u8>)> {
    let (mut names, mut value) = (vec![0; 65536], vec![0; 65536]);
    let length = rustix::fs::llistxattr(path, &mut names[..]).unwrap_or(0);
    let mut found: Vec<_> = names[..length]
        .split(|&byte| byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| {
            let length = rustix::fs::lgetxattr(path, name, &mut value[..]).unwrap();
            (OsString::from_vec(name.to_vec()), value[..length].to_vec())
        })
        .collect();
    found.sort();
    found
}

fn summary(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{} bytes, {:x}", bytes.len(), hasher.finish())
}

/// All that is under a directory, itself included.
fn look(top: &Path) -> BTreeMap<PathBuf, Seen> {
    let mut seen = BTreeMap::new();
    let mut paths = vec![top.to_owned()];
    while let Some(path) = paths.pop() {
        let there = fs::symlink_metadata(&path).unwrap();
        let content = match there.file_type() {
            kind if kind.is_symlink() => fs::read_link(&path).unwrap().into_os_string(),
            kind if kind.is_file() => summary(&fs::read(&path).unwrap()).into(),
            _ => there.rdev().to_string().into(),
        };
        if there.is_dir() {
            paths.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let one = Seen {
            kind: there.mode() & 0o170_000,
            mode: there.mode() & 0o7777,
            owner: (there.uid(), there.gid()),
            time: (there.mtime(), there.mtime_nsec()),
            content,
            attributes: attributes(&path),
        };
        seen.insert(path.strip_prefix(top).unwrap().to_owned(), one);
    }
    seen
}

/// Without what a copy that keeps nothing does not have to have.
fn without_times(mut seen: BTreeMap<PathBuf, Seen>) -> BTreeMap<PathBuf, Seen> {
    seen.values_mut().for_each(|one| one.time = (0, 0));
    seen
}

#[track_caller]
fn assert_alike(ours: &BTreeMap<PathBuf, Seen>, theirs: &BTreeMap<PathBuf, Seen>, what: &str) {
    for path in ours.keys().chain(theirs.keys()) {
        assert_eq!(ours.get(path), theirs.get(path), "{what}: {path:?}");
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Names with everything that names may hold.
const NAMES: [&[u8]; 12] =
    [b"a", b"b", b"c d", b"new\nline", b"\xff\xfe", b"-r", b"quo'te", b"\xc3\xa4", b"...", b"*", b"\\", b".hidden"];

fn set_time(path: &Path, seconds: u64) {
    let time = Timespec { tv_sec: seconds as i64, tv_nsec: 123_456_789 };
    let times = Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

/// A POSIX ACL: its owner may do everything, the user 4321 may read and enter, the group nothing.
fn access_list() -> Vec<u8> {
    const ANYBODY: u32 = u32::MAX;
    let entries = [(1u16, 7u16, ANYBODY), (2, 5, 4321), (4, 0, ANYBODY), (16, 7, ANYBODY), (32, 0, ANYBODY)];
    let entries = entries
        .iter()
        .flat_map(|(tag, may, who)| [&tag.to_le_bytes()[..], &may.to_le_bytes()[..], &who.to_le_bytes()[..]].concat());
    2u32.to_le_bytes().into_iter().chain(entries).collect()
}

/// Makes a tree of random things. `calm`: what anybody may copy, be it without privileges, and twice into one place.
fn grow(random: &mut Random, at: &Path, depth: u32, calm: bool) {
    fs::create_dir(at).unwrap();
    for name in NAMES {
        let path = at.join(OsStr::from_bytes(name));
        match random.below(12) {
            0..=2 if depth > 0 => {
                grow(random, &path, depth - 1, calm);
                continue;
            }
            0..=5 => {
                let length = *random.pick(&[0, 1, 100, 5000, 70_000, (1 << 20) + 77]);
                let content: Vec<u8> = (0..length).map(|at| (at * 7 + at / 255) as u8).collect();
                fs::write(&path, content).unwrap();
                // What a file may be read with.
                let modes = [0o644, 0o600, 0o755, 0o444, 0o400, 0o666, 0o4755, 0o2755];
                // cp leaves such bits to a file that is there, though its source has none.
                let modes = if calm { &modes[..6] } else { &modes[..] };
                fs::set_permissions(&path, Permissions::from_mode(*random.pick(modes))).unwrap();
            }
            6 => {
                let file = File::create(&path).unwrap();
                file.set_len(3 << 20).unwrap();
                file.write_all_at(b"data", random.below(3 << 20)).unwrap();
            }
            7 => symlink(OsStr::from_bytes(NAMES[random.below(12) as usize]), &path).unwrap(),
            // A device that is written through a link takes no notes, and cp says so.
            8 if calm => symlink(random.pick(&["dangling/nowhere", ".", "..", "../.."]), &path).unwrap(),
            8 => symlink(random.pick(&["dangling/nowhere", ".", "..", "/dev/null"]), &path).unwrap(),
            9 if !calm => {
                rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o640), 0).unwrap();
            }
            10 if !calm && path.as_os_str().len() < 100 => drop(UnixListener::bind(&path).unwrap()),
            11 if !calm && is_root() => {
                let device = rustix::fs::makedev(1, 3);
                // Root in a container may not.
                let _ = rustix::fs::mknodat(CWD, &path, FileType::CharacterDevice, Mode::from_raw_mode(0o620), device);
            }
            _ => continue,
        }
        if path.is_symlink() || path.exists() {
            if path.is_file() && !path.is_symlink() && random.below(3) == 0 {
                // Files that nobody may write take none from anybody but root.
                let _ = rustix::fs::setxattr(&path, "user.note", b"bytes\0\xff", XattrFlags::empty());
                if is_root() {
                    let _ = rustix::fs::setxattr(&path, "trusted.note", b"root's", XattrFlags::empty());
                    rustix::fs::chownat(CWD, &path, Some(rustix::fs::Uid::from_raw(12)), None, AtFlags::empty())
                        .unwrap();
                }
            }
            if !calm && path.is_file() && !path.is_symlink() && random.below(6) == 0 {
                let _ = rustix::fs::setxattr(&path, "system.posix_acl_access", &access_list(), XattrFlags::empty());
            }
            set_time(&path, 1_000_000_000 + random.below(1 << 29));
        }
    }
    if !calm && random.below(4) == 0 {
        for name in ["system.posix_acl_access", "system.posix_acl_default"] {
            let _ = rustix::fs::setxattr(at, name, &access_list(), XattrFlags::empty());
        }
    }
    if random.below(2) == 0 {
        let _ = rustix::fs::setxattr(at, "user.of-a-directory", b"1", XattrFlags::empty());
    }
    let modes = if calm { [0o755, 0o700, 0o750, 0o775] } else { [0o755, 0o555, 0o1777, 0o2750] };
    fs::set_permissions(at, Permissions::from_mode(*random.pick(&modes))).unwrap();
    set_time(at, 1_000_000_000 + random.below(1 << 29));
}

/// A folder that can be removed whatever the modes in it are.
struct Room(tempfile::TempDir);

impl Room {
    fn new() -> Room {
        Room(tempfile::tempdir().unwrap())
    }

    /// On a disk or, where there is such a thing and it takes notes, in memory, in turn.
    fn number(number: u64) -> Room {
        if number.is_multiple_of(2)
            && let Ok(room) = tempfile::tempdir_in("/dev/shm")
            && rustix::fs::setxattr(room.path(), "user.note", b"", XattrFlags::empty()).is_ok()
        {
            return Room(room);
        }
        Room::new()
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(self.path()).stderr(Stdio::null()).status();
    }
}

/// Runs a command in a folder, with a umask.
fn run(folder: &Path, umask: &str, program: &OsStr, arguments: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", "umask $0; exec \"$@\"", umask]).arg(program).args(arguments);
    command.current_dir(folder).env("LC_ALL", "C").stdin(Stdio::null()).output().unwrap()
}

fn ours(folder: &Path, umask: &str, arguments: &[&str]) -> (i32, String, String) {
    let arguments: Vec<_> = std::iter::once("copy").chain(arguments.iter().copied()).collect();
    parts(&run(folder, umask, env!("CARGO_BIN_EXE_eagre").as_ref(), &arguments))
}

fn theirs(folder: &Path, umask: &str, arguments: &[&str]) -> (bool, String) {
    let output = run(folder, umask, "cp".as_ref(), arguments);
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Whether `cp -n` does as that of coreutils 9.1: leaves what is there without a word, and calls a link that leads nowhere an
/// error. Others complain, warn, or have another exit code.
fn theirs_keep_existing() -> bool {
    let room = Room::new();
    let path = |name: &str| room.path().join(name);
    for name in ["a", "b"] {
        fs::write(path(name), name).unwrap();
    }
    symlink("nowhere", path("dangling")).unwrap();
    let kept = theirs(room.path(), "022", &["-n", "a", "b"]) == (true, String::new());
    let (success, complaint) = theirs(room.path(), "022", &["-n", "a", "dangling"]);
    let alike = kept && !success && complaint.lines().count() == 1 && fs::read(path("b")).unwrap() == b"b";
    if !alike {
        eprintln!("skipped: -n: this cp -n is not that of coreutils 9.1");
    }
    alike
}

/// What cp is told so that it keeps what -p keeps.
const PRESERVE: &str = "--preserve=mode,ownership,timestamps,xattr";

#[test]
fn trees_are_copied_as_cp_copies_them() {
    for seed in 1..=6 {
        let room = Room::number(seed);
        grow(&mut Random(seed), &room.path().join("tree"), 2, false);
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
        grow(&mut Random(seed), &room.path().join("tree"), 2, true);
        for name in ["ours", "theirs"] {
            grow(&mut Random(seed + 100), &room.path().join(name), 2, true);
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

fn furnish(folder: &Path) {
    let path = |name: &str| folder.join(name);
    for name in ["d/sub", "dir", "other/d/sub", "other/dir"] {
        fs::create_dir_all(path(name)).unwrap();
    }
    for name in ["a", "b", "d/x", "d/sub/y", "other/a", "other/d/x", "other/d/z", "dir/b"] {
        fs::write(path(name), format!("what was in {name}")).unwrap();
    }
    for (to, name) in [("d", "to-d"), ("a", "to-a"), ("dir", "to-dir"), ("nowhere", "dangling"), ("a", "dir/to-a")] {
        symlink(to, path(name)).unwrap();
    }
    symlink("../b", path("d/link")).unwrap();
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

#[test]
fn what_is_wrong_with_arguments_is_said() {
    let room = Room::new();
    furnish(room.path());
    let before = look(room.path());
    let usage = "see 'eagre copy --help'";
    for (form, why) in [
        (&["a"][..], format!("eagre: usage: copy: it is not said where to copy it; {usage}\n")),
        (&["-T", "a", "b", "dir"], format!("eagre: usage: copy: several files cannot have one name (-T); {usage}\n")),
        (&["a", "b", "new"], "eagre: copy: new: is no directory; make it first\n".into()),
        (&["-t", "a", "b"], "eagre: copy: a: is no directory; make it first\n".into()),
        (&["d", "new"], "eagre: copy: d: is a directory; copy it with -r\n".into()),
        (
            &["-r", "d", "d/new"],
            "eagre: copy: d/new: a directory cannot be copied into itself; name one outside of it\n".into(),
        ),
        (
            &["-r", "d", "d"],
            "eagre: copy: d/d: a directory cannot be copied into itself; name one outside of it\n".into(),
        ),
        (
            &["-r", "d", "to-d/sub"],
            "eagre: copy: to-d/sub/d: a directory cannot be copied into itself; name one outside of it\n".into(),
        ),
        (
            &["-rT", "d", "d"],
            "eagre: copy: d: a directory cannot be copied into itself; name one outside of it\n".into(),
        ),
        (
            &["-r", ".", "d/sub"],
            "eagre: copy: d/sub/.: a directory cannot be copied into itself; name one outside of it\n".into(),
        ),
        (
            &["-r", "d", "a"],
            "eagre: copy: a: there is something that is no directory, and what is copied is one; name another\n".into(),
        ),
        (
            &["-T", "-r", "a", "dir"],
            "eagre: copy: dir: there is a directory, and what is copied is none; name another\n".into(),
        ),
        (
            &["-r", "a", "dangling"],
            "eagre: copy: dangling: a symbolic link that leads nowhere; remove it first\n".into(),
        ),
        (&["-r", "a", "to-a"], "eagre: copy: to-a: this is the file to be copied; name another\n".into()),
        (
            &["-", "a", "dir"],
            "eagre: copy: -: standard input has no name to have in a directory; name a file in it\n".into(),
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
        (2, "eagre: copy: dir/x: this is the copy of another source; copy them into different directories\n")
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
    assert_eq!(err, "eagre: copy: dir/t/x: this is the copy of another source; copy them into different directories\n");
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
        "eagre: copy: tree/sub/tree: a directory cannot be copied into itself; name one outside of it\n".into();
    assert_eq!(parts(&output), (0, String::new(), into_itself));
    assert_alike(&without_times(look(&here.join("ours"))), &without_times(look(&here.join("theirs"))), "closed above");
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
        "eagre: copy: target/source/within/source: a directory cannot be copied into itself; name one outside of it\n"
    );
    assert_eq!(out, "target\ntarget/source\ntarget/source/within\ntarget/source/x\n");
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
    assert_eq!(parts(&output), (2, String::new(), "eagre: copy: copy/b: File too large\n".into()));
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
