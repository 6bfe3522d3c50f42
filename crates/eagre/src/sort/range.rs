//! The plan: which kernel for which range.
//!
//! ```text
//! larger than the spare memory   split in place into up to 256 buckets, then each of them
//! fits the spare memory          spread into it, then each bucket back
//! fits a leaf                    sorted on its way from the spare memory to its final place
//! ```
//!
//! Before a range is split it is looked at: keys in order, in reverse order or all the same are done at once, and
//! bits that all keys share are skipped. So each step splits off at least one key bit that differs, and no input
//! needs more steps than a key has bits.
//!
//! With several threads, large ranges are split by all of them together. The buckets that come of it are shared out,
//! the largest first. Where a word ends does not depend on who put it there.

use std::mem::MaybeUninit;
use std::sync::Mutex;

use super::kernels::blocks::{self, Blocks};
use super::kernels::leaf::{self, SmallTable, Table};
use super::kernels::scratch::Scratch;
use super::kernels::spread::{self, GAP, spread};
use super::kernels::survey::survey;
use super::kernels::{Level, Word};
use super::progress::{Monitor, WHOLE};
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
        let most = (SPARE_BYTES / size_of::<W>()).min(len);
        // One thread sorts in its spare memory what fits there; several always split first.
        let leaf = |n| leaf::table_for::<W>(n) * size_of::<u64>();
        let split = threads > 1 || len > most || size_of::<W>() * len + leaf(TOGETHER) > slack;
        let blocks = if split { Blocks::<W>::bytes(len, threads) } else { 0 };
        let share = slack.checked_sub(blocks).ok_or(Lack::Slack)? / threads;
        let one = len <= ALONE && leaf(len) <= share && len <= leaf::most::<W>(level, leaf::table_for::<W>(len));
        let table = if one { len } else { len.min(TOGETHER) };
        let room = share.checked_sub(leaf(table)).ok_or(Lack::Slack)? / size_of::<W>();
        let spare = if one { 0 } else { room.min(most + (GAP << spread_bits(most))) };
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
        let mut ready = Vec::new();
        self.divide(words, W::KEY_BITS, &mut ready, monitor);
        let pulse = monitor.pulse(if self.blocks.is_some() { WHOLE / 2 } else { WHOLE });
        let sort = |worker: &mut Worker<W>, words: &mut [W], high| {
            if monitor.goes_on() {
                worker.sort(level, words, high);
                let _ = pulse.beat(words.len());
            }
        };
        if let [worker] = &mut self.workers[..] {
            ready.into_iter().for_each(|(words, high)| sort(worker, words, high));
            return;
        }
        ready.sort_by_key(|(words, _)| words.len());
        let ready = Mutex::new(ready);
        let take = || ready.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop();
        team::run(self.workers.iter_mut().map(|worker| {
            || {
                while let Some((words, high)) = take() {
                    sort(worker, words, high);
                }
            }
        }));
    }

    /// Splits words until each bucket fits the spare memory. Those that are not sorted yet are added to `ready`, with
    /// the bit from which on their keys agree.
    fn divide<'a>(
        &mut self,
        words: &'a mut [W],
        high: u32,
        ready: &mut Vec<(&'a mut [W], u32)>,
        monitor: &Monitor<'_>,
    ) {
        let n = words.len();
        let together = self.workers.len() > 1 && high == W::KEY_BITS;
        if n <= 1 || high == 0 || (self.workers[0].takes(self.level, n) && !together) {
            return ready.push((words, high));
        }
        let seen = survey(self.level, words, high);
        if seen.ascending {
            return;
        }
        if seen.descending {
            return words.reverse();
        }
        let least = if self.workers.len() > 1 { 5 } else { 1 };
        let bits = ways(n, BUCKET).max(least).min(blocks::FAN.ilog2()).min(seen.high);
        let shift = seen.high - bits;
        let mut starts = [0; blocks::FAN + 1];
        let Some(blocks) = &mut self.blocks else { return ready.push((words, high)) };
        // The first split is half of the work, most often; it has two passes.
        let pulse = monitor.pulse(if high == W::KEY_BITS { WHOLE / 4 } else { 0 });
        if !blocks.split(self.level, words, shift, bits, &mut starts, pulse) {
            return;
        }
        let mut rest = words;
        for bucket in starts[..=1 << bits].windows(2) {
            let (words, later) = rest.split_at_mut(bucket[1] - bucket[0]);
            self.divide(words, shift, ready, monitor);
            rest = later;
        }
    }
}

impl<W: Word> Worker<W> {
    /// Whether it sorts so many words.
    fn takes(&self, level: Level, n: usize) -> bool {
        n <= self.spare.len() || n <= leaf::most::<W>(level, self.table.len())
    }

    /// Sorts words that agree on all key bits from `high` up.
    fn sort(&mut self, level: Level, words: &mut [W], high: u32) {
        let n = words.len();
        let gap = if n + (GAP << spread_bits(n)) <= self.spare.len() { GAP } else { 0 };
        through(level, words, &mut self.spare, gap, false, high, &mut self.table);
    }
}

/// How many bits to split `n` words by for buckets of at most `most` in the mean.
fn ways(n: usize, most: usize) -> u32 {
    usize::BITS - (n.div_ceil(most).max(2) - 1).leading_zeros()
}

/// How many bits to spread `n` words by. At least some buckets are needed: neighbouring words of the same bucket wait
/// for each other.
fn spread_bits(n: usize) -> u32 {
    ways(n, LEAF).clamp(4, spread::FAN.ilog2())
}

/// Sorts words by way of `other`, which has room for them; they end there if `stay`, else back in `words`. `gap` is
/// the room between buckets in `other`.
fn through<W: Word>(
    level: Level,
    words: &mut [W],
    other: &mut [MaybeUninit<W>],
    gap: usize,
    stay: bool,
    high: u32,
    table: &mut Table,
) {
    let n = words.len();
    if n <= leaf::most::<W>(level, table.len()) {
        if !stay {
            return leaf_in_place(level, words, high, table);
        }
        let other = &mut other[..n];
        if n <= W::few(level) || high == 0 || !leaf::leaf(level, words, other, high, table) {
            leaf_in_place(level, words, high, table);
            other.write_copy_of_slice(words);
        }
        return;
    }
    let seen = survey(level, words, high);
    if seen.ascending || seen.descending {
        if seen.descending {
            words.reverse();
        }
        if stay {
            other[..n].write_copy_of_slice(words);
        }
        return;
    }
    let bits = spread_bits(n).min(seen.high);
    let shift = seen.high - bits;
    spread(level, words, other, shift, bits, gap, |from, to| through(level, from, to, 0, !stay, shift, table));
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
        leaf_in_place(level, words, W::KEY_BITS, table);
    }
    fits
}

/// Sorts what fits a leaf.
fn leaf_in_place<W: Word>(level: Level, words: &mut [W], high: u32, table: &mut Table) {
    if words.len() <= W::few(level) {
        return W::by_comparison(level, words, table);
    }
    if high == 0 || leaf::leaf_in_place(level, words, high, table) {
        return;
    }
    let seen = survey(level, words, high);
    if seen.ascending {
        return;
    }
    if seen.high >= high || !leaf::leaf_in_place(level, words, seen.high, table) {
        W::by_comparison(level, words, table);
    }
}
