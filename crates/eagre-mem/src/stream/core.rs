//! A stream's shared half: where its blocks are, and the one step that brings a block to an end.
//!
//! # Where blocks are
//! A stream circulates at most `K = N + L + M + 1` physical blocks. Block number `i` of the stream lives in slot
//! `i mod K`: the slot's address is where its memory is right now, in the pool, in the writer's range or in the
//! reader's. Whoever the protocol says holds block `i` owns the slot: the writer until it publishes `i`, then the
//! reader until it releases `i`, then the writer again, as block `i + K`. So a slot needs no lock, a block travels from
//! the reader's range straight to the writer's next address, and each end pays one move a block:
//!
//! ```text
//!   pool ──first use──▶ writer's range ──published──▶ reader's range ──released──┐
//!                            ▲                                                   │
//!                            └───────────────── block i + K ─────────────────────┘
//! ```
//!
//! A pointer end needs the block at its own address. An explicit end takes it where it is, unless that is inside the
//! other end's range, where a stray touch could still reach it. Between two explicit ends nothing moves at all.
//!
//! # Safety
//! The slots are the only way to memory here. A slot is read and written by the end that holds its block and by
//! nobody else, which the protocol's counters order (`SeqCst` stores and loads).

use super::error::{Failure, Status, StreamError, StreamErrorKind, memory_cure};
use super::flow::SharedFlow;
use super::gate::Gate;
use super::mapping::Mapped;
use super::protocol::{Touch, Windows};
use super::stats::Counters;
use crate::heap::{self, Refused, Shared};
use crate::memory::RewireErrorKind;
use crate::memory::pool::{BlockId, Blocks};
use crate::memory::reservation::Reservation;
use crate::memory::slot::{Contents, Shortage, Slot, carry};
use crate::mover::{Engine, Prepare};
use crate::sys::{Errno, process};
use crate::trap::claim::Claim;
use crate::trap::registry::{Entry, Target};
use crate::trap::{Context, End};
use crate::units::{BlockSize, Bytes};
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use std::time::Duration;

/// What a pointer end gets after its stream has failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnFailure {
    /// Throw-away pages: zeros to read, and what is written is lost. The code on the pointer runs to its end, and its
    /// scope returns the error.
    #[default]
    Drain,
    /// A touch is an error: SIGBUS or SIGSEGV in user code, `EFAULT` from a system call.
    Poison,
}

/// What a stream was opened with.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) name: String,
    pub(crate) block: BlockSize,
    pub(crate) windows: Windows,
    /// Blocks of address space.
    pub(crate) capacity: u64,
    /// The length announced at open.
    pub(crate) length: Option<u64>,
    pub(crate) recycle: bool,
    pub(crate) sparse: bool,
    pub(crate) on_failure: OnFailure,
    pub(crate) timeout: Option<Duration>,
    /// Opened for explicit calls only.
    pub(crate) explicit: bool,
}

/// The two address ranges of a stream with pointers.
#[derive(Debug)]
pub(crate) struct Ranges {
    pub(crate) of: [Reservation; 2],
    /// What a slot in each needs before a block can move in.
    pub(crate) prepare: [Prepare; 2],
}

/// The entries of a stream's ranges in the registry.
pub(crate) struct Registered {
    pub(crate) entries: [Entry; 2],
    /// What the registry points to.
    pub(crate) _targets: Shared<[Target; 2]>,
}

/// One end's side of the shared half.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Side {
    pub(crate) gate: Gate,
    pub(crate) claim: Claim,
    /// Pager: one past the furthest block a thread is parked for, or 0.
    pub(crate) parked: AtomicU64,
    /// Pager: it is bringing a block to this end at this moment.
    pub(crate) stepping: AtomicBool,
    /// One past the block this end waits for, or 0; for reports.
    pub(crate) waits_for: AtomicU64,
    /// Since when, in nanoseconds.
    pub(crate) waits_since: AtomicU64,
    /// The chunks drained last, one past their block numbers.
    pub(crate) drained: [AtomicU64; 2],
    /// One past the furthest block whose touch stopped a thread, or 0.
    pub(crate) touched: AtomicU64,
    /// Pager: one past the block whose parked threads were let go when the stream failed, or 0.
    pub(crate) let_go: AtomicU64,
    /// Where the explicit interface stands, in bytes.
    pub(crate) position: AtomicU64,
    /// Mover `map`.
    pub(crate) mapped: Mapped,
    pub(crate) counters: Counters,
}

/// The shared half of a stream.
pub(crate) struct Core {
    pub(crate) config: Config,
    pub(crate) flow: SharedFlow,
    /// The final length in bytes, or `u64::MAX`.
    pub(crate) length: AtomicU64,
    pub(crate) sides: [Side; 2],
    slots: Vec<AtomicUsize>,
    ids: Vec<AtomicU32>,
    pub(crate) ranges: Option<Ranges>,
    pub(crate) engine: Engine,
    pub(crate) context: Context,
    pub(crate) pool: Shared<Blocks>,
    committed: AtomicBool,
    pub(crate) status: Status,
    pub(crate) one_handle: AtomicBool,
    /// A callback that fills on demand: one past the furthest block the reader has waited for.
    pub(crate) demand: AtomicU64,
    /// Handles and taken blocks alive.
    pub(crate) users: AtomicU32,
    pub(crate) registered: Mutex<Option<Registered>>,
    /// A touch outside the window has been reported.
    pub(crate) reported: AtomicBool,
    /// A foreign fault near the stream's addresses has been reported.
    pub(crate) reported_near: AtomicBool,
    /// Where it was opened: a forked child has a copy of this, and nothing of what it describes.
    process: u32,
    /// Pager: what it did for one end has changed something for a thread parked at the other.
    pub(crate) news: AtomicBool,
    /// The reader has a pointer: what it has read is known by the block.
    pub(crate) reads_by_pointer: AtomicBool,
    /// A pointer has been given out that is not bound to a scope.
    pub(crate) raw: AtomicBool,
    /// Threads were let go with throw-away pages, and may not have repeated their instructions yet.
    pub(crate) stragglers: AtomicBool,
    /// Both ends are closed: pointers are stale.
    pub(crate) closed: AtomicBool,
}

/// One touch, with all that the step must know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touching {
    pub(crate) end: End,
    pub(crate) block: u64,
    /// The block must be at the end's own address.
    pub(crate) own: bool,
    /// A block the writer takes must read as zero, this one too.
    pub(crate) zero: bool,
    /// This is the pager: it looks at the other end by itself and need not be rung.
    pub(crate) pager: bool,
}

impl Touching {
    /// A touch through the explicit interface.
    pub(crate) fn explicit(end: End, block: u64) -> Touching {
        Touching { end, block, own: false, zero: false, pager: false }
    }
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The block is there.
    Ready,
    /// The other end must move on first.
    Wait,
    /// The block is pinned by I/O.
    Busy,
    /// Outside of the window: a programming error.
    Behind,
    /// The stream cannot go on.
    Fail(StreamErrorKind, i32),
}

impl From<Shortage> for Step {
    fn from(Shortage { kind, errno }: Shortage) -> Step {
        let kind = match kind {
            // What I/O has pinned it lets go one day; what is locked stays so.
            RewireErrorKind::Pinned if errno == Errno::BUSY => return Step::Busy,
            RewireErrorKind::Pinned => StreamErrorKind::Pinned,
            RewireErrorKind::OutOfBlocks => StreamErrorKind::OutOfBlocks,
            RewireErrorKind::OutOfMemory => StreamErrorKind::OutOfMemory,
            _ => StreamErrorKind::System,
        };
        Step::Fail(kind, errno.0)
    }
}

/// The table of a stream's slots: where each block is, and which block of the pool it is.
pub(crate) struct SlotTable {
    slots: Vec<AtomicUsize>,
    ids: Vec<AtomicU32>,
}

impl SlotTable {
    /// # Errors
    /// [`Refused`].
    pub(crate) fn new(blocks: usize) -> Result<SlotTable, Refused> {
        Ok(SlotTable {
            slots: heap::several(blocks, || Ok::<_, Refused>(AtomicUsize::new(0)))?,
            ids: heap::several(blocks, || Ok::<_, Refused>(AtomicU32::new(0)))?,
        })
    }
}

/// `length` while it is not known.
pub(crate) const UNKNOWN: u64 = u64::MAX;
impl Core {
    pub(crate) fn new(
        config: Config,
        ranges: Option<Ranges>,
        engine: Engine,
        context: Context,
        pool: Shared<Blocks>,
        table: SlotTable,
    ) -> Core {
        Core {
            flow: SharedFlow::new(config.windows),
            length: AtomicU64::new(UNKNOWN),
            sides: Default::default(),
            slots: table.slots,
            ids: table.ids,
            ranges,
            engine,
            context,
            pool,
            committed: AtomicBool::new(false),
            status: Status::default(),
            one_handle: AtomicBool::new(true),
            demand: AtomicU64::new(0),
            users: AtomicU32::new(0),
            registered: Mutex::new(None),
            reported: AtomicBool::new(false),
            reported_near: AtomicBool::new(false),
            process: process::id(),
            news: AtomicBool::new(false),
            reads_by_pointer: AtomicBool::new(false),
            raw: AtomicBool::new(false),
            stragglers: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            config,
        }
    }

    #[inline]
    pub(crate) fn side(&self, end: End) -> &Side {
        &self.sides[end as usize]
    }

    #[inline]
    fn slot(&self, block: u64) -> usize {
        (block % self.slots.len() as u64) as usize
    }

    /// Where the memory of `block` is. Meaningful to the end that holds it.
    #[inline]
    pub(crate) fn address(&self, block: u64) -> usize {
        self.slots[self.slot(block)].load(Relaxed)
    }

    /// Which block of the pool `block` is. Meaningful to the end that holds it.
    #[inline]
    pub(crate) fn block_in(&self, block: u64) -> BlockId {
        self.ids[self.slot(block)].load(Relaxed)
    }

    /// Records where the memory of `block` is, for the end that holds it.
    #[inline]
    pub(crate) fn set_address(&self, block: u64, address: usize) {
        self.slots[self.slot(block)].store(address, Relaxed);
    }

    /// The address of `block` in the range of `end`.
    #[inline]
    pub(crate) fn own_address(&self, end: End, block: u64) -> Option<usize> {
        let start = self.ranges.as_ref()?.of[end as usize].start();
        Some(start + self.config.block.start_of(block) as usize)
    }

    /// One attempt to bring a block into an end's window. Never waits; safe in handlers.
    pub(crate) fn step(&self, touching: Touching) -> Step {
        let Touching { end, block, .. } = touching;
        // A reader this far on waits until the writer has finished, or failed; only then is there an end to be past.
        if end == End::Writer && block >= self.config.capacity {
            return Step::Fail(StreamErrorKind::CapacityExceeded, 0);
        }
        loop {
            let (touch, news) = match end {
                End::Writer => self.flow.writer_touches(block),
                End::Reader => self.flow.reader_touches(block),
            };
            if news {
                self.notify(end.peer(), touching.pager);
            }
            let brought = match touch {
                Touch::Ready => return self.move_to_end(touching, block).err().unwrap_or(Step::Ready),
                Touch::Wait => return Step::Wait,
                Touch::Behind => return Step::Behind,
                Touch::PastEnd => return Step::Fail(StreamErrorKind::PastEnd, 0),
                Touch::Take(next) if end == End::Writer => self.bring_to_writer(touching, next),
                Touch::Take(next) => self.bring_to_reader(touching, next),
            };
            if let Err(step) = brought {
                return step;
            }
        }
    }

    fn bring_to_writer(&self, touching: Touching, next: u64) -> Result<(), Step> {
        let slot = self.slot(next);
        let recycled = self.slots[slot].load(Relaxed) != 0;
        if self.engine.maps() && recycled {
            self.withdraw_in_time(next)?;
        }
        if !recycled {
            self.take_from_pool(slot)?;
        } else if !self.config.recycle {
            self.replace_by_fresh(slot)?;
        }
        match self.move_to_end(touching, next) {
            // Pinned where the reader left it. It is left to the pin, and another block takes its turn.
            Err(Step::Busy) => {
                self.abandon(slot);
                self.side(End::Writer).counters.substituted();
                self.take_from_pool(slot)?;
                self.move_to_end(touching, next)?;
            }
            other => other?,
        }
        let skipped = next < touching.block || touching.zero || self.config.sparse;
        if skipped && recycled && self.config.recycle {
            // SAFETY: the writer holds the block, and nobody touches it before it is recorded as taken.
            unsafe { self.memory(next, 0).write_bytes(0, self.config.block.bytes()) };
        }
        self.flow.writer_took();
        self.side(End::Writer).counters.block();
        self.trim(End::Writer, self.flow.load().seen);
        Ok(())
    }

    fn bring_to_reader(&self, touching: Touching, next: u64) -> Result<(), Step> {
        match self.move_to_end(touching, next) {
            // Pinned, but the writer has said that all is written: its bytes will not change any more.
            Err(Step::Busy) if self.flow.load().end.is_some() => {
                self.replace_by_copy(self.slot(next))?;
                self.side(End::Reader).counters.substituted();
                self.move_to_end(touching, next)?;
            }
            other => other?,
        }
        self.flow.reader_took();
        self.side(End::Reader).counters.block();
        self.trim(End::Reader, self.flow.load().taken.saturating_sub(self.slots.len() as u64));
        Ok(())
    }

    /// Moves `block` to where `touching` needs it, unless it is there.
    #[inline]
    fn move_to_end(&self, touching: Touching, block: u64) -> Result<(), Step> {
        let Some(ranges) = &self.ranges else { return Ok(()) };
        let slot = &self.slots[self.slot(block)];
        let from = slot.load(Relaxed);
        let range = &ranges.of[touching.end as usize];
        let offset = self.config.block.start_of(block) as usize;
        let to = range.start() + offset;
        if from == to {
            return Ok(());
        }
        if self.engine.maps() {
            return self.map_to_end(touching, block, to);
        }
        if !(touching.own || ranges.of[touching.end.peer() as usize].contains(from)) {
            return Ok(());
        }
        let prepare = ranges.prepare[touching.end as usize];
        if prepare != Prepare::Open {
            range.open_ahead(offset).map_err(|errno| Shortage::of_move(self.engine, errno))?;
        }
        let there = Slot { address: to, engine: self.engine, prepare, mappings: 0 };
        // SAFETY: the end holds the block (the protocol says so), so nobody uses it; `to` is its own address for it,
        // where nothing is yet.
        unsafe { carry(self.engine, from, there, self.config.block.bytes())? };
        slot.store(to, Relaxed);
        self.side(touching.end).counters.moved();
        Ok(())
    }

    /// Frees the page tables of what an end has left behind for good.
    #[inline]
    fn trim(&self, end: End, blocks: u64) {
        if let Some(ranges) = &self.ranges {
            let blocks = if self.engine.maps() { self.side(end).mapped.closed() } else { blocks };
            // SAFETY: the writer's blocks below `seen` have moved to the reader; the reader's below `taken - K` have
            // moved to the writer. Whatever is left there is a pinned block that was given up.
            unsafe { ranges.of[end as usize].trim(self.config.block.start_of(blocks)) };
        }
    }

    fn take_from_pool(&self, slot: usize) -> Result<(), Step> {
        if !self.committed.load(Relaxed) {
            if !self.pool.commit(self.slots.len() as u32) {
                return Err(Step::Fail(StreamErrorKind::OutOfBlocks, 0));
            }
            self.committed.store(true, Relaxed);
        }
        let id = self.pool.take_committed(Contents::Zeros)?;
        self.record(slot, id);
        Ok(())
    }

    /// The slot has a block that is at home.
    fn record(&self, slot: usize, id: BlockId) {
        self.ids[slot].store(id, Relaxed);
        self.slots[slot].store(self.pool.home(id), Relaxed);
    }

    /// Gives up a pinned block of the writer's. Its pages live on until the pin ends; here they are gone, so that neither
    /// the budget nor an empty home in the pool has them.
    fn abandon(&self, slot: usize) {
        let address = self.slots[slot].swap(0, Relaxed);
        // SAFETY: the writer holds the block, and gives up its contents.
        unsafe { self.pool.abandon(self.ids[slot].load(Relaxed), address) };
    }

    /// Copies a pinned block of the reader's, whose bytes do not change any more, into one that can move.
    fn replace_by_copy(&self, slot: usize) -> Result<(), Step> {
        let (from, id) = (self.slots[slot].swap(0, Relaxed), self.ids[slot].load(Relaxed));
        // SAFETY: the reader holds the block, and the writer has finished, so nobody changes its bytes.
        let other = unsafe { self.pool.replace_by_copy(id, from) }?;
        self.record(slot, other);
        Ok(())
    }

    /// Where a slot's block is, for the pool to get it from.
    fn whereabouts(&self, id: BlockId, address: usize) -> Slot {
        // One that is mapped elsewhere is at home all the same.
        let address = if self.engine.maps() { self.pool.home(id) } else { address };
        Slot { address, engine: self.engine, prepare: Prepare::Nothing, mappings: 0 }
    }

    /// Stream B: the memory goes back to the system, and new zeroed memory comes.
    fn replace_by_fresh(&self, slot: usize) -> Result<(), Step> {
        let id = self.ids[slot].load(Relaxed);
        let from = self.slots[slot].load(Relaxed);
        // SAFETY: the writer holds the block, and gives up its contents.
        unsafe {
            self.pool.fetch(id, self.whereabouts(id, from))?;
            self.slots[slot].store(0, Relaxed);
            self.pool.refresh(id)?;
        }
        self.record(slot, id);
        Ok(())
    }

    /// Gives a slot's block back to the pool.
    fn give_back(&self, slot: usize) {
        let address = self.slots[slot].swap(0, Relaxed);
        if address != 0 {
            let id = self.ids[slot].load(Relaxed);
            // SAFETY: nobody uses the stream any more, so the block is the caller's, and nobody needs its contents.
            unsafe { self.pool.give_back_committed(id, self.whereabouts(id, address)) };
        }
    }

    /// Gives every block back. Nobody uses the stream any more.
    pub(crate) fn give_all_back(&self) {
        if self.engine.maps() && self.withdraw_all().is_err() {
            // A stale pointer would reach them. They are lost to the pool, and the stream keeps them until the process ends.
            return;
        }
        // Last in, first out: the first block is the first to be taken again, and neighbours stay neighbours.
        for slot in (0..self.slots.len()).rev() {
            self.give_back(slot);
        }
        if self.committed.swap(false, Relaxed) {
            self.pool.uncommit(self.slots.len() as u32);
        }
    }

    /// How many blocks the stream holds.
    pub(crate) fn held(&self) -> u64 {
        self.slots.iter().filter(|slot| slot.load(Relaxed) != 0).count() as u64
    }

    /// A pointer into a block, wherever it is.
    ///
    /// # Safety
    /// The caller's end holds the block; `offset` is less than the block size.
    #[inline]
    pub(crate) unsafe fn memory(&self, block: u64, offset: usize) -> *mut u8 {
        ptr::with_exposed_provenance_mut(self.address(block) + offset)
    }

    /// Tells an end that something has changed for it.
    #[inline]
    pub(crate) fn notify(&self, end: End, from_pager: bool) {
        let told = self.side(end).gate.notify();
        if told.sleeper {
            self.side(end.peer()).gate.patience.peer_is_late();
        }
        if told.pager {
            if from_pager { self.news.store(true, Relaxed) } else { self.context.ring() }
        }
    }

    /// Fails the stream, if it has not failed already, and wakes everybody. Safe in handlers.
    pub(crate) fn fail(&self, failure: Failure) {
        if self.status.set(failure) {
            self.wake_all();
        }
    }

    /// Fails the stream because a file at one end did.
    pub(crate) fn fail_io(&self, by: End, error: &std::io::Error, message: &str) {
        let failure = Failure { kind: StreamErrorKind::Io, errno: error.raw_os_error().unwrap_or(0), by };
        if self.status.set_with(failure, message.to_owned()) {
            self.wake_all();
        }
    }

    /// A failure of the stream in words.
    pub(crate) fn error(&self, failure: Failure) -> StreamError {
        let error = self.status.error(failure, &self.config.name);
        match failure.kind {
            StreamErrorKind::CapacityExceeded => error.or_detail(|| {
                let capacity = self.capacity();
                format!("it carries {capacity} bytes ({})", Bytes(capacity))
            }),
            StreamErrorKind::OutOfMemory => error.cured_by(memory_cure(self.engine, Errno(failure.errno))),
            // Nothing was refused: the pool is full. Where addresses made it small, so the cure is more of them.
            StreamErrorKind::OutOfBlocks if failure.errno == 0 && self.pool.is_short_of_addresses() => {
                error.cured_by("raise `ulimit -v`, or use fewer streams or windows")
            }
            _ => error,
        }
    }

    /// The error of an end that asks for a pointer there is none of.
    pub(crate) fn no_pointer(&self) -> StreamError {
        let detail = self.config.explicit.then(|| "it was opened for explicit calls only".to_owned());
        StreamError::new(StreamErrorKind::NoPointer, &self.config.name, detail)
    }

    /// The most bytes the stream can carry. A zero byte follows them.
    pub(crate) fn capacity(&self) -> u64 {
        self.config.block.start_of(self.config.capacity) - 1
    }

    /// Whether the reader had read a stream of `length` bytes to its end, as far as is known, before it went.
    ///
    /// Of a reader on a pointer only its blocks are known. The last one, if it is not full, is published when the stream
    /// is finished, and cannot have been read before.
    pub(crate) fn was_read_to(&self, length: u64) -> bool {
        let explicit = self.side(End::Reader).position.load(SeqCst);
        let by_pointer = self.reads_by_pointer.load(Relaxed) && explicit == 0;
        explicit == length || (by_pointer && self.config.block.start_of(self.flow.load().seen) >= length)
    }

    /// Whether this is the process that opened the stream.
    #[inline]
    pub(crate) fn is_here(&self) -> bool {
        self.process == process::id()
    }

    /// Fails a forked child's copy of the stream.
    #[inline]
    pub(crate) fn notice_fork(&self) {
        if !self.is_here() {
            self.status.set((StreamErrorKind::Forked, End::Writer).into());
        }
    }

    pub(crate) fn wake_all(&self) {
        for end in End::BOTH {
            self.notify(end, false);
        }
    }
}
