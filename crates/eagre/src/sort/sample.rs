//! A sample of a range's keys. It tells whether a radix step would be balanced, whether there are few distinct keys,
//! and where good splitters are.

use super::base_case;
use super::bounds::Bounds;
use super::kernels::classifier::Radix;
use super::kernels::tree::{self, KeyPrefix};
use super::kernels::{Level, Word};

/// The largest sample.
const MOST: usize = 4096;
/// A sample of this size usually suffices to see that a radix step is balanced.
pub(super) const FEW: usize = 512;
/// A sample of this size tells the rest, if no more ways than usual are asked for.
pub(super) const USUAL: usize = 2048;
/// The range has at least so many words for each one in the sample.
const EACH: usize = 32;

/// The prefixes of some keys, in order.
pub(super) struct Sample {
    prefix: KeyPrefix,
    keys: [u64; MOST],
    len: usize,
}

impl Sample {
    /// Samples one key from each of up to `most` equal parts of the range. The offset in each part is pseudorandom, so
    /// that patterns in the range do not bias the sample, and the same each time.
    pub(super) fn draw<W: Word>(level: Level, words: &[W], known: Bounds, most: usize) -> Sample {
        let prefix = KeyPrefix::new::<W>(known);
        let len = (words.len() / EACH).clamp(1, most.min(MOST));
        let part = words.len() / len;
        let mut keys = [0; MOST];
        let mut random = 1u64;
        for (i, key) in keys[..len].iter_mut().enumerate() {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let offset = ((random >> 32) * part as u64) >> 32;
            *key = prefix.of(words[i * part + offset as usize]);
        }
        // Without vectors a large sample is too much for a base case.
        if !base_case::small(level, &mut keys[..len]) {
            keys[..len].sort_unstable();
        }
        Sample { prefix, keys, len }
    }

    /// The bounds of the sampled keys.
    pub(super) fn bounds(&self) -> Bounds {
        let (low, high) = (self.keys[0], self.keys[self.len - 1]);
        Bounds { low: self.prefix.least(low), high: self.prefix.least(high) }
    }

    pub(super) fn prefix(&self) -> KeyPrefix {
        self.prefix
    }

    fn keys(&self) -> &[u64] {
        &self.keys[..self.len]
    }

    /// The effective number of buckets of a radix step: the inverse of the probability that two sampled keys share a
    /// bucket.
    pub(super) fn ways(&self, radix: &Radix) -> usize {
        let rank = |key: &u64| radix.rank_of(self.prefix.least(*key));
        let pairs: usize =
            self.keys().chunk_by(|one, two| rank(one) == rank(two)).map(|b| b.len() * (b.len() - 1)).sum();
        self.len * (self.len - 1) / pairs.max(1)
    }

    /// The most frequent key, if the range probably consists of few distinct keys but for outliers, and whether that
    /// key dominates. `rare` is the largest fraction of outliers.
    pub(super) fn few(&self, rare: f64) -> Option<(u64, bool)> {
        let (mut single, mut most) = (0, 0);
        let mut dominant = 0;
        for run in self.keys().chunk_by(|one, two| one == two) {
            single += usize::from(run.len() == 1);
            if run.len() > most {
                (most, dominant) = (run.len(), run[0]);
            }
        }
        let alone = (self.len - most) as f64 <= rare * self.len as f64;
        // Keys seen once are about as frequent as keys not seen at all.
        (self.prefix.is_exact() && self.len >= 64 && (single as f64) < rare * self.len as f64)
            .then_some((dominant, alone))
    }

    /// Finds splitters for about `ways` buckets of equal size. A key that is frequent enough to fill a bucket gets a
    /// bucket of its own, which is sorted then; so there may be up to twice as many buckets. Splitters are round
    /// numbers where there is a choice. Returns how many there would be, if there are more than fit: fewer than
    /// [`tree::FAN`] do.
    pub(super) fn splitters(&self, ways: usize, splitters: &mut [u64; tree::FAN]) -> usize {
        let keys = self.keys();
        let mut count = 0;
        let mut last = None;
        let mut add = |splitter: u64| {
            if splitter < u64::MAX && last < Some(splitter) {
                if let Some(place) = splitters.get_mut(count) {
                    *place = splitter;
                }
                last = Some(splitter);
                count += 1;
            }
        };
        for i in 1..ways {
            let at = i * self.len / ways;
            if at == 0 {
                continue;
            }
            let (before, after) = (keys[at - 1], keys[at]);
            if before < after {
                add(roundest(before, after) - 1);
                continue;
            }
            let run = keys.partition_point(|&key| key <= after) - keys.partition_point(|&key| key < after);
            if run * ways >= self.len && after > 0 {
                add(after - 1);
            }
            add(after);
        }
        count
    }
}

/// The number above `low` and up to `high` that ends in the most zero bits.
fn roundest(low: u64, high: u64) -> u64 {
    let zeros = (low ^ high).ilog2();
    high >> zeros << zeros
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without vectors, too, where the sample is too large for a base case.
    #[test]
    #[cfg_attr(miri, ignore = "many thousand words")]
    fn the_largest_sample_is_in_order() {
        let words: Vec<u64> = (0..200_000).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        for level in [Level::Portable, Level::best()] {
            let sample = Sample::draw(level, &words, Bounds::of_bits(64), MOST);
            assert!(sample.len == MOST && sample.keys().is_sorted(), "{level:?}");
        }
    }
}
