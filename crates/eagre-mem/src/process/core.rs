//! One end of a stream between processes: its counters, its view of the blocks, and the one step that brings a block to it.
//!
//! # Where blocks are
//! Both processes map the same `K = N + L + M + 1` blocks. Block `i` of the stream is block `i mod K` of them, and the
//! protocol says which end holds it, as for a stream in one process. Nothing moves. Each end has them mapped twice in a
//! row, so that the explicit calls find any `K` blocks contiguous:
//!
//! ```text
//!   ring      0 1 2 3 4 0 1 2 3 4
//!                   └─────┘ blocks 3, 4 and 5
//! ```
//!
//! A pointer has a range of its own (`super::pointer`).
//!
//! # Safety
//! The memory of a block is touched by the end that holds it. That is what Eagre does in both processes; what a hostile
//! process does to the bytes is its business, and no length or index that it may have written decides where *this* process reads or
//! writes: counters are compared with this end's own before they are used (`Core::look`).

use super::page::{Half, Page};
use super::pointer::Pointer;
use super::waits::Waiting;
use crate::heap::Shared;
use crate::memory::reservation::Reservation;
use crate::memory::shared::SharedBlocks;
use crate::stream::error::{Failure, Status};
use crate::stream::gate::Patience;
use crate::stream::protocol::{Flow, Touch, Windows};
use crate::stream::stats::Counters;
use crate::stream::{StreamError, StreamErrorKind};
use crate::sys::shared::{self, Access};
use crate::sys::socket::{self, OtherProcess};
use crate::sys::{Errno, Refusal, process};
use crate::trap::End;
use crate::trap::claim::Claim;
use crate::trap::registry::Registration;
use crate::units::{BlockSize, HUGE_PAGE};
use std::os::fd::OwnedFd;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

/// What the stream is.
#[derive(Debug)]
pub(super) struct Config {
    pub(super) name: String,
    pub(super) block: BlockSize,
    pub(super) windows: Windows,
    pub(super) timeout: Option<Duration>,
    /// How many bytes a pointer reaches, at either end.
    pub(super) capacity: u64,
}

/// A pointer that comes round so often is worth huge pages, which take some 6 ms each, once, and save 8 us a block. To explicit calls,
/// which map nothing, they are worth less than they cost.
pub(super) const LAPS_WORTH_HUGE_PAGES: u64 = 256;

/// `length` while it is not known.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// One end.
pub(super) struct Core {
    pub(super) config: Config,
    pub(super) end: End,
    pub(super) page: Page,
    pub(super) blocks: SharedBlocks,
    ring: Reservation,
    pub(super) socket: OwnedFd,
    pub(super) other: OtherProcess,
    /// Blocks this end has taken.
    pub(super) taken: AtomicU64,
    /// Blocks it has given on: published or released.
    pub(super) given: AtomicU64,
    /// Blocks the other end has given on, as far as that was seen and made sense.
    pub(super) theirs: AtomicU64,
    /// The final length in bytes, or [`UNKNOWN`].
    pub(super) length: AtomicU64,
    /// Where the explicit interface stands, in bytes.
    pub(super) position: AtomicU64,
    pub(super) status: Status,
    /// The other process ended without a word.
    pub(super) died: AtomicBool,
    /// The right to bring a block in, and to wait for one.
    pub(super) claim: Claim,
    pub(super) patience: Patience,
    pub(super) pointer: OnceLock<Pointer>,
    pub(super) registration: Mutex<Option<Registration>>,
    pub(super) counters: Counters,
    pub(super) waiting: Waiting,
    /// A touch outside the window has been reported.
    pub(super) reported: AtomicBool,
    /// A foreign fault near the pointer's addresses has been reported.
    pub(super) reported_near: AtomicBool,
    /// The numbers by which this process knows others.
    pub(super) space: u64,
    process: u32,
}

/// One touch, with all that the step must know.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touching {
    pub(super) block: u64,
    /// The block must be at the pointer's address.
    pub(super) own: bool,
    /// A block the writer takes must read as zero, this one too.
    pub(super) zero: bool,
}

impl Touching {
    /// A touch through the explicit interface.
    pub(super) fn explicit(block: u64) -> Touching {
        Touching { block, own: false, zero: false }
    }
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The block is there.
    Ready,
    /// The other end must move on first.
    Wait,
    /// Outside of the window: a programming error.
    Behind,
    /// The stream ends before this block.
    PastEnd,
    /// The stream cannot go on.
    Fail(Failure),
}

impl Core {
    /// One end on memory that both processes have.
    ///
    /// # Errors
    /// Addresses or mappings were refused.
    pub(super) fn new(
        config: Config,
        end: End,
        page: Page,
        blocks: SharedBlocks,
        socket: OwnedFd,
    ) -> Result<Core, Refusal> {
        let count = config.windows.blocks() as usize;
        let len = count * config.block.bytes();
        let ring = Reservation::aligned(2 * len, config.block.bytes().max(HUGE_PAGE))?;
        let access = access(end);
        for copy in 0..2 {
            // SAFETY: our own range, which nobody has seen.
            if let Err(errno) = unsafe { blocks.map(0..count, ring.start() + copy * len, access) } {
                // SAFETY: as above.
                unsafe { ring.unmap() };
                return Err(Refusal { call: "mmap", errno });
            }
        }
        Ok(Core {
            config,
            end,
            page,
            blocks,
            ring,
            socket,
            other: OtherProcess::unknown(),
            taken: AtomicU64::new(0),
            given: AtomicU64::new(0),
            theirs: AtomicU64::new(0),
            length: AtomicU64::new(UNKNOWN),
            position: AtomicU64::new(0),
            status: Status::default(),
            died: AtomicBool::new(false),
            claim: Claim::default(),
            patience: Patience::default(),
            pointer: OnceLock::new(),
            registration: Mutex::new(None),
            counters: Counters::default(),
            waiting: Waiting::default(),
            reported: AtomicBool::new(false),
            reported_near: AtomicBool::new(false),
            space: socket::process_space(),
            process: process::id(),
        })
    }

    #[inline]
    pub(super) fn own_half(&self) -> &Half {
        self.page.half(self.end)
    }

    #[inline]
    pub(super) fn other_half(&self) -> &Half {
        self.page.half(self.end.peer())
    }

    /// How many blocks circulate.
    #[inline]
    pub(super) fn count(&self) -> u64 {
        self.config.windows.blocks()
    }

    /// How many blocks behind its furthest one this end may still touch.
    pub(super) fn behind(&self) -> u64 {
        let Windows { rewrite, lookback, .. } = self.config.windows;
        u64::from(if self.end == End::Writer { rewrite } else { lookback })
    }

    /// The final length, if it is known.
    #[inline]
    pub(super) fn known_length(&self) -> Option<u64> {
        let length = self.length.load(SeqCst);
        (length != UNKNOWN).then_some(length)
    }

    /// Where the stream is, as this end sees it.
    pub(super) fn flow(&self) -> Flow {
        let (taken, given, theirs) = (self.taken.load(SeqCst), self.given.load(SeqCst), self.theirs.load(SeqCst));
        // Only when all of it has been published.
        let end = self.known_length().map(|length| self.config.block.block_of(length) + 1).filter(|&end| end == theirs);
        match self.end {
            End::Writer => Flow { taken, published: given, seen: theirs, released: theirs, end: None },
            End::Reader => Flow { taken: theirs, published: theirs, seen: taken, released: given, end },
        }
    }

    /// Looks how far the other end is. Whatever it says is compared with what this end knows: another process may have written
    /// anything there.
    ///
    /// # Errors
    /// The other end has failed, or contradicts itself.
    pub(super) fn look(&self) -> Result<(), Failure> {
        let half = self.other_half();
        // The counter first: the writer stores the length before it publishes the last block.
        let moved = half.moved.load(SeqCst);
        let length = half.length.load(SeqCst);
        let damaged = Err((StreamErrorKind::Damaged, self.end.peer()).into());
        let (theirs, given) = (self.theirs.load(SeqCst), self.given.load(SeqCst));
        let most = if self.end == End::Writer { given } else { given.saturating_add(self.count()) };
        if moved < theirs || moved > most {
            return damaged;
        }
        if self.end == End::Reader && length != 0 {
            if self.known_length().is_none() {
                self.length.store(length - 1, SeqCst);
            }
            let known = self.known_length().map_or(0, |length| self.config.block.block_of(length) + 1);
            if Some(length - 1) != self.known_length() || moved > known {
                return damaged;
            }
        }
        self.theirs.store(moved, SeqCst);
        match half.state.load(SeqCst) {
            0 => Ok(()),
            // All that will come is there.
            _ if self.end == End::Reader && self.flow().end.is_some() => Ok(()),
            word => match Failure::from_word(word) {
                Some(failure) => Err(failure),
                None => damaged,
            },
        }
    }

    /// One attempt to bring a block into this end's window. Never waits; safe in handlers. Called with the claim held.
    pub(super) fn step(&self, touching: Touching) -> Step {
        let Touching { block, own, .. } = touching;
        if own && self.pointer.get().is_none_or(|pointer| block >= pointer.capacity) {
            return Step::Fail((StreamErrorKind::CapacityExceeded, self.end).into());
        }
        let (mut looked, mut took) = (false, false);
        loop {
            let mut flow = self.flow();
            let (touch, given) = match self.end {
                End::Writer => (flow.writer_touches(self.config.windows, block), flow.published),
                End::Reader => (flow.reader_touches(self.config.windows, block), flow.released),
            };
            self.give(given);
            let brought = match touch {
                Touch::Ready if own && !took => return self.open(block).err().unwrap_or(Step::Ready),
                Touch::Ready => return Step::Ready,
                Touch::Behind => return Step::Behind,
                Touch::PastEnd => return Step::PastEnd,
                Touch::Wait if looked => return Step::Wait,
                Touch::Take(next) if looked => {
                    took = true;
                    self.take(touching, next)
                }
                // Once for each block, so that a failure of the other end is seen early.
                Touch::Wait | Touch::Take(_) => {
                    looked = true;
                    self.look().map_err(Step::Fail)
                }
            };
            if let Err(step) = brought {
                return step;
            }
        }
    }

    /// Gives blocks on, all below `count`.
    pub(super) fn give(&self, count: u64) {
        if count > self.given.load(SeqCst) {
            self.given.store(count, SeqCst);
            self.own_half().moved.store(count, SeqCst);
            self.notify();
        }
    }

    /// This end takes its next block.
    fn take(&self, touching: Touching, next: u64) -> Result<(), Step> {
        let count = self.count();
        if let Some(pointer) = self.pointer.get() {
            if next == LAPS_WORTH_HUGE_PAGES * count {
                // Where there are none, small ones do.
                // SAFETY: our own ring.
                let _ = unsafe { self.blocks.collapse(0..count as usize, self.ring.start()) };
            }
            pointer.take(self, next)?;
        }
        if next < count && !touching.own {
            // SAFETY: a block of our own ring.
            let filled = unsafe { shared::fill_tables(self.ring_address(next), self.config.block.bytes()) };
            filled.map_err(|errno| self.refused(errno))?;
        }
        let skipped = next < touching.block || touching.zero;
        if self.end == End::Writer && skipped && next >= count {
            // SAFETY: the writer holds the block, and nobody touches it before it is recorded as taken.
            unsafe { self.memory(next, 0).write_bytes(0, self.config.block.bytes()) };
        }
        self.taken.store(next + 1, SeqCst);
        self.counters.block();
        Ok(())
    }

    /// Opens a block of the window for the pointer.
    fn open(&self, block: u64) -> Result<(), Step> {
        let pointer = self.pointer.get().ok_or(Step::Behind)?;
        pointer.open(self, block)
    }

    /// The system has refused what a block needs.
    pub(super) fn refused(&self, errno: Errno) -> Step {
        let kind = if errno.is_shortage() { StreamErrorKind::OutOfMemory } else { StreamErrorKind::System };
        Step::Fail(Failure { kind, errno: errno.0, by: self.end })
    }

    fn ring_address(&self, block: u64) -> usize {
        self.ring.start() + (block % self.count()) as usize * self.config.block.bytes()
    }

    /// A pointer into a block, from which up to `K` blocks are contiguous.
    ///
    /// # Safety
    /// This end holds the block; `offset` is less than the block size.
    #[inline]
    pub(super) unsafe fn memory(&self, block: u64, offset: usize) -> *mut u8 {
        ptr::with_exposed_provenance_mut(self.ring_address(block) + offset)
    }

    /// Whether this is the process that opened the end.
    #[inline]
    pub(super) fn is_here(&self) -> bool {
        self.process == process::id()
    }

    /// A failure of the stream in words.
    pub(super) fn error(&self, failure: Failure) -> StreamError {
        let error = self.status.error(failure, &self.config.name);
        if failure.by == self.end {
            let too_far = failure.kind == StreamErrorKind::CapacityExceeded;
            return if too_far { error.or_detail(|| self.capacity_text()) } else { error };
        }
        match self.other_half().message() {
            _ if self.died.load(SeqCst) => error.or_detail(|| "its process has ended, or runs another program".into()),
            Some(message) => error.or_detail(|| message),
            None => error,
        }
    }
}

/// What an end may do with the memory of a block.
pub(super) fn access(end: End) -> Access {
    if end == End::Writer { Access::ReadWrite } else { Access::Read }
}

impl Drop for Core {
    fn drop(&mut self) {
        if !self.is_here() {
            // A forked child has none of the mappings, and its parent uses the connection. The table of ranges is the child's own.
            return;
        }
        // Nobody is inside a fault any more when this returns.
        *self.registration.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
        if let Some(pointer) = self.pointer.get() {
            pointer.unmap();
        }
        // SAFETY: every handle and every block taken has a share in this.
        unsafe { self.ring.unmap() };
    }
}

/// A share in an end's life.
pub(super) type User = Shared<Core>;
