//! Kinds of elements: how each dtype that can be sorted lies in memory, and which key of the library gives its order.
//!
//! A key is canonical: elements that NumPy takes for equal (-0.0 and 0.0, any two NaN) have the same one. So a stable sort by
//! the key is NumPy's stable sort. Missing values (NaN, NaT) have the largest keys, in either direction.

use std::marker::PhantomData;
use std::ops::RangeInclusive;

use eagre::sort::{Key, SortError, Sorter};

use crate::array::Raw;
use crate::order;

/// A dtype.
pub(crate) trait Kind: 'static {
    /// An element in memory.
    type Item: Raw;
    type Key: Key;

    /// The key, for an ascending or a descending order.
    fn key(item: Self::Item, descending: bool) -> Self::Key;

    /// Sorts in place, missing values last.
    fn sort(sorter: &Sorter<'_>, items: &mut [Self::Item], descending: bool) -> Result<(), SortError> {
        sorter.sort_by_key(items, |&item| Self::key(item, descending))
    }

    /// Brings the first `k` to the front, in order; the others follow in any order.
    fn select(sorter: &Sorter<'_>, items: &mut [Self::Item], _k: usize, descending: bool) -> Result<(), SortError> {
        Self::sort(sorter, items, descending)
    }
}

/// Integers, and bool.
pub(crate) struct Integer<T>(PhantomData<T>);
/// Floating-point numbers of 32 and 64 bits.
pub(crate) struct Float<T>(PhantomData<T>);
/// Floating-point numbers of 16 bits.
pub(crate) struct Half;
/// Complex numbers of two parts: by the real, then by the imaginary one.
pub(crate) struct Complex<T>(PhantomData<T>);
/// Dates and spans of time.
pub(crate) struct Time;
/// Bytes of fixed width: 16.
pub(crate) struct Bytes;

macro_rules! integers {
    ($($type:ty, $unsigned:ty => $key:ty;)*) => { $(
        impl Kind for Integer<$type> {
            type Item = $type;
            type Key = $key;

            fn key(item: $type, descending: bool) -> $key {
                // Counted from the smallest.
                let key = item.wrapping_sub(<$type>::MIN) as $unsigned as $key;
                if descending { !key } else { key }
            }

            fn sort(sorter: &Sorter<'_>, items: &mut [$type], descending: bool) -> Result<(), SortError> {
                sorter.descending(descending).sort(items)
            }

            fn select(sorter: &Sorter<'_>, items: &mut [$type], k: usize, descending: bool) -> Result<(), SortError> {
                if descending { sorter.largest(items, k) } else { sorter.smallest(items, k) }
            }
        }
    )* };
}

// Few types of keys: each is code of its own.
integers! {
    u8, u8 => u32;
    i8, u8 => u32;
    u16, u16 => u32;
    i16, u16 => u32;
    u32, u32 => u32;
    i32, u32 => u32;
    u64, u64 => u64;
    i64, u64 => u64;
}

/// The order of a floating-point number as that of an unsigned integer, from its bits: missing ones are the largest.
macro_rules! ordered {
    ($name:ident, $bits:ty, $infinity:expr) => {
        fn $name(bits: $bits, descending: bool) -> $bits {
            const SIGN: $bits = 1 << (<$bits>::BITS - 1);
            let bits = if bits == SIGN { 0 } else { bits };
            match () {
                () if bits & !SIGN > $infinity => <$bits>::MAX,
                () if (bits & SIGN != 0) != descending => !(bits | SIGN),
                () => (bits & !SIGN) | SIGN,
            }
        }
    };
}

ordered!(ordered_16, u16, 0x7c00);
ordered!(ordered_32, u32, 0x7f80_0000);
ordered!(ordered_64, u64, 0x7ff0_0000_0000_0000);

macro_rules! floats {
    ($float:ty, $bits:ty, $wide:ty, $ordered:ident) => {
        impl Kind for Float<$float> {
            type Item = $float;
            type Key = $bits;

            fn key(item: $float, descending: bool) -> $bits {
                $ordered(item.to_bits(), descending)
            }

            fn sort(sorter: &Sorter<'_>, items: &mut [$float], descending: bool) -> Result<(), SortError> {
                sorter.nan_last(true).descending(descending).sort(items)
            }

            fn select(sorter: &Sorter<'_>, items: &mut [$float], k: usize, descending: bool) -> Result<(), SortError> {
                let sorter = sorter.nan_last(true);
                if descending { sorter.largest(items, k) } else { sorter.smallest(items, k) }
            }
        }

        impl Kind for Complex<$float> {
            type Item = [$float; 2];
            type Key = $wide;

            /// Numbers with missing parts come last: first those without an imaginary part, by the real one, then those
            /// without a real part, by the imaginary one.
            fn key([real, imaginary]: [$float; 2], descending: bool) -> $wide {
                let part = |part: $float| <$wide>::from($ordered(part.to_bits(), descending));
                // No value has one of the last three.
                let last = <$wide>::from(<$bits>::MAX);
                let (high, low) = match (real.is_nan(), imaginary.is_nan()) {
                    (false, false) => (part(real), part(imaginary)),
                    (false, true) => (last - 2, part(real)),
                    (true, false) => (last - 1, part(imaginary)),
                    (true, true) => (last, 0),
                };
                high << <$bits>::BITS | low
            }
        }
    };
}

floats!(f32, u32, u64, ordered_32);
floats!(f64, u64, u128, ordered_64);

/// The bits of infinity.
const INFINITY: i16 = 0x7c00;

/// Half numbers become integers of the same order, and then themselves again.
impl Kind for Half {
    type Item = i16;
    type Key = u32;

    fn key(item: i16, descending: bool) -> u32 {
        u32::from(ordered_16(item as u16, descending))
    }

    fn sort(sorter: &Sorter<'_>, items: &mut [i16], descending: bool) -> Result<(), SortError> {
        // Twice, it changes nothing.
        let turn = |items: &mut [i16]| items.iter_mut().for_each(|item| *item ^= (*item >> 15) & i16::MAX);
        turn(items);
        let sorted = order::sort(sorter, items, !INFINITY..=INFINITY, descending);
        turn(items);
        sorted
    }
}

/// All but NaT.
const TIMES: RangeInclusive<i64> = i64::MIN + 1..=i64::MAX;

impl Kind for Time {
    type Item = i64;
    type Key = u64;

    fn key(item: i64, descending: bool) -> u64 {
        // NaT, the smallest, goes round to the largest; all others move down by one.
        let key = (item as u64 ^ 1 << 63).wrapping_sub(1);
        match descending && item != i64::MIN {
            true => u64::MAX - 1 - key,
            false => key,
        }
    }

    fn sort(sorter: &Sorter<'_>, items: &mut [i64], descending: bool) -> Result<(), SortError> {
        order::sort(sorter, items, TIMES, descending)
    }

    fn select(sorter: &Sorter<'_>, items: &mut [i64], k: usize, descending: bool) -> Result<(), SortError> {
        order::select(sorter, items, TIMES, (k, descending))
    }
}

/// The first byte is the most significant one.
impl Kind for Bytes {
    type Item = [u8; 16];
    type Key = u128;

    fn key(item: [u8; 16], descending: bool) -> u128 {
        let key = u128::from_be_bytes(item);
        if descending { !key } else { key }
    }
}
