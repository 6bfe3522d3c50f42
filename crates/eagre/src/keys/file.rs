//! Reading and writing files of keys.

use super::{FileKey, ReadError};
use crate::doctor::{Available, Bound, available_memory};
use crate::{BlockSize, Pool, Reader, RewireError, RewiredVec, StreamError, Writer};

/// How many bytes are decoded at a time: they are still in the cache when they are read again.
pub(super) const PIECE: usize = 128 << 10;

/// Makes an empty vector with a pool of its own. It has room for `most` keys, or for as many as this machine has memory
/// for, and takes memory only as it grows. The pool may hold `spare` bytes more, as partitioning the vector needs.
///
/// # Errors
/// Those of [`RewiredVec::with_limit`] and [`Pool::new`].
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

/// How much memory a vector may have at most. Where addresses are limited, it is an eighth of them: the pool and the
/// vector need a range each, streams need some too, and the heap of each thread takes 64 MB.
fn all_memory() -> u64 {
    match available_memory() {
        Some(Available { bytes, bound: Bound::AddressSpace, .. }) => bytes / 8,
        Some(Available { bytes, .. }) => bytes,
        None => 1 << 40,
    }
}

/// Appends all keys of a stream to a vector. Calls `progress` with the number of bytes read so far.
///
/// # Errors
/// The stream fails, memory is refused, or the stream ends inside a key. The vector has the keys read until then.
pub fn read<K: FileKey>(
    from: &mut Reader,
    keys: &mut RewiredVec<K>,
    mut progress: impl FnMut(u64),
) -> Result<(), ReadError> {
    each_piece(from, K::WIDTH, |bytes, done| {
        let (before, more) = (keys.len(), bytes.len() / K::WIDTH);
        keys.try_reserve(more)?;
        keys.resize(before + more, K::default());
        K::decode(bytes, &mut keys[before..]);
        progress(done);
        Ok(true)
    })
}

/// Appends keys to a stream. Calls `progress` with the number of bytes written so far.
///
/// # Errors
/// The stream fails.
pub fn write<K: FileKey>(keys: &[K], to: &mut Writer, mut progress: impl FnMut(u64)) -> Result<(), StreamError> {
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

/// Appends keys to a stream that holds whole keys so far.
#[cfg(feature = "external")]
pub(crate) fn put<K: FileKey>(mut keys: &[K], to: &mut Writer) -> Result<(), StreamError> {
    while !keys.is_empty() {
        let room = to.reserve(K::WIDTH)?;
        let (now, later) = keys.split_at(keys.len().min(room.len() / K::WIDTH));
        let bytes = size_of_val(now);
        K::encode(now, &mut room[..bytes]);
        to.commit(bytes);
        keys = later;
    }
    Ok(())
}

/// Calls `each` with pieces of whole keys and the number of bytes read so far, until it returns false.
pub(super) fn each_piece(
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
