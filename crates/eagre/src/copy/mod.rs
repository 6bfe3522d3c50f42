//! Copying a file as fast as the two ends allow: whole or not at all, with its holes, and proved if asked.
//!
//! The target is an [`Output`]: it appears under its name when everything is on the disk, and never if anything fails or
//! the process dies. What is known about the two ends decides how bytes travel, and [`Method`] says it in words:
//!
//! ```text
//! the file system shares blocks     one call, nothing is moved (a reflink)
//! regular file to regular file      pieces, carried by several threads: read here, write there, next piece
//!     reading                       from the page cache what is in it, the rest past it (O_DIRECT)
//!     writing                       past the page cache where the file system can: what is to be made durable
//!                                   anyhow is written once and not twice
//! anything else (pipes, /proc, …)   from front to back
//! ```
//!
//! Threads with plain calls keep as many requests in flight as there are threads, which is all that a disk needs for
//! pieces of this size, and a copy inside memory is bound by the kernel's locks on the target, whatever the interface.
//!
//! Directories are copied file by file: [`tree`].
//!
//! Holes of a sparse source stay holes. Room for the rest is set aside before the first byte, so that a full disk is known
//! at once. A source that shrinks meanwhile is an error; what it has grown since the start is not copied.

mod ends;
mod front;
mod method;
mod pieces;
pub mod tree;
mod verify;

use std::ffi::OsStr;
use std::fmt;
use std::fs::{File, FileTimes, Metadata};
use std::io::{self, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub use method::Method;

use crate::file::Unkept;
use crate::file::output::{self, Output};

/// How to copy.
///
/// ```no_run
/// let copied = eagre::copy::Copier::new().verify(true).file("big.iso", "/mnt/backup/")?;
/// println!("{} bytes, {}", copied.bytes, copied.method);
/// # Ok::<(), eagre::copy::CopyError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Copier {
    verify: bool,
    preserve: bool,
    /// That of the process, if it was asked already.
    umask: Option<u32>,
}

/// What was copied.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Copied {
    /// The length of the copy.
    pub bytes: u64,
    /// How many of them were data; the rest are holes.
    pub data: u64,
    /// How they travelled.
    pub method: Method,
    /// Whether the copy was read back and found equal.
    pub verified: bool,
    /// The extended attributes that the copy should have got, and has not.
    pub unkept: Vec<Unkept>,
}

/// Why there is no copy. The target is as it was before.
#[derive(Debug)]
#[non_exhaustive]
pub enum CopyError {
    /// The source could not be read.
    Source(io::Error),
    /// The target could not be written.
    Target(io::Error),
    /// Source and target are one file.
    SameFile,
    /// A directory is to be copied into itself.
    IntoItself,
    /// The source is no directory, the target is one.
    OverDirectory,
    /// The source is a directory, the target is none.
    OverFile,
    /// The target was made a moment ago, by the same copying, from another source.
    OverCopy,
    /// The target is a symbolic link that leads nowhere.
    DanglingLink,
    /// What was read back from the target is not what was written, somewhere in the piece that begins at this byte.
    Mismatch(u64),
}

impl fmt::Display for CopyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CopyError::Source(error) => write!(f, "reading: {error}"),
            CopyError::Target(error) => write!(f, "writing: {error}"),
            CopyError::SameFile => f.write_str("source and target are the same file"),
            CopyError::IntoItself => f.write_str("a directory cannot be copied into itself"),
            CopyError::OverDirectory => f.write_str("there is a directory, and what is copied is none"),
            CopyError::OverFile => f.write_str("there is something that is no directory, and what is copied is one"),
            CopyError::OverCopy => f.write_str("this is the copy of another source"),
            CopyError::DanglingLink => f.write_str("a symbolic link that leads nowhere"),
            CopyError::Mismatch(offset) => {
                write!(f, "what was read back differs from what was written, after byte {offset}")
            }
        }
    }
}

impl std::error::Error for CopyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CopyError::Source(error) | CopyError::Target(error) => Some(error),
            _ => None,
        }
    }
}

/// Where `from` is copied to if the target is said to be `to`: into it, if it is a directory.
#[must_use]
pub fn target(from: &Path, to: &Path) -> PathBuf {
    if to.is_dir() { target_in(from, to) } else { to.to_owned() }
}

/// Where `from` is copied to in a directory: under its own name, if it has one. `.` and `..` have none, and stand for what is
/// in them.
#[must_use]
pub fn target_in(from: &Path, directory: &Path) -> PathBuf {
    let bytes = from.as_os_str().as_bytes();
    let end = bytes.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
    let start = bytes[..end].iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    match &bytes[start..end] {
        b"" | b"." | b".." => directory.join("."),
        name => directory.join(OsStr::from_bytes(name)),
    }
}

impl Copier {
    /// Copies the bytes; nothing else is kept but the mode of a file that is new.
    pub fn new() -> Copier {
        Copier::default()
    }

    /// Whether the copy is read back, past the page cache, and compared by checksums of what was read from the source
    /// (XXH3, 128 bits a piece) before it appears.
    pub fn verify(mut self, yes: bool) -> Copier {
        self.verify = yes;
        self
    }

    /// Whether the copy gets the times, the mode and, if permitted, the owner, the access control list and the extended
    /// attributes of the source.
    pub fn preserve(mut self, yes: bool) -> Copier {
        self.preserve = yes;
        self
    }

    /// Copies the file `from` to [`target`]`(from, to)`.
    ///
    /// # Errors
    /// See [`CopyError`].
    pub fn file(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<Copied, CopyError> {
        let to = target(from.as_ref(), to.as_ref());
        let source = File::open(from).map_err(CopyError::Source)?;
        check_apart(&source, &to)?;
        let output = Output::create(&to).map_err(CopyError::Target)?;
        self.run(source, output, |_| ())
    }

    /// Copies what is left in an open file, of any kind, to an output. `progress` hears now and then how many bytes of
    /// data are done.
    ///
    /// # Errors
    /// See [`CopyError`]. To verify an output that cannot be read back is one of the target.
    pub fn run(&self, source: File, mut output: Output, mut progress: impl FnMut(u64)) -> Result<Copied, CopyError> {
        let Filled { copied, late } = self.fill(&source, &mut output, &mut progress)?;
        settle(&output, &copied, &late)?;
        output.appear_durably().map_err(CopyError::Target)?;
        Ok(copied)
    }

    /// The first part of it: the output has everything, but is not durable.
    fn fill(&self, source: &File, output: &mut Output, progress: &mut dyn FnMut(u64)) -> Result<Filled, CopyError> {
        let metadata = source.metadata().map_err(CopyError::Source)?;
        if metadata.is_dir() {
            return Err(CopyError::Source(io::ErrorKind::IsADirectory.into()));
        }
        if self.verify && output.is_direct() {
            let why = "cannot be read back, so it cannot be verified";
            return Err(CopyError::Target(io::Error::new(io::ErrorKind::Unsupported, why)));
        }
        let mut late = verify::Sums::new();
        let sums = self.verify.then_some(&mut late);
        let mut copied = self.carry(source, &metadata, output, sums, progress)?;
        copied.verified = self.verify;
        if metadata.is_file() {
            copied.unkept = self.dress(source, &metadata, output).map_err(CopyError::Target)?;
        }
        Ok(Filled { copied, late })
    }

    fn carry(
        &self,
        source: &File,
        metadata: &Metadata,
        output: &Output,
        mut sums: Option<&mut verify::Sums>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Copied, CopyError> {
        // The files of /proc say that they are empty, and are not.
        let from_the_start = metadata.is_file() && metadata.len() > 0 && matches!((&*source).stream_position(), Ok(0));
        if !from_the_start || output.is_direct() {
            let bytes = front::carry(source, output.file(), sums.as_deref_mut(), progress)?;
            return Ok(Copied { bytes, data: bytes, method: Method::Front, verified: false, unkept: Vec::new() });
        }
        let bytes = metadata.len();
        // Shared blocks are the very same on the disk: there is nothing to be proved by reading them.
        if sums.is_none() && rustix::fs::ioctl_ficlone(output.file(), source).is_ok() {
            return Ok(Copied { bytes, data: 0, method: Method::Reflink, verified: false, unkept: Vec::new() });
        }
        check_limit(bytes).map_err(CopyError::Target)?;
        let (data, method) = pieces::carry(source, metadata, output, sums, progress)?;
        Ok(Copied { bytes, data, method, verified: false, unkept: Vec::new() })
    }

    /// Gives a new file the mode of the source, as far as the umask lets it; any file everything, if that is wanted.
    fn dress(&self, file: &File, source: &Metadata, output: &mut Output) -> io::Result<Vec<Unkept>> {
        let mut unkept = Vec::new();
        if output.is_direct() {
            return Ok(unkept);
        }
        if self.preserve {
            unkept = output.dress_as(file)?;
            let times = FileTimes::new().set_accessed(source.accessed()?).set_modified(source.modified()?);
            output.file().set_times(times)?;
        } else if output.is_new() {
            output.set_mode(source.mode() & 0o777 & !self.umask.unwrap_or_else(output::umask));
        }
        Ok(unkept)
    }
}

/// An output that has everything, but is not durable, and not verified if that is wanted.
#[derive(Debug)]
struct Filled {
    copied: Copied,
    /// What is still to be read back.
    late: verify::Sums,
}

/// The second part of copying: makes an output durable, and reads back what is still to be read back.
fn settle(output: &Output, copied: &Copied, late: &[verify::Sum]) -> Result<(), CopyError> {
    output.settle().map_err(CopyError::Target)?;
    if copied.verified { verify::check(late, output.file(), copied.bytes) } else { Ok(()) }
}

/// Fails if `to` is the open file already.
///
/// # Errors
/// [`CopyError::SameFile`], or the source cannot be asked.
pub fn check_apart(source: &File, to: &Path) -> Result<(), CopyError> {
    let from = source.metadata().map_err(CopyError::Source)?;
    // Two names of one terminal are a fine thing to copy between.
    let same = |there: Metadata| there.is_file() && (there.dev(), there.ino()) == (from.dev(), from.ino());
    if std::fs::metadata(to).is_ok_and(same) { Err(CopyError::SameFile) } else { Ok(()) }
}

/// A limit on the size of files (`ulimit -f`) would be told by a signal, which ends the process.
fn check_limit(bytes: u64) -> io::Result<()> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    if limit.is_some_and(|limit| bytes > limit) {
        return Err(rustix::io::Errno::FBIG.into());
    }
    Ok(())
}
