//! A progress line on a terminal.
//!
//! The line appears after a second, so short work shows none. It changes a few times a second, and is wiped before
//! anything else is printed.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::units;

/// The line appears after this time.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time between two changes of the line.
const INTERVAL: Duration = Duration::from_millis(250);

/// The progress line of a command.
#[derive(Debug)]
pub(crate) struct Progress {
    what: &'static str,
    total: Option<u64>,
    started: Instant,
    next: Instant,
    shown: bool,
}

impl Progress {
    /// `total` is the number of bytes to process, if it is known.
    pub(crate) fn new(what: &'static str, total: Option<u64>) -> Self {
        let started = Instant::now();
        Self { what, total, started, next: started + PATIENCE, shown: false }
    }

    /// Shows the number of bytes done.
    fn advance(&mut self, done: u64) {
        let (what, total) = (self.what, self.total);
        self.draw(|time| line(what, done, total, time));
    }

    /// Shows how many steps are done, and the next one.
    fn step(&mut self, done: u32, of: u32, next: &str) {
        let what = self.what;
        self.draw(|_| format!("eagre: {what}: {done} of {of}: {next}"));
    }

    /// Shows a line, which is made from the time since the beginning, if it is time for one.
    fn draw(&mut self, line: impl FnOnce(Duration) -> String) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + INTERVAL;
        self.shown = true;
        let line = line(now - self.started);
        // Return to the first column, print the line, and clear the rest.
        let _ = write!(io::stderr(), "\r{line}\x1b[K");
    }

    /// Wipes the line.
    fn wipe(&mut self) {
        if self.shown {
            self.shown = false;
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// The progress line, if there is one. The code that works and the code that prints share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gauge(Arc<Mutex<Option<Progress>>>);

impl Gauge {
    /// Shows this line from now on.
    pub(crate) fn show(&self, progress: Progress) {
        self.with(|line| *line = Some(progress));
    }

    /// If a line is shown, it is one for this phase from now on.
    pub(crate) fn follow(&self, what: &'static str, total: Option<u64>) {
        self.with(|line| {
            if let Some(progress) = line.as_mut().filter(|progress| progress.what != what) {
                progress.wipe();
                *progress = Progress::new(what, total);
            }
        });
    }

    /// The number of bytes to process has become known, or has changed.
    pub(crate) fn expect(&self, total: u64) {
        self.with(|line| line.iter_mut().for_each(|progress| progress.total = Some(total)));
    }

    /// Shows the number of bytes done. This is cheap and may be called often.
    pub(crate) fn advance(&self, done: u64) {
        self.with(|line| line.iter_mut().for_each(|progress| progress.advance(done)));
    }

    /// Shows how many steps are done, and the next one.
    pub(crate) fn step(&self, done: u32, of: u32, next: &str) {
        self.with(|line| line.iter_mut().for_each(|progress| progress.step(done, of, next)));
    }

    /// Wipes the line until the next call of [`Gauge::advance`].
    pub(crate) fn wipe(&self) {
        self.with(|line| line.iter_mut().for_each(Progress::wipe));
    }

    fn with(&self, change: impl FnOnce(&mut Option<Progress>)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn line(what: &str, done: u64, total: Option<u64>, time: Duration) -> String {
    let rate = done as f64 / time.as_secs_f64().max(1e-9);
    let mut line = format!("eagre: {what}: {}", units::bytes(done));
    // Files may have grown meanwhile.
    if let Some(total) = total.filter(|&total| total >= done) {
        line += &format!(" of {}", units::bytes(total));
    }
    line += &format!(", {}/s", units::bytes(rate as u64));
    if let Some(total) = total.filter(|&total| total >= done && rate > 0.0) {
        // With a rate near zero, the time may exceed the range of a duration. It is then omitted.
        if let Ok(left) = Duration::try_from_secs_f64((total - done) as f64 / rate) {
            line += &format!(", {} left", units::time(left));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let second = Duration::from_secs(1);
        assert_eq!(line("count", 1 << 30, Some(3 << 30), second), "eagre: count: 1 GiB of 3 GiB, 1 GiB/s, 2 s left");
        assert_eq!(line("count", 1 << 20, None, second), "eagre: count: 1 MiB, 1 MiB/s");
        assert_eq!(line("count", 5, Some(3), second), "eagre: count: 5 B, 5 B/s");
        assert_eq!(line("count", 0, Some(3), second), "eagre: count: 0 B of 3 B, 0 B/s");
    }
}
