//! Trees with everything a file system allows, copied by the command and by `cp`.
#![allow(dead_code, reason = "not every test file uses all of it")]

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::fs::{AtFlags, CWD, FileType, Mode, Timespec, Timestamps, XattrFlags};

use crate::common::parts;
use fastrand::Rng;

/// Everything that can be seen of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) kind: u32,
    pub(crate) mode: u32,
    pub(crate) owner: (u32, u32),
    /// Seconds and nanoseconds of the last change.
    pub(crate) time: (i64, i64),
    /// Of a file, its length and a checksum; the text of a link; the number of a device.
    pub(crate) content: OsString,
    pub(crate) attributes: Vec<(OsString, Vec<u8>)>,
}

pub(crate) fn attributes(path: &Path) -> Vec<(OsString, Vec<u8>)> {
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

pub(crate) fn summary(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{} bytes, {:x}", bytes.len(), hasher.finish())
}

/// All that is under a directory, itself included.
pub(crate) fn look(top: &Path) -> BTreeMap<PathBuf, Seen> {
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
pub(crate) fn without_times(mut seen: BTreeMap<PathBuf, Seen>) -> BTreeMap<PathBuf, Seen> {
    seen.values_mut().for_each(|one| one.time = (0, 0));
    seen
}

#[track_caller]
pub(crate) fn assert_alike(ours: &BTreeMap<PathBuf, Seen>, theirs: &BTreeMap<PathBuf, Seen>, what: &str) {
    for path in ours.keys().chain(theirs.keys()) {
        assert_eq!(ours.get(path), theirs.get(path), "{what}: {path:?}");
    }
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Names with everything that names may hold.
pub(crate) const NAMES: [&[u8]; 12] =
    [b"a", b"b", b"c d", b"new\nline", b"\xff\xfe", b"-r", b"quo'te", b"\xc3\xa4", b"...", b"*", b"\\", b".hidden"];

pub(crate) fn set_time(path: &Path, seconds: u64) {
    let time = Timespec { tv_sec: seconds as i64, tv_nsec: 123_456_789 };
    let times = Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

/// A POSIX ACL: its owner may do everything, the user 4321 may read and enter, the group nothing.
pub(crate) fn access_list() -> Vec<u8> {
    const ANYBODY: u32 = u32::MAX;
    let entries = [(1u16, 7u16, ANYBODY), (2, 5, 4321), (4, 0, ANYBODY), (16, 7, ANYBODY), (32, 0, ANYBODY)];
    let entries = entries
        .iter()
        .flat_map(|(tag, may, who)| [&tag.to_le_bytes()[..], &may.to_le_bytes()[..], &who.to_le_bytes()[..]].concat());
    2u32.to_le_bytes().into_iter().chain(entries).collect()
}

/// Makes a tree of random things. `calm`: what anybody may copy, be it without privileges, and twice into one place.
pub(crate) fn grow(random: &mut Rng, at: &Path, depth: u32, calm: bool) {
    fs::create_dir(at).unwrap();
    for name in NAMES {
        let path = at.join(OsStr::from_bytes(name));
        match random.u64(..12) {
            0..=2 if depth > 0 => {
                grow(random, &path, depth - 1, calm);
                continue;
            }
            0..=5 => {
                let length = *random.choice(&[0, 1, 100, 5000, 70_000, (1 << 20) + 77]).unwrap();
                let content: Vec<u8> = (0..length).map(|at| (at * 7 + at / 255) as u8).collect();
                fs::write(&path, content).unwrap();
                // What a file may be read with.
                let modes = [0o644, 0o600, 0o755, 0o444, 0o400, 0o666, 0o4755, 0o2755];
                // cp leaves such bits to a file that is there, though its source has none.
                let modes = if calm { &modes[..6] } else { &modes[..] };
                fs::set_permissions(&path, Permissions::from_mode(*random.choice(modes).unwrap())).unwrap();
            }
            6 => {
                let file = File::create(&path).unwrap();
                file.set_len(3 << 20).unwrap();
                file.write_all_at(b"data", random.u64(..3 << 20)).unwrap();
            }
            7 => symlink(OsStr::from_bytes(NAMES[random.u64(..12) as usize]), &path).unwrap(),
            // A device that is written through a link takes no notes, and cp says so.
            8 if calm => symlink(random.choice(&["dangling/nowhere", ".", "..", "../.."]).unwrap(), &path).unwrap(),
            8 => symlink(random.choice(&["dangling/nowhere", ".", "..", "/dev/null"]).unwrap(), &path).unwrap(),
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
            if path.is_file() && !path.is_symlink() && random.u64(..3) == 0 {
                // Files that nobody may write take none from anybody but root.
                let _ = rustix::fs::setxattr(&path, "user.note", b"bytes\0\xff", XattrFlags::empty());
                if is_root() {
                    let _ = rustix::fs::setxattr(&path, "trusted.note", b"root's", XattrFlags::empty());
                    rustix::fs::chownat(CWD, &path, Some(rustix::fs::Uid::from_raw(12)), None, AtFlags::empty())
                        .unwrap();
                }
            }
            if !calm && path.is_file() && !path.is_symlink() && random.u64(..6) == 0 {
                let _ = rustix::fs::setxattr(&path, "system.posix_acl_access", &access_list(), XattrFlags::empty());
            }
            set_time(&path, 1_000_000_000 + random.u64(..1 << 29));
        }
    }
    if !calm && random.u64(..4) == 0 {
        for name in ["system.posix_acl_access", "system.posix_acl_default"] {
            let _ = rustix::fs::setxattr(at, name, &access_list(), XattrFlags::empty());
        }
    }
    if random.u64(..2) == 0 {
        let _ = rustix::fs::setxattr(at, "user.of-a-directory", b"1", XattrFlags::empty());
    }
    let modes = if calm { [0o755, 0o700, 0o750, 0o775] } else { [0o755, 0o555, 0o1777, 0o2750] };
    fs::set_permissions(at, Permissions::from_mode(*random.choice(&modes).unwrap())).unwrap();
    set_time(at, 1_000_000_000 + random.u64(..1 << 29));
}

/// A folder that can be removed whatever the modes in it are.
pub(crate) struct Room(tempfile::TempDir);

impl Room {
    pub(crate) fn new() -> Room {
        Room(tempfile::tempdir().unwrap())
    }

    /// On a disk or, where there is such a thing and it takes notes, in memory, in turn.
    pub(crate) fn number(number: u64) -> Room {
        if number.is_multiple_of(2)
            && let Ok(room) = tempfile::tempdir_in("/dev/shm")
            && rustix::fs::setxattr(room.path(), "user.note", b"", XattrFlags::empty()).is_ok()
        {
            return Room(room);
        }
        Room::new()
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(self.path()).stderr(Stdio::null()).status();
    }
}

/// Runs a command in a folder, with a umask.
pub(crate) fn run(folder: &Path, umask: &str, program: &OsStr, arguments: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", "umask $0; exec \"$@\"", umask]).arg(program).args(arguments);
    command.current_dir(folder).env("LC_ALL", "C").stdin(Stdio::null()).output().unwrap()
}

pub(crate) fn ours(folder: &Path, umask: &str, arguments: &[&str]) -> (i32, String, String) {
    let arguments: Vec<_> = std::iter::once("copy").chain(arguments.iter().copied()).collect();
    parts(&run(folder, umask, env!("CARGO_BIN_EXE_eagre").as_ref(), &arguments))
}

pub(crate) fn theirs(folder: &Path, umask: &str, arguments: &[&str]) -> (bool, String) {
    let output = run(folder, umask, "cp".as_ref(), arguments);
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Whether `cp -n` does as that of coreutils 9.1: leaves what is there without a word, and calls a link that leads nowhere an
/// error. Others complain, warn, or have another exit code.
pub(crate) fn theirs_keep_existing() -> bool {
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
pub(crate) const PRESERVE: &str = "--preserve=mode,ownership,timestamps,xattr";

pub(crate) fn furnish(folder: &Path) {
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
