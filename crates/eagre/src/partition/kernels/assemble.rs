//! Blocks become one piece of memory.
//!
//! Where the memory ends at a border between blocks, a whole block is rewired to its end: no byte is copied. Elsewhere
//! bytes are copied into the room that is left, and the block they came from is used again. So it takes no memory
//! beyond the blocks it is given.

use super::chains::{Chain, Written};
use super::view::{Filled, Piece, bytes_of};
use crate::partition::Item;
use eagre_mem::{NotAppended, Pool, RawBlock, RewireError, RewiredVec};
use std::marker::PhantomData;
use std::mem::{MaybeUninit, replace};
use std::ops::Range;

/// Memory under construction: buckets of items.
pub(crate) struct Assembler<T> {
    memory: RewiredVec<MaybeUninit<u8>>,
    pool: Pool,
    /// Bytes in use; less than a block before the end of the memory.
    used: usize,
    /// The first byte and the length in items of each bucket.
    buckets: Vec<(usize, usize)>,
    /// Blocks whose bytes have gone elsewhere.
    spare: Vec<RawBlock>,
    items: PhantomData<T>,
}

impl<T: Item> Assembler<T> {
    /// Addresses for so many bytes, on blocks of a pool.
    pub(crate) fn new(pool: &Pool, bytes: usize) -> Result<Assembler<T>, RewireError> {
        let (memory, pool) = (RewiredVec::with_limit(pool, bytes)?, pool.clone());
        Ok(Assembler { memory, pool, used: 0, buckets: Vec::new(), spare: Vec::new(), items: PhantomData })
    }

    /// Gives it blocks to use.
    pub(crate) fn spare(&mut self, blocks: Vec<RawBlock>) {
        self.spare.extend(blocks);
    }

    /// Begins a bucket, at a border between blocks if it shall be `apart`.
    pub(crate) fn begin(&mut self, apart: bool) {
        if apart {
            self.used = self.memory.len();
        }
        self.buckets.push((self.used, 0));
    }

    /// Adds the items of a chain to the bucket, in their order.
    pub(crate) fn add_chain(&mut self, chain: Chain) -> Result<(), RewireError> {
        let block = self.block();
        let Chain { blocks, last } = chain;
        let whole = blocks.len().saturating_sub(1);
        for (number, next) in blocks.into_iter().enumerate() {
            self.add(next, 0..if number < whole { block } else { last })?;
        }
        self.count();
        Ok(())
    }

    /// Adds the items of chains to the bucket, in any order, and copies no more than the last block of each: what room
    /// there is takes items from the end. For items of which a block holds a whole number.
    pub(crate) fn add_in_any_order(&mut self, chains: impl Iterator<Item = Chain>) -> Result<(), RewireError> {
        assert!(self.block().is_multiple_of(size_of::<T>()));
        let (mut whole, mut part) = (Vec::new(), Vec::new());
        for Chain { mut blocks, last } in chains {
            part.extend(blocks.pop().map(|block| (block, last)));
            whole.append(&mut blocks);
        }
        while self.room() > 0 {
            let next = part.pop().or_else(|| whole.pop().map(|block| (block, self.block())));
            let Some((mut block, used)) = next else { break };
            let kept = used - used.min(self.room());
            self.copy(&block.bytes_mut()[kept..used])?;
            if kept > 0 { part.push((block, kept)) } else { self.spare.push(block) }
        }
        whole.into_iter().try_for_each(|block| self.append(block, self.block()))?;
        part.into_iter().try_for_each(|(block, used)| self.add(block, 0..used))?;
        self.count();
        Ok(())
    }

    /// Adds everything that interrupted writers took, and what each did not take, to the bucket.
    pub(crate) fn add_all(&mut self, all: Vec<(Written, Vec<Piece<T>>)>) -> Result<(), RewireError> {
        // What is in no block comes last: by then there are blocks to spare, as there were when all were in order.
        let (mut straddlers, mut left) = (Vec::new(), Vec::new());
        for (written, rest) in all {
            self.spare(written.stock);
            written.chains.into_iter().try_for_each(|chain| self.add_chain(chain))?;
            left.extend(written.left);
            for piece in rest {
                straddlers.extend_from_slice(piece.straddler());
                let (block, bytes) = piece.into_parts();
                self.add(block, bytes)?;
            }
        }
        self.copy(bytes_of(&straddlers))?;
        self.copy(&left)?;
        self.count();
        Ok(())
    }

    /// The buckets.
    pub(crate) fn finish(self) -> Filled<T> {
        // SAFETY: what has been added are the bytes of items, one after the other since the bucket began.
        unsafe { Filled::new(self.memory, self.buckets) }
    }

    fn block(&self) -> usize {
        self.pool.block_size().bytes()
    }

    /// How many bytes the last block has room for.
    fn room(&self) -> usize {
        self.memory.len() - self.used
    }

    /// The bucket ends here, for now.
    fn count(&mut self) {
        if let Some((start, len)) = self.buckets.last_mut() {
            *len = (self.used - *start) / size_of::<T>();
        }
    }

    /// Adds copies of bytes.
    fn copy(&mut self, mut bytes: &[MaybeUninit<u8>]) -> Result<(), RewireError> {
        while !bytes.is_empty() {
            if self.room() == 0 {
                let spare = self.spare.pop().map_or_else(|| self.pool.take_raw(), Ok)?;
                self.append(spare, 0)?;
            }
            let (now, later) = bytes.split_at(bytes.len().min(self.room()));
            self.memory[self.used..][..now.len()].copy_from_slice(now);
            self.used += now.len();
            bytes = later;
        }
        Ok(())
    }

    /// Adds these bytes of a block.
    fn add(&mut self, mut block: RawBlock, mut bytes: Range<usize>) -> Result<(), RewireError> {
        let first = bytes.len().min(self.room());
        self.copy(&block.bytes_mut()[bytes.start..][..first])?;
        bytes.start += first;
        if bytes.is_empty() {
            self.spare.push(block);
            return Ok(());
        }
        if bytes.start > 0 {
            match self.spare.pop() {
                Some(mut other) => {
                    other.bytes_mut()[..bytes.len()].copy_from_slice(&block.bytes_mut()[bytes.clone()]);
                    self.spare.push(replace(&mut block, other));
                }
                None => block.bytes_mut().copy_within(bytes.clone(), 0),
            }
        }
        self.append(block, bytes.len())
    }

    /// Appends a block, of which so many bytes are in use.
    fn append(&mut self, block: RawBlock, used: usize) -> Result<(), RewireError> {
        debug_assert_eq!(self.room(), 0);
        self.memory.append_block(block).map_err(|NotAppended { error, .. }| error)?;
        self.used += used;
        Ok(())
    }
}
