//! What a sort tells: how far it is, and what it did.

use std::time::{Duration, Instant};

use super::plan::{Choice, Plan};

/// How far a sort is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// What is being done.
    pub phase: &'static str,
    /// How many bytes this phase has dealt with.
    pub done: u64,
    /// How many it will, if that is known.
    pub total: Option<u64>,
}

/// A part of a sort, in the order in which they began.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Phase {
    /// Its name: `read`, `sort`, `write`, `merge`, …
    pub name: &'static str,
    /// How long it took. Phases do not overlap.
    pub time: Duration,
    /// How many bytes were read from files.
    pub read: u64,
    /// How many bytes were written to files.
    pub written: u64,
}

/// What a sort did.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// How it was done.
    pub plan: Plan,
    /// Why it was done so.
    pub choice: Option<Choice>,
    /// The records of the inputs.
    pub records: u64,
    /// The bytes of the inputs.
    pub bytes: u64,
    /// The bytes of the output, before it was compressed.
    pub written: u64,
    /// The runs in temporary files.
    pub runs: u64,
    /// The bytes of all temporary files, as they were written.
    pub temporary: u64,
    /// How often runs were merged.
    pub merges: u64,
    /// The parts, those of one name together.
    pub phases: Vec<Phase>,
}

impl Report {
    /// Adds to the phase `name`.
    pub(super) fn add(&mut self, name: &'static str, since: Instant, read: u64, written: u64) {
        let time = since.elapsed();
        match self.phases.iter_mut().find(|phase| phase.name == name) {
            Some(phase) => {
                phase.time += time;
                phase.read += read;
                phase.written += written;
            }
            None => self.phases.push(Phase { name, time, read, written }),
        }
    }
}
