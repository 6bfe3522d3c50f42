//! Pools whose blocks move in the way that works here, and the vector on the one that all share.
//!
//! Which mover works is known only above the streams that try it; what a pool is, far below.

use crate::memory::pool::{self, Blocks, Pool};
use crate::memory::{RewireError, RewireErrorKind, RewiredVec};
use crate::mover::Mover;
use crate::probe;
use crate::stream::OpenError;
use crate::trap::Trap;
use crate::units::BlockSize;
use std::sync::Arc;

impl Pool {
    /// A pool of its own for some streams: at most `budget` blocks of `block` bytes, for streams opened with the same
    /// trap and mover (`None`: what they would get by default).
    ///
    /// # Errors
    /// As [`Builder::open`](crate::stream::Builder::open).
    pub fn new(block: BlockSize, budget: u32, trap: Option<Trap>, mover: Option<Mover>) -> Result<Pool, OpenError> {
        let pair = probe::choose(trap, mover)?;
        let (_, engine) = probe::engage(pair.trap, pair.mover).map_err(OpenError::Unavailable)?;
        let blocks = Blocks::new(block, budget, engine)
            .map_err(|error| OpenError::Resources(format!("no address space for a pool: {error}")))?;
        Ok(Pool(Arc::new(blocks)))
    }

    /// The pool that streams with blocks of `block` bytes, and rewired memory, share unless they are given their own.
    /// It is kept for the life of the process: [`Pool::trim`] gives its idle memory back.
    ///
    /// # Errors
    /// As [`Builder::open`](crate::stream::Builder::open).
    pub fn shared(block: BlockSize) -> Result<Pool, OpenError> {
        let pair = probe::choose(None, None)?;
        let (_, engine) = probe::engage(pair.trap, pair.mover).map_err(OpenError::Unavailable)?;
        let blocks = pool::shared(block, engine)
            .map_err(|error| OpenError::Resources(format!("no address space for a pool: {error}")))?;
        Ok(Pool(blocks))
    }
}

impl<T> RewiredVec<T> {
    /// An empty vector on the pool shared by all streams and vectors of this process. It can grow until that is empty.
    ///
    /// # Errors
    /// [`NoPool`](RewireErrorKind::NoPool), [`OutOfAddresses`](RewireErrorKind::OutOfAddresses),
    /// [`OutOfMappings`](RewireErrorKind::OutOfMappings).
    pub fn new() -> Result<RewiredVec<T>, RewireError> {
        RewiredVec::in_pool(&Pool::shared(BlockSize::DEFAULT)?)
    }
}

impl From<OpenError> for RewireError {
    fn from(error: OpenError) -> RewireError {
        RewireError::new(RewireErrorKind::NoPool, error.reason())
    }
}
