//! The base case: one more radix step, or a step on another scale, into buckets that are small enough for comparing.
//!
//! The step takes place in a *table* beside the words. In the table of the vector kernels each bucket has room for
//! [`CAPACITY`] words, so that words are not counted before they are moved. The few words that do not fit their bucket
//! go to an overflow area.

use std::mem::MaybeUninit;

use super::classifier::Radix;
use super::{Level, Word};
use crate::sort::bounds::Bounds;

/// Scratch memory for a base case, aligned for any word. Its contents have no meaning between two base cases.
pub(crate) type Table = [MaybeUninit<u64>];

/// The words that a bucket of the vector kernels has room for.
pub(super) const CAPACITY: usize = 16;
/// The largest mean size of buckets. With more words too many would overflow.
pub(super) const MEAN: usize = 11;
/// The largest bucket that the portable kernel sorts by insertion.
const INSERTION: u32 = 64;
/// The most buckets of the portable kernel.
const FAN: usize = 256;

/// A table on the stack, for base cases that fit the first-level cache.
#[repr(C, align(64))]
pub(crate) struct SmallTable([MaybeUninit<u64>; table_len::<u64>(512)]);

impl SmallTable {
    pub(crate) const fn new() -> SmallTable {
        SmallTable([const { MaybeUninit::uninit() }; _])
    }

    pub(crate) fn get(&mut self) -> &mut Table {
        &mut self.0
    }
}

/// The number of buckets for `n` words: a power of two, for 5 to 11 words in each bucket.
pub(super) const fn buckets(n: usize) -> usize {
    let buckets = n.div_ceil(MEAN).next_power_of_two();
    if buckets < 8 { 8 } else { buckets }
}

/// The length of a table for so many buckets, in numbers of 64 bits: slots for words, two numbers of 32 bits for each
/// bucket, and the overflow area.
pub(super) const fn table_len<W>(buckets: usize) -> usize {
    buckets + size_of::<W>() * (buckets * CAPACITY + overflow_capacity(buckets)) / size_of::<u64>()
}

/// How many words may overflow: twice as many as uniform keys are expected to.
pub(super) const fn overflow_capacity(buckets: usize) -> usize {
    if buckets < 256 { 64 } else { buckets / 4 }
}

/// The length of a table for base cases of up to `n` words.
pub(crate) fn table_for<W: Word>(n: usize) -> usize {
    W::base_case_table(n)
}

/// The most words of a base case in a table of such a length.
pub(crate) fn most<W: Word>(level: Level, table: usize) -> usize {
    W::base_case_most(level, table)
}

/// [`most`] for [`scalar`].
pub(super) fn scalar_most<W>(table: usize) -> usize {
    (FAN * MEAN).min(table * size_of::<u64>() / size_of::<W>())
}

/// Sorts words whose keys are within the bounds `known` and not all the same. Returns false, with the words unchanged,
/// if the buckets would be too unbalanced.
pub(crate) fn base_case_in_place<W: Word>(level: Level, words: &mut [W], known: Bounds, table: &mut Table) -> bool {
    assert!(words.len() <= most::<W>(level, table.len()) && known.low < known.high);
    let at = words.as_mut_ptr();
    // SAFETY: one place; a level is only there if the processor has it.
    unsafe { W::base_case(level, at, words.len(), known, table) }
}

/// [`Word::base_case`] without vectors, for any word.
///
/// # Safety
/// See [`Word::base_case`].
pub(super) unsafe fn scalar<W: Word>(words: *mut W, n: usize, known: Bounds, table: &mut Table) -> bool {
    debug_assert!(n <= scalar_most::<W>(table.len()));
    let (shift, low, mask) = Radix::new(known, buckets(n).min(FAN).ilog2()).steps();
    let slots = table.as_mut_ptr().cast::<W>();
    assert!(slots.is_aligned());
    let mut counts = [0u32; FAN];
    let counts = &mut counts[..=mask];
    // SAFETY: the caller lets us read the words.
    let digit = |i| unsafe { ((*words.add(i)).digit(shift) as usize).wrapping_sub(low) & mask };
    for i in 0..n {
        counts[digit(i)] += 1;
    }
    if shift > 0 && counts.iter().any(|&count| count > INSERTION) {
        return false;
    }
    // From counts to starts.
    let mut start = 0;
    for count in counts.iter_mut() {
        start += std::mem::replace(count, start);
    }
    for i in 0..n {
        let end = &mut counts[digit(i)];
        // SAFETY: each word has its own place below n, and n words fit the table.
        unsafe { slots.add(*end as usize).write(*words.add(i)) };
        *end += 1;
    }
    let mut start = 0;
    for &end in counts.iter() {
        for i in start..end as usize {
            // SAFETY: i < n; so are those from `start` on.
            unsafe {
                let word = slots.add(i).read();
                let mut at = i;
                while shift > 0 && at > start && (*words.add(at - 1)).key() > word.key() {
                    words.add(at).write(*words.add(at - 1));
                    at -= 1;
                }
                words.add(at).write(word);
            }
        }
        start = end as usize;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::scratch::Scratch;
    use super::*;
    use crate::scan::kernels::Simd;

    /// Keys up to a little more than a power of two leave half of the buckets empty. That is no reason to give up.
    #[test]
    fn half_of_the_digits_unused() {
        let known = Bounds { low: 7, high: (1 << 40) + (1 << 30) };
        let key = |i: u64| ((u128::from(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)) * (known.high - 6)) >> 64) as u64 + 7;
        let mut words: Vec<u64> = (0..2700).map(key).collect();
        let mut table = Scratch::new(table_for::<u64>(5000)).unwrap();
        assert!(base_case_in_place(Level::best(), &mut words, known, &mut table));
        assert!(words.is_sorted());
    }

    /// No more different keys than words: from the smallest key there is, up to the largest, and in between. Near the
    /// ends of registers, keys occur once or many times.
    fn dense<W: Word>(word: impl Fn(u128) -> W) {
        let largest = Bounds::of_bits(W::KEY_BITS).high;
        for level in [Level::Portable, Level::up_to(Simd::Avx2), Level::up_to(Simd::Avx512)] {
            for (n, keys) in [(150, 2), (151, 20), (257, 257), (300, 100), (352, 352), (400, 3)] {
                let mut table = Scratch::new(table_for::<W>(n as usize)).unwrap();
                for low in [0, 3 << 20, largest - (keys - 1)] {
                    let known = Bounds { low, high: low + (keys - 1) };
                    // Few of the upper keys; the last one occurs or does not.
                    for upper in [keys, keys - 1] {
                        let (even, other) = (|i: u128| i * 7919 % upper, |i: u128| i * 104_729 % upper);
                        let key = |i| low + if keys == n { even(i) } else { even(i) * other(i) / upper };
                        let mut words: Vec<W> = (0..n).map(|i| word(key(i))).collect();
                        let mut expected: Vec<u128> = words.iter().map(|word| word.key()).collect();
                        expected.sort();
                        if !base_case_in_place(level, &mut words, known, &mut table) {
                            // Only the vector kernels sort uneven keys, and AVX2 has none for wide keys.
                            assert!(level == Level::Portable || level == Level::Avx2 && W::KEY_BITS > 64);
                            continue;
                        }
                        assert!(
                            words.iter().map(|word| word.key()).eq(expected),
                            "{level:?}, {n} words, {keys} keys from {low} on"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn dense_keys() {
        dense(|key| key as u64);
        dense(|key| key as u32);
        dense(|key| (key as u32 ^ 1 << 31) as i32);
        dense(|key| ((key >> 32) as u32, key as u32));
        dense(|key| key);
        dense(|key| ((key >> 64) as u64, key as u64));
        dense(|key| f64::from_bits(if key >> 63 == 1 { key as u64 ^ 1 << 63 } else { !key as u64 }));
    }
}
