//! Reading records again.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use crate::catalogue::{Row, row};
use crate::interval;
use crate::machine::Machine;
use crate::outcome::{CaseResult, Identity, Run, Standing};
use crate::roofline::Roofline;
use crate::runner::outcomes;
use crate::timeline::Span;

/// A case, and the run it is from.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// When the run began, UTC.
    pub date: String,
    /// The version of the program, and its build.
    pub version: String,
    pub build: String,
    /// The command line.
    pub command: String,
    /// Where it ran.
    pub machine: Machine,
    /// The directories in which files were made.
    pub places: Vec<String>,
    /// What was measured, judged by the targets of today.
    pub result: CaseResult,
}

#[derive(Deserialize)]
struct Line {
    date: String,
    version: String,
    #[serde(default)]
    build: String,
    #[serde(default)]
    command: String,
    machine: Machine,
    places: Vec<String>,
    row: String,
    case: String,
    size: u64,
    #[serde(default)]
    reduced: bool,
    pairs: usize,
    #[serde(default)]
    quick: bool,
    #[serde(default)]
    foreign: f64,
    standings: Vec<Part>,
    roofline: Roofline,
}

/// A contender's part.
#[derive(Deserialize)]
struct Part {
    contender: String,
    unavailable: Option<String>,
    left_out: Option<String>,
    #[serde(default)]
    identity: Identity,
    rates: Vec<f64>,
    processor: Vec<f64>,
    memory: Vec<f64>,
    resident: Vec<f64>,
    threads: usize,
    costs: BTreeMap<String, f64>,
    #[serde(default)]
    timeline: Vec<Span>,
}

/// What the lines of `text` say. Rows, cases and contenders that the catalogue no longer has are left out. An error says which
/// line is none.
pub(crate) fn read(text: &str) -> Result<Vec<Recorded>, String> {
    let mut all: Vec<Recorded> = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line: Line = serde_json::from_str(line)
            .map_err(|e| format!("line {}: not a record that 'eagre-bench' wrote: {e}", number + 1))?;
        all.extend(known(line));
    }
    Ok(all)
}

/// The cases of a run.
pub(crate) fn of_run(run: Run) -> Vec<Recorded> {
    let recorded = |result| Recorded {
        date: run.date.clone(),
        version: run.version.clone(),
        build: run.build.clone(),
        command: run.command.clone(),
        machine: run.machine.clone(),
        places: run.places.clone(),
        result,
    };
    run.results.into_iter().map(recorded).collect()
}

fn known(line: Line) -> Option<Recorded> {
    let row = row(&line.row)?;
    let case = row.cases.iter().find(|case| case.name == line.case)?;
    let standings: Vec<_> = line.standings.into_iter().filter_map(|part| standing(row, part)).collect();
    let outcomes = if line.quick { Vec::new() } else { outcomes(row, case, line.size, &standings, &line.roofline) };
    Some(Recorded {
        date: line.date,
        version: line.version,
        build: line.build,
        command: line.command,
        machine: line.machine,
        places: line.places,
        result: CaseResult {
            row: row.name,
            case: case.name,
            unit: row.unit.name(),
            size: line.size,
            reduced: line.reduced,
            pairs: line.pairs,
            quick: line.quick,
            foreign: line.foreign,
            standings,
            outcomes,
            roofline: line.roofline,
        },
    })
}

fn standing(row: &Row, part: Part) -> Option<Standing> {
    let entry = row.contenders.iter().find(|entry| entry.name == part.contender)?;
    let shown: Vec<f64> = part.rates.iter().map(|rate| row.unit.shown(*rate)).collect();
    Some(Standing {
        contender: entry.name,
        unavailable: part.unavailable,
        left_out: part.left_out,
        identity: part.identity,
        shown: interval::estimate(&shown),
        rates: part.rates,
        processor: part.processor,
        memory: part.memory,
        resident: part.resident,
        threads: part.threads,
        costs: part.costs.into_iter().map(|(name, value)| (Cow::Owned(name), value)).collect(),
        timeline: part.timeline,
    })
}
