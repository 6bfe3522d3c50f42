//! What happens when a growing buffer is touched. Code here runs in signal handlers and in the pager, by the rules at
//! the top of `crate::trap`.

use super::backing::Backing;
use crate::sys::Errno;
use crate::sys::report::Line;
use crate::trap::{Answer, Context, End, Resolve};
use std::sync::atomic::Ordering::*;

impl Backing {
    /// Resolves the touch of an address: a block, or, once that has failed, throw-away pages.
    fn resolve(&self, address: usize) -> Answer {
        let Some(offset) = address.checked_sub(self.range.start()) else {
            self.report_before(address);
            return Answer::Fatal;
        };
        let index = self.block().block_of(offset as u64) as usize;
        if self.failure.load(SeqCst) == 0 {
            match self.bring(index) {
                Ok(()) => return Answer::Resolved,
                Err(shortage) => {
                    let _ = self.failure.compare_exchange(0, shortage.word(), SeqCst, SeqCst);
                }
            }
        }
        if self.drain(index).is_ok() { Answer::Resolved } else { Answer::Fatal }
    }

    /// Says once that the buffer was touched in front of its first byte.
    fn report_before(&self, address: usize) {
        if !self.reported.swap(true, SeqCst) {
            Line::new()
                .text("eagre: growing buffer: touched ")
                .number((self.range.start() - address) as u64)
                .text(" bytes before byte 0; it has nothing in front of it: look for a negative index")
                .send();
        }
    }

    /// Puts throw-away pages into a slot; the last two such slots keep theirs, an instruction may need both.
    fn drain(&self, index: usize) -> Result<(), Errno> {
        let _one_at_a_time = self.claim.take();
        if self.holds(index) {
            return Ok(());
        }
        let len = self.block().bytes();
        // SAFETY: a slot of our own range without a block.
        unsafe { self.engine().put_zeros(self.address(index), len, self.prepare)? };
        let [last, before] = &self.drained;
        let this = index as u64 + 1;
        let previous = last.load(SeqCst);
        if previous != this {
            let oldest = before.swap(previous, SeqCst);
            last.store(this, SeqCst);
            if oldest != this {
                self.drop_zeros(oldest);
            }
        }
        Ok(())
    }

    /// Takes the throw-away pages of a chunk away again; `chunk` is one more than its number, or 0 for none.
    pub(super) fn drop_zeros(&self, chunk: u64) {
        let Some(index) = chunk.checked_sub(1) else { return };
        // SAFETY: throw-away pages are in a slot without a block; a touch of it drains it anew.
        let _ = unsafe { self.engine().drop_zeros(self.address(index as usize), self.block().bytes()) };
    }
}

// SAFETY: `resolve` reaches the claim (a futex), the pool's stacks and memory system calls: nothing that allocates, or
// that user code may hold.
unsafe impl Resolve for Backing {
    fn touch(&self, _end: End, address: usize) -> Answer {
        // Beside the pager, a signal means what it does elsewhere, but for the guard in front, which it does not watch.
        if !matches!(self.context, Context::Signal(_)) && address >= self.range.start() {
            return Answer::Fatal;
        }
        self.resolve(address)
    }

    fn touch_from_pager(&self, _end: End, address: usize) -> Answer {
        let answer = self.resolve(address);
        // SAFETY: a page of our own range, which is registered.
        unsafe { self.context.wake(address, answer) };
        answer
    }
}
