//! Waiting for the other process, waking it, and noticing that it is gone.
//!
//! Whoever waits announces itself on the page, looks once more, and then sleeps on the connection. Whoever has moved on
//! looks for an announcement, and sends a packet if there is one. All four steps are sequentially consistent, so that one
//! of the two sees the other. A connection that is hung up, or the end of the other process, ends the sleep as well: the
//! kernel says so, however that process ends.
//!
//! Code here runs in signal handlers, by the rules at the top of `crate::trap`.

#![forbid(unsafe_code)]

use super::core::{Core, Step, Touching};
use super::hello::{Identity, WAKE};
use crate::stream::error::Failure;
use crate::stream::wait::nanoseconds;
use crate::stream::{StreamError, StreamErrorKind};
use crate::sys::socket::{self, Seen};
use crate::sys::{Errno, futex, process};
use crate::trap::End;
use std::sync::atomic::Ordering::*;
use std::time::Duration;

/// How long a sleep takes at most: a kernel that is out of memory may lose a packet.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Why an end did not get the block it asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missed {
    /// The window has left the block behind: a mistake of whoever asked, and no failure of the stream.
    Behind,
    /// The stream ends before it.
    PastEnd,
    /// The stream has failed.
    Failed(Failure),
}

impl Core {
    /// Brings a block into this end's window, waiting for the other end as long as it takes. Safe in handlers.
    pub(super) fn bring(&self, touching: Touching) -> Result<(), Missed> {
        self.check()?;
        let _claimed = self.claim.take();
        self.bring_claimed(touching)
    }

    /// The same, with the claim held.
    pub(super) fn bring_claimed(&self, touching: Touching) -> Result<(), Missed> {
        let mut started = 0;
        let brought = self.bring_since(touching, &mut started);
        if started != 0 {
            self.waiting.end();
            self.counters.waited(futex::now().saturating_sub(started));
        }
        brought
    }

    /// The same. Says since when it has waited, if it has.
    fn bring_since(&self, touching: Touching, started: &mut u64) -> Result<(), Missed> {
        loop {
            self.check()?;
            match self.step(touching) {
                Step::Ready => return Ok(()),
                Step::Behind => return Err(Missed::Behind),
                Step::PastEnd => return Err(Missed::PastEnd),
                Step::Fail(failure) => self.fail(failure),
                Step::Wait => {
                    if *started == 0 {
                        *started = futex::now();
                        self.waiting.begin(touching.block, *started);
                    }
                    match self.left(*started) {
                        Some(Duration::ZERO) => self.fail((StreamErrorKind::TimedOut, self.end).into()),
                        left => self.wait(left),
                    }
                }
            }
        }
    }

    /// As `bring`, but does not wait: false if the other end must move on first.
    pub(super) fn try_bring(&self, touching: Touching) -> Result<bool, Missed> {
        self.check()?;
        let _claimed = self.claim.take();
        match self.step(touching) {
            Step::Wait => {
                self.sleep(Some(Duration::ZERO));
                self.check().map(|()| false)
            }
            Step::Ready => Ok(true),
            // What is wrong, or the end of the stream: said there.
            _ => self.bring_claimed(touching).map(|()| true),
        }
    }

    /// Waits until this end's next block is there, or the stream has ended or failed, but not longer than `limit`. False if the
    /// time is up.
    ///
    /// `waited` is for how long the caller has waited for the block before. Only if there is one, the stream's time limit counts.
    pub(super) fn wait_within(&self, limit: Duration, waited: Option<Duration>) -> bool {
        if self.check().is_err() {
            return true;
        }
        let _claimed = self.claim.take();
        let now = futex::now();
        let started = now.saturating_sub(nanoseconds(waited.unwrap_or_default()));
        let deadline = now.saturating_add(nanoseconds(limit));
        let mut waits = false;
        let there = loop {
            if let Err(failure) = self.look() {
                self.fail(failure);
            }
            let (taken, theirs) = (self.taken.load(SeqCst), self.theirs.load(SeqCst));
            let there = match self.end {
                End::Writer => taken - theirs < self.count(),
                End::Reader => taken < theirs || self.flow().end.is_some(),
            };
            if there || self.check().is_err() {
                break true;
            }
            let left = Duration::from_nanos(deadline.saturating_sub(futex::now()));
            if left.is_zero() {
                break false;
            }
            if !waits {
                waits = true;
                self.waiting.begin(taken, started);
            }
            match waited.and_then(|_| self.left(started)) {
                Some(Duration::ZERO) => self.fail((StreamErrorKind::TimedOut, self.end).into()),
                until_over => self.wait(Some(until_over.map_or(left, |until_over| until_over.min(left)))),
            }
        };
        if waits {
            self.waiting.end();
            self.counters.waited(futex::now().saturating_sub(now));
        }
        there
    }

    /// What is left of the stream's time limit for a wait. `None`: there is none.
    fn left(&self, started: u64) -> Option<Duration> {
        let waited = Duration::from_nanos(futex::now().saturating_sub(started));
        self.config.timeout.map(|limit| limit.saturating_sub(waited))
    }

    /// Whether the other end has moved on, or has something to say.
    #[inline]
    fn has_news(&self) -> bool {
        let half = self.other_half();
        half.moved.load(SeqCst) != self.theirs.load(SeqCst)
            || half.state.load(SeqCst) != 0
            || self.status.failure().is_some()
            || (self.end == End::Reader && self.known_length().is_none() && half.length.load(SeqCst) != 0)
    }

    fn wait(&self, limit: Option<Duration>) {
        if !self.patience.look(|| self.has_news()) {
            self.own_half().waiting.store(1, SeqCst);
            if !self.has_news() {
                self.sleep(limit);
            }
        }
    }

    /// Sleeps until the other process wakes this one, or is gone. May return early.
    fn sleep(&self, limit: Option<Duration>) {
        let limit = limit.map_or(LOOK_AGAIN, |limit| limit.min(LOOK_AGAIN));
        let gone = match socket::watch(&self.socket, self.other.get(), Some(limit)) {
            Seen::Nothing => false,
            Seen::Packet => self.read_packets(),
            Seen::Gone => {
                self.read_packets();
                true
            }
        };
        // What it said before is said.
        if gone && !self.has_news() {
            self.died.store(true, SeqCst);
            let kind = match self.end {
                End::Writer => StreamErrorKind::ReaderGone,
                End::Reader => StreamErrorKind::WriterGone,
            };
            self.fail((kind, self.end.peer()).into());
        }
    }

    /// Takes in what the other process has sent: wake-ups, and once who it is. Returns whether that process is known to be gone.
    fn read_packets(&self) -> bool {
        let mut packet = [0; Identity::BYTES];
        let mut gone = false;
        // A process that sends for ever does not keep this one here.
        for _ in 0..64 {
            let Ok(len @ 1..) = socket::receive(&self.socket, &mut packet) else { break };
            if let Some(identity) = Identity::read(&packet[..len]) {
                gone |= !self.meet(identity);
            }
        }
        gone
    }

    /// Watches the other process, as far as it can be known by its number. The connection tells of its end in most cases; not if
    /// a child that it has forked has it still. Returns whether there is such a process, for all that is known.
    pub(super) fn meet(&self, identity: Identity) -> bool {
        let number = identity.number_in(self.space);
        let Some(number) = number.filter(|&number| number != process::id() && self.other.get().is_none()) else {
            return true;
        };
        match socket::open_process(number) {
            Ok(process) => self.other.set(process),
            Err(errno) => return errno != Errno::SRCH,
        }
        true
    }

    /// Wakes the other end if it sleeps.
    #[inline]
    pub(super) fn notify(&self) {
        let half = self.other_half();
        if half.waiting.load(SeqCst) != 0 {
            half.waiting.store(0, SeqCst);
            self.patience.peer_is_late();
            // If there is no room, there are packets that wake it.
            let _ = socket::send(&self.socket, &WAKE);
        }
    }

    /// Fails the stream, if it has not failed already: both ends get to know. Safe in handlers.
    pub(super) fn fail(&self, failure: Failure) {
        if self.is_here() && self.status.set(failure) {
            self.tell(failure);
        }
    }

    /// The same with a message.
    pub(super) fn fail_with(&self, kind: StreamErrorKind, errno: i32, message: &str) {
        let failure = Failure { kind, errno, by: self.end };
        if self.is_here() && self.status.set_with(failure, message.to_owned()) {
            self.own_half().say(message);
            self.tell(failure);
        }
    }

    fn tell(&self, failure: Failure) {
        self.own_half().state.store(failure.word(), SeqCst);
        socket::shut(&self.socket);
    }

    /// Whether the stream goes on, in this process.
    pub(super) fn check(&self) -> Result<(), Missed> {
        if !self.is_here() {
            return Err(Missed::Failed((StreamErrorKind::Forked, self.end).into()));
        }
        self.status.failure().map_or(Ok(()), |failure| Err(Missed::Failed(failure)))
    }

    /// Why an explicit call did not get its block, in words.
    pub(super) fn missed(&self, missed: Missed) -> StreamError {
        let plain = |kind| StreamError::new(kind, &self.config.name, None);
        match missed {
            Missed::Behind => plain(StreamErrorKind::BehindWindow),
            Missed::PastEnd => plain(StreamErrorKind::PastEnd),
            Missed::Failed(failure) => self.error(failure),
        }
    }
}
