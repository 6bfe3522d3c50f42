//! Watching and cancelling a stream from outside of its ends.

#![forbid(unsafe_code)]

use super::core::{Core, User};
use crate::heap::Weak;
use crate::stream::{EndStats, StreamError, StreamErrorKind, StreamStats};
use crate::trap::End;
use std::fmt;
use std::sync::atomic::Ordering::*;

/// A handle to an end that belongs to nobody in particular. Cloning it gives another one; it does not keep the stream open.
#[derive(Clone)]
pub struct Control(Weak<Core>);

/// Handles are equal if they are to the same end.
impl PartialEq for Control {
    fn eq(&self, other: &Control) -> bool {
        Weak::is_same(&self.0, &other.0)
    }
}

impl Eq for Control {}

impl Control {
    pub(super) fn of(core: &User) -> Control {
        Control(core.downgrade())
    }

    /// Fails the stream: both ends get [`StreamErrorKind::Cancelled`] from their next call, or the one they wait in. Does nothing if
    /// this end is gone.
    pub fn cancel(&self) {
        if let Some(core) = self.0.upgrade() {
            core.fail((StreamErrorKind::Cancelled, core.end).into());
        }
    }

    /// Whether this process's end, or a block taken from it, is still there.
    pub fn is_open(&self) -> bool {
        self.0.is_alive()
    }

    /// Why the stream failed, if it did and this end has noticed. `None` as well if this end is gone.
    pub fn failure(&self) -> Option<StreamError> {
        let core = self.0.upgrade()?;
        core.status.failure().map(|failure| core.error(failure))
    }

    /// What this end has done so far, and how far the other one is. What else the other one does only its own process knows: those counts
    /// are 0. `None` if this end is gone.
    pub fn stats(&self) -> Option<StreamStats> {
        self.0.upgrade().map(|core| core.stats())
    }
}

impl Core {
    fn stats(&self) -> StreamStats {
        let own = EndStats { position: self.position.load(Relaxed), ..self.counters.counts() };
        let (given, theirs, count) = (self.given.load(SeqCst), self.theirs.load(SeqCst), self.count());
        let stats = StreamStats { held: count, most: count, capacity: self.capacity(), ..StreamStats::default() };
        match self.end {
            End::Writer => StreamStats { writer: own, published: given, released: theirs, ..stats },
            End::Reader => StreamStats { reader: own, published: theirs, released: given, ..stats },
        }
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("open", &self.0.is_alive()).finish()
    }
}
