//! Converts words to keys in lanes, and back.

use std::mem::offset_of;

use super::super::Word;

/// An unsigned number that orders words, of the same size.
///
/// # Safety
/// A number is plain bits: every bit pattern is valid.
pub(in super::super) unsafe trait Number: Lane<Key = Self> + Ord {
    /// The key that fills up registers.
    const LARGEST: Self;
    /// The highest bit.
    const SIGN: Self;

    /// The low bits of a key.
    fn new(key: u128) -> Self;

    /// The low bits after a shift to the right.
    fn digit(self, shift: u32) -> usize;

    /// The distance from a number that is not larger.
    fn minus(self, other: Self) -> Self;

    /// The bits of the word with this key.
    fn back(self, order: Order) -> Self;
}

macro_rules! numbers {
    ($($type:ty)*) => { $(
        // SAFETY: an integer.
        unsafe impl Number for $type {
            const LARGEST: $type = <$type>::MAX;
            const SIGN: $type = 1 << (<$type>::BITS - 1);

            #[inline(always)]
            fn new(key: u128) -> $type {
                key as $type
            }

            #[inline(always)]
            fn digit(self, shift: u32) -> usize {
                (self >> shift) as usize
            }

            #[inline(always)]
            fn minus(self, other: $type) -> $type {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn back(self, order: Order) -> $type {
                match order {
                    Order::Unsigned => self,
                    Order::Signed => self ^ Self::SIGN,
                    Order::Float if self >= Self::SIGN => self ^ Self::SIGN,
                    Order::Float => !self,
                    Order::Halves => self.rotate_left(<$type>::BITS / 2),
                }
            }
        }
    )* };
}

numbers!(u32 u64 u128);

/// How a word's bits become its key.
#[derive(Clone, Copy)]
pub(in super::super) enum Order {
    /// They are the key.
    Unsigned,
    /// The sign bit is inverted.
    Signed,
    /// The sign bit is inverted, or all bits of negative numbers.
    Float,
    /// The lower half is more significant.
    Halves,
}

impl Order {
    /// For a pair whose first part has this offset.
    const fn of_pair(first: usize) -> Order {
        if (first == 0) == cfg!(target_endian = "little") { Order::Halves } else { Order::Unsigned }
    }
}

/// A word that fits a lane.
///
/// # Safety
/// The key's type has the size of the word, which has no padding, and `ORDER` turns its bits into [`Word::key`].
pub(in super::super) unsafe trait Lane: Word {
    type Key: Number;
    const ORDER: Order;

    #[inline(always)]
    fn lane(self) -> Self::Key {
        Self::Key::new(self.key())
    }

    #[inline(always)]
    fn from_lane(key: Self::Key) -> Self {
        const { assert!(size_of::<Self>() == size_of::<Self::Key>()) };
        // SAFETY: as long, and any bits are a word.
        unsafe { std::mem::transmute_copy(&key.back(Self::ORDER)) }
    }
}

macro_rules! lanes {
    ($($type:ty, $key:ty, $order:expr;)*) => { $(
        // SAFETY: plain numbers, or two of them of equal length.
        unsafe impl Lane for $type {
            type Key = $key;
            const ORDER: Order = $order;
        }
    )* };
}

lanes! {
    u32, u32, Order::Unsigned;
    i32, u32, Order::Signed;
    f32, u32, Order::Float;
    u64, u64, Order::Unsigned;
    i64, u64, Order::Signed;
    f64, u64, Order::Float;
    (u32, u32), u64, Order::of_pair(offset_of!((u32, u32), 0));
    u128, u128, Order::Unsigned;
    i128, u128, Order::Signed;
    (u64, u64), u128, Order::of_pair(offset_of!((u64, u64), 0));
}
