//! Why a sort ended early.

use std::fmt;

use eagre_mem::heap::Refused;

/// Why a sort ended before everything was in order. The slice holds what it held, in some order: nothing is lost and
/// nothing is there twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SortError {
    /// The system refused memory.
    Memory {
        /// How many bytes were asked for.
        bytes: usize,
    },
    /// The hook given to [`Sorter::progress`](super::Sorter::progress) asked for it.
    Cancelled,
}

impl fmt::Display for SortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SortError::Memory { bytes } => write!(f, "no memory: {bytes} bytes beside the data"),
            SortError::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl std::error::Error for SortError {}

impl From<Refused> for SortError {
    fn from(Refused { bytes, .. }: Refused) -> SortError {
        SortError::Memory { bytes }
    }
}
