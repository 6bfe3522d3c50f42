//! The work every stream contender does: fill a range with a known sequence, and add it up again.
//!
//! Word `i` of a stream is `(i + 1) * STEP` with an odd `STEP`: no word is zero, no two words of a
//! stream are equal, and the sum has a closed form. The loops are one SIMD store, or one load and
//! one addition, per vector, so what limits them is memory and whatever moves the blocks. The
//! widest instruction set is chosen at run time; on AVX-512 an 8 MiB range is filled and summed at
//! the speed of the cache.
//!
//! A sum alone would not see two blocks that changed places, so [`Tally`] also compares the first
//! and the last word of every piece with the closed form.

mod items;
mod tally;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::sync::OnceLock;

pub(crate) use items::{LANES, fill_items, sum_items};
pub(crate) use tally::Tally;

/// The difference between neighbouring words. Odd, so that words repeat only after 2^64 of them.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Word `index` of every stream.
pub(crate) const fn word(index: u64) -> u64 {
    index.wrapping_add(1).wrapping_mul(STEP)
}

/// The sum of the first `words` words: `STEP * n (n + 1) / 2`, modulo 2^64.
pub(crate) const fn expected_sum(words: u64) -> u64 {
    let n = words as u128;
    ((n * (n + 1) / 2) as u64).wrapping_mul(STEP)
}

/// The instruction sets the loops exist for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// 64-byte vectors.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// 32-byte vectors.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Whatever the compiler makes of a plain loop.
    Portable,
}

impl Level {
    /// The widest one this machine has; detected once.
    pub(crate) fn best() -> Level {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| {
            #[cfg(target_arch = "x86_64")]
            {
                if is_x86_feature_detected!("avx512f") {
                    return Level::Avx512;
                }
                if is_x86_feature_detected!("avx2") {
                    return Level::Avx2;
                }
            }
            Level::Portable
        })
    }
}

/// Writes words `first..` into `out`.
pub(crate) fn fill(out: &mut [u64], first: u64) {
    // SAFETY: a slice is valid for writes over its whole length.
    unsafe { fill_at(out.as_mut_ptr(), out.len(), first) }
}

/// The sum of `words`.
pub(crate) fn sum(words: &[u64]) -> u64 {
    // SAFETY: a slice is valid for reads over its whole length.
    unsafe { sum_at(words.as_ptr(), words.len()) }
}

/// Writes words `first..first + words` from `out` on, in address order.
///
/// # Safety
///
/// `out` must be valid for writes of `words` words, or be a stream pointer on which such writes are
/// legal in ascending order, one vector at a time.
pub(crate) unsafe fn fill_at(out: *mut u64, words: usize, first: u64) {
    match Level::best() {
        // SAFETY: the level says the feature is there; the range is the caller's promise.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { x86::fill_avx512(out, words, first) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { x86::fill_avx2(out, words, first) },
        // SAFETY: the caller's promise.
        Level::Portable => unsafe { fill_tail(out, 0, words, first) },
    }
}

/// The sum of `words` words from `from` on, read in address order.
///
/// # Safety
///
/// `from` must be valid for reads of `words` words, or be a stream pointer on which such reads are
/// legal in ascending order, a few vectors at a time.
pub(crate) unsafe fn sum_at(from: *const u64, words: usize) -> u64 {
    match Level::best() {
        // SAFETY: the level says the feature is there; the range is the caller's promise.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { x86::sum_avx512(from, words) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { x86::sum_avx2(from, words) },
        // SAFETY: the caller's promise.
        Level::Portable => unsafe { sum_tail(from, 0, words) },
    }
}

/// Words `from..words` of the fill, one at a time.
///
/// # Safety
///
/// As [`fill_at`].
#[inline]
unsafe fn fill_tail(out: *mut u64, from: usize, words: usize, first: u64) {
    let mut value = word(first.wrapping_add(from as u64));
    for i in from..words {
        // SAFETY: `i < words`, the length the caller promised.
        unsafe { out.add(i).write(value) };
        value = value.wrapping_add(STEP);
    }
}

/// Words `from..words` of the sum, one at a time.
///
/// # Safety
///
/// As [`sum_at`].
#[inline]
unsafe fn sum_tail(start: *const u64, from: usize, words: usize) -> u64 {
    let mut total = 0u64;
    for i in from..words {
        // SAFETY: `i < words`, the length the caller promised.
        total = total.wrapping_add(unsafe { start.add(i).read() });
    }
    total
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// What the kernels compute, said in the slowest and plainest way.
    pub(super) fn naive(first: u64, words: u64) -> Vec<u64> {
        (first..first + words).map(|i| STEP.wrapping_mul(i + 1)).collect()
    }

    #[test]
    fn fill_and_sum_agree_with_the_plain_loop_at_every_length_and_offset() {
        for words in (0..130).chain([4096, 4099]) {
            for offset in 0..9 {
                let mut buffer = vec![7u64; offset + words + 3];
                fill(&mut buffer[offset..offset + words], 11);
                let want = naive(11, words as u64);
                assert_eq!(&buffer[offset..offset + words], want.as_slice());
                assert!(buffer[..offset].iter().all(|w| *w == 7));
                assert!(buffer[offset + words..].iter().all(|w| *w == 7));
                let total = want.iter().fold(0u64, |a, b| a.wrapping_add(*b));
                assert_eq!(sum(&buffer[offset..offset + words]), total);
            }
        }
    }

    #[test]
    fn every_level_the_machine_has_does_the_same() {
        let want = naive(5, 1000);
        let total = want.iter().fold(0u64, |a, b| a.wrapping_add(*b));
        let mut got = vec![0u64; 1000];
        // SAFETY: the ranges are the vector's own.
        unsafe {
            fill_tail(got.as_mut_ptr(), 0, 1000, 5);
            assert_eq!(got, want);
            assert_eq!(sum_tail(got.as_ptr(), 0, 1000), total);
        }
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            got.fill(0);
            // SAFETY: the feature is there and the ranges are the vector's own.
            unsafe {
                x86::fill_avx2(got.as_mut_ptr(), 1000, 5);
                assert_eq!(got, want);
                assert_eq!(x86::sum_avx2(got.as_ptr(), 1000), total);
            }
        }
    }

    #[test]
    fn the_closed_form_is_the_sum() {
        for words in [0, 1, 2, 3, 1000, 65_536] {
            let total = naive(0, words).iter().fold(0u64, |a, b| a.wrapping_add(*b));
            assert_eq!(expected_sum(words), total);
        }
    }
}
