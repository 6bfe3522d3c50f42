//! How long rows take, roughly: what a run says before it begins.
//!
//! The rates are those of a virtual machine of two cores, for the mean contender and with everything around the timed part:
//! making files, checking answers. They need be right to a factor of two only.

use crate::catalogue::{Cache, Case, FileJob, Half, PEERS, Place, Row, Task, Work};
use crate::runner::Plan;

/// Seconds for each row and each case, whatever its size: bandwidths are measured, files made.
const ROW: f64 = 8.0;
const CASE: f64 = 2.0;

/// Of contenders that pass a trial, so many run beside the peers that were selected.
const OWN: usize = 2;

/// Seconds that `row` takes.
pub(super) fn seconds(row: &Row, plan: &Plan) -> f64 {
    let cases = row.cases.iter().filter(|case| plan.long || !case.work.is_long());
    ROW + cases.map(|case| of_case(case, row.contenders.len(), plan)).sum::<f64>()
}

fn of_case(case: &Case, contenders: usize, plan: &Plan) -> f64 {
    let contenders = if case.work.trial().is_some() { contenders.min(PEERS + OWN) } else { contenders };
    let rounds = case.work.rounds(plan.pairs) + 1;
    let size = case.work.limited(case.size, plan.keys, plan.bytes) as f64;
    CASE + (contenders * rounds) as f64 * once(case.work, size)
}

/// Seconds for one contender and round.
fn once(work: Work, size: f64) -> f64 {
    match work {
        Work::Pipe { streams } => size * f64::from(streams) / 12e9,
        Work::Processes { .. } => size / 6e9,
        Work::Move { .. } => 0.1,
        Work::Rewire(_) => 0.2,
        Work::Send => size / 0.6e9,
        Work::Read | Work::Fill => size / 4e9,
        Work::Vanish(Half::Read | Half::Write) => size / 3e9,
        Work::Snapshot(_) => 2.0,
        Work::Scatter { .. } => size / 1.5e9,
        Work::File(FileJob { task: Task::Stats, .. }) => size / 100e6,
        Work::File(FileJob { task: Task::Keys, .. }) => size / 8e6,
        Work::File(FileJob { task: Task::Write | Task::Copy, place: Place::Disk, .. }) => size / 1.5e9,
        Work::File(FileJob { cache: Cache::Cold, .. }) => size / 2.5e9,
        Work::File(_) => size / 8e9,
        Work::Sort(_) => size / 60e6,
        Work::FileSort(_) => size / 0.25e9,
        Work::Kernel { .. } | Work::Gensort { .. } => size / 0.5e9,
        Work::Partition { .. } => size / 100e6,
        // Keys, inserted and looked up.
        Work::Hash(_) => size / 1e6,
    }
}

/// A time in words: `about 40 minutes`.
pub(super) fn about(seconds: f64) -> String {
    let (amount, unit) = match seconds {
        s if s < 90.0 => (s, "second"),
        s if s < 90.0 * 60.0 => (s / 60.0, "minute"),
        s => (s / 3600.0, "hour"),
    };
    let amount = amount.ceil().max(1.0);
    format!("about {amount} {unit}{}", if amount > 1.0 { "s" } else { "" })
}
