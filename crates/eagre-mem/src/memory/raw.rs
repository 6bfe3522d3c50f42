//! Blocks for code that writes through pointers and builds a vector from what it has written.
//!
//! A [`Block`](super::Block) is zeroed before its owner may read it. Code that overwrites it anyway takes a [`RawBlock`] and
//! saves that pass over memory. Vectors come apart into raw blocks and are put together from them: a move each, and no
//! byte copied.

use super::error::RewireError;
use super::pool::{BlockId, Blocks, Pool};
use super::slot::Contents;
use crate::heap::Shared;
use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::{self, NonNull};

/// A block of memory out of a [`Pool`], at home there, that holds whatever its last owner left. Dropped, it goes back to
/// its pool.
pub struct RawBlock {
    pool: Shared<Blocks>,
    id: BlockId,
}

impl RawBlock {
    /// The first byte. The memory is the block's as long as it lives, aligned to its size.
    pub fn as_ptr(&self) -> NonNull<u8> {
        // SAFETY: nothing is mapped at address 0.
        unsafe { NonNull::new_unchecked(ptr::with_exposed_provenance_mut(self.pool.home(self.id))) }
    }

    /// Its bytes, to look at or to write.
    pub fn bytes_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        // SAFETY: ours, at home, backed, and borrowed with `self`.
        unsafe { std::slice::from_raw_parts_mut(self.as_ptr().as_ptr().cast(), self.pool.block.bytes()) }
    }

    /// # Safety
    /// The block is taken, at home, backed, and nobody else uses it.
    pub(super) unsafe fn own(pool: Shared<Blocks>, id: BlockId) -> RawBlock {
        RawBlock { pool, id }
    }

    pub(super) fn pool(&self) -> &Shared<Blocks> {
        &self.pool
    }

    /// Parts with the ownership, which is now the caller's.
    pub(super) fn into_id(self) -> BlockId {
        let block = ManuallyDrop::new(self);
        // SAFETY: read once; the original is never dropped.
        drop(unsafe { ptr::read(&block.pool) });
        block.id
    }
}

impl Drop for RawBlock {
    fn drop(&mut self) {
        // SAFETY: ours, and this is the end of it.
        unsafe { self.pool.give_unlocked(self.id) };
    }
}

impl fmt::Debug for RawBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawBlock").field("id", &self.id).field("size", &self.pool.block).finish()
    }
}

impl Pool {
    /// Takes a block with whatever bytes its last owner left, for code that writes before it reads.
    ///
    /// # Errors
    /// As [`Pool::take`].
    pub fn take_raw(&self) -> Result<RawBlock, RewireError> {
        let id = self.0.take_here(Contents::Leftovers)?;
        Ok(RawBlock { pool: self.0.clone(), id })
    }
}
