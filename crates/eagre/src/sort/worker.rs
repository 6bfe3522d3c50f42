//! One thread's share: ranges that fit the cache.
//!
//! ```text
//! larger than a base case   looked at, and split in place; then each bucket
//! a base case               sorted in a table of its own
//! ```

use std::sync::Mutex;

use super::base_case::{Backoff, base_case_in_place, compares_fast};
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

/// Up to so many words are one base case for one thread, in a table that fits the second-level cache if words are numbers.
pub(super) const ALONE: usize = 1 << 15;
/// Many base cases, one after the other, are up to so large: their table stays in the first-level cache.
const fn together<W>() -> usize {
    if size_of::<W>() <= 4 { 5632 } else { 2816 }
}
/// A range of numbers that has become larger than that is a base case all the same, and its table in the second-level cache:
/// another split would take longer.
const fn largest_base_case<W: Word>() -> usize {
    if size_of::<W>() <= 8 && !W::STABLE { 16 * together::<W>() } else { together::<W>() }
}
/// What a base case should have, at most: less than it can take, since buckets vary.
const fn base_case_mean<W>() -> usize {
    together::<W>() / 2
}
/// Fewer bits are not worth a pass, and so many steps might be needed that the stack ends first.
pub(super) const LEAST: u32 = 4;
/// So many bytes a thread sorts by itself, and without a break.
const MOST_BYTES: usize = 8 << 20;
/// What a bucket of a split in memory should have: so that it fits the second-level cache, most often.
pub(super) const BUCKET: usize = 1 << 17;

/// The most ways to split by splitters: there is room for a few more, which keys that fill a bucket take.
const SPLITTERS: usize = 250;
const _: () = assert!(SPLITTERS < blocks::LEAST);

/// Words, and what is known of them.
pub(super) struct Range<'a, W> {
    pub(super) words: &'a mut [W],
    pub(super) known: Bounds,
    /// See [`Limits`].
    pub(super) guesses: u32,
}

/// What one thread sorts in.
pub(super) struct Worker<W> {
    /// Room for one thing at a time: a base case's table, a few words, skewed ones of a small range, or a table of cells.
    pub(super) room: Scratch<u64>,
    /// A base case's table takes so much of it.
    table: usize,
    /// None if there are base cases only.
    blocks: Option<Blocks<W>>,
    /// What base cases were like.
    backoff: Backoff,
}

/// The most words that a thread sorts by itself: those that one split makes base cases of.
pub(super) const fn most<W>() -> usize {
    // Some buckets are larger than the mean.
    let (bytes, base_cases) = (MOST_BYTES / size_of::<W>(), FAN * (together::<W>() * 3 / 4));
    let most = if bytes < base_cases { bytes } else { base_cases };
    most + most / 64
}

/// How much a worker takes.
#[derive(Clone, Copy)]
pub(super) struct Room {
    /// The most words of a range, and of a base case.
    pub(super) len: usize,
    base_case: usize,
    /// No range is more than a base case.
    one: bool,
    /// So many words may be set outliers when no base case is sorted, or take a larger table, if there is memory for them.
    outliers: usize,
}

impl Room {
    /// For ranges of up to `len` words out of `whole`; a single base case if so many can be one.
    pub(super) fn new<W: Word>(level: Level, len: usize, whole: usize) -> Room {
        let one = len <= ALONE && len <= base_case::most::<W>(level, base_case::table_for::<W>(len));
        // A few of many words, or all of some; of words that are half a number, as many as a table has.
        let outliers = match one {
            // By value, floating-point numbers need more buckets than by digits.
            true if W::DIGITS_TOGETHER => base_case::table_for::<W>(2 * len) * size_of::<u64>() / size_of::<W>(),
            true => 0,
            false => (whole / 8).clamp(BUCKET.min(len), most::<W>()),
        };
        // What vectors take in a table that is large enough, or what portable code takes in any.
        let largest = base_case::most::<W>(level, base_case::table_for::<W>(largest_base_case::<W>()));
        Room { len, base_case: if one { len } else { len.min(largest) }, one, outliers }
    }

    /// The same with a smaller table, which only means one more split at times.
    pub(super) fn with_small_base_cases<W: Word>(self) -> Room {
        let base_case = self.base_case.min(together::<W>());
        Room { base_case, one: self.one && base_case == self.len, ..self }
    }

    /// The same, if it may take only so many bytes more than [`Room::least`].
    pub(super) fn with_more<W: Word>(self, more: usize) -> Room {
        let most = (base_case::table_for::<W>(self.base_case) + more / size_of::<u64>()) * size_of::<u64>();
        Room { outliers: self.outliers.min(most / size_of::<W>()), ..self }
    }

    /// How many bytes it takes at least, with fewer words set outliers.
    pub(super) fn least<W: Word>(self) -> usize {
        Room { outliers: 0, ..self }.bytes::<W>()
    }

    /// How many bytes it takes.
    pub(super) fn bytes<W: Word>(self) -> usize {
        let blocks = self.shape::<W>().map_or(0, |shape| Blocks::<W>::bytes(shape, self.len, 1));
        self.numbers::<W>() * size_of::<u64>() + blocks
    }

    /// The same without what splits take, in numbers of 64 bits.
    fn numbers<W: Word>(self) -> usize {
        base_case::table_for::<W>(self.base_case).max((self.outliers * size_of::<W>()).div_ceil(size_of::<u64>()))
    }

    fn shape<W>(self) -> Option<Shape> {
        (!self.one).then(|| Shape::in_cache::<W>(self.len, base_case_mean::<W>()))
    }
}

impl<W: Word> Worker<W> {
    /// None if there is no memory.
    pub(super) fn new(room: Room) -> Option<Worker<W>> {
        Some(Worker {
            room: Scratch::new(room.numbers::<W>())?,
            table: base_case::table_for::<W>(room.base_case),
            blocks: match room.shape::<W>() {
                Some(shape) => Some(Blocks::new(shape, room.len, 1)?),
                None => None,
            },
            backoff: Backoff::default(),
        })
    }

    /// The largest base case.
    pub(super) fn base_case(&self, level: Level) -> usize {
        base_case::most::<W>(level, self.table)
    }

    /// So many words may be set outliers.
    pub(super) fn most_outliers(&self) -> usize {
        self.room.len() * size_of::<u64>() / size_of::<W>()
    }

    /// Whether it sorts so many words.
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

    /// Sorts as many words as it takes.
    pub(super) fn sort(&mut self, level: Level, range: Range<'_, W>) {
        let n = range.words.len();
        if n <= self.base_case(level) {
            // Without vectors, comparing is slower than splitting once more if they are many.
            let compare = n <= together::<W>() || self.blocks.is_none() || compares_fast::<W>(level);
            if base_case_in_place(level, range.words, range.known, &mut self.room, compare, &mut self.backoff) {
                return;
            }
        }
        self.divide(level, range);
    }

    /// The same for words that are no base case.
    fn divide(&mut self, level: Level, range: Range<'_, W>) {
        if range.known.low < range.known.high
            && let Some((range, radix)) = self.sort_unless_even(level, range)
        {
            self.split_by_digits(level, range, &radix);
        }
    }

    /// Sorts words whose digits are uneven. Else returns them with the digit to split them by: there may be many such
    /// splits within each other, and a plan takes some room on the stack.
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
            // Split or not, most of it would be compared.
            Strategy::Tree { uneven: true, .. }
                if compares_fast::<W>(level) && n <= self.most_outliers().min(BUCKET) =>
            {
                W::by_comparison(level, words, &mut self.room);
            }
            Strategy::Tree { tree, .. } => {
                self.sort_by_splitters(level, Range { words, known, guesses: guesses - 1 }, tree);
            }
        }
        None
    }

    /// Splits words by digits, and sorts the buckets.
    #[inline(never)]
    fn split_by_digits(&mut self, level: Level, range: Range<'_, W>, radix: &Radix) {
        let blocks = self.blocks.as_mut().expect("what is not split is a base case");
        let mut starts = [0; FAN + 1];
        split(blocks, level, range.words, radix, &mut starts);
        self.go_on(level, range, &starts, radix);
    }

    /// Sorts words whose digits are uneven: splits them by splitters, looked up if possible, or compares.
    #[inline(never)]
    fn sort_by_splitters(&mut self, level: Level, range: Range<'_, W>, mut tree: Tree) {
        let (words, most_outliers) = (&mut *range.words, self.most_outliers());
        let blocks = self.blocks.as_mut().expect("what is not split is a base case");
        let mut starts = [0; FAN + 1];
        match LookupTable::new(&mut tree, words.len(), as_room(&mut self.room)) {
            Some(lookup) => split(blocks, level, words, &lookup, &mut starts),
            // What is in the cache is compared faster than it is searched for twice.
            None if compares_fast::<W>(level) && words.len() <= most_outliers => {
                return W::by_comparison(level, words, &mut self.room);
            }
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
            // Empty buckets may be beyond the largest key there is.
            if !words.is_empty() {
                self.sort(level, Range { words, known: classifier.bounds(rank), guesses });
            }
        }
    }

    /// Sorts words that are nearly all the same. False, with the words in another order, if too many are not.
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

    /// Sorts by counting. False, with the words unchanged, if too many are rare.
    #[inline(never)]
    fn tally(&mut self, level: Level, range: Range<'_, W>, dominant: W) -> bool {
        let Range { words, known, .. } = range;
        let total = Mutex::new(Tally::new(dominant));
        let Some(outliers) = Tally::count(&total, level, words, dominant, as_room(&mut self.room)) else {
            return false;
        };
        let count = outliers.len();
        words[..count].copy_from_slice(outliers);
        // No guesses more: counts within counts would be too much for a small stack.
        self.sort(level, Range { words: &mut words[..count], known, guesses: 0 });
        total.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).write(level, words, count, 1);
        true
    }
}

/// Splits words without telling anybody. `starts` become where the buckets start.
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

/// How many bits to split `n` words by for buckets of at most `most` in the mean.
pub(super) fn ways(n: usize, most: usize) -> u32 {
    usize::BITS - (n.div_ceil(most).max(2) - 1).leading_zeros()
}
