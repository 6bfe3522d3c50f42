//! Words: what the kernels sort. A word has a fixed size and a key, a number of up to 128 bits.

use super::Level;
use super::base_case::{self, Table};
use super::filter::{Side, filter};
use super::key_index;
use super::merge;
use super::narrow::Narrowed;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::vector;
use crate::sort::bounds::Bounds;
use std::mem::MaybeUninit;

/// [`Word::few`] without vectors.
const FEW: usize = 32;

/// A value of a fixed size with a key: an unsigned number that orders it, computed from its bits without a branch.
///
/// # Safety
/// `key` has no bit set from `KEY_BITS` up; it and `digit` depend on the bits of the word only.
pub(crate) unsafe trait Word: Copy + Send + Sync + 'static {
    /// How many bits a key has.
    const KEY_BITS: u32;

    /// The word with a given key, for integers of up to 64 bits. They can be sorted by [counting](crate::sort::counting).
    const FROM_KEY: Option<fn(key: u64) -> Self> = None;

    /// Whether words with equal keys may differ. Sorting them is stable.
    const STABLE: bool = false;

    /// How many low bits of the key are the second part of a pair.
    const SECOND_BITS: u32 = 0;

    /// Whether vectors compute the digits of many words at once, which pays for floating-point numbers.
    const DIGITS_TOGETHER: bool = false;

    /// The key.
    fn key(self) -> u128;

    /// Whether the keys are the same.
    #[inline(always)]
    fn has_key_of(self, other: Self) -> bool {
        self.key() == other.key()
    }

    /// The word with this key, if no word has a longer one.
    #[inline(always)]
    fn of_short_key(key: u16) -> Option<Self> {
        let _ = key;
        None
    }

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

    /// Packs at least a few words into half of their place, if their keys differ in so few bits. Only numbers and pairs of
    /// numbers have halves.
    fn narrowed(level: Level, words: &mut [Self]) -> Option<Narrowed<'_>> {
        let _ = (level, words);
        None
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
        by_key(words);
    }

    /// Moves the words up to `last`, also those with the same key, to the front, in place. Returns how many there are.
    fn move_to_front(level: Level, words: &mut [Self], last: Self) -> usize {
        filter(level, words, last, Side::UpTo)
    }

    /// Merges the words before `middle` with the others. Both are in order; equal words keep their order.
    ///
    /// # Panics
    /// If there is no room for the shorter one.
    fn merge(level: Level, words: &mut [Self], middle: usize, room: &mut [MaybeUninit<Self>]) {
        merge::merge(level, words, middle, room);
    }
}

/// Sorts words by comparing, without vectors. One function, since the compiler makes a sort for each call of the standard
/// library's.
#[inline(never)]
pub(crate) fn by_key<W: Word>(words: &mut [W]) {
    words.sort_unstable_by_key(|word| word.key());
}

/// The kernels for the vector levels: for each level the register of base cases, that of comparisons, and one that compares
/// floating-point numbers faster, if they fit it.
macro_rules! vectors {
    ($($level:ident: $register:ident, $compared:ident $(or $real:ident)?),*) => {
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
        fn base_case_most(level: Level, table: usize) -> usize {
            match level {
                $( Level::$level => vector::most::<vector::$register>(table), )*
                _ => base_case::scalar_most::<Self>(table),
            }
        }

        #[cfg(all(target_arch = "x86_64", not(miri)))]
        fn few(level: Level) -> usize {
            match level {
                $( Level::$level => vector::few_most::<vector::$compared>(), )*
                _ => FEW,
            }
        }

        #[cfg(all(target_arch = "x86_64", not(miri)))]
        fn by_comparison(level: Level, words: &mut [Self], table: &mut Table) {
            match level {
                // SAFETY: the level is only there if the processor has it.
                $( Level::$level => unsafe {
                    $( if vector::are_real::<Self, vector::$real>(words) {
                        return vector::by_comparison::<Self, vector::$real>(words, table);
                    } )?
                    vector::by_comparison::<Self, vector::$compared>(words, table)
                }, )*
                _ => by_key(words),
            }
        }

        #[cfg(all(target_arch = "x86_64", not(miri)))]
        fn move_to_front(level: Level, words: &mut [Self], last: Self) -> usize {
            match level {
                // SAFETY: the level is only there if the processor has it.
                $( Level::$level => unsafe { vector::move_to_front::<Self, vector::$compared>(words, last) }, )*
                _ => filter(level, words, last, Side::UpTo),
            }
        }

        #[cfg(all(target_arch = "x86_64", not(miri)))]
        fn merge(level: Level, words: &mut [Self], middle: usize, room: &mut [MaybeUninit<Self>]) {
            match level {
                // SAFETY: the level is only there if the processor has it.
                $( Level::$level => unsafe { vector::merge::<Self, vector::$compared>(words, middle, room) }, )*
                _ => merge::merge(level, words, middle, room),
            }
        }
    };
}

/// The kernels of a number of the same bits and order.
macro_rules! kernels_of {
    ($number:ty) => {
        unsafe fn base_case(level: Level, words: *mut Self, n: usize, known: Bounds, table: &mut Table) -> bool {
            // SAFETY: the caller's promise; the same bits.
            unsafe { <$number>::base_case(level, words.cast(), n, known, table) }
        }

        fn base_case_most(level: Level, table: usize) -> usize {
            <$number>::base_case_most(level, table)
        }

        fn few(level: Level) -> usize {
            <$number>::few(level)
        }

        fn by_comparison(level: Level, words: &mut [Self], table: &mut Table) {
            // SAFETY: the same bits and alignment.
            let numbers = unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<$number>(), words.len()) };
            <$number>::by_comparison(level, numbers, table);
        }

        fn move_to_front(level: Level, words: &mut [Self], last: Self) -> usize {
            // SAFETY: the same bits and alignment.
            let numbers = unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<$number>(), words.len()) };
            <$number>::move_to_front(level, numbers, last as $number)
        }

        fn merge(level: Level, words: &mut [Self], middle: usize, room: &mut [MaybeUninit<Self>]) {
            // SAFETY: the same bits and alignment.
            let (numbers, room) = unsafe {
                let room = std::slice::from_raw_parts_mut(room.as_mut_ptr().cast(), room.len());
                (std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<$number>(), words.len()), room)
            };
            <$number>::merge(level, numbers, middle, room);
        }
    };
}

macro_rules! number {
    ($type:ty, $bits:literal, $together:expr, $word:ident => $key:expr $(, narrowed $narrow:ident)? $(, bits $bits_of:ident)? $(, second $second:literal)? $(, from $number:ident => $back:expr)?; $kernels:ident!($($arguments:tt)*)) => {
        // SAFETY: the key is as wide as the number.
        unsafe impl Word for $type {
            const KEY_BITS: u32 = $bits;
            const DIGITS_TOGETHER: bool = $together;
            $( const SECOND_BITS: u32 = $second; )?
            $( const FROM_KEY: Option<fn(u64) -> $type> = Some(|$number| $back); )?

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

            $( #[inline(always)]
            fn has_key_of(self, other: Self) -> bool {
                self.$bits_of() == other.$bits_of()
            } )?

            $( fn narrowed(level: Level, words: &mut [Self]) -> Option<Narrowed<'_>> {
                crate::sort::kernels::narrow::$narrow(level, words)
            } )?

            $kernels!($($arguments)*);
        }
    };
}

/// The sign bit is inverted, so that negative numbers come first.
const SIGN_32: u32 = 1 << 31;
const SIGN_64: u64 = 1 << 63;

/// See [`Word::DIGITS_TOGETHER`].
const TOGETHER: bool = true;
const APART: bool = false;

number!(u32, 32, APART, word => word, from key => key as u32; vectors!(Avx512: U32x16, U32x16, Avx2: U32x8, U32x8));
number!(i32, 32, APART, word => (word as u32 ^ SIGN_32), from key => (key as u32 ^ SIGN_32) as i32; vectors!(Avx512: U32x16, U32x16, Avx2: U32x8, U32x8));
number!(f32, 32, TOGETHER, word => float_32(word.to_bits()), bits to_bits; vectors!(Avx512: U32x16, U32x16, Avx2: U32x8, U32x8));
number!(u64, 64, APART, word => word, narrowed to_32, from key => key; vectors!(Avx512: U64x8, U64x8, Avx2: U64x4, I64x4));
number!(i64, 64, APART, word => (word as u64 ^ SIGN_64), narrowed to_32, from key => (key ^ SIGN_64) as i64; vectors!(Avx512: U64x8, U64x8, Avx2: U64x4, I64x4));
number!(f64, 64, TOGETHER, word => float_64(word.to_bits()), bits to_bits; vectors!(Avx512: U64x8, U64x8 or F64x8, Avx2: U64x4, I64x4 or F64x4));
number!((u32, u32), 64, APART, word => (u64::from(word.0) << 32 | u64::from(word.1)), narrowed to_32, second 32; vectors!(Avx512: U64x8, U64x8, Avx2: U64x4, I64x4));

/// A number as wide as an address has the key of the fixed-width number.
#[cfg(target_pointer_width = "64")]
mod address {
    use super::*;

    number!(usize, 64, APART, word => (word as u64), narrowed to_32, from key => key as usize; kernels_of!(u64));
    number!(isize, 64, APART, word => (word as u64 ^ SIGN_64), narrowed to_32, from key => (key ^ SIGN_64) as isize; kernels_of!(i64));
}
#[cfg(target_pointer_width = "32")]
mod address {
    use super::*;

    number!(usize, 32, APART, word => (word as u32), from key => key as usize; kernels_of!(u32));
    number!(isize, 32, APART, word => (word as u32 ^ SIGN_32), from key => (key as u32 ^ SIGN_32) as isize; kernels_of!(i32));
}

macro_rules! narrow {
    ($($type:ty, $word:ident => $key:expr, $number:ident => $back:expr;)*) => { $(
        // SAFETY: the key is as wide as the number.
        unsafe impl Word for $type {
            const KEY_BITS: u32 = <$type>::BITS;
            const FROM_KEY: Option<fn(u64) -> $type> = Some(|$number| $back);

            #[inline(always)]
            fn key(self) -> u128 {
                let $word = self;
                $key.into()
            }

            #[inline(always)]
            fn of_short_key($number: u16) -> Option<Self> {
                Some($back)
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
    ($type:ty, $word:ident => $key:expr $(, second $second:literal)?) => {
        // SAFETY: the key is a u128.
        unsafe impl Word for $type {
            const KEY_BITS: u32 = 128;
            $( const SECOND_BITS: u32 = $second; )?

            #[inline(always)]
            fn key(self) -> u128 {
                let $word = self;
                $key
            }

            #[inline(always)]
            fn digit(self, shift: u32) -> u32 {
                (self.key() >> shift) as u32
            }

            fn narrowed(level: Level, words: &mut [Self]) -> Option<Narrowed<'_>> {
                super::narrow::to_64(level, words)
            }

            unsafe fn base_case(level: Level, words: *mut Self, n: usize, known: Bounds, table: &mut Table) -> bool {
                // SAFETY: the caller's promise.
                unsafe {
                    match level {
                        #[cfg(all(target_arch = "x86_64", not(miri)))]
                        Level::Avx512 => vector::base_case::<Self, vector::U128x8>(words, n, known, table),
                        Level::Avx2 => {
                            key_index::base_case(level, words, n, known.differing(), table);
                            true
                        }
                        _ => base_case::scalar(words, n, known, table),
                    }
                }
            }

            fn base_case_table(n: usize) -> usize {
                key_index::table_for::<Self>(n)
            }

            fn base_case_most(level: Level, table: usize) -> usize {
                match level {
                    #[cfg(all(target_arch = "x86_64", not(miri)))]
                    Level::Avx512 => vector::most::<vector::U128x8>(table),
                    Level::Avx2 => key_index::most::<Self>(level, table),
                    _ => base_case::scalar_most::<Self>(table),
                }
            }

            fn few(level: Level) -> usize {
                match level {
                    #[cfg(all(target_arch = "x86_64", not(miri)))]
                    Level::Avx512 => vector::few_most::<vector::U128x8>(),
                    Level::Avx2 => key_index::few(level),
                    _ => FEW,
                }
            }

            fn by_comparison(level: Level, words: &mut [Self], table: &mut Table) {
                match level {
                    #[cfg(all(target_arch = "x86_64", not(miri)))]
                    // SAFETY: the level is only there if the processor has it.
                    Level::Avx512 => unsafe { vector::by_comparison::<Self, vector::U128x8>(words, table) },
                    Level::Avx2 => key_index::by_comparison(level, words, table),
                    _ => by_key(words),
                }
            }

            fn merge(level: Level, words: &mut [Self], middle: usize, room: &mut [MaybeUninit<Self>]) {
                match level {
                    #[cfg(all(target_arch = "x86_64", not(miri)))]
                    // SAFETY: the level is only there if the processor has it.
                    Level::Avx512 => unsafe { vector::merge::<Self, vector::U128x8>(words, middle, room) },
                    _ => merge::merge(level, words, middle, room),
                }
            }
        }
    };
}

wide!(u128, word => word);
wide!(i128, word => word as u128 ^ 1 << 127);
wide!((u64, u64), word => u128::from(word.0) << 64 | u128::from(word.1), second 64);
