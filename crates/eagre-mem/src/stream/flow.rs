//! The protocol's counters, shared by two threads without a lock.
//!
//! Each end stores only its own counters and loads the other's. All accesses that the other end waits for are
//! sequentially consistent: they pair with the waiting flags of [`super::gate`].

#![forbid(unsafe_code)]

use super::protocol::{Flow, Touch, Windows};
use std::sync::atomic::{AtomicU64, Ordering::*};

/// `end` while it is not known.
const OPEN: u64 = u64::MAX;

/// One end's counters, alone on their cache lines.
#[repr(align(128))]
#[derive(Debug, Default)]
struct Counters {
    /// Blocks brought in by this end.
    taken: AtomicU64,
    /// Blocks this end has given on.
    given: AtomicU64,
}

/// The state of a stream.
#[derive(Debug)]
pub(crate) struct SharedFlow {
    windows: Windows,
    writer: Counters,
    reader: Counters,
    end: AtomicU64,
}

impl SharedFlow {
    pub(crate) fn new(windows: Windows) -> SharedFlow {
        SharedFlow { windows, writer: Counters::default(), reader: Counters::default(), end: AtomicU64::new(OPEN) }
    }

    pub(crate) fn windows(&self) -> Windows {
        self.windows
    }

    /// A view of all counters. Those of the calling end are exact; the other's may have moved on.
    #[inline]
    pub(crate) fn load(&self) -> Flow {
        // The writer stores `end` before `published`: whoever sees the last block published sees the end too. Order
        // matters for the invariants between the counters as well: what is behind is loaded first.
        let released = self.reader.given.load(SeqCst);
        let seen = self.reader.taken.load(SeqCst);
        let published = self.writer.given.load(SeqCst);
        let taken = self.writer.taken.load(SeqCst);
        let end = self.end.load(SeqCst);
        Flow { taken, published, seen, released, end: (end != OPEN).then_some(end) }
    }

    /// The writer touches a block. The flag tells whether that published anything.
    #[inline]
    pub(crate) fn writer_touches(&self, block: u64) -> (Touch, bool) {
        let before = self.load();
        let mut flow = before;
        let touch = flow.writer_touches(self.windows, block);
        (touch, self.store(&self.writer.given, before.published, flow.published))
    }

    /// The writer has brought in the next block.
    #[inline]
    pub(crate) fn writer_took(&self) {
        let mut flow = Flow { taken: self.writer.taken.load(Relaxed), ..Flow::default() };
        flow.writer_took();
        self.writer.taken.store(flow.taken, SeqCst);
    }

    /// The writer gives all blocks below `count` to the reader. Returns whether that was news.
    #[inline]
    pub(crate) fn publish(&self, count: u64) -> bool {
        let before = self.load();
        let mut flow = before;
        flow.publish(count);
        self.store(&self.writer.given, before.published, flow.published)
    }

    /// The writer has finished with `blocks` blocks.
    pub(crate) fn finish(&self, blocks: u64) {
        let mut flow = self.load();
        flow.finish(blocks);
        self.end.store(flow.end.unwrap_or(OPEN), SeqCst);
        self.writer.given.store(flow.published, SeqCst);
    }

    /// The reader touches a block. The flag tells whether that released anything.
    #[inline]
    pub(crate) fn reader_touches(&self, block: u64) -> (Touch, bool) {
        let before = self.load();
        let mut flow = before;
        let touch = flow.reader_touches(self.windows, block);
        (touch, self.store(&self.reader.given, before.released, flow.released))
    }

    /// The reader has brought in the next block.
    #[inline]
    pub(crate) fn reader_took(&self) {
        let mut flow = Flow { seen: self.reader.taken.load(Relaxed), ..Flow::default() };
        flow.reader_took();
        self.reader.taken.store(flow.seen, SeqCst);
    }

    /// The reader gives all blocks below `count` back. Returns whether that was news.
    #[inline]
    pub(crate) fn release(&self, count: u64) -> bool {
        let before = self.load();
        let mut flow = before;
        flow.release(count);
        self.store(&self.reader.given, before.released, flow.released)
    }

    #[inline]
    fn store(&self, counter: &AtomicU64, before: u64, after: u64) -> bool {
        if after != before {
            counter.store(after, SeqCst);
        }
        after != before
    }
}
