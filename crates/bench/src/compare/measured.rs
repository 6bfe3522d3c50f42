//! One side of a comparison: what a record says, or what several runs of a build said.

use serde::Deserialize;

use crate::machine::Machine;

/// Cases in the order in which they were measured.
#[derive(Default)]
pub(super) struct Measured {
    pub machines: Vec<String>,
    pub cases: Vec<Case>,
}

/// Of a line of a record, or of a case of a run, what a comparison needs.
#[derive(Clone, Deserialize)]
pub(super) struct Case {
    pub row: String,
    pub case: String,
    pub unit: String,
    pub size: u64,
    #[serde(default)]
    pub quick: bool,
    /// How many cores other programs used meanwhile, on average.
    #[serde(default)]
    pub foreign: f64,
    pub standings: Vec<Standing>,
}

/// One contender of a case.
#[derive(Clone, Deserialize)]
pub(super) struct Standing {
    pub contender: String,
    pub unavailable: Option<String>,
    pub left_out: Option<String>,
    /// Its speed in each round: more is better, whatever the unit.
    pub rates: Vec<f64>,
}

/// What `run --json` prints.
#[derive(Deserialize)]
struct Run {
    machine: Machine,
    results: Vec<Case>,
}

/// A line of a record.
#[derive(Deserialize)]
struct Line {
    machine: Machine,
    #[serde(flatten)]
    case: Case,
}

impl Measured {
    /// What `text` says: a record, or the output of `run --json`. Of a case that was measured more than once, the last
    /// measurement counts.
    pub(super) fn read(text: &str) -> Result<Measured, String> {
        let mut measured = Measured::default();
        for item in serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>() {
            let (machine, cases) =
                item.and_then(parse).map_err(|e| format!("not a record that 'eagre-bench run' wrote: {e}"))?;
            measured.machines.push(machine.line());
            for case in cases {
                measured.cases.retain(|other| (&other.row, &other.case) != (&case.row, &case.case));
                measured.cases.push(case);
            }
        }
        measured.machines.dedup();
        if measured.cases.is_empty() { Err("a record without results".into()) } else { Ok(measured) }
    }

    /// Adds the rounds of `other` to those of the same cells.
    pub(super) fn append(&mut self, other: Measured) {
        self.machines.extend(other.machines);
        self.machines.dedup();
        for case in other.cases {
            let Some(here) = self.cases.iter_mut().find(|here| (&here.row, &here.case) == (&case.row, &case.case))
            else {
                self.cases.push(case);
                continue;
            };
            for more in case.standings {
                match here.standings.iter_mut().find(|standing| standing.contender == more.contender) {
                    Some(standing) => {
                        standing.rates.extend(more.rates);
                        standing.unavailable = standing.unavailable.take().or(more.unavailable);
                        standing.left_out = standing.left_out.take().or(more.left_out);
                    }
                    None => here.standings.push(more),
                }
            }
        }
    }

    /// The same case on this side.
    pub(super) fn find(&self, case: &Case) -> Option<&Case> {
        self.cases.iter().find(|other| (&other.row, &other.case) == (&case.row, &case.case))
    }

    /// Its rows with their contenders.
    pub(super) fn names(&self) -> Vec<(String, Vec<String>)> {
        let names = |case: &Case| case.standings.iter().map(|standing| standing.contender.clone()).collect();
        self.cases.iter().map(|case| (case.row.clone(), names(case))).collect()
    }
}

fn parse(item: serde_json::Value) -> serde_json::Result<(Machine, Vec<Case>)> {
    if item.get("results").is_some() {
        let run: Run = serde_json::from_value(item)?;
        return Ok((run.machine, run.results));
    }
    let line: Line = serde_json::from_value(item)?;
    Ok((line.machine, vec![line.case]))
}

impl Case {
    /// The contender called `name`.
    pub(super) fn find(&self, name: &str) -> Option<&Standing> {
        self.standings.iter().find(|standing| standing.contender == name)
    }
}

impl Standing {
    /// Why it has no speed, if it has none.
    pub(super) fn absent(&self) -> Option<String> {
        let unavailable = self.unavailable.as_ref().map(|why| format!("not here: {why}"));
        let absent = unavailable.or_else(|| self.left_out.as_ref().map(|why| format!("left out: {why}")));
        absent.or_else(|| self.rates.is_empty().then(|| "no rounds".into()))
    }
}
