//! What the memory of a sort is used for.
//!
//! ```text
//! |-- streams --|-- threads --|-- slack --|---------------- chunk: records and their words ----------------|   sorting
//! |-- streams --|------------------------------- buffers and streams of the runs --------------------------|   merging
//! ```

use crate::BlockSize;

/// The least memory that a sort takes, in bytes.
pub const LEAST_MEMORY: u64 = 16 << 20;

/// The most runs that are merged at once. Each has a thread that reads ahead.
pub(super) const MOST_RUNS: usize = 128;
/// The blocks of a stream between a file and one end that uses explicit calls: in flight, waiting and in use.
pub(super) const BLOCKS: u64 = 5;
/// Blocks that a disk reads at nearly full speed.
const SMALL: BlockSize = match BlockSize::new(256 << 10) {
    Some(size) => size,
    None => BlockSize::MIN,
};
/// What a thread of a sort of words needs beside them.
const SORTING: u64 = 11 << 20;
/// What a thread needs for its pieces of words or records.
pub(super) const PIECES: u64 = 1 << 20;

/// The memory of a sort, divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub(super) total: u64,
    pub(super) threads: usize,
    /// The blocks of the streams of the input and the output.
    pub(super) block: BlockSize,
    /// What sorting may take beside the words.
    pub(super) slack: u64,
    /// What the records in memory and their words may take.
    pub(super) chunk: u64,
    /// What writing runs or the output takes beside a stream, while runs are merged.
    pub(super) packing: u64,
    /// What reading a run takes beside a stream and a buffer.
    pub(super) unpacking: u64,
}

impl Budget {
    pub(super) fn new(total: u64, threads: usize) -> Budget {
        let block = block(total / 128);
        // Where memory is short, fewer threads.
        let threads = threads.clamp(1, (total / (16 << 20)).clamp(1, 256) as usize);
        let streams = 2 * BLOCKS * block.bytes() as u64;
        let pieces = threads as u64 * PIECES;
        let slack = (threads as u64 * SORTING + total / 160).min(total / 4);
        let chunk = total.saturating_sub(streams + slack + pieces).max(total / 4);
        Budget { total, threads, block, slack, chunk, packing: 0, unpacking: 0 }
    }

    /// The same, but sorting takes at most so many bytes beside the words.
    pub(super) fn slack(self, bytes: u64) -> Budget {
        let slack = self.slack.min(bytes);
        Budget { slack, chunk: self.chunk + (self.slack - slack), ..self }
    }

    /// The same, but the stream of the input is there until the end, not only until all has been read.
    pub(super) fn beside_input(self) -> Budget {
        Budget { total: self.total - BLOCKS * self.block.bytes() as u64, ..self }
    }

    /// How `runs` runs are merged, whose longest record has `longest` bytes.
    pub(super) fn merge(&self, runs: usize, longest: usize) -> MergeBudget {
        let own = BLOCKS * self.block.bytes() as u64 + PIECES + self.packing;
        let room = self.total.saturating_sub(own);
        let least = self.run(BlockSize::MIN, longest);
        let at_once = ((room / least) as usize).clamp(2, MOST_RUNS).min(runs.max(1));
        // Several threads, each with streams of its own, if their pieces are large enough for a disk.
        let several = self.run(SMALL, longest) * (at_once * self.threads) as u64;
        let threads = if several <= room / 2 { self.threads } else { 1 };
        let segment = (room / (8 * threads as u64)).clamp(1 << 20, 32 << 20);
        let share = room.saturating_sub(segment * threads as u64) / (at_once * threads) as u64;
        let mut block = block(share / 8);
        while block > BlockSize::MIN && self.run(block, longest) > share {
            block = BlockSize::new(block.bytes() / 2).unwrap_or(BlockSize::MIN);
        }
        MergeBudget { at_once, threads, block, segment: segment as usize }
    }

    /// The size of the longest records of which two, of different runs, can be in memory at once.
    pub(super) fn longest(&self) -> u64 {
        let own = BLOCKS * self.block.bytes() as u64 + 2 * PIECES + self.packing;
        (self.total.saturating_sub(own) / 2 - self.run(BlockSize::MIN, 0)) * 2 / 3
    }

    /// What one run takes for one thread of a merge.
    fn run(&self, block: BlockSize, longest: usize) -> u64 {
        (BLOCKS + 1) * block.bytes() as u64 + self.unpacking + 3 * longest as u64 / 2
    }
}

/// How runs are merged.
#[derive(Clone, Copy, Debug)]
pub(super) struct MergeBudget {
    /// How many at once.
    pub(super) at_once: usize,
    /// How many threads.
    pub(super) threads: usize,
    /// The blocks of their streams, and the size of their buffers.
    pub(super) block: BlockSize,
    /// About how many bytes one thread merges at a time.
    pub(super) segment: usize,
}

/// The largest block of at most this size that streams to and from files profit from.
fn block(bytes: u64) -> BlockSize {
    let largest = BlockSize::DEFAULT.bytes() as u64;
    let bytes = bytes.clamp(BlockSize::MIN.bytes() as u64, largest);
    BlockSize::new(1 << bytes.ilog2()).unwrap_or(BlockSize::MIN)
}
