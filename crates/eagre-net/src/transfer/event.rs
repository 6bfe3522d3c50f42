//! What is told while a transfer runs, and at its end.
#![forbid(unsafe_code)]

use super::failure::TransferError;
use super::have::Digest;

/// Something that has happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The files that are known so far have so many bytes.
    Total(u64),
    /// So many bytes have been sent or received, or need not be.
    Progress(u64),
    /// A file is complete, and on the disk of the side that receives.
    File {
        /// Its path below the directory that receives, byte for byte; `-` for a pipe.
        name: &'a [u8],
        /// Its size.
        bytes: u64,
        /// How many of them were there before.
        before: u64,
        /// Its BLAKE3 digest.
        digest: Digest,
    },
    /// Something is left out because it is of a kind that is not sent.
    Skipped {
        /// Where it is, as messages show it.
        place: &'a str,
        /// What it is.
        why: &'a str,
    },
    /// Something could not be sent or received. The rest is.
    Failed {
        /// What and why.
        error: &'a TransferError,
    },
}

/// Gets each [`Event`].
pub type Watch<'a> = &'a mut dyn FnMut(Event<'_>);

/// What a transfer did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transferred {
    /// How many files are complete at the other side, or at this one.
    pub files: u64,
    /// The bytes of them.
    pub bytes: u64,
    /// How many of these were there before.
    pub before: u64,
    /// How many things were left out.
    pub skipped: u64,
    /// How many could not be sent or received.
    pub failed: u64,
}
