//! What a stream has done so far.

#![forbid(unsafe_code)]

use super::core::Core;
use crate::trap::End;
use std::sync::atomic::{AtomicU64, Ordering::*};

/// One end's counts. Each is stored by one thread at a time.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    blocks: AtomicU64,
    faults: AtomicU64,
    moves: AtomicU64,
    substituted: AtomicU64,
    waits: AtomicU64,
    wait_ns: AtomicU64,
}

impl Counters {
    #[inline]
    pub(crate) fn block(&self) {
        bump(&self.blocks, 1);
    }

    #[inline]
    pub(crate) fn fault(&self) {
        self.faults.fetch_add(1, Relaxed);
    }

    #[inline]
    pub(crate) fn moved(&self) {
        bump(&self.moves, 1);
    }

    pub(crate) fn substituted(&self) {
        bump(&self.substituted, 1);
    }

    pub(crate) fn waited(&self, ns: u64) {
        bump(&self.waits, 1);
        bump(&self.wait_ns, ns);
    }

    /// All of them, at position 0.
    pub(crate) fn counts(&self) -> EndStats {
        EndStats {
            blocks: self.blocks.load(Relaxed),
            faults: self.faults.load(Relaxed),
            moves: self.moves.load(Relaxed),
            substituted: self.substituted.load(Relaxed),
            waits: self.waits.load(Relaxed),
            wait_ns: self.wait_ns.load(Relaxed),
            position: 0,
        }
    }
}

#[inline]
fn bump(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Relaxed) + by, Relaxed);
}

/// What one end has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndStats {
    /// Blocks taken.
    pub blocks: u64,
    /// Touches that stopped a thread.
    pub faults: u64,
    /// Blocks moved to another address.
    pub moves: u64,
    /// Blocks replaced by another because they were pinned by I/O.
    pub substituted: u64,
    /// Times this end had to wait for the other (or for a pinned block).
    pub waits: u64,
    /// How long, together, in nanoseconds.
    pub wait_ns: u64,
    /// Bytes committed or consumed through the explicit interface.
    pub position: u64,
}

/// What a stream has done and holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamStats {
    /// The writer's side.
    pub writer: EndStats,
    /// The reader's side.
    pub reader: EndStats,
    /// Blocks the reader may read or has read.
    pub published: u64,
    /// Blocks the reader has given back.
    pub released: u64,
    /// Blocks of memory held now.
    pub held: u64,
    /// The most it may hold: N + L + M + 1.
    pub most: u64,
    /// The most bytes the stream can carry. Between processes: how many a pointer reaches.
    pub capacity: u64,
}

impl Core {
    pub(crate) fn stats(&self) -> StreamStats {
        let end = |end: End| {
            let side = self.side(end);
            EndStats { position: side.position.load(Relaxed), ..side.counters.counts() }
        };
        let flow = self.flow.load();
        StreamStats {
            writer: end(End::Writer),
            reader: end(End::Reader),
            published: flow.published,
            released: flow.released,
            held: self.held(),
            most: self.flow.windows().blocks(),
            capacity: self.capacity(),
        }
    }
}
