//! AVX-512 and AVX2.

use super::loops::Block;
use std::arch::x86_64::*;

pub(super) fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
}

pub(super) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
}

/// AVX-512: a comparison gives a mask.
pub(super) mod avx512 {
    use super::super::loops::entry_points;
    entry_points!(super::Wide, "avx512f,avx512bw,bmi1,bmi2,popcnt");
}

/// AVX2: a comparison gives bytes, whose top bits are collected.
pub(super) mod avx2 {
    use super::super::loops::entry_points;
    entry_points!(super::Pair, "avx2,bmi1,bmi2,popcnt");
}

/// One register of 64 bytes.
#[derive(Clone, Copy)]
pub(super) struct Wide(__m512i);

// SAFETY: the methods need what `has_avx512` asks for and the entry points enable.
unsafe impl Block for Wide {
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Wide {
        // SAFETY: the caller says that 64 bytes can be read there.
        Wide(unsafe { _mm512_loadu_si512(from.cast()) })
    }

    #[inline(always)]
    unsafe fn equal(self, byte: u8) -> u64 {
        // SAFETY: the caller's contract.
        unsafe { _mm512_cmpeq_epi8_mask(self.0, _mm512_set1_epi8(byte as i8)) }
    }

    #[inline(always)]
    unsafe fn between(self, low: u8, high: u8) -> u64 {
        // SAFETY: the caller's contract.
        unsafe {
            let from_low = _mm512_sub_epi8(self.0, _mm512_set1_epi8(low as i8));
            _mm512_cmple_epu8_mask(from_low, _mm512_set1_epi8((high - low) as i8))
        }
    }
}

/// Two registers of 32 bytes.
#[derive(Clone, Copy)]
pub(super) struct Pair(__m256i, __m256i);

// SAFETY: the methods need what `has_avx2` asks for and the entry points enable.
unsafe impl Block for Pair {
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Pair {
        // SAFETY: the caller says that 64 bytes can be read there.
        unsafe { Pair(_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(32).cast())) }
    }

    #[inline(always)]
    unsafe fn equal(self, byte: u8) -> u64 {
        // SAFETY: the caller's contract.
        unsafe {
            let wanted = _mm256_set1_epi8(byte as i8);
            Pair(_mm256_cmpeq_epi8(self.0, wanted), _mm256_cmpeq_epi8(self.1, wanted)).mask()
        }
    }

    #[inline(always)]
    unsafe fn between(self, low: u8, high: u8) -> u64 {
        // SAFETY: the caller's contract.
        unsafe {
            let (low, span) = (_mm256_set1_epi8(low as i8), _mm256_set1_epi8((high - low) as i8));
            // A byte is at most `span` above `low` if the smaller of its distance and `span` is the distance.
            let (first, second) = (_mm256_sub_epi8(self.0, low), _mm256_sub_epi8(self.1, low));
            let first = _mm256_cmpeq_epi8(_mm256_min_epu8(first, span), first);
            let second = _mm256_cmpeq_epi8(_mm256_min_epu8(second, span), second);
            Pair(first, second).mask()
        }
    }

    /// A match is a byte of all ones, which is -1. It is subtracted from a register with one counter per byte lane. The
    /// counters are summed before they can overflow.
    #[inline(always)]
    unsafe fn count(byte: u8, bytes: &[u8]) -> u64 {
        // SAFETY: the loads read whole blocks of a slice; the caller says that the instructions are there.
        unsafe {
            let wanted = _mm256_set1_epi8(byte as i8);
            let mut sum = _mm256_setzero_si256();
            for stretch in bytes.chunks(255 * 64) {
                let mut counters = (_mm256_setzero_si256(), _mm256_setzero_si256());
                for block in stretch.chunks_exact(64) {
                    let Pair(first, second) = Pair::load(block.as_ptr());
                    counters.0 = _mm256_sub_epi8(counters.0, _mm256_cmpeq_epi8(first, wanted));
                    counters.1 = _mm256_sub_epi8(counters.1, _mm256_cmpeq_epi8(second, wanted));
                }
                sum = _mm256_add_epi64(sum, _mm256_sad_epu8(counters.0, _mm256_setzero_si256()));
                sum = _mm256_add_epi64(sum, _mm256_sad_epu8(counters.1, _mm256_setzero_si256()));
            }
            let mut sums = [0u64; 4];
            _mm256_storeu_si256(sums.as_mut_ptr().cast(), sum);
            sums.iter().sum()
        }
    }
}

impl Pair {
    /// The top bit of each byte.
    ///
    /// # Safety
    /// The processor has AVX2.
    #[inline(always)]
    unsafe fn mask(self) -> u64 {
        // SAFETY: the caller's contract.
        let (first, second) = unsafe { (_mm256_movemask_epi8(self.0) as u32, _mm256_movemask_epi8(self.1) as u32) };
        u64::from(first) | u64::from(second) << 32
    }
}
