//! What a case gives its contenders to do.

use serde::{Deserialize, Serialize};

use super::{Rewiring, Sorting, TRIAL};
use crate::memory::Pages;

/// What there is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// One thread fills, another adds up; so many streams side by side.
    Pipe { streams: u32 },
    /// Move blocks of so many bytes, backed by such pages, to other addresses and back, while a
    /// second thread of the process runs or does not.
    Move { block: u64, pages: Pages, peer_runs: bool },
    /// Read a file with one system call.
    Read,
    /// Append words to an empty vector.
    Fill,
    /// Wire blocks in random order, and use what comes of it.
    Rewire(Rewiring),
    /// Write words to an array and read them once; one half of it is timed.
    Vanish(Half),
    /// Partition words by their highest bits, one store each.
    Scatter { bits: u32 },
    /// Something a user does with a large file.
    File(FileJob),
    /// Sort keys in memory.
    Sort(Sorting),
    /// Partition keys in memory by so many bits.
    Partition { bits: u32 },
}

impl Work {
    /// The rounds that count, where `pairs` are asked for: fewer of work that takes long.
    pub(crate) fn rounds(self, pairs: usize) -> usize {
        match self {
            Work::Sort(Sorting { rounds: Some(few), .. }) => pairs.min(few),
            _ => pairs,
        }
    }

    /// So much of `size` that there are at most `keys` keys to sort.
    pub(crate) fn limited(self, size: u64, keys: u64) -> u64 {
        if matches!(self, Work::Sort(_)) { size.min(keys) } else { size }
    }

    /// The share of the work in which it turns out who of the peers is strong enough to run the rounds that count, where
    /// there are many.
    pub(crate) fn trial(self) -> Option<u64> {
        matches!(self, Work::Sort(_)).then_some(TRIAL)
    }
}

/// Something a user does with a large file, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileJob {
    /// What is done.
    pub task: Task,
    /// What the file holds.
    pub corpus: Corpus,
    /// Where it lies.
    pub place: Place,
    /// Whether the page cache has it when the clock starts.
    pub cache: Cache,
    /// How many threads may work on it, where a contender can be told.
    pub threads: usize,
}

/// What is done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Task {
    /// Read it and add up its words.
    Sum,
    /// Write it, safe on the device at the end.
    Write,
    /// Count its lines.
    Count,
    /// Find every place of the pattern that the corpus knows.
    Find,
    /// Minimum, mean and maximum of each key of `key;value` lines.
    Stats,
    /// The same of many keys, in their order.
    Keys,
    /// Copy it, safe on the device at the end.
    Copy,
}

/// What a file holds. Every byte of it follows from this and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Corpus {
    /// The known sequence of words.
    Numbers,
    /// Lines of words, and in each so many bytes one occurrence of the pattern.
    Text { every: u64 },
    /// `station;temperature` lines of 413 stations; its size is in rows.
    Stations,
    /// `key;value` lines of so many keys, evenly spread or as Zipf's law has it; its size is in rows.
    Keys { keys: u32, zipf: bool },
}

/// Where a file lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// On a device.
    Disk,
    /// On a tmpfs.
    Memory,
}

/// What the page cache holds of a file when the clock starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cache {
    /// Nothing.
    Cold,
    /// All of it.
    Warm,
}

/// Which half of an array's life is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    /// It is written.
    Write,
    /// It is read.
    Read,
}
