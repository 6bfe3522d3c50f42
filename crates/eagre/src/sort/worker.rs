//! One thread's share: ranges that fit its spare memory, which fits the cache.
//!
//! ```text
//! larger than a leaf   looked at, and distributed by way of the spare memory; then each bucket
//! a leaf               sorted in a table of its own, as soon as its bucket has been collected
//! ```

use std::mem::MaybeUninit;
use std::sync::Mutex;

use super::bounds::Bounds;
use super::kernels::classifier::{Classifier, as_table};
use super::kernels::common;
use super::kernels::distribute::{self, distribute};
use super::kernels::leaf::{self, SmallTable, Table};
use super::kernels::scratch::Scratch;
use super::kernels::survey::extremes;
use super::kernels::tally::Tally;
use super::kernels::{Level, Word};
use super::plan::{Plan, Wanted, plan};
use super::progress::{Monitor, Pulse};

/// Up to so many words are one leaf, in a table inside the second-level cache, for one thread.
pub(super) const ALONE: usize = 1 << 14;
/// Many leaves, one after the other, are up to so large: their table stays in the first-level cache.
pub(super) const TOGETHER: usize = 2816;
/// What such a leaf should have, at most: less than it can take, since buckets vary.
const LEAF: usize = 1408;
/// Fewer bits are not worth a pass, and so many steps might be needed that the stack ends first.
pub(super) const LEAST: u32 = 4;

/// Words, and what is known of them.
pub(super) struct Range<'a, W> {
    pub(super) words: &'a mut [W],
    pub(super) known: Bounds,
    /// See [`Wanted`].
    pub(super) guesses: u32,
}

/// What one thread sorts in.
pub(super) struct Worker<W> {
    table: Scratch<u64>,
    pub(super) spare: Scratch<W>,
}

impl<W: Word> Worker<W> {
    /// For leaves of up to so many words, and with room for so many beside them. None if there is no memory.
    pub(super) fn new(leaf: usize, spare: usize) -> Option<Worker<W>> {
        Some(Worker { table: Scratch::new(leaf::table_for::<W>(leaf))?, spare: Scratch::new(spare)? })
    }

    /// Whether it sorts so many words.
    pub(super) fn takes(&self, level: Level, n: usize) -> bool {
        distribute::room::<W>(n) <= self.spare.len() || n <= leaf::most::<W>(level, self.table.len())
    }

    pub(super) fn sort_unless_stopped(
        &mut self,
        level: Level,
        range: Range<'_, W>,
        monitor: &Monitor<'_>,
        pulse: Pulse<'_>,
    ) {
        if monitor.goes_on() {
            let n = range.words.len();
            self.sort(level, range);
            let _ = pulse.beat(n);
        }
    }

    pub(super) fn sort(&mut self, level: Level, range: Range<'_, W>) {
        through(level, range, &mut self.spare, &mut self.table);
    }
}

/// How many bits to split `n` words by for buckets of at most `most` in the mean.
pub(super) fn ways(n: usize, most: usize) -> u32 {
    usize::BITS - (n.div_ceil(most).max(2) - 1).leading_zeros()
}

/// Sorts words by way of `other`, which has room for them.
fn through<W: Word>(level: Level, range: Range<'_, W>, other: &mut [MaybeUninit<W>], table: &mut Table) {
    let n = range.words.len();
    if n <= leaf::most::<W>(level, table.len()) {
        // Without vectors, comparing is slower than splitting once more if they are many.
        let compare = n <= TOGETHER || distribute::room::<W>(n) > other.len() || compares_fast::<W>(level);
        if leaf_in_place(level, range.words, range.known, table, compare) {
            return;
        }
    }
    split_through(level, range, other, table);
}

/// The same for words that are no leaf.
fn split_through<W: Word>(level: Level, range: Range<'_, W>, other: &mut [MaybeUninit<W>], table: &mut Table) {
    let Range { words, known, mut guesses } = range;
    if known.low == known.high {
        return;
    }
    let n = words.len();
    let bits = ways(n, LEAF).clamp(LEAST, distribute::FAN.ilog2());
    let mut wanted = Wanted { bits, ways: (n / LEAF).clamp(2, 64), room: n, threads: 1, guesses };
    let mut next = plan(level, words, known, wanted);
    if let Plan::Common(word) | Plan::Tally(word) = next {
        let count = if let Plan::Common(_) = next { take_out } else { tally };
        if count(level, Range { words, known, guesses }, word, other, table) {
            return;
        }
        guesses = guesses.saturating_sub(1);
        wanted = Wanted { room: 0, guesses, ..wanted };
        next = plan(level, words, known, wanted);
    }
    match next {
        Plan::Nothing | Plan::Common(_) | Plan::Tally(_) => {}
        Plan::Reverse => words.reverse(),
        Plan::Radix(radix) => scatter(level, Range { words, known, guesses }, &radix, other, table),
        // What is in the cache is compared faster than it is searched for twice.
        Plan::Tree(_) if compares_fast::<W>(level) => W::by_comparison(level, words, as_table(other)),
        Plan::Tree(tree) => {
            scatter(level, Range { words, known, guesses: guesses - 1 }, &tree, other, table);
        }
    }
}

/// Whether there is a vector quicksort.
fn compares_fast<W: Word>(level: Level) -> bool {
    !W::STABLE && (level == Level::Avx512 || level == Level::Avx2 && W::KEY_BITS <= u64::BITS)
}

/// Splits words by way of `other`, and sorts the buckets: leaves as soon as they are there, while they are in the
/// cache; larger ones when `other` is free again.
fn scatter<W: Word, C: Classifier<W>>(
    level: Level,
    range: Range<'_, W>,
    classifier: &C,
    other: &mut [MaybeUninit<W>],
    table: &mut Table,
) {
    let Range { words, guesses, .. } = range;
    let most = leaf::most::<W>(level, table.len()).min(TOGETHER);
    let mut ends = [0; distribute::FAN];
    distribute(level, words, other, classifier, &mut ends, |rank, bucket| {
        if bucket.len() <= most {
            leaf_in_place(level, bucket, classifier.bounds(rank), table, true);
        }
    });
    let mut start = 0;
    for (rank, &end) in ends[..classifier.fan()].iter().enumerate() {
        let words = &mut words[start..end as usize];
        start = end as usize;
        if words.len() > most {
            through(level, Range { words, known: classifier.bounds(rank), guesses }, other, table);
        }
    }
}

/// Sorts words that are nearly all the same. False, with the words in another order, if too many are not.
#[inline(never)]
fn take_out<W: Word>(
    level: Level,
    range: Range<'_, W>,
    word: W,
    other: &mut [MaybeUninit<W>],
    table: &mut Table,
) -> bool {
    let Range { words, known, .. } = range;
    // More than a sixteenth are not expected.
    let room = words.len() / 8;
    let Some(aside) = common::take_out(level, words, word, &mut other[..room]) else { return false };
    let front = aside.len();
    common::put_back(words, aside);
    through(level, Range { words: &mut words[..front], known, guesses: 0 }, other, table);
    common::change_ends(words, word, front);
    true
}

/// Sorts by counting. False, with the words unchanged, if too many are rare.
#[inline(never)]
fn tally<W: Word>(
    level: Level,
    range: Range<'_, W>,
    common: W,
    other: &mut [MaybeUninit<W>],
    table: &mut Table,
) -> bool {
    let Range { words, known, .. } = range;
    let total = Mutex::new(Tally::new(common));
    let Some(aside) = Tally::count(&total, level, words, common, other) else { return false };
    let count = aside.len();
    words[..count].copy_from_slice(aside);
    // No guesses more: counts within counts would be too much for a small stack.
    through(level, Range { words: &mut words[..count], known, guesses: 0 }, other, table);
    total.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).write(level, words, count, 1);
    true
}

/// Sorts a few thousand words, at most, without asking for memory. False if they are too many.
pub(super) fn small<W: Word>(level: Level, words: &mut [W]) -> bool {
    if words.len() <= W::few(level) {
        W::by_comparison(level, words, &mut []);
        return true;
    }
    let mut table = SmallTable::new();
    let table = table.get();
    let fits = words.len() <= leaf::most::<W>(level, table.len());
    if fits {
        leaf_in_place(level, words, Bounds::of_bits(W::KEY_BITS), table, true);
    }
    fits
}

/// Sorts what fits a leaf. False, with the words unchanged, if that is only possible by comparing, and it may not.
fn leaf_in_place<W: Word>(level: Level, words: &mut [W], known: Bounds, table: &mut Table, compare: bool) -> bool {
    if words.len() <= W::few(level) {
        W::by_comparison(level, words, table);
        return true;
    }
    if known.low == known.high || leaf::leaf_in_place(level, words, known.differing(), table) {
        return true;
    }
    let seen = extremes(level, words, 1);
    if seen.low == seen.high {
        return true;
    }
    if seen.differing() < known.differing() && leaf::leaf_in_place(level, words, seen.differing(), table) {
        return true;
    }
    if compare {
        W::by_comparison(level, words, table);
    }
    compare
}
