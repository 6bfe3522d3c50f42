//! The addresses of a pointer end.
//!
//! The range is mapped a *lap* at a time: all `K` blocks in order, closed. The touch of a block is a fault; the step opens the
//! block. Behind the window blocks are closed again for good, several at a time:
//!
//! ```text
//!      gone            window    a lap, closed      nothing
//!  ├──────────────┼──┬──┬──────┼──────────────┼──────────────────▶
//!    a touch is an    open      a touch opens   a touch maps a lap
//!    error
//! ```
//!
//! A block behind the window must be closed before other bytes come into the same memory as block `i + K`, and not
//! earlier. So one call closes up to `K - 1 - L` blocks, and what is stored late, within that distance, is not
//! noticed; but it reaches the block it was meant for, never another.
//!
//! # Safety
//! The range belongs to this end. Its pieces are mapped and closed with the end's claim held.

use super::core::{Core, Step, access};
use crate::heap::{self, Refused};
use crate::memory::reservation::{self, Reservation};
use crate::mover::Engine;
use crate::options;
use crate::stream::{StreamError, StreamErrorKind};
use crate::sys::shared::{self, Access};
use crate::sys::{Errno, Refusal, facts, map};
use crate::trap::registry::{self, Registration};
use crate::trap::{self, Context, Resolve, Trap};
use crate::units::Bytes;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering::*};

/// The address space of a pointer, and the least that it opens with.
const CAPACITY: u64 = 1 << 40;
const LEAST_CAPACITY: u64 = 64 << 20;

/// The range of a pointer end.
pub(super) struct Pointer {
    range: Reservation,
    /// In blocks.
    pub(super) capacity: u64,
    /// The laps that are mapped: one past the number of the last even one, and of the last odd one.
    laps: [AtomicU64; 2],
    /// One past the number of the block that is open, for each block of memory.
    opened: Vec<AtomicU64>,
    /// All blocks below this one are closed for good.
    revoked: AtomicU64,
    /// The chunks that got throw-away pages last, one past their numbers.
    drained: [AtomicU64; 2],
}

impl Core {
    /// The pointer to byte 0, with its range made if this is the first time.
    ///
    /// # Errors
    /// [`StreamErrorKind::NoPointer`], [`StreamErrorKind::OutOfMemory`], [`StreamErrorKind::System`].
    pub(super) fn pointer(&self) -> Result<usize, StreamError> {
        let error = |kind, detail: String| StreamError::new(kind, &self.config.name, Some(detail));
        if options::trap::<Trap>().is_ok_and(|trap| trap == Some(Trap::Off)) {
            return Err(StreamError::new(StreamErrorKind::NoPointer, &self.config.name, None));
        }
        let mut registration = self.registration.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(pointer), Some(_)) = (self.pointer.get(), &*registration) {
            return Ok(pointer.range.start());
        }
        let refused = |refusal: Refusal| {
            let kind = if refusal.is_shortage() { StreamErrorKind::OutOfMemory } else { StreamErrorKind::System };
            error(kind, format!("addresses for a pointer were refused: {refusal}"))
        };
        trap::install_handler().map_err(|errno| error(StreamErrorKind::System, errno.to_string()))?;
        if self.pointer.get().is_none() {
            let made = Pointer::new(self).map_err(refused)?;
            let _ = self.pointer.set(made);
        }
        let Some(pointer) = self.pointer.get() else { return Err(error(StreamErrorKind::System, String::new())) };
        let resolver = std::ptr::from_ref(self) as *const dyn Resolve;
        // SAFETY: an end is shared, so that it stays where it is, and ends the registration when it is dropped.
        *registration = unsafe { Registration::new(pointer.range.addresses(), resolver, self.end) };
        match *registration {
            Some(_) => Ok(pointer.range.start()),
            None => Err(error(
                StreamErrorKind::OutOfMemory,
                format!("{} ranges with pointers are in use, or there is no memory", registry::CAPACITY),
            )),
        }
    }

    /// How faults of this end are seen.
    pub(super) fn context(&self) -> Context {
        Context::Signal(None)
    }

    /// How many bytes its pointer reaches, for an error.
    pub(super) fn capacity_text(&self) -> String {
        let capacity = self.pointer.get().map_or(0, |pointer| self.config.block.start_of(pointer.capacity) - 1);
        format!("its pointer reaches {capacity} bytes ({})", Bytes(capacity))
    }
}

impl Pointer {
    fn new(core: &Core) -> Result<Pointer, Refusal> {
        let block = core.config.block;
        let slots = || Ok::<_, Refused>(AtomicU64::new(0));
        let opened = heap::several(core.count() as usize, slots).map_err(Refusal::from)?;
        // One more block than bytes: a zero byte follows the last one.
        let blocks = |bytes: u64| block.block_of(bytes) + 1;
        let limited = facts::address_space().map_or(u64::MAX, |limit| limit / 16);
        let share = reservation::fair_share().max(LEAST_CAPACITY).min(limited);
        let (mut capacity, least) = match core.config.capacity {
            Some(exactly) => (blocks(exactly), blocks(exactly)),
            None => (blocks(CAPACITY.min(share)), blocks(LEAST_CAPACITY.min(share))),
        };
        let range = loop {
            match Reservation::guarded(capacity as usize * block.bytes(), block) {
                Ok(range) => break range,
                Err(refusal) if refusal.is_shortage() && capacity / 2 >= least => capacity /= 2,
                Err(refusal) => return Err(refusal),
            }
        };
        Ok(Pointer {
            range,
            capacity,
            laps: Default::default(),
            opened,
            revoked: AtomicU64::new(0),
            drained: Default::default(),
        })
    }

    /// The block that an address lies in. `None`: it lies in the guard before the first one.
    pub(super) fn offset(&self, address: usize) -> Option<u64> {
        address.checked_sub(self.range.start()).map(|offset| offset as u64)
    }

    pub(super) fn start(&self) -> usize {
        self.range.start()
    }

    fn address(&self, core: &Core, block: u64) -> usize {
        self.range.start() + core.config.block.start_of(block) as usize
    }

    fn is_open(&self, block: u64) -> bool {
        self.opened[(block % self.opened.len() as u64) as usize].load(SeqCst) == block + 1
    }

    /// Opens a block that this end holds. Called again for one that is open, it sees to it that its pages are there.
    pub(super) fn open(&self, core: &Core, block: u64) -> Result<(), Step> {
        let (address, len, access) = (self.address(core, block), core.config.block.bytes(), access(core.end));
        if !self.is_open(block) {
            self.map_lap(core, block).map_err(|errno| core.refused(errno))?;
            // SAFETY: a block of a lap of our own range, which is mapped.
            unsafe { shared::set_access(address, len, access) }.map_err(|errno| core.refused(errno))?;
            self.opened[(block % core.count()) as usize].store(block + 1, SeqCst);
        }
        // SAFETY: as above, and open now.
        unsafe { shared::fill_tables(address, len) }.map_err(|errno| core.refused(errno))
    }

    /// Maps the lap of a block, closed, unless it is.
    fn map_lap(&self, core: &Core, block: u64) -> Result<(), Errno> {
        let count = core.count();
        let lap = block / count;
        let mapped = &self.laps[(lap % 2) as usize];
        if mapped.load(SeqCst) != lap + 1 {
            let blocks = count.min(self.capacity - lap * count);
            // SAFETY: addresses of our own range where nothing is yet, or throw-away pages.
            unsafe { core.blocks.map(0..blocks as usize, self.address(core, lap * count), Access::Closed)? };
            mapped.store(lap + 1, SeqCst);
        }
        Ok(())
    }

    /// Before block `next` comes into the memory of an earlier one: closes what the window has left behind, if the earlier
    /// one has not been closed yet.
    pub(super) fn revoke(&self, core: &Core, next: u64) -> Result<(), Step> {
        let revoked = self.revoked.load(SeqCst);
        if next < core.count() || next - core.count() < revoked {
            return Ok(());
        }
        let until = next.saturating_sub(core.behind()).min(self.capacity);
        if until <= revoked {
            return Ok(());
        }
        let (from, to) = (self.address(core, revoked), self.address(core, until));
        // SAFETY: blocks of our own range that the window has left.
        unsafe { map::close(from, to - from) }.map_err(|errno| core.refused(errno))?;
        self.revoked.store(until, SeqCst);
        // SAFETY: nothing is there any more.
        unsafe { self.range.trim(core.config.block.start_of(until)) };
        Ok(())
    }

    /// Puts throw-away memory behind an address of a stream that has failed. Called with the claim held.
    pub(super) fn drain(&self, core: &Core, offset: u64) -> Result<(), Errno> {
        let chunk = core.config.block.block_of(offset);
        if chunk >= self.revoked.load(SeqCst) && self.is_open(chunk) {
            return Ok(());
        }
        let len = core.config.block.bytes();
        let [last, before] = &self.drained;
        let previous = last.load(SeqCst);
        if previous == chunk + 1 {
            return Ok(());
        }
        // SAFETY: a block of our own range that holds nothing of the stream.
        unsafe { Engine::Remap.put_zeros(self.address(core, chunk), len, crate::mover::Prepare::Nothing)? };
        last.store(chunk + 1, SeqCst);
        let oldest = before.swap(previous, SeqCst);
        // An instruction may need the last two.
        if oldest != 0 && oldest != chunk + 1 {
            // SAFETY: throw-away pages in our own range; a touch of them drains it anew.
            let _ = unsafe { Engine::Remap.drop_zeros(self.address(core, oldest - 1), len) };
        }
        Ok(())
    }

    /// Gives the addresses back. The last use.
    pub(super) fn unmap(&self) {
        // SAFETY: withdrawn from the registry; no pointer outlives its end.
        unsafe { self.range.unmap() };
    }
}
