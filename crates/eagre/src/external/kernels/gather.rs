//! Records copied in the order of their words, by several threads.
//!
//! Each thread takes a piece of the words, copies their records into a buffer of its own that fits the cache, waits for its
//! turn, and hands it over. So the pieces arrive in order, whatever the sizes of their records.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};

use eagre_mem::heap::{self, Refused};
use eagre_mem::threads::with_helpers;

use super::Index;
use super::prefetch::prefetch;
use super::ties::compare_keys;
use crate::records::Format;

/// How many bytes a thread copies before it hands them over.
const PIECE: usize = 256 << 10;
/// How many records ahead one is fetched.
const AHEAD: usize = 12;

/// Hands the records of `words` to `put`, in order, piece by piece, until it breaks. Of records with equal keys only the
/// first if `unique`.
pub(crate) fn gather<F: Format>(
    index: &Index,
    format: &F,
    bytes: &[u8],
    words: &[u128],
    unique: bool,
    threads: usize,
    put: impl FnMut(&[u8]) -> ControlFlow<()> + Send,
) -> Result<(), Refused> {
    // As the size of records is not known, what they have on average.
    let mean = format.record_size().unwrap_or_else(|| (bytes.len() / words.len().max(1)).max(1));
    let step = (PIECE / mean).clamp(1, 1 << 14);
    let copy = |piece: usize, out: &mut Vec<u8>| -> Result<(), Refused> {
        let (start, end) = (piece * step, words.len().min((piece + 1) * step));
        let mut scratch = (Vec::new(), Vec::new());
        for at in start..end {
            if let Some(&ahead) = words.get(at + AHEAD) {
                prefetch(bytes, index.position(ahead));
            }
            let record = index.record(format, bytes, words[at]);
            if unique && at > 0 && is_repeated(index, format, bytes, (words[at - 1], words[at]), &mut scratch) {
                continue;
            }
            if out.capacity() - out.len() <= record.len() {
                heap::reserve(out, record.len() + 1)?;
            }
            out.extend_from_slice(record);
        }
        Ok(())
    };
    in_order(words.len().div_ceil(step), threads, PIECE + mean, &copy, put)
}

/// Keeps only the first word of those whose records have equal keys. All are in order.
pub(crate) fn keep_first<F: Format>(index: &Index, format: &F, bytes: &[u8], words: &mut crate::RewiredVec<u128>) {
    let mut scratch = (Vec::new(), Vec::new());
    let mut kept = 0;
    for at in 0..words.len() {
        let word = words[at];
        if kept == 0 || !is_repeated(index, format, bytes, (words[kept - 1], word), &mut scratch) {
            words[kept] = word;
            kept += 1;
        }
    }
    words.truncate(kept);
}

fn is_repeated<F: Format>(
    index: &Index,
    format: &F,
    bytes: &[u8],
    (before, word): (u128, u128),
    scratch: &mut (Vec<u8>, Vec<u8>),
) -> bool {
    // The prefix of a word may be that of any part of its key, but equal keys have equal ones.
    index.prefix_of(before) == index.prefix_of(word)
        && compare_keys(format, (index.record(format, bytes, before), index.record(format, bytes, word)), scratch)
            .is_eq()
}

/// Makes `pieces` pieces of bytes in buffers of `size` bytes, several at once, and hands them to `put` one after the other,
/// until it breaks.
pub(crate) fn in_order(
    pieces: usize,
    threads: usize,
    size: usize,
    make: &(dyn Fn(usize, &mut Vec<u8>) -> Result<(), Refused> + Sync),
    put: impl FnMut(&[u8]) -> ControlFlow<()> + Send,
) -> Result<(), Refused> {
    let turn = Turn { state: Mutex::new(State { next: 0, put, refused: None }), changed: Condvar::new() };
    let (taken, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        let _panic = StopOnPanic { over: &over, changed: &turn.changed };
        let mut buffer = Vec::new();
        let made = heap::reserve(&mut buffer, size);
        loop {
            let piece = taken.fetch_add(1, Relaxed);
            if piece >= pieces || over.load(Relaxed) {
                break;
            }
            buffer.clear();
            let made = made.and_then(|()| make(piece, &mut buffer));
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
                Err(refused) => {
                    state.refused = Some(refused);
                    over.store(true, Relaxed);
                }
            }
            turn.changed.notify_all();
        }
    };
    // Another thread calls `put` only while it holds the lock.
    let helpers = threads.min(pieces).saturating_sub(1);
    with_helpers(Some(c"eagre-gather"), helpers, &work, work);
    let State { refused, .. } = turn.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    refused.map_or(Ok(()), Err)
}

struct Turn<P> {
    state: Mutex<State<P>>,
    changed: Condvar,
}

struct State<P> {
    /// The piece whose turn it is.
    next: usize,
    put: P,
    refused: Option<Refused>,
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
