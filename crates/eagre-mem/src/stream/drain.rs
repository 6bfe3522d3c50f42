//! What a pointer gets after its stream has failed: throw-away pages, or poison.
//!
//! The code on the pointer knows nothing of the failure. Draining lets it run to its end against memory that costs
//! nothing: chunks of zero pages, of which an end keeps the last two (an instruction may straddle them) and gives up
//! older ones. They do not come from the pool, which may be the very thing that ran out.

use super::core::Core;
use crate::mover::Engine;
use crate::sys::Errno;
use crate::trap::End;
use std::sync::atomic::Ordering::*;

impl Core {
    /// Puts throw-away memory behind `address`, which lies in the range of `end`.
    pub(crate) fn drain(&self, end: End, address: usize) -> Result<(), Errno> {
        let Some(ranges) = &self.ranges else { return Err(Errno::NOSYS) };
        let start = ranges.of[end as usize].start();
        let chunk = self.config.block.block_of((address - start) as u64);
        if self.holds(end, chunk) {
            return Ok(());
        }
        let (chunk_start, len) = (self.chunk_start(start, chunk), self.config.block.bytes());
        // SAFETY: a block of our own range that holds nothing of the stream.
        unsafe { self.engine.put_zeros(chunk_start, len, ranges.prepare[end as usize])? };
        let [last, before] = &self.side(end).drained;
        let previous = last.swap(chunk + 1, SeqCst);
        self.stragglers.store(true, SeqCst);
        if previous == chunk + 1 {
            return Ok(());
        }
        let oldest = before.swap(previous, SeqCst);
        if oldest != 0 && oldest != chunk + 1 && oldest != previous && !self.holds(end, oldest - 1) {
            // Locked memory (mlockall) stays. The touch has its page all the same.
            // SAFETY: a block of our own range with throw-away pages; a touch of it drains it anew.
            let _ = unsafe { self.engine.drop_zeros(self.chunk_start(start, oldest - 1), len) };
        }
        Ok(())
    }

    fn chunk_start(&self, start: usize, chunk: u64) -> usize {
        start + self.config.block.start_of(chunk) as usize
    }

    /// Whether a real block of the stream is at its address in this end's range.
    fn holds(&self, end: End, block: u64) -> bool {
        Some(self.address(block)) == self.own_address(end, block)
    }

    /// Makes the page at `address` an error to touch. Pager only: there a waiting system call gets `EFAULT`.
    pub(crate) fn poison(&self, address: usize) {
        let Engine::Move(uffd) = self.engine else { return };
        let page = address & !(crate::units::PAGE - 1);
        // SAFETY: a page of our own range that holds nothing of the stream, or the touch would not have stopped.
        let _ = unsafe { uffd.poison(page, crate::units::PAGE) };
        uffd.wake(page, crate::units::PAGE);
    }
}
