//! What is known of a range's keys before they are looked at: the least and the largest they can be.

/// Both ends belong to it.
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

    /// The key bits from here up are the same everywhere.
    pub(super) fn differing(self) -> u32 {
        u128::BITS - (self.low ^ self.high).leading_zeros()
    }

    /// How many bits it takes to write the distance between the ends.
    pub(super) fn width(self) -> u32 {
        u128::BITS - (self.high - self.low).leading_zeros()
    }
}
