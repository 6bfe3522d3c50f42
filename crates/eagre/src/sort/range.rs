//! The plan: which kernel for which range.
//!
//! ```text
//! larger than the cache   split by all threads together into up to 512 buckets, then each of them
//! fits the cache          sorted by a thread of its own: see [`Worker`]
//! ```
//!
//! Before a range is split it is looked at ([`plan`]), and it goes on with what is known of its keys then. Each step
//! narrows that: no input needs more steps than a key has bits, and a few that were guesses.
//!
//! With several threads, large ranges are split by all of them together. The buckets that come of it are shared out,
//! the largest first. Where a word ends does not depend on who put it there.

use std::sync::Mutex;

use super::bounds::Bounds;
use super::kernels::blocks::{Blocks, FAN, Shape};
use super::kernels::classifier::{Classifier, Radix};
use super::kernels::dominant;
use super::kernels::lookup::LookupTable;
use super::kernels::presorted::{Order, order, reverse};
use super::kernels::scratch::{as_room, several};
use super::kernels::tally::Tally;
use super::kernels::tree::Tree;
use super::kernels::{Level, Word};
use super::progress::{Monitor, Reporter, WHOLE};
use super::strategy::{Limits, Strategy, choose};
use super::team;
use super::worker::{self, BUCKET, LEAST, Range, Room, Worker, ways};

/// A thread costs some ten microseconds: it is worth it for so many bytes.
pub(super) const THREAD_BYTES: usize = 1 << 20;
/// A thread that only reads is worth it for so many.
const READER_BYTES: usize = 4 << 20;
/// The fewest and the most ways to split by splitters; there is room for a few more, which keys that fill a bucket take.
const FEW_SPLITTERS: usize = 64;
const SPLITTERS: usize = 504;
/// How often one range, and a part of it, and so on, may be treated as a sample says.
pub(super) const GUESSES: u32 = 8;

/// The memory that sorting takes besides the words.
pub(super) struct Sorting<W> {
    level: Level,
    workers: Vec<Worker<W>>,
    blocks: Option<Blocks<W>>,
}

/// Why there is no [`Sorting`].
pub(super) enum Lack {
    /// It would take more than the slack.
    Slack,
    /// The system refused so many bytes.
    Memory(usize),
}

impl<W: Word> Sorting<W> {
    /// What it takes to sort `len` words with up to so many threads, in no more than `slack` bytes.
    pub(super) fn new(level: Level, len: usize, threads: usize, slack: usize) -> Result<Sorting<W>, Lack> {
        let threads = threads.min(len * size_of::<W>() / THREAD_BYTES).max(1);
        let most = worker::most::<W>();
        // One thread sorts by itself what it can; several always split first.
        let shape = (threads > 1 || len > most).then(|| Shape::in_memory::<W>());
        let blocks = shape.map_or(0, |shape| Blocks::<W>::bytes(shape, len, threads));
        let mut room = Room::new::<W>(level, len.min(most), len);
        let take = |room: Room| blocks.saturating_add(threads.saturating_mul(room.least::<W>()));
        if take(room) > slack {
            room = room.with_small_base_cases::<W>();
        }
        let rest = slack.checked_sub(take(room)).ok_or(Lack::Slack)?;
        room = room.with_more::<W>(rest / threads);
        let made = || {
            Some(Sorting {
                level,
                workers: several(threads, || Worker::new(room))?,
                blocks: match shape {
                    Some(shape) => Some(Blocks::new(shape, len, threads)?),
                    None => None,
                },
            })
        };
        made().ok_or(Lack::Memory(blocks + threads * room.bytes::<W>()))
    }

    /// Sorts as many words as this was made for, or stops in between.
    pub(super) fn sort(&mut self, words: &mut [W], monitor: &Monitor<'_>) {
        let level = self.level;
        // The first split is half of the work, most often; it has two passes.
        let (splits, rest) = if self.blocks.is_some() { (WHOLE / 4, WHOLE / 2) } else { (0, WHOLE) };
        let mut job =
            Job { monitor, splits: monitor.reporter(splits), rest: monitor.reporter(rest), ready: Vec::new() };
        let range = Range { words, known: Bounds::of_bits(W::KEY_BITS), guesses: GUESSES };
        self.divide(range, true, &mut job);
        let Job { rest, mut ready, .. } = job;
        ready.sort_unstable_by_key(|range| range.words.len());
        let ready = Mutex::new(ready);
        let take = || ready.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop();
        team::run(self.workers.iter_mut().map(|worker| {
            || {
                while let Some(range) = take() {
                    worker.sort_unless_stopped(level, range, monitor, rest);
                }
            }
        }));
    }

    /// Splits a range until a worker takes each bucket. Buckets are sorted then, or wait for a thread to do it.
    fn divide<'a>(&mut self, range: Range<'a, W>, whole: bool, job: &mut Job<'a, '_, W>) {
        let (level, threads, n) = (self.level, self.workers.len(), range.words.len());
        if n <= 1 || range.known.low == range.known.high {
            return job.is_sorted(n);
        }
        if !job.monitor.goes_on() {
            return;
        }
        let together = whole && threads > 1;
        if self.blocks.is_none() || self.workers[0].takes(level, n) && !together {
            // There may be no memory for a list.
            if threads == 1 || job.ready.try_reserve(1).is_err() {
                return self.workers[0].sort_unless_stopped(level, range, job.monitor, job.rest);
            }
            return job.ready.push(range);
        }
        if let Some((range, radix)) = self.divide_unless_even(range, whole, job) {
            self.split_by_digits(range, &radix, whole, job);
        }
    }

    /// Divides a range whose digits are uneven, and what comes of it. Else returns it with the digit to split it by:
    /// there may be many such splits within each other, and a plan takes some room on the stack.
    #[inline(never)]
    fn divide_unless_even<'a>(
        &mut self,
        range: Range<'a, W>,
        whole: bool,
        job: &mut Job<'a, '_, W>,
    ) -> Option<(Range<'a, W>, Radix)> {
        let (level, threads, n) = (self.level, self.workers.len(), range.words.len());
        // Several buckets for each thread, so that none has nothing to do in the end.
        let least = if threads > 1 { (8 * threads).next_power_of_two().ilog2().max(5) } else { LEAST };
        let base_case = self.workers[0].base_case(level);
        // Buckets are base cases if they can be: of equal size by digits, and of any size between splitters.
        let piece = |largest: usize, mean: usize| if n.div_ceil(FAN) <= largest { mean } else { BUCKET };
        let bits = ways(n, piece(base_case / 4 * 3, base_case / 2)).max(least).min(FAN.ilog2());
        let by_splitters = (n / piece(base_case / 2, base_case / 4)).clamp(FEW_SPLITTERS, SPLITTERS);
        let Range { words, known, mut guesses } = range;
        let room = self.workers[0].most_outliers();
        let mut limits = Limits { bits, ways: by_splitters, most_ways: FAN, room, threads, guesses };
        let mut next = choose(level, words, known, limits);
        if let Strategy::Dominant(word) | Strategy::Count(word) = next {
            let sorted = match next {
                Strategy::Dominant(_) => self.sort_dominant(words, word, known),
                _ => self.tally(words, word, known),
            };
            if sorted {
                job.is_sorted(n);
                return None;
            }
            guesses = guesses.saturating_sub(1);
            limits = Limits { room: 0, guesses, ..limits };
            next = choose(level, words, known, limits);
        }
        match next {
            Strategy::Sorted | Strategy::Dominant(_) | Strategy::Count(_) => job.is_sorted(n),
            Strategy::Reverse => {
                reverse(words, threads);
                job.is_sorted(n);
            }
            Strategy::Radix(radix) => return Some((Range { words, known, guesses }, radix)),
            Strategy::Tree { tree, .. } => {
                self.split_by_splitters(Range { words, known, guesses: guesses - 1 }, tree, whole, job)
            }
        }
        None
    }

    /// Splits a range by digits, and goes on with the buckets.
    #[inline(never)]
    fn split_by_digits<'a>(&mut self, range: Range<'a, W>, radix: &Radix, whole: bool, job: &mut Job<'a, '_, W>) {
        let blocks = self.blocks.as_mut().expect("what is not split is a worker's");
        let mut starts = [0; FAN + 1];
        if blocks.split(self.level, range.words, radix, &mut starts, job.reporter(whole)) {
            self.go_on(range, &starts, radix, job);
        }
    }

    /// The same by splitters, looked up if possible.
    #[inline(never)]
    fn split_by_splitters<'a>(&mut self, range: Range<'a, W>, mut tree: Tree, whole: bool, job: &mut Job<'a, '_, W>) {
        let (level, progress, words) = (self.level, job.reporter(whole), &mut *range.words);
        let blocks = self.blocks.as_mut().expect("what is not split is a worker's");
        let mut starts = [0; FAN + 1];
        let split = match LookupTable::new(&mut tree, words.len(), as_room(&mut self.workers[0].room)) {
            Some(lookup) => blocks.split(level, words, &lookup, &mut starts, progress),
            None => blocks.split(level, words, &tree, &mut starts, progress),
        };
        if split {
            self.go_on(range, &starts, &tree, job);
        }
    }

    /// Goes on with the buckets of a range that has been split.
    fn go_on<'a, C: Classifier<W>>(
        &mut self,
        range: Range<'a, W>,
        starts: &[usize; FAN + 1],
        classifier: &C,
        job: &mut Job<'a, '_, W>,
    ) {
        let Range { words: mut rest, guesses, .. } = range;
        for (rank, bucket) in starts[..=classifier.fan()].windows(2).enumerate() {
            let (words, later) = rest.split_at_mut(bucket[1] - bucket[0]);
            rest = later;
            if !words.is_empty() {
                self.divide(Range { words, known: classifier.bounds(rank), guesses }, false, job);
            }
        }
    }

    /// Sorts words that are nearly all the same. False, with the words in another order, if too many are not, or there is
    /// no memory for a list.
    #[inline(never)]
    fn sort_dominant(&mut self, words: &mut [W], word: W, known: Bounds) -> bool {
        let (level, threads) = (self.level, self.workers.len());
        let share = words.len().div_ceil(threads);
        let room = self.workers[0].most_outliers() / threads;
        let Some(mut outliers) = several(words.len().div_ceil(share), || Some(None)) else { return false };
        let stripes = words.chunks_mut(share).zip(&mut self.workers).zip(&mut outliers);
        team::run(stripes.map(|((words, worker), outliers)| {
            let room = &mut as_room(&mut worker.room)[..room];
            move || {
                let room = room;
                *outliers = dominant::extract(level, words, word, room);
            }
        }));
        if outliers.iter().any(Option::is_none) {
            words
                .chunks_mut(share)
                .zip(outliers)
                .for_each(|(words, outliers)| dominant::restore(words, outliers.unwrap_or(&[])));
            return false;
        }
        let mut front = 0;
        for outliers in outliers.into_iter().flatten() {
            dominant::restore(&mut words[front..], outliers);
            front += outliers.len();
        }
        self.workers[0].sort(level, Range { words: &mut words[..front], known, guesses: 0 });
        dominant::merge(words, word, front);
        true
    }

    /// Sorts by counting. False, with the words unchanged, if too many are rare, or there is no memory for a list.
    #[inline(never)]
    fn tally(&mut self, words: &mut [W], dominant: W, known: Bounds) -> bool {
        let (level, threads, n) = (self.level, self.workers.len(), words.len());
        let sum = Mutex::new(Tally::new(dominant));
        let (total, room) = (&sum, self.workers[0].most_outliers() / threads);
        let share = n.div_ceil(threads);
        let Some(mut outliers) = several(n.div_ceil(share), || Some(None)) else { return false };
        let stripes = words.chunks(share).zip(&mut self.workers).zip(&mut outliers);
        team::run(stripes.map(|((words, worker), outliers)| {
            let room = &mut as_room(&mut worker.room)[..room];
            move || {
                let room = room;
                *outliers = Tally::count(total, level, words, dominant, room);
            }
        }));
        if outliers.iter().any(Option::is_none) {
            return false;
        }
        let mut count = 0;
        for outliers in outliers.into_iter().flatten() {
            words[count..count + outliers.len()].copy_from_slice(outliers);
            count += outliers.len();
        }
        self.workers[0].sort(level, Range { words: &mut words[..count], known, guesses: 0 });
        sum.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).write(level, words, count, threads);
        true
    }
}

/// One sort.
struct Job<'a, 'm, W> {
    monitor: &'m Monitor<'m>,
    /// Counts the first split.
    splits: Reporter<'m>,
    /// Counts what is done after it.
    rest: Reporter<'m>,
    /// Buckets for the next thread that has nothing to do.
    ready: Vec<Range<'a, W>>,
}

impl<'m, W> Job<'_, 'm, W> {
    /// Counts a split: the first, or a later one.
    fn reporter(&self, first: bool) -> Reporter<'m> {
        if first { self.splits } else { self.monitor.reporter(0) }
    }

    /// Counts words that need no more work.
    fn is_sorted(&self, n: usize) {
        let _ = self.rest.report(n);
    }
}

/// Sorts words that are in order already, or backwards, with up to so many threads. False, with the words unchanged, if
/// they are not.
pub(super) fn in_order<W: Word>(level: Level, words: &mut [W], threads: usize) -> bool {
    let threads = threads.min(size_of_val(words) / READER_BYTES).max(1);
    match order(level, words, threads) {
        Order::Ascending => {}
        Order::Descending => reverse(words, threads),
        Order::Neither => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::Sorter;
    use super::{Level, Sorting, worker};

    /// What a large table for base cases would be too much for is sorted in a smaller one.
    #[test]
    fn little_memory_is_enough() {
        for (len, threads, slack) in [(20_000, 1, 300_000), (100_000, 1, 310_000), (300_000, 2, 3 << 20)] {
            for level in [Level::Portable, Level::best()] {
                assert!(Sorting::<u64>::new(level, len, threads, slack).is_ok(), "{len} words, {level:?}");
            }
        }
    }

    /// As many words to sort outliers as a worker takes, and more.
    #[test]
    #[cfg_attr(miri, ignore = "millions of words")]
    fn what_is_set_aside_is_sorted() {
        let most = worker::most::<u64>();
        for (outliers, dominant) in [(most, 1), (most + 1, 1), (most + 1, 2)] {
            // The larger ones are few of many, and come first, backwards but for one.
            let key = |i: usize| if i < outliers { u64::MAX - i as u64 } else { (i % dominant) as u64 };
            let mut keys: Vec<u64> = (0..17 * most).map(key).collect();
            let (half, n) = (keys.len() / 2, keys.len());
            keys.swap(0, half);
            let zeros = keys.iter().filter(|&&key| key == 0).count();
            Sorter::new().threads(1).sort(&mut keys).unwrap();
            let expected =
                |i: usize| if i < n - outliers { u64::from(i >= zeros) } else { u64::MAX - (n - 1 - i) as u64 };
            assert!(keys.iter().enumerate().all(|(i, &key)| key == expected(i)), "{outliers} of {dominant}");
        }
    }
}
