//! A probe: the keys of a few words, which tell cheaply how the keys of a base case are distributed.

use super::{Level, Word};
use crate::sort::bounds::Bounds;

/// How many words a probe takes at first,
const PROBE: usize = 32;
/// and at most, one for each [`APART`] words. Keys that are distributed normally are told from even ones by so many.
const MORE: usize = 128;
const APART: usize = 16;

/// The keys of a few words far apart, of wide keys 64 bits, from the highest differing bit down. The other keys are probably
/// distributed alike.
pub(crate) struct Probe {
    keys: [u64; PROBE],
}

impl Probe {
    /// Probes at least one word.
    pub(crate) fn of<W: Word>(level: Level, words: &[W]) -> Probe {
        level.run(
            #[inline(always)]
            || Probe { keys: probe(words) },
        )
    }

    /// Whether the keys seem to be evenly distributed, so that a radix step would be balanced: they hit so many of 32 bins, and
    /// no two are the same; and so do more of these words.
    pub(crate) fn is_even<W: Word>(&self, level: Level, words: &[W], least: u32) -> bool {
        let same = |apart: usize| self.keys.iter().zip(&self.keys[apart..]).fold(false, |same, (a, b)| same | (a == b));
        hits(&self.keys) >= least
            && !(1..PROBE).any(same)
            && (words.len() < 2 * PROBE * APART || more_are_even(level, words))
    }

    /// Whether keys of up to 64 bits seem to lie all over these bounds, or nearly so.
    pub(crate) fn spans(&self, known: Bounds) -> bool {
        let (low, high) = self.keys.iter().fold((u64::MAX, 0), |(low, high), &key| (key.min(low), key.max(high)));
        u128::from(high - low) > (known.high - known.low) / 2
    }
}

/// Whether the keys of more words seem to be even. Of even ones, 81 in 128 bins are hit in the mean, and seldom fewer than 75;
/// of normally distributed ones 67.
#[inline(never)]
fn more_are_even<W: Word>(level: Level, words: &[W]) -> bool {
    level.run(
        #[inline(always)]
        || {
            if words.len() < MORE * APART {
                hits(&probe::<W, { MORE / 2 }>(words)) >= 37
            } else {
                hits(&probe::<W, MORE>(words)) >= 75
            }
        },
    )
}

#[inline(always)]
fn probe<W: Word, const N: usize>(words: &[W]) -> [u64; N] {
    let step = (words.len() / N).max(1);
    let key = |i: usize| words[(i * step).min(words.len() - 1)].key();
    let dropped = match W::KEY_BITS > u64::BITS {
        true => u64::BITS - (0..N).fold(0, |differ, i| differ | ((key(i) ^ key(0)) >> 64) as u64).leading_zeros(),
        false => 0,
    };
    // `from_fn` is not always inlined.
    let mut keys = [0; N];
    for (i, number) in keys.iter_mut().enumerate() {
        *number = (key(i) >> dropped) as u64;
    }
    keys
}

/// How many of as many equal bins of their range the numbers hit.
#[inline(always)]
fn hits<const N: usize>(numbers: &[u64; N]) -> u32 {
    let (low, high) = numbers.iter().fold((u64::MAX, 0), |(low, high), &number| (number.min(low), number.max(high)));
    let shift = (u64::BITS - (high - low).leading_zeros()).saturating_sub(u32::BITS);
    let parts_each = ((N as u64) << 32) / (((high - low) >> shift) + 1);
    let part = |number: u64| (((number - low) >> shift) * parts_each) >> 32;
    numbers.iter().fold(0u128, |hit, &number| hit | 1 << part(number)).count_ones()
}
