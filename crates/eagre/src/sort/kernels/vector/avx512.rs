//! Keys of 64 bits in 512-bit registers.

use std::arch::asm;
use std::arch::x86_64::*;
use std::marker::PhantomData;

use super::super::base_case::CAPACITY;
use super::{Keys, Reals, Vector, array, first, floats_are_exact};

/// Whether the processor has what this level needs.
pub(in super::super) fn available() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

with_avx512!();

/// The function for floating-point numbers.
mod real {
    with_avx512!();
}

/// For an instruction of three operands: of two words and the smaller of them, the other, as a ^ b ^ c. It was faster
/// than a maximum on the Xeon of docs/lab/2026-11-23-sort-tried-xeon.md.
pub(super) const OTHER: i32 = 0x96;

/// The lanes in another order.
#[inline(always)]
pub(super) fn partners<T: From<u8>, const N: usize>(partner: usize) -> [T; N] {
    std::array::from_fn(|lane| T::from((lane ^ partner) as u8))
}

/// The lanes that have one of the bits.
#[inline(always)]
pub(super) fn with_bit(lanes: usize, bit: usize) -> u32 {
    (0..lanes).filter(|lane| lane & bit != 0).fold(0, |mask, lane| mask | 1 << lane)
}

/// The same for a blend. The compiler does not see which they are: it would make a shuffle of the blend, or one of it
/// and the next shuffle, and all of these take longer.
#[inline(always)]
pub(super) fn blended(lanes: usize, bit: usize) -> u32 {
    let mut mask = with_bit(lanes, bit);
    // SAFETY: no instruction.
    unsafe { asm!("/* {0:e} */", inout(reg) mask, options(pure, nomem, nostack, preserves_flags)) };
    mask
}

/// Eight numbers of 64 bits, compared as the form says.
#[derive(Clone, Copy)]
pub(in super::super) struct Eight<F>(pub(super) __m512i, PhantomData<F>);

/// Unsigned numbers.
pub(in super::super) type U64x8 = Eight<Unsigned>;
/// Floating-point numbers without NaN and without a negative zero, whose order is that of comparisons. On the Xeon of
/// docs/lab/2026-11-27-sort-grid-xeon.md they are sorted faster than as integers.
pub(in super::super) type F64x8 = Eight<Real>;

/// How numbers are compared.
///
/// # Safety
/// The functions do what they say. All may be called only as those of [`Vector`] may.
pub(in super::super) unsafe trait Form: Copy {
    /// What numbers are in memory.
    const KEYS: Keys;

    /// [`Vector::run`].
    unsafe fn run<R>(work: impl FnOnce() -> R) -> R;

    /// The smaller and the larger of each two.
    unsafe fn sort(one: __m512i, two: __m512i) -> (__m512i, __m512i);

    /// The smaller of each two.
    unsafe fn smaller(one: __m512i, two: __m512i) -> __m512i;

    /// The larger of each two.
    unsafe fn larger(one: __m512i, two: __m512i) -> __m512i;

    /// A bit for each number that is below the other.
    unsafe fn below(one: __m512i, two: __m512i) -> __mmask8;
}

#[derive(Clone, Copy)]
pub(in super::super) struct Unsigned;
#[derive(Clone, Copy)]
pub(in super::super) struct Real;

// SAFETY: numbers are compared as they are.
unsafe impl Form for Unsigned {
    const KEYS: Keys = Keys::Unsigned;

    #[inline(always)]
    unsafe fn run<R>(work: impl FnOnce() -> R) -> R {
        // SAFETY: the caller's promise.
        unsafe { run(work) }
    }

    #[inline(always)]
    unsafe fn sort(one: __m512i, two: __m512i) -> (__m512i, __m512i) {
        // SAFETY: see [`Form`].
        unsafe {
            let smaller = _mm512_min_epu64(one, two);
            (smaller, _mm512_ternarylogic_epi64::<OTHER>(smaller, one, two))
        }
    }

    #[inline(always)]
    unsafe fn smaller(one: __m512i, two: __m512i) -> __m512i {
        // SAFETY: see [`Form`]; so below.
        unsafe { _mm512_min_epu64(one, two) }
    }

    #[inline(always)]
    unsafe fn larger(one: __m512i, two: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_max_epu64(one, two) }
    }

    #[inline(always)]
    unsafe fn below(one: __m512i, two: __m512i) -> __mmask8 {
        // SAFETY: as above.
        unsafe { _mm512_cmplt_epu64_mask(one, two) }
    }
}

// SAFETY: of two that are equal, it does not matter which is taken.
unsafe impl Form for Real {
    const KEYS: Keys = Keys::Real;

    #[inline(always)]
    unsafe fn run<R>(work: impl FnOnce() -> R) -> R {
        // SAFETY: the caller's promise.
        unsafe { real::run(work) }
    }

    #[inline(always)]
    unsafe fn sort(one: __m512i, two: __m512i) -> (__m512i, __m512i) {
        // SAFETY: see [`Form`].
        unsafe { (Self::smaller(one, two), Self::larger(one, two)) }
    }

    #[inline(always)]
    unsafe fn smaller(one: __m512i, two: __m512i) -> __m512i {
        // SAFETY: see [`Form`]; so below.
        unsafe { _mm512_castpd_si512(_mm512_min_pd(_mm512_castsi512_pd(one), _mm512_castsi512_pd(two))) }
    }

    #[inline(always)]
    unsafe fn larger(one: __m512i, two: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_castpd_si512(_mm512_max_pd(_mm512_castsi512_pd(one), _mm512_castsi512_pd(two))) }
    }

    #[inline(always)]
    unsafe fn below(one: __m512i, two: __m512i) -> __mmask8 {
        // SAFETY: as above.
        unsafe { _mm512_cmp_pd_mask::<_CMP_LT_OQ>(_mm512_castsi512_pd(one), _mm512_castsi512_pd(two)) }
    }
}

impl<F> Eight<F> {
    #[inline(always)]
    pub(super) fn new(bits: __m512i) -> Eight<F> {
        Eight(bits, PhantomData)
    }
}

// SAFETY: every number is looked at.
unsafe impl Reals for F64x8 {
    #[inline(always)]
    unsafe fn fits(from: *const u64, n: usize) -> bool {
        // SAFETY: the caller's promise; nothing is read from n on.
        unsafe {
            let zero = _mm512_set1_epi64(i64::MIN);
            let mut odd = 0;
            for at in (0..n).step_by(8) {
                let bits = F64x8::load_some(from.add(at), n - at, F64x8::largest()).0;
                let number = _mm512_castsi512_pd(bits);
                odd |= _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(number, number) | _mm512_cmpeq_epi64_mask(bits, zero);
            }
            odd == 0 && floats_are_exact()
        }
    }
}

/// Rows of eight become columns.
///
/// # Safety
/// See [`Vector`].
#[inline(always)]
pub(super) unsafe fn transposed(rows: [__m512i; 8]) -> [__m512i; 8] {
    const EVEN: i32 = 0x88;
    const ODD: i32 = 0xdd;
    // SAFETY: the caller's promise.
    unsafe {
        let [r0, r1, r2, r3, r4, r5, r6, r7] = rows;
        let (a0, a1) = (_mm512_unpacklo_epi64(r0, r1), _mm512_unpackhi_epi64(r0, r1));
        let (a2, a3) = (_mm512_unpacklo_epi64(r2, r3), _mm512_unpackhi_epi64(r2, r3));
        let (a4, a5) = (_mm512_unpacklo_epi64(r4, r5), _mm512_unpackhi_epi64(r4, r5));
        let (a6, a7) = (_mm512_unpacklo_epi64(r6, r7), _mm512_unpackhi_epi64(r6, r7));
        let b0 = _mm512_shuffle_i64x2::<EVEN>(a0, a2);
        let b1 = _mm512_shuffle_i64x2::<ODD>(a0, a2);
        let b2 = _mm512_shuffle_i64x2::<EVEN>(a4, a6);
        let b3 = _mm512_shuffle_i64x2::<ODD>(a4, a6);
        let b4 = _mm512_shuffle_i64x2::<EVEN>(a1, a3);
        let b5 = _mm512_shuffle_i64x2::<ODD>(a1, a3);
        let b6 = _mm512_shuffle_i64x2::<EVEN>(a5, a7);
        let b7 = _mm512_shuffle_i64x2::<ODD>(a5, a7);
        [
            _mm512_shuffle_i64x2::<EVEN>(b0, b2),
            _mm512_shuffle_i64x2::<EVEN>(b4, b6),
            _mm512_shuffle_i64x2::<EVEN>(b1, b3),
            _mm512_shuffle_i64x2::<EVEN>(b5, b7),
            _mm512_shuffle_i64x2::<ODD>(b0, b2),
            _mm512_shuffle_i64x2::<ODD>(b4, b6),
            _mm512_shuffle_i64x2::<ODD>(b1, b3),
            _mm512_shuffle_i64x2::<ODD>(b5, b7),
        ]
    }
}

/// For each mask the lanes' order in which those that it names come first: eight bytes each.
static ORDERS: [u64; 256] = {
    let mut orders = [0; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut front, mut back, mut lane) = (0, 7, 0);
        while lane < 8 {
            if mask >> lane & 1 == 1 {
                orders[mask] |= lane << (8 * front);
                front += 1;
            } else {
                orders[mask] |= lane << (8 * back);
                back -= 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    orders
};

// SAFETY: each function is one instruction or a few that do what its name says.
unsafe impl<F: Form> Vector for Eight<F> {
    type Key = u64;
    type Eight = __m512i;
    type Eights = [__m512i; 8];
    const LANES: usize = 8;
    const KEYS: Keys = F::KEYS;

    #[inline(always)]
    unsafe fn run<R>(work: impl FnOnce() -> R) -> R {
        // SAFETY: the caller's promise.
        unsafe { F::run(work) }
    }

    #[inline(always)]
    unsafe fn splat(key: u64) -> Self {
        // SAFETY: the caller's promise; so below.
        Self::new(unsafe { _mm512_set1_epi64(key as i64) })
    }

    #[inline(always)]
    unsafe fn load(from: *const u64) -> Self {
        // SAFETY: see `splat`.
        Self::new(unsafe { _mm512_loadu_si512(from.cast()) })
    }

    #[inline(always)]
    unsafe fn load_some(from: *const u64, n: usize, rest: Self) -> Self {
        // SAFETY: see `splat`.
        Self::new(unsafe { _mm512_mask_loadu_epi64(rest.0, first(n, 8) as u8, from.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u64) {
        // SAFETY: see `splat`.
        unsafe { _mm512_storeu_si512(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn store_some(self, to: *mut u64, n: usize) {
        // SAFETY: see `splat`.
        unsafe { _mm512_mask_storeu_epi64(to.cast(), first(n, 8) as u8, self.0) }
    }

    #[inline(always)]
    unsafe fn rows(buckets: *const u64, counts: &[u32], start: usize) -> [Self; 8] {
        // SAFETY: see `splat`.
        unsafe {
            let bucket = array!(_mm512_setzero_si512(), |i| {
                let here = (counts[i] as usize).saturating_sub(start);
                Self::load_some(buckets.add(i * CAPACITY + start), here, Self::largest()).0
            });
            let rows = transposed(bucket);
            array!(Self::new(rows[0]), |i| Self::new(rows[i]))
        }
    }

    #[inline(always)]
    unsafe fn columns(rows: [Self; 8]) -> [__m512i; 8] {
        // SAFETY: see `splat`.
        unsafe { transposed(rows.map(|row| row.0)) }
    }

    #[inline(always)]
    unsafe fn store_eight(words: __m512i, to: *mut u64) {
        // SAFETY: see `splat`.
        unsafe { Self::new(words).store(to) }
    }

    #[inline(always)]
    unsafe fn store_some_of_eight(words: __m512i, to: *mut u64, n: usize) {
        // SAFETY: see `splat`.
        unsafe { Self::new(words).store_some(to, n) }
    }

    #[inline(always)]
    unsafe fn sort(self, other: Self) -> (Self, Self) {
        // SAFETY: see `splat`.
        unsafe {
            let (smaller, larger) = F::sort(self.0, other.0);
            (Self::new(smaller), Self::new(larger))
        }
    }

    #[inline(always)]
    unsafe fn blend(self, other: Self, other_lanes: usize) -> Self {
        // SAFETY: see `splat`.
        Self::new(unsafe { _mm512_mask_blend_epi64(blended(8, other_lanes) as u8, self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn keep_soon(self, other: Self, larger: usize) -> Self {
        // SAFETY: see `splat`.
        unsafe {
            let smaller = Self::new(F::smaller(self.0, other.0));
            smaller.blend(Self::new(F::larger(self.0, other.0)), larger)
        }
    }

    #[inline(always)]
    unsafe fn swapped(self, partner: usize) -> Self {
        // SAFETY: see `splat`; eight numbers.
        unsafe {
            Self::new(_mm512_permutexvar_epi64(_mm512_loadu_si512(partners::<u64, 8>(partner).as_ptr().cast()), self.0))
        }
    }

    #[inline(always)]
    unsafe fn below(self, other: Self) -> u32 {
        // SAFETY: see `splat`.
        unsafe { F::below(self.0, other.0).into() }
    }

    #[inline(always)]
    unsafe fn same(self, other: Self) -> u32 {
        // SAFETY: see `splat`.
        unsafe { _mm512_cmpeq_epu64_mask(self.0, other.0).into() }
    }

    #[inline(always)]
    unsafe fn compress(self, mask: u32) -> Self {
        // SAFETY: see `splat`.
        Self::new(unsafe { _mm512_maskz_compress_epi64(mask as u8, self.0) })
    }

    #[inline(always)]
    unsafe fn split(self, mask: u32) -> (Self, Self) {
        // SAFETY: see `splat`; there is an order for each mask of eight lanes.
        let all = unsafe {
            let order = *ORDERS.get_unchecked(mask as u8 as usize);
            _mm512_permutexvar_epi64(_mm512_cvtepu8_epi64(_mm_cvtsi64_si128(order as i64)), self.0)
        };
        (Self::new(all), Self::new(all))
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: see `splat`.
        Self::new(unsafe { _mm512_xor_si512(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: see `splat`.
        Self::new(unsafe { _mm512_or_si512(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn spread_sign(self) -> Self {
        // SAFETY: see `splat`.
        Self::new(unsafe { _mm512_srai_epi64::<63>(self.0) })
    }

    #[inline(always)]
    unsafe fn swap_halves(self) -> Self {
        // SAFETY: see `splat`.
        Self::new(unsafe { _mm512_rol_epi64::<32>(self.0) })
    }
}
