//! Waiting for the other end: bringing a block in, however long that takes.
//!
//! The loop is: try a step; if the other end must move on first, wait at the gate; if I/O has pinned the block, look
//! again in a moment; if the stream has failed, stop. Code here runs in signal handlers, by the rules at the top of
//! `crate::trap`; the pager, which must not wait, has its own way (`super::faults`).

#![forbid(unsafe_code)]

use super::core::{Core, Step, Touching};
use super::error::{Failure, StreamError, StreamErrorKind};
use crate::sys::futex;
use crate::trap::End;
use std::sync::atomic::{AtomicU32, Ordering::*};
use std::time::Duration;

/// Why an end did not get the block it asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missed {
    /// The window has left the block behind: a mistake of whoever asked, and no failure of the stream.
    Behind,
    /// The stream has failed; or it has ended, which is no failure to explicit calls.
    Failed(Failure),
}

impl Missed {
    fn failed(kind: StreamErrorKind, end: End) -> Missed {
        Missed::Failed((kind, end).into())
    }
}

/// How long a reader waits for a pinned block while the writer goes on.
const PINNED: Duration = Duration::from_secs(10);
/// How long it waits if the writer waits as well.
const PINNED_AND_STUCK: Duration = Duration::from_millis(250);

/// A time as [`futex::now`] counts it; a very long one is for ever.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Core {
    /// Whether a touch of this end could go on now. Cheap; called in a spin loop.
    #[inline]
    fn could_go_on(&self, end: End) -> bool {
        let flow = self.flow.load();
        match end {
            End::Writer => flow.taken - flow.released.min(flow.taken) < self.flow.windows().blocks(),
            End::Reader => flow.seen < flow.published || flow.end.is_some(),
        }
    }

    /// Brings a block into an end's window, waiting for the other end as long as it takes. Safe in handlers.
    ///
    /// # Errors
    /// [`Missed`].
    pub(crate) fn bring(&self, touching: Touching) -> Result<(), Missed> {
        let mut started = 0;
        self.notice_fork();
        while self.side(touching.end).stepping.load(SeqCst) {
            std::hint::spin_loop();
        }
        let outcome = loop {
            if let Some(failure) = self.status.failure() {
                break Err(Missed::Failed(failure));
            }
            let step = self.step(touching);
            if step != Step::Ready && started == 0 {
                started = futex::now();
            }
            match step {
                Step::Ready => break Ok(()),
                Step::Wait => self.wait(touching, started),
                Step::Busy => self.nap(touching.end, started),
                Step::Behind => break Err(Missed::Behind),
                // To the explicit interface the end of the stream is no failure.
                Step::Fail(StreamErrorKind::PastEnd, _) if !touching.own => {
                    break Err(Missed::failed(StreamErrorKind::PastEnd, touching.end));
                }
                Step::Fail(kind, errno) => self.fail(Failure { kind, errno, by: touching.end }),
            }
        };
        self.done_waiting(touching.end, started);
        outcome
    }

    /// Why an explicit call did not get its block, in words.
    pub(crate) fn missed(&self, missed: Missed) -> StreamError {
        match missed {
            Missed::Behind => StreamError::new(StreamErrorKind::BehindWindow, &self.config.name, None),
            Missed::Failed(failure) => self.error(failure),
        }
    }

    /// As `bring`, but does not wait: false if the other end must move on first.
    pub(crate) fn try_bring(&self, touching: Touching) -> Result<bool, Missed> {
        self.notice_fork();
        if let Some(failure) = self.status.failure() {
            return Err(Missed::Failed(failure));
        }
        if self.side(touching.end).stepping.load(SeqCst) {
            return Ok(false);
        }
        match self.step(touching) {
            Step::Wait | Step::Busy => Ok(false),
            Step::Ready => Ok(true),
            // What is wrong, or the end of the stream: said there.
            _ => self.bring(touching).map(|()| true),
        }
    }

    /// Waits until an explicit call of this end for its next block would not wait, but not longer than `limit`. False if the time
    /// is up. True as well if the stream has failed: the call will say so.
    ///
    /// `waited` is for how long the caller has waited for the block before. Only if there is one, the stream's time limit counts.
    pub(crate) fn wait_within(&self, end: End, limit: Duration, waited: Option<Duration>) -> bool {
        self.wait_unless(end, limit, waited, &|| false)
    }

    /// As [`Core::wait_within`], but ends as well when something else holds, and says false if only that does. Whoever makes it hold
    /// notifies the end's gate.
    pub(crate) fn wait_unless(
        &self,
        end: End,
        limit: Duration,
        waited: Option<Duration>,
        other: &dyn Fn() -> bool,
    ) -> bool {
        self.notice_fork();
        let ready = || self.could_go_on(end) || self.status.failure().is_some();
        if ready() {
            return true;
        }
        let flow = self.flow.load();
        let block = if end == End::Writer { flow.taken } else { flow.seen };
        let now = futex::now();
        let started = now.saturating_sub(nanoseconds(waited.unwrap_or_default()));
        self.announce_wait(Touching::explicit(end, block), started);
        let deadline = now.saturating_add(nanoseconds(limit));
        loop {
            let left = Duration::from_nanos(deadline.saturating_sub(futex::now()));
            if ready() || other() || left.is_zero() {
                break;
            }
            let until_over = waited.and_then(|_| self.left(started)).unwrap_or(left);
            if until_over.is_zero() {
                self.fail((StreamErrorKind::TimedOut, end).into());
                break;
            }
            self.side(end).gate.wait(Some(left.min(until_over)), || ready() || other());
        }
        self.done_waiting(end, now);
        ready()
    }

    /// What is left of the stream's time limit for a wait. `None`: there is none.
    fn left(&self, started: u64) -> Option<Duration> {
        let waited = Duration::from_nanos(futex::now().saturating_sub(started));
        self.config.timeout.map(|limit| limit.saturating_sub(waited))
    }

    fn wait(&self, touching: Touching, started: u64) {
        let end = touching.end;
        if self.one_handle.load(Relaxed) {
            return self.fail((StreamErrorKind::Deadlock, end).into());
        }
        self.announce_wait(touching, started);
        let left = self.left(started);
        if left == Some(Duration::ZERO) {
            return self.fail((StreamErrorKind::TimedOut, end).into());
        }
        self.side(end).gate.wait(left, || self.could_go_on(end) || self.status.failure().is_some());
    }

    /// Records that an end waits, for reports and for callbacks that work on demand.
    pub(crate) fn announce_wait(&self, touching: Touching, started: u64) {
        let side = self.side(touching.end);
        side.waits_since.store(started, Relaxed);
        side.waits_for.store(touching.block + 1, Relaxed);
        if touching.end == End::Reader && self.demand.fetch_max(touching.block + 1, SeqCst) <= touching.block {
            self.notify(End::Writer, touching.pager);
        }
    }

    #[inline]
    pub(crate) fn done_waiting(&self, end: End, started: u64) {
        if started != 0 {
            let side = self.side(end);
            side.waits_for.store(0, Relaxed);
            side.counters.waited(futex::now().saturating_sub(started));
        }
    }

    /// Waits for a pinned block to be let go.
    fn nap(&self, end: End, started: u64) {
        if self.pinned_for_good(end, started) {
            return self.fail((StreamErrorKind::Pinned, end).into());
        }
        let nobody = AtomicU32::new(0);
        futex::wait(&nobody, 0, Some(Duration::from_micros(500)));
    }

    /// Whether a pinned block is not worth waiting for any longer. If the writer waits too, it may be the one that
    /// pins it, and nothing would ever change.
    pub(crate) fn pinned_for_good(&self, end: End, started: u64) -> bool {
        let waited = Duration::from_nanos(futex::now().saturating_sub(started));
        let stuck = end == End::Writer || self.side(End::Writer).gate.is_waiting();
        waited >= if stuck { PINNED_AND_STUCK } else { PINNED }
    }
}
