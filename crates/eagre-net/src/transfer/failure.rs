//! Why a transfer, or a file of it, did not work.
#![forbid(unsafe_code)]

use std::fmt;
use std::io;

use crate::error::{NetError, reason};

/// Why a transfer did not reach its end.
#[derive(Debug)]
#[non_exhaustive]
pub enum TransferError {
    /// The connection.
    Net(NetError),
    /// A file or directory of this side. Its name is as messages show it.
    Here(String, io::Error),
    /// Something is not possible: where, why, and the cure.
    Unfit(String, String, &'static str),
    /// The other side said something that no sender or receiver says: which part, and why it cannot be.
    Protocol(&'static str, String),
}

impl fmt::Display for TransferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TransferError::Net(error) => error.fmt(f),
            TransferError::Here(place, error) => write!(f, "{place}: {}", reason(error)),
            TransferError::Unfit(place, why, cure) => write!(f, "{place}: {why}; {cure}"),
            TransferError::Protocol(part, why) => {
                write!(f, "the other side: its {part} cannot be understood: {why}; use the same version on both sides")
            }
        }
    }
}

impl std::error::Error for TransferError {}

impl From<NetError> for TransferError {
    fn from(error: NetError) -> TransferError {
        TransferError::Net(error)
    }
}
