//! The protocol of a stream: a pure state machine.
//!
//! A stream is a sequence of blocks 0, 1, 2, … that a writer takes, finishes and publishes, and a reader takes and
//! releases. Four counters say everything:
//!
//! ```text
//!            released          seen           published          taken
//!  block  ──────┼────────────────┼─────────────────┼────────────────┼──────▶
//!   given back  │ reader's window│ finished, wait  │ writer's window│ not yet
//!               │   (M + 1)      │   for the reader│   (L + 1)      │ touched
//! ```
//!
//! `released <= seen <= published <= taken` always, and `taken - released <= N + L + M + 1`: the stream holds no more
//! blocks than that. `taken` and `published` belong to the writer, `seen` and `released` to the reader; nobody else
//! stores them. That makes the machine safe to run in two threads without a lock: each end steps from what it last
//! saw of the other, and seeing an old value can only make it wait once more.
//!
//! An end *touches* a block. Inside its window that is free. Touching the block after its furthest one slides the
//! window: what falls out behind is published or released **before** the end waits for the new block, which is why no
//! choice of `L`, `M` and `N` can deadlock (`tests::no_interleaving_deadlocks` enumerates them). Touching further
//! ahead slides block by block.

#![forbid(unsafe_code)]

/// The windows of a stream, in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Windows {
    /// L: how many blocks behind its furthest write the writer may still touch.
    pub(crate) rewrite: u32,
    /// M: how many blocks behind its furthest read the reader may still touch.
    pub(crate) lookback: u32,
    /// N: how many finished blocks may wait between the two; at least 1.
    pub(crate) read_ahead: u32,
}

impl Windows {
    /// The most blocks a stream holds.
    #[inline]
    pub(crate) fn blocks(self) -> u64 {
        u64::from(self.rewrite) + u64::from(self.lookback) + u64::from(self.read_ahead) + 1
    }
}

/// What an end must do about a touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    /// The block is in the window.
    Ready,
    /// Bring in this block, record it (`writer_took`, `reader_took`), then touch again.
    Take(u64),
    /// Nothing until the other end moves on.
    Wait,
    /// The window has left this block behind.
    Behind,
    /// The stream ends before this block.
    PastEnd,
}

/// Where a stream is: all of its state, as one end sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Flow {
    /// Blocks the writer has taken.
    pub(crate) taken: u64,
    /// Blocks the reader may have.
    pub(crate) published: u64,
    /// Blocks the reader has taken.
    pub(crate) seen: u64,
    /// Blocks the writer may have again.
    pub(crate) released: u64,
    /// How many blocks the stream has, once the writer has finished.
    pub(crate) end: Option<u64>,
}

impl Flow {
    /// The writer touches `block`. Changes `published` only.
    #[inline]
    pub(crate) fn writer_touches(&mut self, windows: Windows, block: u64) -> Touch {
        if block < self.taken {
            let oldest = (self.taken - 1).saturating_sub(u64::from(windows.rewrite)).max(self.published);
            return if block >= oldest { Touch::Ready } else { Touch::Behind };
        }
        // The window slides to [taken - L, taken].
        self.published = self.published.max(self.taken.saturating_sub(u64::from(windows.rewrite)));
        if self.taken - self.released < windows.blocks() { Touch::Take(self.taken) } else { Touch::Wait }
    }

    /// The writer has brought in the block that `Take` named.
    #[inline]
    pub(crate) fn writer_took(&mut self) {
        self.taken += 1;
    }

    /// The writer declares all blocks below `count` finished. They leave its window.
    #[inline]
    pub(crate) fn publish(&mut self, count: u64) {
        self.published = self.published.max(count.min(self.taken));
    }

    /// The writer has finished: the stream has `blocks` blocks, all of them taken.
    #[inline]
    pub(crate) fn finish(&mut self, blocks: u64) {
        self.end = Some(blocks);
        self.published = blocks;
    }

    /// The reader touches `block`. Changes `released` only.
    #[inline]
    pub(crate) fn reader_touches(&mut self, windows: Windows, block: u64) -> Touch {
        if block < self.seen {
            let oldest = (self.seen - 1).saturating_sub(u64::from(windows.lookback)).max(self.released);
            return if block >= oldest { Touch::Ready } else { Touch::Behind };
        }
        if self.end.is_some_and(|end| block >= end) {
            return Touch::PastEnd;
        }
        // The window slides to [seen - M, seen].
        self.released = self.released.max(self.seen.saturating_sub(u64::from(windows.lookback)));
        if self.seen < self.published { Touch::Take(self.seen) } else { Touch::Wait }
    }

    /// The reader has brought in the block that `Take` named.
    #[inline]
    pub(crate) fn reader_took(&mut self) {
        self.seen += 1;
    }

    /// The reader declares itself done with all blocks below `count`. They leave its window.
    #[inline]
    pub(crate) fn release(&mut self, count: u64) {
        self.released = self.released.max(count.min(self.seen));
    }
}

/// Blocks finished in any order, given on in order: a window of up to 64 blocks as a bit mask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Completion {
    /// Every block below this one is finished.
    base: u64,
    /// Bit `i`: block `base + i` is finished.
    done: u64,
    /// One past the last block handed out.
    next: u64,
}

impl Completion {
    /// Nothing handed out, everything below `base` finished.
    pub(crate) fn starting_at(base: u64) -> Completion {
        Completion { base, done: 0, next: base }
    }

    /// How many blocks are between the first unfinished one and the last one handed out.
    pub(crate) fn span(&self) -> u64 {
        self.next - self.base
    }

    /// The block to hand out next.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// The next block has been handed out.
    pub(crate) fn handed_out(&mut self) {
        self.next += 1;
    }

    /// The block handed out last has come back unfinished: it will be handed out again. False if `block` is another.
    pub(crate) fn taken_back(&mut self, block: u64) -> bool {
        let last = self.next > self.base && block == self.next - 1 && self.done >> (block - self.base) == 0;
        if last {
            self.next -= 1;
        }
        last
    }

    /// A block is finished; returns how many blocks from the start of the stream are.
    pub(crate) fn finished(&mut self, block: u64) -> u64 {
        debug_assert!(block >= self.base && block < self.next && block - self.base < 64);
        self.done |= 1 << (block - self.base);
        let run = self.done.trailing_ones();
        self.base += u64::from(run);
        self.done = self.done.checked_shr(run).unwrap_or(0);
        self.base
    }
}

#[cfg(test)]
#[path = "protocol_tests.rs"]
mod tests;
