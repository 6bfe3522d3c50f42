//! Which rows need not be measured again.

use crate::catalogue::Row;
use crate::machine::Machine;
use crate::record::Recorded;
use crate::runner::Plan;

/// Whether each case that `plan` would run of `row` is recorded from this machine and this build, of the same size and with
/// as many rounds at least.
pub(super) fn is_recorded(row: &Row, plan: &Plan, recorded: &[Recorded], machine: &Machine, build: &str) -> bool {
    if plan.quick || build.is_empty() {
        return false;
    }
    row.cases.iter().filter(|case| plan.long || !case.work.is_long()).all(|case| {
        recorded.iter().any(|recorded| {
            let result = &recorded.result;
            (result.row, result.case) == (row.name, case.name)
                && !result.quick
                && result.size == case.work.limited(case.size, plan.keys, plan.bytes)
                && result.pairs >= case.work.rounds(plan.pairs)
                && recorded.build == build
                && recorded.machine.line() == machine.line()
        })
    })
}
