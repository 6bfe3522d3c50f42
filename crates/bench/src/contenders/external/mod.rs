//! Sorting files that may be larger than memory. Each contender runs in processes of its own, from a file to another.
//!
//! [`command`] has the command lines of programs, [`python`] the scripts for libraries used from Python, [`stxxl`] builds the
//! program in C++, [`two_passes`] moves bytes without sorting them, [`baselines`] has sorts from papers. Everyone is limited by an option of its own and, on a
//! device, by a control group that allows 64 MiB more. A peer that is killed there is given more until it survives, and
//! says so; Eagre is not. The result is on the device when the clock stops, and is checked whole, outside the limit.

mod background;
pub(crate) mod baselines;
mod command;
mod python;
mod stxxl;
mod two_passes;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use self::command::Program;
use crate::cache;
use crate::catalogue::{Cache, Corpus, Data, FileSort, Place, Sorter};
use crate::child::{self, Ended};
use crate::contenders::{Contender, Measured, Process, Trouble};
use crate::corpus::{Expected, Made, Store, sortable};
use crate::limit::Limit;
use crate::outcome::Identity;
use crate::timeline::Span;

/// What a contender may have beyond its memory, for its program and the page cache.
const ALLOWANCE: u64 = 64 << 20;

/// `sorter`, ready for `sort`.
pub(super) fn build(sorter: Sorter, sort: FileSort, store: &Arc<Store>) -> Result<Box<dyn Contender>, Trouble> {
    if sorter == Sorter::TwoPasses {
        return Ok(Box::new(two_passes::TwoPasses { sort, store: Arc::clone(store) }));
    }
    let program = Program::find(sorter, sort, store)?;
    Ok(Box::new(Sorts { program, sorter, sort, store: Arc::clone(store), allowance: ALLOWANCE }))
}

/// What the processes of a run are told.
struct Order<'a> {
    /// The file to sort.
    from: &'a Path,
    /// The file to write.
    to: &'a Path,
    /// A directory for what is set aside, on the same file system.
    temporary: &'a Path,
    /// How much memory to take, in bytes.
    memory: u64,
}

/// The file `sort` is about, as it was made, and as `sorter` reads it.
fn input(sorter: Sorter, sort: &FileSort, store: &Store, size: u64) -> Result<(Data, Arc<Made>), Trouble> {
    let data = match (sorter, sort.data) {
        // It sorts lines.
        (Sorter::Gnu, Data::Records) => Data::Ascii,
        (_, data) => data,
    };
    let corpus = (Corpus::Sortable(data), sort.place, size);
    let made = match sorter {
        Sorter::Duckdb | Sorter::Polars => {
            store.form(corpus, python::FORM, |from, to| python::to_table(data, from, to))
        }
        _ => store.corpus(corpus.0, corpus.1, corpus.2),
    }?;
    match sort.cache {
        Cache::Cold => cache::cold(&made.path)?,
        Cache::Warm => cache::warm(&made.path)?,
    }
    Ok((data, made))
}

/// A contender in processes of its own.
struct Sorts {
    program: Program,
    sorter: Sorter,
    sort: FileSort,
    store: Arc<Store>,
    /// What it may have beyond its memory.
    allowance: u64,
}

impl Contender for Sorts {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let FileSort { place, budget, threads, .. } = self.sort;
        let memory = budget.bytes(size);
        let (took, process, timeline, data, expected, to) = loop {
            let (data, made) = input(self.sorter, &self.sort, &self.store, size)?;
            let to = self.store.output(place)?;
            let temporary = self.store.temporary(place)?;
            let order = Order { from: &made.path, to: &to, temporary: &temporary, memory };
            let commands = self.program.commands(&order)?;
            match background::beside(self.sort.background, (&temporary, size), || self.attempt(commands, memory))? {
                Some((took, process, timeline)) => break (took, process, timeline, data, made.expected.clone(), to),
                None => self.allowance *= 2,
            }
        };
        // Before the next contender's clock starts: large files take their time to go.
        self.store.temporary(place)?;
        let Expected::Sorted(expected) = expected else {
            return Err(Trouble::Failed("catalogue: nothing to sort".into()));
        };
        let to = match self.sorter {
            Sorter::Duckdb | Sorter::Polars => python::from_table(&to)?,
            _ => to,
        };
        let found = sortable::check(&to, data)?;
        let _ = std::fs::remove_file(&to);
        if found != expected {
            return Err(Trouble::Wrong(format!("{found:?} instead of {expected:?}")));
        }
        Ok(Measured {
            took,
            amount: size,
            threads,
            answer: found.digest,
            expected: expected.digest,
            process: Some(process),
            counters: vec![],
            timeline,
        })
    }

    fn identity(&self) -> Identity {
        let Identity { version, command } = self.program.identity();
        let more = (self.allowance > ALLOWANCE)
            .then(|| format!(" (killed within its memory and less than {} MiB more)", self.allowance >> 20));
        Identity { version, command: command.map(|command| command + &more.unwrap_or_default()) }
    }
}

impl Sorts {
    /// Runs `commands` one after the other; nothing if the limit killed one of them, and a higher one may not.
    fn attempt(&self, commands: Vec<Command>, memory: u64) -> Result<Option<(Duration, Process, Vec<Span>)>, Trouble> {
        // The files on a tmpfs count as memory of those who write them.
        let limit = if self.sort.place == Place::Memory { None } else { Limit::new(memory + self.allowance) };
        let (mut took, mut process, mut timeline) = (Duration::ZERO, Process::default(), Vec::new());
        for mut command in commands {
            let ended = match &limit {
                Some(limit) => child::run(&mut limit.around(&command)),
                None => child::run(&mut command),
            };
            let ended = match ended {
                Err(Trouble::Failed(_)) if limit.as_ref().is_some_and(Limit::killed) => {
                    let text = format!("killed within its memory and {} MiB more", self.allowance >> 20);
                    return match self.sorter {
                        Sorter::Eagre(_) | Sorter::EagreOnePass(_) => Err(Trouble::Failed(text)),
                        _ if self.allowance > 2 * memory.max(1 << 30) => Err(Trouble::Unavailable(text)),
                        _ => Ok(None),
                    };
                }
                // What does not work within its own limit is no contender; the others are.
                Err(Trouble::Failed(why)) if !matches!(self.sorter, Sorter::Eagre(_) | Sorter::EagreOnePass(_)) => {
                    return Err(Trouble::Unavailable(why));
                }
                other => other?,
            };
            took += self.program.time(&ended)?;
            timeline.extend(self.program.timeline(&ended)?);
            let Ended { process: used, .. } = ended;
            process.processor += used.processor;
            process.memory = process.memory.max(used.memory);
            process.resident = process.resident.max(used.resident);
        }
        Ok(Some((took, process, timeline)))
    }
}
