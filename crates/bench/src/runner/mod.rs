//! Runs a row: every contender once a round, one after the other, for as many rounds as pairs.
//!
//! A contender and its peer meet in every round, so each round gives one ratio per target. The
//! order turns by one place a round and runs backwards in every second one, so nobody always
//! follows the same predecessor. A first round is not counted. Every answer is checked, in that
//! round too.
//!
//! Where there are many peers, a trial of all of them on a part of the work comes first, and only the strongest go on.
//!
//! A round during which others used the machine is run again while there is patience; see
//! [`crate::load`].

mod entrant;
mod judge;
mod rounds;
mod trial;

use std::sync::Arc;

use crate::catalogue::Row;
use crate::contenders::{self, Trouble};
use crate::corpus::Store;
use crate::load::Patience;
use crate::outcome::CaseResult;
use crate::roofline::Gauge;
use entrant::Entrant;
use judge::{Ran, conclude};
use rounds::rounds;
use trial::trial;

/// How rows are run.
pub(crate) struct Plan {
    /// Rounds that count.
    pub pairs: usize,
    /// Small sizes, one round, answers only.
    pub quick: bool,
    /// At most so many keys are sorted at once.
    pub keys: u64,
    /// Only these contenders; empty: all.
    pub only: Vec<String>,
    /// Whether to say on standard error how far we are.
    pub progress: bool,
}

/// What a whole run shares.
pub(crate) struct Bench {
    /// Measures the roofline.
    pub gauge: Gauge,
    /// What is left of it.
    pub patience: Patience,
    /// Where files are kept.
    pub store: Arc<Store>,
}

/// Runs all cases of `row`; an error is a wrong answer or a broken contender, with its place.
pub(crate) fn run(row: &Row, plan: &Plan, bench: &mut Bench) -> Result<Vec<CaseResult>, String> {
    bench.patience.wait_for_quiet();
    let before = bench.gauge.measure();
    let mut ran = Vec::new();
    for case in row.cases {
        let place = |name: &str, why: &str| format!("{}, {}: {name}: {why}", row.name, case.name);
        let mut entrants = Vec::new();
        for entry in row.contenders {
            if !plan.only.is_empty() && !plan.only.iter().any(|name| name == entry.name) {
                continue;
            }
            let contender = match contenders::build(entry, case.work, &bench.store) {
                Ok(contender) => Ok(contender),
                Err(Trouble::Unavailable(why)) => Err(why),
                Err(Trouble::Wrong(why) | Trouble::Failed(why)) => {
                    return Err(place(entry.name, &why));
                }
            };
            entrants.push(Entrant::new(*entry, contender));
        }
        let size = if plan.quick { case.quick } else { case.work.limited(case.size, plan.keys) };
        if let Some(part) = case.work.trial().filter(|_| !plan.quick) {
            trial(row, size / part, &mut entrants).map_err(|(name, why)| place(name, &why))?;
        }
        let foreign = rounds(row, case, size, plan, &mut bench.patience, &mut entrants)
            .map_err(|(name, why)| place(name, &why))?;
        let device = if plan.quick { None } else { contenders::file::device(case, &bench.store) };
        ran.push(Ran { case, size, foreign, device, entrants });
    }
    let after = if plan.quick {
        before
    } else {
        bench.patience.wait_for_quiet();
        bench.gauge.measure()
    };
    Ok(ran.into_iter().map(|ran| conclude(row, ran, plan, after)).collect())
}

#[cfg(test)]
mod tests;
