//! The results of a run: the structures that tables, records and reports are made from.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::catalogue::Figure;
use crate::interval::Estimate;
use crate::machine::Machine;
use crate::roofline::Roofline;
use crate::timeline::Span;
use crate::verdict::Verdict;

/// One contender's part in one case.
#[derive(Debug, Serialize)]
pub(crate) struct Standing {
    /// The name of the contender.
    pub contender: &'static str,
    /// Why it could not run here.
    pub unavailable: Option<String>,
    /// Why it took part in the trial only.
    pub left_out: Option<String>,
    /// Its version and command line, where the catalogue does not give them.
    pub identity: Identity,
    /// Its speed in each round, in gigabytes, moves or rows per second, or per second and core. More is better.
    pub rates: Vec<f64>,
    /// Seconds of processor time in each round, per gigabyte, million rows or move.
    pub processor: Vec<f64>,
    /// Peak memory of its process in each round, in MiB, without mapped files. Empty if it has no process of its own.
    pub memory: Vec<f64>,
    /// Peak resident memory of its process in each round, in MiB, with mapped files.
    pub resident: Vec<f64>,
    /// How many threads worked at once.
    pub threads: usize,
    /// Median and interval of its speed in the unit of the row, as tables show it.
    pub shown: Option<Estimate>,
    /// Mean costs per gigabyte or per move: what the process used and what the contender counted.
    pub costs: BTreeMap<Cow<'static, str>, f64>,
    /// What it did at which time in its last round, if it tells.
    pub timeline: Vec<Span>,
}

/// The exact version and command line of a contender.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// The version as the program or library prints it.
    pub version: Option<String>,
    /// The command line, with short names for files.
    pub command: Option<String>,
}

impl Standing {
    /// Why it has no results, if it has none.
    pub(crate) fn absent(&self) -> Option<String> {
        let unavailable = self.unavailable.as_ref().map(|why| format!("not here: {why}"));
        unavailable.or_else(|| self.left_out.as_ref().map(|why| format!("left out: {why}")))
    }

    /// The values of `figure`, round by round.
    pub(crate) fn figures(&self, figure: Figure) -> &[f64] {
        match figure {
            _ if self.absent().is_some() => &[],
            Figure::Rate => &self.rates,
            Figure::Processor => &self.processor,
            Figure::Memory => &self.memory,
        }
    }
}

/// The result of one target.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    /// The contender that the target is about.
    pub contender: &'static str,
    /// What was judged: `a / b`, `a: memory, MiB`.
    pub subject: String,
    /// What was asked for: `>= 0.72 (aim 0.85)`.
    pub goals: String,
    /// The number of rounds, if there were fewer than a verdict usually takes.
    pub few: Option<usize>,
    /// The ratio, or the figure itself if the target compares it with nothing.
    pub value: Option<Estimate>,
    /// The value that separates success from failure.
    pub must: Option<f64>,
    /// The verdict on `must`.
    pub must_verdict: Option<Verdict>,
    /// The value we would like.
    pub aim: Option<f64>,
    /// The verdict on `aim`.
    pub aim_verdict: Option<Verdict>,
}

/// One case of a row, measured.
#[derive(Debug, Serialize)]
pub(crate) struct CaseResult {
    /// The name of the row.
    pub row: &'static str,
    /// The name of the case.
    pub case: &'static str,
    /// The unit of `shown`.
    pub unit: &'static str,
    /// The size of the work.
    pub size: u64,
    /// Whether that is less than the catalogue asks for.
    pub reduced: bool,
    /// The number of rounds that count.
    pub pairs: usize,
    /// Whether the run checked the answers only.
    pub quick: bool,
    /// How many cores other programs used meanwhile, on average.
    pub foreign: f64,
    /// All contenders, in the order of the catalogue.
    pub standings: Vec<Standing>,
    /// All targets of the case, in the order of the catalogue.
    pub outcomes: Vec<Outcome>,
    /// Bandwidths measured in the same run.
    pub roofline: Roofline,
}

/// A whole run.
#[derive(Debug, Serialize)]
pub(crate) struct Run {
    /// When it began, UTC.
    pub date: String,
    /// This program's version.
    pub version: String,
    /// Which build of it: the same only for the same program.
    pub build: String,
    /// The command line.
    pub command: String,
    /// The machine it ran on.
    pub machine: Machine,
    /// The directories in which files were made, with their file systems. Empty if no file was made.
    pub places: Vec<String>,
    /// A result for each case.
    pub results: Vec<CaseResult>,
}

impl CaseResult {
    /// What a contender did, by its name.
    pub(crate) fn standing(&self, contender: &str) -> Option<&Standing> {
        self.standings.iter().find(|standing| standing.contender == contender)
    }

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
