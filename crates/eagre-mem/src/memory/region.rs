//! Blocks in contiguous slots, in any order.

use super::block::Block;
use super::error::{NotMapped, RewireError, RewireErrorKind};
use super::pool::Pool;
use super::slots::Slots;
use crate::heap::{self, Shared};
use crate::units::BlockSize;
use std::fmt;
use std::ops::Range;
use std::ptr::{self, NonNull};

/// Contiguous addresses cut into slots, each empty or holding one block of a pool: blocks in an order of one's own, without a
/// copy.
///
/// Blocks are mapped in a slot and unmapped from it, two slots are swapped, many are shuffled. Page-table entries change, bytes
/// are not copied (unless the mover is `copy`). The address of a slot never changes. What arrives in pieces and in any order is
/// one slice in the end:
///
/// ```
/// # use eagre_mem::{BlockSize, Pool, Region};
/// # fn receive(part: usize, to: &mut [u8]) { to.fill(part as u8) }
/// let pool = Pool::new(BlockSize::DEFAULT, 8, None, None)?;
/// let mut message = Region::new(&pool, 3)?;
/// for part in [2, 0, 1] {
///     let mut block = pool.take()?;
///     receive(part, &mut block);
///     message.map(part, block)?;
/// }
/// let size = pool.block_size().bytes();
/// let bytes = message.get(0..3).expect("every slot holds a block");
/// assert_eq!((bytes[0], bytes[size], bytes[2 * size]), (0, 1, 2));
/// // Two parts change places by three moves of page-table entries.
/// message.swap(0, 2)?;
/// # assert_eq!(message.get(0..1).unwrap()[0], 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Nobody but the owner of the region gets at its bytes, so all of it is safe: a slice borrows the region as long as it lives.
///
/// A forked child has no part in it: calls that rewire return [`Forked`](RewireErrorKind::Forked), and the bytes are not
/// there.
pub struct Region {
    slots: Slots,
}

// SAFETY: the addresses and blocks are the region's own, as a vector's buffer is; `&Region` only reads.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Reserves addresses for `slots` blocks of `pool`. That takes no memory.
    ///
    /// # Errors
    /// [`OutOfAddresses`](RewireErrorKind::OutOfAddresses), [`OutOfMappings`](RewireErrorKind::OutOfMappings),
    /// [`NoPool`](RewireErrorKind::NoPool), [`Forked`](RewireErrorKind::Forked).
    pub fn new(pool: &Pool, slots: usize) -> Result<Region, RewireError> {
        let bytes = (slots as u64).saturating_mul(pool.block_size().bytes() as u64);
        Ok(Region { slots: Slots::new(pool, bytes, 1)? })
    }

    /// How many slots there are; at least one.
    pub fn slots(&self) -> usize {
        self.slots.count()
    }

    /// The size of a slot.
    pub fn block_size(&self) -> BlockSize {
        self.slots.pool().block
    }

    /// The address of slot 0. Slot `i` begins `i` block sizes further on. An empty slot must not be touched.
    pub fn as_ptr(&self) -> NonNull<u8> {
        let start = ptr::with_exposed_provenance_mut(self.slots.start());
        // SAFETY: the kernel maps nothing at address 0, nor does an allocator.
        unsafe { NonNull::new_unchecked(start) }
    }

    /// The number of the block in a slot, or `None` if it is empty.
    pub fn block_at(&self, slot: usize) -> Option<u32> {
        self.slots.at(slot)
    }

    /// Maps a block in an empty slot: its bytes are there now.
    ///
    /// # Errors
    /// The block comes back with the reason: [`Full`](RewireErrorKind::Full) (no such slot),
    /// [`Occupied`](RewireErrorKind::Occupied), [`OtherPool`](RewireErrorKind::OtherPool),
    /// [`OutOfMappings`](RewireErrorKind::OutOfMappings), [`Pinned`](RewireErrorKind::Pinned),
    /// [`Forked`](RewireErrorKind::Forked).
    pub fn map(&mut self, slot: usize, block: Block) -> Result<(), NotMapped> {
        if !Shared::is_same(block.pool(), self.slots.pool()) {
            let detail = format_args!("blocks of {} there, of {} here", block.pool().block, self.block_size());
            return Err(NotMapped { error: RewireError::new(RewireErrorKind::OtherPool, detail), block });
        }
        if let Some(id) = self.slots.at(slot) {
            let detail = format_args!("block {id} in slot {slot}");
            return Err(NotMapped { error: RewireError::new(RewireErrorKind::Occupied, detail), block });
        }
        let id = block.into_id();
        // SAFETY: we owned the block, which is at home, and `self` is borrowed by nobody else.
        unsafe { self.slots.put(slot, id) }.map_err(|error| {
            // SAFETY: it is still at home, and ours.
            NotMapped { block: unsafe { Block::own(self.slots.pool().clone(), id) }, error }
        })
    }

    /// Takes the block, with its bytes, from a slot, which is empty then. `None` if it was.
    ///
    /// # Errors
    /// [`Pinned`](RewireErrorKind::Pinned), [`Forked`](RewireErrorKind::Forked): the block stays.
    pub fn unmap(&mut self, slot: usize) -> Result<Option<Block>, RewireError> {
        // SAFETY: `self` is borrowed by nobody else.
        let id = unsafe { self.slots.send_home(slot)? };
        // SAFETY: at home again, with bytes that came from a `Block`.
        Ok(id.map(|id| unsafe { Block::own(self.slots.pool().clone(), id) }))
    }

    /// Exchanges what two slots hold, empty or not. Three moves.
    ///
    /// # Errors
    /// As [`Region::shuffle`].
    ///
    /// # Panics
    /// If there is no such slot.
    pub fn swap(&mut self, a: usize, b: usize) -> Result<(), RewireError> {
        let count = self.slots();
        assert!(a.max(b) < count, "{count} slots, none is {}", a.max(b));
        if a == b {
            return Ok(());
        }
        // SAFETY: `self` is borrowed by nobody else.
        unsafe { self.slots.rotate(&[a, b]) }
    }

    /// Gives slot `i` what slot `order[i]` holds, for every `i` below the length of `order`: a permutation of the
    /// numbers below that length. One move for each block whose slot changes, and one more for each cycle.
    ///
    /// # Errors
    /// [`Pinned`](RewireErrorKind::Pinned), [`OutOfMappings`](RewireErrorKind::OutOfMappings): the region then holds
    /// the same blocks, in some order. [`Forked`](RewireErrorKind::Forked).
    ///
    /// # Panics
    /// If `order` is no permutation, or is longer than there are slots.
    pub fn shuffle(&mut self, order: &[usize]) -> Result<(), RewireError> {
        assert!(order.len() <= self.slots(), "{} slots, not {}", self.slots(), order.len());
        let mut seen = heap::filled(order.len(), false)?;
        for &from in order {
            assert!(from < order.len() && !std::mem::replace(&mut seen[from], true), "{from}: not a permutation");
        }
        let mut done = seen;
        done.fill(false);
        let mut cycle = heap::list(order.len())?;
        for first in 0..order.len() {
            cycle.clear();
            let mut slot = first;
            while !std::mem::replace(&mut done[slot], true) {
                cycle.push(slot);
                slot = order[slot];
            }
            if cycle.len() > 1 {
                // SAFETY: `self` is borrowed by nobody else.
                unsafe { self.slots.rotate(&cycle)? };
            }
        }
        Ok(())
    }

    /// The bytes of consecutive slots, or `None` if one of them is empty or does not exist.
    pub fn get(&self, slots: Range<usize>) -> Option<&[u8]> {
        let (start, len) = self.filled(slots)?;
        // SAFETY: every slot in it holds a block, whose bytes were written (they came from a `Block`), and which stays
        // as long as `self` is borrowed.
        Some(unsafe { std::slice::from_raw_parts(ptr::with_exposed_provenance(start), len) })
    }

    /// The bytes of consecutive slots, to change, or `None` if one of them is empty or does not exist.
    pub fn get_mut(&mut self, slots: Range<usize>) -> Option<&mut [u8]> {
        let (start, len) = self.filled(slots)?;
        // SAFETY: as above, and `self` is borrowed by nobody else.
        Some(unsafe { std::slice::from_raw_parts_mut(ptr::with_exposed_provenance_mut(start), len) })
    }

    fn filled(&self, slots: Range<usize>) -> Option<(usize, usize)> {
        let all = slots.end <= self.slots() && slots.clone().all(|slot| self.slots.at(slot).is_some());
        all.then(|| (self.slots.address(slots.start.min(self.slots())), slots.len() * self.slots.block()))
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = (0..self.slots()).filter(|&slot| self.slots.at(slot).is_some()).count();
        f.debug_struct("Region")
            .field("start", &self.as_ptr())
            .field("block", &self.block_size())
            .field("slots", &self.slots())
            .field("held", &held)
            .finish()
    }
}
