//! Which bucket a word belongs to: what the loops that split a range have in common.

use super::{Word, prefetch, words_in};
use crate::sort::bounds::Bounds;

/// So many cache lines are asked for ahead: the processor does so by itself, but begins again with each page.
const AHEAD: usize = 16;
/// So many words are classified at once, where that takes more than a shift.
pub(super) const BATCH: usize = 64;

/// Asks for as many words as a batch has, so far ahead of these.
#[inline(always)]
pub(super) fn ask_for_batch<W>(words: *const W) {
    for line in 0..(BATCH * size_of::<W>()).div_ceil(64) {
        prefetch(words.cast::<u8>().wrapping_add((AHEAD + line) * 64));
    }
}

/// Sends each word to a bucket.
///
/// Bucket *numbers* may run in a circle: in the order of keys come first `first()` and those after it, up to the
/// fan-out, then those from 0. A bucket's place in that order is its *rank*.
///
/// # Safety
/// Bucket numbers are below the fan-out, which does not change, and the same word has the same number each time. `each`
/// hands on every word once, in turn. `rank` and `bucket` are each other's inverse.
pub(crate) unsafe trait Classifier<W: Word>: Sync {
    /// How many bucket numbers there are: a power of two.
    fn fan(&self) -> usize;

    /// The number of the bucket with the least keys.
    fn first(&self) -> usize;

    /// What is known of the keys of the bucket with this rank.
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

/// Buckets by some key bits: each has the keys that agree on all bits from `shift` up.
///
/// Digits run in a circle, so that keys which straddle a power of two need no more of them than others, and the digit
/// is the plain one: shifted and masked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Radix {
    known: Bounds,
    shift: u32,
    bits: u32,
}

impl Radix {
    /// The finest digit of so many bits, or fewer, that tells keys within these bounds apart.
    pub(crate) fn new(known: Bounds, bits: u32) -> Radix {
        let bits = bits.min(known.width());
        let mut shift = known.width() - bits;
        if (known.high >> shift) - (known.low >> shift) >= 1 << bits {
            shift += 1;
        }
        Radix { known, shift, bits }
    }

    /// How to compute a rank: a digit is shifted down so far, the least key's taken away, and masked.
    pub(super) fn steps(&self) -> (u32, usize, usize) {
        (self.shift, (self.known.low >> self.shift) as usize, (1 << self.bits) - 1)
    }

    /// The rank of a key's bucket.
    pub(crate) fn rank_of(&self, key: u128) -> usize {
        (key >> self.shift).saturating_sub(self.known.low >> self.shift) as usize
    }

    /// How many buckets there are keys for.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    pub(super) fn used(&self) -> usize {
        ((self.known.high >> self.shift) - (self.known.low >> self.shift)) as usize + 1
    }

    /// Whether each bucket has one key only.
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
