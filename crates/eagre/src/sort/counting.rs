//! Counting sort, for keys of one or two bytes: each possible key has a counter, and no key is moved.
//!
//! One pass counts how often each key occurs, another writes each key as often as it was seen. Several threads count a
//! stripe each, and write a stripe each.

use std::sync::Mutex;

use eagre_mem::heap;

use super::kernels::{Level, Word};
use super::progress::{Monitor, WHOLE};
use super::{SortError, compare, range, team};

/// Counters of 8 bits are in the first-level cache. Four sets of them: to increment the counter that was incremented
/// just before takes several cycles.
const SETS: usize = 4;
/// Up to so many words need no memory from the heap.
const FEW: usize = 1 << 16;
// The stack has room for the counters of one byte only.
const _: () = assert!(FEW <= keys::<u16>());
/// How many keys are counted between two reports of progress.
const PIECE: usize = 1 << 20;

/// How many sets of counters there are.
const fn sets<W: Word>() -> usize {
    if W::KEY_BITS <= 8 { SETS } else { 1 }
}

/// How many different keys there are.
const fn keys<W: Word>() -> usize {
    1 << W::KEY_BITS
}

/// Sorts up to [`FEW`] words without memory from the heap. Returns false, with the words unchanged, if there are more.
#[inline(never)]
pub(super) fn few<W: Word>(level: Level, words: &mut [W], from_key: fn(usize) -> W) -> bool {
    if words.len() > FEW {
        return false;
    }
    // Adding up the counters takes longer than sorting fewer words than there are counters.
    if words.len() <= keys::<W>() {
        words.sort_unstable_by_key(|word| word.key() as u16);
    } else if !range::in_order(level, words, 1) {
        let mut counters = [0; SETS << 8];
        count(words, &mut counters);
        let ends = Ends::new::<W>(&mut counters);
        ends.write(words, 0, from_key);
    }
    true
}

/// Sorts any number of words with up to so many threads and `slack` bytes of memory. Without memory for the counters of
/// one thread it sorts by comparing.
pub(super) fn sort<W: Word>(
    words: &mut [W],
    from_key: fn(usize) -> W,
    threads: usize,
    slack: usize,
    monitor: &Monitor<'_>,
) -> Result<(), SortError> {
    let len = sets::<W>() * keys::<W>();
    // Each thread's counters are cleared, and added to the others': there should be more words than counters.
    let worth = (words.len() / len).min(size_of_val(words) / range::THREAD_BYTES).max(1);
    let threads = threads.min(worth).min(slack / (len * size_of::<usize>()));
    if threads == 0 {
        compare::sort(words, monitor.reporter(WHOLE));
        return monitor.check();
    }
    let share = words.len().div_ceil(threads).max(1);
    let counters = heap::several(threads, || {
        let mut counters = heap::list(len)?;
        counters.resize(len, 0usize);
        Ok::<_, heap::Refused>(counters)
    })?;
    let total = Mutex::new(None::<Vec<usize>>);
    team::run(words.chunks(share).zip(counters).map(|(words, mut counters)| {
        let total = &total;
        move || {
            for piece in words.chunks(PIECE) {
                count(piece, &mut counters);
                if !monitor.reporter(WHOLE / 2).report(piece.len()) {
                    return;
                }
            }
            let mut total = total.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            match &mut *total {
                Some(total) => total.iter_mut().zip(counters).for_each(|(total, count)| *total += count),
                None => *total = Some(counters),
            }
        }
    }));
    monitor.check()?;
    let total = total.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    let Some(mut total) = total else { return Ok(()) };
    let ends = Ends::new::<W>(&mut total);
    let stripes = words.chunks_mut(share).enumerate();
    team::run(stripes.map(|(i, stripe)| move || ends.write(stripe, i * share, from_key)));
    // From here on nothing is left to stop.
    let _ = monitor.reporter(WHOLE / 2).report(words.len());
    Ok(())
}

/// Adds words to the sets of counters.
fn count<W: Word>(words: &[W], counters: &mut [usize]) {
    let (groups, rest) = words.as_chunks::<SETS>();
    for group in groups {
        for (i, word) in group.iter().enumerate() {
            counters[i % sets::<W>() * keys::<W>() + word.key() as usize] += 1;
        }
    }
    for word in rest {
        counters[word.key() as usize] += 1;
    }
}

/// For each key, the end of its run in the sorted words.
#[derive(Clone, Copy)]
struct Ends<'a>(&'a [usize]);

impl<'a> Ends<'a> {
    /// Adds up the sets of counters.
    fn new<W: Word>(counters: &'a mut [usize]) -> Ends<'a> {
        let (first, others) = counters.split_at_mut(keys::<W>());
        let mut end = 0;
        for (key, counter) in first.iter_mut().enumerate() {
            end += *counter + others.iter().skip(key).step_by(keys::<W>()).sum::<usize>();
            *counter = end;
        }
        Ends(first)
    }

    /// Writes the part of the sorted words that begins at `start`.
    fn write<W: Word>(self, mut words: &mut [W], mut start: usize, from_key: fn(usize) -> W) {
        let first = self.0.partition_point(|&end| end <= start);
        for (key, &end) in self.0.iter().enumerate().skip(first) {
            let (run, rest) = words.split_at_mut((end - start).min(words.len()));
            run.fill(from_key(key));
            start += run.len();
            words = rest;
            if words.is_empty() {
                return;
            }
        }
    }
}
