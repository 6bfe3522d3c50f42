//! A file that appears complete or not at all.
//!
//! The bytes go to a file without a name (`O_TMPFILE`) in the directory of the target. [`Output::commit`] makes it
//! durable, gives it a name, and replaces the target in one step. Other programs see the old file or the new one, never
//! a mixture. A program that dies leaves nothing behind, because the kernel frees files without a name.
//!
//! Some file systems do not support files without a name. There a hidden file (`.eagre-…`, readable by its owner only)
//! is used instead. It is removed on failure, but remains if the program is killed. So does the hidden name that a file
//! without a name has for a moment when it replaces another. The next one that is written to the same target removes it.
//!
//! Targets that cannot be replaced (a pipe, a device, a terminal) are written directly.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{self, Access, AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

#[cfg(feature = "copy")]
use super::attributes::Unkept;
use super::naming::{hold, link, rename_to_new, with_hidden_name};
use super::rights::Rights;

/// A file being written. If it is dropped without [`Output::commit`], the target is unchanged.
#[derive(Debug)]
pub struct Output {
    file: File,
    /// The name that `file` will get. `None` if `file` is the target itself.
    target: Option<Target>,
}

#[derive(Debug)]
struct Target {
    directory: OwnedFd,
    name: OsString,
    /// The rights of the existing file, which will be replaced.
    previous: Option<Rights>,
    /// A mode to set instead of the usual one.
    mode: Option<u32>,
    /// The hidden name of the file, where the file system does not support files without a name.
    temporary: Option<OsString>,
    /// A file that has appeared at the target by the time this one is complete is kept, and is an error.
    must_be_new: bool,
}

impl Output {
    /// Begins to write the file at `path`. Symbolic links are followed. An existing file keeps its contents until
    /// [`Output::commit`]. The new file gets its mode and, if permitted, its owner, access control list and extended
    /// attributes, except those about contents (capabilities and signatures). If there was no file, the umask decides.
    ///
    /// # Errors
    /// Those of the system: the directory does not exist, it may not be written, the existing file may not be written,
    /// or `path` is a directory.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Output> {
        Output::create_as(path.as_ref(), true)
    }

    fn create_as(path: &Path, without_name: bool) -> io::Result<Output> {
        if path.as_os_str().as_bytes().ends_with(b"/") {
            return Err(Errno::ISDIR.into());
        }
        let Some(path) = real(path)? else { return open_direct(path) };
        Output::create_at(&path, without_name, false)
    }

    /// As [`Output::create`] for the file `name` in an open directory, for names that somebody else chose. What is there is
    /// replaced only if it is a regular file, even one that may not be written: a symbolic link is not followed, and a pipe or a
    /// device is not written.
    ///
    /// # Errors
    /// Those of [`Output::create`]; if something else than a regular file is there, or `name` is no name in a directory
    /// (empty, `.`, `..`, or with a slash).
    pub fn create_in(directory: impl AsFd, name: impl AsRef<OsStr>) -> io::Result<Output> {
        let name = name.as_ref();
        if matches!(name.as_bytes(), b"" | b"." | b"..") || name.as_bytes().contains(&b'/') {
            return Err(Errno::INVAL.into());
        }
        let path = Path::new("/proc/self/fd").join(directory.as_fd().as_raw_fd().to_string()).join(name);
        Output::create_at(&path, true, true)
    }

    /// As [`Output::create`], but a symbolic link at `path` is an error.
    pub(crate) fn create_unlinked(path: &Path) -> io::Result<Output> {
        if path.as_os_str().as_bytes().ends_with(b"/") {
            return Err(Errno::ISDIR.into());
        }
        Output::create_at(path, true, false)
    }

    /// `only_file`: what is there is replaced if it is a file, whether or not it may be written, and nothing else.
    fn create_at(path: &Path, without_name: bool, only_file: bool) -> io::Result<Output> {
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
            if !there.is_file() && only_file {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is something else than a file"));
            }
            if !there.is_file() {
                return open_as_it_is(path, there);
            }
            match fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS) {
                Err(error) if !only_file && error != Errno::NOSYS => return Err(error.into()),
                _ => {}
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

    /// A file without a name in `directory`, which never gets one. It is removed at once where the file system does not
    /// support such files.
    #[cfg(feature = "external")]
    pub(crate) fn nameless(directory: &Path) -> io::Result<Output> {
        let directory = open_directory(directory)?;
        let name = OsString::from("temporary file");
        let previous = None;
        let mut target = Target { directory, name, previous, mode: None, temporary: None, must_be_new: false };
        let file = target.open(true)?;
        fs::fchmod(&file, Mode::from_raw_mode(0o600))?;
        if let Some(hidden) = target.temporary.take() {
            fs::unlinkat(&target.directory, &hidden, AtFlags::empty())?;
        }
        Ok(Output { file, target: Some(target) })
    }

    /// An output that writes directly to `file`, such as standard output.
    #[must_use]
    pub fn direct(file: File) -> Output {
        Output { file, target: None }
    }

    /// The file to write. It is open for reading and writing, or only for writing if it is [direct](Output::is_direct).
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Whether the target cannot be replaced, so that bytes arrive there as they are written.
    pub fn is_direct(&self) -> bool {
        self.target.is_none()
    }

    /// Whether there was no file at the target when writing began.
    #[cfg(feature = "copy")]
    pub(crate) fn is_new(&self) -> bool {
        self.target.as_ref().is_some_and(|target| target.previous.is_none())
    }

    /// Whether `file` is the one that this output will replace.
    #[cfg(feature = "external")]
    pub(crate) fn replaces(&self, file: &File) -> io::Result<bool> {
        let Some(target) = &self.target else { return Ok(false) };
        match fs::statat(&target.directory, &target.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(there) => {
                let metadata = file.metadata()?;
                Ok((there.st_dev, there.st_ino) == (metadata.dev(), metadata.ino()))
            }
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Sets the mode of the new file, instead of the mode of the file it replaces. The umask does not count.
    pub fn set_mode(&mut self, mode: u32) {
        if let Some(target) = &mut self.target {
            target.mode = Some(mode);
        }
    }

    /// If a file appears at the target meanwhile, it is kept and [`Output::commit`] fails.
    #[cfg(feature = "copy")]
    pub(crate) fn must_be_new(&mut self) {
        if let Some(target) = &mut self.target {
            target.must_be_new = true;
        }
    }

    /// Gives the new file the mode of `other` and, if permitted, its owner, access control list and extended
    /// attributes. Attributes of the replaced file that `other` does not have are kept. Returns the attributes that
    /// could not be set.
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

    /// Checks that the file system has `bytes` bytes free, as far as it tells. It does not reserve them: a file system
    /// that is asked to reserve more than it has fills up before it refuses.
    ///
    /// # Errors
    /// `ENOSPC` if there is less room.
    pub fn check_room(&self, bytes: u64) -> io::Result<()> {
        match fs::fstatvfs(&self.file) {
            // Some file systems do not count blocks and report a total of zero.
            Ok(room) if !self.is_direct() && room.f_blocks > 0 => {
                let left = room.f_bavail.saturating_mul(room.f_frsize);
                if left < bytes { Err(Errno::NOSPC.into()) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    /// Makes the file durable, then visible, then its name durable. To be called when all bytes are written.
    ///
    /// # Errors
    /// Those of the system. The target is unchanged, unless only the last step failed (writing the directory).
    pub fn commit(self) -> io::Result<()> {
        self.settle()?;
        self.appear_durably()
    }

    /// The first step of [`Output::commit`]: makes the file durable.
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

    /// The second step: makes the file visible, then its name durable.
    pub(crate) fn appear_durably(mut self) -> io::Result<()> {
        let Some(target) = &mut self.target else { return Ok(()) };
        target.appear(&self.file)?;
        target.sync()
    }

    /// The second step for one of several files: makes the file visible. Its name becomes durable when the caller syncs
    /// the directory.
    pub(crate) fn appear(mut self) -> io::Result<()> {
        match &mut self.target {
            Some(target) => target.appear(&self.file),
            None => Ok(()),
        }
    }
}

impl Target {
    /// Opens a file without a name in the target's directory, or a hidden one where that is not supported.
    fn open(&mut self, without_name: bool) -> io::Result<File> {
        // The kernel decides the bits of a new file, by the umask and the default ACL of the directory.
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
        let (file, name) = with_hidden_name(&self.directory, &self.name, |name| {
            fs::openat(&self.directory, name, flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW, mode)
        })?;
        self.temporary = Some(name);
        Ok(file.into())
    }

    fn appear(&mut self, file: &File) -> io::Result<()> {
        if self.temporary.is_none() && (self.previous.is_none() || self.must_be_new) {
            match link(file, &self.directory, &self.name) {
                Ok(()) => return Ok(()),
                // Another program created the file first. It is replaced.
                Err(Errno::EXIST) if !self.must_be_new => {}
                Err(error) => return Err(error.into()),
            }
        }
        if self.temporary.is_none() {
            // A file without a name cannot replace another in one step. It gets a hidden name for a moment.
            // The lock of this open file shows others that it is in use.
            let make = |name: &OsStr| {
                hold(file);
                link(file, &self.directory, name).map(|()| file)
            };
            let (_, name) = with_hidden_name(&self.directory, &self.name, make)?;
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

    /// Sets the final owner and mode of the file.
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
            // The directory may be written but not read, or the file system does not sync directories.
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

/// Follows symbolic links to the path where a new file would be created. `None` if they lead through the `/proc` of a
/// process: such a link stands for an open file, not for a name.
fn real(path: &Path) -> io::Result<Option<PathBuf>> {
    const MOST_LINKS: u32 = 40;
    const PROC: fs::FsWord = 0x9fa0;
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let to = match std::fs::read_link(&path) {
            Ok(to) => to,
            // Not a link, or no such file.
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

/// Opens the file seen at `path`, which cannot be replaced. Fails if it has been exchanged since, even for a link.
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

/// The permission bits that the umask removes from new files. If it cannot be read without being changed, these are all
/// bits but the owner's.
pub(crate) fn umask() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let digits = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    digits.and_then(|digits| u32::from_str_radix(digits.trim(), 8).ok()).unwrap_or(0o077)
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
