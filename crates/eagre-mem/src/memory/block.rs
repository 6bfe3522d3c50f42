//! A block with an owner.

use super::error::{RewireError, RewireErrorKind};
use super::pool::{BlockId, Blocks, Pool};
use super::slot::{Contents, Shortage};
use crate::heap::Shared;
use crate::sys::map;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr;

/// A block of memory out of a [`Pool`], at home there: some bytes to read and write, and to map into a
/// [`Region`](super::Region). Dropped, it goes back to its pool.
///
/// ```
/// # use eagre_mem::{BlockSize, Pool};
/// let pool = Pool::new(BlockSize::DEFAULT, 8, None, None)?;
/// let mut block = pool.take()?;
/// block[..5].copy_from_slice(b"eagre");
/// assert_eq!(pool.stats().taken, 1);
/// drop(block);
/// assert_eq!(pool.stats().taken, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Block {
    pool: Shared<Blocks>,
    id: BlockId,
}

impl Block {
    /// # Safety
    /// The block is taken, at home, backed, with bytes that were all written, and nobody else uses it.
    pub(super) unsafe fn own(pool: Shared<Blocks>, id: BlockId) -> Block {
        Block { pool, id }
    }

    /// Its number in the pool, unique as long as this block lives.
    pub fn id(&self) -> u32 {
        self.id
    }

    pub(super) fn pool(&self) -> &Shared<Blocks> {
        &self.pool
    }

    /// Parts with the ownership, which is now the caller's.
    pub(super) fn into_id(self) -> BlockId {
        let block = std::mem::ManuallyDrop::new(self);
        // SAFETY: read once; the original is never dropped.
        drop(unsafe { ptr::read(&block.pool) });
        block.id
    }
}

impl Deref for Block {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        let start = ptr::with_exposed_provenance(self.pool.home(self.id));
        // SAFETY: ours, at home, and written throughout: that is what `own` was promised.
        unsafe { std::slice::from_raw_parts(start, self.pool.block.bytes()) }
    }
}

impl DerefMut for Block {
    fn deref_mut(&mut self) -> &mut [u8] {
        let start = ptr::with_exposed_provenance_mut(self.pool.home(self.id));
        // SAFETY: as above, and borrowed by nobody else.
        unsafe { std::slice::from_raw_parts_mut(start, self.pool.block.bytes()) }
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block").field("id", &self.id).field("size", &self.pool.block).finish()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: ours, and this is the end of it.
        unsafe { self.pool.give_unlocked(self.id) };
    }
}

impl Pool {
    /// Takes a block of zeros.
    ///
    /// # Errors
    /// [`OutOfBlocks`](RewireErrorKind::OutOfBlocks), [`OutOfMemory`](RewireErrorKind::OutOfMemory),
    /// [`Forked`](RewireErrorKind::Forked).
    pub fn take(&self) -> Result<Block, RewireError> {
        let taken = self.0.take_here(Contents::Zeros)?;
        // SAFETY: just taken: at home, backed, zeroed, and ours.
        Ok(unsafe { Block::own(self.0.clone(), taken) })
    }

    /// Makes sure that at least `blocks` blocks are backed by memory, so that taking them costs no first touch. Returns
    /// how many are: fewer, if all blocks of the pool are promised.
    ///
    /// # Errors
    /// [`OutOfMemory`](RewireErrorKind::OutOfMemory), [`Forked`](RewireErrorKind::Forked).
    pub fn populate(&self, blocks: u32) -> Result<u32, RewireError> {
        self.0.check_here()?;
        while self.stats().resident < blocks.min(self.stats().budget) {
            match self.0.back_one_more() {
                Ok(true) => {}
                Ok(false) => break,
                Err(errno) => return Err(self.0.error(Shortage::of_backing(errno))),
            }
        }
        Ok(self.stats().resident)
    }
}

impl Blocks {
    /// Takes a block, and its share of the budget, for a caller outside of handlers. It is at home.
    pub(super) fn take_here(&self, contents: Contents) -> Result<BlockId, RewireError> {
        self.check_here()?;
        self.take(contents).map_err(|shortage| self.error(shortage))
    }

    /// Gives back a block at home whose owner may have locked it; the next one wants to move it.
    ///
    /// # Safety
    /// The block is the caller's, who does not use it any more.
    pub(super) unsafe fn give_unlocked(&self, id: BlockId) {
        if self.is_here() {
            // SAFETY: the caller's block, at home.
            unsafe { map::unlock(self.home(id), self.block.bytes()) };
            self.give(id);
        }
    }

    /// An error for rewired memory on a pool whose blocks do not move.
    pub(super) fn check_moves(&self) -> Result<(), RewireError> {
        let no = || {
            RewireError::new(
                RewireErrorKind::NoPool,
                "the pool was made for the mover `map`, which is for streams alone",
            )
        };
        if self.engine().maps() { Err(no()) } else { Ok(()) }
    }

    /// An error in a forked child.
    pub(super) fn check_here(&self) -> Result<(), RewireError> {
        if self.is_here() { Ok(()) } else { Err(RewireError::new(RewireErrorKind::Forked, self)) }
    }
}
