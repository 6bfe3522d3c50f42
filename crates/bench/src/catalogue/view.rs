//! Rows about views: blocks in another order as one slice, and a directory that doubles by showing itself twice.

use super::{Case, Directory, Entry, GIB, Hashing, KIB, MIB, Rewiring, Row, Target, Timed, Unit, Way, Wiring, Work};
use crate::memory::Pages;

const fn wired(name: &'static str, wiring: Wiring, about: &'static str) -> Entry {
    Entry::new(name, Way::Wired(wiring), about)
}

const fn case(name: &'static str, timed: Timed) -> Case {
    Case { name, work: Work::Rewire(Rewiring { block: 2 * MIB, timed }), size: GIB, quick: 16 * MIB }
}

const fn hashed(hashing: Hashing) -> Case {
    Case { name: "4 M keys", work: Work::Hash(hashing), size: 4 << 20, quick: 1 << 16 }
}

const READERS: &[Entry] = &[
    wired("view", Wiring::View, "Eagre: a view of blocks of an array"),
    wired("copied", Wiring::Copied(Pages::Huge), "blocks copied into place, on huge pages that are there"),
    wired("directory", Wiring::Directory, "a table of block addresses, on huge pages"),
];

const DIRECTORIES: &[Entry] = &[
    Entry::new("rewired", Way::Hash(Directory::Eagre { block: 64 * KIB }), "Eagre: an array with blocks of 64 KiB"),
    Entry::new("rewired-4k", Way::Hash(Directory::Eagre { block: 4 * KIB }), "Eagre: the same, blocks of 4 KiB"),
    Entry::new("vec", Way::Hash(Directory::Vec), "a Vec, which copies"),
];

const VIEWS: &str = "views of blocks in any order (RUMA, section 6)";
const HASHING: &str = "an extendible hash directory that doubles by rewiring (RUMA, section 6)";

/// The rows.
pub(super) const ROWS: &[Row] = &[
    Row {
        name: "view",
        about: "read shuffled blocks of 2 MiB in order",
        source: VIEWS,
        unit: Unit::GigabytesPerSecond,
        cases: &[case("in order", Timed::Scan), case("made and read once", Timed::WiringAndScan)],
        contenders: READERS,
        targets: &[
            Target::must("view", 0.95, "copied").at("in order"),
            Target::must("view", 1.0, "copied").at("made and read once"),
        ],
    },
    Row {
        name: "view-random",
        about: "read one word of each cache line of shuffled blocks of 2 MiB, in random order",
        source: VIEWS,
        unit: Unit::NanosecondsPerAccess,
        cases: &[
            case("independent", Timed::Random { dependent: false }),
            case("dependent", Timed::Random { dependent: true }),
        ],
        contenders: READERS,
        targets: &[Target::must("view", 0.95, "copied"), Target::aim("view", 1.0, "directory")],
    },
    Row {
        name: "hash-directory",
        about: "look up all keys of an extendible hash table",
        source: HASHING,
        unit: Unit::NanosecondsPerAccess,
        cases: &[hashed(Hashing::Lookups)],
        contenders: DIRECTORIES,
        targets: &[Target::must("rewired", 1.0, "vec")],
    },
    Row {
        name: "hash-directory-double",
        about: "double the directory of an extendible hash table, each time that inserts ask for it",
        source: HASHING,
        unit: Unit::MicrosecondsPerDoubling,
        cases: &[hashed(Hashing::Doublings)],
        contenders: DIRECTORIES,
        targets: &[Target::must("rewired", 5.0, "vec")],
    },
    Row {
        name: "hash-directory-insert",
        about: "insert all keys into an extendible hash table",
        source: HASHING,
        unit: Unit::MegakeysPerSecond,
        cases: &[hashed(Hashing::Inserts)],
        contenders: DIRECTORIES,
        targets: &[],
    },
];
