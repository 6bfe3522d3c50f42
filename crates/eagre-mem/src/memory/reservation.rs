//! A reservation: addresses with nothing behind them, aligned to blocks.

use crate::sys::{Errno, map};
use crate::units::BlockSize;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};

/// Behind the window, addresses are closed for good in pieces of this size, aligned to it in the address space: exactly
/// what one table of huge pages maps, so that the kernel can free the table. (It keeps one that reaches into a
/// neighbour.)
const TRIM: usize = 1 << 30;
/// How far ahead a reservation is opened where it cannot be opened all at once.
const OPEN_STEP: usize = 256 << 20;

/// How many addresses reservations may take together before new ones become modest: three quarters of what a process
/// has on x86-64 with four levels of tables. The rest is for everybody else.
const BUDGET: u64 = 96 << 40;
/// What they take now, in this process and, after a fork, in its parent.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// What one more reservation of no particular length should take at most, so that many of them, and the rest of the
/// process, find room.
pub(crate) fn fair_share() -> u64 {
    BUDGET.saturating_sub(TAKEN.load(Relaxed)) / 64
}

/// A range of addresses that belongs to one end of a stream.
#[derive(Debug)]
pub(crate) struct Reservation {
    start: usize,
    len: usize,
    align: usize,
    /// Everything below this offset is open or was.
    opened: AtomicUsize,
    /// Everything below this offset is closed for good.
    trimmed: AtomicU64,
}

impl Reservation {
    /// Reserves `len` bytes. `len` is a multiple of the block size.
    pub(crate) fn new(len: usize, block: BlockSize) -> Result<Reservation, Errno> {
        Reservation::aligned(len, block.bytes())
    }

    /// Reserves `len` bytes from a multiple of `align`, a power of two and at least a page.
    pub(crate) fn aligned(len: usize, align: usize) -> Result<Reservation, Errno> {
        let start = map::reserve(len, align)?;
        TAKEN.fetch_add(len as u64, Relaxed);
        Ok(Reservation { start, len, align, opened: AtomicUsize::new(0), trimmed: AtomicU64::new(0) })
    }

    #[inline]
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.start) < self.len
    }

    /// Opens the whole range at once. False where the system would count every byte of it as memory (overcommit 2).
    pub(crate) fn open_all(&self) -> bool {
        // SAFETY: the range is ours.
        let open = unsafe { map::open(self.start, self.len) }.is_ok();
        if open {
            self.opened.store(self.len, Release);
        }
        open
    }

    /// Asks for huge pages in the range: there, reading what is missing leaves no page table behind.
    pub(crate) fn want_huge(&self) {
        // SAFETY: the range is ours.
        unsafe { map::want_huge(self.start, self.len) };
    }

    /// Sees to it that the range is open for a good way beyond `offset`.
    #[inline]
    pub(crate) fn open_ahead(&self, offset: usize) -> Result<(), Errno> {
        let opened = self.opened.load(Acquire);
        let wanted = (offset + OPEN_STEP / 2).min(self.len);
        if wanted <= opened {
            return Ok(());
        }
        let until = (wanted + OPEN_STEP / 2).min(self.len);
        // SAFETY: the range is ours.
        unsafe { map::open(self.start + opened, until - opened)? };
        self.opened.store(until, Release);
        Ok(())
    }

    /// Whether `offset` lies ahead of what has been opened.
    pub(crate) fn is_closed_ahead(&self, offset: usize) -> bool {
        offset >= self.opened.load(Acquire)
    }

    /// Closes what lies below `offset` for good, in large pieces, so that page tables stay bounded however long the
    /// stream. Cheap when there is nothing to do.
    ///
    /// # Safety
    /// Nothing below `offset` is in use: blocks there have moved on.
    #[inline]
    pub(crate) unsafe fn trim(&self, offset: u64) {
        let trimmed = self.trimmed.load(Relaxed);
        let passed = self.start + (offset as usize).min(self.len);
        let until = (passed / TRIM * TRIM).saturating_sub(self.start) as u64;
        if until > trimmed {
            // SAFETY: inside our range; the caller says nothing there is in use.
            if unsafe { map::close(self.start + trimmed as usize, (until - trimmed) as usize) }.is_ok() {
                self.trimmed.store(until, Relaxed);
            }
        }
    }

    /// Gives the addresses back.
    ///
    /// # Safety
    /// Nothing refers to them, and this is the last use of the reservation.
    pub(crate) unsafe fn unmap(&self) {
        // SAFETY: the caller's contract. An error would mean a wrong range, which `new` excludes.
        let _ = unsafe { map::unmap(self.start, self.len, self.align) };
        TAKEN.fetch_sub(self.len as u64, Relaxed);
    }
}
