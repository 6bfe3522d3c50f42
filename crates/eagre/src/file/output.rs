//! A file that appears complete or not at all.
//!
//! What is written goes to a file without a name (`O_TMPFILE`) in the directory of the target. [`Output::commit`] makes
//! it durable, gives it a name, and puts that name in the place of the target's in one step. Whoever looks sees the old
//! file or the new one, and a program that dies, however suddenly, leaves nothing behind: the system takes back what has
//! no name. Where the file system knows no files without names, a hidden one (`.eagre-…`, for its owner alone) stands in,
//! and is removed on failure, though not by a kill.
//!
//! What cannot be replaced (a pipe, a device, a terminal) is written as it is.

use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{self, Access, AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

#[cfg(feature = "copy")]
use super::attributes::Unkept;
use super::naming::{link, rename_to_new, with_fresh_name};
use super::rights::Rights;

/// A file being written. Dropped without [`Output::commit`], nothing has happened to the target.
#[derive(Debug)]
pub struct Output {
    file: File,
    /// The name that `file` will get. None: `file` is the target itself.
    target: Option<Target>,
}

#[derive(Debug)]
struct Target {
    directory: OwnedFd,
    name: OsString,
    /// What is there now, and will be replaced.
    previous: Option<Rights>,
    /// The mode asked for, in place of the usual one.
    mode: Option<u32>,
    /// The name of the file where it has to have one from the beginning.
    temporary: Option<OsString>,
    /// A file that is there when this one is complete stays, and is an error.
    must_be_new: bool,
}

impl Output {
    /// Begins to write the file at `path`. Symbolic links are followed; a file that is there keeps its contents until
    /// [`Output::commit`], which keeps its mode and, if permitted, its owner, access control list and extended attributes
    /// (but what they say about contents: capabilities and signatures). A new file gets what the umask leaves.
    ///
    /// # Errors
    /// The system's: no such directory, no permission to write there or to write the file that is there, a directory
    /// at `path`.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Output> {
        Output::create_as(path.as_ref(), true)
    }

    fn create_as(path: &Path, without_name: bool) -> io::Result<Output> {
        if path.as_os_str().as_bytes().ends_with(b"/") {
            return Err(Errno::ISDIR.into());
        }
        let Some(path) = real(path)? else { return open_direct(path) };
        Output::create_at(&path, without_name)
    }

    /// As [`Output::create`], but a symbolic link at `path` is an error.
    pub(crate) fn create_unlinked(path: &Path) -> io::Result<Output> {
        if path.as_os_str().as_bytes().ends_with(b"/") {
            return Err(Errno::ISDIR.into());
        }
        Output::create_at(path, true)
    }

    fn create_at(path: &Path, without_name: bool) -> io::Result<Output> {
        let previous = match std::fs::symlink_metadata(path) {
            Ok(there) => Some(there),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if let Some(there) = &previous {
            if there.is_dir() {
                return Err(Errno::ISDIR.into());
            }
            if there.is_symlink() {
                return Err(Errno::LOOP.into());
            }
            if !there.is_file() {
                return open_as_it_is(path, there);
            }
            match fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS) {
                Ok(()) | Err(Errno::NOSYS) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let previous = previous.map(|there| Rights::of_replaced(path, there));
        let name = path.file_name().ok_or(Errno::NOENT)?.to_owned();
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let directory = open_directory(parent)?;
        let mut target = Target { directory, name, previous, mode: None, temporary: None, must_be_new: false };
        let file = target.open(without_name)?;
        Ok(Output { file, target: Some(target) })
    }

    /// An output that is written as it is: standard output, say.
    #[must_use]
    pub fn direct(file: File) -> Output {
        Output { file, target: None }
    }

    /// The file to write, open for reading and writing, or for writing only if it is [direct](Output::is_direct).
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Whether what is written arrives at once, at something that cannot be replaced.
    pub fn is_direct(&self) -> bool {
        self.target.is_none()
    }

    /// Whether nothing was at the target when writing began.
    #[cfg(feature = "copy")]
    pub(crate) fn is_new(&self) -> bool {
        self.target.as_ref().is_some_and(|target| target.previous.is_none())
    }

    /// The file gets this mode, and not that of the file it replaces.
    #[cfg(feature = "copy")]
    pub(crate) fn set_mode(&mut self, mode: u32) {
        if let Some(target) = &mut self.target {
            target.mode = Some(mode);
        }
    }

    /// If a file appears under this name meanwhile, it stays, and [`Output::commit`] fails.
    #[cfg(feature = "copy")]
    pub(crate) fn must_be_new(&mut self) {
        if let Some(target) = &mut self.target {
            target.must_be_new = true;
        }
    }

    /// The file gets the mode of another and, if permitted, its owner, access control list and extended attributes; of the
    /// file it replaces it keeps the attributes that the other does not have. Returns which it has not got.
    #[cfg(feature = "copy")]
    pub(crate) fn dress_as(&mut self, other: &File) -> io::Result<Vec<Unkept>> {
        let Some(target) = &mut self.target else { return Ok(Vec::new()) };
        if let Some(previous) = &target.previous {
            let _ = previous.give_attributes_to(&self.file);
        }
        let given = Rights::of(other)?.give_to(&self.file)?;
        target.mode = Some(given.mode);
        Ok(given.unkept)
    }

    /// Whether there are `bytes` bytes left where the file is, as far as the system tells. Takes none of them: asked to set
    /// aside more than there is, a file system fills itself up before it refuses.
    ///
    /// # Errors
    /// `ENOSPC` if there are not.
    pub fn check_room(&self, bytes: u64) -> io::Result<()> {
        match fs::fstatvfs(&self.file) {
            // Some file systems do not count, and say that they have none at all.
            Ok(room) if !self.is_direct() && room.f_blocks > 0 => {
                let left = room.f_bavail.saturating_mul(room.f_frsize);
                if left < bytes { Err(Errno::NOSPC.into()) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    /// All is written: makes it durable, then visible, then its name durable.
    ///
    /// # Errors
    /// The system's. The target is as it was before, unless the last step alone failed (the directory's own write).
    pub fn commit(self) -> io::Result<()> {
        self.settle()?;
        self.appear_durably()
    }

    /// The first step of [`Output::commit`]: makes it durable.
    pub(crate) fn settle(&self) -> io::Result<()> {
        if let Some(target) = &self.target {
            target.dress(&self.file)?;
            return self.file.sync_all();
        }
        match self.file.metadata()?.file_type() {
            kind if kind.is_file() || kind.is_block_device() => self.file.sync_all(),
            _ => Ok(()),
        }
    }

    /// The second step: makes it visible, then its name durable.
    pub(crate) fn appear_durably(mut self) -> io::Result<()> {
        let Some(target) = &mut self.target else { return Ok(()) };
        target.appear(&self.file)?;
        target.sync()
    }

    /// The second step of several files: makes it visible. Its name is durable when somebody syncs the directory.
    pub(crate) fn appear(mut self) -> io::Result<()> {
        match &mut self.target {
            Some(target) => target.appear(&self.file),
            None => Ok(()),
        }
    }
}

impl Target {
    /// A file without a name in the target's directory, or, where there is no such thing, a hidden one.
    fn open(&mut self, without_name: bool) -> io::Result<File> {
        // The bits a new file gets are the kernel's business: umask, and the directory's default ACL.
        let mode = if self.previous.is_some() { 0o600 } else { 0o666 };
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        if without_name {
            match fs::openat(&self.directory, ".", flags | OFlags::TMPFILE, Mode::from_raw_mode(mode)) {
                Ok(file) => return Ok(file.into()),
                Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mode = Mode::from_raw_mode(0o600);
        let (file, name) = with_fresh_name(|name| {
            fs::openat(&self.directory, name, flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW, mode)
        })?;
        self.temporary = Some(name);
        Ok(file.into())
    }

    fn appear(&mut self, file: &File) -> io::Result<()> {
        if self.temporary.is_none() && (self.previous.is_none() || self.must_be_new) {
            match link(file, &self.directory, &self.name) {
                Ok(()) => return Ok(()),
                // Somebody else was faster; theirs is replaced.
                Err(Errno::EXIST) if !self.must_be_new => {}
                Err(error) => return Err(error.into()),
            }
        }
        if self.temporary.is_none() {
            // A name cannot be given to a file and taken from another in one step; for a moment it has a hidden one.
            let ((), name) = with_fresh_name(|name| link(file, &self.directory, name))?;
            self.temporary = Some(name);
        }
        if let Some(temporary) = &self.temporary {
            if self.must_be_new {
                rename_to_new(&self.directory, temporary, &self.name)?;
            } else {
                fs::renameat(&self.directory, temporary, &self.directory, &self.name)?;
            }
            self.temporary = None;
        }
        Ok(())
    }

    /// Gives the file the owner and mode it is to have.
    fn dress(&self, file: &File) -> io::Result<()> {
        let mode = match (self.mode, &self.previous, &self.temporary) {
            (Some(mode), ..) => mode,
            (None, Some(previous), _) => previous.give_to(file)?.mode,
            (None, None, Some(_)) => 0o666 & !umask(),
            (None, None, None) => return Ok(()),
        };
        Ok(fs::fchmod(file, Mode::from_raw_mode(mode))?)
    }

    /// Makes the new name durable.
    fn sync(&self) -> io::Result<()> {
        match fs::fsync(&self.directory) {
            // A directory one may write but not read, or a file system that does not sync directories.
            Ok(()) | Err(Errno::BADF | Errno::INVAL | Errno::OPNOTSUPP) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = fs::unlinkat(&self.directory, temporary, AtFlags::empty());
        }
    }
}

/// Follows symbolic links to where a new file would be made. `None` if they lead through the `/proc` of a process: such
/// a link stands for an open file, not for a name.
fn real(path: &Path) -> io::Result<Option<PathBuf>> {
    const MOST_LINKS: u32 = 40;
    const PROC: fs::FsWord = 0x9fa0;
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let to = match std::fs::read_link(&path) {
            Ok(to) => to,
            // Not a link, or nothing there.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(Some(path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(path)),
            Err(error) => return Err(error),
        };
        path.pop();
        let here = if path.as_os_str().is_empty() { Path::new(".") } else { &path };
        if fs::statfs(here)?.f_type == PROC {
            return Ok(None);
        }
        path.push(to);
    }
    Err(Errno::LOOP.into())
}

/// Opens what was seen at `path` and cannot be replaced; nothing else that somebody has put there since, be it a link.
fn open_as_it_is(path: &Path, there: &Metadata) -> io::Result<Output> {
    let file = OpenOptions::new().write(true).custom_flags(OFlags::NOFOLLOW.bits() as i32).open(path)?;
    let opened = file.metadata()?;
    let which = |it: &Metadata| (it.dev(), it.ino(), it.file_type());
    if which(&opened) == which(there) {
        Ok(Output::direct(file))
    } else {
        Err(io::Error::other("it was replaced while it was opened"))
    }
}

/// Opens the file that a link of `/proc` stands for.
fn open_direct(path: &Path) -> io::Result<Output> {
    let file = OpenOptions::new().write(true).open(path)?;
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    Ok(Output::direct(file))
}

fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    match fs::open(path, flags | OFlags::RDONLY, Mode::empty()) {
        Err(Errno::ACCESS) => Ok(fs::open(path, flags | OFlags::PATH, Mode::empty())?),
        other => Ok(other?),
    }
}

/// The permission bits this process does not give to new files. All but the owner's where that cannot be known without
/// changing it.
pub(crate) fn umask() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let digits = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    digits.and_then(|digits| u32::from_str_radix(digits.trim(), 8).ok()).unwrap_or(0o077)
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
