//! A slot: an address outside a pool that is empty or holds one block of it.
//!
//! Streams, [`Slots`](super::slots::Slots), growing buffers and vanishing arrays all bring blocks of a pool to slots and give
//! them back, and the system may refuse each step. This module owns the steps, how each is undone, and what a refusal means.
//! Its users record which block is in which slot.
//!
//! ```text
//!            take             put               fetch
//!  budget ─────────▶ home ─────────▶ slot ─────────▶ home
//!     ▲                │               │
//!     └──── give ──────┴── give_back ──┘
//! ```
//!
//! *Home* is the address of a block in its pool. It stays empty while the block is away.
//!
//! # Safety
//! This code runs in fault handlers and obeys the rules at the top of [`crate::trap`]. Only [`Blocks::error`] takes memory; it is
//! for callers outside of handlers.

use super::error::{RewireError, RewireErrorKind};
use super::mapping_budget::{self, Mappings};
use super::pool::{BlockId, Blocks};
use crate::mover::{Engine, Prepare};
use crate::sys::{Errno, map};
use std::ptr;

/// What a block just taken holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contents {
    /// Zeros.
    Zeros,
    /// Whatever an earlier owner left; to be overwritten before it is read.
    Leftovers,
}

/// A slot, and what it takes to move a block there.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) address: usize,
    /// How blocks come to the range that the slot lies in.
    pub(crate) engine: Engine,
    pub(crate) prepare: Prepare,
    /// Mappings that a block in it costs.
    pub(crate) mappings: u64,
}

/// Why a block did not come: in numbers, because fault handlers carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shortage {
    pub(crate) kind: RewireErrorKind,
    /// The system's error, or 0.
    pub(crate) errno: Errno,
}

impl Shortage {
    /// What Eagre itself refuses.
    pub(crate) fn of(kind: RewireErrorKind) -> Shortage {
        Shortage { kind, errno: Errno(0) }
    }

    /// What it means that the system does not back a block.
    pub(super) fn of_backing(errno: Errno) -> Shortage {
        let kind = if errno.is_shortage() { RewireErrorKind::OutOfMemory } else { RewireErrorKind::System };
        Shortage { kind, errno }
    }

    /// What it means that the system does not move a block, or does not make a slot ready for one.
    ///
    /// `ENOMEM` is memory, or mappings, of the machine. It never means that the pool's budget is used up: blocks within the
    /// budget have been promised before.
    pub(crate) fn of_move(engine: Engine, errno: Errno) -> Shortage {
        let kind = match errno {
            Errno::BUSY => RewireErrorKind::Pinned,
            // The addresses are right, so what is wrong is that one side is locked and the other is not. `mremap` moves what is
            // locked; its EINVAL means a kernel without MREMAP_DONTUNMAP.
            Errno::INVAL if matches!(engine, Engine::Move(_)) => RewireErrorKind::Pinned,
            _ if errno.is_shortage() => RewireErrorKind::OutOfMemory,
            _ => RewireErrorKind::System,
        };
        Shortage { kind, errno }
    }

    /// The kinds there are, for [`Shortage::word`].
    const KINDS: [RewireErrorKind; 6] = [
        RewireErrorKind::Full,
        RewireErrorKind::OutOfBlocks,
        RewireErrorKind::OutOfMemory,
        RewireErrorKind::OutOfMappings,
        RewireErrorKind::Pinned,
        RewireErrorKind::System,
    ];

    /// As one number that is not 0, for an atomic.
    pub(crate) fn word(self) -> u64 {
        let index = Self::KINDS.iter().position(|&kind| kind == self.kind).unwrap_or(Self::KINDS.len() - 1);
        (index as u64 + 1) | (self.errno.0 as u64) << 32
    }

    /// What [`Shortage::word`] made a number of.
    pub(crate) fn from_word(word: u64) -> Option<Shortage> {
        let index = ((word & 0xFF) as usize).checked_sub(1)?;
        Some(Shortage { kind: *Self::KINDS.get(index)?, errno: Errno((word >> 32) as i32) })
    }
}

/// Moves a block to an empty slot, from an address that `source` moves blocks to. If that fails, it stays there.
///
/// # Safety
/// The block is the caller's, nothing is in the slot, and nobody uses the bytes of either.
#[inline]
pub(crate) unsafe fn carry(source: Engine, from: usize, slot: Slot, len: usize) -> Result<(), Shortage> {
    // SAFETY: the caller's contract.
    unsafe { slot.engine.into_range(source, from, slot.address, len, slot.prepare) }
        .map_err(|errno| Shortage::of_move(slot.engine, errno))
}

impl Blocks {
    /// Takes a block, and its share of the budget. It is at home.
    pub(crate) fn take(&self, contents: Contents) -> Result<BlockId, Shortage> {
        if !self.commit(1) {
            return Err(Shortage::of(RewireErrorKind::OutOfBlocks));
        }
        self.take_committed(contents).inspect_err(|_| self.uncommit(1))
    }

    /// Takes a block whose share of the budget the caller has committed before.
    pub(crate) fn take_committed(&self, contents: Contents) -> Result<BlockId, Shortage> {
        let (id, dirty) = self.pop().map_err(Shortage::of_backing)?;
        if dirty && contents == Contents::Zeros {
            // SAFETY: the block is ours since it was popped, backed, and at home.
            unsafe { ptr::with_exposed_provenance_mut::<u8>(self.home(id)).write_bytes(0, self.block.bytes()) };
        }
        Ok(id)
    }

    /// Gives back a block that is at home, and its share of the budget.
    pub(crate) fn give(&self, id: BlockId) {
        self.push(id);
        self.uncommit(1);
    }

    /// Moves a block from home to an empty slot. If that fails, it is still at home.
    ///
    /// # Safety
    /// The block is the caller's, nothing is in the slot, and nobody uses the bytes of either.
    pub(crate) unsafe fn put(&self, id: BlockId, slot: Slot) -> Result<(), Shortage> {
        if !mapping_budget::try_claim(slot.mappings) {
            return Err(Shortage::of(RewireErrorKind::OutOfMappings));
        }
        // SAFETY: the caller's contract.
        unsafe { carry(self.engine(), self.home(id), slot, self.block.bytes()) }
            .inspect_err(|_| mapping_budget::release(slot.mappings))
    }

    /// Takes a block into an empty slot. If that fails, the pool is as it was.
    ///
    /// # Safety
    /// Nothing is in the slot, which is the caller's.
    pub(crate) unsafe fn take_into(&self, slot: Slot, contents: Contents) -> Result<BlockId, Shortage> {
        let id = self.take(contents)?;
        // SAFETY: just taken, so at home and ours; the slot is the caller's and empty.
        unsafe { self.put(id, slot) }.inspect_err(|_| self.give(id))?;
        Ok(id)
    }

    /// Moves the block in a slot home. If that fails, it is still in the slot.
    ///
    /// # Safety
    /// The block is the caller's, and nobody uses its bytes.
    pub(crate) unsafe fn fetch(&self, id: BlockId, slot: Slot) -> Result<(), Shortage> {
        let (from, home) = (slot.address, self.home(id));
        if from != home {
            // SAFETY: the caller's contract; home is empty while the block is away.
            unsafe { self.engine().into_pool(slot.engine, from, home, self.block.bytes()) }
                .map_err(|errno| Shortage::of_move(self.engine(), errno))?;
        }
        mapping_budget::release(slot.mappings);
        Ok(())
    }

    /// Gives back the block in a slot, which may be its home, and its share of the budget.
    ///
    /// # Safety
    /// As for [`Blocks::give_back_committed`].
    pub(crate) unsafe fn give_back(&self, id: BlockId, slot: Slot) {
        // SAFETY: the caller's contract.
        unsafe { self.give_back_committed(id, slot) };
        self.uncommit(1);
    }

    /// Gives back the block in a slot, which may be its home: its memory too, locked or not, unless it is pinned. Then the pins
    /// keep the memory until they end, and the pool gets new memory for the block. Its share of the budget stays committed.
    ///
    /// # Safety
    /// The block is the caller's, and nobody needs its contents.
    pub(crate) unsafe fn give_back_committed(&self, id: BlockId, slot: Slot) {
        let (from, home, len) = (slot.address, self.home(id), self.block.bytes());
        // SAFETY: the caller's contract; home is empty while the block is away.
        match from == home || unsafe { self.engine().take_back(slot.engine, from, home, len) } {
            true => self.push(id),
            false => self.push_empty(id),
        }
        mapping_budget::release(slot.mappings);
    }

    /// Gives up a pinned block, wherever it is. The pins keep its memory until they end; the pool gets new memory for the block.
    /// Its share of the budget stays committed.
    ///
    /// # Safety
    /// The block is the caller's, and nobody needs its contents.
    pub(crate) unsafe fn abandon(&self, id: BlockId, address: usize) {
        // SAFETY: the caller's contract.
        let _ = unsafe { map::discard(address, self.block.bytes()) };
        self.push_empty(id);
    }

    /// Copies a pinned block into another one, which is at home and whose number it returns, and gives the pinned one up. If
    /// there is no other, the block is given up all the same.
    ///
    /// # Safety
    /// The block is the caller's, and its bytes do not change.
    pub(crate) unsafe fn replace_by_copy(&self, id: BlockId, from: usize) -> Result<BlockId, Shortage> {
        // The home of the pinned block is free for the new one, unless it is pinned right there.
        let at_home = from == self.home(id);
        if !at_home {
            self.push_empty(id);
        }
        let taken = self.take_committed(Contents::Leftovers);
        let len = self.block.bytes();
        // SAFETY: both blocks are the caller's, and apart; the bytes of the pinned one do not change.
        unsafe {
            if let Ok(other) = taken {
                let source = ptr::with_exposed_provenance::<u8>(from);
                ptr::with_exposed_provenance_mut::<u8>(self.home(other)).copy_from_nonoverlapping(source, len);
            }
            let _ = map::discard(from, len);
        }
        if at_home {
            self.push_empty(id);
        }
        taken
    }

    /// Replaces the memory of a block that is at home by new zeroed memory from the system. If that fails, the block has gone back
    /// to the pool; its share of the budget stays committed.
    ///
    /// # Safety
    /// The block is the caller's, and nobody needs its contents.
    pub(crate) unsafe fn refresh(&self, id: BlockId) -> Result<(), Shortage> {
        if self.is_fixed() {
            // SAFETY: the caller's contract; the block is at home.
            unsafe { ptr::with_exposed_provenance_mut::<u8>(self.home(id)).write_bytes(0, self.block.bytes()) };
            return Ok(());
        }
        // SAFETY: the caller's contract.
        if let Err(errno) = unsafe { self.homes().discard(id) } {
            // It still has all its memory.
            self.push(id);
            return Err(Shortage::of_backing(errno));
        }
        // SAFETY: as above, and it has no memory now.
        unsafe { self.homes().back(id) }.map_err(|errno| {
            self.push_empty(id);
            Shortage::of_backing(errno)
        })
    }

    /// A shortage in words. Takes memory: not for handlers.
    pub(crate) fn error(&self, Shortage { kind, errno }: Shortage) -> RewireError {
        match kind {
            RewireErrorKind::OutOfBlocks => RewireError::new(kind, self.promises()),
            RewireErrorKind::OutOfMappings => {
                let Mappings { used, budget, .. } = Mappings::now();
                RewireError::new(kind, format_args!("{used} of {budget} are in use"))
            }
            RewireErrorKind::OutOfMemory if errno == Errno::AGAIN => {
                RewireError::new(kind, format_args!("{errno}: locked memory (`ulimit -l`); {self}"))
            }
            // The kernel has one answer for all of these.
            RewireErrorKind::OutOfMemory if matches!(self.engine(), Engine::Remap | Engine::Map) => RewireError::new(
                kind,
                format_args!("{errno}: memory, `ulimit -d` or `-v`, or mappings (vm.max_map_count); {self}"),
            ),
            RewireErrorKind::OutOfMemory => RewireError::new(kind, format_args!("{errno}; {self}")),
            _ => RewireError::new(kind, errno),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_survives_its_word() {
        assert_eq!(Shortage::from_word(0), None);
        for kind in Shortage::KINDS {
            for errno in [0, 12, 22] {
                let shortage = Shortage { kind, errno: Errno(errno) };
                assert_eq!(Shortage::from_word(shortage.word()), Some(shortage));
            }
        }
    }

    #[test]
    fn what_the_system_lacks_is_never_the_pools_budget() {
        for errno in [Errno::NOMEM, Errno::AGAIN] {
            assert_eq!(Shortage::of_move(Engine::Remap, errno).kind, RewireErrorKind::OutOfMemory);
            assert_eq!(Shortage::of_backing(errno).kind, RewireErrorKind::OutOfMemory);
        }
    }

    #[test]
    fn a_kernel_that_cannot_remap_does_not_mean_a_pinned_block() {
        assert_eq!(Shortage::of_move(Engine::Remap, Errno::INVAL).kind, RewireErrorKind::System);
        assert_eq!(Shortage::of_move(Engine::Remap, Errno::BUSY).kind, RewireErrorKind::Pinned);
    }
}
