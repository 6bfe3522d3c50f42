//! The directories of the side that receives. Each is opened below the one above it, and none through a symbolic link: where the
//! walk is, is always below the top.
#![forbid(unsafe_code)]

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use eagre::file::name::shown;
use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags, Stat, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;

use super::list::Time;

const OPEN: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The directory where the walk is, and those above.
#[derive(Clone, Debug)]
pub(super) struct Folders {
    top: Option<Arc<OwnedFd>>,
    below: Vec<Level>,
}

#[derive(Clone, Debug)]
struct Level {
    name: Vec<u8>,
    /// `None` if it could not be made or opened. Then what is in it cannot be received either.
    open: Option<Arc<OwnedFd>>,
}

impl Folders {
    /// The directory into which everything goes. It is the user's own choice, so links may lead to it.
    pub(super) fn at(top: &Path) -> io::Result<Folders> {
        let top = fs::openat(CWD, top, OPEN, Mode::empty())?;
        Ok(Folders { top: Some(Arc::new(top)), below: Vec::new() })
    }

    /// Nowhere: nothing can be made here.
    pub(super) fn none() -> Folders {
        Folders { top: None, below: Vec::new() }
    }

    /// The directory where the walk is.
    pub(super) fn here(&self) -> Option<&Arc<OwnedFd>> {
        self.below.last().map_or(self.top.as_ref(), |level| level.open.as_ref())
    }

    pub(super) fn depth(&self) -> usize {
        self.below.len()
    }

    /// The path below the top of something here, byte for byte.
    pub(super) fn path(&self, name: &[u8]) -> Vec<u8> {
        let mut path = Vec::new();
        for level in &self.below {
            path.extend_from_slice(&level.name);
            path.push(b'/');
        }
        path.extend_from_slice(name);
        path
    }

    /// The same for a message.
    pub(super) fn shown(&self, name: &[u8]) -> String {
        shown(&self.path(name))
    }

    /// Enters a directory, which is made if nothing is there.
    ///
    /// # Errors
    /// Those of the system. The walk is in it nevertheless.
    pub(super) fn enter(&mut self, name: &[u8]) -> io::Result<()> {
        let opened = match self.here() {
            // One that could not be entered was reported already.
            None => Ok(None),
            Some(here) => make(here, name).map(|directory| Some(Arc::new(directory))),
        };
        let (open, answer) = match opened {
            Ok(open) => (open, Ok(())),
            Err(error) => (None, Err(error)),
        };
        self.below.push(Level { name: name.to_owned(), open });
        answer
    }

    /// Enters a directory if it is there. Nothing is made.
    pub(super) fn look_into(&mut self, name: &[u8]) {
        let open = self.here().and_then(|here| open(here, name).ok()).map(Arc::new);
        self.below.push(Level { name: name.to_owned(), open });
    }

    /// Goes back to the directory above, and returns the one that is left, with its path for messages.
    pub(super) fn leave(&mut self) -> Option<(Arc<OwnedFd>, String)> {
        let shown = self.below.last().map(|_| self.shown(b""));
        let left = self.below.pop()?;
        Some((left.open?, shown?))
    }
}

fn open(above: &OwnedFd, name: &[u8]) -> rustix::io::Result<OwnedFd> {
    fs::openat(above, OsStr::from_bytes(name), OPEN | OFlags::NOFOLLOW, Mode::empty())
}

fn make(above: &OwnedFd, name: &[u8]) -> io::Result<OwnedFd> {
    // Until it is complete, nobody else looks into it.
    match fs::mkdirat(above, OsStr::from_bytes(name), Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let directory = open(above, name).map_err(|error| match look(above, name) {
        Some(there) if !kind(&there).is_dir() => {
            io::Error::new(io::ErrorKind::NotADirectory, format!("there is a {} of this name", describe(kind(&there))))
        }
        _ => error.into(),
    })?;
    // One that was complete may be closed to its owner.
    if let Ok(there) = fs::fstat(&directory)
        && Mode::from_raw_mode(there.st_mode) & Mode::RWXU != Mode::RWXU
    {
        let _ = fs::fchmod(&directory, Mode::from_raw_mode(there.st_mode) | Mode::RWXU);
    }
    Ok(directory)
}

/// What is there. A symbolic link is not followed.
pub(super) fn look(directory: &OwnedFd, name: &[u8]) -> Option<Stat> {
    fs::statat(directory, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW).ok()
}

pub(super) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// What something is that is in the way.
pub(super) fn describe(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "directory",
        FileType::RegularFile => "file",
        FileType::Symlink => "symbolic link",
        FileType::Fifo => "pipe",
        FileType::Socket => "socket",
        _ => "device",
    }
}

/// A pair of times that leaves the last access as it is.
fn times(time: Time) -> Timestamps {
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: time.seconds, tv_nsec: time.nanoseconds.into() },
    }
}

/// Sets when an open file or directory was changed. Where it cannot be set, it stays as it is.
pub(super) fn set_time(file: impl AsFd, time: Time) {
    let _ = fs::futimens(file, &times(time));
}

/// Sets the mode of an open directory.
pub(super) fn set_mode(directory: &OwnedFd, mode: u32) -> io::Result<()> {
    Ok(fs::fchmod(directory, Mode::from_raw_mode(mode))?)
}

/// Makes the names in a directory durable.
pub(super) fn sync(directory: &OwnedFd) -> io::Result<()> {
    match fs::fsync(directory) {
        // Some file systems do not sync directories.
        Ok(()) | Err(Errno::BADF | Errno::INVAL | Errno::OPNOTSUPP) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Makes a symbolic link. It replaces another one, and nothing else.
///
/// # Errors
/// Those of the system, or something else is there.
pub(super) fn link(directory: &OwnedFd, name: &[u8], to: &[u8]) -> io::Result<()> {
    let (name, to) = (OsStr::from_bytes(name), OsStr::from_bytes(to));
    for _ in 0..2 {
        match fs::symlinkat(to, directory, name) {
            Err(Errno::EXIST) => {}
            other => return Ok(other?),
        }
        match look(directory, name.as_bytes()).map(|there| kind(&there)) {
            Some(FileType::Symlink) => fs::unlinkat(directory, name, AtFlags::empty())?,
            Some(other) => return Err(in_the_way(other)),
            None => {}
        }
    }
    Err(Errno::EXIST.into())
}

/// Something else than a file is there.
pub(super) fn in_the_way(kind: FileType) -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, format!("there is a {} of this name", describe(kind)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn directories_are_made_and_found_below_the_top() {
        let room = tempfile::tempdir().unwrap();
        let mut folders = Folders::at(room.path()).unwrap();
        assert!(folders.leave().is_none());
        for name in [&b"a"[..], b"b\n"] {
            folders.enter(name).unwrap();
        }
        assert_eq!((folders.depth(), folders.shown(b"c")), (2, "'a/b'$'\\n''/c'".to_owned()));
        assert!(room.path().join("a/b\n").is_dir());
        assert!(folders.leave().is_some());
        folders.look_into(b"missing");
        assert!(folders.here().is_none());
        folders.enter(b"in it").unwrap();
        assert!(folders.here().is_none() && !room.path().join("a/missing").exists());
    }

    /// A link in the target directory leads nowhere, wherever it points.
    #[test]
    fn links_are_not_followed() {
        let (room, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir(outside.path().join("d")).unwrap();
        symlink(outside.path(), room.path().join("link")).unwrap();
        std::fs::write(room.path().join("file"), "x").unwrap();
        let mut folders = Folders::at(room.path()).unwrap();
        for (name, why) in
            [(&b"link"[..], "there is a symbolic link of this name"), (b"file", "there is a file of this name")]
        {
            let error = folders.enter(name).unwrap_err();
            assert_eq!(error.to_string(), why);
            assert!(folders.here().is_none());
            // What would be in it is not made either.
            folders.enter(b"d").unwrap();
            assert!(folders.here().is_none());
            assert!(folders.leave().is_none() && folders.leave().is_none());
        }
        folders.look_into(b"link");
        assert!(folders.here().is_none());
        assert_eq!(std::fs::read_dir(outside.path().join("d")).unwrap().count(), 0);
    }

    #[test]
    fn links_replace_links_only() {
        let room = tempfile::tempdir().unwrap();
        let folders = Folders::at(room.path()).unwrap();
        let here = folders.here().unwrap();
        std::fs::write(room.path().join("file"), "x").unwrap();
        for to in ["a", "b"] {
            link(here, b"link", to.as_bytes()).unwrap();
            assert_eq!(std::fs::read_link(room.path().join("link")).unwrap().to_str(), Some(to));
        }
        assert_eq!(link(here, b"file", b"a").unwrap_err().to_string(), "there is a file of this name");
        assert_eq!(std::fs::read(room.path().join("file")).unwrap(), b"x");
    }
}
