//! A comparison as a table for a terminal.

use std::path::Path;

use super::SIDES;
use super::cells::{Cell, Comparison, SLOWER};
use crate::figures::number;

pub(super) fn table(paths: [&Path; 2], comparison: &Comparison) -> String {
    let mut out = String::new();
    for (side, path) in SIDES.iter().zip(paths) {
        out += &format!("{side}: {}\n", path.display());
    }
    for note in &comparison.notes {
        out += &format!("note: {note}\n");
    }
    out += "\nspeed of NEW / OLD, median [90 % interval], worst first\n";
    let places: Vec<_> = comparison.cells.iter().map(place).collect();
    let width = places.iter().map(|place| place.chars().count()).max().unwrap_or(0);
    for (cell, place) in comparison.cells.iter().zip(places) {
        let ratio = &cell.ratio;
        let mark = cell.verdict.mark();
        let [old, new] = cell.medians.map(number);
        let line = format!(
            "  {:.3} [{:.3}, {:.3}]  {place:width$}  {old} -> {new} {}  {mark}",
            ratio.median, ratio.low, ratio.high, cell.unit
        );
        out += line.trim_end();
        out += "\n";
    }
    let slower = comparison.cells.iter().filter(|cell| cell.is_slower()).count();
    let count = comparison.cells.len();
    let cells = if count == 1 { "cell" } else { "cells" };
    out += &format!("{count} {cells}, {slower} slower (whole interval below {SLOWER})\n");
    out
}

fn place(cell: &Cell) -> String {
    format!("{}, {}: {}", cell.row, cell.case, cell.contender)
}
