//! Pools whose blocks move in the way that works here, and the vector on the one that all share.
//!
//! Which mover works is known only above the streams that try it; what a pool is, far below.

use crate::heap::Shared;
use crate::memory::pool::{self, Blocks, Pool};
use crate::memory::{RewireError, RewireErrorKind, RewiredVec, StreamPool};
use crate::mover::Mover;
use crate::options;
use crate::probe;
use crate::stream::OpenError;
use crate::trap::Trap;
use crate::units::BlockSize;

impl Pool {
    /// A pool of its own for some streams: at most `budget` blocks of `block` bytes, for streams opened with the same
    /// trap and mover (`None`: what they would get by default). Streams whose mover is `copy`, and those opened with
    /// [`PipeBuilder::explicit`](crate::stream::PipeBuilder::explicit), can use any pool.
    ///
    /// # Errors
    /// As [`PipeBuilder::open`](crate::stream::PipeBuilder::open).
    pub fn new(block: BlockSize, budget: u32, trap: Option<Trap>, mover: Option<Mover>) -> Result<Pool, OpenError> {
        let pair = probe::choose(trap, mover)?;
        let (_, engine) = probe::engage(pair.trap, pair.mover).map_err(OpenError::Unavailable)?;
        let blocks = Blocks::new(block, budget, engine).map_err(OpenError::pool)?;
        Ok(Pool(Shared::new(blocks)?))
    }

    /// The pool that streams with blocks of `block` bytes, and rewired memory, share unless they are given their own.
    /// It is kept for the life of the process: [`Pool::trim`] gives its idle memory back.
    ///
    /// # Errors
    /// As [`PipeBuilder::open`](crate::stream::PipeBuilder::open).
    pub fn shared(block: BlockSize) -> Result<Pool, OpenError> {
        let pair = probe::choose(None, None)?;
        let (_, engine) = probe::engage(pair.trap, pair.mover).map_err(OpenError::Unavailable)?;
        let blocks = pool::shared(block, engine).map_err(OpenError::pool)?;
        Ok(Pool(blocks))
    }
}

impl StreamPool {
    /// A pool of at most `bytes` bytes, rounded up to blocks of 2 MiB. They become memory when they are first used, and stay
    /// with the pool.
    ///
    /// Unless the environment says otherwise, the trap is `signal` where it works: nobody waits for another thread here, and a
    /// fault that its own thread resolves costs a fraction of one that the pager does. System calls on absent blocks then get
    /// `EFAULT`; [`StreamPool::on`] a pool for the trap `pager` they work.
    ///
    /// # Errors
    /// [`NoPool`](RewireErrorKind::NoPool).
    pub fn new(bytes: u64) -> Result<StreamPool, RewireError> {
        let block = BlockSize::DEFAULT;
        let blocks = u32::try_from(bytes.div_ceil(block.bytes() as u64));
        let too_many =
            |_| RewireError::new(RewireErrorKind::NoPool, format_args!("{bytes} bytes are more than a pool has"));
        let blocks = blocks.map_err(too_many)?;
        let free = options::trap().is_ok_and(|asked| asked.is_none());
        let pool = match free.then(|| Pool::new(block, blocks, Some(Trap::Signal), None)) {
            Some(Ok(pool)) => pool,
            _ => Pool::new(block, blocks, None, None)?,
        };
        Ok(StreamPool::on(&pool))
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
