//! Why keys could not be read.

use crate::{RewireError, StreamError};
use std::fmt;
use std::io;

/// Why keys could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The stream failed, or the file behind it.
    Stream(StreamError),
    /// Memory for the keys was refused.
    Memory(RewireError),
    /// The number of bytes is not a multiple of a key's width.
    Remainder {
        /// How many bytes there are.
        bytes: u64,
        /// How many bytes a key takes.
        width: usize,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Stream(error) => error.fmt(f),
            ReadError::Memory(error) => error.fmt(f),
            ReadError::Remainder { bytes, width } => {
                let rest = bytes % *width as u64;
                write!(f, "{bytes} bytes are no whole number of keys of {width} bytes: {rest} left over")
            }
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ReadError::Stream(error) => Some(error),
            ReadError::Memory(error) => Some(error),
            ReadError::Remainder { .. } => None,
        }
    }
}

impl From<StreamError> for ReadError {
    fn from(error: StreamError) -> ReadError {
        ReadError::Stream(error)
    }
}

impl From<RewireError> for ReadError {
    fn from(error: RewireError) -> ReadError {
        ReadError::Memory(error)
    }
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> io::Error {
        match error {
            ReadError::Stream(error) => error.into(),
            ReadError::Memory(error) => error.into(),
            ReadError::Remainder { .. } => io::Error::new(io::ErrorKind::InvalidData, error),
        }
    }
}
