//! What a sort of records did, for people and for programs.

use std::fmt::Write;

use eagre::external::{self, Plan, Report};
use serde::Serialize;

use crate::name;
use crate::target::Target;
use crate::units;

/// The output of `--json`.
#[derive(Serialize)]
pub(super) struct Outcome {
    #[serde(flatten)]
    target: name::Json,
    plan: String,
    concurrency: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// How long it was expected to take.
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted_seconds: Option<f64>,
    /// How long it took.
    seconds: f64,
    records: u64,
    bytes: u64,
    written: u64,
    runs: u64,
    /// The bytes of all runs in temporary files.
    temporary: u64,
    merges: u64,
    threads: usize,
    phases: Vec<Phase>,
    /// The same one by one, as they came.
    timeline: Vec<Part>,
    /// What other plans were expected to take.
    estimates: Vec<Estimate>,
}

#[derive(Serialize)]
struct Phase {
    phase: &'static str,
    seconds: f64,
    /// Bytes read from files, and written to them.
    read: u64,
    written: u64,
    /// Both, per second.
    bytes_per_second: Option<u64>,
    threads: usize,
}

/// A time in one phase.
#[derive(Serialize)]
struct Part {
    /// Seconds since the beginning of the sort.
    start: f64,
    #[serde(flatten)]
    phase: Phase,
}

impl From<&external::Phase> for Phase {
    fn from(phase: &external::Phase) -> Phase {
        let (seconds, moved) = (phase.time.as_secs_f64(), phase.read + phase.written);
        let rate = moved as f64 / seconds;
        let bytes_per_second = (moved > 0 && rate.is_finite()).then_some(rate as u64);
        let &external::Phase { name, read, written, threads, .. } = phase;
        Phase { phase: name, seconds, read, written, bytes_per_second, threads }
    }
}

#[derive(Serialize)]
struct Estimate {
    plan: String,
    seconds: f64,
}

impl Outcome {
    pub(super) fn new(report: &Report, target: &Target, threads: usize) -> Outcome {
        let choice = report.choice.as_ref();
        let timeline = report.timeline.iter();
        let timeline = timeline.map(|part| Part { start: part.start.as_secs_f64(), phase: Phase::from(&part.phase) });
        let estimates = choice.map(|choice| choice.estimates.as_slice()).unwrap_or_default();
        Outcome {
            target: name::Json::new(Some(target.name())),
            plan: report.plan.to_string(),
            concurrency: report.concurrency.to_string(),
            reason: choice.filter(|choice| choice.plan == report.plan).map(|choice| choice.reason.clone()),
            predicted_seconds: choice
                .filter(|choice| choice.plan == report.plan)
                .and_then(eagre::external::Choice::seconds),
            seconds: report.phases.iter().map(|phase| phase.time.as_secs_f64()).sum(),
            records: report.records,
            bytes: report.bytes,
            written: report.written,
            runs: report.runs,
            temporary: report.temporary,
            merges: report.merges,
            threads,
            phases: report.phases.iter().map(Phase::from).collect(),
            timeline: timeline.collect(),
            estimates: estimates
                .iter()
                .map(|estimate| Estimate { plan: Plan::from(estimate.way).to_string(), seconds: estimate.seconds() })
                .collect(),
        }
    }

    /// The lines of `--explain`.
    pub(super) fn explain(&self) -> String {
        let mut text = format!("eagre: explain: plan {}, {} threads, {}", self.plan, self.threads, self.concurrency);
        if let Some(reason) = &self.reason {
            let _ = write!(text, ": {reason}");
        }
        if self.runs > 0 {
            let _ = write!(text, "; {} runs of {}, {} merges", self.runs, units::bytes(self.temporary), self.merges);
        }
        let others = self.estimates.iter().map(|other| format!("{} {:.1} s", other.plan, other.seconds));
        let others: Vec<String> = others.collect();
        if !others.is_empty() {
            let _ = write!(text, "\neagre: explain: expected: {}", others.join(", "));
        }
        for phase in &self.phases {
            let _ = write!(text, "\neagre: explain: {:<11} {:8.3} s", phase.phase, phase.seconds);
            if phase.read > 0 {
                let _ = write!(text, "  read {}", units::bytes(phase.read));
            }
            if phase.written > 0 {
                let _ = write!(text, "  written {}", units::bytes(phase.written));
            }
            if let Some(rate) = phase.bytes_per_second {
                let _ = write!(text, "  {}/s", units::bytes(rate));
            }
        }
        let _ = write!(text, "\neagre: explain: {:<11} {:8.3} s  {} records", "in all", self.seconds, self.records);
        text
    }
}
