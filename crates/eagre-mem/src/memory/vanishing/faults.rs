//! What happens when a vanishing array is touched. Code here runs in signal handlers and in the pager, by the rules at the
//! top of `crate::trap`.

use super::backing::{Backing, Outside, Refusal};
use super::lifecycle::Misuse;
use crate::memory::error::RewireErrorKind;
use crate::memory::slot::Shortage;
use crate::sys::report::Line;
use crate::trap::{Answer, Context, End, Resolve};
use std::sync::atomic::Ordering::*;

impl Backing {
    fn resolve(&self, address: usize) -> Answer {
        if let Some(outside) = self.outside(address) {
            self.report_outside(outside);
            return Answer::Fatal;
        }
        let (array, offset) = self.locate(address);
        match self.arrive(array, self.block().block_of(offset) as u32) {
            Ok(()) => Answer::Resolved,
            Err(refusal) => {
                self.report(array, offset, refusal);
                Answer::Fatal
            }
        }
    }

    /// Says once that no array is where the touch was.
    fn report_outside(&self, outside: Outside) {
        if self.reported.swap(true, SeqCst) {
            return;
        }
        let (bytes, slot) = match outside {
            Outside::Before(bytes) => (bytes, " bytes before its first value; look for a negative index"),
            Outside::After(bytes) => (bytes, " bytes past the limit it was made with; make it with a higher one"),
        };
        Line::new().text("eagre: vanishing array: touched ").number(bytes as u64).text(slot).send();
    }

    /// Says once, in one line, what the touch did wrong or what it lacked.
    fn report(&self, array: usize, offset: u64, refusal: Refusal) {
        if self.reported.swap(true, SeqCst) {
            return;
        }
        let block = self.block().bytes() as u64;
        let alive = self.with(array, |state| state.lifecycle.alive());
        let mut line = Line::new();
        line.text("eagre: vanishing array");
        if self.count() > 1 {
            line.text(" ").number(array as u64);
        }
        line.text(": touched at offset ").number(offset - offset.min(self.skew(array) as u64)).text(": ");
        match refusal {
            Refusal::Misuse(Misuse::Consumed) => line
                .text("this was consumed and given back; within reach are bytes ")
                .number(u64::from(alive.start) * block)
                .text(" to ")
                .number(u64::from(alive.end) * block)
                .text(
                    "; functions that look back, and memcpy, which may store its first bytes last, need wider windows: \
                     StreamPool::windows",
                ),
            Refusal::Misuse(Misuse::PastEnd) => line
                .text("past the end: it was finished with ")
                .number(u64::from(alive.end))
                .text(" blocks; reset it before it is written again"),
            Refusal::Misuse(Misuse::PastLimit) => {
                line.text("past the limit it was made with; make it with a higher one")
            }
            Refusal::Shortage(Shortage { kind, errno }) => {
                let (why, cure) = kind.why_and_cure();
                line.text(why);
                match kind {
                    RewireErrorKind::OutOfBlocks => {
                        line.text(", ").number(u64::from(self.pool.budget())).text(" blocks")
                    }
                    _ if errno.0 != 0 => line.text(" (error ").number(errno.0 as u64).text(")"),
                    _ => &mut line,
                };
                line.text("; ").text(cure)
            }
        };
        line.send();
    }
}

// SAFETY: `resolve` reaches the claim (a futex), the pool's stacks, memory system calls, and a line built on the stack:
// nothing that allocates, or that user code may hold.
unsafe impl Resolve for Backing {
    fn touch(&self, _end: End, address: usize) -> Answer {
        // Beside the pager, a signal means what it does elsewhere, but for the guards, which it does not watch.
        if !matches!(self.context, Some(Context::Signal(_))) && self.outside(address).is_none() {
            return Answer::Fatal;
        }
        self.resolve(address)
    }

    fn touch_from_pager(&self, _end: End, address: usize) -> Answer {
        let answer = self.resolve(address);
        if let Some(context) = self.context {
            // SAFETY: a page of our own range, which is registered.
            unsafe { context.wake(address, answer) };
        }
        answer
    }
}
