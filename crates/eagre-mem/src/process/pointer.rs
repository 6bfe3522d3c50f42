//! The addresses of a pointer end.
//!
//! Each block of memory is mapped at one address of the range: that of the block of the stream that was last in it.
//! When this end takes block `i`, the mapping moves there from the address of block `i - K`, page tables and all
//! (`mremap`), which is closed for good:
//!
//! ```text
//!      gone           behind the window    window         nothing
//!  ├───────────────┼────────────────────┼──────────┼─────────────────▶
//!    a touch is an   a touch is not       a touch    a touch is a
//!    error           noticed              is free    fault
//!                    └──── K blocks at most ────┘
//! ```
//!
//! No table is filled but in the first two laps, and nobody else's is touched: the other process has its own. The price
//! is that a touch just behind the window is not noticed. It reaches the block it was meant for, because the address is
//! closed before other bytes come into that memory. (Between the two calls of a move another thread that touches the
//! old address, which has no business there, may reach the next block.)
//!
//! # Safety
//! The range belongs to this end. Its pieces are mapped and closed with the end's claim held.

use super::core::{Core, LAPS_WORTH_HUGE_PAGES, Step, access};
use crate::heap::{self, Refused};
use crate::memory::reservation::{self, Reservation};
use crate::mover::Engine;
use crate::options;
use crate::stream::{StreamError, StreamErrorKind};
use crate::sys::shared::{self, Access};
use crate::sys::{Errno, Refusal, facts, map};
use crate::trap::registry::{self, Registration};
use crate::trap::{self, Context, Resolve, Trap};
use crate::units::{BlockSize, Bytes};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering::*};

/// The address space of a pointer if nobody names one, and the least where addresses are short.
const CAPACITY: u64 = 1 << 40;
const LEAST_CAPACITY: u64 = 64 << 20;
/// How many laps of blocks may lie behind as mappings.
const LAPS: u64 = 8;

/// How many bytes a pointer reaches if nobody says. The process that makes the stream decides, for both: a pointer that is shorter at
/// one end would meet its end while the other goes on.
///
/// Where addresses are limited it is a part of them, so that there is room for others. Elsewhere it is tried out what this machine has.
pub(super) fn usual_capacity(block: BlockSize) -> u64 {
    let share = CAPACITY.min(reservation::fair_share().max(LEAST_CAPACITY));
    if let Some(limit) = facts::address_space() {
        return share.min(limit / 16);
    }
    let mut halves = std::iter::successors(Some(share), |bytes| Some(bytes / 2));
    halves.find(|&bytes| bytes <= LEAST_CAPACITY || is_free(bytes, block)).unwrap_or(LEAST_CAPACITY)
}

/// Whether there are addresses for so many bytes.
fn is_free(bytes: u64, block: BlockSize) -> bool {
    let range = Reservation::guarded(length(bytes, block), block);
    // SAFETY: nobody has seen it.
    range.map(|range| unsafe { range.unmap() }).is_ok()
}

/// The length of the range for so many bytes: one more block than they fill, since a zero byte follows the last one.
fn length(bytes: u64, block: BlockSize) -> usize {
    (block.block_of(bytes) + 1) as usize * block.bytes()
}

/// The range of a pointer end.
pub(super) struct Pointer {
    range: Reservation,
    /// In blocks.
    pub(super) capacity: u64,
    /// For each block of memory, one past the number of the block of the stream at whose address it is mapped, or 0.
    mapped: Vec<AtomicU64>,
    /// Below this block there are empty addresses.
    closed: AtomicU64,
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
            let what = format!("addresses for a pointer of {} were refused: {refusal}", Bytes(self.config.capacity));
            match refusal.is_shortage() {
                true => error(StreamErrorKind::OutOfMemory, what).cured_by(
                    "name a smaller capacity in the process that makes the stream, raise `ulimit -v` in this one, or use explicit calls",
                ),
                false => error(StreamErrorKind::System, what),
            }
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

    /// How many bytes a pointer reaches.
    pub(super) fn capacity(&self) -> u64 {
        length(self.config.capacity, self.config.block) as u64 - 1
    }

    /// The same, for an error.
    pub(super) fn capacity_text(&self) -> String {
        let capacity = self.capacity();
        format!("its pointer reaches {capacity} bytes ({})", Bytes(capacity))
    }
}

impl Pointer {
    fn new(core: &Core) -> Result<Pointer, Refusal> {
        let block = core.config.block;
        let slots = || Ok::<_, Refused>(AtomicU64::new(0));
        let mapped = heap::several(core.count() as usize, slots).map_err(Refusal::from)?;
        let length = length(core.config.capacity, block);
        let range = Reservation::guarded(length, block)?;
        let capacity = (length / block.bytes()) as u64;
        Ok(Pointer { range, capacity, mapped, closed: AtomicU64::new(0), drained: Default::default() })
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

    fn slot(&self, block: u64) -> &AtomicU64 {
        &self.mapped[(block % self.mapped.len() as u64) as usize]
    }

    /// This end takes a block: its memory comes to its address, from wherever that was before.
    pub(super) fn take(&self, core: &Core, block: u64) -> Result<(), Step> {
        let (slot, len) = (self.slot(block), core.config.block.bytes());
        let from = slot.load(SeqCst).checked_sub(1).map(|old| self.address(core, old));
        if block >= self.capacity {
            // Beyond the range: for explicit calls only.
            if let Some(from) = from {
                // SAFETY: a block of our own range that the window has left.
                unsafe { map::close(from, len) }.map_err(|errno| core.refused(errno))?;
                slot.store(0, SeqCst);
            }
            return Ok(());
        }
        let to = self.address(core, block);
        // SAFETY: two blocks of our own range: the window has left one, and has not come to the other.
        let moved = from.map(|from| unsafe {
            map::move_mapping(from, to, len).and_then(|()| shared::set_access(from, len, Access::Closed))
        });
        match moved {
            Some(Ok(())) => {
                slot.store(block + 1, SeqCst);
                core.counters.moved();
            }
            // Kernels before 5.13 do not move shared memory so.
            Some(Err(errno)) if errno != Errno::INVAL => return Err(core.refused(errno)),
            _ => {
                if let Some(from) = from {
                    // SAFETY: as above.
                    unsafe { map::close(from, len) }.map_err(|errno| core.refused(errno))?;
                }
                self.map(core, block)?;
            }
        }
        // Moves take page tables along. Where either end has made the pages huge, they are empty once more.
        let lap = block / core.count();
        if lap == 0 || lap.abs_diff(LAPS_WORTH_HUGE_PAGES) <= 1 {
            // SAFETY: mapped there, and open.
            unsafe { shared::fill_tables(to, len) }.map_err(|errno| core.refused(errno))?;
        }
        self.close(core, (block + 1).saturating_sub(core.count()))
    }

    /// Makes empty addresses of the mappings that moves have left behind, below block `passed`: now and then, since each lap is a
    /// mapping of its own.
    fn close(&self, core: &Core, passed: u64) -> Result<(), Step> {
        let closed = self.closed.load(SeqCst);
        if passed < closed + LAPS * core.count() {
            return Ok(());
        }
        let (from, to) = (self.address(core, closed), self.address(core, passed));
        // SAFETY: all that is in use is ahead of that.
        unsafe {
            map::close(from, to - from).map_err(|errno| core.refused(errno))?;
            self.range.trim(core.config.block.start_of(passed));
        }
        self.closed.store(passed, SeqCst);
        Ok(())
    }

    fn map(&self, core: &Core, block: u64) -> Result<(), Step> {
        let index = (block % core.count()) as usize;
        // SAFETY: a block of our own range where nothing is yet, or throw-away pages.
        let mapped = unsafe { core.blocks.map(index..index + 1, self.address(core, block), access(core.end)) };
        mapped.map_err(|errno| core.refused(errno))?;
        self.slot(block).store(block + 1, SeqCst);
        Ok(())
    }

    /// Sees to it that a block of the window is there: it is not if it was taken before there was a pointer, and pages of it are
    /// not where the other process has punched a hole.
    pub(super) fn open(&self, core: &Core, block: u64) -> Result<(), Step> {
        if !self.is_mapped(block) {
            self.map(core, block)?;
        }
        // SAFETY: mapped there, and open.
        let filled = unsafe { shared::fill_tables(self.address(core, block), core.config.block.bytes()) };
        filled.map_err(|errno| core.refused(errno))
    }

    fn is_mapped(&self, block: u64) -> bool {
        self.slot(block).load(SeqCst) == block + 1
    }

    /// Puts throw-away memory behind an address of a stream that has failed. Called with the claim held.
    pub(super) fn drain(&self, core: &Core, offset: u64) -> Result<(), Errno> {
        let chunk = core.config.block.block_of(offset);
        if self.is_mapped(chunk) {
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
