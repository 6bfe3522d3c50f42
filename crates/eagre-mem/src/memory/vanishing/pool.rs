//! The blocks that many vanishing arrays share.

#![forbid(unsafe_code)]

use super::lifecycle::Windows;
use super::{Plain, VanishingArray, Watched};
use crate::memory::error::RewireError;
use crate::memory::pool::{Pool, PoolStats};
use crate::units::BlockSize;
use std::sync::Arc;

/// A budget of blocks for vanishing arrays: what one of them gives back, the next one takes.
///
/// An array takes a block when it is written, and gives it back when it has been read. A pass that reads one array and writes
/// others needs memory for the data once, and a block or two more for each array: see [`VanishingArray`] for an example.
///
/// Bytes of a block that an array does not write hold what another array of this pool has left there, or zeros.
#[derive(Clone, Debug)]
pub struct StreamPool {
    pool: Pool,
    windows: Windows,
}

impl StreamPool {
    /// Arrays on a pool made before, which decides on the size of blocks, the trap and the mover, and may have other users.
    ///
    /// Smaller blocks waste less at the end of each array; blocks of less than 2 MiB are not on huge pages.
    pub fn on(pool: &Pool) -> StreamPool {
        StreamPool { pool: pool.clone(), windows: Windows { rewrite: 1, lookback: 1 } }
    }

    /// Arrays of this pool whose reader may go back `lookback` blocks before the furthest one it has touched, and whose writer, once
    /// reading has begun, `rewrite` blocks. Both are 1 unless told otherwise.
    #[must_use]
    pub fn windows(self, rewrite: u32, lookback: u32) -> StreamPool {
        StreamPool { windows: Windows { rewrite, lookback }, ..self }
    }

    /// An empty array for at most `limit` values. It takes addresses only.
    ///
    /// # Errors
    /// [`OutOfAddresses`](crate::RewireErrorKind::OutOfAddresses), [`OutOfMappings`](crate::RewireErrorKind::OutOfMappings),
    /// [`Forked`](crate::RewireErrorKind::Forked), [`System`](crate::RewireErrorKind::System).
    pub fn array<T: Plain>(&self, limit: usize) -> Result<VanishingArray<T>, RewireError> {
        let watched = Watched::new::<T>(&self.pool, 1, limit, self.windows)?;
        Ok(VanishingArray::new(Arc::new(watched), 0, limit))
    }

    /// Several arrays at once, for at most `limit` values each: the buckets of a partition. They begin at different offsets
    /// of their first blocks, so that they do not compete for the same sets of the caches.
    ///
    /// # Errors
    /// As [`StreamPool::array`].
    pub fn buckets<T: Plain>(&self, count: usize, limit: usize) -> Result<Vec<VanishingArray<T>>, RewireError> {
        let watched = Arc::new(Watched::new::<T>(&self.pool, count.max(1), limit, self.windows)?);
        Ok((0..count).map(|index| VanishingArray::new(watched.clone(), index, limit)).collect())
    }

    /// Makes sure that blocks for at least `bytes` bytes are memory, so that taking them costs no first touch.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::RewireErrorKind::OutOfMemory), [`Forked`](crate::RewireErrorKind::Forked).
    pub fn populate(&self, bytes: u64) -> Result<(), RewireError> {
        let blocks = bytes.div_ceil(self.block_size().bytes() as u64);
        self.pool.populate(blocks.min(u64::from(u32::MAX)) as u32).map(|_| ())
    }

    /// What it holds now, in blocks.
    pub fn stats(&self) -> PoolStats {
        self.pool.stats()
    }

    /// The size of its blocks.
    pub fn block_size(&self) -> BlockSize {
        self.pool.block_size()
    }

    /// Gives the memory of blocks that no array holds to the system.
    pub fn trim(&self) {
        self.pool.trim();
    }
}
