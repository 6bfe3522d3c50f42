//! What a device is asked to do: move one stretch of one block.
//!
//! A request *owns* a share of its block. Whoever holds the request may touch the bytes, and the block cannot go back to
//! its stream before every request for it has come back. That is what makes it safe to hand memory to a device that
//! reads or writes it at any time: a device keeps the request until the system is done with it.

use crate::stream::{ReadBlock, WriteBlock};
use std::fmt;
use std::ptr;
use std::sync::Arc;

/// Which way the bytes of a request go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the file into memory.
    Read,
    /// From memory into the file.
    Write,
}

/// A stretch of a block, and where in the file it belongs.
pub struct Request {
    direction: Direction,
    start: usize,
    len: usize,
    /// What it was for before it was cut down, up to here in the job's block.
    pub(super) until: usize,
    offset: u64,
    /// Which job of a transfer it is part of, and where in the job's block it begins.
    pub(super) job: u64,
    pub(super) at: usize,
    /// Up to where the block is known to be good: a request may begin before that, for the sake of alignment.
    pub(super) good: usize,
    /// How often it has been tried without success.
    pub(super) tries: u32,
    block: Arc<dyn Share>,
}

/// What a request keeps alive.
trait Share: Send + Sync {}
impl<B: Block> Share for B {}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Request { direction, offset, len, .. } = self;
        f.debug_struct("Request").field("direction", direction).field("offset", offset).field("len", len).finish()
    }
}

impl Request {
    /// The stretch `at..at + len` of a block, to be read from or written to `offset` of the file. The caller makes no
    /// two requests for the same bytes at a time, and uses the block itself only when all its requests are gone.
    pub(super) fn new<B: Block>(block: &Arc<B>, job: u64, at: usize, len: usize, offset: u64) -> Request {
        let (start, size) = block.memory();
        assert!(at <= size && len <= size - at, "a request for {len} bytes at {at} of a block of {size}");
        Request {
            direction: B::DIRECTION,
            start: start + at,
            len,
            until: at + len,
            offset,
            job,
            at,
            good: at,
            tries: 0,
            block: block.clone(),
        }
    }

    /// The same stretch without its first `bytes` bytes.
    pub(super) fn rest(self, bytes: usize) -> Request {
        let at = self.at + bytes;
        assert!(at <= self.until);
        Request {
            start: self.start + bytes,
            at,
            len: self.until - at,
            offset: self.offset.saturating_add(bytes as u64),
            ..self
        }
    }

    /// The same stretch, but at most `bytes` bytes of it: for a device that can do only so much, or a test that pretends
    /// so. What is left out is asked for again.
    #[must_use]
    pub fn at_most(self, bytes: usize) -> Request {
        Request { len: self.len.min(bytes), ..self }
    }

    /// Which way its bytes go.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Where in the file it begins. Without meaning for a device that has no positions.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// How many bytes it is for.
    #[expect(clippy::len_without_is_empty, reason = "no request is for nothing")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The bytes to write; or those that a read has put there.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the stretch lies in the block (`new` and `rest` saw to it), which `block` keeps; it is initialised (the
        // pool zeroes); whoever may change it needs `&mut` of this, its only request (`new`'s contract).
        unsafe { std::slice::from_raw_parts(ptr::with_exposed_provenance(self.start), self.len) }
    }

    /// Where to put the bytes that are read.
    ///
    /// # Panics
    /// If this is a request to write.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        assert_eq!(self.direction, Direction::Read, "the bytes to write do not change");
        // SAFETY: as `bytes`; the block is a writer's, so its bytes may change, and `&mut` says that nobody else looks.
        unsafe { std::slice::from_raw_parts_mut(ptr::with_exposed_provenance_mut(self.start), self.len) }
    }

    /// The address of the first byte, for the system.
    pub(super) fn address(&self) -> usize {
        let _ = &self.block;
        self.start
    }
}

/// A block of a stream that a transfer can fill or empty: [`WriteBlock`] or [`ReadBlock`].
pub trait Block: sealed::Memory + Send + Sync + 'static {}

impl Block for WriteBlock {}
impl Block for ReadBlock {}

mod sealed {
    use super::{Direction, ReadBlock, WriteBlock};

    pub trait Memory {
        const DIRECTION: Direction;
        /// The address and size of the whole block, beyond the end of the stream too.
        fn memory(&self) -> (usize, usize);
    }

    impl Memory for WriteBlock {
        const DIRECTION: Direction = Direction::Read;
        fn memory(&self) -> (usize, usize) {
            WriteBlock::memory(self)
        }
    }

    impl Memory for ReadBlock {
        const DIRECTION: Direction = Direction::Write;
        fn memory(&self) -> (usize, usize) {
            ReadBlock::memory(self)
        }
    }
}
