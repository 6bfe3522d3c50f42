//! Making the words of many records, by several threads.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use eagre_mem::threads::with_helpers;

use super::kernels::{Index, IndexError, Seen, append_distinct};
use crate::records::{Checksum, Format, Malformed, checksum};

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
    // Where every terminator ends a record, it is enough to find the last one in a piece. In CSV it may be inside quotes.
    if let Some(end) = format.terminator().filter(|_| format.ends_at_terminator()) {
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

/// What is made of a piece.
#[derive(Default)]
pub(super) struct Made {
    pub(super) words: Vec<u128>,
    /// How many records it has.
    pub(super) records: usize,
    /// The size of the longest record.
    pub(super) longest: usize,
    /// Which records it has, if that was asked.
    pub(super) checksum: Checksum,
}

/// What is wanted of records beside their words.
#[derive(Clone, Copy, Default)]
pub(super) struct Wanted<'s> {
    /// Their checksum.
    pub(super) sum: bool,
    /// For each thread the keys that it has seen, if records may be left out whose keys are repeated.
    pub(super) seen: Option<&'s [Mutex<Seen>]>,
}

/// Makes the words of the records in pieces of `bytes`.
pub(super) fn words<F: Format>(
    format: &F,
    index: &Index,
    bytes: &[u8],
    pieces: &[Range<usize>],
    threads: usize,
    wanted: Wanted<'_>,
) -> Result<Vec<Made>, IndexError> {
    let make = |range: Range<usize>, seen: Option<&mut Seen>| {
        let mut made = Made::default();
        if let Some(seen) = seen {
            let found = append_distinct(index, format, bytes, range.clone(), &mut made.words, seen)?;
            (made.longest, made.records) = (found.longest, found.records);
        } else {
            made.longest = index.append(format, bytes, range.clone(), &mut made.words)?;
            made.records = made.words.len();
        }
        if wanted.sum {
            let sum = checksum(format, &bytes[range.clone()]);
            made.checksum = sum.map_err(|why| IndexError::Malformed(range.start, why))?;
        }
        Ok(made)
    };
    let made: Vec<_> = pieces.iter().map(|_| Mutex::new(Ok(Made::default()))).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut seen = wanted.seen.and_then(|all| all.iter().find_map(|one| one.try_lock().ok()));
        loop {
            let number = next.fetch_add(1, Relaxed);
            let Some(range) = pieces.get(number) else { break };
            let made_of = make(range.clone(), seen.as_deref_mut());
            *made[number].lock().unwrap_or_else(PoisonError::into_inner) = made_of;
        }
    };
    with_helpers(Some(c"eagre-index"), threads.min(pieces.len()) - 1, &work, work);
    made.into_iter().map(|made| made.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}
