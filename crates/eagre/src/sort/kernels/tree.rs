//! Buckets by splitters that are found in a search tree: for keys whose radix step would be unbalanced.
//!
//! The tree is complete and lies in an array: the children of node `i` are `2i` and `2i + 1`. A search is a few steps
//! of arithmetic without branches, and the lanes of a register search for eight keys at once. A level of the tree that
//! fits two registers is looked up by one instruction. With 64 ways, eight keys take 27 instructions. The last of nine
//! levels is read from memory.

use super::classifier::{BATCH, Classifier, ask_for_batch};
use super::{Level, Word};
use crate::sort::bounds::Bounds;

/// The most ways to split.
pub(crate) const FAN: usize = 512;
/// The smallest height: so many levels fit a few registers.
const LEAST: u32 = 6;

/// A key reduced to 64 bits, in the same order: the key itself or, of a wider key, the highest bits of its distance
/// from the smallest key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyPrefix {
    low: u128,
    shift: u32,
}

impl KeyPrefix {
    /// For keys within these bounds.
    pub(crate) fn new<W: Word>(known: Bounds) -> KeyPrefix {
        match W::KEY_BITS {
            ..=64 => KeyPrefix { low: 0, shift: 0 },
            _ => KeyPrefix { low: known.low, shift: known.width().saturating_sub(64) },
        }
    }

    #[inline(always)]
    pub(crate) fn of<W: Word>(&self, word: W) -> u64 {
        match W::KEY_BITS {
            ..=64 => word.key() as u64,
            _ => (word.key().wrapping_sub(self.low) >> self.shift) as u64,
        }
    }

    /// Whether different keys have different prefixes.
    pub(crate) fn is_exact(&self) -> bool {
        self.shift == 0
    }

    /// The smallest key with this prefix.
    pub(crate) fn least(&self, number: u64) -> u128 {
        self.low + (u128::from(number) << self.shift)
    }

    /// The largest key with this prefix.
    fn largest(&self, number: u64) -> u128 {
        self.least(number).saturating_add((1 << self.shift) - 1)
    }
}

/// A search tree. Bucket `b` has the keys above splitter `b - 1`, up to and including splitter `b`.
pub(crate) struct Tree {
    level: Level,
    prefix: KeyPrefix,
    known: Bounds,
    bits: u32,
    /// In ascending order. Unused splitters are the largest number, which no key exceeds.
    splitters: [u64; FAN],
    nodes: [u64; FAN],
}

impl Tree {
    /// Makes a tree of fewer than [`FAN`] splitters in ascending order, for keys within `known`.
    pub(crate) fn new(level: Level, prefix: KeyPrefix, known: Bounds, sorted: &[u64]) -> Tree {
        assert!(sorted.len() < FAN && sorted.is_sorted());
        let bits = (sorted.len() + 1).next_power_of_two().ilog2().max(LEAST);
        let mut splitters = [u64::MAX; FAN];
        splitters[..sorted.len()].copy_from_slice(sorted);
        let mut nodes = [u64::MAX; FAN];
        for depth in 0..bits {
            for i in 0..1 << depth {
                // The middle of the i-th of so many equal parts.
                nodes[(1 << depth) + i] = splitters[((2 * i + 1) << (bits - depth - 1)) - 1];
            }
        }
        Tree { level, prefix, known, bits, splitters, nodes }
    }

    /// Replaces the splitters by as many others, or fewer.
    pub(super) fn change_splitters(&mut self, sorted: &[u64]) {
        *self = Tree::new(self.level, self.prefix, self.known, sorted);
    }

    /// The prefix of the largest key.
    pub(super) fn top(&self) -> u64 {
        ((self.known.high - self.prefix.low) >> self.prefix.shift) as u64
    }

    /// The splitters, in ascending order.
    pub(super) fn splitters(&self) -> &[u64] {
        &self.splitters[..self.splitters.partition_point(|&splitter| splitter < u64::MAX)]
    }

    pub(super) fn prefix(&self) -> KeyPrefix {
        self.prefix
    }

    fn search(&self, keys: &[u64; BATCH], found: &mut [u16; BATCH]) {
        match self.level {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: the level is only there if the processor has it.
            Level::Avx512 => unsafe { avx512::search(&self.nodes, self.bits, keys, found) },
            _ => search(&self.nodes, self.bits, keys, found),
        }
    }
}

/// Finds the bucket of each key.
fn search(nodes: &[u64; FAN], bits: u32, keys: &[u64; BATCH], found: &mut [u16; BATCH]) {
    let mut at = [1usize; BATCH];
    for _ in 0..bits {
        for (at, &key) in at.iter_mut().zip(keys) {
            *at = 2 * *at + usize::from(nodes[*at % FAN] < key);
        }
    }
    for (found, at) in found.iter_mut().zip(at) {
        *found = (at - (1 << bits)) as u16;
    }
}

// SAFETY: a search ends `bits` steps below the root.
unsafe impl<W: Word> Classifier<W> for Tree {
    fn fan(&self) -> usize {
        1 << self.bits
    }

    fn first(&self) -> usize {
        0
    }

    fn bounds(&self, rank: usize) -> Bounds {
        let low = match rank {
            0 => self.known.low,
            _ => self.prefix.largest(self.splitters[rank - 1]).saturating_add(1),
        };
        let high = match self.splitters[rank] {
            u64::MAX => self.known.high,
            splitter => self.prefix.largest(splitter),
        };
        Bounds { low: low.max(self.known.low), high: high.min(self.known.high) }
    }

    #[inline(always)]
    unsafe fn each(&self, words: *const W, n: usize, mut put: impl FnMut(W, usize)) {
        let (mut keys, mut found) = ([0; BATCH], [0; BATCH]);
        for start in (0..n).step_by(BATCH) {
            let count = BATCH.min(n - start);
            ask_for_batch(words.wrapping_add(start));
            for (i, key) in keys[..count].iter_mut().enumerate() {
                // SAFETY: as many as there are; `put` has not seen them yet.
                *key = self.prefix.of(unsafe { *words.add(start + i) });
            }
            self.search(&keys, &mut found);
            for (i, &bucket) in found[..count].iter().enumerate() {
                // SAFETY: as above.
                put(unsafe { *words.add(start + i) }, bucket.into());
            }
        }
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx512 {
    use std::arch::x86_64::*;

    use super::{BATCH, FAN};

    /// [`super::search`].
    #[target_feature(enable = "avx512f,avx512vl,avx512dq")]
    pub(super) fn search(nodes: &[u64; FAN], bits: u32, keys: &[u64; BATCH], found: &mut [u16; BATCH]) {
        match bits {
            ..=6 => search_in::<6>(nodes, keys, found),
            7 => search_in::<7>(nodes, keys, found),
            8 => search_in::<8>(nodes, keys, found),
            _ => search_in::<9>(nodes, keys, found),
        }
    }

    #[target_feature(enable = "avx512f,avx512vl,avx512dq")]
    fn search_in<const BITS: u32>(nodes: &[u64; FAN], keys: &[u64; BATCH], found: &mut [u16; BATCH]) {
        for (keys, found) in keys.as_chunks::<8>().0.iter().zip(found.as_chunks_mut::<8>().0) {
            // SAFETY: eight numbers.
            let keys = unsafe { _mm512_loadu_si512(keys.as_ptr().cast()) };
            let mut at = _mm512_set1_epi64(1);
            macro_rules! descend {
                ($node:expr) => {
                    let right = _mm512_cmplt_epu64_mask($node, keys);
                    // Add one where the mask is set: a lane of all ones is -1.
                    at = _mm512_sub_epi64(_mm512_add_epi64(at, at), _mm512_movm_epi64(right));
                };
            }
            descend!(_mm512_set1_epi64(nodes[1] as i64));
            descend!(_mm512_permutexvar_epi64(at, eight(nodes, 0)));
            descend!(_mm512_permutexvar_epi64(at, eight(nodes, 0)));
            descend!(_mm512_permutexvar_epi64(at, eight(nodes, 1)));
            descend!(of_16(nodes, 2, at));
            descend!(of_32(nodes, 4, at));
            if BITS > 6 {
                descend!(of_64(nodes, 8, at));
            }
            if BITS > 7 {
                let upper = _mm512_test_epi64_mask(at, _mm512_set1_epi64(64));
                descend!(_mm512_mask_mov_epi64(of_64(nodes, 16, at), upper, of_64(nodes, 24, at)));
            }
            if BITS > 8 {
                // SAFETY: `at` is from 256 to 511, and so many nodes are there.
                descend!(unsafe { _mm512_i64gather_epi64::<8>(at, nodes.as_ptr().cast()) });
            }
            let buckets = _mm512_cvtepi64_epi16(_mm512_sub_epi64(at, _mm512_set1_epi64(1 << BITS)));
            // SAFETY: eight numbers of 16 bits.
            unsafe { _mm_storeu_si128(found.as_mut_ptr().cast(), buckets) };
        }
    }

    /// The i-th group of eight nodes.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn eight(nodes: &[u64; FAN], i: usize) -> __m512i {
        // SAFETY: eight numbers; slicing has checked that they are there.
        unsafe { _mm512_loadu_si512(nodes[8 * i..8 * i + 8].as_ptr().cast()) }
    }

    /// Each lane's node among sixteen, by the lowest bits of `at`.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn of_16(nodes: &[u64; FAN], i: usize, at: __m512i) -> __m512i {
        _mm512_permutex2var_epi64(eight(nodes, i), at, eight(nodes, i + 1))
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn of_32(nodes: &[u64; FAN], i: usize, at: __m512i) -> __m512i {
        let upper = _mm512_test_epi64_mask(at, _mm512_set1_epi64(16));
        _mm512_mask_mov_epi64(of_16(nodes, i, at), upper, of_16(nodes, i + 2, at))
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn of_64(nodes: &[u64; FAN], i: usize, at: __m512i) -> __m512i {
        let upper = _mm512_test_epi64_mask(at, _mm512_set1_epi64(32));
        _mm512_mask_mov_epi64(of_32(nodes, i, at), upper, of_32(nodes, i + 4, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every key goes to the bucket that counting the smaller splitters gives, on every level, at and next to each
    /// splitter.
    #[test]
    fn finds_what_counting_finds() {
        let known = Bounds::of_bits(64);
        for count in [1, 2, 62, 63, 64, 127, 128, 255, 256, 510, 511] {
            let splitters: Vec<u64> = (0..count).map(|i| if i == 0 { 0 } else { u64::MAX / 512 * i + i % 3 }).collect();
            let near = |&splitter: &u64| [splitter.saturating_sub(1), splitter, splitter + 1];
            let mut keys: Vec<u64> = splitters.iter().flat_map(near).collect();
            keys.extend([u64::MAX - 1, u64::MAX]);
            for level in [Level::Portable, Level::best()] {
                let tree = Tree::new(level, KeyPrefix::new::<u64>(known), known, &splitters);
                let mut at = 0;
                let check = |key: u64, bucket: usize| {
                    assert_eq!(
                        (key, bucket),
                        (keys[at], splitters.partition_point(|&splitter| splitter < key)),
                        "{level:?}"
                    );
                    let bounds = Classifier::<u64>::bounds(&tree, bucket);
                    assert!((bounds.low..=bounds.high).contains(&key.into()), "{key} in {bounds:?}");
                    at += 1;
                };
                // SAFETY: all of the keys.
                unsafe { tree.each(keys.as_ptr(), keys.len(), check) };
                assert_eq!(at, keys.len());
            }
        }
    }

    /// A wide key lies within the bounds of its bucket.
    #[test]
    fn longer_keys_by_their_highest_bits() {
        let known = Bounds { low: 5 << 90, high: (7 << 90) - 1 };
        let keys: Vec<u128> = (0..1000).map(|i| known.low + (known.high - known.low) / 999 * i).collect();
        let prefix = KeyPrefix::new::<u128>(known);
        let splitters: Vec<u64> = (1..20).map(|i| prefix.of(keys[i * 50])).collect();
        for level in [Level::Portable, Level::best()] {
            let tree = Tree::new(level, prefix, known, &splitters);
            let mut last = 0;
            let check = |key: u128, bucket: usize| {
                let bounds = Classifier::<u128>::bounds(&tree, bucket);
                assert!(bucket >= last && (bounds.low..=bounds.high).contains(&key), "{key} in {bucket}: {bounds:?}");
                last = bucket;
            };
            // SAFETY: all of the keys.
            unsafe { tree.each(keys.as_ptr(), keys.len(), check) };
            assert_eq!(last, 19);
        }
    }
}
