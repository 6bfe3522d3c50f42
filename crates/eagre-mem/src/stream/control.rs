//! Watching and cancelling a stream from outside.

#![forbid(unsafe_code)]

use super::core::Core;
use super::error::{StreamError, StreamErrorKind};
use super::stats::StreamStats;
use crate::heap::Shared;
use crate::memory::pool::Pool;
use crate::memory::{FixedMemory, RewireError};
use crate::mover::Mover;
use crate::trap::{Context, End, Trap};
use crate::units::BlockSize;
use std::fmt;

/// A handle to a stream that belongs to neither end. Cloning it gives another one; it does not keep the stream open.
#[derive(Clone)]
pub struct Control(pub(crate) Shared<Core>);

/// Handles are equal if they are to the same stream.
impl PartialEq for Control {
    fn eq(&self, other: &Control) -> bool {
        Shared::is_same(&self.0, &other.0)
    }
}

impl Eq for Control {}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("name", &self.name()).field("stats", &self.stats()).finish()
    }
}

impl Control {
    /// Fails the stream: both ends get [`StreamErrorKind::Cancelled`] from their next call, or the one they wait in.
    pub fn cancel(&self) {
        self.0.fail((StreamErrorKind::Cancelled, End::Writer).into());
    }

    /// Fails the stream as [`Reader::fail`](super::Reader::fail) does, for a reader that somebody else has: the writer gets
    /// [`StreamErrorKind::ReaderGone`] with this message.
    pub fn fail_reader(&self, message: &str) {
        if self.0.status.set_with((StreamErrorKind::ReaderGone, End::Reader).into(), message.to_owned()) {
            self.0.wake_all();
        }
    }

    /// Wakes a reader that waits in [`Reader::wait_unless`](super::Reader::wait_unless), if there is one, so that it looks again at what
    /// else it waits for.
    pub fn look_again(&self) {
        self.0.notify(End::Reader, false);
    }

    /// Cancels a stream whose trap does not answer, and puts throw-away pages where a thread may wait in a touch of its
    /// first two blocks.
    pub(crate) fn let_go(&self) {
        self.cancel();
        let block = self.0.config.block.bytes();
        for (end, number) in End::BOTH.into_iter().flat_map(|end| [(end, 0), (end, 1)]) {
            if let Some(address) = self.0.own_address(end, number) {
                debug_assert!(number as usize * block < self.capacity() as usize);
                // Where it cannot be done, the thread goes on waiting.
                let _ = self.0.drain(end, address);
            }
        }
    }

    /// What the stream has done so far. Still there when both ends are gone.
    pub fn stats(&self) -> StreamStats {
        self.0.stats()
    }

    /// Why the stream failed, if it did.
    pub fn failure(&self) -> Option<StreamError> {
        let failure = self.0.status.failure().filter(|failure| failure.kind != StreamErrorKind::Closed)?;
        Some(self.0.error(failure))
    }

    /// The stream's name.
    pub fn name(&self) -> &str {
        &self.0.config.name
    }

    /// The trap in force.
    pub fn trap(&self) -> Trap {
        match self.0.context {
            #[cfg(all(target_os = "linux", not(miri)))]
            Context::Pager(_) => Trap::Pager,
            Context::Signal(_) => Trap::Signal,
            Context::Off => Trap::Off,
        }
    }

    /// The mover in force.
    pub fn mover(&self) -> Mover {
        self.0.engine.mover()
    }

    /// Where the memory of the stream's pool is, if it [stays](Pool::fixed) there.
    ///
    /// # Errors
    /// As [`Pool::fixed`].
    pub fn fixed_memory(&self) -> Result<FixedMemory, RewireError> {
        Pool(self.0.pool.clone()).fixed()
    }

    /// The size of a block.
    pub fn block_size(&self) -> BlockSize {
        self.0.config.block
    }

    /// How many bytes the stream can carry.
    pub fn capacity(&self) -> u64 {
        self.0.capacity()
    }
}
