//! Counting sort, for keys of one or two bytes and for those that lie close together: each possible key has a counter, and
//! no key is moved.
//!
//! One pass counts how often each key occurs, another writes each key as often as it was seen. Several threads count a
//! stripe each, and write a stripe each.

use std::sync::Mutex;

use super::kernels::scratch::{Counters, several};
use super::kernels::{Level, Word};
use super::progress::{Monitor, WHOLE};
use super::{SortError, compare, range, team};

/// Four sets of counters: to increment the counter that was incremented just before takes several cycles.
const SETS: usize = 4;
/// Up to so many counters have further sets: all are in the second-level cache.
const IN_SETS: usize = 1 << 12;
/// Up to so many words need no memory from the heap.
const FEW: usize = 1 << 16;
// The stack has room for the counters of one byte only.
const _: () = assert!(FEW <= 1 << u16::BITS);
/// How many keys are counted between two reports of progress.
const PIECE: usize = 1 << 20;

/// The most keys that lie close together: their counters are in the second-level cache.
const CLOSE: usize = 1 << 15;
/// Each of them occurs so often in the mean. Others are sorted in the same time.
const OFTEN: usize = 4;
/// Fewer words are sorted in less time than it takes to find out.
const MANY: usize = 1 << 12;
/// So many words tell whether it is worth reading them all.
const LOOK: usize = 64;
/// How many words are read between two decisions whether to go on.
const STEP: usize = 1 << 11;
/// So many words are written at once, and what is too much is overwritten.
const RUN: usize = 16;

/// The keys that get a counter.
#[derive(Clone, Copy)]
pub(super) struct Window<W> {
    low: u64,
    keys: usize,
    from_key: fn(u64) -> W,
}

impl<W: Word> Window<W> {
    /// All keys, if there are so few.
    pub(super) fn of_all() -> Option<Window<W>> {
        let from_key = W::FROM_KEY.filter(|_| W::KEY_BITS <= u16::BITS)?;
        Some(Window { low: 0, keys: 1 << W::KEY_BITS, from_key })
    }

    /// The keys of these words, if they lie close together.
    pub(super) fn of(level: Level, words: &[W]) -> Option<Window<W>> {
        let (from_key, n) = (W::FROM_KEY?, words.len());
        let most = (n / OFTEN).min(CLOSE) as u64;
        if n < MANY {
            return None;
        }
        let (mut low, mut high) = (u64::MAX, 0);
        for i in 0..LOOK {
            let key = words[i * (n - 1) / (LOOK - 1)].key() as u64;
            (low, high) = (low.min(key), high.max(key));
            if high - low >= most {
                return None;
            }
        }
        for step in words.chunks(STEP) {
            let (least, largest) = level.run(
                #[inline(always)]
                || extremes(step),
            );
            (low, high) = (low.min(least), high.max(largest));
            if high - low >= most {
                return None;
            }
        }
        Some(Window { low, keys: (high - low) as usize + 1, from_key })
    }

    /// How many sets of counters there are.
    fn sets(&self) -> usize {
        if self.keys <= IN_SETS { SETS } else { 1 }
    }

    /// How many counters there are in all sets.
    fn counters(&self) -> usize {
        self.sets() * self.keys
    }

    /// Whether a thread may have its counters.
    pub(super) fn fits(&self, slack: usize) -> bool {
        self.counters() * size_of::<usize>() <= slack
    }

    /// Adds words to the sets of counters.
    fn count(&self, words: &[W], counters: &mut [usize]) {
        let place = |word: W| (word.key() as u64).wrapping_sub(self.low) as usize;
        if self.sets() == 1 {
            return words.iter().for_each(|&word| counters[place(word)] += 1);
        }
        let (groups, rest) = words.as_chunks::<SETS>();
        for group in groups {
            for (i, &word) in group.iter().enumerate() {
                counters[i * self.keys + place(word)] += 1;
            }
        }
        for &word in rest {
            counters[place(word)] += 1;
        }
    }
}

/// The least and the largest key.
#[inline(always)]
fn extremes<W: Word>(words: &[W]) -> (u64, u64) {
    if W::KEY_BITS <= u32::BITS {
        let keys = words.iter().map(|word| word.digit(0));
        let (low, high) = keys.fold((u32::MAX, 0), |(low, high), key| (low.min(key), high.max(key)));
        return (low.into(), high.into());
    }
    let keys = words.iter().map(|word| word.key() as u64);
    keys.fold((u64::MAX, 0), |(low, high), key| (low.min(key), high.max(key)))
}

/// Sorts up to [`FEW`] words without memory from the heap. Returns false, with the words unchanged, if there are more.
#[inline(never)]
pub(super) fn few<W: Word>(level: Level, words: &mut [W], window: Window<W>) -> bool {
    if words.len() > FEW {
        return false;
    }
    // Adding up the counters takes longer than sorting fewer words than there are counters.
    if words.len() <= window.keys {
        words.sort_unstable_by_key(|word| word.key() as u16);
    } else if !range::in_order(level, words, 1) {
        let mut counters = [0; SETS << 8];
        window.count(words, &mut counters);
        let ends = Ends::new(&mut counters, window);
        ends.write(level, words, 0);
    }
    true
}

/// Sorts any number of words with up to so many threads and `slack` bytes of memory. Without memory for the counters of
/// one thread it sorts by comparing.
pub(super) fn sort<W: Word>(
    level: Level,
    words: &mut [W],
    window: Window<W>,
    threads: usize,
    slack: usize,
    monitor: &Monitor<'_>,
) -> Result<(), SortError> {
    let (len, bytes) = (window.counters(), window.counters() * size_of::<usize>());
    // Each thread's counters are cleared, and added to the others': there should be more words than counters.
    let worth = (words.len() / len).min(size_of_val(words) / range::THREAD_BYTES).max(1);
    let threads = threads.min(worth).min(slack / bytes);
    if threads == 0 {
        compare::sort(words, monitor.reporter(WHOLE));
        return monitor.check();
    }
    let share = words.len().div_ceil(threads).max(1);
    let counters = several(threads, || Counters::new(len)).ok_or(SortError::Memory { bytes: threads * bytes })?;
    let total = Mutex::new(None::<Counters>);
    team::run(words.chunks(share).zip(counters).map(|(words, mut counters)| {
        let total = &total;
        move || {
            for piece in words.chunks(PIECE) {
                window.count(piece, &mut counters);
                if !monitor.reporter(WHOLE / 2).report(piece.len()) {
                    return;
                }
            }
            let mut total = total.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            match &mut *total {
                Some(total) => total.iter_mut().zip(counters.iter()).for_each(|(total, count)| *total += count),
                None => *total = Some(counters),
            }
        }
    }));
    monitor.check()?;
    let total = total.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    let Some(mut total) = total else { return Ok(()) };
    let ends = Ends::new(&mut total, window);
    let stripes = words.chunks_mut(share).enumerate();
    team::run(stripes.map(|(i, stripe)| move || ends.write(level, stripe, i * share)));
    // From here on nothing is left to stop.
    let _ = monitor.reporter(WHOLE / 2).report(words.len());
    Ok(())
}

/// For each key, the end of its run in the sorted words.
#[derive(Clone, Copy)]
struct Ends<'a, W> {
    ends: &'a [usize],
    window: Window<W>,
}

impl<'a, W: Word> Ends<'a, W> {
    /// Adds up the sets of counters.
    fn new(counters: &'a mut [usize], window: Window<W>) -> Ends<'a, W> {
        let (ends, others) = counters.split_at_mut(window.keys);
        for set in others.chunks_exact(window.keys).take(window.sets() - 1) {
            ends.iter_mut().zip(set).for_each(|(counter, other)| *counter += *other);
        }
        let mut end = 0;
        for counter in ends.iter_mut() {
            end += *counter;
            *counter = end;
        }
        Ends { ends, window }
    }

    /// Writes the part of the sorted words that begins at `start`.
    fn write(self, level: Level, words: &mut [W], start: usize) {
        level.run(
            #[inline(always)]
            || {
                let (mut at, n) = (0, words.len());
                let first = self.ends.partition_point(|&end| end <= start);
                for (key, &end) in self.ends.iter().enumerate().skip(first) {
                    let (word, end) = ((self.window.from_key)(self.window.low + key as u64), (end - start).min(n));
                    while at < end {
                        match words[at..].first_chunk_mut::<RUN>() {
                            Some(run) => *run = [word; RUN],
                            None => words[at..end].fill(word),
                        }
                        at += RUN;
                    }
                    at = end;
                    if at == n {
                        return;
                    }
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sorter;
    use super::*;

    /// Keys in windows of any place and width, in few and many words: the same as the standard library.
    #[test]
    #[cfg_attr(miri, ignore = "many thousand words")]
    fn keys_close_together_are_sorted() {
        fn check<W: Word + Ord + super::super::Key + std::fmt::Debug>(make: impl Fn(u64) -> W) {
            let mut random = fastrand::Rng::with_seed(3);
            for n in [MANY - 1, MANY, 20_000, 150_001] {
                for width in [2, 3, 60, 1000, IN_SETS as u64, 5000, CLOSE as u64, CLOSE as u64 + 1] {
                    // Of many words, those in one place: each takes a while.
                    for low in [77, 0, 1 << 31, u64::MAX - width + 1].into_iter().take(if n > 20_000 { 1 } else { 4 }) {
                        let mut words: Vec<W> = (0..n).map(|_| make(low + random.u64(..width))).collect();
                        // One that no sample sees.
                        if width == 60 {
                            words[n / 2 + 5] = make(low ^ 1 << 30);
                        }
                        let mut expected = words.clone();
                        expected.sort_unstable();
                        for (threads, slack) in [(1, 64 << 20), (2, 64 << 20), (1, 1000)] {
                            let mut got = words.clone();
                            Sorter::new().threads(threads).slack(slack).sort(&mut got).unwrap();
                            assert!(got == expected, "{n}, {width} from {low}, {threads} threads, {slack} bytes");
                        }
                    }
                }
            }
        }
        check(|key| key);
        check(|key| key as i64);
        check(|key| key as u32);
        check(|key| key as i32);
        check(|key| key as usize);
    }

    /// They are found where each occurs often, wherever they lie.
    #[test]
    #[cfg_attr(miri, ignore = "many thousand words")]
    fn windows_are_found() {
        let keys = |width: u64, n: u64| {
            let words: Vec<i64> = (0..n).map(|i| (i % width) as i64 - 30).collect();
            Window::of(Level::best(), &words).map(|window| window.keys)
        };
        assert_eq!(keys(100, 5000), Some(100));
        assert_eq!(keys(5000, 20_000), Some(5000));
        assert_eq!(keys(5001, 20_000), None);
        assert_eq!(keys(CLOSE as u64, 1 << 20), Some(CLOSE));
        assert_eq!(keys(CLOSE as u64 + 1, 1 << 20), None);
    }
}
