//! The recursion for ranges that are larger than the cache.
//!
//! ```text
//! larger than the cache   all threads split it together into up to 512 buckets, then each bucket
//! fits the cache          one thread sorts it: see [`Worker`]
//! ```
//!
//! Each range gets its own [strategy](choose). The bounds of its keys are known, and each step narrows them. So the
//! recursion is at most as deep as a key has bits, plus a few steps that were guesses.
//!
//! When all large ranges are split, the threads take the buckets one by one, the largest first. The result does not
//! depend on the number of threads.

use std::sync::Mutex;

use super::base_case::most_compared;
use super::bounds::Bounds;
use super::kernels::blocks::{Blocks, FAN, Shape};
use super::kernels::classifier::{Classifier, Radix};
use super::kernels::dominant;
use super::kernels::lookup::LookupTable;
use super::kernels::presorted::{Order, order, reverse, reverse_groups};
use super::kernels::scratch::{as_room, several};
use super::kernels::tally::Tally;
use super::kernels::tree::Tree;
use super::kernels::{Level, Word};
use super::progress::{Monitor, Reporter, WHOLE};
use super::strategy::{Limits, Strategy, choose};
use super::worker::{self, BUCKET, LEAST, Range, Room, Worker, ways};
use super::{parts, team};

/// The fewest bytes for each thread: to start one takes some ten microseconds.
pub(super) const THREAD_BYTES: usize = 1 << 20;
/// The fewest bytes for each thread that only reads.
const READER_BYTES: usize = 4 << 20;
/// The fewest and the most ways to split by splitters. The tree has room for a few more, for keys that get a bucket of
/// their own.
const FEW_SPLITTERS: usize = 64;
const SPLITTERS: usize = 504;
/// How often a range and its parts may be split or counted as a sample suggests. See [`Limits::guesses`].
pub(super) const GUESSES: u32 = 8;

/// The memory that sorting takes beside the words.
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
    /// Allocates what it takes to sort `len` words with up to `threads` threads, at most `slack` bytes.
    pub(super) fn new(level: Level, len: usize, threads: usize, slack: usize) -> Result<Sorting<W>, Lack> {
        let most = worker::most::<W>();
        // One worker sorts alone what it can, or several a part each. Otherwise they split first.
        let in_parts = len <= most && !W::STABLE;
        let least = if in_parts { parts::PART_BYTES } else { THREAD_BYTES };
        let threads = threads.min(len * size_of::<W>() / least).max(1);
        let shape = (len > most || threads > 1 && !in_parts).then(|| Shape::in_memory::<W>());
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

    /// Sorts at most as many words as this was made for, or ends early if the hook says so.
    pub(super) fn sort(&mut self, words: &mut [W], monitor: &Monitor<'_>) {
        let level = self.level;
        let range = Range { words, known: Bounds::of_bits(W::KEY_BITS), guesses: GUESSES };
        if self.blocks.is_none() {
            return parts::sort(level, range, &mut self.workers, monitor, monitor.reporter(WHOLE));
        }
        // The first split is usually half of the work. It has two passes.
        let (splits, rest) = (monitor.reporter(WHOLE / 4), monitor.reporter(WHOLE / 2));
        let mut job = Job { monitor, splits, rest, ready: Vec::new() };
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

    /// Splits a range until each bucket is small enough for a worker. One thread sorts the buckets at once; several
    /// take them from a list later.
    fn divide<'a>(&mut self, range: Range<'a, W>, whole: bool, job: &mut Job<'a, '_, W>) {
        let (level, threads, n) = (self.level, self.workers.len(), range.words.len());
        if n <= 1 || range.known.low == range.known.high {
            return job.is_sorted(n);
        }
        if !job.monitor.goes_on() {
            return;
        }
        let together = whole && threads > 1;
        if self.workers[0].takes(level, n) && !together {
            // Without memory for the list, this thread sorts the bucket.
            if threads == 1 || job.ready.try_reserve(1).is_err() {
                return self.workers[0].sort_unless_stopped(level, range, job.monitor, job.rest);
            }
            return job.ready.push(range);
        }
        if let Some((range, radix)) = self.divide_unless_even(range, whole, job) {
            self.split_by_digits(range, &radix, whole, job);
        }
    }

    /// Sorts a range that does not get a radix step. Otherwise returns the range with its digit, for the caller to
    /// split it: a strategy takes much of the stack, and radix steps may be nested deeply.
    #[inline(never)]
    fn divide_unless_even<'a>(
        &mut self,
        range: Range<'a, W>,
        whole: bool,
        job: &mut Job<'a, '_, W>,
    ) -> Option<(Range<'a, W>, Radix)> {
        let (level, threads, n) = (self.level, self.workers.len(), range.words.len());
        // Several buckets for each thread, so that no thread is idle at the end.
        let least = if threads > 1 { (8 * threads).next_power_of_two().ilog2().max(5) } else { LEAST };
        let base_case = self.workers[0].base_case(level);
        // Buckets are base cases if possible. A radix step makes buckets of similar sizes, splitters of any size.
        let piece = |largest: usize, mean: usize| if n.div_ceil(FAN) <= largest { mean } else { BUCKET };
        let bits = ways(n, piece(base_case / 4 * 3, base_case / 2)).max(least).min(FAN.ilog2());
        let by_splitters = (n / piece(base_case / 2, base_case / 4)).clamp(FEW_SPLITTERS, SPLITTERS);
        let Range { words, known, mut guesses } = range;
        let room = self.workers[0].most_outliers();
        // Wider keys are fewer in the cache, and take more passes through memory. Comparing reports no progress.
        let compares = threads == 1 && W::KEY_BITS <= u32::BITS && !job.monitor.has_hook();
        let compared = if compares { most_compared::<W>(level) } else { 0 };
        let mut limits = Limits { bits, ways: by_splitters, most_ways: FAN, room, compared, threads, guesses };
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
            Strategy::Compare => {
                W::by_comparison(level, words, &mut self.workers[0].room);
                job.is_sorted(n);
            }
            Strategy::Reverse => {
                reverse(words, threads);
                job.is_sorted(n);
            }
            Strategy::Radix(radix) => return Some((Range { words, known, guesses }, radix)),
            Strategy::Tree(tree) => {
                self.split_by_splitters(Range { words, known, guesses: guesses - 1 }, tree, whole, job)
            }
        }
        None
    }

    /// Splits a range by a radix step, then handles the buckets.
    #[inline(never)]
    fn split_by_digits<'a>(&mut self, range: Range<'a, W>, radix: &Radix, whole: bool, job: &mut Job<'a, '_, W>) {
        let blocks = self.blocks.as_mut().expect("what is not split is a worker's");
        let mut starts = [0; FAN + 1];
        if blocks.split(self.level, range.words, radix, &mut starts, job.reporter(whole)) {
            self.go_on(range, &starts, radix, job);
        }
    }

    /// Splits a range by splitters, with a lookup table if possible, then handles the buckets.
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

    /// Handles the buckets of a range that has been split.
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

    /// Sorts words that nearly all equal the dominant `word`. Returns false, with the words in another order, if there
    /// are too many outliers or no memory for a list.
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

    /// Sorts by counting. Returns false, with the words unchanged, if there are too many outliers or no memory for a
    /// list.
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

/// The state of one sort.
struct Job<'a, 'm, W> {
    monitor: &'m Monitor<'m>,
    /// Reports the first split.
    splits: Reporter<'m>,
    /// Reports what follows it.
    rest: Reporter<'m>,
    /// Buckets for the next idle thread.
    ready: Vec<Range<'a, W>>,
}

impl<'m, W> Job<'_, 'm, W> {
    /// The reporter of a split: the first, or a later one.
    fn reporter(&self, first: bool) -> Reporter<'m> {
        if first { self.splits } else { self.monitor.reporter(0) }
    }

    /// Reports words that need no more work.
    fn is_sorted(&self, n: usize) {
        let _ = self.rest.report(n);
    }
}

/// Sorts words that are in ascending or descending order already, with up to so many threads. Returns false, with the
/// words unchanged, if they are not.
pub(super) fn in_order<W: Word>(level: Level, words: &mut [W], threads: usize) -> bool {
    let threads = threads.min(size_of_val(words) / READER_BYTES).max(1);
    match order(level, words, threads) {
        Order::Ascending => {}
        Order::Descending => reverse(words, threads),
        Order::DescendingGroups => reverse_groups(words, threads),
        Order::Neither => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::Sorter;
    use super::{Level, Sorting, worker};

    /// If there is no memory for a large table for base cases, a smaller one will do.
    #[test]
    fn little_memory_is_enough() {
        for (len, threads, slack) in [(20_000, 1, 300_000), (100_000, 1, 310_000), (300_000, 2, 3 << 20)] {
            for level in [Level::Portable, Level::best()] {
                assert!(Sorting::<u64>::new(level, len, threads, slack).is_ok(), "{len} words, {level:?}");
            }
        }
    }

    /// As many outliers as a worker can sort, and more.
    #[test]
    #[cfg_attr(miri, ignore = "millions of words")]
    fn outliers_are_sorted() {
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
