//! From the rounds of a case to verdicts on its targets.

use super::Plan;
use super::entrant::Entrant;
use crate::catalogue::{Against, Case, Row, Target};
use crate::interval;
use crate::outcome::{CaseResult, Outcome, Standing};
use crate::roofline::Roofline;
use crate::verdict::{self, MIN_PAIRS};

/// A case whose rounds have been run.
pub(super) struct Ran<'a> {
    pub case: &'a Case,
    pub size: u64,
    pub foreign: f64,
    pub device: Option<f64>,
    pub entrants: Vec<Entrant>,
}

/// The result of a case.
pub(super) fn conclude(row: &Row, ran: Ran, plan: &Plan, roofline: Roofline) -> CaseResult {
    let Ran { case, size, foreign, device, entrants } = ran;
    let pairs = case.work.rounds(plan.pairs);
    let roofline = Roofline { device, ..roofline };
    let standings: Vec<Standing> = entrants
        .into_iter()
        .map(|entrant| {
            let shown: Vec<f64> = entrant.rates.iter().map(|rate| row.unit.shown(*rate)).collect();
            Standing {
                contender: entrant.entry.name,
                identity: entrant.contender.as_ref().map(|contender| contender.identity()).unwrap_or_default(),
                unavailable: entrant.contender.err(),
                left_out: entrant.left_out,
                shown: interval::estimate(&shown),
                rates: entrant.rates,
                processor: entrant.processor,
                memory: entrant.memory,
                resident: entrant.resident,
                threads: entrant.threads,
                costs: entrant.costs,
                timeline: entrant.timeline,
            }
        })
        .collect();
    let outcomes = if plan.quick { Vec::new() } else { outcomes(row, case, size, &standings, &roofline) };
    CaseResult {
        row: row.name,
        case: case.name,
        unit: row.unit.name(),
        size,
        reduced: !plan.quick && size != case.size,
        pairs,
        quick: plan.quick,
        foreign,
        standings,
        outcomes,
        roofline,
    }
}

/// The targets of a case, judged.
pub(crate) fn outcomes(row: &Row, case: &Case, size: u64, standings: &[Standing], roofline: &Roofline) -> Vec<Outcome> {
    let here = row.targets.iter().filter(|target| target.case.is_none_or(|name| name == case.name));
    here.map(|target| judge(target, standings, roofline, enough(case, size))).collect()
}

/// How many rounds give a verdict on `size` of a case. What is asked is about the full size: a reduced case gives none.
pub(crate) fn enough(case: &Case, size: u64) -> usize {
    if size == case.size { case.work.rounds(MIN_PAIRS) } else { usize::MAX }
}

/// Divides the figure of a target by what it is compared with, round by round, and judges it if there are `enough` rounds.
pub(crate) fn judge(target: &Target, standings: &[Standing], roofline: &Roofline, enough: usize) -> Outcome {
    let standing = |name: &str| standings.iter().find(|standing| standing.contender == name);
    let figures = |name: &str| standing(name).map_or(&[][..], |standing| standing.figures(target.figure));
    let own = figures(target.contender);
    let mut chosen = None;
    let values: Vec<f64> = match target.against {
        Against::Itself => own.to_vec(),
        Against::MemoryReads => {
            let threads = standing(target.contender).map_or(1, |standing| standing.threads);
            own.iter().map(|rate| rate / roofline.reads(threads)).collect()
        }
        Against::Peer(_) | Against::Best(_) => {
            chosen = best(target, figures);
            let peer = chosen.map_or(&[][..], figures);
            own.iter().zip(peer).map(|(own, peer)| own / peer).collect()
        }
    };
    let value = interval::estimate(&values);
    let verdict =
        |goal: Option<f64>| goal.map(|goal| verdict::verdict(value.as_ref(), target.figure.bound(), goal, enough));
    Outcome {
        contender: target.contender,
        subject: target.subject(chosen),
        goals: target.goals(),
        few: value.as_ref().map(|value| value.pairs).filter(|pairs| *pairs < MIN_PAIRS),
        value,
        must: target.must,
        must_verdict: verdict(target.must),
        aim: target.aim,
        aim_verdict: verdict(target.aim),
    }
}

/// The peer of the target with the best median.
fn best<'a>(target: &Target, figures: impl Fn(&str) -> &'a [f64]) -> Option<&'static str> {
    let medians =
        target.against.peers().iter().filter_map(|peer| Some((*peer, interval::estimate(figures(peer))?.median)));
    let better = |a: &(&str, f64), b: &(&str, f64)| target.figure.bound().better(a.1, b.1);
    medians.reduce(|best, peer| if better(&peer, &best) { peer } else { best }).map(|(peer, _)| peer)
}
