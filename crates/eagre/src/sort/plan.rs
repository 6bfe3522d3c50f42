//! What to do with a range that is too large for a leaf.
//!
//! Keys in order, or all the same, need nothing. If a sample says that nearly all of them are a few distinct keys, they
//! are counted. Else they are split: by their digits, which costs least, if that makes buckets of similar size; by
//! borders taken from the sample if not.

use super::bounds::Bounds;
use super::kernels::classifier::Radix;
use super::kernels::survey::{Order, extremes, order};
use super::kernels::tree::{self, Tree};
use super::kernels::{Level, Word};
use super::sample::Sample;

/// The next step for a range.
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and no memory but the stack")]
pub(super) enum Plan<W> {
    /// It is sorted.
    Nothing,
    /// It is sorted backwards.
    Reverse,
    /// To count. The word may be frequent.
    Tally(W),
    Radix(Radix),
    Tree(Tree),
}

/// What is asked of a plan.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// Ways to split by digits, as the number of bits.
    pub(super) bits: u32,
    /// Ways to split by borders, about.
    pub(super) ways: usize,
    /// So many words may be set aside in counting.
    pub(super) room: usize,
    /// So many threads may help.
    pub(super) threads: usize,
    /// How often this range and those that come of it may still be split by borders, or counted. A sample can be misled,
    /// digits cannot: they come to an end after as many steps as a key has bits.
    pub(super) guesses: u32,
}

/// Splitting so many ways is good enough whatever was asked for.
const MANY: usize = 64;
/// The largest part of words that may be rare where others are counted.
const RARE: f64 = 1.0 / 16.0;

/// Makes a plan for at least two words with keys within these bounds.
#[inline(never)]
pub(super) fn plan<W: Word>(level: Level, words: &[W], known: Bounds, wanted: Wanted) -> Plan<W> {
    match order(level, words, wanted.threads) {
        Order::Ascending => return Plan::Nothing,
        Order::Descending => return Plan::Reverse,
        Order::Neither => {}
    }
    let sample = Sample::draw(level, words, known);
    let rare = RARE.min(wanted.room as f64 / 2.0 / words.len() as f64);
    if wanted.guesses > 0
        && let Some(common) = sample.few(rare)
        && !W::STABLE
    {
        let lens = sample.lens();
        return Plan::Tally(
            words.iter().copied().take(1 << 12).find(|&word| lens.of(word) == common).unwrap_or(words[0]),
        );
    }
    let even = |radix: &Radix| sample.ways(radix) >= (3 << wanted.bits >> 3).min(MANY);
    let radix = Radix::new(known, wanted.bits);
    if even(&radix) {
        return Plan::Radix(radix);
    }
    let known = extremes(level, words, wanted.threads);
    if known.low == known.high {
        return Plan::Nothing;
    }
    let radix = Radix::new(known, wanted.bits);
    if wanted.guesses == 0 || radix.is_last() || even(&radix) {
        return Plan::Radix(radix);
    }
    let mut borders = [0; tree::FAN];
    match sample.borders(wanted.ways, &mut borders) {
        0 => Plan::Radix(radix),
        count => Plan::Tree(Tree::new(level, sample.lens(), known, &borders[..count])),
    }
}
