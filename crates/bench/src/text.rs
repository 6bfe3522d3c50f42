//! Results as tables for a terminal.

use std::fmt::{self, Write};

use crate::catalogue::{Row, Unit, row, rows};
use crate::figures::{interval, number};
use crate::interval;
use crate::load::QUIET;
use crate::outcome::{CaseResult, Outcome, Standing};
use crate::verdict::Verdict;

/// What `list` prints.
pub(crate) fn list() -> String {
    let mut out = String::new();
    for row in rows() {
        let _ = describe(&mut out, row);
    }
    out
}

fn describe(out: &mut String, row: &Row) -> fmt::Result {
    writeln!(out, "{}: {} ({})", row.name, row.about, row.unit.name())?;
    writeln!(out, "  source: {}", row.source)?;
    let cases: Vec<_> = row.cases.iter().map(|case| case.name).collect();
    writeln!(out, "  cases: {}", cases.join("; "))?;
    for entry in row.contenders {
        writeln!(out, "  {:<16} {}", entry.name, entry.about)?;
    }
    for target in row.targets {
        let place = target.case.map_or(String::new(), |case| format!(", {case}"));
        writeln!(out, "  target: {} {}{place}", target.subject(None), target.goals())?;
    }
    writeln!(out)
}

/// One case as a table.
pub(crate) fn table(result: &CaseResult) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write_table(&mut out, result);
    out
}

fn write_table(out: &mut String, result: &CaseResult) -> fmt::Result {
    let about = row(result.row).map_or("", |row| row.about);
    writeln!(out, "{}, {}: {about}", result.row, result.case)?;
    if result.quick {
        for standing in &result.standings {
            let what = standing.absent().unwrap_or_else(|| "answer right".into());
            writeln!(out, "  {:<16} {what}", standing.contender)?;
        }
        return writeln!(out);
    }
    writeln!(out, "  {} pairs; {}, median [90 % interval]", result.pairs, result.unit)?;
    if result.reduced {
        writeln!(out, "  reduced to {}: no verdicts", result.size)?;
    }
    if result.foreign > QUIET {
        let cores = number(result.foreign);
        writeln!(out, "  noisy: other programs used {cores} cores meanwhile")?;
    }
    for standing in &result.standings {
        write_standing(out, result, standing)?;
    }
    if row(result.row).is_some_and(|row| row.unit.has_roofline() || row.unit == Unit::MegarowsPerSecondPerCore) {
        for (name, b) in result.roofline.settings() {
            let (read, write, copy) = (number(b.read), number(b.write), number(b.copy));
            writeln!(out, "  roofline, {name}: read {read}, write {write}, copy {copy} GB/s")?;
        }
        if let Some(device) = result.roofline.device {
            writeln!(out, "  roofline, device: read {} GB/s", number(device))?;
        }
    }
    for outcome in &result.outcomes {
        writeln!(out, "  {}", sentence(outcome))?;
    }
    writeln!(out)
}

fn write_standing(out: &mut String, result: &CaseResult, standing: &Standing) -> fmt::Result {
    let name = standing.contender;
    match (standing.absent(), &standing.shown) {
        (Some(why), _) => return writeln!(out, "  {name:<16} {why}"),
        (None, Some(shown)) => write!(out, "  {name:<16} {}", interval(shown))?,
        (None, None) => write!(out, "  {name:<16} -")?,
    }
    if let (Some(processor), Some(memory)) =
        (interval::estimate(&standing.processor), interval::estimate(&standing.memory))
    {
        let (unit, of) = row(result.row).map_or(("GB", "MiB"), |row| (row.unit.amount_name(), row.unit.memory_name()));
        let (processor, memory) = (number(processor.median), number(memory.median));
        write!(out, "; {processor} s of processor per {unit}, {memory} {of}")?;
    }
    if let Some(row) = row(result.row).filter(|row| row.unit == Unit::Overhead) {
        let costs: Vec<_> = standing
            .costs
            .iter()
            .map(|(what, value)| format!("{} {}", what.replace('_', " "), number(*value)))
            .collect();
        write!(out, "\n    per {}: {}", row.unit.amount_name(), costs.join(", "))?;
    }
    writeln!(out)
}

/// One target and what came of it.
pub(crate) fn sentence(outcome: &Outcome) -> String {
    let value = outcome.value.as_ref().map_or("not measured".into(), interval);
    let mut line = format!("{} {}: {value}", outcome.subject, outcome.goals);
    if let Some(pairs) = outcome.few {
        let _ = write!(line, " of {pairs} pairs");
    }
    if let Some(verdict) = outcome.must_verdict {
        let _ = write!(line, ": {}", verdict.name());
    }
    if let Some(verdict) = outcome.aim_verdict {
        let said = match verdict {
            Verdict::Pass => "reached",
            Verdict::Fail => "not reached",
            Verdict::CannotTell => "cannot tell",
        };
        let _ = write!(line, ", aim {said}");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Estimate;

    #[test]
    fn a_target_is_one_sentence() {
        let ratio = Estimate { median: 0.8, low: 0.75, high: 0.82, pairs: 15 };
        let outcome = Outcome {
            contender: "a",
            subject: "a / b".into(),
            goals: ">= 0.72 (aim 0.85)".into(),
            few: None,
            value: Some(ratio),
            must: Some(0.72),
            must_verdict: Some(Verdict::Pass),
            aim: Some(0.85),
            aim_verdict: Some(Verdict::Fail),
        };
        assert_eq!(sentence(&outcome), "a / b >= 0.72 (aim 0.85): 0.80 [0.75, 0.82]: pass, aim not reached");
        let nothing = Outcome {
            goals: ">= 0.72".into(),
            value: None,
            must_verdict: Some(Verdict::CannotTell),
            aim: None,
            aim_verdict: None,
            ..outcome
        };
        assert_eq!(sentence(&nothing), "a / b >= 0.72: not measured: cannot tell");
    }

    #[test]
    fn the_list_names_every_row_and_contender() {
        let list = list();
        for row in rows() {
            assert!(list.contains(&format!("{}: ", row.name)));
            assert!(row.contenders.iter().all(|c| list.contains(c.about)));
        }
    }
}
