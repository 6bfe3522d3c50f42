//! Every benchmark, as data: work, sizes, contenders, target ratios and where they come from.
//!
//! Nothing else in this crate names a row, a size or a target. [`streams`] has the rows about blocks and pipes,
//! [`memory`] those about memory that grows, [`partition`] those about partitioning, [`rewire`] those about rewiring, [`sort`] those about sorting, [`files`]
//! those about files; [`target`] says what can be asked of a contender.

mod files;
mod memory;
mod partition;
mod rewire;
mod sort;
mod streams;
mod target;

use serde::{Deserialize, Serialize};

pub(crate) use rewire::{FilePages, Fill, PREFIX as REWIRE, Rewiring, Timed, Wiring};
pub(crate) use sort::{By, Foreign, Keys, Module, PEERS, Pattern, SHARE, Slack, Sorting, TRIAL};
pub(crate) use target::{Against, Bound, Figure, Target};

use crate::contenders::grow::Growth;
use crate::contenders::partition::Buckets;
use crate::contenders::vanish::{Behind, Half};
use crate::memory::Pages;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// One benchmark.
pub(crate) struct Row {
    /// What `run` calls it.
    pub name: &'static str,
    /// What is measured, in a sentence.
    pub about: &'static str,
    /// Where the targets come from.
    pub source: &'static str,
    /// What the rates are shown in.
    pub unit: Unit,
    /// The sizes and settings it is measured at.
    pub cases: &'static [Case],
    /// Who takes part.
    pub contenders: &'static [Entry],
    /// What is asked of whom; empty for a row that only reports.
    pub targets: &'static [Target],
}

/// What a row's rates are shown in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Bytes per second, in 10^9.
    GigabytesPerSecond,
    /// The same, divided by the cores that could work on it.
    GigabytesPerSecondPerCore,
    /// Time per block.
    MicrosecondsPerMove,
    /// Time per access.
    NanosecondsPerAccess,
    /// As the first, with faults, moves, switches and processor time per gigabyte.
    Overhead,
    /// Millions of rows per second, divided by the cores that could work on them.
    MegarowsPerSecondPerCore,
    /// Millions of keys per second.
    MegakeysPerSecond,
}

impl Unit {
    /// As tables write it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Unit::GigabytesPerSecond | Unit::Overhead => "GB/s",
            Unit::GigabytesPerSecondPerCore => "GB/s per core",
            Unit::MicrosecondsPerMove => "us per move",
            Unit::NanosecondsPerAccess => "ns per access",
            Unit::MegarowsPerSecondPerCore => "M rows/s per core",
            Unit::MegakeysPerSecond => "M keys/s",
        }
    }

    /// The unit that tables write as `name`.
    pub(crate) fn named(name: &str) -> Option<Unit> {
        let units = [
            Unit::GigabytesPerSecond,
            Unit::GigabytesPerSecondPerCore,
            Unit::MicrosecondsPerMove,
            Unit::NanosecondsPerAccess,
            Unit::MegarowsPerSecondPerCore,
            Unit::MegakeysPerSecond,
        ];
        units.into_iter().find(|unit| unit.name() == name)
    }

    /// A rate as tables show it.
    pub(crate) fn shown(self, rate: f64) -> f64 {
        match self {
            Unit::MicrosecondsPerMove => 1e6 / rate,
            Unit::NanosecondsPerAccess => 1e9 / rate,
            _ => rate,
        }
    }

    /// Whether it is a time: then less is better.
    pub(crate) const fn is_time(self) -> bool {
        matches!(self, Unit::MicrosecondsPerMove | Unit::NanosecondsPerAccess)
    }

    /// What costs are counted per.
    pub(crate) const fn amount_name(self) -> &'static str {
        match self {
            Unit::MicrosecondsPerMove => "move",
            Unit::NanosecondsPerAccess => "access",
            Unit::MegarowsPerSecondPerCore => "M rows",
            Unit::MegakeysPerSecond => "M keys",
            _ => "GB",
        }
    }

    /// What the memory of a contender is: its process's own, or what it took for the work alone.
    pub(crate) const fn memory_name(self) -> &'static str {
        match self {
            Unit::MegakeysPerSecond => "MiB beside the keys",
            _ => "MiB",
        }
    }

    /// The same above a narrow column.
    pub(crate) const fn memory_column(self) -> &'static str {
        match self {
            Unit::MegakeysPerSecond => "extra, MiB",
            _ => "memory, MiB",
        }
    }

    /// Whether bandwidths say anything about it.
    pub(crate) const fn has_roofline(self) -> bool {
        !self.is_time() && !matches!(self, Unit::MegarowsPerSecondPerCore | Unit::MegakeysPerSecond)
    }
}

/// One size or setting of a row.
pub(crate) struct Case {
    /// Short, for tables.
    pub name: &'static str,
    /// What there is to do.
    pub work: Work,
    /// How much of it: bytes per stream, bytes or rows of a file, passes over the blocks, or keys.
    pub size: u64,
    /// The same under `--quick`.
    pub quick: u64,
}

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
    File(Job),
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
pub(crate) struct Job {
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
    /// Find every place of [`crate::corpus::PATTERN`].
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

/// One contender of a row.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    /// Its name in tables and targets.
    pub name: &'static str,
    /// How it does the work.
    pub way: Way,
    /// What it is, in a sentence.
    pub about: &'static str,
    /// One stream only, also where the case has several: the peer of those that run them all.
    pub one: bool,
}

/// How a contender does the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Blocks through our own queue of one producer and one consumer.
    Queue { block: u64, blocks: u32 },
    /// The same queue behind a `next()` per item of so many words.
    Iterator { vectors: bool },
    /// Blocks through a `crossbeam-channel`.
    Crossbeam,
    /// Blocks through `std::sync::mpsc`.
    StdMpsc,
    /// Words through the `rtrb` ring.
    Ring,
    /// Bytes through `pipe(2)`.
    OsPipe,
    /// Batches through a `timely` dataflow of two workers.
    Timely,
    /// Through an Eagre stream.
    Stream(Setting),
    /// Blocks moved by copying them: many in turn, or (`warm`) one to and fro in the cache.
    Memcpy { warm: bool },
    /// Blocks moved by `mremap`.
    Mremap,
    /// Blocks moved by `UFFDIO_MOVE`.
    UffdioMove,
    /// Blocks moved by `UFFDIO_MOVE` in a SIGSEGV handler.
    FaultAndMove,
    /// Fresh memory touched for the first time, block by block.
    FirstTouch,
    /// `read(2)` into plain memory that is there.
    PlainRead,
    /// `read(2)` of one block after the other into recycled memory.
    BlockRead,
    /// `read(2)` into an Eagre stream pointer.
    StreamRead(Setting),
    /// A vector that grows.
    Grow(Growth),
    /// Keys into buckets.
    Partition(Buckets),
    /// Blocks wired in such a way.
    Wired(Wiring),
    /// Arrays behind plain pointers.
    Array(Behind),
    /// A file job by code of this program, in a process of its own.
    Own(Method),
    /// A file job by another program.
    Program(Program),
    /// Sorting, in a process of its own.
    Sort(By),
}

/// How code of this program does a file job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Method {
    /// The library, as its users call it; where there are two forms, the one without pointers.
    Eagre,
    /// The library, code on plain pointers.
    EagrePointer,
    /// `BufReader` or `BufWriter` of the standard library.
    Buffered,
    /// The file mapped, the best known kernel of the task on it.
    Mapped,
    /// `pread` or `pwrite` of one aligned 2 MiB buffer past the page cache.
    Direct,
    /// Not the task but a bound for it: the mapped file added up by as many threads.
    MappedSum,
}

/// A program that does a file job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// The `eagre` command, built beside this program.
    Eagre,
    /// `wc -l`.
    Wc,
    /// `grep -F -o -b`.
    Grep,
    /// `rg -F -o -b`.
    Ripgrep,
    /// `cp`, then (`sync`) `sync` of the copy.
    Cp { sync: bool },
    /// `dd bs=2M`, past the page cache (`direct`) or through it, `fsync` at the end.
    Dd { direct: bool },
    /// `fio`, one `pread` at a time or eight requests through io_uring.
    Fio { uring: bool },
    /// The polars library from Python, clock started after the import.
    Polars,
    /// The duckdb library from Python, clock started after the import.
    Duckdb,
    /// A specialised C program, `peers/onebrc.c`, built when it is asked for.
    Onebrc,
}

impl Way {
    /// Whether it is Eagre's.
    pub(crate) const fn is_ours(self) -> bool {
        matches!(
            self,
            Way::Stream(_)
                | Way::StreamRead(_)
                | Way::Grow(Growth::Rewired | Growth::RewiredAppender | Growth::RewiredExtend | Growth::RewiredFresh)
                | Way::Partition(Buckets::Eagre | Buckets::EagreDense | Buckets::EagreVanishing)
                | Way::Wired(Wiring::Eagre)
                | Way::Array(Behind::Vanishing(_))
                | Way::Own(Method::Eagre | Method::EagrePointer)
                | Way::Program(Program::Eagre)
                | Way::Sort(By::Eagre(_))
        )
    }
}

/// Which trap and mover an Eagre stream is opened with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    /// SIGSEGV and `UFFDIO_MOVE`; plain pointers.
    SignalMove,
    /// SIGSEGV and `mremap`; plain pointers.
    SignalRemap,
    /// userfaultfd and `UFFDIO_MOVE`; plain pointers.
    PagerMove,
    /// As the first, with every block zeroed before the writer gets it.
    SignalMoveSparse,
    /// No faults: `reserve`, `commit`, `fill`, `consume`.
    Explicit,
    /// The same with as many blocks as the queue has: no windows behind the ends.
    ExplicitNarrow,
}

impl Entry {
    const fn new(name: &'static str, way: Way, about: &'static str) -> Entry {
        Entry { name, way, about, one: false }
    }

    /// The same with one stream only, under another name.
    const fn one(self, name: &'static str) -> Entry {
        Entry { name, one: true, ..self }
    }
}

/// Every row.
pub(crate) fn rows() -> impl Iterator<Item = &'static Row> {
    streams::ROWS
        .iter()
        .chain(memory::ROWS)
        .chain(partition::ROWS)
        .chain(rewire::ROWS)
        .chain(sort::ROWS)
        .chain(files::ROWS)
}

/// The row called `name`.
pub(crate) fn row(name: &str) -> Option<&'static Row> {
    rows().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique() {
        let names: HashSet<_> = rows().map(|row| row.name).collect();
        assert_eq!(names.len(), rows().count());
        for row in rows() {
            let names: HashSet<_> = row.contenders.iter().map(|c| c.name).collect();
            assert_eq!(names.len(), row.contenders.len(), "{}", row.name);
            let cases: HashSet<_> = row.cases.iter().map(|c| c.name).collect();
            assert_eq!(cases.len(), row.cases.len(), "{}", row.name);
        }
    }

    #[test]
    fn targets_name_contenders_and_cases_of_their_row() {
        for row in rows() {
            for target in row.targets {
                for name in [target.contender].iter().chain(target.against.peers()) {
                    assert!(row.contenders.iter().any(|c| c.name == *name), "{}: {name}", row.name);
                }
                assert!(!target.against.peers().contains(&target.contender));
                assert!(target.must.is_some() || target.aim.is_some());
                if let (Some(must), Some(aim)) = (target.must, target.aim) {
                    assert!(must > 0.0 && target.figure.bound().better(aim, must));
                }
                if let Some(case) = target.case {
                    assert!(row.cases.iter().any(|c| c.name == case), "{case}");
                }
            }
        }
    }

    #[test]
    fn quick_is_small_and_sizes_are_whole_words() {
        for row in rows() {
            assert!(!row.cases.is_empty() && !row.contenders.is_empty());
            for case in row.cases {
                assert!(case.quick > 0 && case.quick <= case.size, "{}", row.name);
                match case.work {
                    Work::Move { block, .. } => assert!(block.is_power_of_two()),
                    Work::Pipe { streams } => {
                        assert!(streams > 0);
                        assert!(case.quick <= 32 * MIB && case.size % 8 == 0);
                        assert_eq!(case.quick % 8, 0);
                    }
                    Work::File(_) | Work::Fill | Work::Vanish(_) | Work::Scatter { .. } => {
                        assert!(case.quick <= 32 * MIB && (case.size % 8, case.quick % 8) == (0, 0))
                    }
                    Work::Partition { .. } => assert!(case.quick <= 1 << 22 && case.size.is_power_of_two()),
                    Work::Sort(_) => assert!(case.quick <= 1 << 13 && case.size.is_power_of_two()),
                    Work::Rewire(Rewiring { block, .. }) => {
                        assert!(case.size.is_power_of_two() && case.quick.is_power_of_two());
                        assert!(block.is_power_of_two() && case.quick >= 4 * block && case.quick <= 32 * MIB);
                        assert!(row.name.starts_with(REWIRE));
                    }
                    Work::Read => assert!(case.size < 2 * GIB, "one read(2) gives no more"),
                }
            }
        }
    }
}
