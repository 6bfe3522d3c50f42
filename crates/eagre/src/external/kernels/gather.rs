//! Records copied in the order of their words, by several threads.
//!
//! Each thread takes a piece of the words, copies their records into a buffer of its own that fits the cache, waits for its
//! turn, and hands it over. So the pieces arrive in order, whatever the sizes of their records.

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};

use eagre_mem::heap;
use eagre_mem::threads::with_helpers;

use super::Index;
use super::index::record_at;
use super::prefetch::prefetch;
use super::ties::compare_keys;
use crate::records::Format;

/// How many bytes a thread copies before it hands them over.
const PIECE: usize = 256 << 10;
/// How many records ahead one is fetched.
const AHEAD: usize = 12;

/// Where the records of words come from.
pub(crate) trait Fetch: Sync {
    /// Hints that the record at `position` will be needed soon.
    fn announce(&self, position: usize);

    /// Appends the record at `position`.
    fn fetch(&self, position: usize, out: &mut Vec<u8>) -> io::Result<()>;
}

/// Records in memory, or in a mapped file.
pub(crate) struct InMemory<'a, F> {
    pub(crate) format: &'a F,
    pub(crate) bytes: &'a [u8],
}

impl<F: Format> Fetch for InMemory<'_, F> {
    #[inline]
    fn announce(&self, position: usize) {
        prefetch(self.bytes, position);
    }

    #[inline]
    fn fetch(&self, position: usize, out: &mut Vec<u8>) -> io::Result<()> {
        let record = record_at(self.format, self.bytes, position);
        if out.capacity() - out.len() < record.len() {
            heap::reserve(out, record.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        }
        out.extend_from_slice(record);
        Ok(())
    }
}

/// Hands the records of `words` to `put`, in order, piece by piece, until it breaks. `mean` is about the size of a
/// record. A word is left out if `repeated` says so of it and the one before. Each thread calls `made` with the size of a
/// piece before its turn.
#[expect(clippy::too_many_arguments, reason = "a kernel with three callers")]
pub(crate) fn gather(
    index: &Index,
    records: &impl Fetch,
    words: &[u128],
    mean: usize,
    repeated: Option<&(dyn Fn(u128, u128) -> bool + Sync)>,
    threads: usize,
    made: &(dyn Fn(usize) + Sync),
    put: impl FnMut(&[u8]) -> ControlFlow<()> + Send,
) -> io::Result<()> {
    let step = (PIECE / mean.max(1)).clamp(1, 1 << 14);
    let copy = |piece: usize, out: &mut Vec<u8>| {
        let (start, end) = (piece * step, words.len().min((piece + 1) * step));
        for at in start..end {
            if let Some(&ahead) = words.get(at + AHEAD) {
                records.announce(index.position(ahead));
            }
            if at > 0 && repeated.is_some_and(|repeated| repeated(words[at - 1], words[at])) {
                continue;
            }
            records.fetch(index.position(words[at]), out)?;
        }
        made(out.len());
        Ok(())
    };
    in_order(words.len().div_ceil(step), threads, PIECE + mean, &copy, put)
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

/// Makes `pieces` pieces of bytes in buffers of `size` bytes, several at once, and hands them to `put` one after the other,
/// until it breaks.
pub(crate) fn in_order(
    pieces: usize,
    threads: usize,
    size: usize,
    make: &(dyn Fn(usize, &mut Vec<u8>) -> io::Result<()> + Sync),
    put: impl FnMut(&[u8]) -> ControlFlow<()> + Send,
) -> io::Result<()> {
    let turn = Turn { state: Mutex::new(State { next: 0, put, failure: None }), changed: Condvar::new() };
    let (taken, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        let _panic = StopOnPanic { over: &over, changed: &turn.changed };
        let mut buffer = Vec::new();
        let reserved = heap::reserve(&mut buffer, size);
        loop {
            let piece = taken.fetch_add(1, Relaxed);
            if piece >= pieces || over.load(Relaxed) {
                break;
            }
            buffer.clear();
            let made = reserved.map_err(|_| io::ErrorKind::OutOfMemory.into()).and_then(|()| make(piece, &mut buffer));
            let mut state = turn.state.lock().unwrap_or_else(PoisonError::into_inner);
            while state.next != piece && !over.load(Relaxed) {
                state = turn.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if over.load(Relaxed) {
                break;
            }
            match made {
                Ok(()) if (state.put)(&buffer).is_continue() => state.next += 1,
                Ok(()) => over.store(true, Relaxed),
                Err(error) => {
                    state.failure = Some(error);
                    over.store(true, Relaxed);
                }
            }
            turn.changed.notify_all();
        }
    };
    // Another thread calls `put` only while it holds the lock.
    let helpers = threads.min(pieces).saturating_sub(1);
    with_helpers(Some(c"eagre-gather"), helpers, &work, work);
    let State { failure, .. } = turn.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.map_or(Ok(()), Err)
}

struct Turn<P> {
    state: Mutex<State<P>>,
    changed: Condvar,
}

struct State<P> {
    /// The piece whose turn it is.
    next: usize,
    put: P,
    failure: Option<io::Error>,
}

/// A thread that panicked never hands its piece over, so the others must not wait for it.
struct StopOnPanic<'a> {
    over: &'a AtomicBool,
    changed: &'a Condvar,
}

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.over.store(true, Relaxed);
            self.changed.notify_all();
        }
    }
}
