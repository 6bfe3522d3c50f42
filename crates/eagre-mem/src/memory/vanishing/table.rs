//! Which blocks a vanishing array has, and where each of them is: in its slot, or set aside at home.

#![forbid(unsafe_code)]

use super::lifecycle::{Lifecycle, Windows};
use crate::memory::pool::BlockId;

/// What is in a slot: nothing, or a block that is there or set aside.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry(u32);

impl Entry {
    pub(super) const NONE: Entry = Entry(0);
    pub(super) const ASIDE: u32 = 1 << 31;

    pub(super) fn in_place(id: BlockId) -> Entry {
        Entry(id + 1)
    }

    pub(super) fn set_aside(id: BlockId) -> Entry {
        Entry((id + 1) | Self::ASIDE)
    }

    pub(super) fn id(self) -> Option<BlockId> {
        (self.0 & !Self::ASIDE).checked_sub(1)
    }

    pub(super) fn is_aside(self) -> bool {
        self.0 & Self::ASIDE != 0
    }

    pub(super) fn is_in_place(self) -> bool {
        self != Self::NONE && !self.is_aside()
    }
}

/// One array: its lifecycle, and its blocks.
pub(super) struct Array {
    pub(super) lifecycle: Lifecycle,
    /// [`Entry`] for each slot. Plain numbers, so that the table of an array with a high limit comes from the system as zeros
    /// and costs nothing until it is used.
    table: Box<[u32]>,
    /// Blocks in it.
    pub(super) held: u32,
    /// Mappings set aside for runs of blocks, until the round ends.
    pub(super) runs: u64,
}

impl Array {
    /// An empty one of at most `limit` blocks.
    pub(super) fn new(windows: Windows, limit: u32) -> Array {
        let table = vec![0; limit as usize].into_boxed_slice();
        Array { lifecycle: Lifecycle::new(windows, limit), table, held: 0, runs: 0 }
    }

    pub(super) fn at(&self, slot: u32) -> Entry {
        self.table.get(slot as usize).map_or(Entry::NONE, |&entry| Entry(entry))
    }

    pub(super) fn set(&mut self, slot: u32, entry: Entry) {
        self.table[slot as usize] = entry.0;
    }
}
