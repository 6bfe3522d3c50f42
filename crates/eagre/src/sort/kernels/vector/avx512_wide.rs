//! Keys of 128 bits in two 512-bit registers, the upper halves in one and the lower in the other.

use std::arch::x86_64::*;

use super::super::base_case::CAPACITY;
use super::avx512::{OTHER, U64x8, blended, transposed, with_bit};
use super::{Vector, array, first};

with_avx512!();

/// Eight numbers of 128 bits.
#[derive(Clone, Copy)]
pub(in super::super) struct U128x8 {
    upper: __m512i,
    lower: __m512i,
}

/// From keys as they lie in memory, four in each register.
///
/// # Safety
/// See [`Vector`].
#[inline(always)]
unsafe fn split([front, back]: [__m512i; 2]) -> U128x8 {
    // SAFETY: the caller's promise.
    unsafe {
        let lower = _mm512_permutex2var_epi64(front, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), back);
        let upper = _mm512_permutex2var_epi64(front, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), back);
        U128x8 { upper, lower }
    }
}

/// The inverse.
///
/// # Safety
/// See [`Vector`].
#[inline(always)]
unsafe fn joined(U128x8 { upper, lower }: U128x8) -> [__m512i; 2] {
    // SAFETY: the caller's promise.
    unsafe {
        [
            _mm512_permutex2var_epi64(lower, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), upper),
            _mm512_permutex2var_epi64(lower, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), upper),
        ]
    }
}

// SAFETY: each function is a few instructions that do what its name says.
unsafe impl Vector for U128x8 {
    type Key = u128;
    type Eight = [__m512i; 2];
    type Eights = [[__m512i; 2]; 8];
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn run<R>(work: impl FnOnce() -> R) -> R {
        // SAFETY: the caller's promise; so below.
        unsafe { run(work) }
    }

    #[inline(always)]
    unsafe fn splat(key: u128) -> Self {
        // SAFETY: see `run`.
        unsafe { U128x8 { upper: _mm512_set1_epi64((key >> 64) as i64), lower: _mm512_set1_epi64(key as i64) } }
    }

    #[inline(always)]
    unsafe fn load(from: *const u128) -> Self {
        // SAFETY: see `run`.
        unsafe { split([_mm512_loadu_si512(from.cast()), _mm512_loadu_si512(from.add(4).cast())]) }
    }

    #[inline(always)]
    unsafe fn load_some(from: *const u128, n: usize, rest: Self) -> Self {
        let halves = from.cast::<u64>();
        // SAFETY: see `run`.
        unsafe {
            let [front, back] = joined(rest);
            let front = U64x8::load_some(halves, 2 * n.min(8), U64x8::new(front));
            let back = U64x8::load_some(halves.wrapping_add(8), (2 * n.min(8)).saturating_sub(8), U64x8::new(back));
            split([front.0, back.0])
        }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u128) {
        // SAFETY: see `run`.
        unsafe { Self::store_eight(joined(self), to) }
    }

    #[inline(always)]
    unsafe fn store_some(self, to: *mut u128, n: usize) {
        // SAFETY: see `run`.
        unsafe { Self::store_some_of_eight(joined(self), to, n) }
    }

    #[inline(always)]
    unsafe fn rows(buckets: *const u128, counts: &[u32], start: usize) -> [Self; 8] {
        // SAFETY: see `run`.
        unsafe {
            let bucket: [U128x8; 8] = array!(U128x8::splat(0), |i| {
                let here = (counts[i] as usize).saturating_sub(start);
                U128x8::load_some(buckets.add(i * CAPACITY + start), here, U128x8::largest())
            });
            let upper = transposed(array!(bucket[0].upper, |i| bucket[i].upper));
            let lower = transposed(array!(bucket[0].lower, |i| bucket[i].lower));
            array!(bucket[0], |i| U128x8 { upper: upper[i], lower: lower[i] })
        }
    }

    #[inline(always)]
    unsafe fn columns(rows: [Self; 8]) -> [[__m512i; 2]; 8] {
        // SAFETY: see `run`.
        unsafe {
            let upper = transposed(array!(rows[0].upper, |i| rows[i].upper));
            let lower = transposed(array!(rows[0].lower, |i| rows[i].lower));
            array!([upper[0], lower[0]], |i| joined(U128x8 { upper: upper[i], lower: lower[i] }))
        }
    }

    #[inline(always)]
    unsafe fn store_eight([front, back]: [__m512i; 2], to: *mut u128) {
        // SAFETY: see `run`.
        unsafe {
            _mm512_storeu_si512(to.cast(), front);
            _mm512_storeu_si512(to.add(4).cast(), back);
        }
    }

    #[inline(always)]
    unsafe fn store_some_of_eight([front, back]: [__m512i; 2], to: *mut u128, n: usize) {
        let n = 2 * n.min(8);
        // SAFETY: see `run`. Where nothing is left for the second, its place may be beyond the range.
        unsafe {
            _mm512_mask_storeu_epi64(to.cast(), first(n, 8) as u8, front);
            _mm512_mask_storeu_epi64(to.wrapping_add(4).cast(), first(n.saturating_sub(8), 8) as u8, back);
        }
    }

    #[inline(always)]
    unsafe fn sort(self, other: Self) -> (Self, Self) {
        // SAFETY: see `run`.
        unsafe {
            let swap = other.below(self) as u8;
            let smaller = U128x8 {
                upper: _mm512_min_epu64(self.upper, other.upper),
                lower: _mm512_mask_blend_epi64(swap, self.lower, other.lower),
            };
            let larger = U128x8 {
                upper: _mm512_ternarylogic_epi64::<OTHER>(smaller.upper, self.upper, other.upper),
                lower: _mm512_mask_blend_epi64(swap, other.lower, self.lower),
            };
            (smaller, larger)
        }
    }

    #[inline(always)]
    unsafe fn blend(self, other: Self, other_lanes: usize) -> Self {
        let lanes = blended(8, other_lanes) as u8;
        // SAFETY: see `run`.
        unsafe {
            let upper = _mm512_mask_blend_epi64(lanes, self.upper, other.upper);
            let lower = _mm512_mask_blend_epi64(lanes, self.lower, other.lower);
            U128x8 { upper, lower }
        }
    }

    #[inline(always)]
    unsafe fn keep(self, other: Self, larger: usize) -> Self {
        // SAFETY: see `run`.
        unsafe {
            let swap = (other.below(self) ^ with_bit(8, larger)) as u8;
            let upper = _mm512_mask_blend_epi64(swap, self.upper, other.upper);
            let lower = _mm512_mask_blend_epi64(swap, self.lower, other.lower);
            U128x8 { upper, lower }
        }
    }

    #[inline(always)]
    unsafe fn swapped(self, partner: usize) -> Self {
        // SAFETY: see `run`.
        unsafe {
            let (upper, lower) = (U64x8::new(self.upper).swapped(partner), U64x8::new(self.lower).swapped(partner));
            U128x8 { upper: upper.0, lower: lower.0 }
        }
    }

    #[inline(always)]
    unsafe fn below(self, other: Self) -> u32 {
        // SAFETY: see `run`.
        unsafe {
            let same = _mm512_cmpeq_epu64_mask(self.upper, other.upper);
            let below = _mm512_mask_cmplt_epu64_mask(same, self.lower, other.lower);
            (below | _mm512_cmplt_epu64_mask(self.upper, other.upper)).into()
        }
    }

    #[inline(always)]
    unsafe fn same(self, other: Self) -> u32 {
        // SAFETY: see `run`.
        unsafe {
            _mm512_mask_cmpeq_epu64_mask(_mm512_cmpeq_epu64_mask(self.upper, other.upper), self.lower, other.lower)
                .into()
        }
    }

    #[inline(always)]
    unsafe fn compress(self, mask: u32) -> Self {
        // SAFETY: see `run`.
        unsafe {
            let (upper, lower) = (U64x8::new(self.upper).compress(mask), U64x8::new(self.lower).compress(mask));
            U128x8 { upper: upper.0, lower: lower.0 }
        }
    }

    #[inline(always)]
    unsafe fn split(self, mask: u32) -> (Self, Self) {
        // SAFETY: see `run`.
        unsafe {
            let (upper, lower) = (U64x8::new(self.upper).split(mask).0, U64x8::new(self.lower).split(mask).0);
            let all = U128x8 { upper: upper.0, lower: lower.0 };
            (all, all)
        }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: see `run`.
        unsafe {
            let upper = _mm512_xor_si512(self.upper, other.upper);
            let lower = _mm512_xor_si512(self.lower, other.lower);
            U128x8 { upper, lower }
        }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: see `run`.
        unsafe {
            let upper = _mm512_or_si512(self.upper, other.upper);
            let lower = _mm512_or_si512(self.lower, other.lower);
            U128x8 { upper, lower }
        }
    }

    #[inline(always)]
    unsafe fn spread_sign(self) -> Self {
        // SAFETY: see `run`.
        let sign = unsafe { _mm512_srai_epi64::<63>(self.upper) };
        U128x8 { upper: sign, lower: sign }
    }

    #[inline(always)]
    unsafe fn swap_halves(self) -> Self {
        U128x8 { upper: self.lower, lower: self.upper }
    }
}
