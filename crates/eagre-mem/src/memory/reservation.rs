//! A reservation: addresses with nothing behind them, aligned to blocks.
//!
//! A range that pointers reach has a *guard* on either side: addresses of its own that hold nothing, so that a pointer
//! which overshoots meets an owner who can say what happened, and not somebody else's memory.
//!
//! ```text
//!    guard     start            blocks               guard
//!  ├─────────┼──────────────────────────────────────┼─────────┤
//!   closed                       opened as the range is
//! ```
//!
//! The guard in front is never opened: no byte of the range is there. The one behind is treated as more of the range,
//! because code that runs on after a failure may run on there.

use crate::sys::{Errno, Refusal, facts, map};
use crate::units::{BlockSize, PAGE};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};

/// Behind the window, addresses are closed for good in pieces of this size, aligned to it in the address space: exactly
/// what one table of huge pages maps, so that the kernel can free the table. (It keeps one that reaches into a
/// neighbour.)
const TRIM: usize = 1 << 30;
/// How far ahead a reservation is opened where it cannot be opened all at once.
const OPEN_STEP: usize = 256 << 20;
/// The guard on either side where nothing limits a process's addresses: more than a loop goes wrong by unnoticed, and
/// a multiple of every block.
const GUARD: usize = 1 << 30;

/// How many addresses reservations may take together before new ones become modest: three quarters of what a process
/// has on x86-64 with four levels of tables. The rest is for everybody else, and for guards, which are not counted.
const BUDGET: u64 = 96 << 40;
/// What they take now, in this process and, after a fork, in its parent.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// What one more reservation of no particular length should take at most, so that many of them, and the rest of the
/// process, find room.
pub(crate) fn fair_share() -> u64 {
    BUDGET.saturating_sub(TAKEN.load(Relaxed)) / 64
}

/// Gives back addresses that are kept but not needed.
static RECLAIM: OnceLock<fn()> = OnceLock::new();

/// Names the function to call when addresses or mappings are short. The first one counts.
pub(crate) fn when_short(reclaim: fn()) {
    let _ = RECLAIM.set(reclaim);
}

/// Reserves `len` bytes at a multiple of `align`, and before it gives up reclaims those that nobody needs.
///
/// # Errors
/// The call that was refused.
pub(crate) fn reserve(len: usize, align: usize) -> Result<usize, Refusal> {
    map::reserve(len, align).or_else(|refusal| match RECLAIM.get() {
        Some(reclaim) if refusal.is_shortage() => {
            reclaim();
            map::reserve(len, align)
        }
        _ => Err(refusal),
    })
}

/// A range of addresses that belongs to one end of a stream.
#[derive(Debug)]
pub(crate) struct Reservation {
    start: usize,
    /// The guard behind included.
    len: usize,
    align: usize,
    /// The addresses that are still ours: the range and its guards, until it is shrunk.
    held: [AtomicUsize; 2],
    /// How much of `TAKEN` it is.
    counted: AtomicU64,
    /// Everything below this offset is open or was.
    opened: AtomicUsize,
    /// Everything below this offset is closed for good.
    trimmed: AtomicU64,
}

impl Reservation {
    /// Reserves `len` bytes that pointers will reach, with guards. `len` is a multiple of the block size.
    ///
    /// Guards are what is left over: where addresses are limited they are a block each, and none where even that is too
    /// much.
    pub(crate) fn guarded(len: usize, block: BlockSize) -> Result<Reservation, Refusal> {
        let guard = if facts::address_space().is_none() { GUARD } else { block.bytes() };
        Reservation::with_guards(len, block.bytes(), guard).or_else(|refusal| match refusal.is_shortage() {
            true => Reservation::with_guards(len, block.bytes(), 0),
            false => Err(refusal),
        })
    }

    /// Reserves `len` bytes from a multiple of `align`, a power of two and at least a page, without guards.
    pub(crate) fn aligned(len: usize, align: usize) -> Result<Reservation, Refusal> {
        Reservation::with_guards(len, align, 0)
    }

    fn with_guards(len: usize, align: usize, guard: usize) -> Result<Reservation, Refusal> {
        let too_long = Refusal { call: "mmap", errno: Errno::NOMEM };
        let all = len.checked_add(2 * guard).ok_or(too_long)?;
        let first = reserve(all, align)?;
        TAKEN.fetch_add(len as u64, Relaxed);
        Ok(Reservation {
            start: first + guard,
            len: len + guard,
            align,
            held: [first.into(), (first + all).into()],
            counted: (len as u64).into(),
            opened: AtomicUsize::new(0),
            trimmed: AtomicU64::new(0),
        })
    }

    #[inline]
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// The bytes from the start on that may be opened: the guard behind included.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// All addresses that are the range's, the guards included.
    pub(crate) fn addresses(&self) -> Range<usize> {
        let [from, to] = &self.held;
        from.load(Relaxed)..to.load(Relaxed)
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

    /// Makes sure that the range is open for a good way beyond `offset`.
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

    /// Tries whether the kernel has `count` mappings left for what will be in a range that is closed: two for each page
    /// opened in the midst of it.
    ///
    /// # Errors
    /// `ENOMEM`: it has not.
    pub(crate) fn try_mappings(&self, count: usize) -> Result<(), Refusal> {
        let page = |at: usize| self.start + at * PAGE;
        // SAFETY: the range is ours, longer than that, and nobody has seen it.
        unsafe {
            let mut tries = (0..count.div_ceil(2)).map(|at| map::open(page(2 * at + 1), PAGE));
            let tried = tries.try_for_each(|opened| opened).map_err(Refusal::of("mprotect"));
            // Ends what was begun: neighbours become one again.
            tried.and(map::shut(page(0), (count + 2) * PAGE).map_err(Refusal::of("mprotect")))
        }
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

    /// The addresses of the bytes `bytes`, as far as they are still ours.
    pub(crate) fn addresses_of(&self, bytes: Range<usize>) -> Range<usize> {
        let Range { start: from, end: to } = self.addresses();
        let inside = |at: usize| (self.start + at).clamp(from, to);
        inside(bytes.start)..inside(bytes.end)
    }

    /// Gives back all addresses but `keep`, whole pages of ours. What is kept does not count against the addresses of
    /// others any more.
    ///
    /// # Safety
    /// Nothing refers to the rest, and no other call is under way.
    pub(crate) unsafe fn shrink(&self, keep: Range<usize>) {
        let (Range { start: from, end: to }, Range { start: first, end }) = (self.addresses(), keep);
        // Where the kernel has no mapping left to cut one in two, the rest stays as well.
        // SAFETY: our own addresses, and the caller's contract.
        unsafe {
            if first > from && map::unmap(from, first - from, self.align).is_ok() {
                self.held[0].store(first, Relaxed);
            }
            if to > end && map::unmap(end, to - end, self.align).is_ok() {
                self.held[1].store(end, Relaxed);
            }
        }
        TAKEN.fetch_sub(self.counted.swap(0, Relaxed), Relaxed);
    }

    /// Gives the addresses back.
    ///
    /// # Safety
    /// Nothing refers to them, and this is the last use of the reservation.
    pub(crate) unsafe fn unmap(&self) {
        let Range { start, end } = self.addresses();
        // SAFETY: the caller's contract. An error would mean a wrong range, which `new` excludes.
        let _ = unsafe { map::unmap(start, end - start, self.align) };
        TAKEN.fetch_sub(self.counted.swap(0, Relaxed), Relaxed);
    }
}
