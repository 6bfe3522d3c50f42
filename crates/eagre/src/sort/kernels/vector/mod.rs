//! Kernels in vector registers, written once for every register and every word.
//!
//! | file | what |
//! |---|---|
//! | [`lane`] | words as keys in lanes, and back |
//! | [`network`] | columns of words, each sorted by vertical minima and maxima |
//! | [`mod@base_case`] | a step into small buckets, sorted as columns, one bucket in each lane |
//! | [`registers`] | few words, sorted without leaving the registers |
//! | [`quick`] | quicksort, for keys that are too uneven for a base case |
//! | [`in_place`] | its passes over more keys than a buffer has room for |
//! | [`mod@merge`] | two sorted runs, merged block by block |
//! | [`avx512`], [`avx512_half`], [`avx512_wide`] | 512-bit registers with keys of 64, 32 and 128 bits |
//! | [`avx2`], [`avx2_half`] | 256-bit registers with keys of 64 and 32 bits |
//!
//! A kernel is an inlined function of a [`Vector`], and runs inside [`Vector::run`], which is compiled for the
//! processor that has such registers.

/// Makes a function that compiles what it is given for a processor with AVX-512, and runs it. Each register has one in a
/// module of its own: the compiler makes a unit of each module, so it compiles their kernels side by side.
macro_rules! with_avx512 {
    () => {
        /// Compiles `work` for such a processor, and runs it.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
        pub(in crate::sort::kernels) fn run<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
    };
}

/// The same for AVX2.
macro_rules! with_avx2 {
    () => {
        /// Compiles `work` for such a processor, and runs it.
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        pub(in crate::sort::kernels) fn run<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
    };
}

mod avx2;
mod avx2_half;
mod avx512;
mod avx512_half;
mod avx512_wide;
mod base_case;
mod in_place;
mod lane;
mod merge;
mod network;
mod quick;
mod registers;

use std::arch::asm;

pub(super) use avx2::{available as has_avx2, run as run_avx2};
pub(super) use avx512::{available as has_avx512, run as run_avx512};
pub(super) use base_case::{base_case, most};
pub(super) use in_place::move_to_front;
pub(super) use lane::Number;
use lane::Order;
pub(super) use merge::merge;
pub(super) use quick::{are_real, by_comparison};
pub(super) use registers::few_most;
pub(super) use {
    avx2::F64x4, avx2::I64x4, avx2::U64x4, avx2_half::U32x8, avx512::F64x8, avx512::U64x8, avx512_half::U32x16,
    avx512_wide::U128x8,
};

/// A register, or two, with a key in each lane.
///
/// # Safety
/// The functions do what they say, as every kernel relies on it. All but `run` may be called only inside of `run`,
/// which itself may be called only if the processor has the [`super::Level`] that the register belongs to.
pub(super) unsafe trait Vector: Copy {
    /// What a lane holds.
    type Key: Number;
    /// Eight keys of one bucket.
    type Eight: Copy;
    /// So many keys of each lane's bucket.
    type Eights: AsRef<[Self::Eight]>;
    /// How many keys there are: 4, 8 or 16.
    const LANES: usize;
    /// What they are.
    const KEYS: Keys = Keys::Unsigned;

    /// Compiles `work` for the processor, and runs it.
    unsafe fn run<R>(work: impl FnOnce() -> R) -> R;

    /// The same key in all lanes.
    unsafe fn splat(key: Self::Key) -> Self;

    /// All lanes from memory.
    unsafe fn load(from: *const Self::Key) -> Self;

    /// The first `n` lanes from memory, or all if `n` is more; the others from `rest`.
    unsafe fn load_some(from: *const Self::Key, n: usize, rest: Self) -> Self;

    /// The largest key in all lanes.
    #[inline(always)]
    unsafe fn largest() -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            Self::splat(match Self::KEYS {
                Keys::Unsigned => Self::Key::LARGEST,
                Keys::Signed => Self::Key::LARGEST.minus(Self::Key::SIGN),
                Keys::Real => Self::Key::new(f64::INFINITY.to_bits().into()),
            })
        }
    }

    /// All lanes to memory.
    unsafe fn store(self, to: *mut Self::Key);

    /// The first `n` lanes to memory, or all if `n` is more.
    unsafe fn store_some(self, to: *mut Self::Key, n: usize);

    /// Eight rows: lane `l` of row `i` is word `start + i` of bucket `l`, each bucket [`super::base_case::CAPACITY`]
    /// keys from the one before and with as many words as `counts` says, if that is above `start + i`; else the largest
    /// number.
    unsafe fn rows(buckets: *const Self::Key, counts: &[u32], start: usize) -> [Self; 8];

    /// From eight rows to eight words of each bucket.
    unsafe fn columns(rows: [Self; 8]) -> Self::Eights;

    /// Eight words to memory.
    unsafe fn store_eight(words: Self::Eight, to: *mut Self::Key);

    /// The first `n` of eight words to memory, or all if `n` is more.
    unsafe fn store_some_of_eight(words: Self::Eight, to: *mut Self::Key, n: usize);

    /// The smaller and the larger of each two keys.
    unsafe fn sort(self, other: Self) -> (Self, Self);

    /// The smaller of each two keys; in lanes whose number has one of the bits `larger`, the larger.
    // Not `inline(always)`: four rows took a sixth longer where it was inlined that early.
    #[inline]
    unsafe fn keep(self, other: Self, larger: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let (smaller, most) = self.sort(other);
            smaller.blend(most, larger)
        }
    }

    /// The same, known sooner though with more work: where nothing else is to be done meanwhile.
    #[inline(always)]
    unsafe fn keep_soon(self, other: Self, larger: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe { self.keep(other, larger) }
    }

    /// These lanes; those whose number has the bit `other_lanes`, less than [`Vector::LANES`], from the other.
    unsafe fn blend(self, other: Self, other_lanes: usize) -> Self;

    /// Lane `l` gets lane `l ^ partner`.
    unsafe fn swapped(self, partner: usize) -> Self;

    /// A bit for each lane that is below the other.
    unsafe fn below(self, other: Self) -> u32;

    /// A bit for each lane that equals the other.
    unsafe fn same(self, other: Self) -> u32;

    /// The lanes that `mask` names come first; the others' places hold anything.
    unsafe fn compress(self, mask: u32) -> Self;

    /// The lanes that `mask` names come first, and in the second register the others last, in any order; the other
    /// places hold anything.
    #[inline(always)]
    unsafe fn split(self, mask: u32) -> (Self, Self) {
        // SAFETY: the caller's promise.
        unsafe { (self.compress(mask), self.compress(!mask).swapped(Self::LANES - 1)) }
    }

    /// A bit is 1 where it is in one of the two only.
    unsafe fn xor(self, other: Self) -> Self;

    /// A bit is 1 where it is in one of the two.
    unsafe fn or(self, other: Self) -> Self;

    /// The highest bit of each key in all of its bits.
    unsafe fn spread_sign(self) -> Self;

    /// The upper half of each key's bits becomes the lower.
    unsafe fn swap_halves(self) -> Self;

    /// Whether words of this order are keys as they are.
    #[inline(always)]
    fn are_keys(order: Order) -> bool {
        match Self::KEYS {
            Keys::Unsigned => matches!(order, Order::Unsigned),
            Keys::Signed => matches!(order, Order::Signed),
            Keys::Real => true,
        }
    }

    /// Turns words into keys.
    #[inline(always)]
    unsafe fn keys(self, order: Order) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let sign = Self::splat(Self::Key::SIGN);
            let unsigned = match order {
                _ if Self::are_keys(order) => return self,
                Order::Unsigned => self,
                Order::Signed => self.xor(sign),
                Order::Float => self.xor(self.spread_sign().or(sign)),
                Order::Halves => self.swap_halves(),
            };
            if matches!(Self::KEYS, Keys::Signed) { unsigned.xor(sign) } else { unsigned }
        }
    }

    /// Turns keys into words.
    #[inline(always)]
    unsafe fn words(self, order: Order) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let sign = Self::splat(Self::Key::SIGN);
            let unsigned = if matches!(Self::KEYS, Keys::Signed) { self.xor(sign) } else { self };
            match order {
                _ if Self::are_keys(order) => self,
                Order::Unsigned => unsigned,
                Order::Signed => unsigned.xor(sign),
                Order::Float => unsigned.xor(unsigned.xor(Self::splat(Self::Key::LARGEST)).spread_sign().or(sign)),
                Order::Halves => unsigned.swap_halves(),
            }
        }
    }
}

/// A register for floating-point numbers whose order is that of comparisons.
///
/// # Safety
/// As for [`Vector`].
pub(super) unsafe trait Reals: Vector {
    /// Whether `n` numbers have neither NaN nor a negative zero, and are compared as they are.
    ///
    /// # Safety
    /// They may be read; inside of [`Vector::run`].
    unsafe fn fits(from: *const Self::Key, n: usize) -> bool;
}

/// What keys are, by which words are compared. Words become keys when they are read, and again words when they are where
/// they belong.
pub(super) enum Keys {
    /// [`super::Word::key`].
    Unsigned,
    /// The same with the highest bit turned over, as a signed number.
    Signed,
    /// A floating-point number as it is: no NaN, and no negative zero.
    Real,
}

/// Whether instructions for floating-point numbers leave numbers as they are, and report nothing: a thread can ask for numbers
/// close to zero to be read as zero (gcc's `-ffast-math` does, for a whole program), or for exceptions.
fn floats_are_exact() -> bool {
    const DENORMALS_ARE_ZEROS: u32 = 1 << 6;
    const NO_EXCEPTIONS: u32 = 0x3f << 7;
    let mut control = 0u32;
    // SAFETY: stores the control register of such instructions, which every x86-64 has.
    unsafe { asm!("stmxcsr [{}]", in(reg) &mut control, options(nostack, preserves_flags)) };
    control & (DENORMALS_ARE_ZEROS | NO_EXCEPTIONS) == NO_EXCEPTIONS
}

/// A number with its lowest `n` bits set, as many as there are lanes in a mask.
#[inline(always)]
fn first(n: usize, most: usize) -> u32 {
    (1u32 << n.min(most)) - 1
}

/// An array of what `make` gives for each place: [`std::array::from_fn`], sure to be inlined, since what a register
/// does must end up inside of [`Vector::run`].
macro_rules! array {
    ($filler:expr, |$place:ident| $make:expr) => {{
        let mut array = [$filler; _];
        let mut $place = 0;
        while $place < array.len() {
            array[$place] = $make;
            $place += 1;
        }
        array
    }};
}

use array;

#[cfg(test)]
mod tests {
    use crate::scan::kernels::Simd;
    use crate::sort::Sorter;

    /// Stores the control register of floating-point instructions.
    fn control() -> u32 {
        let mut control = 0u32;
        // SAFETY: every x86-64 has this register.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &mut control, options(nostack)) };
        control
    }

    fn set_control(control: u32) {
        // SAFETY: as above; the bits were read there, or are defined.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &control, options(nostack)) };
    }

    /// gcc's `-ffast-math` has a whole program read numbers close to zero as zero. They are sorted as they are.
    #[test]
    fn numbers_close_to_zero_survive_where_they_are_read_as_zero() {
        let sorters = [Simd::Avx2, Simd::Avx512].into_iter().filter(|simd| simd.is_available());
        let sorters: Vec<Sorter<'_>> = sorters.map(|simd| Sorter::new().threads(1).simd(simd)).collect();
        for n in [20, 100, 300, 5000] {
            let numbers: Vec<f64> = (0..n).map(|i| f64::from_bits((i * 7919 % n) << 20)).collect();
            let mut expected = numbers.clone();
            expected.sort_by(f64::total_cmp);
            for sorter in &sorters {
                let mut sorted = numbers.clone();
                let before = control();
                set_control(before | 0x8040);
                let result = sorter.sort(&mut sorted);
                set_control(before);
                result.unwrap();
                let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&sorted), bits(&expected), "{n}");
            }
        }
    }
}
