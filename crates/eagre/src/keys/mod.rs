//! Files of fixed-width keys: nothing but keys, one after the other, least significant byte first.
//!
//! That is what `ndarray.tofile` writes, and what a dump of an array is on most machines. [`read`] appends such a file
//! to a vector that grows without copying, [`write()`] puts keys into the stream of another, [`check`] says whether a file
//! is in order while it runs past. Together with [`sort`](mod@crate::sort) that sorts a file:
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
mod order;

use crate::doctor::{Available, Bound, available_memory};
use crate::sort::{Key, SortError, Sorter};
use crate::{BlockSize, Pool, Reader, RewireError, RewiredVec, Writer};
use std::fmt;

pub use error::ReadError;
pub use order::{Disorder, Order, check, unique};

/// So many bytes at a time: they are still in the cache when they are looked at again.
const PIECE: usize = 128 << 10;

/// A key that files can hold. All that [`sort`](mod@crate::sort) can sort; of a pair, the first part comes first.
pub trait FileKey: Key + PartialEq + fmt::Debug {
    /// How many bytes it takes in a file.
    const WIDTH: usize;
    /// Zero.
    const ZERO: Self;
    /// Whether it has two parts.
    const IS_PAIR: bool;

    /// Turns bytes into keys, as many as there are places.
    ///
    /// # Panics
    /// If there are not [`WIDTH`](FileKey::WIDTH) bytes for each key.
    fn decode(from: &[u8], to: &mut [Self]);

    /// Turns keys into bytes.
    ///
    /// # Panics
    /// As [`FileKey::decode`].
    fn encode(from: &[Self], to: &mut [u8]);

    /// Sorts in ascending order; of pairs, by their first part only: those with equal first parts stay in the order they
    /// were in.
    ///
    /// # Errors
    /// Those of [`Sorter::sort`].
    fn sort_by_first(sorter: &Sorter<'_>, keys: &mut [Self]) -> Result<(), SortError>;
}

macro_rules! file_key {
    ($type:ty, $zero:expr, $pair:literal, $sort:ident, $width:literal, $bytes:ident => $decode:expr, $key:ident => $encode:expr) => {
        impl FileKey for $type {
            const WIDTH: usize = $width;
            const ZERO: $type = $zero;
            const IS_PAIR: bool = $pair;

            fn decode(from: &[u8], to: &mut [$type]) {
                let (from, rest) = from.as_chunks::<$width>();
                assert!(from.len() == to.len() && rest.is_empty(), "as many bytes as keys");
                for (to, &$bytes) in to.iter_mut().zip(from) {
                    *to = $decode;
                }
            }

            fn encode(from: &[$type], to: &mut [u8]) {
                let (to, rest) = to.as_chunks_mut::<$width>();
                assert!(from.len() == to.len() && rest.is_empty(), "as many bytes as keys");
                for (to, &$key) in to.iter_mut().zip(from) {
                    *to = $encode;
                }
            }

            fn sort_by_first(sorter: &Sorter<'_>, keys: &mut [$type]) -> Result<(), SortError> {
                sorter.$sort(keys)
            }
        }
    };
}

macro_rules! number {
    ($($type:ty: $width:literal, $zero:literal;)*) => {
        $(file_key!($type, $zero, false, sort, $width, bytes => <$type>::from_le_bytes(bytes), key => key.to_le_bytes());)*
    };
}

number! {
    u32: 4, 0;
    i32: 4, 0;
    f32: 4, 0.0;
    u64: 8, 0;
    i64: 8, 0;
    f64: 8, 0.0;
    u128: 16, 0;
    i128: 16, 0;
}
// A pair is its parts in a row: one number whose low half is the first of them.
file_key!((u32, u32), (0, 0), true, sort_pairs, 8,
    bytes => { let both = u64::from_le_bytes(bytes); (both as u32, (both >> 32) as u32) },
    key => (u64::from(key.0) | u64::from(key.1) << 32).to_le_bytes());
file_key!((u64, u64), (0, 0), true, sort_pairs, 16,
    bytes => { let both = u128::from_le_bytes(bytes); (both as u64, (both >> 64) as u64) },
    key => (u128::from(key.0) | u128::from(key.1) << 64).to_le_bytes());

/// An empty vector with a pool of its own: with room for `most` keys, or as many as this machine has memory for. It
/// takes memory as it grows, and none before. The pool may have `spare` bytes more than that, for what is done to the
/// vector: partitioned, say.
///
/// # Errors
/// As [`RewiredVec::with_limit`], and [`Pool::new`].
pub fn vector<K: FileKey>(most: Option<usize>, spare: u64) -> Result<RewiredVec<K>, RewireError> {
    let block = BlockSize::DEFAULT;
    let blocks = |bytes: u64| bytes.div_ceil(block.bytes() as u64).clamp(1, 1 << 31) as u32;
    let (own, budget) = match most {
        Some(keys) => {
            let own = blocks((keys as u64).saturating_mul(K::WIDTH as u64));
            (own, own.saturating_add(blocks(spare)))
        }
        None => (blocks(all_memory()), blocks(all_memory())),
    };
    let pool = Pool::new(block, budget, None, None)?;
    RewiredVec::with_limit(&pool, own.min(pool.stats().budget) as usize * (block.bytes() / K::WIDTH))
}

/// As much memory as could be had. Where addresses are short, the pool and the vector each take theirs, streams need some as
/// well, and the heap of each thread takes 64 MB.
fn all_memory() -> u64 {
    match available_memory() {
        Some(Available { bytes, bound: Bound::AddressSpace, .. }) => bytes / 8,
        Some(Available { bytes, .. }) => bytes,
        None => 1 << 40,
    }
}

/// Appends all keys of a stream, and calls `progress` with the number of bytes read so far.
///
/// # Errors
/// The stream's failure, memory that is not to be had, or bytes left over that are no whole key. What was read until
/// then is in the vector.
pub fn read<K: FileKey>(
    from: &mut Reader,
    keys: &mut RewiredVec<K>,
    mut progress: impl FnMut(u64),
) -> Result<(), ReadError> {
    each_piece(from, K::WIDTH, |bytes, done| {
        let (before, more) = (keys.len(), bytes.len() / K::WIDTH);
        keys.try_reserve(more)?;
        keys.resize(before + more, K::ZERO);
        K::decode(bytes, &mut keys[before..]);
        progress(done);
        Ok(true)
    })
}

/// Appends keys to a stream, and calls `progress` with the number of bytes written so far.
///
/// # Errors
/// The stream's failure.
pub fn write<K: FileKey>(keys: &[K], to: &mut Writer, mut progress: impl FnMut(u64)) -> Result<(), crate::StreamError> {
    let mut done = 0;
    for piece in keys.chunks(PIECE / K::WIDTH) {
        let bytes = size_of_val(piece);
        K::encode(piece, &mut to.reserve(bytes)?[..bytes]);
        to.commit(bytes);
        done += bytes as u64;
        progress(done);
    }
    Ok(())
}

/// Hands pieces of whole keys to `each`, with the number of bytes up to their end, until it says that this is enough.
fn each_piece(
    from: &mut Reader,
    width: usize,
    mut each: impl FnMut(&[u8], u64) -> Result<bool, ReadError>,
) -> Result<(), ReadError> {
    let mut done = 0;
    loop {
        let bytes = from.fill(width)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let whole = bytes.len().min(PIECE) / width * width;
        if whole == 0 {
            return Err(ReadError::Remainder { bytes: done + bytes.len() as u64, width });
        }
        done += whole as u64;
        if !each(&bytes[..whole], done)? {
            return Ok(());
        }
        from.consume(whole);
    }
}

#[cfg(test)]
mod tests;
