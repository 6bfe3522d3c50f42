//! Rows about sorting in memory.
//!
//! Everybody sorts the same keys in an array on the same kind of pages, in a process of its own; rates are in keys, and
//! the memory of a contender is what it takes beside the array. There are many peers and most are slow, so each case
//! begins with a trial of all of them on a part of the keys ([`super::TRIAL`]); only the strongest run the rounds that count.

use super::{By, Case, Entry, Foreign, Keys, Module, Pattern, Row, Slack, Sorting, Target, Unit, Way, Work};
use crate::memory::Pages;

const fn by(name: &'static str, by: By, about: &'static str) -> Entry {
    Entry::new(name, Way::Sort(by), about)
}

const EAGRE: Entry = by("eagre", By::Eagre(Slack::Default), "Eagre, in place; extra memory: an eighth of the keys");
const EAGRE_FREE: Entry = by("eagre-free", By::Eagre(Slack::Free), "Eagre, in place; extra memory: no limit");
const VQSORT: Entry = by("vqsort", By::Foreign(Foreign::Vqsort), "vectorised quicksort of Highway, in place");
const X86: Entry = by(
    "x86-simd-sort",
    By::Foreign(Foreign::X86SimdSort),
    "vectorised quicksort that NumPy uses, in place, with OpenMP for threads",
);
const IPS4O: Entry = by("ips4o", By::Foreign(Foreign::Ips4o), "in-place parallel super scalar samplesort");
const SPREADSORT: Entry = by("spreadsort", By::Foreign(Foreign::Spreadsort), "Boost's radix hybrid, in place");
const PDQSORT: Entry = by("pdqsort", By::Foreign(Foreign::Pdqsort), "Boost's pattern-defeating quicksort, in place");
const BLOCK_INDIRECT: Entry =
    by("block-indirect", By::Foreign(Foreign::BlockIndirect), "Boost's block_indirect_sort, in place");
const SPINSORT: Entry = by("spinsort", By::Foreign(Foreign::Spinsort), "Boost's stable merge sort");
const NUMPY: Entry = by("numpy", By::Python(Module::Numpy), "NumPy, ndarray.sort, in place");
const POLARS: Entry = by("polars", By::Python(Module::Polars), "polars, Series.sort, into a new series");
const STD: Entry = by("std", By::StdUnstable, "slice::sort_unstable, in place");
const STD_STABLE: Entry = by("std-stable", By::StdStable, "slice::sort_by_key, stable");
const EAGRE_STABLE: Entry =
    by("eagre", By::Eagre(Slack::Default), "Eagre's sort_pairs; extra memory: an eighth of the pairs");
const VORACIOUS_STABLE: Entry = by("voracious", By::Voracious, "voracious_stable_sort");
const RAYON: Entry = by("rayon", By::RayonUnstable, "rayon's par_sort_unstable, in place");
const RADSORT: Entry = by("radsort", By::Radsort, "radsort, a radix sort into a second array");
const VORACIOUS: Entry = by("voracious", By::Voracious, "voracious_radix_sort, which chooses among several algorithms");
const RDST: Entry = by("rdst", By::Rdst, "rdst, radix sorts chosen by its standard tuner");
const RDST_LOW: Entry = by("rdst-low", By::RdstLow, "rdst, radix sorts chosen by its low-memory tuner");

/// Who sorts with one thread: of Eagre's these, and all peers.
macro_rules! one {
    ($($eagre:expr),*) => {
        &[
            $($eagre,)* VQSORT, NUMPY, X86, IPS4O, PDQSORT, SPREADSORT, STD, RADSORT, VORACIOUS, RDST, RDST_LOW,
        ]
    };
}

/// Who sorts with several threads.
macro_rules! several {
    ($($eagre:expr),*) => {
        &[$($eagre,)* X86, VORACIOUS, RDST, RDST_LOW, RAYON, IPS4O, BLOCK_INDIRECT, POLARS]
    };
}

/// Of these, peers that sort in place.
const IN_PLACE: &[&str] = &["vqsort", "numpy", "x86-simd-sort", "ips4o", "pdqsort", "spreadsort", "std", "rdst-low"];

/// All peers of one thread.
const PEERS_OF_ONE: &[&str] = &[
    "vqsort",
    "numpy",
    "x86-simd-sort",
    "ips4o",
    "pdqsort",
    "spreadsort",
    "std",
    "radsort",
    "voracious",
    "rdst",
    "rdst-low",
];

/// Of these, peers one installs from a registry as they are.
const PACKAGED: &[&str] = &["voracious", "rdst", "rdst-low", "rayon", "ips4o", "block-indirect", "polars"];

/// All peers of several threads.
const PEERS_OF_SEVERAL: &[&str] =
    &["x86-simd-sort", "voracious", "rdst", "rdst-low", "rayon", "ips4o", "block-indirect", "polars"];

/// Who sorts pairs stably.
const STABLE: &[Entry] = &[EAGRE_STABLE, VORACIOUS_STABLE, STD_STABLE, SPINSORT];

/// Eagre within bounds of memory.
const SLACKS: &[Entry] = &[
    by("slack-1/16", By::Eagre(Slack::Part(16)), "Eagre; extra memory: a sixteenth of the keys"),
    by("slack-1/8", By::Eagre(Slack::Part(8)), "Eagre; extra memory: an eighth of the keys, the default"),
    by("slack-1/4", By::Eagre(Slack::Part(4)), "Eagre; extra memory: a quarter of the keys"),
    by("slack-1/1", By::Eagre(Slack::Part(1)), "Eagre; extra memory: as much as the keys"),
];

/// MiB that are no slack: stacks, code that was not needed before.
const BESIDE_SLACK: f64 = 4.0;

/// So many rounds where one takes more than half a minute.
const FEW_ROUNDS: usize = 7;

/// Keys on huge pages, all at once.
const UNIFORM: Sorting = Sorting {
    keys: Keys::U64,
    pattern: Pattern::Uniform,
    piece: u64::MAX,
    threads: 1,
    pages: Pages::Huge,
    rounds: None,
};

const fn case(name: &'static str, exponent: u32, sorting: Sorting) -> Case {
    let quick = if exponent < 12 { exponent } else { 12 };
    Case { name, work: Work::Sort(sorting), size: 1 << exponent, quick: 1 << quick }
}

/// Many pieces of 2^`exponent` keys, 2^22 keys or one piece in all.
const fn pieces(name: &'static str, exponent: u32, pattern: Pattern) -> Case {
    let all = if exponent > 22 { exponent } else { 22 };
    Case {
        name,
        work: Work::Sort(Sorting { piece: 1 << exponent, pattern, ..UNIFORM }),
        size: 1 << all,
        quick: if exponent < 12 { 1 << 12 } else { 1 << 13 },
    }
}

const fn typed(name: &'static str, exponent: u32, keys: Keys) -> Case {
    case(name, exponent, Sorting { keys, ..UNIFORM })
}

const fn skewed(name: &'static str, pattern: Pattern, threads: usize) -> Case {
    case(name, 27, Sorting { pattern, threads, ..UNIFORM })
}

const fn patterns(threads: usize) -> [Case; 7] {
    [
        skewed("zipf", Pattern::Zipf, threads),
        skewed("few distinct", Pattern::Few, threads),
        skewed("exponential", Pattern::Exponential, threads),
        skewed("sorted", Pattern::Sorted, threads),
        skewed("reversed", Pattern::Reversed, threads),
        skewed("almost all zeros", Pattern::Zeros, threads),
        skewed("half-zero bytes", Pattern::Prefixes, threads),
    ]
}

const SOURCE: &str = "the targets for sorting on rewired memory";

/// The rows.
pub(super) const ROWS: &[Row] = &[
    Row {
        name: "sort",
        about: "sort random 64-bit keys in place with one thread",
        source: SOURCE,
        unit: Unit::MegakeysPerSecond,
        cases: &[case("2^27", 27, UNIFORM), case("2^29", 29, Sorting { rounds: Some(FEW_ROUNDS), ..UNIFORM })],
        contenders: one![EAGRE, EAGRE_FREE],
        targets: &[
            Target::must_best("eagre", 1.5, IN_PLACE).aiming(2.0),
            Target::must_best("eagre-free", 1.6, PEERS_OF_ONE).aiming(2.0),
        ],
    },
    Row {
        name: "sort-threads",
        about: "sort random 64-bit keys in place with two threads",
        source: SOURCE,
        unit: Unit::MegakeysPerSecond,
        cases: &[
            case("2^27", 27, Sorting { threads: 2, ..UNIFORM }),
            case("2^29", 29, Sorting { threads: 2, rounds: Some(FEW_ROUNDS), ..UNIFORM }),
        ],
        contenders: several![EAGRE, EAGRE_FREE],
        targets: &[
            Target::must_best("eagre", 1.7, PACKAGED).at("2^27"),
            Target::must_best("eagre", 2.5, PACKAGED).at("2^29"),
            Target::must("eagre", 1.2, "x86-simd-sort").aiming(1.3),
        ],
    },
    Row {
        name: "sort-small",
        about: "sort pieces of random 64-bit keys, by piece size; in the cache if they fit; one thread",
        source: SOURCE,
        unit: Unit::MegakeysPerSecond,
        cases: &[
            pieces("2^3", 3, Pattern::Uniform),
            pieces("2^4", 4, Pattern::Uniform),
            pieces("2^5", 5, Pattern::Uniform),
            pieces("2^6", 6, Pattern::Uniform),
            pieces("2^7", 7, Pattern::Uniform),
            pieces("2^10", 10, Pattern::Uniform),
            pieces("2^14", 14, Pattern::Uniform),
            pieces("2^17", 17, Pattern::Uniform),
            pieces("2^20", 20, Pattern::Uniform),
            pieces("2^24", 24, Pattern::Uniform),
        ],
        contenders: one![EAGRE],
        targets: &[
            Target::must_best("eagre", 1.0, PEERS_OF_ONE).at("2^3"),
            Target::must_best("eagre", 1.0, PEERS_OF_ONE).at("2^4"),
            Target::must_best("eagre", 1.0, PEERS_OF_ONE).at("2^5"),
            Target::must_best("eagre", 1.0, PEERS_OF_ONE).at("2^6"),
            Target::must_best("eagre", 1.0, PEERS_OF_ONE).at("2^7"),
            Target::must_best("eagre", 1.0, PEERS_OF_ONE).at("2^10"),
            Target::must_best("eagre", 1.1, PEERS_OF_ONE).at("2^14"),
            Target::must_best("eagre", 1.1, PEERS_OF_ONE).at("2^17"),
            Target::must_best("eagre", 1.2, PEERS_OF_ONE).at("2^20"),
            Target::must_best("eagre", 1.4, PEERS_OF_ONE).at("2^24"),
        ],
    },
    Row {
        name: "sort-small-zipf",
        about: "sort pieces of 64-bit keys of a Zipf-like distribution, by piece size; in the cache; one thread",
        source: SOURCE,
        unit: Unit::MegakeysPerSecond,
        cases: &[
            pieces("2^8", 8, Pattern::Zipf),
            pieces("2^10", 10, Pattern::Zipf),
            pieces("2^14", 14, Pattern::Zipf),
            pieces("2^17", 17, Pattern::Zipf),
        ],
        contenders: one![EAGRE],
        targets: &[Target::must_best("eagre", 1.0, PEERS_OF_ONE)],
    },
    Row {
        name: "sort-small-exponential",
        about: "sort pieces of 64-bit keys of uniform bit width, by piece size; in the cache; one thread",
        source: SOURCE,
        unit: Unit::MegakeysPerSecond,
        cases: &[
            pieces("2^10", 10, Pattern::Exponential),
            pieces("2^14", 14, Pattern::Exponential),
            pieces("2^17", 17, Pattern::Exponential),
        ],
        contenders: one![EAGRE],
        targets: &[Target::must_best("eagre", 1.0, PEERS_OF_ONE)],
    },
    Row {
        name: "sort-small-prefixes",
        about: "sort pieces of 64-bit keys half of whose bytes are zero, by piece size; in the cache; one thread",
        source: SOURCE,
        unit: Unit::MegakeysPerSecond,
        cases: &[
            pieces("2^10", 10, Pattern::Prefixes),
            pieces("2^14", 14, Pattern::Prefixes),
            pieces("2^17", 17, Pattern::Prefixes),
        ],
        contenders: one![EAGRE],
        targets: &[Target::must_best("eagre", 1.0, PEERS_OF_ONE)],
    },
    Row {
        name: "sort-small-few",
        about: "sort pieces of 2^14 64-bit keys of which few are distinct; in the cache; one thread",
        source: SOURCE,
        unit: Unit::MegakeysPerSecond,
        cases: &[pieces("one of 256", 14, Pattern::Few), pieces("almost all zeros", 14, Pattern::Zeros)],
        contenders: one![EAGRE],
        targets: &[Target::must_best("eagre", 1.0, PEERS_OF_ONE)],
    },
    Row {
        name: "sort-types",
        about: "sort random keys of other types in place with one thread",
        source: SOURCE,
        unit: Unit::MegakeysPerSecond,
        cases: &[
            typed("u32, 2^28", 28, Keys::U32),
            typed("f64, 2^27", 27, Keys::F64),
            typed("(u64, u64), 2^26", 26, Keys::Pairs),
        ],
        contenders: one![EAGRE],
        targets: &[
            Target::must_best("eagre", 1.1, PEERS_OF_ONE).at("u32, 2^28"),
            Target::must_best("eagre", 1.3, PEERS_OF_ONE).at("f64, 2^27"),
            Target::must_best("eagre", 1.3, PEERS_OF_ONE).at("(u64, u64), 2^26"),
        ],
    },
    Row {
        name: "sort-skew",
        about: "sort 2^27 64-bit keys that are not uniform, one thread",
        source: SOURCE,
        unit: Unit::MegakeysPerSecond,
        cases: &patterns(1),
        contenders: one![EAGRE],
        targets: &[Target::must_best("eagre", 1.0, PEERS_OF_ONE)],
    },
    Row {
        name: "sort-skew-threads",
        about: "sort 2^27 64-bit keys that are not uniform, two threads",
        source: SOURCE,
        unit: Unit::MegakeysPerSecond,
        cases: &patterns(2),
        contenders: several![EAGRE],
        targets: &[Target::must_best("eagre", 1.0, PEERS_OF_SEVERAL)],
    },
    Row {
        name: "sort-plain",
        about: "sort random 64-bit keys in an array without huge pages, one thread",
        source: SOURCE,
        unit: Unit::MegakeysPerSecond,
        cases: &[case("2^27", 27, Sorting { pages: Pages::Small, ..UNIFORM })],
        contenders: one![EAGRE],
        targets: &[Target::must_best("eagre", 1.2, PEERS_OF_ONE)],
    },
    Row {
        name: "sort-stable",
        about: "sort 2^26 pairs (u64, u64) stably by the first number, one thread",
        source: SOURCE,
        unit: Unit::MegakeysPerSecond,
        cases: &[
            typed("random", 26, Keys::Stable),
            case("zipf", 26, Sorting { keys: Keys::Stable, pattern: Pattern::Zipf, ..UNIFORM }),
        ],
        contenders: STABLE,
        targets: &[Target::must_best("eagre", 1.5, &["voracious", "std-stable", "spinsort"])],
    },
    Row {
        name: "sort-slack",
        about: "sort 2^27 random 64-bit keys within a memory limit, measured from another process",
        source: SOURCE,
        unit: Unit::MegakeysPerSecond,
        cases: &[case("1 thread", 27, UNIFORM), case("2 threads", 27, Sorting { threads: 2, ..UNIFORM })],
        contenders: SLACKS,
        targets: &[
            Target::memory("slack-1/16", 64.0 + BESIDE_SLACK),
            Target::memory("slack-1/8", 128.0 + BESIDE_SLACK),
            Target::memory("slack-1/4", 256.0 + BESIDE_SLACK),
            Target::memory("slack-1/1", 1024.0 + BESIDE_SLACK),
        ],
    },
];
