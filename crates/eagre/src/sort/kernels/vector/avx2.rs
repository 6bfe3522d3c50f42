//! Keys of 64 bits in 256-bit registers, and what those of 32 bits share with them.
//!
//! There are no masks: a lane is chosen by the highest bit of another register's, or all of them.

use std::arch::x86_64::*;
use std::marker::PhantomData;

use super::super::base_case::CAPACITY;
use super::{Keys, Reals, Vector, array, floats_are_exact};

/// Whether the processor has what this level needs.
pub(in super::super) fn available() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

with_avx2!();

/// Four numbers of 64 bits, compared as the form says.
#[derive(Clone, Copy)]
pub(in super::super) struct Four<F>(__m256i, PhantomData<F>);

/// Unsigned numbers. They can only be compared as signed ones, so in a register they have their highest bits turned over.
pub(in super::super) type U64x4 = Four<Unsigned>;
/// Signed numbers.
pub(in super::super) type I64x4 = Four<Signed>;
/// Floating-point numbers without NaN and without a negative zero, whose order is that of comparisons.
pub(in super::super) type F64x4 = Four<Real>;

/// How numbers are compared.
///
/// # Safety
/// The functions do what they say. All may be called only as those of [`Vector`] may.
pub(in super::super) unsafe trait Form: Copy {
    /// What numbers are in memory.
    const KEYS: Keys;

    /// From memory to a register, and back.
    #[inline(always)]
    unsafe fn turned(bits: __m256i) -> __m256i {
        bits
    }

    /// The smaller and the larger of each two.
    unsafe fn sort(one: __m256i, two: __m256i) -> (__m256i, __m256i);

    /// The larger ones where `larger` has its sign bit set, else the smaller ones.
    unsafe fn keep(one: __m256i, two: __m256i, larger: __m256i) -> __m256i;

    /// The sign bit of each number that is below the other.
    unsafe fn below(one: __m256i, two: __m256i) -> __m256i;
}

#[derive(Clone, Copy)]
pub(in super::super) struct Unsigned;
#[derive(Clone, Copy)]
pub(in super::super) struct Signed;
#[derive(Clone, Copy)]
pub(in super::super) struct Real;

/// What is the same for numbers that are compared as signed ones.
macro_rules! as_signed {
    () => {
        #[inline(always)]
        unsafe fn sort(one: __m256i, two: __m256i) -> (__m256i, __m256i) {
            // SAFETY: see [`Form`]; so below.
            unsafe {
                let swap = _mm256_cmpgt_epi64(one, two);
                (_mm256_blendv_epi8(one, two, swap), _mm256_blendv_epi8(two, one, swap))
            }
        }

        #[inline(always)]
        unsafe fn keep(one: __m256i, two: __m256i, larger: __m256i) -> __m256i {
            // SAFETY: as above.
            unsafe { _mm256_blendv_epi8(one, two, _mm256_xor_si256(_mm256_cmpgt_epi64(one, two), larger)) }
        }

        #[inline(always)]
        unsafe fn below(one: __m256i, two: __m256i) -> __m256i {
            // SAFETY: as above.
            unsafe { _mm256_cmpgt_epi64(two, one) }
        }
    };
}

// SAFETY: numbers are compared as they are in registers.
unsafe impl Form for Unsigned {
    const KEYS: Keys = Keys::Unsigned;

    #[inline(always)]
    unsafe fn turned(bits: __m256i) -> __m256i {
        // SAFETY: see [`Form`].
        unsafe { _mm256_xor_si256(bits, _mm256_set1_epi64x(i64::MIN)) }
    }

    as_signed!();
}

// SAFETY: as above.
unsafe impl Form for Signed {
    const KEYS: Keys = Keys::Signed;

    as_signed!();
}

// SAFETY: of two zeros, or of two others that are equal, it does not matter which is taken.
unsafe impl Form for Real {
    const KEYS: Keys = Keys::Real;

    #[inline(always)]
    unsafe fn sort(one: __m256i, two: __m256i) -> (__m256i, __m256i) {
        // SAFETY: see [`Form`]; so below.
        unsafe {
            let (one, two) = (_mm256_castsi256_pd(one), _mm256_castsi256_pd(two));
            (_mm256_castpd_si256(_mm256_min_pd(one, two)), _mm256_castpd_si256(_mm256_max_pd(one, two)))
        }
    }

    #[inline(always)]
    unsafe fn keep(one: __m256i, two: __m256i, larger: __m256i) -> __m256i {
        // SAFETY: as above.
        unsafe {
            let (smaller, most) = Real::sort(one, two);
            _mm256_blendv_epi8(smaller, most, larger)
        }
    }

    #[inline(always)]
    unsafe fn below(one: __m256i, two: __m256i) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_castpd_si256(_mm256_cmp_pd::<_CMP_LT_OQ>(_mm256_castsi256_pd(one), _mm256_castsi256_pd(two))) }
    }
}

// SAFETY: every number is looked at.
unsafe impl Reals for F64x4 {
    #[inline(always)]
    unsafe fn fits(from: *const u64, n: usize) -> bool {
        // SAFETY: the caller's promise; nothing is read from n on.
        unsafe {
            let zero = _mm256_set1_epi64x(i64::MIN);
            let mut odd = _mm256_setzero_si256();
            for at in (0..n).step_by(4) {
                let bits = F64x4::load_some(from.add(at), n - at, F64x4::largest());
                let number = _mm256_castsi256_pd(bits.0);
                let nan = _mm256_castpd_si256(_mm256_cmp_pd::<_CMP_UNORD_Q>(number, number));
                odd = _mm256_or_si256(odd, _mm256_or_si256(nan, _mm256_cmpeq_epi64(bits.0, zero)));
            }
            _mm256_testz_si256(odd, odd) == 1 && floats_are_exact()
        }
    }
}

impl<F: Form> Four<F> {
    /// From the numbers' own bits.
    #[inline(always)]
    unsafe fn new(bits: __m256i) -> Four<F> {
        // SAFETY: see [`Vector`]; so below.
        Four(unsafe { F::turned(bits) }, PhantomData)
    }

    #[inline(always)]
    unsafe fn bits(self) -> __m256i {
        // SAFETY: see `new`.
        unsafe { F::turned(self.0) }
    }
}

/// All bits set in the first `n` numbers, from the middle of this on.
static FIRST_64: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];

/// A mask of the first `n` of four lanes.
#[inline(always)]
unsafe fn first_64(n: usize) -> __m256i {
    // SAFETY: four numbers from one of the first five on.
    unsafe { _mm256_loadu_si256(FIRST_64.as_ptr().add(4 - n.min(4)).cast()) }
}

/// For each mask of `lanes` lanes the order, in numbers of 32 bits, in which those that it names come first: a byte
/// each.
pub(super) const fn orders<const MASKS: usize>(lanes: u64) -> [u64; MASKS] {
    let wide = 8 / lanes;
    let mut orders = [0; MASKS];
    let mut mask = 0;
    while mask < MASKS {
        let (mut front, mut back, mut lane) = (0, lanes, 0);
        while lane < lanes {
            let place = if mask >> lane & 1 == 1 {
                front += 1;
                front - 1
            } else {
                back -= 1;
                back
            };
            let mut part = 0;
            while part < wide {
                orders[mask] |= (lane * wide + part) << (8 * (place * wide + part));
                part += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    orders
}

static ORDERS_64: [u64; 16] = orders(4);

/// Numbers of 32 bits in another order.
#[inline(always)]
pub(super) unsafe fn permuted(words: __m256i, order: u64) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe { _mm256_permutevar8x32_epi32(words, _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(order as i64))) }
}

/// Four rows of four become columns.
#[inline(always)]
unsafe fn transposed_4([r0, r1, r2, r3]: [__m256i; 4]) -> [__m256i; 4] {
    // SAFETY: the caller's promise.
    unsafe {
        let (a0, a1) = (_mm256_unpacklo_epi64(r0, r1), _mm256_unpackhi_epi64(r0, r1));
        let (a2, a3) = (_mm256_unpacklo_epi64(r2, r3), _mm256_unpackhi_epi64(r2, r3));
        [
            _mm256_permute2x128_si256::<0x20>(a0, a2),
            _mm256_permute2x128_si256::<0x20>(a1, a3),
            _mm256_permute2x128_si256::<0x31>(a0, a2),
            _mm256_permute2x128_si256::<0x31>(a1, a3),
        ]
    }
}

/// Fewer bytes than there are, a multiple of four. Stores with a mask take many times as long on AMD's processors.
#[inline(always)]
pub(super) unsafe fn store_first(bits: __m256i, mut to: *mut u8, count: usize) {
    // SAFETY: the caller's promise; nothing is written beyond so many bytes.
    unsafe {
        let mut rest = _mm256_castsi256_si128(bits);
        if count & 16 != 0 {
            _mm_storeu_si128(to.cast(), rest);
            (rest, to) = (_mm256_extracti128_si256::<1>(bits), to.add(16));
        }
        if count & 8 != 0 {
            _mm_storeu_si64(to, rest);
            (rest, to) = (_mm_unpackhi_epi64(rest, rest), to.add(8));
        }
        if count & 4 != 0 {
            _mm_storeu_si32(to, rest);
        }
    }
}

/// What both kinds of registers have in common.
macro_rules! common {
    ($key:ty, $lanes:literal, $first:ident, $orders:ident, $maskload:ident, $register:expr) => {
        type Key = $key;
        const LANES: usize = $lanes;

        #[inline(always)]
        unsafe fn run<R>(work: impl FnOnce() -> R) -> R {
            // SAFETY: the caller's promise; so below.
            unsafe { run(work) }
        }

        #[inline(always)]
        unsafe fn load(from: *const $key) -> Self {
            // SAFETY: see `run`.
            unsafe { Self::new(_mm256_loadu_si256(from.cast())) }
        }

        #[inline(always)]
        unsafe fn load_some(from: *const $key, n: usize, rest: Self) -> Self {
            // SAFETY: see `run`.
            unsafe {
                let mask = $first(n);
                let loaded = Self::new($maskload(from.cast(), mask));
                $register(_mm256_blendv_epi8(rest.0, loaded.0, mask))
            }
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut $key) {
            // SAFETY: see `run`.
            unsafe { _mm256_storeu_si256(to.cast(), self.bits()) }
        }

        #[inline(always)]
        unsafe fn store_some(self, to: *mut $key, n: usize) {
            // SAFETY: see `run`.
            unsafe {
                match n >= $lanes {
                    true => self.store(to),
                    false => store_first(self.bits(), to.cast(), n * size_of::<$key>()),
                }
            }
        }

        #[inline(always)]
        unsafe fn compress(self, mask: u32) -> Self {
            // SAFETY: see `run`; there is an order for each mask.
            unsafe { $register(permuted(self.0, *$orders.get_unchecked(mask as usize % $orders.len()))) }
        }

        #[inline(always)]
        unsafe fn split(self, mask: u32) -> (Self, Self) {
            // SAFETY: see `run`.
            let all = unsafe { self.compress(mask) };
            (all, all)
        }

        #[inline(always)]
        unsafe fn xor(self, other: Self) -> Self {
            // SAFETY: see `run`.
            unsafe { Self::new(_mm256_xor_si256(self.bits(), other.bits())) }
        }

        #[inline(always)]
        unsafe fn or(self, other: Self) -> Self {
            // SAFETY: see `run`.
            unsafe { Self::new(_mm256_or_si256(self.bits(), other.bits())) }
        }
    };
}

pub(super) use common;

// SAFETY: each function is one instruction or a few that do what its name says.
unsafe impl<F: Form> Vector for Four<F> {
    type Eight = [__m256i; 2];
    type Eights = [[__m256i; 2]; 4];
    const KEYS: Keys = F::KEYS;

    common!(u64, 4, first_64, ORDERS_64, _mm256_maskload_epi64, |bits| Four(bits, PhantomData));

    #[inline(always)]
    unsafe fn splat(key: u64) -> Self {
        // SAFETY: see `run`.
        unsafe { Self::new(_mm256_set1_epi64x(key as i64)) }
    }

    #[inline(always)]
    unsafe fn rows(buckets: *const u64, counts: &[u32], start: usize) -> [Self; 8] {
        // SAFETY: see `run`.
        unsafe {
            let halves: [__m256i; 8] = array!(_mm256_setzero_si256(), |i| {
                let start = start + 4 * (i / 4);
                let here = (counts[i % 4] as usize).saturating_sub(start);
                Self::load_some(buckets.add(i % 4 * CAPACITY + start), here, Self::largest()).0
            });
            let [a, b, c, d, e, f, g, h] = halves;
            let (front, back) = (transposed_4([a, b, c, d]), transposed_4([e, f, g, h]));
            array!(Four(front[0], PhantomData), |i| Four(if i < 4 { front[i] } else { back[i - 4] }, PhantomData))
        }
    }

    #[inline(always)]
    unsafe fn columns([a, b, c, d, e, f, g, h]: [Self; 8]) -> [[__m256i; 2]; 4] {
        // SAFETY: see `run`.
        unsafe {
            let (front, back) = (transposed_4([a.0, b.0, c.0, d.0]), transposed_4([e.0, f.0, g.0, h.0]));
            array!([front[0], back[0]], |i| [front[i], back[i]])
        }
    }

    #[inline(always)]
    unsafe fn store_eight([front, back]: [__m256i; 2], to: *mut u64) {
        // SAFETY: see `run`.
        unsafe {
            Four::<F>(front, PhantomData).store(to);
            Four::<F>(back, PhantomData).store(to.add(4));
        }
    }

    #[inline(always)]
    unsafe fn store_some_of_eight([front, back]: [__m256i; 2], to: *mut u64, n: usize) {
        // SAFETY: see `run`. Where nothing is left for the second, its place may be beyond the range.
        unsafe {
            Four::<F>(front, PhantomData).store_some(to, n);
            Four::<F>(back, PhantomData).store_some(to.wrapping_add(4), n.saturating_sub(4));
        }
    }

    #[inline(always)]
    unsafe fn sort(self, other: Self) -> (Self, Self) {
        // SAFETY: see `run`.
        let (smaller, larger) = unsafe { F::sort(self.0, other.0) };
        (Four(smaller, PhantomData), Four(larger, PhantomData))
    }

    #[inline(always)]
    unsafe fn blend(self, other: Self, other_lanes: usize) -> Self {
        // SAFETY: see `run`.
        let blended = unsafe {
            match other_lanes {
                1 => _mm256_blend_epi32::<0b11001100>(self.0, other.0),
                _ => _mm256_blend_epi32::<0b11110000>(self.0, other.0),
            }
        };
        Four(blended, PhantomData)
    }

    #[inline(always)]
    unsafe fn keep(self, other: Self, larger: usize) -> Self {
        // SAFETY: see `run`; four numbers.
        let kept = unsafe {
            let lanes: [i64; 4] = array!(0, |lane| -i64::from(lane & larger != 0));
            F::keep(self.0, other.0, _mm256_loadu_si256(lanes.as_ptr().cast()))
        };
        Four(kept, PhantomData)
    }

    #[inline(always)]
    unsafe fn swapped(self, partner: usize) -> Self {
        // SAFETY: see `run`.
        let swapped = unsafe {
            match partner {
                1 => _mm256_permute4x64_epi64::<0b10_11_00_01>(self.0),
                2 => _mm256_permute4x64_epi64::<0b01_00_11_10>(self.0),
                _ => _mm256_permute4x64_epi64::<0b00_01_10_11>(self.0),
            }
        };
        Four(swapped, PhantomData)
    }

    #[inline(always)]
    unsafe fn below(self, other: Self) -> u32 {
        // SAFETY: see `run`.
        unsafe { _mm256_movemask_pd(_mm256_castsi256_pd(F::below(self.0, other.0))) as u32 }
    }

    #[inline(always)]
    unsafe fn same(self, other: Self) -> u32 {
        // SAFETY: see `run`.
        unsafe { _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(self.0, other.0))) as u32 }
    }

    #[inline(always)]
    unsafe fn spread_sign(self) -> Self {
        // SAFETY: see `run`.
        unsafe { Self::new(_mm256_cmpgt_epi64(_mm256_setzero_si256(), self.bits())) }
    }

    #[inline(always)]
    unsafe fn swap_halves(self) -> Self {
        // SAFETY: see `run`.
        unsafe { Self::new(_mm256_shuffle_epi32::<0b10_11_00_01>(self.bits())) }
    }
}
