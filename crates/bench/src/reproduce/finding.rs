//! What came of a claim: a published number beside ours.

use super::evidence::Evidence;
use crate::catalogue::{Against, Figure, row};
use crate::figures::{interval, number};
use crate::interval::FEWEST;
use crate::outcome::{CaseResult, Outcome};
use crate::papers::Claim;
use crate::runner::judge;
use crate::verdict::Verdict;

/// What came of a claim.
pub(super) struct Finding {
    /// Whether it holds here.
    pub state: State,
    /// The published value: `2.04x`.
    pub published: String,
    /// Ours: `0.70x [0.68, 0.73]`; empty if it was not measured.
    pub here: String,
    /// All of it in one sentence or two.
    pub sentence: String,
}

/// Whether a claim holds here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The whole interval reaches the published value.
    Holds,
    /// The whole interval misses it.
    Differs,
    /// Neither, or too few rounds.
    CannotTell,
    /// No rounds.
    NotMeasured,
}

impl State {
    /// As pages write it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            State::Holds => "holds here",
            State::Differs => "differs here",
            State::CannotTell => "cannot tell",
            State::NotMeasured => "not measured",
        }
    }
}

/// Judges `claim`.
pub(super) fn finding(claim: &Claim, evidence: &Evidence) -> Finding {
    let target = &claim.target;
    let goal = target.must.unwrap_or_default();
    let published = match claim.up_to {
        Some(end) => format!("{} to {}", short(goal), shown(claim, &short(end))),
        None => shown(claim, &short(goal)),
    };
    let said = format!("{}: {published} in the work ({})", claim.about, claim.on);
    let result = target.case.and_then(|case| evidence.case(claim.row, case)).filter(|result| !result.quick);
    let outcome = result.map(|result| judged(claim, result));
    let Some((value, outcome)) = outcome.and_then(|outcome| Some((outcome.value?, outcome))) else {
        let why = result.and_then(|result| absent(claim, result)).map_or(String::new(), |why| format!(": {why}"));
        return Finding {
            state: State::NotMeasured,
            published,
            here: String::new(),
            sentence: format!("{said}; not measured here{why}."),
        };
    };
    let here = shown(claim, &interval(&value));
    let state = match outcome.must_verdict {
        Some(Verdict::Pass) => State::Holds,
        Some(Verdict::Fail) => State::Differs,
        _ => State::CannotTell,
    };
    let misses = target.figure.bound().better(goal, value.median);
    let cause = claim.cause.filter(|_| misses).map_or(String::new(), |cause| format!(" {cause}"));
    let sentence = format!("{said}; here {here}, {}.{cause}", outcome.subject);
    Finding { state, published, here, sentence }
}

/// The interval decides, if there is one. A smaller size than was asked for says nothing.
fn judged(claim: &Claim, result: &CaseResult) -> Outcome {
    let enough = if result.reduced { usize::MAX } else { FEWEST };
    judge(&claim.target, &result.standings, &result.roofline, enough)
}

/// Why one side has no rounds.
fn absent(claim: &Claim, result: &CaseResult) -> Option<String> {
    let names = [claim.target.contender].into_iter().chain(claim.target.against.peers().iter().copied());
    names.filter_map(|name| Some(format!("{name} {}", result.standing(name)?.absent()?))).next()
}

/// A value with its unit.
fn shown(claim: &Claim, value: &str) -> String {
    match (claim.target.figure, claim.target.against) {
        (Figure::Memory, _) => format!("{value} MiB"),
        (_, Against::Itself) => format!("{value} {}", row(claim.row).map_or("", |row| row.unit.name())),
        _ => format!("{value} times"),
    }
}

/// A published number, as far as it has digits.
fn short(value: f64) -> String {
    let text = number(value);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
