//! Keys of 32 bits in 256-bit registers.

use std::arch::x86_64::*;

use super::super::base_case::CAPACITY;
use super::avx2::{common, orders, permuted, store_first};
use super::{Vector, array};

with_avx2!();

/// Eight numbers of 32 bits.
#[derive(Clone, Copy)]
pub(in super::super) struct U32x8(__m256i);

impl U32x8 {
    /// As [`super::U64x4`] has it, which turns bits over.
    #[inline(always)]
    unsafe fn new(bits: __m256i) -> U32x8 {
        U32x8(bits)
    }

    #[inline(always)]
    unsafe fn bits(self) -> __m256i {
        self.0
    }
}

/// All bits set in the first `n` numbers, from the middle of this on.
static FIRST_32: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

static ORDERS_32: [u64; 256] = orders(8);

/// A mask of the first `n` of eight lanes.
///
/// # Safety
/// See [`Vector`]; so below.
#[inline(always)]
unsafe fn first_32(n: usize) -> __m256i {
    // SAFETY: eight numbers from one of the first nine on.
    unsafe { _mm256_loadu_si256(FIRST_32.as_ptr().add(8 - n.min(8)).cast()) }
}

/// Eight rows of eight become columns.
#[inline(always)]
unsafe fn transposed_8([r0, r1, r2, r3, r4, r5, r6, r7]: [__m256i; 8]) -> [__m256i; 8] {
    // SAFETY: the caller's promise.
    unsafe {
        let (a0, a1) = (_mm256_unpacklo_epi32(r0, r1), _mm256_unpackhi_epi32(r0, r1));
        let (a2, a3) = (_mm256_unpacklo_epi32(r2, r3), _mm256_unpackhi_epi32(r2, r3));
        let (a4, a5) = (_mm256_unpacklo_epi32(r4, r5), _mm256_unpackhi_epi32(r4, r5));
        let (a6, a7) = (_mm256_unpacklo_epi32(r6, r7), _mm256_unpackhi_epi32(r6, r7));
        let (b0, b1) = (_mm256_unpacklo_epi64(a0, a2), _mm256_unpackhi_epi64(a0, a2));
        let (b2, b3) = (_mm256_unpacklo_epi64(a1, a3), _mm256_unpackhi_epi64(a1, a3));
        let (b4, b5) = (_mm256_unpacklo_epi64(a4, a6), _mm256_unpackhi_epi64(a4, a6));
        let (b6, b7) = (_mm256_unpacklo_epi64(a5, a7), _mm256_unpackhi_epi64(a5, a7));
        [
            _mm256_permute2x128_si256::<0x20>(b0, b4),
            _mm256_permute2x128_si256::<0x20>(b1, b5),
            _mm256_permute2x128_si256::<0x20>(b2, b6),
            _mm256_permute2x128_si256::<0x20>(b3, b7),
            _mm256_permute2x128_si256::<0x31>(b0, b4),
            _mm256_permute2x128_si256::<0x31>(b1, b5),
            _mm256_permute2x128_si256::<0x31>(b2, b6),
            _mm256_permute2x128_si256::<0x31>(b3, b7),
        ]
    }
}

// SAFETY: each function is one instruction or a few that do what its name says.
unsafe impl Vector for U32x8 {
    type Eight = __m256i;
    type Eights = [__m256i; 8];

    common!(u32, 8, first_32, ORDERS_32, _mm256_maskload_epi32, U32x8);

    #[inline(always)]
    unsafe fn splat(key: u32) -> Self {
        // SAFETY: see `run`.
        U32x8(unsafe { _mm256_set1_epi32(key as i32) })
    }

    #[inline(always)]
    unsafe fn rows(buckets: *const u32, counts: &[u32], start: usize) -> [Self; 8] {
        // SAFETY: see `run`.
        unsafe {
            let words = array!(_mm256_setzero_si256(), |i| {
                let here = (counts[i] as usize).saturating_sub(start);
                U32x8::load_some(buckets.add(i * CAPACITY + start), here, U32x8::largest()).0
            });
            let rows = transposed_8(words);
            array!(U32x8(rows[0]), |i| U32x8(rows[i]))
        }
    }

    #[inline(always)]
    unsafe fn columns(rows: [Self; 8]) -> [__m256i; 8] {
        // SAFETY: see `run`.
        unsafe { transposed_8(array!(rows[0].0, |i| rows[i].0)) }
    }

    #[inline(always)]
    unsafe fn store_eight(words: __m256i, to: *mut u32) {
        // SAFETY: see `run`.
        unsafe { U32x8(words).store(to) }
    }

    #[inline(always)]
    unsafe fn store_some_of_eight(words: __m256i, to: *mut u32, n: usize) {
        // SAFETY: see `run`.
        unsafe { U32x8(words).store_some(to, n) }
    }

    #[inline(always)]
    unsafe fn sort(self, other: Self) -> (Self, Self) {
        // SAFETY: see `run`.
        unsafe { (U32x8(_mm256_min_epu32(self.0, other.0)), U32x8(_mm256_max_epu32(self.0, other.0))) }
    }

    #[inline(always)]
    unsafe fn blend(self, other: Self, other_lanes: usize) -> Self {
        // SAFETY: see `run`.
        unsafe {
            U32x8(match other_lanes {
                1 => _mm256_blend_epi32::<0b10101010>(self.0, other.0),
                2 => _mm256_blend_epi32::<0b11001100>(self.0, other.0),
                _ => _mm256_blend_epi32::<0b11110000>(self.0, other.0),
            })
        }
    }

    #[inline(always)]
    unsafe fn swapped(self, partner: usize) -> Self {
        // SAFETY: see `run`; eight numbers.
        unsafe {
            let order: [u32; 8] = array!(0, |lane| lane as u32 ^ partner as u32);
            U32x8(_mm256_permutevar8x32_epi32(self.0, _mm256_loadu_si256(order.as_ptr().cast())))
        }
    }

    #[inline(always)]
    unsafe fn below(self, other: Self) -> u32 {
        // SAFETY: see `run`. Below is what is not the larger.
        unsafe {
            let same = _mm256_cmpeq_epi32(self.0, _mm256_max_epu32(self.0, other.0));
            !_mm256_movemask_ps(_mm256_castsi256_ps(same)) as u32 & 0xff
        }
    }

    #[inline(always)]
    unsafe fn same(self, other: Self) -> u32 {
        // SAFETY: see `run`.
        unsafe { _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(self.0, other.0))) as u32 }
    }

    #[inline(always)]
    unsafe fn spread_sign(self) -> Self {
        // SAFETY: see `run`.
        U32x8(unsafe { _mm256_srai_epi32::<31>(self.0) })
    }

    #[inline(always)]
    unsafe fn swap_halves(self) -> Self {
        // SAFETY: see `run`; no word needs it.
        U32x8(unsafe { _mm256_or_si256(_mm256_slli_epi32::<16>(self.0), _mm256_srli_epi32::<16>(self.0)) })
    }
}
