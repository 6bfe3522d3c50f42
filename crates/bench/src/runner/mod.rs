//! Runs a row: in each round, every contender once, one after the other.
//!
//! A contender and its peer run in the same round, so each round gives one ratio per target. The order rotates by one place
//! per round and is reversed in every second round, so that no contender always follows the same one. The first round is a
//! warm-up and does not count. Every answer is checked, in the warm-up too.
//!
//! If there are many peers, all of them first run a trial on a part of the work, and only the fastest run the rounds
//! ([`mod@trial`]).
//!
//! A round that other programs disturbed is repeated while there is patience; see [`crate::load`].

mod entrant;
mod judge;
mod rounds;
mod trial;

use std::borrow::Cow;
use std::sync::Arc;

use crate::callgrind;
use crate::catalogue::{Case, Row, Unit};
use crate::contenders::{self, Trouble};
use crate::corpus::Store;
use crate::load::Patience;
use crate::outcome::CaseResult;
use crate::roofline::Gauge;
use entrant::Entrant;
use judge::{Ran, conclude};
pub(crate) use judge::{judge, outcomes};
use rounds::rounds;
use trial::trial;

/// How rows are run.
pub(crate) struct Plan {
    /// The number of rounds that count.
    pub pairs: usize,
    /// Whether to run one round of tiny sizes, which checks answers only.
    pub quick: bool,
    /// The most keys to sort at once.
    pub keys: u64,
    /// The most bytes of a file to sort.
    pub bytes: u64,
    /// Whether to run the cases that take long, too.
    pub long: bool,
    /// The contenders to run; all if empty.
    pub only: Vec<String>,
    /// Peers of which the best runs the rounds, whatever the trial says.
    pub kept: Vec<Kept>,
    /// Whether to show progress on standard error.
    pub progress: bool,
}

/// Peers of a row that something is said about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The name of the row.
    pub row: &'static str,
    /// Their names.
    pub peers: &'static [&'static str],
}

/// What all rows of a run share.
pub(crate) struct Bench {
    /// Measures the roofline.
    pub gauge: Gauge,
    /// How long the run still waits for a quiet machine.
    pub patience: Patience,
    /// Where files are made.
    pub store: Arc<Store>,
}

/// Runs all cases of `row`. An error names the row, the case and the contender that failed or gave a wrong answer.
pub(crate) fn run(row: &Row, plan: &Plan, bench: &mut Bench) -> Result<Vec<CaseResult>, String> {
    bench.patience.wait_for_quiet();
    let before = bench.gauge.measure();
    let mut ran = Vec::new();
    for case in row.cases.iter().filter(|case| plan.long || !case.work.is_long()) {
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
        let size = if plan.quick { case.quick } else { case.work.limited(case.size, plan.keys, plan.bytes) };
        if let Some(part) = case.work.trial().filter(|_| !plan.quick) {
            trial(row, size / part, &plan.kept, &mut entrants).map_err(|(name, why)| place(name, &why))?;
        }
        let foreign = rounds(row, case, size, plan, &mut bench.patience, &mut entrants)
            .map_err(|(name, why)| place(name, &why))?;
        if row.unit == Unit::Overhead && !plan.quick {
            count_instructions(row, case, &mut entrants);
        }
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

/// Counts instructions where the processor did not.
fn count_instructions(row: &Row, case: &Case, entrants: &mut [Entrant]) {
    let uncounted = |entrant: &&mut Entrant| entrant.contender.is_ok() && !entrant.costs.contains_key("instructions");
    for entrant in entrants.iter_mut().filter(uncounted) {
        if let Some(instructions) = callgrind::per_byte(row, case, entrant.entry.name) {
            entrant.costs.insert(Cow::Borrowed(callgrind::NAME), instructions * 1e9);
        }
    }
}

#[cfg(test)]
mod tests;
