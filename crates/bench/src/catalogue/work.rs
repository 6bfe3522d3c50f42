//! The work of a case.

use serde::{Deserialize, Serialize};

use super::{Data, FileSort, Rewiring, Sorting, TRIAL};
use crate::memory::Pages;

/// The work of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// One thread fills a stream and another sums it; `streams` of them run at the same time.
    Pipe { streams: u32 },
    /// One process fills a stream of blocks of `block` bytes, and another sums it.
    Processes { block: u64 },
    /// Move blocks of `block` bytes to other addresses and back. If `peer_runs`, a second thread of the process runs
    /// meanwhile.
    Move { block: u64, pages: Pages, peer_runs: bool },
    /// Send a file from one tmpfs to another over loopback.
    Send,
    /// Read a file with one system call.
    Read,
    /// Append words to an empty vector.
    Fill,
    /// Rewire blocks in random order, and access them.
    Rewire(Rewiring),
    /// Write words to an array and read them once; one of the two is timed.
    Vanish(Half),
    /// Take snapshots of an array and store to random pages of it.
    Snapshot(Moments),
    /// Insert so many keys into an extendible hash table, and look them up.
    Hash(Hashing),
    /// Partition words by their highest `bits` bits, one store per word.
    Scatter { bits: u32 },
    /// Something a user does with a large file.
    File(FileJob),
    /// Sort keys in memory.
    Sort(Sorting),
    /// Sort a file into another.
    FileSort(FileSort),
    /// Sort records of the sort benchmark in memory with one thread, or merge sorted runs of them.
    Kernel { merge: bool },
    /// Generate or check records of the sort benchmark in memory, with so many threads.
    Gensort { check: bool, threads: usize },
    /// Partition keys in memory by their highest `bits` bits.
    Partition { bits: u32 },
}

impl Work {
    /// The number of rounds that count if `pairs` were asked for: fewer for work that takes long.
    pub(crate) fn rounds(self, pairs: usize) -> usize {
        match self {
            Work::Sort(Sorting { rounds: Some(few), .. }) | Work::FileSort(FileSort { rounds: few, .. }) => {
                pairs.min(few)
            }
            _ => pairs,
        }
    }

    /// `size`, or `keys` or `bytes` if it is more and the work is to sort keys in memory, or a file.
    pub(crate) fn limited(self, size: u64, keys: u64, bytes: u64) -> u64 {
        match self {
            Work::Sort(_) => size.min(keys),
            Work::FileSort(FileSort { data, .. }) if bytes < size => bytes / data.item() * data.item(),
            _ => size,
        }
    }

    /// Whether it runs only if long cases are asked for.
    pub(crate) fn is_long(self) -> bool {
        matches!(self, Work::FileSort(FileSort { long: true, .. }))
    }

    /// For work with many peers: a trial on one part in this many of the work selects the peers that run all rounds.
    pub(crate) fn trial(self) -> Option<u64> {
        matches!(self, Work::Sort(_)).then_some(TRIAL)
    }
}

/// A task on a large file, and where the file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileJob {
    /// What is done.
    pub task: Task,
    /// What the file holds.
    pub corpus: Corpus,
    /// Where it is.
    pub place: Place,
    /// Whether it is in the page cache when the clock starts.
    pub cache: Cache,
    /// How many threads may work on it, if the contender has a setting for that.
    pub threads: usize,
}

/// What is done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Task {
    /// Read it and sum its words.
    Sum,
    /// Write it and sync it to the device.
    Write,
    /// Count its lines.
    Count,
    /// Find all occurrences of the pattern.
    Find,
    /// Minimum, mean and maximum of each key of `key;value` lines.
    Stats,
    /// Minimum, mean and maximum of each of many keys, sorted by key.
    Keys,
    /// Copy it and sync the copy to the device.
    Copy,
}

/// The contents of a file. This and its size determine every byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Corpus {
    /// The known sequence of words.
    Numbers,
    /// Lines of words, with one occurrence of the pattern in each `every` bytes.
    Text { every: u64 },
    /// `station;temperature` lines of 413 stations; its size is in rows.
    Stations,
    /// `key;value` lines of `keys` keys, uniform or Zipf-distributed; its size is in rows.
    Keys { keys: u32, zipf: bool },
    /// Something to sort.
    Sortable(Data),
}

/// Where a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// On a device.
    Disk,
    /// On a tmpfs.
    Memory,
}

/// How much of a file is in the page cache when the clock starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cache {
    /// Nothing.
    Cold,
    /// All of it.
    Warm,
}

/// Snapshots of an array of pages, and stores to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moments {
    /// The call that takes a snapshot is timed, of an array that was stored to; if `held`, while an older snapshot is held.
    Take { held: bool },
    /// All is timed: a snapshot, so many stores for each 1,000 pages, readiness for readers, the end of the snapshot.
    Update { permille: u32 },
}

/// What is timed of a hash table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hashing {
    /// A lookup of each key, in another order than they were inserted in.
    Lookups,
    /// The inserts that double the directory: as often as it takes.
    Doublings,
    /// All inserts.
    Inserts,
}

/// Which pass over an array is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    /// The pass that writes it.
    Write,
    /// The pass that reads it.
    Read,
}
