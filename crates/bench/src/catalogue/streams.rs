//! Rows about streams: moving blocks, pipes between threads, one large `read(2)`.

use super::{Case, Entry, GIB, KIB, MIB, Row, Setting, Target, Unit, Way, Work};
use crate::memory::Pages::{self, Huge, Small};

const QUEUE: Entry = Entry::new(
    "queue",
    Way::Queue { block: 2 * MIB, blocks: 3 },
    "hand-written queue of recycled 2 MiB blocks, filled and summed in place: the upper bound",
);
const ITERATOR: Entry = Entry::new(
    "iterator",
    Way::Iterator { vectors: false },
    "iterator of u64 over the blocks of a hand-written queue: one next() and one push() per word",
);
const ITERATOR_SIMD: Entry = Entry::new(
    "iterator-simd",
    Way::Iterator { vectors: true },
    "iterator of 64-byte vectors over the blocks of a hand-written queue",
);
const CROSSBEAM: Entry =
    Entry::new("crossbeam", Way::Crossbeam, "2 MiB blocks sent through bounded crossbeam channels and returned");
const STD_MPSC: Entry =
    Entry::new("std-mpsc", Way::StdMpsc, "2 MiB blocks sent through std::sync::mpsc::sync_channel and returned");
const RING: Entry = Entry::new(
    "ring",
    Way::Ring,
    "ring buffer of words (the rtrb crate), written and read in place, a chunk at a time",
);
const OS_PIPE: Entry = Entry::new("pipe(2)", Way::OsPipe, "pipe of the operating system with a buffer of 1 MiB");
const TIMELY: Entry = Entry::new(
    "timely",
    Way::Timely,
    "timely dataflow of two workers: a source on one, an exchange, the sum on the other",
);
const SIGNAL_MOVE: Entry =
    Entry::new("signal+move", Way::Stream(Setting::SignalMove), "Eagre: plain pointers, SIGSEGV, UFFDIO_MOVE");
const SIGNAL_REMAP: Entry =
    Entry::new("signal+remap", Way::Stream(Setting::SignalRemap), "Eagre: plain pointers, SIGSEGV, mremap");
const PAGER_MOVE: Entry =
    Entry::new("pager+move", Way::Stream(Setting::PagerMove), "Eagre: plain pointers, userfaultfd, UFFDIO_MOVE");
const SIGNAL_MAP: Entry = Entry::new(
    "signal+map",
    Way::Stream(Setting::SignalMap),
    "Eagre: plain pointers, SIGSEGV, mapped blocks of shared memory",
);
const SPARSE: Entry = Entry::new(
    "sparse",
    Way::Stream(Setting::SignalMoveSparse),
    "Eagre: as signal+move, and each block is zeroed before it is written",
);
const EXPLICIT: Entry =
    Entry::new("explicit", Way::Stream(Setting::Explicit), "Eagre: explicit calls, no faults, default windows");
const EXPLICIT_NARROW: Entry = Entry::new(
    "explicit-narrow",
    Way::Stream(Setting::ExplicitNarrow),
    "Eagre: explicit calls, no faults, no windows (L = M = 0): three blocks, as many as the queue",
);

const fn moving(name: &'static str, block: u64, pages: Pages, peer_runs: bool, size: u64) -> Case {
    Case { name, work: Work::Move { block, pages, peer_runs }, size, quick: 1 }
}

/// The rows.
///
/// Streams are long enough to take 100 ms and more: of a run of 10 ms, the core on which the scheduler happens to start
/// the second thread decides half.
pub(super) const ROWS: &[Row] = &[
    Row {
        name: "move",
        about: "move one block to another address: time per block, by block size and page size",
        source: "streams between threads, row 1: 20 times faster than memcpy at 2 MiB; aim: the primitive itself",
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
                "copies the block to memory that is already mapped; many blocks in turn",
            ),
            Entry::new(
                "memcpy-warm",
                Way::Memcpy { warm: true },
                "copies one block to and fro, in the cache if it fits",
            ),
            Entry::new("mremap", Way::Mremap, "mremap with MREMAP_FIXED and MREMAP_DONTUNMAP"),
            Entry::new("uffdio-move", Way::UffdioMove, "UFFDIO_MOVE, one call per block"),
            Entry::new(
                "fault+move",
                Way::FaultAndMove,
                "touches the block; a minimal SIGSEGV handler calls mprotect and UFFDIO_MOVE",
            ),
            Entry::new("first-touch", Way::FirstTouch, "no move: the first write to fresh memory"),
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
        about: "one stream between two threads: one fills the blocks, the other sums them, both with SIMD",
        source: "streams between threads, row 2",
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
            SIGNAL_MAP,
            SPARSE,
            EXPLICIT,
            EXPLICIT_NARROW,
        ],
        targets: &[
            Target::must("signal+move", 2.5, "iterator"),
            Target::must("signal+move", 5.0, "pipe(2)"),
            Target::must("signal+move", 0.72, "queue").aiming(0.85),
            Target::must("pager+move", 0.6, "queue").aiming(0.85),
            Target::must("signal+map", 0.75, "queue").aiming(0.85),
            Target::must("signal+map", 1.15, "signal+move"),
            Target::must("explicit", 0.97, "queue"),
            Target::must("explicit-narrow", 0.97, "queue"),
            Target::aim("sparse", 1.0, "signal+move"),
        ],
    },
    Row {
        name: "pipes",
        about: "several streams at once on all cores, per core, compared with one stream",
        source: "streams between threads, row 3",
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
        about: "one read(2) of 1 GiB from the page cache into a stream pointer, compared with plain memory",
        source: "streams between threads, row 4",
        unit: Unit::GigabytesPerSecond,
        cases: &[Case { name: "1 GiB", work: Work::Read, size: GIB, quick: 16 * MIB }],
        contenders: &[
            Entry::new("plain", Way::PlainRead, "reads into huge pages that are already mapped and stay mapped"),
            Entry::new("blocks", Way::BlockRead, "one read(2) per 2 MiB block of a hand-written queue"),
            Entry::new(
                "pager+move",
                Way::StreamRead(Setting::PagerMove),
                "Eagre: reads into a stream pointer while a second thread consumes the stream",
            ),
        ],
        targets: &[Target::must("pager+move", 0.85, "plain").aiming(1.0)],
    },
    Row {
        name: "overhead",
        about: "cost of the protocol: faults, moves, context switches and processor time per gigabyte",
        source: "streams between threads, row 5: reported only",
        unit: Unit::Overhead,
        cases: &[Case { name: "8 GiB", work: Work::Pipe { streams: 1 }, size: 8 * GIB, quick: 8 * MIB }],
        contenders: &[QUEUE, CROSSBEAM, SIGNAL_MOVE, SIGNAL_REMAP, PAGER_MOVE, SIGNAL_MAP, EXPLICIT],
        targets: &[],
    },
];
