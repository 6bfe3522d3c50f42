//! The errors of this module.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use eagre_mem::heap;

use super::LineError;
use crate::doctor::{Available, Bound};
use crate::file::name;
use crate::scan::{ScanError, about};

/// An input could not be added, and none of its rows were. Or the result could not be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum StatsError {
    /// The input could not be read to its end, or a setting is invalid.
    Io(io::Error),
    /// A line of the input is not a row.
    #[non_exhaustive]
    Line {
        /// The file, if [`Aggregator::file`](super::Aggregator::file) opened it.
        file: Option<Box<PathBuf>>,
        /// The line number, from 1.
        line: u64,
        /// What is wrong with the line.
        error: LineError,
    },
    /// The keys take more memory than there is.
    #[non_exhaustive]
    Memory {
        /// The number of keys so far.
        keys: u64,
        /// The bytes that they take.
        taken: u64,
        /// How much memory is left, if the system was asked before.
        available: Option<Available>,
    },
    /// The [progress hook](super::Aggregator::progress) ended the call.
    Cancelled,
}

impl StatsError {
    /// The same error with the file's name. Some errors stay as they are: those without a text, or without memory for
    /// one.
    pub(super) fn about(self, path: &Path) -> StatsError {
        match self {
            StatsError::Io(error) => StatsError::Io(about("stats", path, error)),
            StatsError::Line { line, error, .. } => {
                let name =
                    heap::copied(path.as_os_str().as_bytes()).map(|name| PathBuf::from(OsString::from_vec(name)));
                StatsError::Line { file: name.and_then(heap::boxed).ok(), line, error }
            }
            other => other,
        }
    }
}

impl From<ScanError> for StatsError {
    fn from(error: ScanError) -> StatsError {
        if error.is_cancelled() { StatsError::Cancelled } else { StatsError::Io(error.source) }
    }
}

impl fmt::Display for StatsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        match self {
            StatsError::Io(error) => error.fmt(f),
            StatsError::Line { file: None, line, error } => write!(f, "line {line}: {error}"),
            StatsError::Line { file: Some(file), line, error } => {
                write!(f, "stats: {}: line {line}: {error}", name::Shown(file.as_os_str().as_bytes()))
            }
            StatsError::Cancelled => f.write_str("cancelled"),
            StatsError::Memory { keys, taken, available } => {
                write!(f, "out of memory: {keys} keys so far take {} MiB, ", mib(*taken))?;
                let Some(Available { bytes, bound, .. }) = available else {
                    return f.write_str("and the system gives no more");
                };
                let whose = match bound {
                    Bound::AddressSpace => "of addresses ",
                    Bound::ControlGroup => "in the control group ",
                    Bound::Machine => "",
                };
                write!(f, "and {} MiB {whose}are left", mib(*bytes))
            }
        }
    }
}

impl std::error::Error for StatsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StatsError::Io(error) => Some(error),
            _ => None,
        }
    }
}
