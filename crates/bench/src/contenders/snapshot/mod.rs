//! Snapshots compared with what people use: a forked child, a whole copy, a private mapping.
//!
//! The first word of each page counts the updates of the page. All contenders add to random pages through a plain pointer, and a
//! moment must show exactly the updates that came before it.

mod fork;
mod kept;
mod private;

use std::time::{Duration, Instant};

use crate::catalogue::{Keep, Moments};
use crate::contenders::{Contender, Measured, Trouble};
use crate::kernels::word;
use kept::{Array, Moment};

/// The words from one page to the next.
const PAGE: usize = 4096 / 8;
/// How often a run does the work: some times to warm up, until memory is split or learned of as it will be, then on the clock.
const ROUNDS: u32 = 6;
const WARM_UP: u32 = 3;

/// Takes snapshots of an array, and stores to it.
pub(crate) struct Snapshots {
    keep: Keep,
    moments: Moments,
}

impl Snapshots {
    pub(crate) fn new(keep: Keep, moments: Moments) -> Result<Snapshots, Trouble> {
        match (keep, moments) {
            (Keep::Private, Moments::Take { held: true }) => {
                Err(Trouble::Unavailable("a private mapping keeps one moment at a time".into()))
            }
            _ => Ok(Snapshots { keep, moments }),
        }
    }

    /// The most moments that are held at once.
    fn most(&self) -> usize {
        match self.moments {
            Moments::Take { held } => 1 + usize::from(held),
            Moments::Update { .. } => 1,
        }
    }
}

impl Contender for Snapshots {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let mut work = Updates {
            array: kept::array(self.keep, size as usize, self.most())?,
            pages: size as usize / 4096,
            done: 0,
        };
        let (mut took, mut amount) = (Duration::ZERO, 0);
        let (mut answer, mut expected) = (0, 0);
        let mut check = |moment: &mut Box<dyn Moment>, before: u64| {
            expected += before;
            moment.sum().map(|sum| answer += sum)
        };
        for round in 0..ROUNDS {
            let timed = match self.moments {
                Moments::Take { held } => {
                    let mut older = work.array.take()?;
                    let before = work.done;
                    work.update(work.pages / 100);
                    let mut older = if held {
                        Some(older)
                    } else {
                        check(&mut older, before)?;
                        older.end()?;
                        None
                    };
                    let started = Instant::now();
                    let mut moment = work.array.take()?;
                    let timed = started.elapsed();
                    check(&mut moment, work.done)?;
                    if let Some(moment) = &mut older {
                        check(moment, before)?;
                    }
                    moment.end()?;
                    older.map_or(Ok(()), |older| older.end())?;
                    timed
                }
                Moments::Update { permille } => {
                    let before = work.done;
                    let started = Instant::now();
                    let mut moment = work.array.take()?;
                    work.update(work.pages * permille as usize / 1000);
                    moment.make_readable()?;
                    let timed = started.elapsed();
                    check(&mut moment, before)?;
                    let ending = Instant::now();
                    moment.end()?;
                    work.array.all_ended()?;
                    timed + ending.elapsed()
                }
            };
            if round >= WARM_UP {
                took += timed;
                amount += match self.moments {
                    Moments::Take { .. } => 1,
                    Moments::Update { permille } => (work.pages * permille as usize / 1000) as u64,
                };
            }
        }
        answer += sum(work.array.words());
        expected += work.done;
        Ok(Measured { expected, ..Measured::alone(took, amount, answer, 0) })
    }
}

/// An array, and how often it was updated.
struct Updates {
    array: Box<dyn Array>,
    pages: usize,
    done: u64,
}

impl Updates {
    fn update(&mut self, count: usize) {
        let pages = self.pages as u64;
        let words = self.array.words_mut();
        for update in self.done..self.done + count as u64 {
            words[((u128::from(word(update)) * u128::from(pages)) >> 64) as usize * PAGE] += 1;
        }
        self.done += count as u64;
    }
}

/// How many updates an array has seen.
fn sum(words: &[u64]) -> u64 {
    words.iter().step_by(PAGE).sum()
}
