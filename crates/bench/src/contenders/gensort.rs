//! Records of the sort benchmark, made or checked in memory: no device is faster than the library without one.

use std::ops::Range;
use std::time::Instant;

use eagre::gensort::{Generator, RECORD, Summary};

use crate::contenders::{Contender, Measured, Trouble};

/// Records that are made or checked at a time: as many as fit into a core's cache.
const PORTION: u64 = 10_000;

/// So many threads, each with a part of the records.
pub(super) struct Gensort {
    pub check: bool,
    pub threads: usize,
}

impl Contender for Gensort {
    /// `size` bytes of records.
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let records = size / RECORD as u64;
        let parts = self.threads as u64;
        let part = |i: u64| records * i / parts..records * (i + 1) / parts;
        let check = self.check;
        let start = Instant::now();
        let done: Vec<Done> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..parts).map(|i| scope.spawn(move || if check { checked(part(i)) } else { made(part(i)) })).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().map_err(|_| Trouble::Failed("a thread panicked".into())))
                .collect::<Result<_, _>>()
        })?;
        // A thread that checks makes its records beforehand.
        let idle = done.iter().map(|done| done.before).max().unwrap_or_default();
        let took = start.elapsed().saturating_sub(idle);
        let answer = done.iter().map(|done| done.records).sum();
        Ok(Measured {
            took,
            amount: records * RECORD as u64,
            threads: self.threads,
            answer,
            expected: records,
            process: None,
            counters: vec![],
            timeline: vec![],
        })
    }
}

/// What a thread did.
struct Done {
    /// Records that are as they should be.
    records: u64,
    /// How long it took before it began.
    before: std::time::Duration,
}

/// Makes records, portion by portion in the same memory; a look at the last portion says whether they are right.
fn made(records: Range<u64>) -> Done {
    let generator = Generator::new();
    let mut portion = vec![0; PORTION as usize * RECORD];
    let mut right = 0;
    for first in records.clone().step_by(PORTION as usize) {
        let count = PORTION.min(records.end - first);
        let bytes = &mut portion[..count as usize * RECORD];
        generator.fill(first.into(), bytes);
        right += std::hint::black_box(bytes).len() as u64 / RECORD as u64;
    }
    // Each record by itself, on a sample.
    let last = records.end.saturating_sub(1);
    let mut alone = [0; RECORD];
    generator.fill(last.into(), &mut alone);
    let count = ((records.end - records.start - 1) % PORTION + 1) as usize;
    if portion[(count - 1) * RECORD..count * RECORD] != alone {
        right = 0;
    }
    Done { records: right, before: Default::default() }
}

/// Checks one portion of records as often as it takes.
fn checked(records: Range<u64>) -> Done {
    let start = Instant::now();
    let mut portion = vec![0; PORTION as usize * RECORD];
    Generator::new().fill(0, &mut portion);
    let expected = Summary::of(&portion).checksum;
    let before = start.elapsed();
    let mut right = 0;
    for first in records.clone().step_by(PORTION as usize) {
        let count = PORTION.min(records.end - first);
        let summary = Summary::of(std::hint::black_box(&portion[..count as usize * RECORD]));
        if count < PORTION || summary.checksum == expected {
            right += summary.records as u64;
        }
    }
    Done { records: right, before }
}
