//! Rows about rewiring itself: what it costs to give blocks other addresses, and what memory is worth afterwards.
//!
//! They ask what RUMA's micro-benchmarks ask, of every kind of page a pool could be made of: what a mapping costs, made at
//! once or by faults; what the first and the second touch of a page cost; and how fast memory is that is wired in no order.

use super::{Case, Entry, FilePages, Fill, KIB, MIB, Rewiring, Row, Target, Timed, Unit, Way, Wiring, Work};
use crate::memory::Pages;

/// How the names of these rows begin: the group that `eagre-bench rewire` runs.
pub(crate) const PREFIX: &str = "rewire-";

const SOURCE: &str = "the experiments of RUMA's figures 5 and 6 and tables 1 and 2; target: a region costs no more than the calls it makes";

const fn wired(name: &'static str, wiring: Wiring, about: &'static str) -> Entry {
    Entry::new(name, Way::Wired(wiring), about)
}

const fn case(name: &'static str, block: u64, timed: Timed) -> Case {
    // 16,384 mappings of 4 KiB: within what a process gets, twice over.
    let size = if block < 64 * KIB { 64 * MIB } else { 256 * MIB };
    Case { name, work: Work::Rewire(Rewiring { block, timed }), size, quick: 8 * MIB }
}

const fn file(name: &'static str, pages: FilePages, fill: Fill, about: &'static str) -> Entry {
    wired(name, Wiring::File { pages, fill }, about)
}

const COPIED_HUGE: Entry =
    wired("copied", Wiring::Copied(Pages::Huge), "not rewired: blocks copied into place, on huge pages");
const COPIED_SMALL: Entry =
    wired("copied-small", Wiring::Copied(Pages::Small), "not rewired: blocks copied into place, on 4 KiB pages");
const DIRECTORY: Entry =
    wired("directory", Wiring::Directory, "not rewired: a table of block addresses, on huge pages");
const MREMAP: Entry = wired("mremap", Wiring::Mremap(Pages::Huge), "anonymous huge pages, mremap");
const MREMAP_SMALL: Entry = wired("mremap-small", Wiring::Mremap(Pages::Small), "anonymous 4 KiB pages, mremap");
const MOVE: Entry = wired("move", Wiring::UffdioMove(Pages::Huge), "anonymous huge pages, UFFDIO_MOVE");
const MOVE_SMALL: Entry = wired("move-small", Wiring::UffdioMove(Pages::Small), "anonymous 4 KiB pages, UFFDIO_MOVE");
const EAGRE: Entry = wired("region", Wiring::Eagre, "Eagre: blocks of a pool, Region::map");
const MEMFD: Entry =
    file("memfd", FilePages::Small, Fill::Lazily, "memfd of 4 KiB pages, mmap; faults fill the page table");
const MEMFD_AT_ONCE: Entry =
    file("memfd-populate", FilePages::Small, Fill::AtOnce, "memfd of 4 KiB pages, mmap with MAP_POPULATE");
const COLLAPSED: Entry = file(
    "collapsed",
    FilePages::Collapsed,
    Fill::Lazily,
    "memfd collapsed to huge pages, mmap; faults fill the page table",
);
const COLLAPSED_AT_ONCE: Entry = file(
    "collapsed-populate",
    FilePages::Collapsed,
    Fill::AtOnce,
    "memfd collapsed to huge pages, mmap with MAP_POPULATE",
);
const HUGETLB: Entry =
    file("hugetlb", FilePages::Hugetlb, Fill::Lazily, "memfd of reserved huge pages, mmap; faults fill the page table");
const HUGETLB_AT_ONCE: Entry =
    file("hugetlb-populate", FilePages::Hugetlb, Fill::AtOnce, "memfd of reserved huge pages, mmap with MAP_POPULATE");
const FRESH_HUGE: Entry =
    wired("fresh", Wiring::Fresh(Pages::Huge), "not rewired: fresh huge pages, not touched before");
const FRESH_SMALL: Entry =
    wired("fresh-small", Wiring::Fresh(Pages::Small), "not rewired: fresh 4 KiB pages, not touched before");

/// Those whose memory is the same once it is wired and touched stand for each other.
const READERS: &[Entry] = &[COPIED_HUGE, COPIED_SMALL, DIRECTORY, EAGRE, MREMAP_SMALL, MEMFD, COLLAPSED, HUGETLB];

/// The rows.
pub(super) const ROWS: &[Row] = &[
    Row {
        name: "rewire-map",
        about: "rewire many blocks to other addresses, in random order",
        source: SOURCE,
        unit: Unit::MicrosecondsPerMove,
        cases: &[
            case("2 MiB blocks", 2 * MIB, Timed::Wiring),
            case("64 KiB blocks", 64 * KIB, Timed::Wiring),
            case("4 KiB blocks", 4 * KIB, Timed::Wiring),
        ],
        contenders: &[
            COPIED_HUGE,
            DIRECTORY,
            EAGRE,
            MOVE,
            MOVE_SMALL,
            MREMAP,
            MREMAP_SMALL,
            MEMFD,
            MEMFD_AT_ONCE,
            COLLAPSED,
            COLLAPSED_AT_ONCE,
            HUGETLB,
            HUGETLB_AT_ONCE,
        ],
        targets: &[Target::must("region", 0.8, "move").at("2 MiB blocks")],
    },
    Row {
        name: "rewire-touch",
        about: "write one word to each 4 KiB of blocks that were rewired in random order",
        source: SOURCE,
        unit: Unit::NanosecondsPerAccess,
        cases: &[
            case("first pass, 2 MiB blocks", 2 * MIB, Timed::Pass { before: 0 }),
            case("second pass, 2 MiB blocks", 2 * MIB, Timed::Pass { before: 1 }),
            case("first pass, 4 KiB blocks", 4 * KIB, Timed::Pass { before: 0 }),
            case("second pass, 4 KiB blocks", 4 * KIB, Timed::Pass { before: 1 }),
        ],
        contenders: &[
            COPIED_HUGE,
            COPIED_SMALL,
            FRESH_HUGE,
            FRESH_SMALL,
            DIRECTORY,
            EAGRE,
            MREMAP_SMALL,
            MEMFD,
            MEMFD_AT_ONCE,
            COLLAPSED,
            COLLAPSED_AT_ONCE,
            HUGETLB,
            HUGETLB_AT_ONCE,
        ],
        targets: &[],
    },
    Row {
        name: "rewire-scan",
        about: "scan blocks that were rewired in random order, in address order",
        source: SOURCE,
        unit: Unit::GigabytesPerSecond,
        cases: &[
            case("2 MiB blocks", 2 * MIB, Timed::Scan),
            case("64 KiB blocks", 64 * KIB, Timed::Scan),
            case("4 KiB blocks", 4 * KIB, Timed::Scan),
        ],
        contenders: READERS,
        targets: &[Target::must("region", 0.95, "copied").at("2 MiB blocks")],
    },
    Row {
        name: "rewire-random",
        about: "read one word of each cache line, in random order, from blocks that were rewired in random order",
        source: SOURCE,
        unit: Unit::NanosecondsPerAccess,
        cases: &[
            case("independent, 2 MiB blocks", 2 * MIB, Timed::Random { dependent: false }),
            case("independent, 64 KiB blocks", 64 * KIB, Timed::Random { dependent: false }),
            case("independent, 4 KiB blocks", 4 * KIB, Timed::Random { dependent: false }),
            case("dependent, 2 MiB blocks", 2 * MIB, Timed::Random { dependent: true }),
            case("dependent, 64 KiB blocks", 64 * KIB, Timed::Random { dependent: true }),
            case("dependent, 4 KiB blocks", 4 * KIB, Timed::Random { dependent: true }),
        ],
        contenders: READERS,
        targets: &[
            Target::must("region", 0.95, "copied").at("dependent, 2 MiB blocks"),
            Target::must("region", 0.95, "directory").aiming(1.0).at("dependent, 2 MiB blocks"),
        ],
    },
];
