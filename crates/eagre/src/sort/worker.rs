//! The recursion for ranges that fit the cache: the work of one thread.
//!
//! ```text
//! larger than a base case   gets a strategy, and is usually split in place; then each bucket
//! a base case               sorted in a table beside the words
//! ```

use std::sync::Mutex;

use super::base_case::{base_case_in_place, most_compared};
use super::bounds::Bounds;
use super::kernels::base_case;
use super::kernels::blocks::{self, Blocks, FAN, Shape};
use super::kernels::classifier::{Classifier, Radix};
use super::kernels::dominant;
use super::kernels::lookup::LookupTable;
use super::kernels::scratch::{Scratch, as_room};
use super::kernels::tally::Tally;
use super::kernels::tree::Tree;
use super::kernels::{Level, Word};
use super::progress::{Monitor, Reporter, WHOLE};
use super::strategy::{Limits, Strategy, choose};

/// Up to so many words are sorted as one base case by one thread. Of numbers, its table fits the second-level cache.
pub(super) const ALONE: usize = 1 << 15;
/// The size of base cases when there are many: their table stays in the first-level cache.
const fn together<W>() -> usize {
    if size_of::<W>() <= 4 { 5632 } else { 2816 }
}
/// A larger range of numbers is still a base case, with a table in the second-level cache: another split would take
/// longer.
const fn largest_base_case<W: Word>() -> usize {
    if size_of::<W>() <= 8 && !W::STABLE { 16 * together::<W>() } else { together::<W>() }
}
/// The mean size of base cases to aim at. It is below the largest size, since buckets vary.
const fn base_case_mean<W>() -> usize {
    together::<W>() / 2
}
/// The fewest bits of a radix step. Fewer are not worth a pass, and the recursion could exhaust the stack.
pub(super) const LEAST: u32 = 4;
/// The most bytes that a thread sorts alone, and without a report of progress.
pub(super) const MOST_BYTES: usize = 8 << 20;
/// The mean size, in words, of the buckets of a split in memory: most fit the second-level cache.
pub(super) const BUCKET: usize = 1 << 17;

/// The most ways to split by splitters. The tree has room for a few more, for keys that get a bucket of their own.
const SPLITTERS: usize = 250;
const _: () = assert!(SPLITTERS < blocks::LEAST);

/// Words, and what is known of their keys.
pub(super) struct Range<'a, W> {
    pub(super) words: &'a mut [W],
    pub(super) known: Bounds,
    /// See [`Limits::guesses`].
    pub(super) guesses: u32,
}

/// The scratch memory of one thread.
pub(super) struct Worker<W> {
    /// Used for one purpose at a time: the table of a base case, outliers, or a lookup table.
    pub(super) room: Scratch<u64>,
    /// How much of it the table of a base case takes.
    table: usize,
    /// None if every range is a base case.
    blocks: Option<Blocks<W>>,
}

/// The most words that a thread sorts alone: one split divides them into base cases.
pub(super) const fn most<W>() -> usize {
    // Some buckets are larger than the mean.
    let (bytes, base_cases) = (MOST_BYTES / size_of::<W>(), FAN * (together::<W>() * 3 / 4));
    let most = if bytes < base_cases { bytes } else { base_cases };
    most + most / 64
}

/// How much memory a worker takes.
#[derive(Clone, Copy)]
pub(super) struct Room {
    /// The most words of a range.
    pub(super) len: usize,
    /// The most words of a base case.
    base_case: usize,
    /// Every range is a base case.
    one: bool,
    /// Scratch capacity, in words, for outliers or a larger base-case table, if there is memory for it.
    outliers: usize,
}

impl Room {
    /// For ranges of up to `len` words out of `whole`: for a single base case if that can take `len` words.
    pub(super) fn new<W: Word>(level: Level, len: usize, whole: usize) -> Room {
        let one = len <= ALONE && len <= base_case::most::<W>(level, base_case::table_for::<W>(len));
        // A fraction of many words, or all words of a small range.
        let outliers = if one { 0 } else { (whole / 8).clamp(BUCKET.min(len), most::<W>()) };
        // What the vector kernels take in a table that is large enough, or portable code in any table.
        let largest = base_case::most::<W>(level, base_case::table_for::<W>(largest_base_case::<W>()));
        Room { len, base_case: if one { len } else { len.min(largest) }, one, outliers }
    }

    /// The same with a smaller table, which costs another split at times.
    pub(super) fn with_small_base_cases<W: Word>(self) -> Room {
        let base_case = self.base_case.min(together::<W>());
        Room { base_case, one: self.one && base_case == self.len, ..self }
    }

    /// The same with at most so many bytes more than [`Room::least`].
    pub(super) fn with_more<W: Word>(self, more: usize) -> Room {
        let most = (base_case::table_for::<W>(self.base_case) + more / size_of::<u64>()) * size_of::<u64>();
        Room { outliers: self.outliers.min(most / size_of::<W>()), ..self }
    }

    /// How many bytes it takes at least, with less room for outliers.
    pub(super) fn least<W: Word>(self) -> usize {
        Room { outliers: 0, ..self }.bytes::<W>()
    }

    /// How many bytes it takes.
    pub(super) fn bytes<W: Word>(self) -> usize {
        let blocks = self.shape::<W>().map_or(0, |shape| Blocks::<W>::bytes(shape, self.len, 1));
        self.numbers::<W>() * size_of::<u64>() + blocks
    }

    /// The scratch memory without that of splits, in numbers of 64 bits.
    fn numbers<W: Word>(self) -> usize {
        base_case::table_for::<W>(self.base_case).max((self.outliers * size_of::<W>()).div_ceil(size_of::<u64>()))
    }

    fn shape<W>(self) -> Option<Shape> {
        (!self.one).then(|| Shape::in_cache::<W>(self.len, base_case_mean::<W>()))
    }
}

impl<W: Word> Worker<W> {
    /// Returns `None` if there is no memory.
    pub(super) fn new(room: Room) -> Option<Worker<W>> {
        Some(Worker {
            room: Scratch::new(room.numbers::<W>())?,
            table: base_case::table_for::<W>(room.base_case),
            blocks: match room.shape::<W>() {
                Some(shape) => Some(Blocks::new(shape, room.len, 1)?),
                None => None,
            },
        })
    }

    /// The most words of a base case.
    pub(super) fn base_case(&self, level: Level) -> usize {
        base_case::most::<W>(level, self.table)
    }

    /// How many outliers there is room for.
    pub(super) fn most_outliers(&self) -> usize {
        self.room.len() * size_of::<u64>() / size_of::<W>()
    }

    /// Whether it can sort so many words.
    pub(super) fn takes(&self, level: Level, n: usize) -> bool {
        self.blocks.as_ref().is_some_and(|blocks| blocks.takes(n)) || n <= self.base_case(level)
    }

    pub(super) fn sort_unless_stopped(
        &mut self,
        level: Level,
        range: Range<'_, W>,
        monitor: &Monitor<'_>,
        progress: Reporter<'_>,
    ) {
        if monitor.goes_on() {
            let n = range.words.len();
            self.sort(level, range);
            let _ = progress.report(n);
        }
    }

    /// Sorts words; no more than it [takes](Worker::takes).
    pub(super) fn sort(&mut self, level: Level, range: Range<'_, W>) {
        let n = range.words.len();
        if n <= self.base_case(level) {
            // Without vectors, comparing many words is slower than another split.
            let compare = n <= together::<W>() || self.blocks.is_none() || n <= most_compared::<W>(level);
            if base_case_in_place(level, range.words, range.known, &mut self.room, compare) {
                return;
            }
        }
        self.divide(level, range);
    }

    /// Sorts words that are not a base case.
    fn divide(&mut self, level: Level, range: Range<'_, W>) {
        if range.known.low < range.known.high
            && let Some((range, radix)) = self.sort_unless_even(level, range)
        {
            self.split_by_digits(level, range, &radix);
        }
    }

    /// Sorts words that do not get a radix step. Otherwise returns the range with its digit, for the caller to split
    /// it: a strategy takes much of the stack, and radix steps may be nested deeply.
    #[inline(never)]
    fn sort_unless_even<'a>(&mut self, level: Level, range: Range<'a, W>) -> Option<(Range<'a, W>, Radix)> {
        let Range { words, known, mut guesses } = range;
        let n = words.len();
        let bits = ways(n, base_case_mean::<W>()).clamp(LEAST, FAN.ilog2());
        let by_splitters = (n / base_case_mean::<W>()).clamp(2, SPLITTERS);
        let mut limits = Limits {
            bits,
            ways: by_splitters,
            most_ways: blocks::LEAST,
            room: self.most_outliers(),
            compared: most_compared::<W>(level),
            threads: 1,
            guesses,
        };
        let mut next = choose(level, words, known, limits);
        if let Strategy::Dominant(word) | Strategy::Count(word) = next {
            let count = if let Strategy::Dominant(_) = next { Self::sort_dominant } else { Self::tally };
            if count(self, level, Range { words, known, guesses }, word) {
                return None;
            }
            guesses = guesses.saturating_sub(1);
            limits = Limits { room: 0, guesses, ..limits };
            next = choose(level, words, known, limits);
        }
        match next {
            Strategy::Sorted | Strategy::Dominant(_) | Strategy::Count(_) => {}
            Strategy::Reverse => words.reverse(),
            Strategy::Radix(radix) => return Some((Range { words, known, guesses }, radix)),
            Strategy::Compare => W::by_comparison(level, words, &mut self.room),
            Strategy::Tree(tree) => {
                self.sort_by_splitters(level, Range { words, known, guesses: guesses - 1 }, tree);
            }
        }
        None
    }

    /// Splits words by a radix step, and sorts the buckets.
    #[inline(never)]
    fn split_by_digits(&mut self, level: Level, range: Range<'_, W>, radix: &Radix) {
        let blocks = self.blocks.as_mut().expect("what is not split is a base case");
        let mut starts = [0; FAN + 1];
        split(blocks, level, range.words, radix, &mut starts);
        self.go_on(level, range, &starts, radix);
    }

    /// Sorts words by splitters, with a lookup table if possible.
    #[inline(never)]
    fn sort_by_splitters(&mut self, level: Level, range: Range<'_, W>, mut tree: Tree) {
        let words = &mut *range.words;
        let blocks = self.blocks.as_mut().expect("what is not split is a base case");
        let mut starts = [0; FAN + 1];
        match LookupTable::new(&mut tree, words.len(), as_room(&mut self.room)) {
            Some(lookup) => split(blocks, level, words, &lookup, &mut starts),
            None => split(blocks, level, words, &tree, &mut starts),
        };
        self.go_on(level, range, &starts, &tree);
    }

    /// Sorts the buckets of words that have been split.
    fn go_on<C: Classifier<W>>(
        &mut self,
        level: Level,
        range: Range<'_, W>,
        starts: &[usize; FAN + 1],
        classifier: &C,
    ) {
        let Range { words, guesses, .. } = range;
        for (rank, bucket) in starts[..=classifier.fan()].windows(2).enumerate() {
            let words = &mut words[bucket[0]..bucket[1]];
            // The bounds of an empty bucket may be beyond the largest possible key.
            if !words.is_empty() {
                self.sort(level, Range { words, known: classifier.bounds(rank), guesses });
            }
        }
    }

    /// Sorts words that nearly all equal the dominant `word`. Returns false, with the words in another order, if there
    /// are too many outliers.
    #[inline(never)]
    fn sort_dominant(&mut self, level: Level, range: Range<'_, W>, word: W) -> bool {
        let Range { words, known, .. } = range;
        let Some(outliers) = dominant::extract(level, words, word, as_room(&mut self.room)) else { return false };
        let front = outliers.len();
        dominant::restore(words, outliers);
        self.sort(level, Range { words: &mut words[..front], known, guesses: 0 });
        dominant::merge(words, word, front);
        true
    }

    /// Sorts by counting. Returns false, with the words unchanged, if there are too many outliers.
    #[inline(never)]
    fn tally(&mut self, level: Level, range: Range<'_, W>, dominant: W) -> bool {
        let Range { words, known, .. } = range;
        let total = Mutex::new(Tally::new(dominant));
        let Some(outliers) = Tally::count(&total, level, words, dominant, as_room(&mut self.room)) else {
            return false;
        };
        let count = outliers.len();
        words[..count].copy_from_slice(outliers);
        // No more guesses: nested counts would be too much for a small stack.
        self.sort(level, Range { words: &mut words[..count], known, guesses: 0 });
        total.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).write(level, words, count, 1);
        true
    }
}

/// Splits words without reports of progress. Writes where each bucket starts to `starts`.
fn split<W: Word, C: Classifier<W>>(
    blocks: &mut Blocks<W>,
    level: Level,
    words: &mut [W],
    classifier: &C,
    starts: &mut [usize; FAN + 1],
) {
    let silence = Monitor::new(None, words.len(), size_of::<W>(), WHOLE);
    blocks.split(level, words, classifier, starts, silence.reporter(0));
}

/// How many bits split `n` words into buckets of at most `most` words in the mean.
pub(super) fn ways(n: usize, most: usize) -> u32 {
    usize::BITS - (n.div_ceil(most).max(2) - 1).leading_zeros()
}
