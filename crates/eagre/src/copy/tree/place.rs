//! A name in an open directory, or a path as it was given.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// The device and inode number of a file.
pub(super) type Id = (u64, u64);

pub(super) fn id(stat: &Stat) -> Id {
    (stat.st_dev, stat.st_ino)
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) directory: BorrowedFd<'a>,
    pub(super) name: &'a OsStr,
}

impl<'a> Place<'a> {
    /// A path relative to the working directory.
    pub(super) fn of(path: &'a Path) -> Place<'a> {
        Place { directory: CWD, name: path.as_os_str() }
    }

    /// The metadata of what is there. A symbolic link is not followed. `None` if nothing is there.
    pub(super) fn look(self) -> rustix::io::Result<Option<Stat>> {
        match fs::statat(self.directory, self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The metadata of what is there. Symbolic links are followed.
    pub(super) fn look_through(self) -> rustix::io::Result<Stat> {
        fs::statat(self.directory, self.name, AtFlags::empty())
    }

    /// Opens the directory that is there. A link to a directory is not followed.
    pub(super) fn open_directory(self) -> rustix::io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        fs::openat(self.directory, self.name, flags, Mode::empty()).map(File::from)
    }

    /// Opens what was just made like `original`, as a reference only (`O_PATH`). Fails if another program has exchanged
    /// it since, even for a link.
    pub(super) fn hold(self, original: &Stat) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = fs::openat(self.directory, self.name, flags, Mode::empty())?;
        let there = fs::fstat(&held)?;
        let which = |it: &Stat| match FileType::from_raw_mode(it.st_mode) {
            kind if kind.is_char_device() || kind.is_block_device() => (kind, it.st_rdev),
            // For other kinds the device number has no meaning, and a file system may report anything.
            kind => (kind, 0),
        };
        if which(&there) == which(original) {
            Ok(held)
        } else {
            Err(io::Error::other("it was replaced while it was copied"))
        }
    }

    /// A path, for calls that accept nothing else.
    pub(super) fn path(self) -> PathBuf {
        if self.directory.as_raw_fd() == CWD.as_raw_fd() {
            return PathBuf::from(self.name);
        }
        Path::new("/proc/self/fd").join(self.directory.as_raw_fd().to_string()).join(self.name)
    }
}
