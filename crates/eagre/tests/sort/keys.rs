//! Every type of key: how to make one of a pattern's number, and the order it is promised.

use std::cmp::Ordering;

use eagre::keys::Key;

use fastrand::Rng;

/// A key and what the standard library says of it.
pub(crate) trait Case: Key {
    fn make(number: u64, random: &mut Rng) -> Self;

    fn order(&self, other: &Self) -> Ordering;
}

macro_rules! cases {
    ($($type:ty: $number:ident, $random:ident => $make:expr;)*) => { $(
        impl Case for $type {
            fn make($number: u64, $random: &mut Rng) -> Self {
                let _ = &$random;
                $make
            }

            fn order(&self, other: &Self) -> Ordering {
                self.cmp(other)
            }
        }
    )* };
}

/// The interesting bits of a number, whether they are above or below.
fn folded(number: u64) -> u32 {
    (number >> 32) as u32 ^ number as u32
}

cases! {
    u8: number, random => (folded(number) >> 24 ^ folded(number)) as u8;
    i8: number, random => (number >> 56) as i8;
    u16: number, random => (folded(number) >> 16 ^ folded(number)) as u16;
    i16: number, random => (number >> 48) as i16;
    usize: number, random => number as usize;
    isize: number, random => number as isize;
    u32: number, random => folded(number);
    i32: number, random => folded(number) as i32;
    u64: number, random => number;
    i64: number, random => number as i64;
    // Keys that differ below 64 bits, or above, or in both.
    u128: number, random => match number % 3 {
        0 => u128::from(number) << 64 | u128::from(random.u64(0..3)),
        1 => u128::from(number) << 64 | u128::from(random.u64(..)),
        _ => u128::from(number),
    };
    i128: number, random => (i128::from(number as i64) * 3) << (random.u64(0..2) * 60);
    (u32, u32): number, random => ((number >> 32) as u32, if number & 1 == 0 { number as u32 } else { random.u64(..) as u32 });
    (u64, u64): number, random => (number, random.u64(0..3) << 62 | random.u64(0..3));
}

impl Case for f32 {
    fn make(number: u64, _: &mut Rng) -> f32 {
        f32::from_bits(folded(number))
    }

    fn order(&self, other: &f32) -> Ordering {
        self.total_cmp(other)
    }
}

impl Case for f64 {
    fn make(number: u64, _: &mut Rng) -> f64 {
        f64::from_bits(number)
    }

    fn order(&self, other: &f64) -> Ordering {
        self.total_cmp(other)
    }
}
