//! The bounds of a range's keys: the smallest and the largest key there can be.

/// Both bounds are inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(super) low: u128,
    pub(super) high: u128,
}

impl Bounds {
    /// All keys of so many bits.
    pub(super) const fn of_bits(bits: u32) -> Bounds {
        Bounds { low: 0, high: u128::MAX >> (u128::BITS - bits) }
    }

    /// The number of low bits that may differ: all higher bits are the same.
    pub(super) fn differing(self) -> u32 {
        u128::BITS - (self.low ^ self.high).leading_zeros()
    }

    /// How many bits it takes to write the distance between the bounds.
    pub(super) fn width(self) -> u32 {
        u128::BITS - (self.high - self.low).leading_zeros()
    }
}
