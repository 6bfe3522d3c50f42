//! Opening streams, pools and vectors with a trap and a mover that work here.
//!
//! Which pair works is found by trying small streams ([`probe`]), so it is known only above them. The calls that need no
//! choice are where their types are.
#![forbid(unsafe_code)]

use crate::heap::Shared;
use crate::memory::pool::{self, Blocks, Pool};
use crate::memory::{RewireError, RewireErrorKind, RewiredVec, StreamPool};
use crate::mover::Mover;
use crate::options;
use crate::probe;
use crate::stream::{self, OpenError, Pipe, PipeBuilder, Reader, Sink, SinkWriter, Source};
use crate::transfer;
use crate::trap::Trap;
use crate::units::BlockSize;

/// Whether every environment variable that this crate reads holds a value that it takes.
///
/// # Errors
/// A message of one line, with the values that it takes.
pub fn check_environment() -> Result<(), String> {
    options::trap::<Trap>()?;
    options::mover::<Mover>()?;
    options::io::<transfer::Engine>()?;
    options::check_numbers()
}

impl PipeBuilder {
    /// Opens the stream.
    ///
    /// # Errors
    /// Settings out of range, a trap or mover that does not work here, or no address space left; each with its cure.
    pub fn open(self) -> Result<Pipe, OpenError> {
        check_environment().map_err(OpenError::Setting)?;
        self.check()?;
        let pair = match self.pointers {
            true => probe::choose_with_pointers(self.trap, self.mover_for_pool()?)?,
            // Nothing that could be refused, so nothing to be tried.
            false if self.explicit => probe::EXPLICIT,
            false => probe::choose(self.trap, self.mover_for_pool()?)?,
        };
        let (context, engine) = probe::engage(pair.trap, pair.mover).map_err(OpenError::Unavailable)?;
        self.open_on(context, engine)
    }

    /// The same stream on a pool of its own whose memory [stays](Pool::fixed), as large as the stream needs; unless it has a pool already.
    /// Windows and blocks must have their sizes before. Whatever the environment says, its trap is `signal` and its mover `map`.
    ///
    /// # Errors
    /// As [`PipeBuilder::open`]: trap `signal` and mover `map` must work here.
    pub fn on_fixed_pool(self) -> Result<PipeBuilder, OpenError> {
        if self.pool.is_some() {
            return Ok(self);
        }
        self.check()?;
        let pool = Pool::new(self.block, self.most_blocks(), Some(Trap::Signal), Some(Mover::Map))?;
        let stream = if self.explicit { self } else { self.trap(Trap::Signal).mover(Mover::Map) };
        Ok(stream.pool(&pool))
    }

    /// The mover asked for. Blocks of some pools move and those of others are mapped: without a word, a stream does what its pool
    /// is for.
    fn mover_for_pool(&self) -> Result<Option<Mover>, OpenError> {
        let Some(pool) = &self.pool else { return Ok(self.mover) };
        let free = self.mover.is_none() && probe::mover_of_environment()?.is_none_or(|mover| mover == Mover::Map);
        Ok(if free && self.trap != Some(Trap::Off) { Some(pool.0.engine().mover()) } else { self.mover })
    }

    /// Opens a stream that `source` fills, and returns its reading end.
    ///
    /// # Errors
    /// As [`PipeBuilder::open`], or if no thread can be started.
    pub fn source(self, source: impl Source) -> Result<Reader, OpenError> {
        let on_demand = self.on_demand;
        stream::fill_from(self.open()?, source, on_demand)
    }

    /// Opens a stream that `sink` empties, and returns its writing end.
    ///
    /// # Errors
    /// As [`PipeBuilder::open`], or if no thread can be started.
    pub fn sink(self, sink: impl Sink) -> Result<SinkWriter, OpenError> {
        stream::empty_into(self.open()?, sink)
    }
}

impl Pipe {
    /// A stream with all defaults.
    ///
    /// # Errors
    /// As [`PipeBuilder::open`].
    pub fn open() -> Result<Pipe, OpenError> {
        Pipe::builder().open()
    }
}

impl Pool {
    /// A pool of its own for some streams: at most `budget` blocks of `block` bytes, for streams opened with the same
    /// trap and mover (`None`: what they would get by default). Streams whose mover is `copy`, and those opened with
    /// [`PipeBuilder::explicit`](crate::stream::PipeBuilder::explicit), can use any pool.
    ///
    /// # Errors
    /// As [`PipeBuilder::open`](crate::stream::PipeBuilder::open).
    pub fn new(block: BlockSize, budget: u32, trap: Option<Trap>, mover: Option<Mover>) -> Result<Pool, OpenError> {
        let pair = probe::choose_for_pool(trap, mover)?;
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
        let pair = probe::choose_for_pool(None, None)?;
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
        let free = options::trap::<Trap>().is_ok_and(|asked| asked.is_none());
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
