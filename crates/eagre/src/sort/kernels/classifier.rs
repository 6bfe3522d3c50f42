//! Classifiers: which bucket a word belongs to.

use super::{Word, prefetch, words_in};
use crate::sort::bounds::Bounds;

/// How many cache lines ahead to prefetch. The processor prefetches too, but starts anew at each page.
const AHEAD: usize = 16;
/// How many words are classified at once, if that takes more than a shift.
pub(super) const BATCH: usize = 64;

/// Prefetches as many words as a batch has, so far ahead of these.
#[inline(always)]
pub(super) fn ask_for_batch<W>(words: *const W) {
    for line in 0..(BATCH * size_of::<W>()).div_ceil(64) {
        prefetch(words.cast::<u8>().wrapping_add((AHEAD + line) * 64));
    }
}

/// Assigns each word to a bucket.
///
/// Bucket *numbers* may be rotated: in the order of keys, `first()` comes first, then the numbers after it up to the
/// fan-out, then those from 0. The position of a bucket in that order is its *rank*.
///
/// # Safety
/// Bucket numbers are below the fan-out, which does not change, and the same word has the same number each time. `each`
/// hands on every word once, in turn. `rank` and `bucket` are each other's inverse.
pub(crate) unsafe trait Classifier<W: Word>: Sync {
    /// How many bucket numbers there are: a power of two.
    fn fan(&self) -> usize;

    /// The number of the bucket with the smallest keys.
    fn first(&self) -> usize;

    /// The bounds of the keys of the bucket with this rank.
    fn bounds(&self, rank: usize) -> Bounds;

    /// Calls `put` with each of `n` words and its bucket, in order. Words that `put` has seen may be overwritten.
    ///
    /// # Safety
    /// The words may be read, until `put` gets them.
    unsafe fn each(&self, words: *const W, n: usize, put: impl FnMut(W, usize));

    /// The rank of the bucket with this number.
    fn rank(&self, bucket: usize) -> usize {
        bucket.wrapping_sub(self.first()) & (self.fan() - 1)
    }

    /// The number of the bucket with this rank.
    fn bucket(&self, rank: usize) -> usize {
        (self.first() + rank) & (self.fan() - 1)
    }
}

/// Buckets by some key bits: the keys of a bucket agree on all bits from `shift` up.
///
/// Bucket numbers are rotated, so that the number is simply the digit, shifted and masked, and keys that straddle a
/// power of two need no more buckets than others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Radix {
    known: Bounds,
    shift: u32,
    bits: u32,
}

impl Radix {
    /// The digit of `bits` bits, or fewer, that splits keys within these bounds most finely.
    pub(crate) fn new(known: Bounds, bits: u32) -> Radix {
        let bits = bits.min(known.width());
        let mut shift = known.width() - bits;
        if (known.high >> shift) - (known.low >> shift) >= 1 << bits {
            shift += 1;
        }
        Radix { known, shift, bits }
    }

    /// How to compute a rank: shift the key, subtract the digit of the smallest key, and mask.
    pub(super) fn steps(&self) -> (u32, usize, usize) {
        (self.shift, (self.known.low >> self.shift) as usize, (1 << self.bits) - 1)
    }

    /// The rank of a key's bucket.
    pub(crate) fn rank_of(&self, key: u128) -> usize {
        (key >> self.shift).saturating_sub(self.known.low >> self.shift) as usize
    }

    /// How many buckets there are possible keys for.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    pub(super) fn used(&self) -> usize {
        ((self.known.high >> self.shift) - (self.known.low >> self.shift)) as usize + 1
    }

    /// Whether each bucket has a single key.
    pub(crate) fn is_last(&self) -> bool {
        self.shift == 0
    }
}

// SAFETY: a number is masked, and is the word's own.
unsafe impl<W: Word> Classifier<W> for Radix {
    fn fan(&self) -> usize {
        1 << self.bits
    }

    fn first(&self) -> usize {
        (self.known.low >> self.shift) as usize & ((1 << self.bits) - 1)
    }

    fn bounds(&self, rank: usize) -> Bounds {
        let low = ((self.known.low >> self.shift) + rank as u128) << self.shift;
        let high = low | ((1 << self.shift) - 1);
        Bounds { low: low.max(self.known.low), high: high.min(self.known.high) }
    }

    #[inline(always)]
    unsafe fn each(&self, words: *const W, n: usize, mut put: impl FnMut(W, usize)) {
        let (shift, mask) = (self.shift, (1u32 << self.bits) - 1);
        if W::DIGITS_TOGETHER {
            let mut digits = [0; BATCH];
            for start in (0..n).step_by(BATCH) {
                let count = BATCH.min(n - start);
                ask_for_batch(words.wrapping_add(start));
                for (i, digit) in digits[..count].iter_mut().enumerate() {
                    // SAFETY: as many as there are; `put` has not seen them yet.
                    *digit = unsafe { *words.add(start + i) }.digit(shift) & mask;
                }
                for (i, &digit) in digits[..count].iter().enumerate() {
                    // SAFETY: as above.
                    put(unsafe { *words.add(start + i) }, digit as usize);
                }
            }
            return;
        }
        let line = const { words_in::<W>(64) };
        for start in (0..n).step_by(line) {
            prefetch(words.wrapping_add(start + AHEAD * line).cast());
            for i in start..n.min(start + line) {
                // SAFETY: i < n.
                let word = unsafe { *words.add(i) };
                put(word, (word.digit(shift) & mask) as usize);
            }
        }
    }
}
