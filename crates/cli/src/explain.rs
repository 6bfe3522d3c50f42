//! `--explain`: how an input was scanned, why so, and how fast for this machine.
//!
//! ```text
//! eagre: explain: access.log: plan map, 2 threads: 100 % of it is in the page cache, …; 40 GiB/s, 0.95 of the 42 GiB/s …
//! ```

use std::num::NonZeroUsize;
use std::time::Duration;

use eagre::count::Counted;
use eagre::scan::{Choice, Plan, roofline};

use crate::inputs::Input;
use crate::units;

/// Less than this is over before anything could be said about its speed.
const ENOUGH: u64 = 64 << 20;

/// What has been measured so far, not to measure it for each file.
#[derive(Default)]
pub(crate) struct Explanation {
    memory: Option<(NonZeroUsize, Option<f64>)>,
}

impl Explanation {
    /// One line about one input, which took `time`.
    pub(crate) fn of(&mut self, input: &Input, counted: &Counted, time: Duration) -> String {
        let place = input.place();
        let Some(choice) = counted.choice else {
            return format!("eagre: explain: {place}: not read: the file system knows its size");
        };
        let Choice { plan, threads, why, .. } = choice;
        let line = format!("eagre: explain: {place}: plan {plan}, {}: {why}", people(threads));
        let bytes = counted.counts.bytes;
        if bytes < ENOUGH {
            return line;
        }
        let rate = bytes as f64 / time.as_secs_f64();
        let speed = format!("{line}; {}/s", units::bytes(rate as u64));
        match self.ceiling(input, choice) {
            Some((best, whose)) => {
                format!("{speed}, {:.2} of the {}/s that {whose}", rate / best, units::bytes(best as u64))
            }
            None => speed,
        }
    }

    /// The best that could be hoped for, and who reaches it.
    fn ceiling(&mut self, input: &Input, choice: Choice) -> Option<(f64, String)> {
        let threads = choice.threads;
        match choice.plan {
            Plan::Map | Plan::Read if choice.why.in_memory() => {
                let best = match self.memory {
                    Some((by, best)) if by == threads => best,
                    _ => roofline::memory(threads).ok(),
                };
                self.memory = Some((threads, best));
                Some((best?, format!("{} can read from memory here", people(threads))))
            }
            Plan::Direct => {
                let best = roofline::disk(&input.open().ok()?).ok()?;
                Some((best, "its disk gives".to_owned()))
            }
            _ => None,
        }
    }
}

fn people(threads: NonZeroUsize) -> String {
    if threads.get() == 1 { "1 thread".to_owned() } else { format!("{threads} threads") }
}
