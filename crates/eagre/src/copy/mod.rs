//! Copying files fast: complete or not at all, with their holes, and verified on request.
//!
//! The target is an [`Output`]. It appears under its name when everything is on the disk. If anything fails, or the
//! process dies, it never appears. How the bytes are copied depends on the two ends, and [`Method`] describes it:
//!
//! ```text
//! the file system shares blocks     one call, no bytes are copied (a reflink)
//! regular file to regular file      in pieces, by several threads: each reads a piece, writes it, and takes the next
//!     reading                       through the page cache where it has the piece, otherwise past it (O_DIRECT)
//!     writing                       past the page cache where the file system can: the bytes must become durable
//!                                   anyway, and are written once instead of twice
//! anything else (pipes, /proc, …)   from front to back
//! ```
//!
//! Each thread makes blocking calls, so there are as many requests in flight as threads. That is enough for a disk with
//! pieces of this size. A copy inside memory is limited by the kernel's locks on the target, whatever interface is
//! used.
//!
//! For directories, see [`tree`].
//!
//! Holes of a sparse source stay holes. Room for the data is checked or reserved before the first byte is written, so a
//! full disk is known at once. It is an error if the source becomes shorter during the copy. If it grows, the new bytes
//! are not copied.

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

/// Copies single files.
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
    /// The umask of the process, if it was asked for already.
    umask: Option<u32>,
}

/// A summary of one copy.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Copied {
    /// The length of the copy in bytes.
    pub bytes: u64,
    /// How many bytes were copied as data. The rest are holes or shared blocks.
    pub data: u64,
    /// How they were copied.
    pub method: Method,
    /// Whether the copy was read back and found equal.
    pub verified: bool,
    /// The extended attributes that could not be copied.
    pub unkept: Vec<Unkept>,
}

/// Why a copy failed. The target is unchanged.
#[derive(Debug)]
#[non_exhaustive]
pub enum CopyError {
    /// The source could not be read.
    Source(io::Error),
    /// The target could not be written.
    Target(io::Error),
    /// Source and target are the same file.
    SameFile,
    /// The target lies inside the directory that is to be copied.
    IntoItself,
    /// The target is a directory, but the source is not.
    OverDirectory,
    /// The source is a directory, but the target exists and is not.
    OverFile,
    /// The target was just made from another source by the same call.
    OverCopy,
    /// The target is a dangling symbolic link.
    DanglingLink,
    /// Verification failed: the target differs from the source in the piece that begins at this offset.
    Mismatch(u64),
}

impl fmt::Display for CopyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CopyError::Source(error) => write!(f, "reading: {error}"),
            CopyError::Target(error) => write!(f, "writing: {error}"),
            CopyError::SameFile => f.write_str("source and target are the same file"),
            CopyError::IntoItself => f.write_str("a directory cannot be copied into itself"),
            CopyError::OverDirectory => f.write_str("the target is a directory, but the source is not"),
            CopyError::OverFile => f.write_str("the target exists and is not a directory, but the source is one"),
            CopyError::OverCopy => f.write_str("this would overwrite the copy of another source"),
            CopyError::DanglingLink => f.write_str("the target is a dangling symbolic link"),
            CopyError::Mismatch(offset) => {
                write!(f, "the bytes read back differ from the bytes written, at or after byte {offset}")
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

/// The path of the copy of `from`, if the user gives the target `to`: inside `to` if that is a directory, otherwise
/// `to`.
#[must_use]
pub fn target(from: &Path, to: &Path) -> PathBuf {
    if to.is_dir() { target_in(from, to) } else { to.to_owned() }
}

/// The path of the copy of `from` inside a directory: under the name of `from`. `.` and `..` have no name, and stand
/// for their contents.
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
    /// Copies the contents only, and gives a new file the mode of the source.
    pub fn new() -> Copier {
        Copier::default()
    }

    /// Whether to verify the copy before it appears. It is read back past the page cache, and compared by checksums of
    /// the bytes read from the source (XXH3, 128 bits per piece). Default: no.
    pub fn verify(mut self, yes: bool) -> Copier {
        self.verify = yes;
        self
    }

    /// Whether to preserve the times, the mode and, if permitted, the owner, the access control list and the extended
    /// attributes of the source. Default: no.
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

    /// Copies an open file of any kind, from its position to its end, to an output. `progress` is called from time to
    /// time with the number of data bytes copied so far.
    ///
    /// # Errors
    /// See [`CopyError`]. Verification of an output that cannot be read back is a [`CopyError::Target`].
    pub fn run(&self, source: File, mut output: Output, mut progress: impl FnMut(u64)) -> Result<Copied, CopyError> {
        let Filled { copied, late } = self.fill(&source, &mut output, &mut progress)?;
        settle(&output, &copied, &late)?;
        output.appear_durably().map_err(CopyError::Target)?;
        Ok(copied)
    }

    /// The first step: the output gets all bytes, but is not durable yet.
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
        // The files of `/proc` claim to be empty and are not.
        let from_the_start = metadata.is_file() && metadata.len() > 0 && matches!((&*source).stream_position(), Ok(0));
        if !from_the_start || output.is_direct() {
            let bytes = front::carry(source, output.file(), sums.as_deref_mut(), progress)?;
            return Ok(Copied { bytes, data: bytes, method: Method::Front, verified: false, unkept: Vec::new() });
        }
        let bytes = metadata.len();
        // Shared blocks are the same blocks on disk, so reading them back would prove nothing.
        if sums.is_none() && rustix::fs::ioctl_ficlone(output.file(), source).is_ok() {
            return Ok(Copied { bytes, data: 0, method: Method::Reflink, verified: false, unkept: Vec::new() });
        }
        check_limit(bytes).map_err(CopyError::Target)?;
        let (data, method) = pieces::carry(source, metadata, output, sums, progress)?;
        Ok(Copied { bytes, data, method, verified: false, unkept: Vec::new() })
    }

    /// Gives a new file the mode of the source, as far as the umask allows. With `preserve`, gives any file all
    /// attributes.
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

/// An output that has all bytes, but is neither durable nor fully verified.
#[derive(Debug)]
struct Filled {
    copied: Copied,
    /// Pieces that must still be read back.
    late: verify::Sums,
}

/// The second step: makes the output durable, and reads back the remaining pieces.
fn settle(output: &Output, copied: &Copied, late: &[verify::Sum]) -> Result<(), CopyError> {
    output.settle().map_err(CopyError::Target)?;
    if copied.verified { verify::check(late, output.file(), copied.bytes) } else { Ok(()) }
}

/// Checks that `to` is not the open file itself.
///
/// # Errors
/// [`CopyError::SameFile`], or the metadata of the source cannot be read.
pub fn check_apart(source: &File, to: &Path) -> Result<(), CopyError> {
    let from = source.metadata().map_err(CopyError::Source)?;
    // Copying between two names of one terminal is fine.
    let same = |there: Metadata| there.is_file() && (there.dev(), there.ino()) == (from.dev(), from.ino());
    if std::fs::metadata(to).is_ok_and(same) { Err(CopyError::SameFile) } else { Ok(()) }
}

/// Exceeding the limit on the size of files (`ulimit -f`) would raise a signal, which ends the process. So it is
/// checked first.
fn check_limit(bytes: u64) -> io::Result<()> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    if limit.is_some_and(|limit| bytes > limit) {
        return Err(rustix::io::Errno::FBIG.into());
    }
    Ok(())
}
