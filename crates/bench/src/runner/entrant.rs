//! A contender in a case, and its measurements so far.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::catalogue::{Entry, Unit};
use crate::contenders::{Contender, Measured};
use crate::timeline::Span;
use crate::usage::Usage;

const MIB: f64 = 1024.0 * 1024.0;

/// A contender in a case, and its measurements so far.
pub(super) struct Entrant {
    pub entry: Entry,
    pub contender: Result<Box<dyn Contender>, String>,
    /// Why it runs no rounds after the trial, if so.
    pub left_out: Option<String>,
    pub rates: Vec<f64>,
    pub processor: Vec<f64>,
    pub memory: Vec<f64>,
    pub resident: Vec<f64>,
    pub threads: usize,
    pub costs: BTreeMap<Cow<'static, str>, f64>,
    /// Of the last round.
    pub timeline: Vec<Span>,
}

impl Entrant {
    pub(super) fn new(entry: Entry, contender: Result<Box<dyn Contender>, String>) -> Entrant {
        Entrant {
            entry,
            contender,
            left_out: None,
            rates: vec![],
            processor: vec![],
            memory: vec![],
            resident: vec![],
            threads: 1,
            costs: BTreeMap::new(),
            timeline: vec![],
        }
    }

    /// Adds the result of one round.
    pub(super) fn count(&mut self, unit: Unit, measured: Measured, usage: Usage, rounds: usize) {
        let rate = unit.rate(&measured);
        self.rates.push(rate);
        self.threads = measured.threads;
        let used = measured.process.map_or(usage.user_seconds + usage.system_seconds, |process| process.processor);
        self.processor.push(used / unit.amount(&measured));
        if let Some(process) = measured.process {
            self.memory.push(process.memory as f64 / MIB);
            self.resident.push(process.resident as f64 / MIB);
        }
        let amount = unit.amount(&measured) * rounds as f64;
        // The usage of this process does not include work done in another one.
        let here = usage.fields().into_iter().filter(|_| measured.process.is_none());
        for (name, value) in here.chain(measured.counters.iter().copied()) {
            *self.costs.entry(Cow::Borrowed(name)).or_default() += value / amount;
        }
        self.timeline = measured.timeline;
    }
}

impl Unit {
    /// The amount of work of `measured`, in gigabytes, moves, accesses, or millions of rows or keys.
    fn amount(self, measured: &Measured) -> f64 {
        match self {
            Unit::MicrosecondsPerMove
            | Unit::NanosecondsPerAccess
            | Unit::MicrosecondsPerSnapshot
            | Unit::MicrosecondsPerUpdate
            | Unit::MicrosecondsPerDoubling => measured.amount as f64,
            Unit::MegarowsPerSecondPerCore | Unit::MegakeysPerSecond => measured.amount as f64 / 1e6,
            _ => measured.amount as f64 / 1e9,
        }
    }

    /// The amount per second, or per second and core. More is better.
    pub(super) fn rate(self, measured: &Measured) -> f64 {
        let rate = self.amount(measured) / measured.took.as_secs_f64().max(1e-9);
        match self {
            Unit::GigabytesPerSecondPerCore | Unit::MegarowsPerSecondPerCore => {
                let cores = std::thread::available_parallelism().map_or(1, usize::from);
                rate / measured.threads.min(cores) as f64
            }
            _ => rate,
        }
    }
}
