//! Keys of 32 bits in 512-bit registers.

use std::arch::asm;
use std::arch::x86_64::*;

use super::super::base_case::CAPACITY;
use super::avx512::{OTHER, blended, partners};
use super::{Vector, array, first};

with_avx512!();

/// The lanes from the last to the first.
static REVERSED: [u32; 16] = [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0];

/// Sixteen numbers of 32 bits.
#[derive(Clone, Copy)]
pub(in super::super) struct U32x16(__m512i);

/// Two blocks of eight by eight, one in the lower halves of the registers and one in the upper: their rows become
/// columns.
///
/// # Safety
/// See [`Vector`].
#[inline(always)]
unsafe fn rows_of_8(rows: [__m512i; 8]) -> [__m512i; 8] {
    // SAFETY: the caller's promise.
    unsafe {
        let [r0, r1, r2, r3, r4, r5, r6, r7] = rows;
        let (a0, a1) = (_mm512_unpacklo_epi32(r0, r1), _mm512_unpackhi_epi32(r0, r1));
        let (a2, a3) = (_mm512_unpacklo_epi32(r2, r3), _mm512_unpackhi_epi32(r2, r3));
        let (a4, a5) = (_mm512_unpacklo_epi32(r4, r5), _mm512_unpackhi_epi32(r4, r5));
        let (a6, a7) = (_mm512_unpacklo_epi32(r6, r7), _mm512_unpackhi_epi32(r6, r7));
        let (b0, b1) = (_mm512_unpacklo_epi64(a0, a2), _mm512_unpackhi_epi64(a0, a2));
        let (b2, b3) = (_mm512_unpacklo_epi64(a1, a3), _mm512_unpackhi_epi64(a1, a3));
        let (b4, b5) = (_mm512_unpacklo_epi64(a4, a6), _mm512_unpackhi_epi64(a4, a6));
        let (b6, b7) = (_mm512_unpacklo_epi64(a5, a7), _mm512_unpackhi_epi64(a5, a7));
        // Quarters 0 and 2 of the first, then those of the second; or 1 and 3.
        let (even, odd) = (_mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15));
        let (c0, c4) = (_mm512_permutex2var_epi64(b0, even, b4), _mm512_permutex2var_epi64(b0, odd, b4));
        let (c1, c5) = (_mm512_permutex2var_epi64(b1, even, b5), _mm512_permutex2var_epi64(b1, odd, b5));
        let (c2, c6) = (_mm512_permutex2var_epi64(b2, even, b6), _mm512_permutex2var_epi64(b2, odd, b6));
        let (c3, c7) = (_mm512_permutex2var_epi64(b3, even, b7), _mm512_permutex2var_epi64(b3, odd, b7));
        [c0, c1, c2, c3, c4, c5, c6, c7]
    }
}

// SAFETY: each function is one instruction or a few that do what its name says.
unsafe impl Vector for U32x16 {
    type Key = u32;
    type Eight = __m256i;
    type Eights = [__m256i; 16];
    const LANES: usize = 16;

    #[inline(always)]
    unsafe fn run<R>(work: impl FnOnce() -> R) -> R {
        // SAFETY: the caller's promise.
        unsafe { run(work) }
    }

    #[inline(always)]
    unsafe fn splat(key: u32) -> Self {
        // SAFETY: the caller's promise; so below.
        U32x16(unsafe { _mm512_set1_epi32(key as i32) })
    }

    #[inline(always)]
    unsafe fn load(from: *const u32) -> Self {
        // SAFETY: see `splat`.
        U32x16(unsafe { _mm512_loadu_si512(from.cast()) })
    }

    #[inline(always)]
    unsafe fn load_some(from: *const u32, n: usize, rest: Self) -> Self {
        // SAFETY: see `splat`.
        U32x16(unsafe { _mm512_mask_loadu_epi32(rest.0, first(n, 16) as u16, from.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u32) {
        // SAFETY: see `splat`.
        unsafe { _mm512_storeu_si512(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn store_some(self, to: *mut u32, n: usize) {
        // SAFETY: see `splat`.
        unsafe { _mm512_mask_storeu_epi32(to.cast(), first(n, 16) as u16, self.0) }
    }

    #[inline(always)]
    unsafe fn rows(buckets: *const u32, counts: &[u32], start: usize) -> [Self; 8] {
        // SAFETY: see `splat`. Buckets 0 to 7 are in the lower halves, 8 to 15 in the upper.
        unsafe {
            let missing = _mm256_set1_epi32(-1);
            let halves: [__m256i; 16] = array!(missing, |i| {
                let mask = first((counts[i] as usize).saturating_sub(start), 8) as u8;
                _mm256_mask_loadu_epi32(missing, mask, buckets.add(i * CAPACITY + start).cast())
            });
            let both = array!(_mm512_setzero_si512(), |i| {
                _mm512_inserti64x4::<1>(_mm512_castsi256_si512(halves[i]), halves[i + 8])
            });
            let rows = rows_of_8(both);
            array!(U32x16(rows[0]), |i| U32x16(rows[i]))
        }
    }

    #[inline(always)]
    unsafe fn columns(rows: [Self; 8]) -> [__m256i; 16] {
        // SAFETY: see `splat`.
        unsafe {
            let columns = rows_of_8(array!(rows[0].0, |i| rows[i].0));
            array!(_mm256_setzero_si256(), |i| match i < 8 {
                true => _mm512_castsi512_si256(columns[i]),
                false => _mm512_extracti64x4_epi64::<1>(columns[i - 8]),
            })
        }
    }

    #[inline(always)]
    unsafe fn store_eight(words: __m256i, to: *mut u32) {
        // SAFETY: see `splat`.
        unsafe { _mm256_storeu_si256(to.cast(), words) }
    }

    #[inline(always)]
    unsafe fn store_some_of_eight(words: __m256i, to: *mut u32, n: usize) {
        // SAFETY: see `splat`.
        unsafe { _mm256_mask_storeu_epi32(to.cast(), first(n, 8) as u8, words) }
    }

    #[inline(always)]
    unsafe fn sort(self, other: Self) -> (Self, Self) {
        // SAFETY: see `splat`.
        unsafe {
            let smaller = _mm512_min_epu32(self.0, other.0);
            (U32x16(smaller), U32x16(_mm512_ternarylogic_epi32::<OTHER>(smaller, self.0, other.0)))
        }
    }

    #[inline(always)]
    unsafe fn blend(self, other: Self, other_lanes: usize) -> Self {
        // SAFETY: see `splat`.
        U32x16(unsafe { _mm512_mask_blend_epi32(blended(16, other_lanes) as u16, self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn keep_soon(self, other: Self, larger: usize) -> Self {
        // SAFETY: see `splat`.
        unsafe {
            let smaller = U32x16(_mm512_min_epu32(self.0, other.0));
            smaller.blend(U32x16(_mm512_max_epu32(self.0, other.0)), larger)
        }
    }

    #[inline(always)]
    unsafe fn swapped(self, partner: usize) -> Self {
        // SAFETY: see `splat`; sixteen numbers.
        unsafe {
            U32x16(_mm512_permutexvar_epi32(_mm512_loadu_si512(partners::<u32, 16>(partner).as_ptr().cast()), self.0))
        }
    }

    #[inline(always)]
    unsafe fn below(self, other: Self) -> u32 {
        // SAFETY: see `splat`.
        unsafe { _mm512_cmplt_epu32_mask(self.0, other.0).into() }
    }

    #[inline(always)]
    unsafe fn same(self, other: Self) -> u32 {
        // SAFETY: see `splat`.
        unsafe { _mm512_cmpeq_epu32_mask(self.0, other.0).into() }
    }

    #[inline(always)]
    unsafe fn compress(self, mask: u32) -> Self {
        // SAFETY: see `splat`.
        U32x16(unsafe { _mm512_maskz_compress_epi32(mask as u16, self.0) })
    }

    #[inline(always)]
    unsafe fn split(self, mask: u32) -> (Self, Self) {
        let mut order = REVERSED.as_ptr();
        // SAFETY: see `splat`. No instruction: the compiler does not see the order, or would reverse in two steps.
        unsafe {
            asm!("/* {0} */", inout(reg) order, options(pure, readonly, nostack, preserves_flags));
            let order = _mm512_loadu_si512(order.cast());
            (self.compress(mask), U32x16(_mm512_permutexvar_epi32(order, self.compress(!mask).0)))
        }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: see `splat`.
        U32x16(unsafe { _mm512_xor_si512(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: see `splat`.
        U32x16(unsafe { _mm512_or_si512(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn spread_sign(self) -> Self {
        // SAFETY: see `splat`.
        U32x16(unsafe { _mm512_srai_epi32::<31>(self.0) })
    }

    #[inline(always)]
    unsafe fn swap_halves(self) -> Self {
        // SAFETY: see `splat`.
        U32x16(unsafe { _mm512_rol_epi32::<16>(self.0) })
    }
}
