//! Vectors come apart into blocks and are put together from blocks.

use super::RewiredVec;
use crate::heap::{self, Shared};
use crate::memory::error::{RewireError, RewireErrorKind};
use crate::memory::raw::RawBlock;
use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr;

impl<T: Copy> RewiredVec<T> {
    /// Takes the vector apart: all its blocks, in order, those beyond the elements included. It is empty then and may be
    /// filled again. Element `i` begins at byte `i * size_of::<T>()` of the blocks laid end to end.
    ///
    /// # Errors
    /// [`Pinned`](RewireErrorKind::Pinned), [`OutOfMemory`](RewireErrorKind::OutOfMemory),
    /// [`Forked`](RewireErrorKind::Forked): the vector is as it was.
    ///
    /// # Panics
    /// If the system does not let blocks back to where they have been a moment ago.
    pub fn take_blocks(&mut self) -> Result<Vec<RawBlock>, RewireError> {
        let mut blocks = Vec::new();
        self.take_blocks_into(&mut blocks)?;
        Ok(blocks)
    }

    /// The same behind those that are in `blocks`. If there is room for as many as the vector has, it takes no memory.
    ///
    /// # Errors
    /// As [`take_blocks`](RewiredVec::take_blocks).
    ///
    /// # Panics
    /// As [`take_blocks`](RewiredVec::take_blocks).
    pub fn take_blocks_into(&mut self, blocks: &mut Vec<RawBlock>) -> Result<(), RewireError> {
        let before = blocks.len();
        heap::reserve(blocks, self.slots.used())?;
        for slot in 0..self.slots.used() {
            // SAFETY: the vector is borrowed exclusively, so none of its elements is.
            match unsafe { self.slots.send_home(slot) } {
                // SAFETY: at home since a moment ago, and nobody else's.
                Ok(id) => blocks.extend(id.map(|id| unsafe { RawBlock::own(self.slots.pool().clone(), id) })),
                Err(error) => {
                    let back = self.put_first(blocks.drain(before..));
                    assert!(back.is_ok(), "a block that does not go back to where it was: {back:?}");
                    return Err(error);
                }
            }
        }
        self.len = 0;
        self.capacity = Self::elements(0);
        Ok(())
    }

    /// Puts the vector together: [`take_blocks`](RewiredVec::take_blocks) the other way round, with `len` elements. Its
    /// addresses are what they were.
    ///
    /// # Errors
    /// [`Full`](RewireErrorKind::Full), [`OutOfMappings`](RewireErrorKind::OutOfMappings),
    /// [`Forked`](RewireErrorKind::Forked): of the elements those are left that lie in blocks before the one that did not
    /// go, and the other blocks are the pool's again.
    ///
    /// # Panics
    /// If the vector has memory already, a block is another pool's, or there are too few for the elements.
    ///
    /// # Safety
    /// The blocks laid end to end begin with `len` initialised elements.
    pub unsafe fn put_blocks(&mut self, blocks: Vec<RawBlock>, len: usize) -> Result<(), RewireError> {
        assert!(self.slots.used() == 0, "the vector has memory already");
        assert!(blocks.iter().all(|block| Shared::is_same(block.pool(), self.slots.pool())), "a block of another pool");
        let capacity = Self::elements(blocks.len() * self.slots.block());
        assert!(len <= capacity, "{len} elements, and blocks for {capacity}");
        (self.len, self.capacity) = (len, capacity);
        self.put_first(blocks.into_iter())
    }

    /// Moves blocks of our pool to the first slots, which are empty. If one does not go, the vector ends before its
    /// slot, and all others are the pool's again.
    fn put_first(&mut self, blocks: impl Iterator<Item = RawBlock>) -> Result<(), RewireError> {
        for (slot, block) in blocks.enumerate() {
            let id = block.into_id();
            // SAFETY: we owned the block, which is at home; the slot is empty.
            if let Err(error) = unsafe { self.slots.put(slot, id) } {
                // SAFETY: it is still at home, and ours.
                drop(unsafe { RawBlock::own(self.slots.pool().clone(), id) });
                self.capacity = Self::elements(slot * self.slots.block());
                self.len = self.len.min(self.capacity);
                self.shrink(0);
                return Err(error);
            }
        }
        Ok(())
    }
}

/// A raw block could not be appended; here it is again.
#[derive(Debug)]
pub struct NotAppended {
    /// The block, with the bytes it had.
    pub block: RawBlock,
    /// Why.
    pub error: RewireError,
}

impl fmt::Display for NotAppended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for NotAppended {}

/// A vector under construction: memory of which the elements' own code knows what has been written.
impl RewiredVec<MaybeUninit<u8>> {
    /// Appends a block, with the bytes it holds: one move, no copy.
    ///
    /// # Errors
    /// The block comes back with the reason: as [`Region::map`](crate::Region::map).
    ///
    /// # Panics
    /// If the vector does not end at a border between blocks.
    pub fn append_block(&mut self, block: RawBlock) -> Result<(), NotAppended> {
        let size = self.slots.block();
        assert!(self.len.is_multiple_of(size), "the vector ends inside a block");
        if !Shared::is_same(block.pool(), self.slots.pool()) {
            let error = RewireError::new(RewireErrorKind::OtherPool, format_args!("{block:?}"));
            return Err(NotAppended { block, error });
        }
        let slot = self.len / size;
        // All of what lies behind the elements: if the block does not go to its slot, no other may be behind the hole.
        self.shrink(0);
        let id = block.into_id();
        // SAFETY: we owned the block, which is at home; the slot is empty.
        let put = unsafe { self.slots.put(slot, id) };
        self.capacity = self.slots.used() * size;
        match put {
            Ok(()) => {
                self.len += size;
                Ok(())
            }
            // SAFETY: it is still at home, and ours.
            Err(error) => Err(NotAppended { block: unsafe { RawBlock::own(self.slots.pool().clone(), id) }, error }),
        }
    }

    /// The vector of the first `len` elements that were written to this memory, from its first byte on.
    ///
    /// # Safety
    /// `len * size_of::<T>()` bytes are at most the vector's length, and hold `len` initialised elements.
    ///
    /// # Panics
    /// If `T` is aligned to more than a block.
    pub unsafe fn assume_init<T: Copy>(self, len: usize) -> RewiredVec<T> {
        assert!(align_of::<T>() <= self.slots.block());
        let vector = ManuallyDrop::new(self);
        // SAFETY: read once; the original is never dropped.
        let slots = unsafe { ptr::read(&vector.slots) };
        let capacity = RewiredVec::<T>::elements(slots.used() * slots.block());
        RewiredVec { start: vector.start.cast(), len, capacity, slots, owns: std::marker::PhantomData }
    }
}
