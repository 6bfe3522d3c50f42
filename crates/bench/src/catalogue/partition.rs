//! Rows about partitioning.

use super::{Buckets, Case, Entry, Row, Target, Unit, Way, Work};

const fn entry(name: &'static str, buckets: Buckets, about: &'static str) -> Entry {
    Entry::new(name, Way::Partition(buckets), about)
}

const fn case(name: &'static str, bits: u32) -> Case {
    Case { name, work: Work::Partition { bits }, size: 1 << 27, quick: (1 << 20) + 77 }
}

/// The rows.
pub(super) const ROWS: &[Row] = &[Row {
    name: "partition",
    about: "partition uniform 64-bit keys by their highest bits, one thread",
    source: "partition in one pass: 0.95 of preallocated buckets, 1.5 times two passes (RUMA; Vortex, table 7)",
    unit: Unit::MegakeysPerSecond,
    cases: &[case("256 ways", 8), case("512 ways", 9)],
    contenders: &[
        entry(
            "preallocated",
            Buckets::Preallocated,
            "buckets of known size, software write-combining: the upper bound",
        ),
        entry("eagre", Buckets::Eagre, "Eagre: one pass, each bucket takes rewired blocks as it fills"),
        entry("eagre-dense", Buckets::EagreDense, "Eagre: one pass, then all buckets in one array"),
        entry("eagre-vanishing", Buckets::EagreVanishing, "Eagre: one pass over a vector that vanishes as it is read"),
        entry("two-pass", Buckets::TwoPass, "a counting pass, then one store per key into one array"),
        entry(
            "two-pass-combining",
            Buckets::TwoPassCombining,
            "a counting pass, then software write-combining into one array",
        ),
        entry(
            "chunks",
            Buckets::Chunks,
            "buckets of 64 KiB chunks from the allocator, software write-combining; not contiguous",
        ),
        entry("vecs", Buckets::Vecs, "a Vec per bucket, a push per key"),
    ],
    targets: &[
        Target::must("eagre", 0.95, "preallocated"),
        Target::must("eagre", 1.5, "two-pass"),
        Target::aim("eagre", 1.5, "two-pass-combining"),
        Target::must_best("eagre", 1.0, &["chunks", "vecs"]),
    ],
}];
