//! What came of a run: the structures that tables, records and reports are made from.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::catalogue::Figure;
use crate::interval::Estimate;
use crate::machine::Machine;
use crate::roofline::Roofline;
use crate::verdict::Verdict;

/// One contender's part in one case.
#[derive(Debug, Serialize)]
pub(crate) struct Standing {
    /// Its name.
    pub contender: &'static str,
    /// Why it could not run here.
    pub unavailable: Option<String>,
    /// Why it ran the trial only.
    pub left_out: Option<String>,
    /// What it is exactly, if the catalogue does not say it all: the version of a program, the command that was run.
    pub identity: Identity,
    /// Its rate in each round, more is better: gigabytes or moves per second, or per second and core.
    pub rates: Vec<f64>,
    /// Seconds of processor time in each round, per gigabyte, million rows or move.
    pub processor: Vec<f64>,
    /// The peak of its process's own memory in each round, MiB; empty where it has no process of its own.
    pub memory: Vec<f64>,
    /// The peak of everything its process had resident, pages of mapped files included, in each round, MiB.
    pub resident: Vec<f64>,
    /// How many threads worked on it at once.
    pub threads: usize,
    /// Median and interval in the row's unit: what tables show.
    pub shown: Option<Estimate>,
    /// Means per gigabyte, or per move, of what the process used and the contender counted.
    pub costs: BTreeMap<&'static str, f64>,
}

/// What a contender is exactly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Identity {
    /// As a program or library names its version.
    pub version: Option<String>,
    /// The command line, files by their short names.
    pub command: Option<String>,
}

impl Standing {
    /// Why it has no results, in words.
    pub(crate) fn absent(&self) -> Option<String> {
        let unavailable = self.unavailable.as_ref().map(|why| format!("not here: {why}"));
        unavailable.or_else(|| self.left_out.as_ref().map(|why| format!("left out: {why}")))
    }

    /// Its figures, round by round.
    pub(crate) fn figures(&self, figure: Figure) -> &[f64] {
        match figure {
            _ if self.absent().is_some() => &[],
            Figure::Rate => &self.rates,
            Figure::Processor => &self.processor,
            Figure::Memory => &self.memory,
        }
    }
}

/// What came of one target.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    /// Of whom.
    pub contender: &'static str,
    /// What was judged, in words: `a / b`, `a: memory, MiB`.
    pub subject: String,
    /// What was asked, in words: `>= 0.72 (aim 0.85)`.
    pub goals: String,
    /// How many rounds it stands on, where they are few.
    pub few: Option<usize>,
    /// The ratio, or the figure itself.
    pub value: Option<Estimate>,
    /// The value that separates success from failure.
    pub must: Option<f64>,
    /// What the measurement says of that.
    pub must_verdict: Option<Verdict>,
    /// The value we would like.
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
    /// How much work it was.
    pub size: u64,
    /// Whether that was less than the case is about.
    pub reduced: bool,
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
    /// Where files were made, and on what kind of file system; empty if none were.
    pub places: Vec<String>,
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
