//! The base case of the recursion: a few thousand words.
//!
//! If keys are evenly distributed, a base case puts words into small buckets, by a radix step or on another scale.
//! Otherwise it compares words. A probe of a few words usually tells which is better. Where it does not, the base cases
//! before this one do: if their radix steps were unbalanced, the next ones probably are too ([`Backoff`]).

use super::bounds::Bounds;
use super::counting;
use super::kernels::base_case::{self, SmallTable, Table};
use super::kernels::extremes::extremes;
use super::kernels::probe::Probe;
use super::kernels::scratch::as_room;
use super::kernels::{Level, Word, dominant};

/// In a range with a dominant key, one of so many words may be an outlier.
const OTHERS: usize = 16;
/// Fewer words are compared as fast as outliers are extracted.
const MANY: usize = 1 << 10;

/// Whether there is a vector quicksort.
pub(super) fn compares_fast<W: Word>(level: Level) -> bool {
    !W::STABLE && (level == Level::Avx512 || level == Level::Avx2 && W::KEY_BITS <= u64::BITS)
}

/// Sorts up to a few thousand words without memory from the heap. Returns false if there are more.
pub(super) fn small<W: Word>(level: Level, words: &mut [W]) -> bool {
    if words.len() <= W::few(level) {
        W::by_comparison(level, words, &mut []);
        return true;
    }
    match W::COUNTED {
        Some(from_key) => counting::few(level, words, from_key),
        None => small_base_case(level, words),
    }
}

/// A function of its own: to make room for its table on the stack takes as long as to sort a few words.
#[inline(never)]
fn small_base_case<W: Word>(level: Level, words: &mut [W]) -> bool {
    let mut table = SmallTable::new();
    let table = table.get();
    let fits = words.len() <= base_case::most::<W>(level, table.len());
    if fits {
        base_case_in_place(level, words, Bounds::of_bits(W::KEY_BITS), table, true, &mut Backoff::default());
    }
    fits
}

/// Exponential backoff: after two unbalanced radix steps in a row, the next base case does not try one. After another
/// failure the next two do not, then four, and so on.
#[derive(Default)]
pub(super) struct Backoff {
    /// How many tries have failed in a row.
    failed: u32,
    /// How many base cases still do not try.
    left: u32,
}

impl Backoff {
    /// The most base cases in a row that do not try, as a power of two.
    const MOST: u32 = 4;

    /// Whether to try.
    fn tries(&mut self) -> bool {
        let tries = self.left == 0;
        self.left = self.left.saturating_sub(1);
        tries
    }

    /// Records whether a try succeeded.
    fn learn(&mut self, balanced: bool) {
        self.failed = if balanced { 0 } else { (self.failed + 1).min(Self::MOST + 2) };
        self.left = (1 << self.failed) >> 2;
    }
}

/// Sorts words that fit a base case. Returns false, with the words unchanged, if they must be compared and `compare` is
/// false.
pub(super) fn base_case_in_place<W: Word>(
    level: Level,
    words: &mut [W],
    known: Bounds,
    table: &mut Table,
    compare: bool,
    backoff: &mut Backoff,
) -> bool {
    if words.len() <= W::few(level) {
        W::by_comparison(level, words, table);
        return true;
    }
    if known.low == known.high {
        return true;
    }
    if compare && compares_fast::<W>(level) {
        let probe = Probe::of(level, words);
        let uneven = probe.seems_uneven() || !backoff.tries();
        // Floating-point numbers between 0 and 1 seem even, and a radix step finds out late that they are not.
        let unknown = W::DIGITS_TOGETHER && known == Bounds::of_bits(W::KEY_BITS);
        if (uneven || unknown) && W::base_case_on_a_scale(level, words, &probe, table) {
            return true;
        }
        if uneven {
            let one = probe.seems_one() && words.len() >= MANY;
            if !one || !sort_dominant(level, words, table) {
                W::by_comparison(level, words, table);
            }
            return true;
        }
    }
    let balanced = by_digits(level, words, known, table);
    backoff.learn(balanced);
    if !balanced && compare {
        W::by_comparison(level, words, table);
    }
    balanced || compare
}

/// Sorts words that nearly all equal the first. Returns false, with the words in another order, if there are too many
/// outliers.
#[inline(never)]
fn sort_dominant<W: Word>(level: Level, words: &mut [W], table: &mut Table) -> bool {
    let word = words[0];
    let room = as_room(table);
    let most = room.len().min(words.len() / OTHERS);
    let Some(outliers) = dominant::extract(level, words, word, &mut room[..most]) else { return false };
    let front = outliers.len();
    dominant::restore(words, outliers);
    W::by_comparison(level, &mut words[..front], table);
    dominant::merge(words, word, front);
    true
}

/// Sorts words by a radix step. Returns false, with the words unchanged, if it would be unbalanced.
fn by_digits<W: Word>(level: Level, words: &mut [W], known: Bounds, table: &mut Table) -> bool {
    if base_case::base_case_in_place(level, words, known, table) {
        return true;
    }
    let seen = extremes(level, words, 1);
    seen.low == seen.high || seen.width() < known.width() && base_case::base_case_in_place(level, words, seen, table)
}

#[cfg(test)]
mod tests {
    use super::super::kernels::scratch::Scratch;
    use super::*;
    use crate::scan::kernels::Simd;

    /// Words whose probe shows one key only, with few or many outliers on both sides of it.
    fn one_and_others<W: Word>(word: impl Fn(u64) -> W) {
        for level in [Level::up_to(Simd::Avx2), Level::up_to(Simd::Avx512)] {
            if !compares_fast::<W>(level) {
                eprintln!("skipped: no vectors for {}", std::any::type_name::<W>());
                continue;
            }
            for n in [1023, 1024, 2000, 20_000] {
                for every in [2, 15, 17, 100, n] {
                    let is_common = |i: u64| i.is_multiple_of(n / 32) || i % every != 1;
                    let number = |i: u64| if is_common(i) { 500 } else { i.wrapping_mul(0x9e37_79b9) % 1000 };
                    let mut words: Vec<W> = (0..n).map(|i| word(number(i))).collect();
                    assert!(Probe::of(level, &words).seems_one());
                    let mut expected: Vec<u128> = words.iter().map(|word| word.key()).collect();
                    expected.sort_unstable();
                    let mut table = Scratch::new(base_case::table_for::<W>(2 * n as usize)).unwrap();
                    let known = Bounds::of_bits(W::KEY_BITS);
                    assert!(base_case_in_place(level, &mut words, known, &mut table, true, &mut Backoff::default()));
                    assert!(words.iter().map(|word| word.key()).eq(expected), "{n}, {every}, {level:?}");
                }
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "there are no vectors")]
    fn nearly_all_the_same() {
        one_and_others(|i| i);
        one_and_others(|i| i as u32);
        one_and_others(|i| i as f64 - 500.0);
        one_and_others(|i| (500 - (i / 2) as u32, i as u32));
        one_and_others(|i| (7, i));
        one_and_others(|i| u128::from(i) << 80);
    }

    /// How many base cases do not try before each of so many tries with this outcome.
    fn left_out(backoff: &mut Backoff, tries: usize, balanced: bool) -> Vec<usize> {
        let mut next = || {
            let left = (0..).take_while(|_| !backoff.tries()).count();
            backoff.learn(balanced);
            left
        };
        (0..tries).map(|_| next()).collect()
    }

    #[test]
    fn fewer_tries_the_more_fail() {
        let mut backoff = Backoff::default();
        assert_eq!(left_out(&mut backoff, 9, false), [0, 0, 1, 2, 4, 8, 16, 16, 16]);
        // One that is not, and all are tried again.
        assert_eq!(left_out(&mut backoff, 4, true), [16, 0, 0, 0]);
        assert_eq!(left_out(&mut backoff, 3, false), [0, 0, 1]);
    }
}
