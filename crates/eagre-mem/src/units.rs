//! Units as types, so that bytes and block counts cannot be mixed up.
#![forbid(unsafe_code)]

use std::fmt;
use std::num::NonZeroU32;

/// The size of a block in bytes: the unit Eagre moves.
///
/// A power of two from 64 KiB to 64 MiB. Blocks of 2 MiB and more are backed by huge pages where the kernel gives
/// them and move as one page-table entry per 2 MiB; smaller blocks are made of 4 KiB pages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockSize(NonZeroU32);

impl BlockSize {
    /// 2 MiB, one huge page.
    pub const DEFAULT: BlockSize = BlockSize(NonZeroU32::new(2 << 20).unwrap());
    /// The smallest block.
    pub const MIN: BlockSize = BlockSize(NonZeroU32::new(64 << 10).unwrap());
    /// The largest block.
    pub const MAX: BlockSize = BlockSize(NonZeroU32::new(64 << 20).unwrap());

    /// A block of `bytes` bytes, or `None` if that is not a power of two from 64 KiB to 64 MiB.
    pub const fn new(bytes: usize) -> Option<BlockSize> {
        if !bytes.is_power_of_two() || bytes < Self::MIN.bytes() || bytes > Self::MAX.bytes() {
            return None;
        }
        match NonZeroU32::new(bytes as u32) {
            Some(size) => Some(BlockSize(size)),
            None => None,
        }
    }

    /// The size in bytes.
    pub const fn bytes(self) -> usize {
        self.0.get() as usize
    }

    /// The block that holds byte `offset` of a stream.
    #[inline]
    pub(crate) const fn block_of(self, offset: u64) -> u64 {
        offset >> self.0.trailing_zeros()
    }

    /// Where byte `offset` of a stream lies within its block.
    #[inline]
    pub(crate) const fn within(self, offset: u64) -> usize {
        (offset & (self.0.get() as u64 - 1)) as usize
    }

    /// The offset of the first byte of `block`.
    #[inline]
    pub(crate) const fn start_of(self, block: u64) -> u64 {
        block << self.0.trailing_zeros()
    }

    /// Whether a block is made of whole huge pages.
    pub(crate) const fn is_huge(self) -> bool {
        self.bytes() >= HUGE_PAGE
    }
}

impl Default for BlockSize {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Debug for BlockSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockSize({self})")
    }
}

impl fmt::Display for BlockSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Bytes(self.bytes() as u64))
    }
}

/// The smallest unit that the MMU maps.
pub(crate) const PAGE: usize = 4096;
/// What one entry of the second-lowest page table maps.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// A number of bytes as people read it: `2 MiB`, `1 TiB`, `1000 bytes`.
pub(crate) struct Bytes(pub(crate) u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
        for (unit, shift) in UNITS {
            if self.0 >= 1 << shift && self.0.trailing_zeros() >= shift {
                return write!(f, "{} {unit}", self.0 >> shift);
            }
        }
        write!(f, "{} bytes", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_powers_of_two_within_bounds() {
        for bytes in [0, 1, 4096, (64 << 10) - 1, 3 << 20, 128 << 20] {
            assert_eq!(BlockSize::new(bytes), None, "{bytes}");
        }
        for shift in 16..=26 {
            assert_eq!(BlockSize::new(1 << shift).unwrap().bytes(), 1 << shift);
        }
    }

    #[test]
    fn offsets_split_into_block_and_rest() {
        let size = BlockSize::new(64 << 10).unwrap();
        for offset in [0u64, 1, 65535, 65536, 65537, 1 << 40] {
            assert_eq!(size.start_of(size.block_of(offset)) + size.within(offset) as u64, offset);
        }
    }

    #[test]
    fn bytes_read_well() {
        assert_eq!(Bytes(1 << 40).to_string(), "1 TiB");
        assert_eq!(Bytes(3 << 20).to_string(), "3 MiB");
        assert_eq!(Bytes(1000).to_string(), "1000 bytes");
    }
}
