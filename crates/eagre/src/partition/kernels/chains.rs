//! Buckets as chains of blocks: items are not counted, and nothing is copied when a bucket grows.

use super::classify::Classify;
use super::scatter::{Lane, Left, NoMemory, Scatter, Sink};
use crate::partition::{Keyed, PartitionError};
use eagre_mem::{Pool, RawBlock, heap};

/// A bucket: the concatenation of its blocks.
#[derive(Default)]
pub(crate) struct Chain {
    /// All of them are full but the last.
    pub(super) blocks: Vec<RawBlock>,
    /// How many bytes of the last are written.
    pub(super) last: usize,
}

/// The chains of one thread, and the source of more blocks.
struct Chains {
    chains: Vec<Chain>,
    pool: Pool,
    /// Blocks that are used before the pool is asked.
    stock: Vec<RawBlock>,
    /// Why the last block was refused.
    failure: Option<PartitionError>,
}

// SAFETY: lanes lead into blocks of the chains, which keep them.
unsafe impl Sink for Chains {
    unsafe fn take(&mut self, bucket: usize, from: *const u8, bytes: usize, lane: &mut Lane) -> bool {
        if self.chains[bucket].blocks.try_reserve(1).is_err() {
            self.failure = Some(PartitionError::OutOfHeap);
            return false;
        }
        let block = match self.stock.pop().map_or_else(|| self.pool.take_raw(), Ok) {
            Ok(block) => block,
            Err(error) => {
                self.failure = Some(error.into());
                return false;
            }
        };
        let (start, size) = (block.as_ptr().as_ptr(), self.pool.block_size().bytes());
        let first = lane.room().min(bytes);
        debug_assert!(bytes - first <= size);
        // SAFETY: the room may be written, the block is ours, and no buffer is larger than a block.
        unsafe {
            lane.to.copy_from_nonoverlapping(from, first);
            start.copy_from_nonoverlapping(from.add(first), bytes - first);
            *lane = Lane { to: start.add(bytes - first), end: start.add(size) };
        }
        self.chains[bucket].blocks.push(block);
        true
    }
}

/// Takes items to chains.
pub(crate) struct ChainWriter<T>(Scatter<T, Chains>);

/// Where the items are that a [`ChainWriter`] took.
pub(crate) struct Written {
    /// Of each bucket.
    pub(crate) chains: Vec<Chain>,
    /// The bytes of items that are not in the chains, because there was no memory.
    pub(crate) left: Left,
    /// Blocks that were not needed.
    pub(crate) stock: Vec<RawBlock>,
    /// How many bytes of items there are in chains and `left`.
    pub(crate) bytes: usize,
    /// Why there was no memory.
    pub(crate) failure: Option<PartitionError>,
}

impl<T: Keyed> ChainWriter<T> {
    /// A writer that so many blocks may be [given](ChainWriter::stock).
    pub(crate) fn new(ways: usize, pool: &Pool, stock: usize) -> Result<ChainWriter<T>, NoMemory> {
        let chains = heap::several(ways, || Ok::<_, NoMemory>(Chain::default()))?;
        let chains = Chains { chains, pool: pool.clone(), stock: heap::list(stock)?, failure: None };
        Scatter::new(ways, chains).map(ChainWriter)
    }

    /// As [`Scatter::scatter`].
    pub(crate) fn scatter<C: Classify>(&mut self, items: &[T], classify: &C) -> Result<(), NoMemory> {
        self.0.scatter(items, classify)
    }

    /// Adds a block to those that are taken before the pool is asked.
    pub(crate) fn stock(&mut self, block: RawBlock) {
        self.0.sink.stock.push(block);
    }

    /// Empties the buffers.
    pub(crate) fn finish(self) -> Written {
        let size = self.0.sink.pool.block_size().bytes();
        let (Chains { chains, stock, failure, .. }, left) = self.0.finish(|sink, bucket, tail, lane| {
            let taken = if tail.len() <= lane.room() {
                // SAFETY: there is room.
                unsafe {
                    lane.to.copy_from_nonoverlapping(tail.as_ptr().cast(), tail.len());
                    lane.to = lane.to.add(tail.len());
                }
                true
            } else {
                // SAFETY: the tail is no longer than a buffer, and the lane is the bucket's.
                unsafe { sink.take(bucket, tail.as_ptr().cast(), tail.len(), lane) }
            };
            let chain = &mut sink.chains[bucket];
            chain.last = if chain.blocks.is_empty() { 0 } else { size - lane.room() };
            taken
        });
        let bytes = left.bytes().len() + chains.iter().map(|chain| chain.bytes(size)).sum::<usize>();
        Written { chains, left, stock, bytes, failure }
    }
}

impl Chain {
    fn bytes(&self, block: usize) -> usize {
        self.blocks.len().saturating_sub(1) * block + self.last
    }
}
