//! Giving a file a name that must be new.
//!
//! The strictest call that the file system supports is used:
//!
//! | call | not supported by |
//! |---|---|
//! | `renameat2` with `RENAME_NOREPLACE` | network file systems, many FUSE file systems: `EINVAL`, `ENOSYS` |
//! | `linkat`, which never replaces a file | FAT, exFAT and others without hard links: `EPERM`, `EOPNOTSUPP`, `EMLINK` |
//! | `renameat` after a check that the name is free | always supported, but replaces a file that appears between the check and the call |

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rustix::fs::{self, AtFlags, CWD, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::{Errno, Result};

/// Gives an open file a name, which must be new.
pub(super) fn link(file: &File, directory: &OwnedFd, name: &OsStr) -> Result<()> {
    let open = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    fs::linkat(CWD, open, directory, name, AtFlags::SYMLINK_FOLLOW)
}

/// Renames `from` to `to`, both in `directory`. Fails if `to` exists.
pub(super) fn rename_to_new(directory: &OwnedFd, from: &OsStr, to: &OsStr) -> Result<()> {
    let rename = || fs::renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE);
    let link = || fs::linkat(directory, from, directory, to, AtFlags::empty());
    rename_to_new_by(directory, from, to, rename, link)
}

/// [`rename_to_new`] with its first two calls as parameters, so that tests can make them fail.
fn rename_to_new_by(
    directory: &OwnedFd,
    from: &OsStr,
    to: &OsStr,
    rename: impl FnOnce() -> Result<()>,
    link: impl FnOnce() -> Result<()>,
) -> Result<()> {
    match rename() {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
        done => return done,
    }
    match link() {
        Ok(()) => {
            let _ = fs::unlinkat(directory, from, AtFlags::empty());
            return Ok(());
        }
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::MLINK | Errno::NOSYS) => {}
        Err(error) => return Err(error),
    }
    match fs::statat(directory, to, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => fs::renameat(directory, from, directory, to),
        Ok(_) => Err(Errno::EXIST),
        Err(error) => Err(error),
    }
}

/// Makes a file with a hidden name in `directory` that is to become `name`. It is the same one each time, so that what a
/// program left there when it was killed is removed now. Whoever lives holds a [lock](hold) on its file.
pub(super) fn with_hidden_name<T: AsFd>(
    directory: &OwnedFd,
    name: &OsStr,
    make: impl Fn(&OsStr) -> Result<T>,
) -> io::Result<(T, OsString)> {
    let mut hash = DefaultHasher::new();
    name.hash(&mut hash);
    let hidden = OsString::from(format!(".eagre-{:016x}", hash.finish()));
    for _ in 0..2 {
        match make(&hidden) {
            Ok(made) if hold(&made) => return Ok((made, hidden)),
            Err(Errno::EXIST) if remove_left_behind(directory, &hidden) => {}
            // Another program writes the same file, or has just taken this one for one that was left.
            Ok(_) | Err(Errno::EXIST) => break,
            Err(error) => return Err(error.into()),
        }
    }
    with_fresh_name(make)
}

/// Locks a file as long as it is open, where locks are supported; without, nobody removes it. False if another program has
/// locked or removed it.
pub(super) fn hold(file: impl AsFd) -> bool {
    let locked = fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
    locked != Err(Errno::WOULDBLOCK) && fs::fstat(&file).is_ok_and(|now| now.st_nlink > 0)
}

/// Removes a hidden file that nobody holds.
fn remove_left_behind(directory: &OwnedFd, hidden: &OsStr) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = fs::openat(directory, hidden, flags, Mode::empty()) else { return false };
    // Nobody else gives or takes this name as long as the lock on its file is ours.
    let here = fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
        && fs::fstat(&file).is_ok_and(|file| {
            let named = fs::statat(directory, hidden, AtFlags::SYMLINK_NOFOLLOW);
            named.is_ok_and(|named| (named.st_dev, named.st_ino) == (file.st_dev, file.st_ino))
        });
    here && fs::unlinkat(directory, hidden, AtFlags::empty()).is_ok()
}

/// Calls `make` with hidden names until one is free.
pub(crate) fn with_fresh_name<T>(make: impl Fn(&OsStr) -> Result<T>) -> io::Result<(T, OsString)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    for _ in 0..10_000 {
        let name = OsString::from(format!(".eagre-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed)));
        match make(&name) {
            Ok(made) => return Ok((made, name)),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Errno::EXIST.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On file systems that lack some of the calls, the file gets its name, and never replaces another file.
    #[test]
    fn a_new_name_is_given_by_whatever_call_there_is() {
        let not_there = [None, Some(Errno::INVAL), Some(Errno::NOSYS)];
        let not_linked = [None, Some(Errno::PERM), Some(Errno::OPNOTSUPP), Some(Errno::MLINK)];
        for (rename_fails, link_fails) in not_there.iter().flat_map(|no| not_linked.iter().map(move |nor| (*no, *nor)))
        {
            let room = tempfile::tempdir().unwrap();
            let directory = OwnedFd::from(File::open(room.path()).unwrap());
            let names = || {
                let names = std::fs::read_dir(room.path()).unwrap().map(|entry| entry.unwrap().file_name());
                let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
                names.sort();
                names
            };
            let rename_to = |to: &str| {
                let (from, to) = (OsStr::new("from"), OsStr::new(to));
                let rename = || fs::renameat_with(&directory, from, &directory, to, RenameFlags::NOREPLACE);
                let link = || fs::linkat(&directory, from, &directory, to, AtFlags::empty());
                rename_to_new_by(
                    &directory,
                    from,
                    to,
                    || rename_fails.map_or_else(rename, Err),
                    || link_fails.map_or_else(link, Err),
                )
            };
            std::fs::write(room.path().join("from"), "new").unwrap();
            std::fs::write(room.path().join("there"), "old").unwrap();
            std::os::unix::fs::symlink("nowhere", room.path().join("dangling")).unwrap();
            for taken in ["there", "dangling"] {
                assert_eq!(rename_to(taken), Err(Errno::EXIST), "{rename_fails:?} {link_fails:?}");
            }
            assert_eq!(names(), ["dangling", "from", "there"]);
            assert_eq!(rename_to("to"), Ok(()), "{rename_fails:?} {link_fails:?}");
            assert_eq!(names(), ["dangling", "there", "to"]);
            assert_eq!(std::fs::read(room.path().join("to")).unwrap(), b"new");
            assert_eq!(std::fs::read(room.path().join("there")).unwrap(), b"old");
        }
    }

    /// What a program left when it was killed is removed, but not what a living one has.
    #[test]
    fn a_hidden_name_that_is_left_is_removed() {
        let room = tempfile::tempdir().unwrap();
        let directory = OwnedFd::from(File::open(room.path()).unwrap());
        let make = |name: &OsStr| {
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
            fs::openat(&directory, name, flags, Mode::from_raw_mode(0o600))
        };
        let hidden = |target: &str| with_hidden_name(&directory, OsStr::new(target), make).unwrap();
        let (file, first) = hidden("a");
        let (other, second) = hidden("a");
        assert_ne!(first, second, "the first is in use");
        drop((file, other));
        let (file, again) = hidden("a");
        assert_eq!(again, first);
        assert_ne!(hidden("b").1, first);
        assert!(fs::fstat(&file).unwrap().st_nlink == 1 && room.path().join(&first).exists());
        // A folder of that name is not ours.
        std::fs::remove_file(room.path().join(&first)).unwrap();
        std::fs::create_dir(room.path().join(&first)).unwrap();
        assert_ne!(hidden("a").1, first);
        assert!(room.path().join(&first).is_dir());
    }

    /// Errors with another cause are returned.
    #[test]
    fn other_failures_are_told() {
        let room = tempfile::tempdir().unwrap();
        let directory = OwnedFd::from(File::open(room.path()).unwrap());
        let (from, to) = (OsStr::new("from"), OsStr::new("to"));
        std::fs::write(room.path().join("from"), "new").unwrap();
        let by = |rename: Errno, link: Errno| rename_to_new_by(&directory, from, to, || Err(rename), || Err(link));
        assert_eq!(by(Errno::NOSPC, Errno::PERM), Err(Errno::NOSPC));
        assert_eq!(by(Errno::INVAL, Errno::NOSPC), Err(Errno::NOSPC));
        assert!(!room.path().join("to").exists());
    }
}
