//! The plan: which kernel for which range.
//!
//! ```text
//! larger than the spare memory   split in place into up to 256 buckets, then each of them
//! fits the spare memory          spread into it, then each bucket back
//! fits the first-level cache     a leaf, on its way from the spare memory to its final place
//! ```
//!
//! Before a range is split it is looked at: keys in order, in reverse order or all the same are done at once, and
//! bits that all keys share are skipped. So each step splits off at least one key bit that differs, and no input
//! needs more steps than a key has bits.

use std::mem::MaybeUninit;

use super::kernels::blocks::{self, Blocks};
use super::kernels::leaf::{self, SmallTable, Table};
use super::kernels::scratch::Scratch;
use super::kernels::spread::{self, GAP, spread};
use super::kernels::survey::survey;
use super::kernels::{Level, Word};

/// What a leaf should have, at most; a little less than it can take, since buckets vary.
const LEAF: usize = 704;
/// Up to so many words are one leaf, in a table inside the second-level cache.
const ALONE: usize = 1 << 17;
/// Many leaves, one after the other, are up to so large: their table stays in the first-level cache.
const TOGETHER: usize = 2816;
/// What a bucket of an in-place split should have, to fit the cache with room to spare.
const BUCKET: usize = 1 << 18;
/// The spare memory, in bytes: a range of this size is split outside of the first-level cache, but inside the others.
const SPARE_BYTES: usize = 8 << 20;

/// What one thread needs to sort.
pub(super) struct Sorting<W> {
    level: Level,
    table: Scratch<u64>,
    spare: Scratch<W>,
    blocks: Option<Blocks<W>>,
}

impl<W: Word> Sorting<W> {
    /// Enough to sort `len` words. None if there is no memory.
    pub(super) fn new(level: Level, len: usize) -> Option<Sorting<W>> {
        let most = SPARE_BYTES / size_of::<W>();
        let gaps = GAP << spread_bits(len.min(most));
        let table = leaf::table_for(if len <= ALONE { len } else { TOGETHER });
        let spare = match len {
            _ if len <= leaf::most::<W>(level, table) => 0,
            _ if len <= most => len + gaps,
            _ => most + gaps,
        };
        let blocks = if len > most { Some(Blocks::new(len)?) } else { None };
        Some(Sorting { level, table: Scratch::new(table)?, spare: Scratch::new(spare)?, blocks })
    }

    /// Sorts words that agree on all key bits from `high` up.
    pub(super) fn sort(&mut self, words: &mut [W], high: u32) {
        let n = words.len();
        if n <= leaf::most::<W>(self.level, self.table.len()) {
            return leaf_in_place(self.level, words, high, &mut self.table);
        }
        if n <= self.spare.len().min(SPARE_BYTES / size_of::<W>()) {
            return through(self.level, words, &mut self.spare, GAP, false, high, &mut self.table);
        }
        let seen = survey(words, high);
        if seen.ascending {
            return;
        }
        if seen.descending {
            return words.reverse();
        }
        let bits = ways(n, BUCKET).min(blocks::FAN.ilog2()).min(seen.high);
        let shift = seen.high - bits;
        let mut starts = [0; blocks::FAN + 1];
        self.blocks.as_mut().expect("made for this length").split(self.level, words, shift, bits, None, &mut starts);
        for bucket in starts[..=1 << bits].windows(2) {
            self.sort(&mut words[bucket[0]..bucket[1]], shift);
        }
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
    let seen = survey(words, high);
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
    let seen = survey(words, high);
    if seen.ascending {
        return;
    }
    if seen.high >= high || !leaf::leaf_in_place(level, words, seen.high, table) {
        W::by_comparison(level, words, table);
    }
}
