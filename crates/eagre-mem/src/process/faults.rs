//! What happens when a pointer of an end is touched. Code here runs in signal handlers, by the rules at the top of
//! `crate::trap`.

use super::core::{Core, Touching};
use super::wait::Missed;
use crate::stream::StreamErrorKind;
use crate::stream::error::Failure;
use crate::sys::report::Line;
use crate::trap::{Answer, End, Resolve};
use std::sync::atomic::Ordering::*;

impl Core {
    fn resolve(&self, address: usize) -> Answer {
        let Some(pointer) = self.pointer.get() else { return Answer::Fatal };
        let Some(offset) = pointer.offset(address) else {
            self.report_before(pointer.start() - address);
            return Answer::Fatal;
        };
        let block = self.config.block.block_of(offset);
        self.counters.fault();
        let _claimed = self.claim.take();
        let failure = match self.bring_claimed(Touching { block, own: true, zero: false }) {
            Ok(()) => return Answer::Resolved,
            Err(Missed::Failed(failure)) => failure,
            Err(Missed::Behind) => {
                self.report_behind(offset);
                return Answer::Fatal;
            }
            Err(Missed::PastEnd) => {
                let failure: Failure = (StreamErrorKind::PastEnd, self.end).into();
                self.fail(failure);
                failure
            }
        };
        // The code on the pointer knows nothing of the failure, and runs to its end.
        if failure.kind != StreamErrorKind::Forked && pointer.drain(self, offset).is_ok() {
            return Answer::Resolved;
        }
        Answer::Fatal
    }

    fn start_line(&self) -> Line {
        let mut line = Line::new();
        line.text("eagre: stream ").text(&self.config.name).text(if self.end == End::Writer {
            ": write "
        } else {
            ": read "
        });
        line
    }

    /// Says once that a fault which goes on to others was close to the range.
    fn report_near_miss(&self, address: usize) {
        let Some(pointer) = self.pointer.get() else { return };
        let end = pointer.start() + self.config.block.start_of(pointer.capacity) as usize;
        if address < end || self.reported_near.swap(true, SeqCst) {
            return;
        }
        Line::new()
            .text("eagre: a fault ")
            .number((address - end) as u64 + 1)
            .text(" bytes past the capacity of stream ")
            .text(&self.config.name)
            .text(" is outside of its addresses and goes on to whoever handles it; if it came of the ")
            .text(if self.end == End::Writer { "writer" } else { "reader" })
            .text("'s pointer, open it with a larger capacity, or stop at the end of the stream")
            .send();
    }

    fn report_before(&self, bytes: usize) {
        if !self.reported.swap(true, SeqCst) {
            self.start_line()
                .number(bytes as u64)
                .text(
                    " bytes before byte 0; a pointer of a stream has nothing in front of it: look for a negative index",
                )
                .send();
        }
    }

    /// Says once, in one line, that a pointer was touched behind its window, and what to do about it.
    fn report_behind(&self, offset: u64) {
        if self.reported.swap(true, SeqCst) {
            return;
        }
        let next = self.taken.load(SeqCst);
        let oldest = next.saturating_sub(self.behind() + 1);
        self.start_line()
            .text("at offset ")
            .number(offset)
            .text(": outside the window, bytes ")
            .number(self.config.block.start_of(oldest))
            .text(" to ")
            .number(self.config.block.start_of(next))
            .text(match self.end {
                End::Writer => "; copy with copy_in, or widen the window with rewrite(L)",
                End::Reader => "; widen the window with lookback(M)",
            })
            .send();
    }
}

// SAFETY: `resolve` reaches `step`, `wait`, `drain` and the reports: atomics, a claim that only faults and this end's calls hold,
// system calls, and lines built on the stack. Nothing there allocates or takes a mutex.
unsafe impl Resolve for Core {
    fn touch(&self, _end: End, address: usize) -> Answer {
        self.resolve(address)
    }

    fn report_near(&self, _end: End, address: usize) {
        self.report_near_miss(address);
    }

    fn touch_from_pager(&self, _end: End, _address: usize) -> Answer {
        // Never registered with the pager's userfaultfd.
        Answer::Fatal
    }
}
