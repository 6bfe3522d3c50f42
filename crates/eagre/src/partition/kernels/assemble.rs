//! Makes one piece of memory of blocks.
//!
//! If the memory ends at a border between blocks, a block is rewired to its end, and no byte is copied. Otherwise the
//! bytes of the block are copied into the room that is left, and the block is used again. So this takes no memory
//! beyond the blocks it is given, and lists that are allocated beforehand. If the system refuses to rewire a block,
//! nothing is lost.

use super::chains::Chain;
use super::remains::Remains;
use super::view::Filled;
use crate::partition::{Keyed, PartitionError};
use eagre_mem::{NotAppended, Pool, RawBlock, RewireError, RewiredVec, heap};
use std::mem::{MaybeUninit, replace, take};
use std::ops::Range;

/// Memory under construction: buckets of items.
pub(crate) struct Assembler<T> {
    memory: RewiredVec<MaybeUninit<u8>>,
    pool: Pool,
    /// Bytes in use; less than a block before the end of the memory.
    used: usize,
    /// How many bytes of each block belong to items.
    filled: Vec<usize>,
    /// The first byte and the length in items of each bucket.
    buckets: Vec<(usize, usize)>,
    /// Blocks whose bytes have gone elsewhere.
    spare: Vec<RawBlock>,
    /// Blocks that could not be rewired and all later ones, with the number of bytes that belong to items.
    refused: Vec<(RawBlock, usize)>,
    /// Why the first was not rewired.
    failure: Option<RewireError>,
    /// For what is left then; `None` if that is a copy.
    remains: Option<Box<Remains<T>>>,
    /// Of a bucket: its full blocks, and those that are not, with the bytes of each that are items'.
    whole: Vec<RawBlock>,
    part: Vec<(RawBlock, usize)>,
}

/// Why blocks did not become one piece of memory; and their items, unless they are a copy.
pub(crate) type NotAssembled<T> = (RewireError, Option<Box<Remains<T>>>);

impl<T: Keyed> Assembler<T> {
    /// Addresses on blocks of a pool for `bytes` bytes, of so many buckets, that so many writers have written.
    /// `fragile`: they are not a copy, and may not be lost.
    pub(crate) fn new(
        pool: &Pool,
        bytes: usize,
        ways: usize,
        writers: usize,
        fragile: bool,
    ) -> Result<Assembler<T>, PartitionError> {
        let size = pool.block_size().bytes();
        // Each chain ends in a block that is not full; each writer may have one left, and one more on its way.
        let extra = (ways + 2) * writers;
        let most = bytes.div_ceil(size) + extra;
        let straddlers = if size.is_multiple_of(size_of::<T>()) { 0 } else { most };
        let remains = match fragile {
            true => Some(heap::boxed(Remains::new(most, writers, straddlers)?)?),
            false => None,
        };
        Ok(Assembler {
            memory: RewiredVec::with_limit(pool, bytes + extra * size)?,
            pool: pool.clone(),
            used: 0,
            filled: heap::list(most)?,
            buckets: heap::list(ways)?,
            spare: heap::list(most)?,
            refused: heap::list(most)?,
            failure: None,
            remains,
            whole: heap::list(most)?,
            part: heap::list(writers + 1)?,
        })
    }

    /// Room for items that were not assembled, all of them, unless they are a copy.
    pub(crate) fn into_remains(self) -> Option<Box<Remains<T>>> {
        self.remains
    }

    /// Gives it blocks to use.
    pub(crate) fn spare(&mut self, blocks: impl Iterator<Item = RawBlock>) {
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
    pub(crate) fn add_chain(&mut self, chain: Chain) {
        let block = self.block();
        let Chain { blocks, last } = chain;
        let whole = blocks.len().saturating_sub(1);
        for (number, next) in blocks.into_iter().enumerate() {
            self.add(next, 0..if number < whole { block } else { last });
        }
        self.count();
    }

    /// Adds the items of chains to the bucket, in any order, and copies no more than the last block of each: what room
    /// there is takes items from the end. For items of which a block holds a whole number.
    pub(crate) fn add_in_any_order(&mut self, chains: impl Iterator<Item = Chain>) {
        assert!(self.block().is_multiple_of(size_of::<T>()));
        let (mut whole, mut part) = (take(&mut self.whole), take(&mut self.part));
        for Chain { mut blocks, last } in chains {
            part.extend(blocks.pop().map(|block| (block, last)));
            whole.append(&mut blocks);
        }
        while self.room() > 0 {
            let next = part.pop().or_else(|| whole.pop().map(|block| (block, self.block())));
            let Some((mut block, used)) = next else { break };
            let kept = used - used.min(self.room());
            self.copy(&block.bytes_mut()[kept..used]);
            if kept > 0 { part.push((block, kept)) } else { self.spare.push(block) }
        }
        whole.drain(..).for_each(|block| self.append(block, self.block()));
        part.drain(..).for_each(|(block, used)| self.add(block, 0..used));
        (self.whole, self.part) = (whole, part);
        self.count();
    }

    /// The buckets.
    ///
    /// # Errors
    /// Of the first block that was not rewired; unless they are a copy, all items that were added are there, at home.
    pub(crate) fn finish(mut self) -> Result<Filled<T>, NotAssembled<T>> {
        let Some(error) = self.failure.take() else {
            // SAFETY: what has been added are the bytes of items, one after the other since the bucket began.
            return Ok(unsafe { Filled::new(self.memory, self.buckets) });
        };
        let Some(mut remains) = self.remains else { return Err((error, None)) };
        let mut blocks = take(&mut remains.taken);
        // Nobody knows these addresses, so nothing pins the blocks. In a forked child there are no items.
        if self.memory.take_blocks_into(&mut blocks).is_ok() {
            let all = blocks.into_iter().zip(self.filled).chain(self.refused);
            all.for_each(|(block, used)| remains.add(block, 0..used));
        }
        Err((error, Some(remains)))
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

    /// Adds copies of bytes that there is room for.
    fn copy(&mut self, bytes: &[MaybeUninit<u8>]) {
        if let Some(filled) = self.filled.last_mut() {
            self.memory[self.used..][..bytes.len()].copy_from_slice(bytes);
            *filled += bytes.len();
            self.used += bytes.len();
        }
    }

    /// Adds these bytes of a block.
    fn add(&mut self, mut block: RawBlock, mut bytes: Range<usize>) {
        let first = bytes.len().min(self.room());
        self.copy(&block.bytes_mut()[bytes.start..][..first]);
        bytes.start += first;
        if bytes.is_empty() {
            self.spare.push(block);
            return;
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
        self.append(block, bytes.len());
    }

    /// Appends a block, of which so many bytes are in use. After the first that is refused, all are.
    fn append(&mut self, block: RawBlock, used: usize) {
        debug_assert_eq!(self.room(), 0);
        if self.failure.is_some() {
            self.refused.push((block, used));
            return;
        }
        match self.memory.append_block(block) {
            Ok(()) => {
                self.filled.push(used);
                self.used += used;
            }
            Err(NotAppended { block, error }) => {
                self.refused.push((block, used));
                self.failure = Some(error);
            }
        }
    }
}
