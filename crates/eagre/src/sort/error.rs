//! Why a sort ended early.

use std::fmt;

use eagre_mem::heap::Refused;

use super::Level;

// A result of a tag and one word comes back in registers: to sort eight keys takes 25 cycles. No variant may hold more, or
// anything but a word.
const _: () = assert!(size_of::<Result<(), SortError>>() <= 16);

/// Why a sort ended before everything was in order. The slice still holds the same elements, in some order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SortError {
    /// The system refused memory.
    Memory {
        /// How many bytes were asked for.
        bytes: usize,
    },
    /// The hook given to [`Sorter::progress`](super::Sorter::progress) asked the sort to stop.
    Cancelled,
    /// The processor does not have the vector instructions that [`Sorter::simd`](super::Sorter::simd) asks for.
    Simd,
    /// `EAGRE_SIMD` has a value that does not exist or that the processor does not have. The message says which.
    Environment,
}

impl fmt::Display for SortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SortError::Memory { bytes } => write!(f, "no memory: {bytes} bytes beside the data"),
            SortError::Cancelled => f.write_str("cancelled"),
            SortError::Simd => f.write_str("this processor does not have the vector instructions asked for"),
            SortError::Environment => f.write_str(Level::chosen().err().unwrap_or("EAGRE_SIMD")),
        }
    }
}

impl std::error::Error for SortError {}

impl From<Refused> for SortError {
    fn from(Refused { bytes, .. }: Refused) -> SortError {
        SortError::Memory { bytes }
    }
}
