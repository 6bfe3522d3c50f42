//! What came of a run: the structures that tables, records and reports are made from.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::machine::Machine;
use crate::roofline::Roofline;
use crate::stats::{Estimate, Verdict};

/// One contender's part in one case.
#[derive(Debug, Serialize)]
pub(crate) struct Standing {
    /// Its name.
    pub contender: &'static str,
    /// Why it could not run here.
    pub unavailable: Option<String>,
    /// Its rate in each round, more is better: gigabytes or moves per second, or per second and core.
    pub rates: Vec<f64>,
    /// Median and interval in the row's unit: what tables show.
    pub shown: Option<Estimate>,
    /// Means per gigabyte, or per move, of what the process used and the contender counted.
    pub costs: BTreeMap<&'static str, f64>,
}

/// What came of one target.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    /// Whose rate.
    pub contender: &'static str,
    /// Divided by whose.
    pub peer: &'static str,
    /// The ratio.
    pub ratio: Option<Estimate>,
    /// The least it must be.
    pub must: Option<f64>,
    /// What the measurement says of that.
    pub must_verdict: Option<Verdict>,
    /// What it would like to be.
    pub aim: Option<f64>,
    /// What the measurement says of that.
    pub aim_verdict: Option<Verdict>,
}

/// One case of a row, measured.
#[derive(Debug, Serialize)]
pub(crate) struct CaseResult {
    /// The row.
    pub row: &'static str,
    /// The case.
    pub case: &'static str,
    /// What `shown` is in.
    pub unit: &'static str,
    /// Rounds that count.
    pub pairs: usize,
    /// Whether it was run for the answers only.
    pub quick: bool,
    /// The cores other programs used meanwhile, on average.
    pub foreign: f64,
    /// Everybody who took part, in the catalogue's order.
    pub standings: Vec<Standing>,
    /// Every target of the case, in the catalogue's order.
    pub outcomes: Vec<Outcome>,
    /// Bandwidth in the same run.
    pub roofline: Roofline,
}

/// A whole run: what a record line per case and a report are made from.
#[derive(Debug, Serialize)]
pub(crate) struct Run {
    /// When it began, UTC.
    pub date: String,
    /// This program's version.
    pub version: &'static str,
    /// How it was called.
    pub command: String,
    /// Where.
    pub machine: Machine,
    /// What came of it.
    pub results: Vec<CaseResult>,
}

impl CaseResult {
    /// The targets that were missed.
    pub(crate) fn must_failed(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| outcome.must_verdict == Some(Verdict::Fail))
    }
}

impl Run {
    /// Whether any target was missed that must be reached.
    pub(crate) fn failed(&self) -> bool {
        self.results.iter().any(|result| result.must_failed().next().is_some())
    }
}
