//! How an array is cut into blocks and groups, and the mappings that takes at most.

#![forbid(unsafe_code)]

use crate::units::{HUGE_PAGE, PAGE};
use std::ops::Range;

/// So many blocks of a group are kept for a snapshot one by one. With the next store the whole group is: by then the faults have
/// cost about what copying a group does, and each more would cost mappings too.
pub(super) const SINGLES: u8 = 8;

/// The length of an array and its units, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    /// Whole groups.
    pub(super) len: usize,
    /// What a store copies: a power of two from a page to a group.
    pub(super) block: usize,
    /// A huge page, or all of a smaller array.
    pub(super) group: usize,
}

impl Geometry {
    /// The largest block.
    pub(super) const MOST_BLOCK: usize = HUGE_PAGE;
    /// Small arrays are a multiple of this.
    const SMALL: usize = 64 << 10;

    /// For `bytes` bytes, rounded up. `None` if the block is not one, or there are more bytes than addresses.
    pub(super) fn new(bytes: usize, block: usize) -> Option<Geometry> {
        if !block.is_power_of_two() || !(PAGE..=Geometry::MOST_BLOCK).contains(&block) {
            return None;
        }
        let small = bytes.max(1).checked_next_multiple_of(Geometry::SMALL.max(block))?;
        let len = if small < HUGE_PAGE { small } else { bytes.checked_next_multiple_of(HUGE_PAGE)? };
        Some(Geometry { len, block, group: len.min(HUGE_PAGE) })
    }

    pub(super) fn blocks(self) -> usize {
        self.len / self.block
    }

    pub(super) fn groups(self) -> usize {
        self.len / self.group
    }

    pub(super) fn blocks_of(self, group: usize) -> Range<usize> {
        let each = self.group / self.block;
        group * each..(group + 1) * each
    }

    pub(super) fn group_of(self, block: usize) -> usize {
        block / (self.group / self.block)
    }

    /// The bytes of some blocks.
    pub(super) fn bytes(self, blocks: &Range<usize>) -> Range<usize> {
        blocks.start * self.block..blocks.end * self.block
    }

    /// The most mappings that the addresses of the array, or of its `age`th snapshot (from 1), come to.
    ///
    /// Each block that is kept by itself cuts a mapping in three. What is kept of a group at once lies where older snapshots
    /// have left room, so their cuts count as well.
    pub(super) fn most_mappings(self, age: u64) -> u64 {
        let cuts = (u64::from(SINGLES) * age).saturating_mul(age + 1) + 1;
        self.groups() as u64 * cuts.min((self.group / self.block) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_whole_groups() {
        for (bytes, block, len, group) in [
            (0, PAGE, 64 << 10, 64 << 10),
            (65 << 10, PAGE, 128 << 10, 128 << 10),
            (1, HUGE_PAGE, HUGE_PAGE, HUGE_PAGE),
            ((2 << 20) + 1, PAGE, 4 << 20, HUGE_PAGE),
        ] {
            let geometry = Geometry::new(bytes, block).unwrap();
            assert_eq!((geometry.len, geometry.group), (len, group), "{bytes} {block}");
            assert_eq!(geometry.groups() * geometry.blocks_of(0).len(), geometry.blocks());
        }
        for (bytes, block) in [(1, 2048), (1, 5000), (1, 4 << 20), (usize::MAX, PAGE)] {
            assert!(Geometry::new(bytes, block).is_none(), "{bytes} {block}");
        }
    }

    #[test]
    fn mappings_are_at_most_one_a_block() {
        let geometry = Geometry::new(1 << 30, PAGE).unwrap();
        assert_eq!(geometry.most_mappings(1), 512 * 17);
        assert_eq!(geometry.most_mappings(2), 512 * 49);
        assert_eq!(geometry.most_mappings(250), 512 * 512);
        assert_eq!(Geometry::new(1 << 30, HUGE_PAGE).unwrap().most_mappings(1), 512);
    }
}
