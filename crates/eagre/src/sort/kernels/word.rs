//! Words: what the kernels sort. A word has a fixed size and a key, a number of up to 128 bits.

use super::Level;
use super::base_case::{self, Table};
use super::probe::Probe;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::vector;
use crate::sort::bounds::Bounds;

/// [`Word::few`] without vectors.
const FEW: usize = 32;

/// A value of a fixed size with a key: an unsigned number that orders it, computed from its bits without a branch.
///
/// # Safety
/// `key` has no bit set from `KEY_BITS` up; it and `digit` depend on the bits of the word only.
pub(crate) unsafe trait Word: Copy + Send + Sync + 'static {
    /// How many bits a key has.
    const KEY_BITS: u32;

    /// The word with a given key, if there are so few keys that each gets a counter. Such words are sorted by
    /// [counting](crate::sort::counting).
    const COUNTED: Option<fn(key: usize) -> Self> = None;

    /// Whether words with equal keys may differ. Sorting them is stable.
    const STABLE: bool = false;

    /// Whether vectors compute the digits of many words at once, which pays for floating-point numbers.
    const DIGITS_TOGETHER: bool = false;

    /// The key.
    fn key(self) -> u128;

    /// The low 32 bits of the key shifted right by `shift`, which is less than [`Word::KEY_BITS`].
    fn digit(self, shift: u32) -> u32;

    /// Sorts words whose keys are within the bounds `known` and not all the same. Returns false, with the words
    /// unchanged, if the buckets would be too unbalanced.
    ///
    /// # Safety
    /// `n` words are there to be read and written, no more than [`Word::base_case_most`], and the processor has
    /// `level`.
    unsafe fn base_case(level: Level, words: *mut Self, n: usize, known: Bounds, table: &mut Table) -> bool {
        let _ = level;
        // SAFETY: the caller's promise.
        unsafe { base_case::scalar(words, n, known, table) }
    }

    /// Sorts at least a few words whose digits are uneven, by their magnitudes or values if these are even. Returns
    /// false, with the words unchanged, if they are not, and always without vectors.
    fn base_case_on_a_scale(level: Level, words: &mut [Self], probe: &Probe, table: &mut Table) -> bool {
        let _ = (level, words, probe, table);
        false
    }

    /// The length of a table for base cases of up to `n` words.
    fn base_case_table(n: usize) -> usize {
        base_case::table_len::<Self>(base_case::buckets(n))
    }

    /// The most words of a base case in a table of such a length.
    fn base_case_most(level: Level, table: usize) -> usize {
        let _ = level;
        base_case::scalar_most::<Self>(table)
    }

    /// Up to so many words are compared without a table.
    fn few(level: Level) -> usize {
        let _ = level;
        FEW
    }

    /// Sorts words by comparing, in place: few words, or words that are too uneven. More than [`Word::few`] need room
    /// in the table. Of [stable](Word::STABLE) words there are at most [`Word::base_case_most`].
    fn by_comparison(level: Level, words: &mut [Self], table: &mut Table) {
        let _ = (level, table);
        words.sort_unstable_by_key(|word| word.key());
    }
}

/// The kernels for the vector levels, with a register for each level.
macro_rules! vectors {
    ($($level:ident: $register:ident),*) => {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        unsafe fn base_case(level: Level, words: *mut Self, n: usize, known: Bounds, table: &mut Table) -> bool {
            // SAFETY: the caller's promise.
            unsafe {
                match level {
                    $( Level::$level => vector::base_case::<Self, vector::$register>(words, n, known, table), )*
                    _ => base_case::scalar(words, n, known, table),
                }
            }
        }

        #[cfg(all(target_arch = "x86_64", not(miri)))]
        fn base_case_on_a_scale(level: Level, words: &mut [Self], probe: &Probe, table: &mut Table) -> bool {
            assert!(words.len() <= Self::base_case_most(level, table.len()));
            match level {
                // SAFETY: the level is only there if the processor has it.
                $( Level::$level => unsafe { vector::on_a_scale::<Self, vector::$register>(level, words, probe, table) }, )*
                _ => false,
            }
        }

        #[cfg(all(target_arch = "x86_64", not(miri)))]
        fn base_case_most(level: Level, table: usize) -> usize {
            match level {
                $( Level::$level => vector::most::<vector::$register>(table), )*
                _ => base_case::scalar_most::<Self>(table),
            }
        }

        #[cfg(all(target_arch = "x86_64", not(miri)))]
        fn few(level: Level) -> usize {
            match level {
                $( Level::$level => vector::few_most::<vector::$register>(), )*
                _ => FEW,
            }
        }

        #[cfg(all(target_arch = "x86_64", not(miri)))]
        fn by_comparison(level: Level, words: &mut [Self], table: &mut Table) {
            match level {
                // SAFETY: the level is only there if the processor has it.
                $( Level::$level => unsafe { vector::by_comparison::<Self, vector::$register>(words, table) }, )*
                _ => words.sort_unstable_by_key(|word| word.key()),
            }
        }
    };
}

macro_rules! number {
    ($type:ty, $bits:literal, $together:expr, $word:ident => $key:expr; $($vectors:tt)*) => {
        // SAFETY: the key is as wide as the number.
        unsafe impl Word for $type {
            const KEY_BITS: u32 = $bits;
            const DIGITS_TOGETHER: bool = $together;

            #[inline(always)]
            fn key(self) -> u128 {
                let $word = self;
                $key.into()
            }

            #[inline(always)]
            fn digit(self, shift: u32) -> u32 {
                let $word = self;
                ($key >> shift) as u32
            }

            vectors!($($vectors)*);
        }
    };
}

/// The sign bit is inverted, so that negative numbers come first.
const SIGN_32: u32 = 1 << 31;
const SIGN_64: u64 = 1 << 63;

/// See [`Word::DIGITS_TOGETHER`].
const TOGETHER: bool = true;
const APART: bool = false;

number!(u32, 32, APART, word => word; Avx512: U32x16, Avx2: U32x8);
number!(i32, 32, APART, word => (word as u32 ^ SIGN_32); Avx512: U32x16, Avx2: U32x8);
number!(f32, 32, TOGETHER, word => float_32(word.to_bits()); Avx512: U32x16, Avx2: U32x8);
number!(u64, 64, APART, word => word; Avx512: U64x8, Avx2: U64x4);
number!(i64, 64, APART, word => (word as u64 ^ SIGN_64); Avx512: U64x8, Avx2: U64x4);
number!(f64, 64, TOGETHER, word => float_64(word.to_bits()); Avx512: U64x8, Avx2: U64x4);
number!((u32, u32), 64, APART, word => (u64::from(word.0) << 32 | u64::from(word.1)); Avx512: U64x8, Avx2: U64x4);

/// A number as wide as an address has the key of the fixed-width number.
#[cfg(target_pointer_width = "64")]
mod address {
    use super::*;

    number!(usize, 64, APART, word => (word as u64); Avx512: U64x8, Avx2: U64x4);
    number!(isize, 64, APART, word => (word as u64 ^ SIGN_64); Avx512: U64x8, Avx2: U64x4);
}
#[cfg(target_pointer_width = "32")]
mod address {
    use super::*;

    number!(usize, 32, APART, word => (word as u32); Avx512: U32x16, Avx2: U32x8);
    number!(isize, 32, APART, word => (word as u32 ^ SIGN_32); Avx512: U32x16, Avx2: U32x8);
}

macro_rules! narrow {
    ($($type:ty, $word:ident => $key:expr, $number:ident => $back:expr;)*) => { $(
        // SAFETY: the key is as wide as the number.
        unsafe impl Word for $type {
            const KEY_BITS: u32 = <$type>::BITS;
            const COUNTED: Option<fn(usize) -> $type> = Some(|$number| $back);

            #[inline(always)]
            fn key(self) -> u128 {
                let $word = self;
                $key.into()
            }

            #[inline(always)]
            fn digit(self, shift: u32) -> u32 {
                let $word = self;
                ($key >> shift).into()
            }
        }
    )* };
}

narrow! {
    u8, word => word, key => key as u8;
    i8, word => (word as u8 ^ 1 << 7), key => (key as u8 ^ 1 << 7) as i8;
    u16, word => word, key => key as u16;
    i16, word => (word as u16 ^ 1 << 15), key => (key as u16 ^ 1 << 15) as i16;
}

/// The order of [`f32::total_cmp`]: all bits of negative numbers are inverted, and the sign of others.
#[inline(always)]
fn float_32(bits: u32) -> u32 {
    bits ^ ((bits as i32 >> 31) as u32 | SIGN_32)
}

/// The order of [`f64::total_cmp`].
#[inline(always)]
fn float_64(bits: u64) -> u64 {
    bits ^ ((bits as i64 >> 63) as u64 | SIGN_64)
}

macro_rules! wide {
    ($type:ty, $word:ident => $key:expr) => {
        // SAFETY: the key is a u128.
        unsafe impl Word for $type {
            const KEY_BITS: u32 = 128;

            #[inline(always)]
            fn key(self) -> u128 {
                let $word = self;
                $key
            }

            #[inline(always)]
            fn digit(self, shift: u32) -> u32 {
                (self.key() >> shift) as u32
            }

            vectors!(Avx512: U128x8);
        }
    };
}

wide!(u128, word => word);
wide!(i128, word => word as u128 ^ 1 << 127);
wide!((u64, u64), word => u128::from(word.0) << 64 | u128::from(word.1));
