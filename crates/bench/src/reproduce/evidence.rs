//! What was measured on one machine, the last measurement of each case.

use std::collections::BTreeSet;

use crate::catalogue::{Row, row};
use crate::machine::Machine;
use crate::outcome::CaseResult;
use crate::papers::{Part, Section};
use crate::record::Recorded;

/// What was measured on one machine.
pub(super) struct Evidence {
    /// Where.
    pub machine: Machine,
    recorded: Vec<Recorded>,
}

impl Evidence {
    /// What was measured on `machine`.
    pub(super) fn of(recorded: Vec<Recorded>, machine: &Machine) -> Evidence {
        let mut kept: Vec<Recorded> = Vec::new();
        for recorded in recorded.into_iter().filter(|recorded| recorded.machine.line() == machine.line()) {
            let name = |recorded: &Recorded| (recorded.result.row, recorded.result.case);
            kept.retain(|other| name(other) != name(&recorded));
            kept.push(recorded);
        }
        Evidence { machine: machine.clone(), recorded: kept }
    }

    /// What was measured on the machine of the last record.
    pub(super) fn of_last_machine(recorded: Vec<Recorded>) -> Option<Evidence> {
        let machine = recorded.last()?.machine.clone();
        Some(Evidence::of(recorded, &machine))
    }

    /// A case.
    pub(super) fn case(&self, row: &str, case: &str) -> Option<&CaseResult> {
        let results = self.recorded.iter().map(|recorded| &recorded.result);
        results.into_iter().find(|result| (result.row, result.case) == (row, case))
    }

    /// The row of a part and its cases that were measured, in the order of the part.
    pub(super) fn part(&self, part: &Part) -> Option<(&'static Row, Vec<&CaseResult>)> {
        let row = row(part.row)?;
        let all: Vec<&str> = row.cases.iter().map(|case| case.name).collect();
        let names = if part.cases.is_empty() { &all } else { part.cases };
        Some((row, names.iter().filter_map(|name| self.case(row.name, name)).collect()))
    }

    /// What was measured for a section, each case once.
    pub(super) fn section(&self, section: &Section) -> Vec<&CaseResult> {
        let mut results: Vec<&CaseResult> = Vec::new();
        for (_, part) in section.parts.iter().filter_map(|part| self.part(part)) {
            results.extend(part);
        }
        let mut seen = BTreeSet::new();
        results.retain(|result| seen.insert((result.row, result.case)));
        results
    }

    /// Whether a target of `row` was missed.
    pub(super) fn failed(&self, row: &Row) -> bool {
        let results = self.recorded.iter().map(|recorded| &recorded.result).filter(|result| result.row == row.name);
        results.into_iter().any(|result| result.must_failed().next().is_some())
    }

    /// The first and the last day, `2026-01-02`.
    pub(super) fn days(&self) -> Option<(&str, &str)> {
        let days = || self.recorded.iter().filter_map(|recorded| recorded.date.split('T').next());
        Some((days().min()?, days().max()?))
    }

    /// Versions of the program with their builds, and directories in which it made files.
    pub(super) fn builds(&self) -> Vec<String> {
        let names = self.recorded.iter().map(|recorded| format!("{} (build {})", recorded.version, recorded.build));
        names.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The command lines.
    pub(super) fn commands(&self) -> Vec<&str> {
        let commands = self.recorded.iter().map(|recorded| recorded.command.as_str());
        commands.filter(|command| !command.is_empty()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    pub(super) fn places(&self) -> Vec<&str> {
        let places = self.recorded.iter().flat_map(|recorded| &recorded.places).map(String::as_str);
        places.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The fewest and the most rounds of a case.
    pub(super) fn rounds(&self) -> Option<(usize, usize)> {
        let rounds = || self.recorded.iter().map(|recorded| recorded.result.pairs);
        Some((rounds().min()?, rounds().max()?))
    }

    /// How many cases there are, and in how many other programs disturbed the rounds.
    pub(super) fn noise(&self) -> (usize, usize) {
        let noisy = self.recorded.iter().filter(|recorded| recorded.result.foreign > crate::load::QUIET).count();
        (self.recorded.len(), noisy)
    }
}
