//! Every benchmark, as data: work, sizes, contenders, target ratios and where they come from.
//!
//! Nothing else in this crate names a row, a size or a target. A target says: the contender's rate,
//! divided by its peer's in the same round, must reach `must` and would like to reach `aim`.

use crate::memory::Pages::{self, Huge, Small};

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
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Bytes per second, in 10^9.
    GigabytesPerSecond,
    /// The same, divided by the cores that could work on it.
    GigabytesPerSecondPerCore,
    /// Time per block.
    MicrosecondsPerMove,
    /// As the first, with faults, moves, switches and processor time per gigabyte.
    Overhead,
}

impl Unit {
    /// As tables write it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Unit::GigabytesPerSecond | Unit::Overhead => "GB/s",
            Unit::GigabytesPerSecondPerCore => "GB/s per core",
            Unit::MicrosecondsPerMove => "us per move",
        }
    }

    /// What costs are counted per.
    pub(crate) const fn amount_name(self) -> &'static str {
        match self {
            Unit::MicrosecondsPerMove => "move",
            _ => "GB",
        }
    }
}

/// One size or setting of a row.
pub(crate) struct Case {
    /// Short, for tables.
    pub name: &'static str,
    /// What there is to do.
    pub work: Work,
    /// How much of it: bytes per stream, bytes of a file, or passes over the blocks.
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

/// What is asked of a contender.
pub(crate) struct Target {
    /// Whose rate.
    pub contender: &'static str,
    /// Divided by whose.
    pub peer: &'static str,
    /// In which case; `None`: in each.
    pub case: Option<&'static str>,
    /// The ratio below which the row has failed.
    pub must: Option<f64>,
    /// The ratio we would like.
    pub aim: Option<f64>,
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

impl Target {
    const fn must(contender: &'static str, ratio: f64, peer: &'static str) -> Target {
        Target { contender, peer, case: None, must: Some(ratio), aim: None }
    }

    const fn aim(contender: &'static str, ratio: f64, peer: &'static str) -> Target {
        Target { contender, peer, case: None, must: None, aim: Some(ratio) }
    }

    const fn aiming(self, ratio: f64) -> Target {
        Target { aim: Some(ratio), ..self }
    }

    const fn at(self, case: &'static str) -> Target {
        Target { case: Some(case), ..self }
    }
}

const QUEUE: Entry = Entry::new(
    "queue",
    Way::Queue { block: 2 * MIB, blocks: 3 },
    "hand-written queue of recycled 2 MiB blocks, filled and summed in place: the ideal",
);
const ITERATOR: Entry = Entry::new(
    "iterator",
    Way::Iterator { vectors: false },
    "an iterator of u64 over that queue: one next() and one push() an item",
);
const ITERATOR_SIMD: Entry =
    Entry::new("iterator-simd", Way::Iterator { vectors: true }, "an iterator of 64-byte vectors over that queue");
const CROSSBEAM: Entry =
    Entry::new("crossbeam", Way::Crossbeam, "the same blocks through bounded crossbeam channels, there and back");
const STD_MPSC: Entry =
    Entry::new("std-mpsc", Way::StdMpsc, "the same blocks through std::sync::mpsc::sync_channel, there and back");
const RING: Entry =
    Entry::new("ring", Way::Ring, "a shared ring of words (the rtrb crate), written and read in chunks in place");
const OS_PIPE: Entry = Entry::new("pipe(2)", Way::OsPipe, "an operating-system pipe of 1 MiB");
const TIMELY: Entry =
    Entry::new("timely", Way::Timely, "a dataflow of two timely workers: source on one, exchange, sum on the other");
const SIGNAL_MOVE: Entry =
    Entry::new("signal+move", Way::Stream(Setting::SignalMove), "Eagre: plain pointers, SIGSEGV, UFFDIO_MOVE");
const SIGNAL_REMAP: Entry =
    Entry::new("signal+remap", Way::Stream(Setting::SignalRemap), "Eagre: plain pointers, SIGSEGV, mremap");
const PAGER_MOVE: Entry =
    Entry::new("pager+move", Way::Stream(Setting::PagerMove), "Eagre: plain pointers, userfaultfd, UFFDIO_MOVE");
const SPARSE: Entry = Entry::new(
    "sparse",
    Way::Stream(Setting::SignalMoveSparse),
    "as signal+move, every block zeroed before it is written",
);
const EXPLICIT: Entry =
    Entry::new("explicit", Way::Stream(Setting::Explicit), "Eagre: explicit calls, no faults, default windows");
const EXPLICIT_NARROW: Entry = Entry::new(
    "explicit-narrow",
    Way::Stream(Setting::ExplicitNarrow),
    "the same with L = M = 0: three blocks, as many as the queue",
);

const fn moving(name: &'static str, block: u64, pages: Pages, peer_runs: bool, size: u64) -> Case {
    Case { name, work: Work::Move { block, pages, peer_runs }, size, quick: 1 }
}

/// Every row.
///
/// Streams are long enough to take 100 ms and more: of a run of 10 ms, the core on which the scheduler happens to start
/// the second thread decides half.
pub(crate) const ROWS: &[Row] = &[
    Row {
        name: "move",
        about: "one block to another address: time per block, by size and kind of page",
        source: "issue 2, row 1: 20 times faster than memcpy at 2 MiB; aim: the primitive itself",
        unit: Unit::MicrosecondsPerMove,
        cases: &[
            moving("64 KiB, small pages", 64 * KIB, Small, false, 4),
            moving("64 KiB, huge page", 64 * KIB, Huge, false, 1),
            moving("1 MiB, small pages", MIB, Small, false, 4),
            moving("1 MiB, huge page", MIB, Huge, false, 1),
            moving("2 MiB, small pages", 2 * MIB, Small, false, 4),
            moving("2 MiB, huge page", 2 * MIB, Huge, false, 16),
            moving("2 MiB, huge page, peer runs", 2 * MIB, Huge, true, 16),
            moving("4 MiB, huge pages", 4 * MIB, Huge, false, 16),
        ],
        contenders: &[
            Entry::new(
                "memcpy",
                Way::Memcpy { warm: false },
                "copy the block to memory that is there; many blocks in turn",
            ),
            Entry::new(
                "memcpy-warm",
                Way::Memcpy { warm: true },
                "the same with one block to and fro, in the cache as far as it fits",
            ),
            Entry::new("mremap", Way::Mremap, "mremap with MREMAP_FIXED and MREMAP_DONTUNMAP"),
            Entry::new("uffdio-move", Way::UffdioMove, "UFFDIO_MOVE, one call a block"),
            Entry::new(
                "fault+move",
                Way::FaultAndMove,
                "touch the block; a bare SIGSEGV handler does mprotect and UFFDIO_MOVE",
            ),
            Entry::new("first-touch", Way::FirstTouch, "no move: fresh memory, first write"),
            SIGNAL_MOVE,
            SIGNAL_REMAP,
            PAGER_MOVE,
        ],
        targets: &[
            Target::must("signal+move", 20.0, "memcpy").at("2 MiB, huge page"),
            Target::aim("signal+move", 1.0, "uffdio-move").at("2 MiB, huge page"),
            Target::aim("signal+move", 1.0, "fault+move").at("2 MiB, huge page"),
        ],
    },
    Row {
        name: "pipe",
        about: "two threads, one stream: SIMD fill here, SIMD sum there",
        source: "issue 2, row 2",
        unit: Unit::GigabytesPerSecond,
        cases: &[Case { name: "12 GiB", work: Work::Pipe { streams: 1 }, size: 12 * GIB, quick: 16 * MIB + 4 * KIB }],
        contenders: &[
            QUEUE,
            ITERATOR,
            ITERATOR_SIMD,
            CROSSBEAM,
            STD_MPSC,
            RING,
            OS_PIPE,
            TIMELY,
            SIGNAL_MOVE,
            SIGNAL_REMAP,
            PAGER_MOVE,
            SPARSE,
            EXPLICIT,
            EXPLICIT_NARROW,
        ],
        targets: &[
            Target::must("signal+move", 2.5, "iterator"),
            Target::must("signal+move", 5.0, "pipe(2)"),
            Target::must("signal+move", 0.72, "queue").aiming(0.85),
            Target::must("pager+move", 0.6, "queue").aiming(0.85),
            Target::must("explicit", 0.97, "queue"),
            Target::must("explicit-narrow", 0.97, "queue"),
            Target::aim("sparse", 1.0, "signal+move"),
        ],
    },
    Row {
        name: "pipes",
        about: "several such streams at once on all cores, against one, per core",
        source: "issue 2, row 3",
        unit: Unit::GigabytesPerSecondPerCore,
        cases: &[
            Case { name: "2 streams", work: Work::Pipe { streams: 2 }, size: 8 * GIB, quick: 8 * MIB },
            Case { name: "4 streams", work: Work::Pipe { streams: 4 }, size: 4 * GIB, quick: 8 * MIB },
        ],
        contenders: &[
            QUEUE.one("one queue"),
            QUEUE,
            SIGNAL_MOVE.one("one signal+move"),
            SIGNAL_MOVE,
            PAGER_MOVE.one("one pager+move"),
            PAGER_MOVE,
            EXPLICIT.one("one explicit"),
            EXPLICIT,
        ],
        targets: &[
            Target::must("signal+move", 0.9, "one signal+move"),
            Target::must("pager+move", 0.9, "one pager+move"),
            Target::must("explicit", 0.9, "one explicit"),
        ],
    },
    Row {
        name: "read-1gib",
        about: "one read(2) of 1 GiB of page cache into a stream pointer, against plain memory",
        source: "issue 2, row 4",
        unit: Unit::GigabytesPerSecond,
        cases: &[Case { name: "1 GiB", work: Work::Read, size: GIB, quick: 16 * MIB }],
        contenders: &[
            Entry::new("plain", Way::PlainRead, "into huge pages that are there and stay there"),
            Entry::new("blocks", Way::BlockRead, "a call for each 2 MiB block of a hand-written queue"),
            Entry::new(
                "pager+move",
                Way::StreamRead(Setting::PagerMove),
                "into an Eagre stream pointer, a second thread consuming it",
            ),
        ],
        targets: &[Target::must("pager+move", 0.85, "plain").aiming(1.0)],
    },
    Row {
        name: "overhead",
        about: "what the protocol costs: faults, moves, switches and processor time per gigabyte",
        source: "issue 2, row 5: reported only",
        unit: Unit::Overhead,
        cases: &[Case { name: "8 GiB", work: Work::Pipe { streams: 1 }, size: 8 * GIB, quick: 8 * MIB }],
        contenders: &[QUEUE, CROSSBEAM, SIGNAL_MOVE, SIGNAL_REMAP, PAGER_MOVE, EXPLICIT],
        targets: &[],
    },
];

/// The row called `name`.
pub(crate) fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique() {
        let rows: HashSet<_> = ROWS.iter().map(|row| row.name).collect();
        assert_eq!(rows.len(), ROWS.len());
        for row in ROWS {
            let names: HashSet<_> = row.contenders.iter().map(|c| c.name).collect();
            assert_eq!(names.len(), row.contenders.len(), "{}", row.name);
            let cases: HashSet<_> = row.cases.iter().map(|c| c.name).collect();
            assert_eq!(cases.len(), row.cases.len(), "{}", row.name);
        }
    }

    #[test]
    fn targets_name_contenders_and_cases_of_their_row() {
        for row in ROWS {
            for target in row.targets {
                for name in [target.contender, target.peer] {
                    assert!(row.contenders.iter().any(|c| c.name == name), "{}: {name}", row.name);
                }
                assert_ne!(target.contender, target.peer);
                assert!(target.must.is_some() || target.aim.is_some());
                if let (Some(must), Some(aim)) = (target.must, target.aim) {
                    assert!(must > 0.0 && aim > must);
                }
                if let Some(case) = target.case {
                    assert!(row.cases.iter().any(|c| c.name == case), "{case}");
                }
            }
        }
    }

    #[test]
    fn quick_is_small_and_sizes_are_whole_words() {
        for row in ROWS {
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
                    Work::Read => assert!(case.size < 2 * GIB, "one read(2) gives no more"),
                }
            }
        }
    }
}
