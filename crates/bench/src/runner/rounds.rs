//! The rounds of one case.

use super::Plan;
use super::entrant::Entrant;
use crate::catalogue::{Case, Row, Unit};
use crate::contenders::{Measured, Trouble};
use crate::counters::Counters;
use crate::load::{Load, Patience, QUIET};
use crate::usage::Usage;

/// Runs the rounds of one case. Returns how many cores other programs used meanwhile, on average; an error names the
/// contender.
pub(super) fn rounds(
    row: &Row,
    case: &Case,
    size: u64,
    plan: &Plan,
    patience: &mut Patience,
    entrants: &mut [Entrant],
) -> Result<f64, (&'static str, String)> {
    // A trial was a warm-up, too.
    let warm_up = usize::from(!plan.quick && case.work.trial().is_none());
    let pairs = case.work.rounds(plan.pairs);
    let (mut round, mut foreign) = (0, 0.0);
    while round < pairs + warm_up {
        if plan.progress {
            let (row, case) = (row.name, case.name);
            eprint!("\r\x1b[K{row}, {case}: round {round} of {pairs}");
        }
        patience.wait_for_quiet();
        let load = Load::start();
        let measured = one_round(size, round, row.unit == Unit::Overhead, entrants)?;
        let noise = load.foreign();
        if noise > QUIET && patience.again(load.elapsed()) {
            continue;
        }
        if round >= warm_up {
            foreign += noise / pairs as f64;
            for (entrant, measured) in entrants.iter_mut().zip(measured) {
                if let Some((measured, usage)) = measured {
                    entrant.count(row.unit, measured, usage, pairs);
                }
            }
        }
        round += 1;
    }
    if plan.progress {
        eprint!("\r\x1b[K");
    }
    Ok(foreign)
}

/// The result of one contender in a round, if it can run here.
pub(super) type Part = Option<(Measured, Usage)>;

/// Runs every contender once; the processor counts what it does, if `count`. Returns the results in the order of `entrants`.
pub(super) fn one_round(
    size: u64,
    round: usize,
    count: bool,
    entrants: &mut [Entrant],
) -> Result<Vec<Part>, (&'static str, String)> {
    let mut results: Vec<_> = entrants.iter().map(|_| None).collect();
    for place in 0..entrants.len() {
        let mut index = (round + place) % entrants.len();
        if round % 2 == 1 {
            index = entrants.len() - 1 - index;
        }
        let entrant = &mut entrants[index];
        if entrant.left_out.is_some() {
            continue;
        }
        let Ok(contender) = &mut entrant.contender else {
            continue;
        };
        let counters = count.then(Counters::start);
        let before = Usage::now();
        match contender.run(size).and_then(Measured::verified) {
            Ok(mut measured) => {
                let usage = Usage::now().since(before);
                measured.counters.extend(counters.map_or(vec![], Counters::stop));
                results[index] = Some((measured, usage));
            }
            Err(Trouble::Unavailable(why)) => entrant.contender = Err(why),
            Err(Trouble::Wrong(why)) => {
                return Err((entrant.entry.name, format!("wrong answer: {why}")));
            }
            Err(Trouble::Failed(why)) => return Err((entrant.entry.name, why)),
        }
    }
    Ok(results)
}
