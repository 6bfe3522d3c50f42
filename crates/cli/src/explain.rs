//! `--explain`: how an input was scanned, why, and how close the speed was to the limit of this machine.
//!
//! ```text
//! eagre: explain: access.log: plan map, 2 threads: 100 % of it is in the page cache, …; 40 GiB/s, 0.95 of the 42 GiB/s …
//! ```
//! With `--json`, the same is part of the JSON object.

use std::fmt;
use std::time::Duration;

use eagre::scan::{Choice, Plan, roofline};
use serde::Serialize;

use crate::inputs::Argument;
use crate::units;

/// Scans of fewer bytes are too short to measure their speed.
const ENOUGH: u64 = 64 << 20;

/// Explains one input after another, and keeps the memory speed that was measured for the first.
#[derive(Default)]
pub(crate) struct Explainer {
    memory: Option<(usize, Option<f64>)>,
}

/// How one input was scanned.
#[derive(Serialize)]
pub(crate) struct Explanation {
    #[serde(skip)]
    place: String,
    plan: Option<String>,
    threads: Option<usize>,
    why: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_per_second: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    best: Option<Best>,
}

/// The highest speed that is possible.
#[derive(Serialize)]
struct Best {
    bytes_per_second: u64,
    whose: String,
}

impl Explainer {
    /// Explains a scan of `bytes` bytes that took `time`.
    pub(crate) fn explain(
        &mut self,
        input: &Argument,
        choice: Option<Choice>,
        bytes: u64,
        time: Duration,
    ) -> Explanation {
        let place = input.place();
        let Some(choice) = choice else {
            let why = "not read: the file system knows its size".to_owned();
            return Explanation { place, plan: None, threads: None, why, bytes_per_second: None, best: None };
        };
        let enough = bytes >= ENOUGH;
        Explanation {
            place,
            plan: Some(choice.plan.to_string()),
            threads: Some(choice.threads),
            why: choice.why.to_string(),
            bytes_per_second: enough.then(|| (bytes as f64 / time.as_secs_f64()) as u64),
            best: if enough { self.best(input, choice) } else { None },
        }
    }

    fn best(&mut self, input: &Argument, choice: Choice) -> Option<Best> {
        let threads = choice.threads;
        let (rate, whose) = match choice.plan {
            Plan::Map | Plan::Read if choice.why.in_memory() => {
                let rate = match self.memory {
                    Some((by, rate)) if by == threads => rate,
                    _ => roofline::memory(threads).ok(),
                };
                self.memory = Some((threads, rate));
                (rate?, format!("that {} can read from memory here", people(threads)))
            }
            Plan::Direct => (roofline::disk(&input.open().ok()?).ok()?, "that its disk gives".to_owned()),
            _ => return None,
        };
        Some(Best { bytes_per_second: rate as u64, whose })
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "eagre: explain: {}: ", self.place)?;
        if let (Some(plan), Some(threads)) = (&self.plan, self.threads) {
            write!(f, "plan {plan}, {}: ", people(threads))?;
        }
        f.write_str(&self.why)?;
        if let Some(rate) = self.bytes_per_second {
            write!(f, "; {}/s", units::bytes(rate))?;
            if let Some(Best { bytes_per_second, whose }) = &self.best {
                let fraction = rate as f64 / *bytes_per_second as f64;
                write!(f, ", {fraction:.2} of the {}/s {whose}", units::bytes(*bytes_per_second))?;
            }
        }
        Ok(())
    }
}

fn people(threads: usize) -> String {
    if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") }
}
