//! Records copied in the order of their words, by several threads.

use std::io;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use eagre_mem::threads::with_helpers;

use super::Index;
use super::ordered::{Piece, Put};
use super::pace::Pace;
use super::prefetch::prefetch_record;
use super::ties::compare_keys;
use crate::records::Format;

/// How many bytes a thread copies before it hands them over: they stay in its cache.
const PIECE: usize = 256 << 10;
/// The same if all threads wait for each other after a few of them: smaller ones end at about the same time.
const APART: usize = 64 << 10;
/// How many records ahead one is fetched.
const AHEAD: usize = 12;

/// Work that is called once.
pub(crate) type Work<'a> = &'a mut dyn FnMut() -> io::Result<()>;

/// Hands the records of `words` in `bytes` to `put`, in order, piece by piece. `mean` is about the size of a record. A word is
/// left out if `repeated` says so of it and the one before. `fetching` calls what fetches about so many bytes.
#[expect(clippy::too_many_arguments, reason = "a kernel with three callers")]
pub(crate) fn gather<F: Format>(
    index: &Index,
    (format, bytes): (&F, &[u8]),
    words: &[u128],
    mean: usize,
    repeated: Option<&(dyn Fn(u128, u128) -> bool + Sync)>,
    pace: &Pace<'_>,
    fetching: &(dyn Fn(u64, Work<'_>) -> io::Result<()> + Sync),
    put: Put<'_>,
) -> io::Result<()> {
    let size = if pace.apart { APART } else { PIECE };
    let step = (size / mean.max(1)).clamp(1, 1 << 14);
    let fetch = |range: Range<usize>, out: &mut Piece<'_, '_>| {
        for at in range {
            if let Some(&ahead) = words.get(at + AHEAD) {
                prefetch_record(bytes, index.position(ahead), format.record_size());
            }
            if at > 0 && repeated.is_some_and(|repeated| repeated(words[at - 1], words[at])) {
                continue;
            }
            out.push(index.record(format, bytes, words[at]))?;
        }
        Ok(())
    };
    let copy = |piece: usize, out: &mut Piece<'_, '_>| {
        let (start, end) = (piece * step, words.len().min((piece + 1) * step));
        let about = (end - start) as u64 * mean as u64;
        fetching(about, &mut || fetch(start..end, out))
    };
    pace.run(words.len().div_ceil(step), size + size / 4, &copy, put)
}

/// Copies the records of `words`, all of `size` bytes, to `out`, which has room for as many.
pub(super) fn gather_into(index: &Index, bytes: &[u8], size: usize, words: &[u128], threads: usize, out: &mut [u8]) {
    let step = (PIECE / size).max(1);
    let pieces = Mutex::new(words.chunks(step).zip(out.chunks_mut(step * size)).enumerate());
    let work = || {
        loop {
            let next = pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((number, (piece, out))) = next else { break };
            let ahead = words.get(number * step + AHEAD..).unwrap_or_default();
            for (at, (to, &word)) in out.chunks_exact_mut(size).zip(piece).enumerate() {
                if let Some(&soon) = ahead.get(at) {
                    prefetch_record(bytes, index.position(soon), Some(size));
                }
                copy(&bytes[index.position(word)..][..size], to);
            }
        }
    };
    let threads = threads.min(words.len().div_ceil(step));
    with_helpers(Some(c"eagre-gather"), threads.saturating_sub(1), &work, work);
}

/// Copies records. Most are short, and a call to `memcpy` takes as long as what it does for them.
#[inline(always)]
fn copy(from: &[u8], to: &mut [u8]) {
    const STEP: usize = 32;
    let whole = from.len().min(to.len());
    match (from.last_chunk::<STEP>(), whole <= 8 * STEP) {
        (Some(last), true) => {
            for (to, from) in to.as_chunks_mut::<STEP>().0.iter_mut().zip(from.as_chunks::<STEP>().0) {
                *to = *from;
            }
            if let Some(to) = to.last_chunk_mut::<STEP>() {
                *to = *last;
            }
        }
        _ => to.copy_from_slice(from),
    }
}

/// Keeps only the first word of those whose records have equal keys. All are in order.
pub(crate) fn keep_first<F: Format>(index: &Index, format: &F, bytes: &[u8], words: &mut crate::RewiredVec<u128>) {
    let mut kept = 0;
    for at in 0..words.len() {
        let word = words[at];
        if kept == 0 || !is_repeated(index, format, bytes, (words[kept - 1], word)) {
            words[kept] = word;
            kept += 1;
        }
    }
    words.truncate(kept);
}

pub(crate) fn is_repeated<F: Format>(index: &Index, format: &F, bytes: &[u8], (before, word): (u128, u128)) -> bool {
    // The prefix of a word may be that of any part of its key, but equal keys have equal ones.
    let records = || (index.record(format, bytes, before), index.record(format, bytes, word));
    index.prefix_of(before) == index.prefix_of(word) && compare_keys(format, records(), &mut Default::default()).is_eq()
}
