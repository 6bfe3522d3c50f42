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
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rustix::fs::{self, AtFlags, CWD, RenameFlags};
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
