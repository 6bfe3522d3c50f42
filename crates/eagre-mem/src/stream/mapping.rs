//! Streams whose blocks are mapped where they are needed (the mover `map`).
//!
//! The blocks stay at home in their pool. What moves is which addresses show them: block `i` of the stream is in slot `i mod K`, so
//! the addresses of an end are mapped ahead, a few *laps* of K blocks at a time, closed. A touch opens its block.
//!
//! ```text
//!                     closed withdrawn   opened          ahead
//!  addresses   ──────────┼──────┼──────────┼───────────────┼──────────▶
//!               nothing  │ shut │ open, or │ mapped, and   │ nothing
//!               any more │      │ behind   │ never opened  │ yet
//! ```
//!
//! To take addresses back interrupts the other processor, which costs more than all the rest. So blocks that have left a window
//! keep their addresses for a while: those of both ends are *withdrawn* together, when the writer comes to a slot whose last
//! block it can still reach. Two rules make that safe. The writer gets a slot only after its own mapping of the slot's last block is
//! shut: a late store reaches the block that it was meant for, and never another one. And all are shut before blocks go back to
//! the pool. A late load may see newer bytes: those of the block that the slot holds now.
//!
//! # Safety
//! The rules of `super::core`: an end opens only blocks that it holds, at its own addresses for them.

use super::core::{Core, Step, Touching};
use crate::memory::slot::Shortage;
use crate::sys::shared::{self, Access};
use crate::sys::{Errno, map};
use crate::trap::End;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::*};

/// How many laps are mapped ahead at once. Each is a mapping, if its blocks are neighbours in the pool.
const LAPS: u64 = 6;
/// A stream that comes round so often is worth huge pages, where its memory has none from the start: they take milliseconds each,
/// once.
const LAPS_WORTH_HUGE_PAGES: u64 = 8;

/// Which addresses of an end show blocks: the marks above, in blocks.
#[derive(Debug, Default)]
pub(crate) struct Mapped {
    closed: AtomicU64,
    withdrawn: AtomicU64,
    opened: AtomicU64,
    ahead: AtomicU64,
    /// All from here to `ahead` is mapped; below, what pointers have touched.
    first: AtomicU64,
}

impl Mapped {
    /// Nothing is mapped below this block any more.
    pub(super) fn closed(&self) -> u64 {
        self.closed.load(Relaxed)
    }

    /// Blocks that may be reached.
    fn open(&self) -> Range<u64> {
        self.withdrawn.load(Relaxed)..self.opened.load(SeqCst)
    }
}

impl Core {
    /// Opens `block` at its own address `to`, if `touching` needs it there.
    pub(super) fn map_to_end(&self, touching: Touching, block: u64, to: usize) -> Result<(), Step> {
        if !touching.own {
            self.set_address(block, self.pool.home(self.block_in(block)));
            return Ok(());
        }
        let side = self.side(touching.end);
        let opened = self.map_ahead(touching.end, block).and_then(|()| {
            let len = self.config.block.bytes();
            // Readers may write to their window, as with every mover.
            // SAFETY: the end holds the block, and `to` is its own address for it, where it is mapped.
            unsafe {
                shared::set_access(to, len, Access::ReadWrite)?;
                // The touch does the same for a huge page, and does not wait for the other end's calls as this one would.
                if self.pool.homes().is_huge(self.block_in(block)) { Ok(()) } else { shared::fill_tables(to, len) }
            }
        });
        opened.map_err(|errno| self.not_mapped(errno))?;
        side.mapped.opened.fetch_max(block + 1, SeqCst);
        self.set_address(block, to);
        side.counters.moved();
        Ok(())
    }

    fn not_mapped(&self, errno: Errno) -> Step {
        Shortage::of_move(self.engine, errno).into()
    }

    /// Sees to it that `block`, which the end holds, is mapped at the end's address for it.
    fn map_ahead(&self, end: End, block: u64) -> Result<(), Errno> {
        let (Some(ranges), mapped) = (&self.ranges, &self.side(end).mapped) else { return Ok(()) };
        let (first, ahead) = (mapped.first.load(Relaxed), mapped.ahead.load(Relaxed));
        if (first..ahead).contains(&block) {
            return Ok(());
        }
        // In the first lap the other slots may have no blocks yet. One that only explicit calls have used so far lies behind.
        let count = self.config.windows.blocks();
        let until = match block < count || block < first {
            true => block + 1,
            false => (block + LAPS * count).min(self.config.capacity),
        };
        let address = |block: u64| ranges.of[end as usize].start() + self.config.block.start_of(block) as usize;
        let mut from = block;
        while from < until {
            let id = self.block_in(from);
            let mut next = from + 1;
            while next < until && u64::from(self.block_in(next)) == u64::from(id) + (next - from) {
                next += 1;
            }
            // SAFETY: the end's own addresses, which show nothing yet, or throw-away pages.
            unsafe { self.pool.homes().map(id, (next - from) as usize, address(from))? };
            from = next;
        }
        // SAFETY: as above.
        unsafe {
            map::unlock(address(block), address(until) - address(block));
            shared::keep_out(address(block), address(until) - address(block))?;
        }
        if block > ahead {
            mapped.first.store(block, Relaxed);
        }
        mapped.ahead.store(ahead.max(until), Relaxed);
        Ok(())
    }

    /// The writer is about to take block `next` into a slot that has been used before: withdraws what has left the windows, if
    /// the writer could still reach the slot's last block, or the reader as many as there are.
    pub(super) fn withdraw_in_time(&self, next: u64) -> Result<(), Step> {
        let count = self.config.windows.blocks();
        let [writer, reader] = self.sides.each_ref().map(|side| side.mapped.open());
        let flow = self.flow.load();
        let writer_reaches = writer.contains(&next.saturating_sub(count));
        let reader_reaches = !reader.is_empty() && flow.released >= reader.start + count - 1;
        if writer_reaches || reader_reaches {
            self.withdraw([flow.published, flow.released]).map_err(|errno| self.not_mapped(errno))?;
        }
        if next >= LAPS_WORTH_HUGE_PAGES * count {
            self.pool.homes().make_huge(self.block_in(next));
        }
        Ok(())
    }

    /// Shuts the addresses of the blocks below `until` at each end.
    fn withdraw(&self, until: [u64; 2]) -> Result<(), Errno> {
        let Some(ranges) = &self.ranges else { return Ok(()) };
        let behind = End::BOTH.map(|end| {
            let open = self.side(end).mapped.open();
            let to = until[end as usize].min(open.end).max(open.start);
            let [from, to] = [open.start, to]
                .map(|block| ranges.of[end as usize].start() + self.config.block.start_of(block) as usize);
            from..to
        });
        // It only saves interrupts: what it cannot do (locked memory), closing does.
        // SAFETY: addresses that have left the windows, which show blocks or nothing.
        let _ = unsafe { shared::empty_tables(&behind) };
        for (end, addresses) in End::BOTH.into_iter().zip(behind) {
            let mapped = &self.side(end).mapped;
            if !addresses.is_empty() {
                // SAFETY: as above.
                unsafe { shared::set_access(addresses.start, addresses.len(), Access::Closed)? };
            }
            let withdrawn = mapped.withdrawn.fetch_max(until[end as usize], Relaxed).max(until[end as usize]);
            if withdrawn >= mapped.closed() + LAPS / 2 * self.config.windows.blocks() {
                self.close(end, withdrawn)?;
            }
        }
        Ok(())
    }

    /// Makes the addresses below `until` what they were before anything was mapped there: now and then, since each lap is a
    /// mapping of its own.
    fn close(&self, end: End, until: u64) -> Result<(), Errno> {
        let (Some(ranges), mapped) = (&self.ranges, &self.side(end).mapped) else { return Ok(()) };
        let until = until.min(mapped.ahead.load(Relaxed));
        let [from, to] = [mapped.closed(), until].map(|block| self.config.block.start_of(block) as usize);
        if from < to {
            // SAFETY: the end's own addresses, which nobody may use any more.
            unsafe { map::close(ranges.of[end as usize].start() + from, to - from)? };
            mapped.closed.store(until, Relaxed);
        }
        Ok(())
    }

    /// Withdraws and closes all that pointers could reach. What is mapped ahead is closed as it is; a thread that was let go may have a
    /// throw-away page there.
    pub(super) fn withdraw_all(&self) -> Result<(), Errno> {
        let opened = self.sides.each_ref().map(|side| side.mapped.open().end);
        self.withdraw(opened)?;
        End::BOTH.into_iter().zip(opened).try_for_each(|(end, until)| self.close(end, until))
    }
}
