//! Keys: what can be sorted, partitioned and stored in files.
//!
//! | trait | is implemented for | who asks for it |
//! |---|---|---|
//! | [`Key`] | numbers and pairs of them; sealed | [`sort`](mod@crate::sort) |
//! | [`FileKey`] | the keys with the same width on every machine | this module |
//! | [`Keyed`] | keys of up to 64 bits, pairs, arrays of bytes, and your records | [`partition`](crate::partition) |
//!
//! # Files of keys
//! Such a file holds keys only, one after the other, least significant byte first. `ndarray.tofile` of numpy writes
//! such files, and on most machines a dump of an array is one. [`read`] appends the keys of a file to a vector that
//! grows without copying, [`write()`] writes keys to the stream of a file, and [`check`] finds the first key of a file
//! that is out of order. This sorts a file:
//!
//! ```no_run
//! use eagre::{file, keys, sort};
//!
//! let mut numbers = keys::vector::<u64>(None, 0)?;
//! keys::read(&mut file::open("numbers.bin")?, &mut numbers, |_| ())?;
//! sort::sort(&mut numbers);
//! let mut sorted = file::create("sorted.bin")?;
//! keys::write(&numbers, &mut sorted, |_| ())?;
//! sorted.finish()?;
//! # std::io::Result::Ok(())
//! ```

mod error;
mod file;
mod file_key;
mod keyed;
mod order;

pub use crate::sort::Key;
pub use error::ReadError;
#[cfg(feature = "external")]
pub(crate) use file::put;
pub use file::{read, vector, write};
pub use file_key::FileKey;
pub use keyed::Keyed;
pub use order::{Disorder, Order, check, unique};

#[cfg(test)]
mod tests;
