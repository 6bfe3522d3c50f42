//! Rows about snapshots: one moment of an array, which is stored to meanwhile.

use super::{Case, Entry, GIB, KIB, Keep, MIB, Moments, Row, Target, Unit, Way, Work};
use crate::memory::Pages;

const fn keep(name: &'static str, keep: Keep, about: &'static str) -> Entry {
    Entry::new(name, Way::Moment(keep), about)
}

const fn eagre(name: &'static str, block: u64, reserved: bool, about: &'static str) -> Entry {
    keep(name, Keep::Eagre { block, reserved }, about)
}

const fn case(name: &'static str, moments: Moments) -> Case {
    Case { name, work: Work::Snapshot(moments), size: GIB, quick: 16 * MIB }
}

const CONTENDERS: &[Entry] = &[
    eagre("snapshot", 64 * KIB, true, "Eagre: a snapshot with blocks of 64 KiB, memory for copies reserved"),
    eagre("snapshot-4k", 4 * KIB, true, "Eagre: the same, blocks of 4 KiB"),
    eagre("snapshot-2m", 2 * MIB, true, "Eagre: the same, blocks of 2 MiB"),
    eagre(
        "snapshot-fresh",
        64 * KIB,
        false,
        "Eagre: blocks of 64 KiB, memory for copies taken and given back each time",
    ),
    keep("fork", Keep::Fork(Pages::Small), "a forked child that keeps the memory, pages of 4 KiB"),
    keep("fork-huge", Keep::Fork(Pages::Huge), "the same, huge pages until they are split"),
    keep("copy", Keep::Copy, "a whole copy into memory that is there, huge pages"),
    keep("private", Keep::Private, "MAP_PRIVATE of a memfd, and what was stored written back at the end"),
];

const SOURCE: &str = "rewired snapshots against fork (RUMA, section 5.3, tables 3 and 4, figure 11)";

/// The rows.
pub(super) const ROWS: &[Row] = &[
    Row {
        name: "snapshot-call",
        about: "take a snapshot of an array that was stored to at random before",
        source: SOURCE,
        unit: Unit::MicrosecondsPerSnapshot,
        cases: &[case("alone", Moments::Take { held: false }), case("another held", Moments::Take { held: true })],
        contenders: CONTENDERS,
        targets: &[
            Target::must("snapshot", 20.0, "fork").at("alone"),
            Target::must("snapshot", 1.0, "fork-huge").at("alone"),
            Target::must("snapshot", 20.0, "fork").at("another held"),
            Target::must("snapshot", 1.0, "fork-huge").at("another held"),
        ],
    },
    Row {
        name: "snapshot",
        about: "take a snapshot, store to random pages, make the snapshot readable, end it; again and again",
        source: SOURCE,
        unit: Unit::MicrosecondsPerUpdate,
        cases: &[
            case("0.1 % of pages", Moments::Update { permille: 1 }),
            case("1 % of pages", Moments::Update { permille: 10 }),
            case("10 % of pages", Moments::Update { permille: 100 }),
            case("100 % of pages", Moments::Update { permille: 1000 }),
        ],
        contenders: CONTENDERS,
        targets: &[Target::must("snapshot", 1.0, "fork").aiming(1.25)],
    },
];
