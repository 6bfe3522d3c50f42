//! The ratio of each cell, and what cannot be compared.

use serde::Serialize;

use super::measured::{Case, Measured, Standing};
use super::{FEWEST_ROUNDS, Filter, SIDES};
use crate::catalogue::Unit;
use crate::interval::{self, Estimate};

/// A cell whose whole interval lies below this is slower: builds of the same code already differ by a few percent, by
/// where the linker puts a loop.
pub(super) const SLOWER: f64 = 0.95;

/// What is said of the cells that both sides have.
#[derive(Serialize)]
pub(super) struct Comparison {
    /// What cannot be compared, or only with care; a line each.
    pub notes: Vec<String>,
    /// Worst first.
    pub cells: Vec<Cell>,
}

/// One contender in one case of a row, on both sides.
#[derive(Serialize)]
pub(super) struct Cell {
    pub row: String,
    pub case: String,
    pub contender: String,
    /// The speed of NEW divided by that of OLD.
    pub ratio: Estimate,
    pub verdict: Verdict,
    /// The medians of OLD and NEW, in `unit`.
    pub medians: [f64; 2],
    pub unit: String,
}

/// What the ratio of a cell says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Verdict {
    /// The whole interval lies below [`SLOWER`].
    Slower,
    /// It does not.
    NotSlower,
    /// There are too few rounds for an interval.
    TooFewRounds,
}

impl Verdict {
    /// As the table writes it.
    pub(super) fn mark(self) -> &'static str {
        match self {
            Verdict::Slower => "slower",
            Verdict::NotSlower => "",
            Verdict::TooFewRounds => "too few rounds",
        }
    }
}

impl Cell {
    pub(super) fn is_slower(&self) -> bool {
        self.verdict == Verdict::Slower
    }
}

/// Compares the cells of both sides that `filter` lets through.
pub(super) fn compare(sides: &[Measured; 2], filter: &Filter) -> Comparison {
    let [old, new] = sides;
    let mut notes = Vec::new();
    if old.machines != new.machines {
        let [a, b] = [old, new].map(|side| side.machines.join(" and "));
        notes.push(format!("the machines differ, and the ratios include that; OLD: {a}; NEW: {b}"));
    }
    for (side, here, there) in [(SIDES[0], old, new), (SIDES[1], new, old)] {
        notes.extend(only(side, here, there, filter));
    }
    let mut cells = Vec::new();
    for case in old.cases.iter().filter(|case| filter.row(&case.row)) {
        let Some(next) = new.find(case) else { continue };
        if let Some(why) = not_alike(case, next) {
            notes.push(format!("{}, {}: not compared: {why}", case.row, case.case));
            continue;
        }
        let standings = case.standings.iter().filter(|standing| filter.contender(&case.row, &standing.contender));
        cells.extend(standings.filter_map(|standing| cell(case, standing, next.find(&standing.contender)?)));
    }
    cells.sort_by(|a, b| a.ratio.median.total_cmp(&b.ratio.median));
    Comparison { notes, cells }
}

/// What `here` has and `there` has not: a line for each row, case or contender.
fn only(side: &str, here: &Measured, there: &Measured, filter: &Filter) -> Vec<String> {
    let mut lines = Vec::new();
    for case in here.cases.iter().filter(|case| filter.row(&case.row)) {
        let asked = |standing: &&Standing| filter.contender(&case.row, &standing.contender);
        if !case.standings.iter().any(|standing| asked(&standing)) {
            continue;
        }
        if there.cases.iter().all(|other| other.row != case.row) {
            lines.push(format!("{}: only {side} has this row", case.row));
            continue;
        }
        let place = format!("{}, {}", case.row, case.case);
        let Some(other) = there.find(case) else {
            lines.push(format!("{place}: only {side} has this case"));
            continue;
        };
        for standing in case.standings.iter().filter(asked) {
            let name = &standing.contender;
            match other.find(name).map(Standing::absent) {
                None => lines.push(format!("{place}: only {side} has the contender {name}")),
                Some(Some(why)) if standing.absent().is_none() => {
                    lines.push(format!("{place}: only {side} has results of {name}; the other side: {why}"));
                }
                Some(_) => {}
            }
        }
    }
    lines.dedup();
    lines
}

/// Why two measurements of the same case are of different things.
fn not_alike(old: &Case, new: &Case) -> Option<String> {
    if old.quick || new.quick {
        return Some("a quick run measures nothing".into());
    }
    if old.unit != new.unit {
        return Some(format!("OLD measured {}, NEW {}", old.unit, new.unit));
    }
    (old.size != new.size).then(|| format!("OLD is of size {}, NEW of size {}", old.size, new.size))
}

fn cell(case: &Case, old: &Standing, new: &Standing) -> Option<Cell> {
    if old.absent().is_some() || new.absent().is_some() {
        return None;
    }
    let ratios: Vec<f64> = old.rates.iter().zip(&new.rates).map(|(old, new)| new / old).collect();
    let ratio = interval::estimate(&ratios)?;
    let verdict = match () {
        () if ratio.pairs < FEWEST_ROUNDS => Verdict::TooFewRounds,
        () if ratio.high < SLOWER => Verdict::Slower,
        () => Verdict::NotSlower,
    };
    let unit = Unit::named(&case.unit);
    let median = |rates: &[f64]| {
        let median = interval::estimate(rates)?.median;
        Some(unit.map_or(median, |unit| unit.shown(median)))
    };
    Some(Cell {
        row: case.row.clone(),
        case: case.case.clone(),
        contender: old.contender.clone(),
        ratio,
        verdict,
        medians: [median(&old.rates)?, median(&new.rates)?],
        unit: case.unit.clone(),
    })
}
