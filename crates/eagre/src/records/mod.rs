//! How bytes are cut into records, and how records are ordered.
//!
//! A [`Format`] answers two questions about bytes: where the record at their front ends, and what its key is. The key is
//! given as bytes that are compared as `memcmp` compares: numbers are turned so that their bytes sort as they do, and
//! several keys are put one after the other. So whoever sorts, merges or checks records needs no other comparison.
//!
//! | format | records | keys |
//! |---|---|---|
//! | [`Fixed`] | all of one size | [ranges](KeyRange) of bytes or numbers |
//! | [`Klv`] | key, length of the value, value | the key |
//! | [`Lines`] | bytes and a newline | the line |
//! | [`Text`] | bytes and a newline, or CSV | parts of the line, ordered as GNU sort orders them |
//!
//! [`TestData`] makes records. A [`Checker`] says whether those of a file are in order, and [`checksum()`] which they are.

mod check;
mod checksum;
mod first;
mod fixed;
mod key_range;
mod klv;
mod lines;
mod test_data;
mod text;

use std::fmt;

pub use check::{CheckError, Checked, Checker, Place};
pub use checksum::{Checksum, checksum};
pub use first::take_first;
pub use fixed::Fixed;
pub use key_range::{KeyKind, KeyRange};
pub use klv::Klv;
pub use lines::Lines;
pub use test_data::TestData;
pub use text::{Text, TextKey, TextOptions, TextOrder};

/// How bytes are cut into records, and what the key of each is.
pub trait Format: Sync {
    /// The length in bytes of the record at the front of `bytes`, which are not empty. `None` if `bytes` end before it
    /// does. If `last`, nothing follows `bytes`.
    ///
    /// # Errors
    /// [`Malformed`] if no record begins like that, or if the last one is cut short.
    fn length(&self, bytes: &[u8], last: bool) -> Result<Option<usize>, Malformed>;

    /// The key of a whole record: bytes in whose order, as `memcmp` compares, records are sorted; a key that is the
    /// beginning of another comes first. It is a part of `record`, or is built in `scratch`, whose old contents are
    /// lost.
    fn key<'a>(&self, record: &'a [u8], scratch: &'a mut Vec<u8>) -> &'a [u8];

    /// The first 16 bytes of the key as a number: [`word`] of the [`key`](Format::key), which some formats know without
    /// building the key. The old contents of `scratch` are lost.
    #[inline]
    fn prefix(&self, record: &[u8], scratch: &mut Vec<u8>) -> u128 {
        word(self.key(record, scratch), 0)
    }

    /// The size of all keys in bytes, if they have one size.
    fn key_size(&self) -> Option<usize> {
        None
    }

    /// The size of all records in bytes, if they have one size.
    fn record_size(&self) -> Option<usize> {
        None
    }

    /// The byte that ends each record, if it may be missing after the last record of a file.
    fn terminator(&self) -> Option<u8> {
        None
    }

    /// Whether a record ends wherever its [terminator](Format::terminator) is, so that records can be found from anywhere in
    /// a file.
    fn ends_at_terminator(&self) -> bool {
        false
    }
}

/// Bytes that are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// The file ends in the middle of a record.
    Truncated {
        /// How many bytes there are of it.
        bytes: u64,
        /// How many it would have, if that is known.
        wanted: Option<u64>,
    },
    /// The file ends inside a field in quotes.
    Unclosed {
        /// How many bytes the last record has.
        bytes: u64,
    },
}

impl Malformed {
    /// How many bytes at the end are no whole record.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Malformed::Truncated { bytes, .. } | Malformed::Unclosed { bytes } => *bytes,
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::Truncated { bytes, wanted: Some(wanted) } => {
                write!(f, "the last record is cut short: it has {bytes} bytes of {wanted}")
            }
            Malformed::Truncated { bytes, wanted: None } => {
                write!(f, "the last record is cut short: it has {bytes} bytes")
            }
            Malformed::Unclosed { bytes } => {
                write!(f, "the last record has {bytes} bytes and a field whose quotes are not closed")
            }
        }
    }
}

impl std::error::Error for Malformed {}

/// The 16 bytes of a key from `depth` on, as a number that sorts as they do. Zeros stand for bytes that the key does not
/// have.
#[must_use]
#[inline]
pub fn word(key: &[u8], depth: usize) -> u128 {
    let rest = key.get(depth..).unwrap_or_default();
    if let Some(whole) = rest.first_chunk() {
        return u128::from_be_bytes(*whole);
    }
    let mut bytes = [0; 16];
    bytes[..rest.len()].copy_from_slice(rest);
    u128::from_be_bytes(bytes)
}
