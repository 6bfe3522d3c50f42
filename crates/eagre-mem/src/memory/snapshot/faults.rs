//! What happens when a closed block of an array is touched. Code here runs in signal handlers, by the rules at the top of
//! `crate::trap`.

use super::backing::Backing;
use crate::sys::Refusal;
use crate::sys::report::Line;
use crate::trap::{Answer, End, Resolve};
use std::sync::atomic::Ordering::*;

impl Backing {
    /// Says once that a store would have found no memory for its copy.
    #[cold]
    #[inline(never)]
    fn report_no_memory(&self, offset: usize, refusal: Refusal) {
        if !self.reported.swap(true, SeqCst) {
            Line::new()
                .text("eagre: snapshots: no memory to keep the block at byte ")
                .number(offset as u64)
                .text(" for a snapshot (")
                .text(refusal.call)
                .text(": error ")
                .number(refusal.errno.0 as u64)
                .text("); drop snapshots, reserve room for them, or call make_writable, which returns an error")
                .send();
        }
    }

    #[cold]
    #[inline(never)]
    fn report_outside(&self, address: usize) {
        if !self.reported.swap(true, SeqCst) {
            let start = self.range.start();
            let (bytes, where_to) = match address.checked_sub(start) {
                Some(offset) => (offset - self.geometry.len, " bytes behind its end"),
                None => (start - address, " bytes in front of it"),
            };
            Line::new()
                .text("eagre: snapshots: an array was touched ")
                .number(bytes as u64)
                .text(where_to)
                .text(": look for a wrong index")
                .send();
        }
    }
}

// SAFETY: `open` reaches claims (futexes) and system calls on memory: nothing that allocates, or that user code may hold.
unsafe impl Resolve for Backing {
    fn touch(&self, _: End, address: usize) -> Answer {
        if !self.is_here() {
            return Answer::Fatal;
        }
        let offset = address.wrapping_sub(self.range.start());
        if offset >= self.geometry.len {
            self.report_outside(address);
            return Answer::Fatal;
        }
        let block = offset / self.geometry.block;
        match self.open(block..block + 1) {
            Ok(()) => Answer::Resolved,
            Err(refusal) => {
                self.report_no_memory(block * self.geometry.block, refusal);
                Answer::Fatal
            }
        }
    }

    fn touch_from_pager(&self, _: End, _: usize) -> Answer {
        // Never registered with the pager's userfaultfd.
        Answer::Resolved
    }
}
