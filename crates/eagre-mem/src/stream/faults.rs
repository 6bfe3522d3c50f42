//! A stream answers for its addresses: what happens when a pointer is touched.
//!
//! Code here runs in signal handlers and in the pager, by the rules at the top of `crate::trap`.

use super::core::{Core, OnFailure, Step, Touching};
use super::error::{Failure, StreamErrorKind};
use super::wait::Missed;
use crate::sys::futex;
use crate::trap::{Answer, Context, End, Resolve};
use std::sync::atomic::Ordering::*;
use std::time::Duration;

impl Core {
    /// The block that an address lies in. `None`: it lies in the guard before the first one.
    fn block_at(&self, end: End, address: usize) -> Option<u64> {
        let start = self.ranges.as_ref()?.of[end as usize].start();
        Some(self.config.block.block_of(address.checked_sub(start)? as u64))
    }

    /// Records a touch that stopped a thread.
    fn touched(&self, end: End, block: u64) {
        let side = self.side(end);
        side.counters.fault();
        side.touched.fetch_max(block + 1, Relaxed);
    }

    fn pointer_touch(&self, end: End, block: u64, pager: bool) -> Touching {
        Touching { end, block, own: true, zero: false, pager }
    }

    /// What a touch of a failed stream gets, in the faulting thread.
    fn touch_after_failure(&self, end: End, address: usize, failure: Failure) -> Answer {
        if self.config.on_failure == OnFailure::Drain && self.drain(end, address).is_ok() {
            return Answer::Resolved;
        }
        self.report_poison(end, address, failure);
        Answer::Fatal
    }

    /// Resolves, or reports, a touch that became a signal although the trap of its address is the pager.
    fn touch_beside_the_pager(&self, end: End, address: usize) -> Answer {
        let Some(ranges) = &self.ranges else { return Answer::Fatal };
        let range = &ranges.of[end as usize];
        let Some(offset) = address.checked_sub(range.start()) else {
            self.report_outside(end, address);
            return Answer::Fatal;
        };
        if range.is_closed_ahead(offset) && range.open_ahead(offset).is_ok() {
            // A jump beyond what was opened (overcommit 2): now it is a fault for the pager.
            return Answer::Resolved;
        }
        match self.status.failure() {
            _ if self.closed.load(SeqCst) => self.report_stale(end, address),
            Some(failure) => self.report_poison(end, address, failure),
            None => self.report_outside(end, address),
        }
        Answer::Fatal
    }

    /// A step on behalf of a stopped thread. If a signal takes that thread out of its fault in the middle of it, the
    /// thread may find its block there and go on to an explicit call, which must not see half of the step.
    fn step_from_pager(&self, touching: Touching) -> Step {
        let stepping = &self.side(touching.end).stepping;
        stepping.store(true, SeqCst);
        let step = self.step(touching);
        stepping.store(false, SeqCst);
        step
    }

    /// Parks the threads that wait for `block`, if it is still not there.
    fn park(&self, touching: Touching, address: Option<usize>) -> Answer {
        let side = self.side(touching.end);
        if side.parked.fetch_max(touching.block + 1, SeqCst) == 0 {
            self.announce_wait(touching, futex::now());
        }
        self.attempt(touching, address)
    }

    /// One attempt for parked threads; keeps them parked if it fails.
    fn attempt(&self, touching: Touching, address: Option<usize>) -> Answer {
        loop {
            let answer = self.attempt_once(touching, address);
            let stays = matches!(answer, Answer::Parked | Answer::ParkedBriefly);
            // Announced from here on: whoever changes anything rings. What changed before that is seen by looking again.
            if !stays || !self.side(touching.end).gate.park() {
                return answer;
            }
        }
    }

    fn attempt_once(&self, touching: Touching, address: Option<usize>) -> Answer {
        let side = self.side(touching.end);
        if self.status.failure().is_some() {
            return self.unpark(touching.end, address);
        }
        let since = side.waits_since.load(Relaxed);
        match self.step_from_pager(touching) {
            Step::Ready => self.unpark(touching.end, address),
            Step::Wait if self.one_handle.load(Relaxed) => {
                self.fail_parked(touching, StreamErrorKind::Deadlock, 0, address)
            }
            Step::Wait => match self.config.timeout {
                Some(timeout) if Duration::from_nanos(futex::now().saturating_sub(since)) >= timeout => {
                    self.fail_parked(touching, StreamErrorKind::TimedOut, 0, address)
                }
                Some(_) => Answer::ParkedBriefly,
                None => Answer::Parked,
            },
            Step::Busy if self.pinned_for_good(touching.end, since) => {
                self.fail_parked(touching, StreamErrorKind::Pinned, 0, address)
            }
            Step::Busy => Answer::ParkedBriefly,
            Step::Behind => {
                // Another thread of this end went far ahead while this one slept.
                self.unpark(touching.end, address)
            }
            Step::Fail(kind, errno) => self.fail_parked(touching, kind, errno, address),
        }
    }

    fn fail_parked(&self, touching: Touching, kind: StreamErrorKind, errno: i32, address: Option<usize>) -> Answer {
        self.fail(Failure { kind, errno, by: touching.end });
        self.unpark(touching.end, address)
    }

    /// Wakes the parked threads of an end: their instructions run again, or come back with their own addresses.
    fn unpark(&self, end: End, address: Option<usize>) -> Answer {
        let side = self.side(end);
        let parked = side.parked.swap(0, SeqCst);
        if parked != 0 {
            self.done_waiting(end, side.waits_since.load(Relaxed));
            if self.status.failure().is_some() {
                // They repeat the same touch, and must find throw-away pages even if both ends are gone by then.
                side.let_go.store(parked, SeqCst);
                self.stragglers.store(true, SeqCst);
            }
        }
        if let (Some(failure), Some(address)) = (self.status.failure(), address) {
            return self.resolve_failed(end, address, failure);
        }
        if let (Some(uffd), Some(ranges)) = (self.context.uffd(), &self.ranges) {
            let range = &ranges.of[end as usize];
            uffd.wake(range.start(), range.len());
        }
        Answer::Resolved
    }

    /// What a touch of a failed stream gets, from the pager.
    fn resolve_failed(&self, end: End, address: usize, failure: Failure) -> Answer {
        if self.config.on_failure == OnFailure::Drain && self.drain(end, address).is_ok() {
            if let Some(uffd) = self.context.uffd() {
                uffd.wake(address & !(crate::units::PAGE - 1), crate::units::PAGE);
            }
            return Answer::Resolved;
        }
        self.report_poison(end, address, failure);
        self.poison(address);
        Answer::Fatal
    }

    /// What a touch gets when both ends are closed: an error, unless it is that of a thread which was let go before.
    fn resolve_stale(&self, end: End, address: usize, failure: Failure) -> Answer {
        let block = self.block_at(end, address).map_or(0, |block| block + 1);
        if block != 0 && block == self.side(end).let_go.load(SeqCst) {
            return self.resolve_failed(end, address, failure);
        }
        self.report_stale(end, address);
        self.poison(address);
        Answer::Fatal
    }
}

// SAFETY: `touch` and the pager's functions reach `step`, `bring`, `fail`, `drain` and the reports: atomics, futex and
// memory system calls, and lines built on the stack. Nothing there allocates or takes a mutex.
unsafe impl Resolve for Core {
    fn touch(&self, end: End, address: usize) -> Answer {
        if !matches!(self.context, Context::Signal(_)) {
            return self.touch_beside_the_pager(end, address);
        }
        let Some(block) = self.block_at(end, address) else {
            self.report_outside(end, address);
            return Answer::Fatal;
        };
        // Looked at before waiting: a thread that waits while the ends are closed is let go with a throw-away page.
        if self.closed.load(SeqCst) {
            self.report_stale(end, address);
            return Answer::Fatal;
        }
        self.touched(end, block);
        let _claimed = self.side(end).claim.take();
        match self.bring(self.pointer_touch(end, block, false)) {
            Ok(()) => Answer::Resolved,
            Err(Missed::Failed(failure)) => self.touch_after_failure(end, address, failure),
            Err(Missed::Behind) => match self.status.failure() {
                Some(failure) => self.touch_after_failure(end, address, failure),
                None => {
                    self.report_outside(end, address);
                    Answer::Fatal
                }
            },
        }
    }

    fn touch_from_pager(&self, end: End, address: usize) -> Answer {
        let Some(block) = self.block_at(end, address) else {
            self.report_outside(end, address);
            self.poison(address);
            return Answer::Fatal;
        };
        self.touched(end, block);
        if let Some(failure) = self.status.failure() {
            return match self.closed.load(SeqCst) {
                true => self.resolve_stale(end, address, failure),
                false => self.resolve_failed(end, address, failure),
            };
        }
        let touching = self.pointer_touch(end, block, true);
        match self.step_from_pager(touching) {
            Step::Ready => {
                if let Some(uffd) = self.context.uffd() {
                    uffd.wake(address & !(crate::units::PAGE - 1), crate::units::PAGE);
                }
                Answer::Resolved
            }
            Step::Behind => {
                self.report_outside(end, address);
                self.poison(address);
                Answer::Fatal
            }
            _ => self.park(touching, Some(address)),
        }
    }

    fn retry_from_pager(&self, end: End) -> Option<Answer> {
        let parked = self.side(end).parked.load(SeqCst);
        let block = parked.checked_sub(1)?;
        Some(self.attempt(self.pointer_touch(end, block, true), None))
    }

    fn take_news(&self) -> bool {
        self.news.swap(false, Relaxed)
    }

    fn report_near(&self, end: End, address: usize) {
        match self.closed.load(SeqCst) {
            true => self.report_stale(end, address),
            false => self.report_near_miss(end, address),
        }
    }
}
