//! Rows about streams between processes: one writes, the other reads.

use super::{Carrier, Case, Entry, GIB, KIB, MIB, Row, Target, Unit, Way, Work};

const fn case(name: &'static str, block: u64) -> Case {
    Case { name, work: Work::Processes { block }, size: 12 * GIB, quick: 16 * MIB + 4 * KIB }
}

const fn between(name: &'static str, carrier: Carrier, about: &'static str) -> Entry {
    Entry::new(name, Way::Between(carrier), about)
}

/// The rows.
pub(super) const ROWS: &[Row] = &[Row {
    name: "process-stream",
    about: "one stream between two processes: one fills the blocks, the other sums them, both with SIMD",
    source: "streams between processes",
    unit: Unit::GigabytesPerSecond,
    cases: &[case("1 MiB blocks", MIB), case("2 MiB blocks", 2 * MIB)],
    contenders: &[
        between(
            "ring",
            Carrier::Ring,
            "hand-written ring of five shared blocks, filled and summed in place: the upper bound",
        ),
        between("pipe(2)", Carrier::OsPipe, "pipe of the operating system with a buffer of 1 MiB"),
        between("socket", Carrier::Socket, "Unix stream socket"),
        Entry::new(
            "iceoryx2",
            Way::Iceoryx2,
            "blocks of shared memory loaned by a publisher of iceoryx2, five in all; both sides spin",
        ),
        between("explicit", Carrier::Explicit, "Eagre: explicit calls, default windows: five blocks"),
        between("pointer", Carrier::Pointer, "Eagre: plain pointers in both processes, default windows"),
    ],
    targets: &[
        Target::must("explicit", 0.97, "ring"),
        Target::must("pointer", 0.75, "ring"),
        Target::must("explicit", 1.0, "iceoryx2"),
        Target::must("pointer", 4.0, "pipe(2)"),
        Target::must("explicit", 4.0, "pipe(2)"),
    ],
}];
