//! Why there is no answer.

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

/// An input could not be added: nothing of it was. Or there is no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum StatsError {
    /// It could not be read to its end, or a setting is wrong.
    Io(io::Error),
    /// A line of it is no row.
    #[non_exhaustive]
    Line {
        /// The file, if it was opened by [`Aggregator::file`](super::Aggregator::file).
        file: Option<Box<PathBuf>>,
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        error: LineError,
    },
    /// There is no memory for so many keys.
    #[non_exhaustive]
    Memory {
        /// How many there were.
        keys: u64,
        /// How many bytes they took.
        taken: u64,
        /// What was left, if the system was asked before.
        available: Option<Available>,
    },
    /// The [progress hook](super::Aggregator::progress) asked for it.
    Cancelled,
}

impl StatsError {
    /// The same with the file's name, but for what has no text, or no memory for one.
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
