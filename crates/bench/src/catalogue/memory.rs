//! Rows about memory that grows and changes hands.

use super::{Case, Entry, GIB, KIB, MIB, Row, Target, Unit, Way, Work};
use crate::contenders::grow::Growth;

const fn growing(name: &'static str, growth: Growth, about: &'static str) -> Entry {
    Entry::new(name, Way::Grow(growth), about)
}

const fn fill(name: &'static str, size: u64) -> Case {
    Case { name, work: Work::Fill, size, quick: 8 * MIB + 4 * KIB + 8 }
}

/// What grows, but for Eagre's.
const GROWING: &[&str] = &["vec", "vec-reserved", "mremap", "realloc", "chain"];

/// The rows.
pub(super) const ROWS: &[Row] = &[Row {
    name: "fill-vector",
    about: "append words to a vector of unknown length, one call each",
    source: "rewired memory: 0.85 of a plain buffer that is there beforehand (RUMA, table 6), best of all that grow",
    unit: Unit::GigabytesPerSecond,
    cases: &[fill("1 GiB", GIB), fill("8 GiB", 8 * GIB)],
    contenders: &[
        growing("plain", Growth::Plain, "no growth: a buffer on huge pages that are there, a loop over it"),
        growing("rewired", Growth::Rewired, "Eagre: a rewired vector on a pool whose blocks are there, push"),
        growing(
            "rewired-appender",
            Growth::RewiredAppender,
            "the same through an appender, on a vector of the caller's",
        ),
        growing("rewired-extend", Growth::RewiredExtend, "the same, extend with an iterator"),
        growing("rewired-fresh", Growth::RewiredFresh, "the same, push, on a pool that has no memory yet"),
        growing("vec", Growth::Vec, "Vec, push"),
        growing("vec-reserved", Growth::VecReserved, "Vec::with_capacity of the final length, push"),
        growing("mremap", Growth::Mremap, "a mapping on huge pages that doubles with mremap, push"),
        growing("realloc", Growth::Realloc, "memory of the C library that doubles with realloc, push"),
        growing("chain", Growth::Chain, "a list of 2 MiB blocks that are there, push; not contiguous"),
    ],
    targets: &[
        Target::must("rewired", 0.85, "plain"),
        Target::must("rewired-appender", 0.85, "plain"),
        Target::must("rewired-extend", 0.85, "plain"),
        Target::must_best("rewired", 1.0, GROWING),
        Target::must_best("rewired-fresh", 1.0, &["vec", "vec-reserved", "mremap", "realloc"]),
    ],
}];
