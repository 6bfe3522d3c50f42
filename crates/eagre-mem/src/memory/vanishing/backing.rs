//! The addresses of vanishing arrays and the blocks behind them: this module carries out what [`lifecycle`](super::lifecycle) decides.
//!
//! All arrays made together lie side by side in one reservation, which is one range to the trap. Between two of them one slot stays
//! empty. Each array has its own claim, so that arrays in different threads are independent.

use super::lifecycle::{Misuse, Toucher, Whereabouts, Windows};
use super::table::{Array, Entry};
use crate::heap::Shared;
use crate::memory::error::{RewireError, RewireErrorKind};
use crate::memory::mapping_budget;
use crate::memory::pool::{BlockId, Blocks};
use crate::memory::reservation::Reservation;
use crate::memory::slot::{Contents, Shortage, Slot};
use crate::memory::watched_range;
use crate::mover::{Engine, Prepare};
use crate::sys::{self, Errno, map};
use crate::trap::Context;
use crate::trap::claim::Claim;
use crate::units::BlockSize;
use std::cell::UnsafeCell;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

/// Why a block did not come, in a form that needs no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The touch is an error of the program.
    Misuse(Misuse),
    /// There is no block.
    Shortage(Shortage),
}

impl From<Shortage> for Refusal {
    fn from(shortage: Shortage) -> Refusal {
        Refusal::Shortage(shortage)
    }
}

/// What blocks in their slots cost in mappings.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mapped {
    /// Nothing: the whole range is open.
    Not,
    /// `mremap`: each block is one, and leaves a hole at home.
    Each,
    /// Slots are opened one by one. Neighbours are one mapping, so a run of blocks splits the closed mapping around it in two: two
    /// more mappings, however the run grows or shrinks later.
    Runs,
}

impl Mapped {
    const COST: u64 = 2;
}

/// Where an address is that belongs to no array: in the guard before the first one, or behind the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outside {
    /// This many bytes before the first array.
    Before(usize),
    /// This many bytes behind the last one.
    After(usize),
}

/// An array, and the claim that whoever changes it holds.
struct Claimable {
    claim: Claim,
    array: UnsafeCell<Array>,
}

// SAFETY: the array is reached by whoever holds the claim, and by nobody else.
unsafe impl Sync for Claimable {}

/// The addresses of arrays made together, and their blocks.
pub(super) struct Backing {
    range: Reservation,
    /// Slots of one array, the empty one at its end included.
    stride: u32,
    /// The bytes of a value: a power of two that divides every block.
    value: usize,
    arrays: Box<[Claimable]>,
    pub(super) pool: Shared<Blocks>,
    /// `None`: nothing notices a touch.
    pub(super) context: Option<Context>,
    prepare: Prepare,
    mappings: Mapped,
    /// Whether a misuse has been reported.
    pub(super) reported: AtomicBool,
}

impl Backing {
    /// Room for `count` arrays of values of `value` bytes, at most `limit` blocks each.
    pub(super) fn new(
        pool: Shared<Blocks>,
        context: Option<Context>,
        count: usize,
        value: usize,
        limit: u32,
        windows: Windows,
    ) -> Result<Backing, sys::Refusal> {
        const TOO_MANY: sys::Refusal = sys::Refusal { call: "mmap", errno: Errno::NOMEM };
        let block = pool.block;
        let stride = limit.checked_add(1).filter(|&stride| stride < Entry::ASIDE).ok_or(TOO_MANY)?;
        let slots = (stride as usize).checked_mul(count).ok_or(TOO_MANY)?;
        let len = slots.checked_mul(block.bytes()).ok_or(TOO_MANY)?;
        let (range, prepare) = match context {
            Some(context) => watched_range::reserve(len, context, block)?,
            None => (Reservation::aligned(len, block.bytes())?, Prepare::Nothing),
        };
        let mappings = match context {
            Some(Context::Signal(None)) => Mapped::Each,
            _ if prepare == Prepare::Open => Mapped::Runs,
            _ => Mapped::Not,
        };
        let array = || UnsafeCell::new(Array::new(windows, limit));
        let arrays = (0..count).map(|_| Claimable { claim: Claim::default(), array: array() });
        Ok(Backing {
            range,
            stride,
            value,
            arrays: arrays.collect(),
            pool,
            context,
            prepare,
            mappings,
            reported: AtomicBool::new(false),
        })
    }

    pub(super) fn addresses(&self) -> Range<usize> {
        self.range.addresses()
    }

    /// How far outside of the arrays an address is, in bytes: in front of them or behind.
    pub(super) fn outside(&self, address: usize) -> Option<Outside> {
        let (start, end) = (self.address(0, 0), self.address(self.count(), 0));
        match () {
            () if address < start => Some(Outside::Before(start - address)),
            () if address >= end => Some(Outside::After(address - end)),
            () => None,
        }
    }

    pub(super) fn block(&self) -> BlockSize {
        self.pool.block
    }

    pub(super) fn count(&self) -> usize {
        self.arrays.len()
    }

    /// The array that an address belongs to, and the byte of it.
    pub(super) fn locate(&self, address: usize) -> (usize, u64) {
        let stride = self.stride as usize * self.block().bytes();
        let offset = address - self.range.start();
        ((offset / stride).min(self.count() - 1), (offset % stride) as u64)
    }

    /// The address of a slot of an array.
    pub(super) fn address(&self, array: usize, slot: u32) -> usize {
        self.range.start() + (array * self.stride as usize + slot as usize) * self.block().bytes()
    }

    /// How far into its first block an array begins.
    ///
    /// Buckets grow at about the same speed. If they all began at the same offset of a block, their ends would compete for the same
    /// few sets of each cache (cache colouring). A step of 129 lines is one set further in a cache of 64 sets, and visits all sets of
    /// a cache of 1024 sets. Rounded down to whole values, so that none lies in two blocks.
    pub(super) fn skew(&self, array: usize) -> usize {
        const STEP: usize = 129 * 64;
        if self.count() == 1 {
            return 0;
        }
        (array * STEP % Self::most_skew(self.block())) & !(self.value - 1)
    }

    /// More than any array's skew.
    pub(super) fn most_skew(block: BlockSize) -> usize {
        block.bytes() / 2
    }

    /// Runs `action` on an array with its claim held.
    pub(super) fn with<R>(&self, array: usize, action: impl FnOnce(&mut Array) -> R) -> R {
        let claimable = &self.arrays[array];
        let _claimed = claimable.claim.take();
        // SAFETY: claimed.
        action(unsafe { &mut *claimable.array.get() })
    }

    fn engine(&self) -> Engine {
        self.pool.engine()
    }

    /// Brings a block to its slot, for a touch or a call, unless it is there. Then sets aside, or gives back, the blocks that this
    /// step of the writer or reader has left behind.
    pub(super) fn arrive(&self, array: usize, slot: u32) -> Result<(), Refusal> {
        self.with(array, |state| {
            let entry = state.at(slot);
            if entry.is_in_place() {
                return Ok(());
            }
            let whereabouts = if entry.is_aside() { Whereabouts::Aside } else { Whereabouts::Nowhere };
            match state.lifecycle.touched(slot, whereabouts).map_err(Refusal::Misuse)? {
                Toucher::Reader => {
                    self.bring_unread(array, state, slot)?;
                    let passed = state.lifecycle.read(slot);
                    self.give_back(array, state, passed);
                }
                Toucher::Writer => {
                    self.bring_new(array, state, slot)?;
                    let left = state.lifecycle.wrote(slot);
                    self.set_aside(array, state, left);
                }
            }
            Ok(())
        })
    }

    /// Brings back the block that was set aside from a slot, and some of those after it ([`fault_around`](super::lifecycle::Lifecycle::fault_around)). A slot that
    /// the writer has jumped over gets a new block.
    fn bring_unread(&self, array: usize, state: &mut Array, slot: u32) -> Result<(), Refusal> {
        let Some(first) = state.at(slot).id() else { return self.bring_new(array, state, slot) };
        let together = state.lifecycle.fault_around(slot);
        let aside = together.clone().take_while(|&slot| state.at(slot).is_aside()).count();
        self.prepare(self.address(array, slot), aside * self.block().bytes())?;
        self.put(array, state, slot, first)?;
        for slot in together.skip(1).take(aside - 1) {
            let Some(id) = state.at(slot).id() else { break };
            if self.put(array, state, slot, id).is_err() {
                // It will be asked for.
                break;
            }
        }
        Ok(())
    }

    /// Where a slot is, and what a block in it takes. Slots are prepared separately, where several are brought together.
    fn slot_at(&self, array: usize, slot: u32, prepare: Prepare, mappings: u64) -> Slot {
        Slot { address: self.address(array, slot), engine: self.engine(), prepare, mappings }
    }

    /// Brings a new block to a slot.
    fn bring_new(&self, array: usize, state: &mut Array, slot: u32) -> Result<(), Refusal> {
        let follows = slot.checked_sub(1).is_some_and(|before| state.at(before).is_in_place());
        let cost = match self.mappings {
            Mapped::Not => 0,
            Mapped::Each => Mapped::COST,
            Mapped::Runs => u64::from(!follows) * Mapped::COST,
        };
        // Ahead of the writer a block is overwritten; what it has jumped over is zeros.
        let ahead = slot >= state.lifecycle.written();
        let contents = if ahead { Contents::Leftovers } else { Contents::Zeros };
        // SAFETY: the slot is ours and empty, and the claim keeps others out.
        let id = unsafe { self.pool.take_into(self.slot_at(array, slot, self.prepare, cost), contents) }?;
        state.set(slot, Entry::in_place(id));
        state.held += 1;
        if self.mappings == Mapped::Runs {
            state.runs += cost;
        }
        Ok(())
    }

    /// Makes empty slots ready for blocks (see [`Prepare`]).
    fn prepare(&self, start: usize, len: usize) -> Result<(), Refusal> {
        // SAFETY: our own slots, with nothing in them.
        let ready = unsafe {
            match self.prepare {
                Prepare::Nothing => Ok(()),
                Prepare::Open => map::open(start, len),
                Prepare::DropTables => map::discard(start, len),
            }
        };
        Ok(ready.map_err(|errno| Shortage::of_move(self.pool.engine(), errno))?)
    }

    /// Moves a block from home to its slot, which is ready for it.
    fn put(&self, array: usize, state: &mut Array, slot: u32, id: BlockId) -> Result<(), Refusal> {
        let to = self.slot_at(array, slot, Prepare::Nothing, 0);
        // SAFETY: the block is this array's; the slot is ours and empty, and the claim keeps others out.
        unsafe { self.pool.put(id, to) }?;
        state.set(slot, Entry::in_place(id));
        Ok(())
    }

    /// Sets blocks aside. One that is pinned stays; the reader will pass it unnoticed.
    pub(super) fn set_aside(&self, array: usize, state: &mut Array, slots: Range<u32>) {
        if self.context.is_none() {
            return;
        }
        for slot in slots.clone() {
            let entry = state.at(slot);
            let Some(id) = entry.id().filter(|_| entry.is_in_place()) else { continue };
            let from = self.slot_at(array, slot, Prepare::Nothing, 0);
            // SAFETY: the block is ours, and the claim keeps others out.
            if unsafe { self.pool.fetch(id, from) }.is_ok() {
                state.set(slot, Entry::set_aside(id));
            }
        }
        self.shut(array, state, slots);
    }

    /// Closes slots that are empty, where a touch must find them closed.
    fn shut(&self, array: usize, state: &Array, slots: Range<u32>) {
        if self.prepare != Prepare::Open {
            return;
        }
        let mut from = slots.start;
        for slot in slots.start..=slots.end {
            if slot == slots.end || state.at(slot).is_in_place() {
                if slot > from {
                    let len = (slot - from) as usize * self.block().bytes();
                    // SAFETY: our own slots, with nothing in them.
                    let _ = unsafe { map::shut(self.address(array, from), len) };
                }
                from = slot + 1;
            }
        }
    }

    /// Gives blocks back to the pool, wherever they are, locked or not. A pinned one leaves its memory to the pins.
    pub(super) fn give_back(&self, array: usize, state: &mut Array, slots: Range<u32>) {
        let mappings = if self.mappings == Mapped::Each { Mapped::COST } else { 0 };
        // Last in, first out: the first block is the first to be taken again.
        for slot in slots.rev() {
            let entry = state.at(slot);
            let Some(id) = entry.id() else { continue };
            state.set(slot, Entry::NONE);
            state.held -= 1;
            let mut from = self.slot_at(array, slot, Prepare::Nothing, mappings);
            if entry.is_aside() {
                from.address = self.pool.home(id);
            }
            // SAFETY: the block is ours, and nobody needs its contents.
            unsafe { self.pool.give_back(id, from) };
        }
    }

    /// Ends a round. The first block stays for the next one, if it is wanted and in place.
    pub(super) fn reset(&self, array: usize, keep_first: bool) {
        if !self.pool.is_here() {
            return;
        }
        self.with(array, |state| {
            let Range { start, end } = state.lifecycle.alive();
            let keeps = keep_first && state.at(0).is_in_place();
            self.give_back(array, state, start.max(u32::from(keeps))..end);
            self.shut(array, state, 0..end);
            state.lifecycle.reset(keeps);
            // The first block is the beginning of a run.
            let kept = if keeps { state.runs.min(Mapped::COST) } else { 0 };
            mapping_budget::release(state.runs - kept);
            state.runs = kept;
        });
    }

    /// A refusal as an error.
    pub(super) fn error(&self, refusal: Refusal) -> RewireError {
        match refusal {
            Refusal::Shortage(shortage) => self.pool.error(shortage),
            Refusal::Misuse(_) => {
                let blocks = self.stride - 1;
                RewireError::new(RewireErrorKind::Full, format_args!("{blocks} blocks of {}", self.block()))
            }
        }
    }

    /// Gives the addresses back.
    ///
    /// # Safety
    /// Nothing refers to them, the arrays are empty, and this is the last call.
    pub(super) unsafe fn unmap(&self) {
        // SAFETY: the caller's contract.
        unsafe { self.range.unmap() };
    }
}
