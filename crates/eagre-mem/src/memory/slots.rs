//! A reservation cut into slots that hold blocks of one pool: the memory of regions and vectors.
//!
//! The table says which block is in which slot. No trap watches these addresses: a touch of an empty slot is an ordinary
//! fault.
//!
//! # Safety
//! Calls change what is behind the addresses. The owner of the slots makes them, and makes sure that no borrow of the
//! bytes concerned is alive.

use super::error::{RewireError, RewireErrorKind};
use super::mapping_budget;
use super::pool::{BlockId, Blocks, Pool};
use super::reservation::{self, Reservation};
use super::slot::{self, Contents, Slot};
use crate::heap::{self, Refused, Shared};
use crate::mover::{Engine, Prepare};
use crate::sys::{Refusal, process};
use crate::trap;
use crate::units::Bytes;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// What a block away from home costs in mappings with `remap`: its own, and the hole it leaves.
const REMAPPED: u64 = 2;
/// The most addresses one set of slots takes.
const MOST_BYTES: u64 = 1 << 46;

/// The slots, and the blocks in them.
pub(crate) struct Slots {
    range: Reservation,
    pool: Shared<Blocks>,
    engine: Engine,
    /// What a slot needs before a block can move in.
    prepare: Prepare,
    /// The block in each slot, up to the last slot that holds one.
    table: Vec<Option<BlockId>>,
    /// Why [`one_more`] has failed.
    failure: Option<RewireError>,
}

impl Slots {
    /// Reserves room for `bytes` bytes, rounded up to whole blocks, at a multiple of `align`.
    pub(crate) fn new(pool: &Pool, bytes: u64, align: usize) -> Result<Slots, RewireError> {
        process::remember();
        let pool = pool.0.clone();
        pool.check_here()?;
        let block = pool.block.bytes() as u64;
        let len = bytes.max(1).checked_next_multiple_of(block).filter(|&len| len <= MOST_BYTES);
        let len = len.ok_or_else(|| {
            let detail = format_args!("{bytes} bytes are more than {}", Bytes(MOST_BYTES));
            RewireError::new(RewireErrorKind::OutOfAddresses, detail)
        })?;
        let engine = Self::engine(&pool)?;
        mapping_budget::claim(1)?;
        let reserved = Reservation::aligned(len as usize, align.max(pool.block.bytes()));
        let prepared = reserved.and_then(|range| match Self::prepare(&range, &pool, engine) {
            Ok(prepare) => Ok((range, prepare)),
            Err(error) => {
                // SAFETY: just made, and nobody has seen it.
                unsafe { range.unmap() };
                Err(error)
            }
        });
        match prepared {
            Ok((range, prepare)) => Ok(Slots { range, pool, engine, prepare, table: Vec::new(), failure: None }),
            Err(error) => {
                mapping_budget::release(1);
                Err(RewireError::from_addresses(len, error))
            }
        }
    }

    /// The engine that brings blocks of a pool to addresses without a trap.
    fn engine(pool: &Blocks) -> Result<Engine, RewireError> {
        pool.check_moves()?;
        let Engine::Move(_) = pool.engine() else { return Ok(pool.engine()) };
        let no_descriptor = || RewireError::new(RewireErrorKind::NoPool, "no userfaultfd that moves pages");
        let uffd = trap::unwatched_uffd().map_err(|errno| RewireError::new(RewireErrorKind::System, errno))?;
        uffd.map(Engine::Move).ok_or_else(no_descriptor)
    }

    /// Registers and opens a range. Where the system counts every open byte as memory (overcommit 2), each slot is opened when it
    /// is used.
    fn prepare(range: &Reservation, pool: &Blocks, engine: Engine) -> Result<Prepare, Refusal> {
        if let Some(uffd) = engine.uffd() {
            // SAFETY: our own range.
            unsafe { uffd.register(range.start(), range.len())? };
        }
        if matches!(engine, Engine::Copy) && pool.block.is_huge() {
            range.want_huge();
        }
        // A piece that `mremap` brings is open by itself, and what is empty stays closed. Nobody has touched an empty slot, so no
        // page table is in the way.
        let open = matches!(engine, Engine::Remap) || range.open_all();
        Ok(if open { Prepare::Nothing } else { Prepare::Open })
    }

    /// How many bytes of addresses slots take by default: all that the pool could ever fill, or a fair share of the addresses.
    pub(crate) fn default_bytes(pool: &Pool) -> u64 {
        let all = u64::from(pool.stats().budget) * pool.block_size().bytes() as u64;
        all.min(reservation::fair_share().max(1 << 30))
    }

    #[inline]
    pub(crate) fn start(&self) -> usize {
        self.range.start()
    }

    /// How many slots there are.
    pub(crate) fn count(&self) -> usize {
        self.range.len() / self.block()
    }

    pub(crate) fn block(&self) -> usize {
        self.pool.block.bytes()
    }

    pub(crate) fn pool(&self) -> &Shared<Blocks> {
        &self.pool
    }

    /// Whether this is the process whose memory it is.
    pub(crate) fn is_here(&self) -> bool {
        self.pool.is_here()
    }

    /// The block in a slot.
    pub(crate) fn at(&self, index: usize) -> Option<BlockId> {
        self.table.get(index).copied().flatten()
    }

    /// No slot from this one on holds a block.
    pub(crate) fn used(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn address(&self, index: usize) -> usize {
        self.range.start() + index * self.block()
    }

    /// Takes blocks for the slots that the first `bytes` bytes lie in and that have none, of those behind the last one in
    /// use: with leftovers in them. What it got before an error stays.
    pub(crate) fn fill_up_to(&mut self, bytes: usize) -> Result<(), RewireError> {
        if bytes > self.range.len() {
            return Err(self.full());
        }
        for index in self.used()..bytes.div_ceil(self.block()) {
            self.take_into(index, Contents::Leftovers)?;
        }
        Ok(())
    }

    /// Where a slot is, and what a block in it takes.
    fn slot_at(&self, index: usize) -> Slot {
        let mappings = if matches!(self.engine, Engine::Remap) { REMAPPED } else { 0 };
        Slot { address: self.address(index), engine: self.engine, prepare: self.prepare, mappings }
    }

    /// Takes a block from the pool into an empty slot.
    fn take_into(&mut self, index: usize, contents: Contents) -> Result<(), RewireError> {
        self.check(index)?;
        self.reach(index + 1)?;
        // SAFETY: the slot is ours and empty.
        let taken = unsafe { self.pool.take_into(self.slot_at(index), contents) };
        let id = taken.map_err(|shortage| self.pool.error(shortage))?;
        self.record(index, id);
        Ok(())
    }

    /// Moves a block from home to an empty slot. If that fails, it is still at home.
    ///
    /// # Safety
    /// The block is the caller's, and at home; no borrow of it is alive.
    pub(crate) unsafe fn put(&mut self, index: usize, id: BlockId) -> Result<(), RewireError> {
        self.check(index)?;
        debug_assert!(self.at(index).is_none());
        self.reach(index + 1)?;
        // SAFETY: the caller's contract; the slot is empty.
        unsafe { self.pool.put(id, self.slot_at(index)) }.map_err(|shortage| self.pool.error(shortage))?;
        self.record(index, id);
        Ok(())
    }

    /// Moves the block in a slot home. `None` if there is none; if the move fails, it is still there.
    ///
    /// # Safety
    /// No borrow of the block is alive.
    pub(crate) unsafe fn send_home(&mut self, index: usize) -> Result<Option<BlockId>, RewireError> {
        let Some(id) = self.at(index) else { return Ok(None) };
        self.check(index)?;
        // SAFETY: the block is ours, and the caller's contract.
        unsafe { self.pool.fetch(id, self.slot_at(index)) }.map_err(|shortage| self.pool.error(shortage))?;
        self.clear(index);
        Ok(Some(id))
    }

    /// Gives the block in a slot back to the pool: its memory too, unless it is pinned. Then the pins keep the memory
    /// until they end, and the pool gets new memory for the block.
    ///
    /// # Safety
    /// No borrow of the block is alive, and nobody needs its contents.
    pub(crate) unsafe fn give_back(&mut self, index: usize) {
        let Some(id) = self.at(index) else { return };
        // SAFETY: the block is ours, and the caller's contract.
        unsafe { self.pool.give_back(id, self.slot_at(index)) };
        self.clear(index);
    }

    /// Writes a block into the table, which has room for it.
    fn record(&mut self, index: usize, id: BlockId) {
        if self.table.len() <= index {
            self.table.resize(index + 1, None);
        }
        self.table[index] = Some(id);
    }

    /// Makes room for so many slots in the table. Its capacity never shrinks.
    fn reach(&mut self, slots: usize) -> Result<(), RewireError> {
        let more = slots.saturating_sub(self.table.len());
        self.table.try_reserve(more).map_err(|_| Refused { bytes: more * size_of::<Option<BlockId>>() })?;
        Ok(())
    }

    /// Removes a slot from the table, and the empty ones at its end.
    fn clear(&mut self, index: usize) {
        self.table[index] = None;
        while self.table.last() == Some(&None) {
            self.table.pop();
        }
    }

    /// Moves what `from` holds to the empty slot `to`.
    ///
    /// # Safety
    /// No borrow of the block is alive.
    unsafe fn carry(&mut self, from: usize, to: usize) -> Result<(), RewireError> {
        let Some(id) = self.at(from) else { return Ok(()) };
        // SAFETY: the block is ours, the other slot is empty.
        unsafe { slot::carry(self.engine, self.address(from), self.slot_at(to), self.block()) }
            .map_err(|shortage| self.pool.error(shortage))?;
        self.table[from] = None;
        self.table[to] = Some(id);
        Ok(())
    }

    /// Gives each slot of a cycle what the next one holds, and the last what the first held: one move a block, and one
    /// more for the cycle.
    ///
    /// # Errors
    /// Of a move: the slots then hold the same blocks in some order. If the system refuses even to put back the block that
    /// waits at home, that block goes to the pool.
    ///
    /// # Safety
    /// No borrow of the blocks is alive; the slots are different.
    pub(crate) unsafe fn rotate(&mut self, cycle: &[usize]) -> Result<(), RewireError> {
        let (&[first, ..], &[.., last]) = (cycle, cycle) else { return Ok(()) };
        for &index in cycle {
            self.check(index)?;
        }
        let reach = cycle.iter().fold(0, |reach, &index| reach.max(index + 1));
        self.reach(reach)?;
        self.table.resize(self.table.len().max(reach), None);
        let waiting = self.at(first);
        if let Some(id) = waiting {
            // Its mappings stay claimed until it is in a slot again: another thread could take them meanwhile.
            let unclaimed = Slot { mappings: 0, ..self.slot_at(first) };
            // SAFETY: the block is ours.
            unsafe { self.pool.fetch(id, unclaimed) }.map_err(|shortage| self.pool.error(shortage))?;
            self.table[first] = None;
        }
        // From here on one slot is empty, and its block is on its way or waits at home.
        let (mut empty, mut moved) = (first, Ok(()));
        for &from in &cycle[1..] {
            // SAFETY: the blocks are ours, `empty` is empty.
            moved = unsafe { self.carry(from, empty) };
            if moved.is_err() {
                break;
            }
            empty = from;
        }
        debug_assert!(moved.is_err() || empty == last);
        if let Some(id) = waiting {
            let slot = self.slot_at(empty);
            // SAFETY: as above. It came home a moment ago, so nothing pins it.
            match unsafe { self.pool.put(id, Slot { mappings: 0, ..slot }) } {
                Ok(()) => self.table[empty] = Some(id),
                Err(shortage) => {
                    self.pool.give(id);
                    mapping_budget::release(slot.mappings);
                    return Err(self.pool.error(shortage));
                }
            }
        }
        moved
    }

    fn check(&self, index: usize) -> Result<(), RewireError> {
        self.pool.check_here()?;
        if index < self.count() { Ok(()) } else { Err(self.full()) }
    }

    fn full(&self) -> RewireError {
        let (count, all) = (self.count(), Bytes(self.range.len() as u64));
        RewireError::new(RewireErrorKind::Full, format_args!("{count} blocks of {} ({all})", self.pool.block))
    }

    /// What the last [`one_more`] that returned 0 has to say.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_failure(&mut self) -> RewireError {
        self.failure.take().unwrap_or_else(|| self.full())
    }
}

/// Takes memory for one more element of `size` bytes, for a loop that keeps length and capacity in registers. Returns how
/// many there is memory for then, or 0.
///
/// Of the ABI of C, because such a function does not unwind. So a loop that calls it now and then may keep in registers
/// what an unwinding caller would have to find in memory.
#[cold]
#[inline(never)]
pub(crate) extern "C" fn one_more(slots: &mut Slots, size: usize) -> usize {
    // Elements without a size never lack memory: who asks has as many as can be counted.
    let Some(full) = (slots.used() * slots.block()).checked_div(size) else { return 0 };
    // An element more than there is memory for is at most twice the addresses there are: no overflow.
    match slots.fill_up_to((full + 1) * size) {
        Ok(()) => slots.used() * slots.block() / size,
        Err(error) => {
            slots.failure = Some(error);
            0
        }
    }
}

/// Slots at an address of their own, as in a box. But dropping a box takes a pointer to the box, and a structure to which
/// a pointer leads lies in memory, all of it; dropping this takes a copy of the pointer in it. So the length of a vector
/// can be a register.
pub(crate) struct BoxedSlots(NonNull<Slots>);

impl BoxedSlots {
    pub(crate) fn new(slots: Slots) -> Result<BoxedSlots, Refused> {
        Ok(BoxedSlots(NonNull::from(Box::leak(heap::boxed(slots)?))))
    }

    /// # Safety
    /// Once, for what [`BoxedSlots::new`] made, which nobody uses any more.
    #[inline(never)]
    unsafe fn free(slots: NonNull<Slots>) {
        // SAFETY: the caller's contract.
        drop(unsafe { Box::from_raw(slots.as_ptr()) });
    }
}

impl Deref for BoxedSlots {
    type Target = Slots;
    #[inline]
    fn deref(&self) -> &Slots {
        // SAFETY: ours as long as this lives, and borrowed with it.
        unsafe { self.0.as_ref() }
    }
}

impl DerefMut for BoxedSlots {
    #[inline]
    fn deref_mut(&mut self) -> &mut Slots {
        // SAFETY: as above.
        unsafe { self.0.as_mut() }
    }
}

impl Drop for BoxedSlots {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: made by `new`, and this is the end of it.
        unsafe { BoxedSlots::free(self.0) };
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        if !self.is_here() {
            return;
        }
        // Last in, first out: the first block is the first to be taken again.
        for index in (0..self.table.len()).rev() {
            // SAFETY: the owner is going, and every borrow with it.
            unsafe { self.give_back(index) };
        }
        // SAFETY: as above, and nothing is left in it.
        unsafe { self.range.unmap() };
        mapping_budget::release(1);
    }
}
