//! Sorting files: what they hold, within which memory, and by whom.

use serde::{Deserialize, Serialize};

use super::{Cache, Place};

/// A file to sort, into another one that is on the device at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileSort {
    /// What it holds.
    pub data: Data,
    /// Where it is, the result too.
    pub place: Place,
    /// Whether it is in the page cache when the clock starts.
    pub cache: Cache,
    /// How much memory the sort may take.
    pub budget: Budget,
    /// How many threads may work on it.
    pub threads: usize,
    /// What else uses the device meanwhile.
    pub background: Option<Background>,
    /// The device that Eagre takes it to be on.
    pub device: Option<Emulated>,
    /// Whether it runs only if long cases are asked for.
    pub long: bool,
    /// At most so many rounds.
    pub rounds: usize,
}

/// Threads of another program that use the device while a sort runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Background {
    /// How many.
    pub threads: usize,
    /// Whether they write; else they read.
    pub writes: bool,
}

/// How much memory a sort may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Budget {
    /// A quarter of the file.
    Quarter,
    /// Three times the file: all of it fits.
    Ample,
}

impl Budget {
    /// The least a sort is given, in bytes: below, Python has no room for its libraries.
    const LEAST: u64 = 64 << 20;

    /// In bytes, for a file of `size` bytes.
    pub(crate) fn bytes(self, size: u64) -> u64 {
        match self {
            Budget::Quarter => size / 4,
            Budget::Ample => size * 3,
        }
        .max(Budget::LEAST)
    }
}

/// What a file to sort holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Data {
    /// Binary records of the sort benchmark.
    Records,
    /// Its ASCII records, which are lines.
    Ascii,
    /// Records with a key of 10 random bytes and a value of so many.
    Fixed { value: u32 },
    /// Random numbers of 64 bits.
    Words,
    /// Lines of words, in the order of their bytes.
    Lines,
    /// Rows of name, number and words, separated by commas, in the order of the numbers.
    Table,
    /// A thousand different lines, many times each, to be written once each.
    Few,
}

impl Data {
    /// Whether its items are lines.
    pub(crate) const fn is_lines(self) -> bool {
        matches!(self, Data::Lines | Data::Table | Data::Few)
    }

    /// The length of a record, in bytes; of lines it is a hundred, near enough.
    pub(crate) const fn item(self) -> u64 {
        match self {
            Data::Fixed { value } => 10 + value as u64,
            Data::Words => 8,
            _ => 100,
        }
    }
}

/// A device with properties of its own: a delay where it is slow (WiscSort, section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Emulated {
    /// Byte-addressable; random reads are slow.
    Bd,
    /// Byte-addressable, random reads as fast as sequential ones.
    Brd,
    /// As that, and writes are slow.
    Bard,
    /// As that, writes do not scale and slow reads down.
    Braid,
}

impl Emulated {
    /// As the command has it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Emulated::Bd => "bd",
            Emulated::Brd => "brd",
            Emulated::Bard => "bard",
            Emulated::Braid => "braid",
        }
    }
}

/// Who sorts or merges records in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// The library's kernels.
    Eagre,
    /// `slice::sort_unstable` of the records.
    Records,
    /// `slice::sort_unstable` of keys and numbers of records, and a gather.
    Index,
    /// A merge with `BinaryHeap`.
    Heap,
}

/// Who sorts a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sorter {
    /// The `eagre` command, with a plan or with the one it chooses.
    Eagre(Option<&'static str>),
    /// The same with the plan one-pass and a model of concurrency.
    EagreOnePass(&'static str),
    /// `sort` of the GNU core utilities.
    Gnu,
    /// The STXXL library.
    Stxxl,
    /// The crate `extsort`.
    Extsort,
    /// The duckdb library from Python.
    Duckdb,
    /// The polars library from Python.
    Polars,
    /// A sort that WiscSort is compared with.
    Baseline(Baseline),
    /// Not a sort: reads and writes all bytes twice, past the page cache.
    TwoPasses,
}

/// A sort that WiscSort is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Baseline {
    /// Keys and pointers in runs, one thread.
    PmSort,
    /// The same with several threads that read, and writes at the same time or between.
    PmSortPlus { overlap: bool },
    /// Whole records in place.
    SampleSort,
}
