//! Jobs with large files. Each contender runs in a process of its own, on the same corpus, with a cold or warm page cache.
//!
//! [`own`] runs code of this program: it starts this program again with an [`own::Job`]. [`program`] runs other programs.
//! Written files are checked afterwards: every byte in a contender's first run, samples in later ones.

mod counting;
mod finding;
mod fio;
mod library;
pub(crate) mod own;
pub(super) mod program;
pub(crate) mod python;
pub(super) mod reading;
mod writing;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cache;
use crate::catalogue::{Cache, Case, FileJob, Task, Way, Work};
use crate::child;
use crate::contenders::{Contender, Measured, Process, Trouble};
use crate::corpus::keys::Figures;
use crate::corpus::numbers::{self, Look};
use crate::corpus::{Expected, Made, Places, Store};
use crate::kernels::expected_sum;
use crate::outcome::Identity;
use crate::roofline::device_reads;

/// The answer of a contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// The sum of all words.
    Sum(u64),
    /// The number of newlines.
    Lines(u64),
    /// The offsets of the pattern.
    Places(Places),
    /// Name, minimum, mean and maximum of each station, in any order.
    Stations(Vec<(String, f64, f64, f64)>),
    /// Figures over all of many keys.
    Keys(Figures),
    /// The number of bytes read, by a contender that does not look at them.
    Bytes(u64),
    /// The answer is the file that was written.
    File,
}

/// The result of a run as the contender reports it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Done {
    /// Launcher long the work took.
    pub seconds: f64,
    /// The processor time of the work, or `None` for that of the whole process.
    pub processor: Option<f64>,
    /// The answer.
    pub answer: Answer,
}

/// The files a run works on.
pub(crate) struct Files<'a> {
    /// The corpus; the empty path where there is nothing to read.
    pub from: &'a Path,
    /// The file to write; the empty path where there is nothing to write.
    pub to: &'a Path,
    /// The size of the work, in bytes or rows.
    pub size: u64,
}

/// Starts the processes of a contender and reads their output.
trait Launcher: Send {
    /// The processes to run, one after the other.
    fn commands(&self, files: &Files) -> Result<Vec<Command>, Trouble>;

    /// Parses the output of the last process; `seconds` is how long all of them took.
    fn understand(&self, output: &[u8], seconds: f64, files: &Files) -> Result<Done, Trouble>;

    /// Its exact version and command line.
    fn identity(&self) -> Identity;
}

/// The contender that goes `way`, for `job`.
pub(crate) fn build(way: Way, job: FileJob, store: &Arc<Store>) -> Result<Box<dyn Contender>, Trouble> {
    let launcher: Box<dyn Launcher> = match way {
        Way::Own(method) => Box::new(own::Own { method, job }),
        Way::Program(program) => program::find(program, job, store)?,
        _ => return Err(super::mismatch(way)),
    };
    Ok(Box::new(InProcesses { launcher, job, store: Arc::clone(store), look: Look::All }))
}

/// The bandwidth of the device for the file of a case that reads from the device. The corpus of the case still exists after
/// its rounds.
pub(crate) fn device(case: &Case, store: &Store) -> Option<f64> {
    let Work::File(FileJob { task, corpus, place, cache: Cache::Cold, .. }) = case.work else { return None };
    let made = if task == Task::Write { None } else { store.corpus(corpus, place, case.size).ok() }?;
    cache::cold(&made.path).ok()?;
    device_reads(&made.path).ok()
}

/// A contender in processes of its own.
struct InProcesses {
    launcher: Box<dyn Launcher>,
    job: FileJob,
    store: Arc<Store>,
    /// Launcher much of the next output is checked.
    look: Look,
}

impl Contender for InProcesses {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let FileJob { task, corpus, place, cache, threads } = self.job;
        let made = if task == Task::Write { None } else { Some(self.store.corpus(corpus, place, size)?) };
        let to = if writes(task) { self.store.output(place)? } else { Default::default() };
        if let Some(made) = &made {
            match cache {
                Cache::Cold => cache::cold(&made.path)?,
                Cache::Warm => cache::warm(&made.path)?,
            }
        }
        let from = made.as_ref().map_or(Path::new(""), |made| &made.path);
        let files = Files { from, to: &to, size };
        let (mut took, mut process, mut output) = (Duration::ZERO, Process::default(), Vec::new());
        for mut command in self.launcher.commands(&files)? {
            let ended = child::run(&mut command)?;
            took += ended.took;
            process.processor += ended.process.processor;
            process.memory = process.memory.max(ended.process.memory);
            process.resident = process.resident.max(ended.process.resident);
            output = ended.output;
        }
        let done = self.launcher.understand(&output, took.as_secs_f64(), &files)?;
        process.processor = done.processor.unwrap_or(process.processor);
        let (answer, expected) = self.compare(&done.answer, made.as_deref(), &files)?;
        if writes(task) {
            // Gone before the next contender's clock starts: a large file takes its time to go.
            let _ = std::fs::remove_file(&to);
        }
        Ok(Measured {
            took: Duration::from_secs_f64(done.seconds),
            amount: amount(&done.answer, size),
            threads,
            answer,
            expected,
            process: Some(process),
            counters: vec![],
            timeline: vec![],
        })
    }

    fn identity(&self) -> Identity {
        self.launcher.identity()
    }
}

impl InProcesses {
    /// The answer and what it should be, as numbers.
    fn compare(&mut self, answer: &Answer, made: Option<&Made>, files: &Files) -> Result<(u64, u64), Trouble> {
        let text = |pick: fn(u64, Places) -> u64| match made.map(|made| &made.expected) {
            Some(Expected::Text { lines, places }) => Ok(pick(*lines, *places)),
            _ => Err(Trouble::Failed("catalogue: this task is for lines of text".into())),
        };
        fn digest(places: Places) -> u64 {
            places.digest ^ places.count
        }
        Ok(match (self.job.task, answer) {
            (Task::Sum, Answer::Sum(sum)) => (*sum, expected_sum(files.size / 8)),
            (Task::Sum, Answer::Bytes(bytes)) => (*bytes, files.size / fio::BLOCK * fio::BLOCK),
            // The contender that only adds up what the others count: there is a right answer, but no way to know it.
            (Task::Count, Answer::Bytes(bytes)) => (*bytes, files.size),
            (Task::Count, Answer::Lines(lines)) => (*lines, text(|lines, _| lines)?),
            (Task::Find, Answer::Places(places)) => (digest(*places), text(|_, places| digest(places))?),
            (Task::Stats, Answer::Stations(rows)) => match made.map(|made| &made.expected) {
                Some(Expected::Stations(table)) => (table.compare(rows)?, rows.len() as u64),
                _ => return Err(Trouble::Failed("catalogue: this task is for rows of stations".into())),
            },
            (Task::Keys, Answer::Keys(figures)) => match made.map(|made| &made.expected) {
                Some(Expected::Keys(expected)) if expected == figures => (figures.keys, figures.keys),
                Some(Expected::Keys(expected)) => {
                    return Err(Trouble::Wrong(format!("{figures:?} instead of {expected:?}")));
                }
                _ => return Err(Trouble::Failed("catalogue: this task is for rows of many keys".into())),
            },
            (Task::Write | Task::Copy, Answer::File) => {
                let look = std::mem::replace(&mut self.look, Look::Samples);
                (numbers::check(files.to, files.size, look)?, expected_sum(files.size / 8))
            }
            (task, answer) => return Err(Trouble::Wrong(format!("{answer:?} is no answer to {task:?}"))),
        })
    }
}

/// Whether a task makes a file.
fn writes(task: Task) -> bool {
    matches!(task, Task::Write | Task::Copy)
}

/// What was done, in the row's measure: rows, or bytes.
fn amount(answer: &Answer, size: u64) -> u64 {
    match answer {
        Answer::Bytes(bytes) => *bytes,
        _ => size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Corpus, Place};

    pub(super) const JOB: FileJob =
        FileJob { task: Task::Count, corpus: Corpus::Numbers, place: Place::Disk, cache: Cache::Warm, threads: 1 };
}
