//! A probe: the keys of a few words, which tell cheaply how the keys of a base case are distributed.

use super::{Level, Word};

/// How many words a probe takes.
pub(crate) const PROBE: usize = 32;
/// 32 uniform keys hit 20 of 32 equal bins of their range in the mean, hardly ever fewer than this,
const EVEN: u32 = 14;
/// and seldom fewer than this, as uneven keys mostly do.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) const SURELY_EVEN: u32 = 17;

/// The keys of a few words far apart. Of wide keys it has 64 bits, from the highest differing bit down. The other keys
/// are probably distributed alike.
pub(crate) struct Probe {
    #[cfg_attr(not(all(target_arch = "x86_64", not(miri))), expect(dead_code, reason = "there are no vectors"))]
    pub(super) keys: [u64; PROBE],
    hits: u32,
}

impl Probe {
    /// Probes at least one word.
    pub(crate) fn of<W: Word>(level: Level, words: &[W]) -> Probe {
        level.run(
            #[inline(always)]
            || {
                let keys = probe(words);
                Probe { keys, hits: hits::<32>(&keys) }
            },
        )
    }

    /// Whether the keys are unevenly distributed, so that a radix step would be unbalanced.
    pub(crate) fn seems_uneven(&self) -> bool {
        self.hits < EVEN
    }

    /// Whether all probed keys are the same.
    pub(crate) fn seems_one(&self) -> bool {
        self.hits == 1
    }
}

#[inline(always)]
fn probe<W: Word>(words: &[W]) -> [u64; PROBE] {
    let step = (words.len() / PROBE).max(1);
    let key = |i: usize| words[(i * step).min(words.len() - 1)].key();
    let dropped = match W::KEY_BITS > u64::BITS {
        true => u64::BITS - (0..PROBE).fold(0, |differ, i| differ | ((key(i) ^ key(0)) >> 64) as u64).leading_zeros(),
        false => 0,
    };
    // `from_fn` is not always inlined.
    let mut keys = [0; PROBE];
    for (i, number) in keys.iter_mut().enumerate() {
        *number = (key(i) >> dropped) as u64;
    }
    keys
}

/// How many of `PARTS` equal bins of their range, up to 64, the numbers hit.
#[inline(always)]
pub(crate) fn hits<const PARTS: u64>(numbers: &[u64; PROBE]) -> u32 {
    const { assert!(PARTS <= 64) };
    let (low, high) = numbers.iter().fold((u64::MAX, 0), |(low, high), &number| (number.min(low), number.max(high)));
    let shift = (u64::BITS - (high - low).leading_zeros()).saturating_sub(u32::BITS);
    let parts_each = (PARTS << 32) / (((high - low) >> shift) + 1);
    let part = |number: u64| (((number - low) >> shift) * parts_each) >> 32;
    numbers.iter().fold(0u64, |hit, &number| hit | 1 << part(number)).count_ones()
}
