//! A base case that sorts *key-index pairs* instead of words: for stable sorts, and for words wider than the vector
//! kernels take. A pair is a number of 64 bits: the highest key bits that may differ, and below them the word's index.
//!
//! ```text
//! word   key, value, …          pair   54 bits of the key | 10 bits of the index
//! ```
//!
//! The base case for 64-bit numbers sorts the pairs. No two pairs are equal, and pairs with equal keys are in the order
//! of their indices. Then each word is copied once, to the place of its pair. If a pair does not hold all key bits,
//! words whose pairs agree but for the index are sorted again, by the other bits.

use super::uninit::UninitSlice;
use std::mem::MaybeUninit;
use std::slice::from_raw_parts_mut;

use super::base_case::{self, Table};
use super::{Level, Word};
use crate::sort::bounds::Bounds;

/// Up to so many words are sorted with pairs on the stack.
const FEW: usize = 128;
/// Up to so many words whose pairs agree are sorted by insertion.
const INSERTION: usize = 16;
/// Parts of a table begin at cache lines: up to so many numbers are left out between them.
const LINE: usize = 8;

/// The parts of a table.
struct Room<'a, W> {
    pairs: &'a mut [MaybeUninit<u64>],
    copies: &'a mut [MaybeUninit<W>],
    /// For the base case that sorts the pairs.
    table: &'a mut Table,
}

/// How many numbers of 64 bits a word takes.
const fn width<W>() -> usize {
    size_of::<W>().div_ceil(size_of::<u64>())
}

/// The length of a table for `n` words.
pub(super) fn table_for<W>(n: usize) -> usize {
    n * (width::<W>() + 1) + 2 * LINE + base_case::table_for::<u64>(n)
}

/// The most words for a table of such a length.
pub(super) fn most<W>(level: Level, table: usize) -> usize {
    // The most words with room for so many pairs.
    let with = |pairs: usize| {
        let base_case = base_case::table_for::<u64>(pairs);
        let left = table.saturating_sub(2 * LINE + base_case);
        (left / (width::<W>() + 1)).min(pairs).min(base_case::most::<u64>(level, base_case))
    };
    let sizes = (base_case::buckets(0).ilog2()..=table.max(1).ilog2()).map(|buckets| base_case::MEAN << buckets);
    sizes.map(with).max().unwrap_or(0)
}

/// Up to so many words need no table.
pub(super) fn few(level: Level) -> usize {
    <u64 as Word>::few(level).min(FEW)
}

/// [`Word::base_case`] for words that agree on all key bits from bit `high` up, which is at least 1. The table has the
/// length of [`table_for`]. It never gives up.
///
/// # Safety
/// See there.
pub(super) unsafe fn base_case<W: Word>(level: Level, words: *mut W, n: usize, high: u32, table: &mut Table) {
    let (copies, table) = table.split_at_mut((n * width::<W>()).next_multiple_of(LINE));
    let (pairs, table) = table.split_at_mut(n.next_multiple_of(LINE));
    debug_assert!(copies.as_ptr().cast::<W>().is_aligned());
    // SAFETY: room for n words, aligned to a line as the table is; the rest is the caller's promise.
    unsafe {
        let copies = from_raw_parts_mut(copies.as_mut_ptr().cast(), n);
        sort(level, from_raw_parts_mut(words, n), high, Room { pairs, copies, table });
    }
}

/// [`Word::by_comparison`].
pub(super) fn by_comparison<W: Word>(level: Level, words: &mut [W], table: &mut Table) {
    let (at, n) = (words.as_mut_ptr(), words.len());
    if n > few(level) {
        // SAFETY: so many words, for which the table is long enough.
        return unsafe { base_case(level, at, n, W::KEY_BITS, table) };
    }
    let pairs = &mut [const { MaybeUninit::uninit() }; FEW];
    let copies = &mut [const { MaybeUninit::uninit() }; FEW];
    sort(level, words, W::KEY_BITS, Room { pairs, copies, table: &mut [] });
}

/// Sorts words that agree on all key bits from bit `high` up, which is at least 1.
fn sort<W: Word>(level: Level, words: &mut [W], high: u32, room: Room<'_, W>) {
    let n = words.len();
    if n < 2 {
        return;
    }
    let Room { pairs, copies, table } = room;
    let place_bits = usize::BITS - (n - 1).leading_zeros();
    level.run(
        #[inline(always)]
        || write_pairs(words, high, place_bits, &mut pairs[..n]),
    );
    // SAFETY: written just now.
    let sorted = unsafe { pairs[..n].written_mut() };
    if n <= few(level) || !base_case::base_case_in_place(level, sorted, Bounds::of_bits(u64::BITS), table) {
        <u64 as Word>::by_comparison(level, sorted, table);
    }
    let places = (1 << place_bits) - 1;
    let agree = high > u64::BITS - place_bits
        && level.run(
            #[inline(always)]
            || sorted.windows(2).fold(false, |agree, two| agree | (two[0] ^ two[1] <= places)),
        );
    let source: &[W] = copies[..n].copied(words);
    for (word, pair) in words.iter_mut().zip(sorted.iter()) {
        // SAFETY: places are below n.
        *word = unsafe { *source.get_unchecked((pair & places) as usize) };
    }
    if agree {
        sort_rest(level, words, high - (u64::BITS - place_bits), Room { pairs, copies, table });
    }
}

/// Writes pairs of the highest of the `high` lowest key bits and the index.
#[inline(always)]
fn write_pairs<W: Word>(words: &[W], high: u32, place_bits: u32, pairs: &mut [MaybeUninit<u64>]) {
    let places = (1 << place_bits) - 1;
    if high <= u64::BITS {
        for (i, (word, pair)) in words.iter().zip(pairs).enumerate() {
            pair.write((word.key() as u64) << (u64::BITS - high) & !places | i as u64);
        }
    } else {
        for (i, (word, pair)) in words.iter().zip(pairs).enumerate() {
            pair.write((word.key() >> (high - u64::BITS)) as u64 & !places | i as u64);
        }
    }
}

/// Sorts neighbouring words that agree on all key bits from bit `high` up. The words are sorted by those bits.
fn sort_rest<W: Word>(level: Level, words: &mut [W], high: u32, room: Room<'_, W>) {
    let Room { pairs, copies, table } = room;
    for run in words.chunk_by_mut(|a, b| (a.key() ^ b.key()) >> high == 0) {
        if run.len() <= INSERTION {
            insertion(run);
            continue;
        }
        // They are in the order in which they came: often that is the order of the other bits, too.
        let (differ, sorted) = level.run(
            #[inline(always)]
            || {
                let pairs = run.iter().zip(&run[1..]);
                pairs.fold((0, true), |(differ, sorted), (one, two)| {
                    (differ | (one.key() ^ two.key()), sorted & (one.key() <= two.key()))
                })
            },
        );
        if !sorted {
            let high = u128::BITS - differ.leading_zeros();
            sort(level, run, high, Room { pairs: &mut *pairs, copies: &mut *copies, table: &mut *table });
        }
    }
}

/// A stable insertion sort.
fn insertion<W: Word>(words: &mut [W]) {
    for i in 1..words.len() {
        let (word, mut at) = (words[i], i);
        while at > 0 && words[at - 1].key() > word.key() {
            words[at] = words[at - 1];
            at -= 1;
        }
        words[at] = word;
    }
}

#[cfg(test)]
mod tests {
    use super::super::base_case::SmallTable;
    use super::*;

    /// A table for n words takes n words, and no more than fit.
    #[test]
    fn tables_fit() {
        let mut levels = vec![Level::Portable, Level::best()];
        levels.dedup();
        for level in levels {
            for n in (0..3000).step_by(7) {
                if n <= base_case::most::<u64>(level, base_case::table_for::<u64>(n)) {
                    let table = table_for::<(u64, u64)>(n);
                    let most = most::<(u64, u64)>(level, table);
                    assert!(most >= n && table_for::<(u64, u64)>(most) <= table, "{n} words: {most}");
                }
            }
            assert_eq!(most::<u128>(level, 100), 0);
        }
    }

    /// Keys that agree in more bits than a pair holds, in long runs and short ones.
    #[test]
    fn long_prefixes() {
        let mut table = SmallTable::new();
        for n in [2, 15, 17, 100, 130, 1000] {
            for (prefixes, rest) in [(1u64, 3u64), (1, 1 << 20), (3, 1 << 9), (n as u64, 4)] {
                let number = |i: usize| (i as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
                let word = |i| {
                    let prefix = (number(i) >> 100) % u128::from(prefixes);
                    (prefix << 70) + (number(i) >> 64) % u128::from(rest)
                };
                let words: Vec<u128> = (0..n).map(word).collect();
                let (mut sorted, mut expected) = (words.clone(), words);
                expected.sort();
                // SAFETY: one place; the table takes that many.
                unsafe { base_case(Level::best(), sorted.as_mut_ptr(), n, 128, table.get()) };
                assert_eq!(sorted, expected, "{n} words of {prefixes} prefixes");
            }
        }
    }
}
