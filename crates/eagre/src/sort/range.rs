//! The plan: which kernel for which range.
//!
//! ```text
//! larger than the spare memory   split in place into up to 256 buckets, then each of them
//! fits the spare memory          spread into it, then each bucket back
//! fits a leaf                    sorted on its way from the spare memory to its final place
//! ```
//!
//! Before a range is split it is looked at ([`plan`]), and it goes on with what is known of its keys then. Each step
//! narrows that: no input needs more steps than a key has bits, and a few that were guesses.
//!
//! With several threads, large ranges are split by all of them together. The buckets that come of it are shared out,
//! the largest first. Where a word ends does not depend on who put it there.

use std::mem::MaybeUninit;
use std::sync::Mutex;

use super::bounds::Bounds;
use super::kernels::blocks::{self, Blocks};
use super::kernels::classifier::{Classifier, as_table};
use super::kernels::leaf::{self, SmallTable, Table};
use super::kernels::scratch::Scratch;
use super::kernels::spread::{self, GAP, spread};
use super::kernels::survey::{Order, extremes, order, reverse};
use super::kernels::tally::Tally;
use super::kernels::{Level, Word};
use super::plan::{Plan, Wanted, plan};
use super::progress::{Monitor, Pulse, WHOLE};
use super::team;

/// Up to so many words are one leaf, in a table inside the second-level cache, for one thread.
pub(super) const ALONE: usize = 1 << 16;
/// Many leaves, one after the other, are up to so large: their table stays in the first-level cache.
const TOGETHER: usize = 2816;
/// What such a leaf should have: less than it can take, since buckets vary.
const LEAF: usize = 704;
/// What a bucket of an in-place split should have, to fit the cache with room to spare.
const BUCKET: usize = 1 << 18;
/// The spare memory, in bytes: a range of this size is split outside of the first-level cache, but inside the others.
const SPARE_BYTES: usize = 8 << 20;
/// A thread costs some ten microseconds: it is worth it for so many bytes.
pub(super) const THREAD_BYTES: usize = 1 << 20;
/// A thread that only reads is worth it for so many.
const READER_BYTES: usize = 4 << 20;
/// Fewer bits are not worth a pass, and so many steps might be needed that the stack ends first.
const LEAST: u32 = 4;
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

/// What one thread sorts in.
struct Worker<W> {
    table: Scratch<u64>,
    spare: Scratch<W>,
}

impl<W: Word> Sorting<W> {
    /// What it takes to sort `len` words with up to so many threads, in no more than `slack` bytes.
    pub(super) fn new(level: Level, len: usize, threads: usize, slack: usize) -> Result<Sorting<W>, Lack> {
        let threads = threads.min(len * size_of::<W>() / THREAD_BYTES).max(1);
        let most = (SPARE_BYTES / size_of::<W>()).min(len);
        // One thread sorts in its spare memory what fits there; several always split first.
        let leaf = |n| leaf::table_for::<W>(n) * size_of::<u64>();
        let split = threads > 1 || len > most || size_of::<W>() * len + leaf(TOGETHER) > slack;
        let blocks = if split { Blocks::<W>::bytes(len, threads) } else { 0 };
        let share = slack.checked_sub(blocks).ok_or(Lack::Slack)? / threads;
        let one = len <= ALONE && leaf(len) <= share && len <= leaf::most::<W>(level, leaf::table_for::<W>(len));
        let table = if one { len } else { len.min(TOGETHER) };
        let room = share.checked_sub(leaf(table)).ok_or(Lack::Slack)? / size_of::<W>();
        let spare = if one { len.min(room) } else { room.min(most + (GAP << spread_bits(most))) };
        if !one && spare < TOGETHER.min(len) {
            return Err(Lack::Slack);
        }
        let bytes = blocks + threads * (leaf(table) + spare * size_of::<W>());
        let worker =
            |_| Some(Worker { table: Scratch::new(leaf::table_for::<W>(table))?, spare: Scratch::new(spare)? });
        let made = || {
            Some(Sorting {
                level,
                workers: (0..threads).map(worker).collect::<Option<_>>()?,
                blocks: if split { Some(Blocks::new(len, threads)?) } else { None },
            })
        };
        made().ok_or(Lack::Memory(bytes))
    }

    /// Sorts as many words as this was made for, or stops in between.
    pub(super) fn sort(&mut self, words: &mut [W], monitor: &Monitor<'_>) {
        let level = self.level;
        // The first split is half of the work, most often; it has two passes.
        let (splits, rest) = if self.blocks.is_some() { (WHOLE / 4, WHOLE / 2) } else { (0, WHOLE) };
        let mut job = Job { monitor, splits: monitor.pulse(splits), rest: monitor.pulse(rest), ready: Vec::new() };
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

    /// Splits a range until each bucket fits the spare memory. Buckets are sorted then, or wait for a thread to do it.
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
        // Several buckets for each thread, so that none has nothing to do in the end.
        let least = if threads > 1 { (8 * threads).next_power_of_two().ilog2().max(5) } else { LEAST };
        let bits = ways(n, BUCKET).max(least).min(blocks::FAN.ilog2());
        let Range { words, known, guesses } = range;
        let room = self.workers[0].spare.len();
        let mut wanted = Wanted { bits, ways: (1 << bits).clamp(64, 128), room, threads, guesses };
        let mut next = plan(level, words, known, wanted);
        if let Plan::Tally(common) = next {
            if self.tally(words, common, known) {
                return job.is_sorted(n);
            }
            wanted.room = 0;
            next = plan(level, words, known, wanted);
        }
        match next {
            Plan::Nothing | Plan::Tally(_) => job.is_sorted(n),
            Plan::Reverse => {
                reverse(words, threads);
                job.is_sorted(n);
            }
            Plan::Radix(radix) => self.split(Range { words, known, guesses }, &radix, whole, job),
            Plan::Tree(tree) => self.split(Range { words, known, guesses: guesses - 1 }, &tree, whole, job),
        }
    }

    fn split<'a, C: Classifier<W>>(
        &mut self,
        range: Range<'a, W>,
        classifier: &C,
        whole: bool,
        job: &mut Job<'a, '_, W>,
    ) {
        let Some(blocks) = &mut self.blocks else { return };
        let Range { words, guesses, .. } = range;
        let mut starts = [0; blocks::FAN + 1];
        let pulse = if whole { job.splits } else { job.monitor.pulse(0) };
        if !blocks.split(self.level, words, classifier, &mut starts, pulse) {
            return;
        }
        let mut rest = words;
        for (rank, bucket) in starts[..=classifier.fan()].windows(2).enumerate() {
            let (words, later) = rest.split_at_mut(bucket[1] - bucket[0]);
            rest = later;
            if !words.is_empty() {
                self.divide(Range { words, known: classifier.bounds(rank), guesses }, false, job);
            }
        }
    }

    /// Sorts by counting. False, with the words unchanged, if too many are rare.
    #[inline(never)]
    fn tally(&mut self, words: &mut [W], common: W, known: Bounds) -> bool {
        let (level, threads, n) = (self.level, self.workers.len(), words.len());
        let sum = Mutex::new(Tally::new(common));
        let (total, room) = (&sum, self.workers[0].spare.len() / threads);
        let stripes = words.chunks(n.div_ceil(threads)).zip(&mut self.workers);
        let jobs = stripes.map(|(words, worker)| {
            let room = &mut worker.spare[..room];
            move || {
                let aside = room;
                Tally::count(total, level, words, common, aside)
            }
        });
        let aside = team::run(jobs);
        if aside.iter().any(Option::is_none) {
            return false;
        }
        let mut count = 0;
        for aside in aside.into_iter().flatten() {
            words[count..count + aside.len()].copy_from_slice(aside);
            count += aside.len();
        }
        self.workers[0].sort(level, Range { words: &mut words[..count], known, guesses: 0 });
        sum.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).write(level, words, count, threads);
        true
    }
}

/// Words, and what is known of them.
struct Range<'a, W> {
    words: &'a mut [W],
    known: Bounds,
    /// See [`Wanted`].
    guesses: u32,
}

/// One sort.
struct Job<'a, 'm, W> {
    monitor: &'m Monitor<'m>,
    /// Counts the first split.
    splits: Pulse<'m>,
    /// Counts what is done after it.
    rest: Pulse<'m>,
    /// Buckets for the next thread that has nothing to do.
    ready: Vec<Range<'a, W>>,
}

impl<W> Job<'_, '_, W> {
    /// Counts words that need no more work.
    fn is_sorted(&self, n: usize) {
        let _ = self.rest.beat(n);
    }
}

impl<W: Word> Worker<W> {
    /// Whether it sorts so many words.
    fn takes(&self, level: Level, n: usize) -> bool {
        n <= self.spare.len() || n <= leaf::most::<W>(level, self.table.len())
    }

    fn sort_unless_stopped(&mut self, level: Level, range: Range<'_, W>, monitor: &Monitor<'_>, pulse: Pulse<'_>) {
        if monitor.goes_on() {
            let n = range.words.len();
            self.sort(level, range);
            let _ = pulse.beat(n);
        }
    }

    fn sort(&mut self, level: Level, range: Range<'_, W>) {
        through(level, range, &mut self.spare, false, &mut self.table);
    }
}

/// How many bits to split `n` words by for buckets of at most `most` in the mean.
fn ways(n: usize, most: usize) -> u32 {
    usize::BITS - (n.div_ceil(most).max(2) - 1).leading_zeros()
}

/// How many bits to spread `n` words by. At least some buckets are needed: neighbouring words of the same bucket wait
/// for each other.
fn spread_bits(n: usize) -> u32 {
    ways(n, LEAF).clamp(LEAST, spread::FAN.ilog2())
}

/// Sorts words by way of `other`, which has room for them; they end there if `stay`, else back where they are.
fn through<W: Word>(level: Level, range: Range<'_, W>, other: &mut [MaybeUninit<W>], stay: bool, table: &mut Table) {
    let Range { words, known, guesses } = range;
    let n = words.len();
    if n <= leaf::most::<W>(level, table.len()) {
        let high = known.differing();
        if stay && n > W::few(level) && high > 0 && leaf::leaf(level, words, &mut other[..n], high, table) {
            return;
        }
        // Without vectors, comparing is slower than splitting once more if they are many.
        let compare = n <= TOGETHER || n > other.len() || compares_fast::<W>(level);
        if !leaf_in_place(level, words, known, table, compare) {
            return split_through(level, Range { words, known, guesses }, other, stay, table);
        }
        if stay {
            other[..n].write_copy_of_slice(words);
        }
        return;
    }
    split_through(level, Range { words, known, guesses }, other, stay, table);
}

/// The same for words that are no leaf.
fn split_through<W: Word>(
    level: Level,
    range: Range<'_, W>,
    other: &mut [MaybeUninit<W>],
    stay: bool,
    table: &mut Table,
) {
    let Range { words, known, guesses } = range;
    let n = words.len();
    let ways = if n <= 128 * LEAF { n / LEAF } else { 64 };
    let mut wanted = Wanted { bits: spread_bits(n), ways, room: n, threads: 1, guesses };
    let mut next = if known.low == known.high { Plan::Nothing } else { plan(level, words, known, wanted) };
    if let Plan::Tally(common) = next {
        if tally(level, Range { words, known, guesses }, common, other, table) {
            next = Plan::Nothing;
        } else {
            wanted.room = 0;
            next = plan(level, words, known, wanted);
        }
    }
    match next {
        Plan::Radix(radix) => scatter(level, Range { words, known, guesses }, &radix, other, stay, table),
        // What is in the cache is compared faster than it is searched for twice.
        Plan::Tree(_) if compares_fast::<W>(level) && size_of_val(as_table(&mut other[..n])) == size_of_val(words) => {
            W::by_comparison(level, words, as_table(&mut other[..n]));
            if stay {
                other[..n].write_copy_of_slice(words);
            }
        }
        Plan::Tree(tree) => {
            scatter(level, Range { words, known, guesses: guesses - 1 }, &tree, other, stay, table);
        }
        Plan::Nothing | Plan::Reverse | Plan::Tally(_) => {
            if let Plan::Reverse = next {
                words.reverse();
            }
            if stay {
                other[..n].write_copy_of_slice(words);
            }
        }
    }
}

/// Whether there is a vector quicksort.
fn compares_fast<W: Word>(level: Level) -> bool {
    !W::STABLE && level > Level::Portable
}

/// Splits words into `other`, and sorts the buckets on from there.
fn scatter<W: Word, C: Classifier<W>>(
    level: Level,
    range: Range<'_, W>,
    classifier: &C,
    other: &mut [MaybeUninit<W>],
    stay: bool,
    table: &mut Table,
) {
    let Range { words, guesses, .. } = range;
    let gap = if words.len() + classifier.fan() * GAP <= other.len() { GAP } else { 0 };
    spread(level, words, other, classifier, gap, |rank, words, other| {
        through(level, Range { words, known: classifier.bounds(rank), guesses }, other, !stay, table);
    });
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
    through(level, Range { words: &mut words[..count], known, guesses: 0 }, other, false, table);
    total.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).write(level, words, count, 1);
    true
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
