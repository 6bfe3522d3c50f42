//! Rows about memory that grows and changes hands.

use super::{Behind, Case, Entry, GIB, Growth, Half, KIB, MIB, Row, Setting, Target, Unit, Way, Work};

const fn growing(name: &'static str, growth: Growth, about: &'static str) -> Entry {
    Entry::new(name, Way::Grow(growth), about)
}

const fn fill(name: &'static str, size: u64) -> Case {
    Case { name, work: Work::Fill, size, quick: 8 * MIB + 4 * KIB + 8 }
}

const fn array(name: &'static str, behind: Behind, about: &'static str) -> Entry {
    Entry::new(name, Way::Array(behind), about)
}

const fn vanish(name: &'static str, half: Half, size: u64) -> Case {
    Case { name, work: Work::Vanish(half), size, quick: 8 * MIB + 4 * KIB + 8 }
}

const fn scatter(name: &'static str, bits: u32) -> Case {
    Case { name, work: Work::Scatter { bits }, size: GIB, quick: 8 * MIB }
}

const PLAIN: Entry = array("plain", Behind::Plain, "preallocated buffer on huge pages");
const VANISHING: [Entry; 3] = [
    array("vanishing", Behind::Vanishing(Setting::SignalMove), "Eagre: a vanishing array, SIGSEGV and UFFDIO_MOVE"),
    array(
        "vanishing-pager",
        Behind::Vanishing(Setting::PagerMove),
        "Eagre: a vanishing array, userfaultfd and UFFDIO_MOVE",
    ),
    array("vanishing-remap", Behind::Vanishing(Setting::SignalRemap), "Eagre: a vanishing array, SIGSEGV and mremap"),
];

/// What grows, but for Eagre's.
const GROWING: &[&str] = &["vec", "vec-reserved", "mremap", "realloc", "chain"];

/// The rows.
pub(super) const ROWS: &[Row] = &[FILL_VECTOR, VANISH_WRITE, VANISH_READ, SCATTER];

const FILL_VECTOR: Row = Row {
    name: "fill-vector",
    about: "append words to a vector of unknown length, one call per word",
    source: "rewired memory: 0.85 of a preallocated buffer (Vortex, table 6), and faster than all that grow",
    unit: Unit::GigabytesPerSecond,
    cases: &[fill("1 GiB", GIB), fill("8 GiB", 8 * GIB)],
    contenders: &[
        growing("plain", Growth::Plain, "no growth: a loop over a preallocated buffer on huge pages"),
        growing("rewired", Growth::Rewired, "Eagre: a rewired vector whose pool already has its blocks, push"),
        growing(
            "rewired-appender",
            Growth::RewiredAppender,
            "Eagre: as rewired, through an appender on a vector behind a reference",
        ),
        growing("rewired-extend", Growth::RewiredExtend, "Eagre: as rewired, extend with an iterator"),
        growing("rewired-fresh", Growth::RewiredFresh, "Eagre: as rewired, on a pool that has no memory yet"),
        growing("vec", Growth::Vec, "Vec::push"),
        growing("vec-reserved", Growth::VecReserved, "Vec::with_capacity of the final length, then push"),
        growing("mremap", Growth::Mremap, "mapping on huge pages that doubles with mremap, push"),
        growing("realloc", Growth::Realloc, "memory of the C library that doubles with realloc, push"),
        growing("chain", Growth::Chain, "list of preallocated 2 MiB blocks, push; not contiguous"),
    ],
    targets: &[
        Target::must("rewired", 0.85, "plain"),
        Target::must("rewired-appender", 0.85, "plain"),
        Target::must("rewired-extend", 0.85, "plain"),
        Target::must_best("rewired", 1.0, GROWING),
        Target::must_best("rewired-fresh", 1.0, &["vec", "vec-reserved", "mremap", "realloc"]),
    ],
};

const VANISH_WRITE: Row = Row {
    name: "vanish-write",
    about: "write an array through a plain pointer, from start to end",
    source: "vanishing array, written: 0.85 of a preallocated buffer (Vortex, section 6.5)",
    unit: Unit::GigabytesPerSecond,
    cases: &[vanish("1 GiB", Half::Write, GIB), vanish("8 GiB", Half::Write, 8 * GIB)],
    contenders: &[PLAIN, VANISHING[0], VANISHING[1], VANISHING[2]],
    targets: &[Target::must("vanishing", 0.85, "plain")],
};

const VANISH_READ: Row = Row {
    name: "vanish-read",
    about: "read an array once through a plain pointer, from start to end",
    source: "vanishing array, consumed: 0.85 of a preallocated buffer (Vortex, section 6.5)",
    unit: Unit::GigabytesPerSecond,
    cases: &[vanish("1 GiB", Half::Read, GIB), vanish("8 GiB", Half::Read, 8 * GIB)],
    contenders: &[PLAIN, VANISHING[0], VANISHING[1], VANISHING[2]],
    targets: &[Target::must("vanishing", 0.85, "plain")],
};

const SCATTER: Row = Row {
    name: "scatter",
    about: "partition uniform 64-bit keys by their highest bits, one plain store per key (Vortex, Algorithm 9)",
    source: "Algorithm 9 on plain pointers with faults: 0.85 of preallocated buckets (Vortex, table 7)",
    unit: Unit::GigabytesPerSecond,
    cases: &[scatter("256 ways", 8), scatter("512 ways", 9)],
    contenders: &[
        array("preallocated", Behind::Plain, "preallocated buckets of known size on huge pages"),
        VANISHING[0],
        VANISHING[1],
        VANISHING[2],
    ],
    targets: &[Target::must("vanishing", 0.85, "preallocated")],
};
