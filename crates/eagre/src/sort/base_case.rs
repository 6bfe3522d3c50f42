//! The base case of the recursion: a few thousand words.
//!
//! If keys are evenly distributed, as a probe of a few words tells, a base case puts words into small buckets by a radix
//! step. Otherwise it compares them.

use super::bounds::Bounds;
use super::counting::{self, Window};
use super::kernels::base_case::{self, SmallTable, Table};
use super::kernels::extremes::extremes;
use super::kernels::probe::Probe;
use super::kernels::{Level, Word};

/// 32 uniform keys hit 20 of 32 equal bins of their range in the mean. Normally distributed keys, which overflow buckets, hit
/// so many seldom,
const EVEN: u32 = 19;
/// and uniform keys seldom fewer than this.
const EVEN_ENOUGH: u32 = 16;

/// Whether there is a vector quicksort.
pub(super) fn compares_fast<W: Word>(level: Level) -> bool {
    !W::STABLE && (level == Level::Avx512 || level == Level::Avx2 && W::KEY_BITS <= u64::BITS)
}

/// Up to so many words are compared rather than split by splitters. 64-bit keys take a vector of AVX2 twice as long as
/// narrower ones: 9 to 14 ns each if 2^16 uneven ones are split, and 11 to 19 if they are compared (Zen 3).
pub(super) fn most_compared<W: Word>(level: Level) -> usize {
    match compares_fast::<W>(level) {
        false => 0,
        true if level == Level::Avx2 && W::KEY_BITS > u32::BITS => 1 << 15,
        true => usize::MAX,
    }
}

/// So many keys of 32 bits are compared in the registers of AVX-512, however they are distributed: nothing else is faster for
/// more than a few distributions.
const NARROW: usize = 1 << 20;

/// Whether so many words are compared, however their keys are distributed. The digits of floating-point numbers are hardly
/// ever even.
fn always_compared<W: Word>(level: Level, n: usize) -> bool {
    compares_fast::<W>(level)
        && (W::DIGITS_TOGETHER || level == Level::Avx512 && W::KEY_BITS <= u32::BITS && n <= NARROW)
}

/// Sorts up to a few thousand words without memory from the heap. Returns false if there are more.
pub(super) fn small<W: Word>(level: Level, words: &mut [W]) -> bool {
    if words.len() <= W::few(level) {
        W::by_comparison(level, words, &mut []);
        return true;
    }
    match Window::of_all() {
        Some(window) => counting::few(level, words, window),
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
        base_case_in_place(level, words, Bounds::of_bits(W::KEY_BITS), table, true);
    }
    fits
}

/// Sorts words that fit a base case. Returns false, with the words unchanged, if they must be compared and `compare` is
/// false.
pub(super) fn base_case_in_place<W: Word>(
    level: Level,
    words: &mut [W],
    known: Bounds,
    table: &mut Table,
    compare: bool,
) -> bool {
    if words.len() <= W::few(level) {
        W::by_comparison(level, words, table);
        return true;
    }
    if known.low == known.high {
        return true;
    }
    let whole = known == Bounds::of_bits(W::KEY_BITS);
    let mut far = whole;
    if compares_fast::<W>(level) {
        // What a split has left is most often even.
        if compare && (whole || W::DIGITS_TOGETHER) && always_compared::<W>(level, words.len()) {
            W::by_comparison(level, words, table);
            return true;
        }
        let probe = Probe::of(level, words);
        if compare && !is_even(level, words, &probe) {
            W::by_comparison(level, words, table);
            return true;
        }
        far &= W::KEY_BITS > u64::BITS || !probe.spans(known);
    }
    // Bounds that a split has left are good ones, and so are those that keys reach.
    let known = if far { extremes(level, words, 1) } else { known };
    // Gives up, with the words unchanged, if the buckets would be unbalanced.
    let balanced = known.low == known.high || base_case::base_case_in_place(level, words, known, table);
    if !balanced && compare {
        W::by_comparison(level, words, table);
    }
    balanced || compare
}

/// Whether a radix step is likely to be faster than the vector quicksort: if keys are evenly distributed.
fn is_even<W: Word>(level: Level, words: &[W], probe: &Probe) -> bool {
    // Narrow keys are compared nearly as fast as they are split.
    let doubt = if W::KEY_BITS <= u32::BITS { EVEN } else { EVEN_ENOUGH };
    probe.is_even(level, words, doubt)
}

/// Whether a radix step is likely to be faster for many words.
pub(super) fn digits_pay<W: Word>(level: Level, words: &[W]) -> bool {
    !always_compared::<W>(level, words.len()) && is_even(level, words, &Probe::of(level, words))
}
