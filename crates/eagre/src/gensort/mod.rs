//! Records of the sort benchmark (sortbenchmark.org): 100 bytes, the first ten of which are the key.
//!
//! A [`Generator`] makes the records that `gensort` 1.5 makes, byte for byte: binary or ASCII, uniform or skewed, from any
//! record number on. A [`Summary`] says what `valsort` says of records: how many there are, whether they are in order,
//! how many keys are equal to the one before, and a checksum that does not depend on the order. So two files hold the
//! same records if their counts and checksums agree, and one of them is sorted if it has no unordered record.
//!
//! Both work on any part of a file: record number `r` is computed without those before it, and summaries of
//! neighbouring parts [join](Summary::append). Threads and machines share the work that way.
//!
//! ```
//! use eagre::gensort::{Generator, RECORD, Summary};
//!
//! let mut records = vec![0; 1000 * RECORD];
//! Generator::new().fill(0, &mut records);
//! let summary = Summary::of(&records);
//! assert_eq!((summary.records, format!("{:x}", summary.checksum)), (1000, "1ea6370b955".to_owned()));
//! assert!(summary.unordered > 0);
//! ```
//!
//! [`Generator::file`] writes a file of them, [`file()`] says what a file holds.

mod generator;
mod pieces;
mod sequence;
mod summary;
#[cfg(test)]
mod tests;
mod validator;

pub use generator::Generator;
pub use summary::{Summary, SummaryError};
pub use validator::{Validated, Validator, file};

/// The length of a record, in bytes.
pub const RECORD: usize = 100;

/// The length of its key, which stands first and is compared as unsigned bytes.
pub const KEY: usize = 10;
