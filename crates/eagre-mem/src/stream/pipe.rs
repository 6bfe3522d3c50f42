//! The settings of a stream, and the two ends it opens with.

use super::control::Control;
use super::core::{Config, Core, OnFailure, Ranges, SlotTable};
use super::error::OpenError;
use super::lifecycle;
use super::protocol::Windows;
use super::reader::Reader;
use super::writer::Writer;
use crate::heap::{self, Refused, Shared};
use crate::memory::pool::{self, Blocks, Pool};
use crate::memory::reservation::{self, Reservation};
use crate::mover::{Engine, Mover, Prepare};
use crate::sys::{Refusal, facts, process};
use crate::trap::{Context, End, Trap};
use crate::units::{BlockSize, Bytes};
use std::sync::atomic::{AtomicU32, Ordering::*};
use std::time::Duration;

/// The widest window, in blocks.
const MOST: u32 = 60;
/// The address space of a stream of unknown length, and the least that it opens with.
const CAPACITY: u64 = 1 << 40;
const LEAST_CAPACITY: u64 = 64 << 20;
/// What a stream without addresses carries: more than any file can have.
const WITHOUT_END: u64 = 1 << 63;

/// The settings of a stream; made by [`Pipe::builder`].
///
/// Without any call: blocks of 2 MiB, a rewrite window and a lookback of one block each and a read-ahead of two (so at
/// most five blocks of memory), 1 TiB of addresses, and the best trap and mover this machine has.
#[derive(Clone, Debug)]
#[must_use]
pub struct PipeBuilder {
    name: Option<Result<String, Refused>>,
    pub(crate) block: BlockSize,
    windows: Windows,
    capacity: Option<u64>,
    length: Option<u64>,
    at_least: u64,
    pub(crate) trap: Option<Trap>,
    pub(crate) mover: Option<Mover>,
    pub(crate) pool: Option<Pool>,
    recycle: bool,
    sparse: bool,
    on_failure: OnFailure,
    timeout: Option<Duration>,
    pub(crate) pointers: bool,
    pub(crate) explicit: bool,
    pub(crate) on_demand: bool,
}

impl PipeBuilder {
    fn new() -> PipeBuilder {
        PipeBuilder {
            name: None,
            block: BlockSize::DEFAULT,
            windows: Windows { rewrite: 1, lookback: 1, read_ahead: 2 },
            capacity: None,
            length: None,
            at_least: 0,
            trap: None,
            mover: None,
            pool: None,
            recycle: true,
            sparse: false,
            on_failure: OnFailure::Drain,
            timeout: None,
            pointers: false,
            explicit: false,
            on_demand: false,
        }
    }

    /// A name for messages and reports. Default: `#` and a number.
    pub fn name(mut self, name: &str) -> PipeBuilder {
        self.name = Some(heap::whole_text(format_args!("{name}")));
        self
    }

    /// The unit that moves. The windows count in it, and so does the memory: N + L + M + 1 blocks at most.
    pub fn block_size(mut self, block: BlockSize) -> PipeBuilder {
        self.block = block;
        self
    }

    /// L, the rewrite window: how many blocks behind its furthest write the writer may still touch. Default 1.
    ///
    /// Copying functions come back to where they started, so a writer on a pointer needs at least 1, and as many blocks
    /// as its longest single `memcpy` spans. 0 is for the explicit interface, and for pointers that only ever store
    /// aligned words in ascending order.
    pub fn rewrite(mut self, blocks: u32) -> PipeBuilder {
        self.windows.rewrite = blocks;
        self
    }

    /// M, the lookback: how many blocks behind its furthest read the reader may still touch. Default 1.
    ///
    /// Searching and comparing functions read a border twice, so a reader on a pointer needs at least 1.
    pub fn lookback(mut self, blocks: u32) -> PipeBuilder {
        self.windows.lookback = blocks;
        self
    }

    /// N, the read-ahead: how many finished blocks may wait between the ends. At least 1; default 2. With 1 the ends go
    /// in step, each waiting for the other at every block.
    pub fn read_ahead(mut self, blocks: u32) -> PipeBuilder {
        self.windows.read_ahead = blocks;
        self
    }

    /// The most bytes the stream can carry: its address space. The stream gets as much, or opening it is an error.
    ///
    /// Without it, and without [`PipeBuilder::length`], the capacity is 1 TiB, or less, down to 64 MiB, where `ulimit -v`
    /// limits addresses or sixteen such streams are open already; a stream for [`PipeBuilder::explicit`] calls carries any number of
    /// bytes. [`Pipe::capacity`], [`Control::capacity`] and
    /// [`Control::stats`] tell what it is.
    pub fn capacity(mut self, bytes: u64) -> PipeBuilder {
        self.capacity = Some(bytes);
        self
    }

    /// The length of the stream, if it is known beforehand: the reader can ask for it at once, and finishing with
    /// another length is an error.
    pub fn length(mut self, bytes: u64) -> PipeBuilder {
        self.length = Some(bytes);
        self
    }

    /// At least this many bytes will come. Without [`PipeBuilder::capacity`] and [`PipeBuilder::length`], the capacity is not less
    /// than this, however short addresses are, or opening the stream is an error.
    pub fn at_least(mut self, bytes: u64) -> PipeBuilder {
        self.at_least = bytes;
        self
    }

    /// How touches are noticed. Default: `EAGRE_TRAP`, or the best that works here.
    pub fn trap(mut self, trap: Trap) -> PipeBuilder {
        self.trap = Some(trap);
        self
    }

    /// How blocks change their address. Default: `EAGRE_MOVER`, or the best that works with the trap.
    pub fn mover(mut self, mover: Mover) -> PipeBuilder {
        self.mover = Some(mover);
        self
    }

    /// Where the memory comes from. Default: a pool shared by all streams of the same kind in this process.
    pub fn pool(mut self, pool: &Pool) -> PipeBuilder {
        self.pool = Some(pool.clone());
        self
    }

    /// The most blocks that the stream will hold.
    pub(crate) fn most_blocks(&self) -> u32 {
        self.windows.blocks() as u32
    }

    /// Whether blocks circulate (the default). Without, every block is new memory from the system, given back behind
    /// the reader: stream B of the Vortex paper, the slow way that everything else is compared with.
    pub fn recycle(mut self, recycle: bool) -> PipeBuilder {
        self.recycle = recycle;
        self
    }

    /// Whether the writer may skip bytes *inside* a block and have them read as zero (default: no).
    ///
    /// Whole blocks the writer skips are zero in any case. In a block it touches, bytes it leaves out are zero only in a
    /// sparse stream, which zeroes every block before the writer gets it and is slower for it; otherwise they hold what
    /// this same stream carried there before.
    pub fn sparse(mut self, sparse: bool) -> PipeBuilder {
        self.sparse = sparse;
        self
    }

    /// What a pointer gets after the stream has failed.
    pub fn on_failure(mut self, what: OnFailure) -> PipeBuilder {
        self.on_failure = what;
        self
    }

    /// The longest time one end may wait for the other. Default: for ever.
    pub fn timeout(mut self, limit: Duration) -> PipeBuilder {
        self.timeout = Some(limit);
        self
    }

    /// Pointers are needed: where no trap works that gives them, opening the stream is an error. Without it the stream
    /// opens for explicit calls, and asking for its pointer is the error.
    pub fn pointers(mut self) -> PipeBuilder {
        self.pointers = true;
        self
    }

    /// No end will use its pointer: the stream is for explicit calls only. It takes no addresses beside its blocks, carries any
    /// number of bytes however short addresses are (`ulimit -v`), and needs neither trap nor mover. Asking for its pointer is
    /// [`StreamErrorKind::NoPointer`](super::StreamErrorKind::NoPointer).
    ///
    /// Whatever `EAGRE_TRAP` and `EAGRE_MOVER` say, its trap is `off` and its mover `copy`. Its blocks stay where they lie in the
    /// pool, so that any [`Pool`] of this process will do, whatever mover it was made for.
    pub fn explicit(mut self) -> PipeBuilder {
        self.explicit = true;
        self
    }

    /// Whether it is for [`PipeBuilder::explicit`] calls only.
    pub fn is_explicit(&self) -> bool {
        self.explicit
    }

    /// For [`PipeBuilder::source`]: the callback is asked only for blocks the reader has touched (stream A of the Vortex
    /// paper), not ahead.
    pub fn on_demand(mut self, on_demand: bool) -> PipeBuilder {
        self.on_demand = on_demand;
        self
    }

    /// Whether its settings are in range and agree.
    pub(crate) fn check(&self) -> Result<(), OpenError> {
        let wrong = |text: String| Err(OpenError::Setting(text));
        let windows = [
            ("rewrite", self.windows.rewrite, 0),
            ("lookback", self.windows.lookback, 0),
            ("read_ahead", self.windows.read_ahead, 1),
        ];
        for (name, value, least) in windows {
            if value < least || value > MOST {
                return wrong(format!("{name} is {value} blocks: it must be {least} to {MOST}"));
            }
        }
        let others = self.trap.is_some_and(|trap| trap != Trap::Off) || self.mover.is_some_and(|it| it != Mover::Copy);
        if self.explicit && (self.pointers || others) {
            return wrong("a stream for explicit calls only has no pointers, and neither trap nor mover".into());
        }
        if let Some(pool) = &self.pool
            && pool.block_size() != self.block
        {
            return wrong(format!("the pool has blocks of {}, the stream of {}", pool.block_size(), self.block));
        }
        if let (Some(length), Some(capacity)) = (self.length, self.capacity)
            && length > capacity
        {
            return wrong(format!("the length {} is more than the capacity {}", Bytes(length), Bytes(capacity)));
        }
        let (most, too_many) = match self.explicit {
            true => (WITHOUT_END, "more than 8 EiB; open with less"),
            false => (1 << 46, "more than 64 TiB of addresses; open with less"),
        };
        match self.length.or(self.capacity) {
            Some(bytes) if bytes > most => wrong(too_many.into()),
            // The caller has not asked for these addresses: a stream without them may do.
            None if self.at_least > most => Err(OpenError::Resources(heap::text(too_many))),
            _ => Ok(()),
        }
    }

    /// The blocks of address space wanted, and the least that will do.
    fn blocks(&self, share: u64) -> (u64, u64) {
        // One more block than bytes: a zero byte follows the last one.
        let blocks = |bytes: u64| self.block.block_of(bytes) + 1;
        match (self.capacity, self.length) {
            (Some(exactly), _) | (None, Some(exactly)) => (blocks(exactly), blocks(exactly)),
            (None, None) => {
                let [wanted, least] = [CAPACITY, LEAST_CAPACITY].map(|bytes| bytes.min(share).max(self.at_least));
                (blocks(wanted), blocks(least))
            }
        }
    }

    /// How many blocks a stream without addresses carries.
    fn blocks_without_addresses(&self) -> u64 {
        self.block.block_of(self.capacity.or(self.length).unwrap_or(WITHOUT_END)) + 1
    }

    /// The pool that streams share, if it is large enough. (A pool of the caller's is what the caller made it: a stream
    /// that finds it too small fails at its first block.)
    fn shared_pool(&self, engine: Engine) -> Result<Shared<Blocks>, OpenError> {
        let enough = |budget: u32| {
            let (block, needed) = (self.block, self.windows.blocks());
            if u64::from(budget) >= needed {
                return Ok(());
            }
            let size = Bytes(u64::from(budget) * block.bytes() as u64);
            let cure = pool::cure(block, budget);
            Err(OpenError::Resources(heap::text(format_args!(
                "it needs {needed} blocks of {block}, and the pool that streams share has {budget} ({size} in all); {cure}, \
                 or open with smaller blocks or windows"
            ))))
        };
        // Asked before as well: a pool that is made stays, and takes addresses.
        enough(pool::shared_budget(self.block))?;
        let pool = pool::shared(self.block, engine).map_err(OpenError::pool)?;
        enough(pool.budget()).map(|()| pool)
    }

    /// Two ranges, halving what was asked for until the system gives it.
    fn reserve(&self, context: Context) -> Result<(Ranges, u64), OpenError> {
        // Where a limit makes addresses short, one stream takes an eighth of them.
        let limited = facts::address_space().map_or(u64::MAX, |limit| limit / 16);
        let (mut blocks, least) = self.blocks(reservation::fair_share().max(LEAST_CAPACITY).min(limited));
        loop {
            match self.reserve_exactly(context, blocks) {
                Ok(ranges) => return Ok((ranges, blocks)),
                Err(refusal) if refusal.is_shortage() && blocks / 2 >= least => blocks /= 2,
                Err(refusal) => {
                    let bytes = Bytes(2 * blocks * self.block.bytes() as u64);
                    return Err(OpenError::addresses(
                        format_args!("for {bytes}"),
                        refusal,
                        " or open with less capacity",
                    ));
                }
            }
        }
    }

    fn reserve_exactly(&self, context: Context, blocks: u64) -> Result<Ranges, Refusal> {
        let len = blocks as usize * self.block.bytes();
        let writer = Reservation::guarded(len, self.block)?;
        let reader = Reservation::guarded(len, self.block).inspect_err(|_| {
            // SAFETY: just made, and nobody has seen it.
            unsafe { writer.unmap() }
        })?;
        let mut ranges = Ranges { of: [writer, reader], prepare: [Prepare::Open; 2] };
        let prepared = End::BOTH.into_iter().try_for_each(|end| self.prepare_range(context, &mut ranges, end));
        if prepared.is_err() {
            for range in &ranges.of {
                // SAFETY: just made, and nobody has seen them.
                unsafe { range.unmap() };
            }
        }
        prepared.map(|()| ranges)
    }

    /// Registers and opens a range, as far as its trap, its use and the machine let it be open.
    fn prepare_range(&self, context: Context, ranges: &mut Ranges, end: End) -> Result<(), Refusal> {
        let range = &ranges.of[end as usize];
        let Some(uffd) = context.uffd() else {
            // With `remap` each block that is away from the pool takes two mappings; so does a throw-away page. With `map` there are
            // no more of them.
            return range.try_mappings(2 * self.windows.blocks() as usize + 4);
        };
        // SAFETY: our own range.
        unsafe { uffd.register(range.start(), range.len())? };
        let huge = self.block.is_huge();
        let read_only = end == End::Reader;
        ranges.prepare[end as usize] = match context {
            Context::Signal(_) if huge && !read_only => Prepare::Open,
            // Where the system counts every open byte as memory (overcommit 2), signals can do with less.
            Context::Signal(_) if !range.open_all() => Prepare::Open,
            _ if huge && !read_only => Prepare::DropTables,
            _ => Prepare::Nothing,
        };
        if !matches!(context, Context::Signal(_)) && !range.open_all() {
            range.open_ahead(0).map_err(Refusal::of("mprotect"))?;
        }
        if huge && read_only {
            range.want_huge();
        }
        Ok(())
    }

    /// Opens the stream with a pair that is known to work, or is being probed.
    pub(crate) fn open_on(mut self, context: Context, engine: Engine) -> Result<Pipe, OpenError> {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        process::remember();
        let pool: Shared<Blocks> = match &self.pool {
            Some(pool) if pool.0.serves(engine) => pool.0.clone(),
            Some(_) => {
                return Err(OpenError::Setting("the pool was made for another trap or mover, or before a fork".into()));
            }
            None => self.shared_pool(engine)?,
        };
        let number = NUMBER.fetch_add(1, Relaxed);
        let name = self.name.take().unwrap_or_else(|| heap::whole_text(format_args!("#{number}")))?;
        // Had before the addresses, which would have to be given back.
        let (room, table) = (heap::Room::new()?, SlotTable::new(self.windows.blocks() as usize)?);
        let (ranges, capacity) = match engine {
            Engine::Copy => (None, self.blocks_without_addresses()),
            _ => self.reserve(context).map(|(ranges, blocks)| (Some(ranges), blocks))?,
        };
        let config = Config {
            name,
            block: self.block,
            windows: self.windows,
            capacity,
            length: self.length,
            recycle: self.recycle,
            sparse: self.sparse,
            on_failure: self.on_failure,
            timeout: self.timeout,
            explicit: self.explicit,
        };
        let core = lifecycle::open(room.put(Core::new(config, ranges, engine, context, pool, table)))?;
        super::report::start_watching();
        Ok(Pipe { writer: Writer::new(&core), reader: Reader::new(&core) })
    }
}

/// A stream whose two ends are still together.
///
/// While they are, one thread uses both, and a wait of one end for the other could never end: it fails the stream with
/// [`StreamErrorKind::Deadlock`](super::StreamErrorKind::Deadlock). [`Pipe::split`] parts them.
#[derive(Debug)]
pub struct Pipe {
    writer: Writer,
    reader: Reader,
}

impl Pipe {
    /// The settings of a stream, to be changed and then opened.
    pub fn builder() -> PipeBuilder {
        PipeBuilder::new()
    }

    /// The two ends, for two threads.
    pub fn split(self) -> (Writer, Reader) {
        self.writer.core().one_handle.store(false, SeqCst);
        (self.writer, self.reader)
    }

    /// The writing end.
    pub fn writer(&mut self) -> &mut Writer {
        &mut self.writer
    }

    /// The reading end.
    pub fn reader(&mut self) -> &mut Reader {
        &mut self.reader
    }

    /// A handle to watch and cancel the stream from anywhere.
    pub fn control(&self) -> Control {
        self.writer.control()
    }

    /// The trap in force.
    pub fn trap(&self) -> Trap {
        self.writer.control().trap()
    }

    /// The mover in force.
    pub fn mover(&self) -> Mover {
        self.writer.control().mover()
    }

    /// How many bytes the stream can carry.
    pub fn capacity(&self) -> u64 {
        self.writer.control().capacity()
    }
}
