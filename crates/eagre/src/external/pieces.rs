//! Making the words of many records, by several threads.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use eagre_mem::threads::with_helpers;

use super::kernels::{Index, IndexError};
use crate::records::{Format, Malformed};

/// How many bytes one thread takes at a time.
const PIECE: usize = 512 << 10;
/// How many records one thread takes at a time. Lines may be empty, and a word has 16 bytes.
const RECORDS: usize = 64 << 10;

/// Cuts `bytes` from `start` on, where a record begins, into up to `most` pieces of whole records. None if there is no whole
/// record. If `last`, the bytes end with a record.
pub(super) fn cut<F: Format>(
    format: &F,
    bytes: &[u8],
    start: usize,
    most: usize,
    last: bool,
) -> Result<Vec<Range<usize>>, Malformed> {
    let (mut pieces, mut at) = (Vec::new(), start);
    while pieces.len() < most && at < bytes.len() {
        let Some(length) = whole(format, &bytes[at..], last)? else { break };
        pieces.push(at..at + length);
        at += length;
    }
    Ok(pieces)
}

/// The size of a piece of whole records at the front of `bytes`.
fn whole<F: Format>(format: &F, bytes: &[u8], last: bool) -> Result<Option<usize>, Malformed> {
    if let Some(size) = format.record_size() {
        let most = PIECE.min(size.saturating_mul(RECORDS)).max(size);
        let whole = bytes.len().min(most) / size * size;
        if last && whole == 0 {
            format.length(bytes, true)?;
        }
        return Ok((whole > 0).then_some(whole));
    }
    // Where records can be found from anywhere, it is enough to find the last end in a piece.
    if let (Some(end), Some(_)) = (format.terminator(), format.boundary(bytes, 0)) {
        let mut piece = &bytes[..bytes.len().min(PIECE)];
        while memchr::memchr_iter(end, piece).count() > RECORDS {
            piece = &piece[..piece.len() / 2];
        }
        if let Some(found) = memchr::memrchr(end, piece) {
            return Ok(Some(found + 1));
        }
    }
    let (mut length, mut records) = (0, 0);
    while length < PIECE && length < bytes.len() && records < RECORDS {
        match format.length(&bytes[length..], last)? {
            Some(record) => (length, records) = (length + record, records + 1),
            None => break,
        }
    }
    Ok((length > 0).then_some(length))
}

/// The words of pieces.
pub(super) struct Made {
    pub(super) words: Vec<Vec<u128>>,
    /// The size of the longest record.
    pub(super) longest: usize,
}

/// Makes the words of the records in pieces of `bytes`.
pub(super) fn words<F: Format>(
    format: &F,
    index: &Index,
    bytes: &[u8],
    pieces: &[Range<usize>],
    threads: usize,
) -> Result<Made, IndexError> {
    let made: Vec<_> = pieces.iter().map(|_| Mutex::new((Vec::new(), Ok(0)))).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let number = next.fetch_add(1, Relaxed);
            let Some(range) = pieces.get(number) else { break };
            let mut made = made[number].lock().unwrap_or_else(PoisonError::into_inner);
            let (words, outcome) = &mut *made;
            *outcome = index.append(format, bytes, range.clone(), words);
        }
    };
    with_helpers(Some(c"eagre-index"), threads.min(pieces.len()) - 1, &work, work);
    let mut all = Made { words: Vec::new(), longest: 0 };
    for made in made {
        let (words, outcome) = made.into_inner().unwrap_or_else(PoisonError::into_inner);
        all.longest = all.longest.max(outcome?);
        all.words.push(words);
    }
    Ok(all)
}
