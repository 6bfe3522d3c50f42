//! What a sort tells: how far it is, and what it did.

use std::time::{Duration, Instant};

use super::concurrency::Concurrency;
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
    /// How many threads worked, at most.
    pub threads: usize,
}

/// A time in which a sort was in one phase.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Part {
    /// When it began, from the beginning of the sort.
    pub start: Duration,
    /// The phase, or as much of it as was in this time.
    pub phase: Phase,
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
    /// How threads shared the devices.
    pub concurrency: Concurrency,
    /// The same parts one by one, in the order in which they ended. Of a long sort, two of one name may be told as one.
    pub timeline: Vec<Part>,
    /// When the sort began.
    pub(super) began: Option<Instant>,
}

/// The most parts of a time line.
const MOST_PARTS: usize = 1000;

impl Report {
    /// Adds what `threads` threads did to the phase `name`.
    pub(super) fn add(&mut self, name: &'static str, threads: usize, since: Instant, read: u64, written: u64) {
        let phase = Phase { name, time: since.elapsed(), read, written, threads };
        match self.phases.iter_mut().find(|phase| phase.name == name) {
            Some(before) => before.include(&phase),
            None => self.phases.push(phase.clone()),
        }
        let start = self.began.map_or(Duration::ZERO, |began| since.saturating_duration_since(began));
        if self.timeline.len() == MOST_PARTS {
            self.timeline = halved(std::mem::take(&mut self.timeline));
        }
        self.timeline.push(Part { start, phase });
    }
}

impl Phase {
    fn include(&mut self, more: &Phase) {
        self.time += more.time;
        self.read += more.read;
        self.written += more.written;
        self.threads = self.threads.max(more.threads);
    }
}

/// Makes one part of each two of the same name.
fn halved(parts: Vec<Part>) -> Vec<Part> {
    let mut half: Vec<Part> = Vec::with_capacity(parts.len());
    // Where the last part of a name is that has no partner.
    let mut single: Vec<(&'static str, usize)> = Vec::new();
    for part in parts {
        match single.iter().position(|(name, _)| *name == part.phase.name) {
            Some(place) => half[single.swap_remove(place).1].phase.include(&part.phase),
            None => {
                single.push((part.phase.name, half.len()));
                half.push(part);
            }
        }
    }
    half
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_line_stays_short_and_loses_nothing() {
        let began = Instant::now();
        let mut report = Report { began: Some(began), ..Report::default() };
        for number in 0..10_000 {
            report.add("read", 2, began, number, 0);
            report.add("sort", 4, began, 0, 0);
            report.add("write runs", 1, began, 0, 1);
        }
        report.add("sync", 1, began, 0, 0);
        assert!(report.timeline.len() <= MOST_PARTS);
        for phase in &report.phases {
            let parts = || report.timeline.iter().map(|part| &part.phase).filter(|part| part.name == phase.name);
            assert_eq!(parts().map(|part| part.read).sum::<u64>(), phase.read);
            assert_eq!(parts().map(|part| part.written).sum::<u64>(), phase.written);
            assert_eq!(parts().map(|part| part.time).sum::<Duration>(), phase.time);
            assert!(parts().all(|part| part.threads == phase.threads));
        }
        assert_eq!((report.phases[0].read, report.phases.len()), (10_000 * 9999 / 2, 4));
        assert!(report.timeline.is_sorted_by_key(|part| part.start));
    }
}
