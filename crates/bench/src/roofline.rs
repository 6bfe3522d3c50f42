//! What the memory of this machine gives, measured in the same run as the rows it stands beside.
//!
//! Three loops over a range: read (sum), write (fill), copy (memcpy, counted once). Four settings:
//! a range as large as the blocks of one pipe, which the shared cache holds; a range far beyond it;
//! and the same with two threads and with a thread on every core. The best of several passes counts, and a later
//! measurement only ever raises it.

use std::sync::Barrier;
use std::time::Instant;

use serde::Serialize;

use crate::kernels::{fill, sum};
use crate::memory::{Pages, Region};

const PASSES: usize = 3;

/// Gigabytes per second.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Bandwidth {
    /// Sum of words.
    pub read: f64,
    /// Words filled.
    pub write: f64,
    /// Bytes copied, each counted once.
    pub copy: f64,
}

impl Bandwidth {
    fn raise(&mut self, other: Bandwidth) {
        self.read = self.read.max(other.read);
        self.write = self.write.max(other.write);
        self.copy = self.copy.max(other.copy);
    }
}

/// The four settings.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Roofline {
    /// One thread, 6 MiB.
    pub cache: Bandwidth,
    /// One thread, memory.
    pub memory: Bandwidth,
    /// Two threads, memory; the sum.
    pub two_cores: Bandwidth,
    /// All cores, memory; the sum.
    pub all_cores: Bandwidth,
}

impl Roofline {
    /// Name and value of each setting.
    pub(crate) fn settings(&self) -> [(&'static str, Bandwidth); 4] {
        [
            ("one core, 6 MiB", self.cache),
            ("one core, memory", self.memory),
            ("two cores, memory", self.two_cores),
            ("all cores, memory", self.all_cores),
        ]
    }

    /// What memory gives to so many reading threads.
    pub(crate) fn reads(&self, threads: usize) -> f64 {
        match threads {
            0 | 1 => self.memory.read,
            2 => self.two_cores.read,
            _ => self.all_cores.read,
        }
    }
}

/// The memory the loops run over, kept between measurements.
pub(crate) struct Gauge {
    regions: Vec<Region>,
    cache: usize,
    best: Roofline,
}

impl Gauge {
    /// Ranges of a size that measures something, or (`quick`) of one that only runs.
    pub(crate) fn new(quick: bool) -> std::io::Result<Gauge> {
        let (memory, cache) = if quick { (8 << 20, 1 << 20) } else { (256 << 20, 6 << 20) };
        let cores = std::thread::available_parallelism().map_or(1, usize::from).min(64);
        let regions = (0..cores).map(|_| Region::touched(memory, Pages::Huge)).collect::<std::io::Result<_>>()?;
        Ok(Gauge { regions, cache: cache / 8, best: Roofline::default() })
    }

    /// Measures everything once more; the best so far.
    pub(crate) fn measure(&mut self) -> Roofline {
        let cache = self.cache;
        let repeat = self.regions[0].words().len() / cache;
        for _ in 0..PASSES {
            self.best.cache.raise(pass(&mut self.regions[0].words_mut()[..cache], repeat, || {}));
            self.best.memory.raise(pass(self.regions[0].words_mut(), 1, || {}));
            let cores = self.regions.len();
            self.best.two_cores.raise(side_by_side(&mut self.regions[..cores.min(2)]));
            if cores > 2 {
                self.best.all_cores.raise(side_by_side(&mut self.regions));
            } else {
                self.best.all_cores = self.best.two_cores;
            }
        }
        self.best
    }
}

/// Each loop over all regions at once, a thread each; the sum.
fn side_by_side(regions: &mut [Region]) -> Bandwidth {
    let barrier = Barrier::new(regions.len());
    let together = || {
        let _ = barrier.wait();
    };
    std::thread::scope(|scope| {
        let passes: Vec<_> =
            regions.iter_mut().map(|region| scope.spawn(|| pass(region.words_mut(), 1, together))).collect();
        passes.into_iter().filter_map(|pass| pass.join().ok()).fold(Bandwidth::default(), |a, b| Bandwidth {
            read: a.read + b.read,
            write: a.write + b.write,
            copy: a.copy + b.copy,
        })
    })
}

/// Each loop `repeat` times over `words`, all threads starting each together.
fn pass(words: &mut [u64], repeat: usize, together: impl Fn()) -> Bandwidth {
    let bytes = (words.len() * 8 * repeat) as f64;
    let rate = |start: Instant| bytes / start.elapsed().as_secs_f64() / 1e9;
    together();
    let start = Instant::now();
    for i in 0..repeat {
        fill(std::hint::black_box(&mut *words), i as u64);
    }
    let write = rate(start);
    together();
    let start = Instant::now();
    for _ in 0..repeat {
        std::hint::black_box(sum(std::hint::black_box(words)));
    }
    let read = rate(start);
    let (from, to) = words.split_at_mut(words.len() / 2);
    together();
    let start = Instant::now();
    for _ in 0..repeat {
        std::hint::black_box(&mut *to).copy_from_slice(std::hint::black_box(from));
    }
    let copy = rate(start) / 2.0;
    Bandwidth { read, write, copy }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_has_numbers() {
        let mut gauge = Gauge::new(true).unwrap();
        let first = gauge.measure();
        for (_, b) in first.settings() {
            assert!(b.read > 0.0 && b.write > 0.0 && b.copy > 0.0);
        }
        assert!(gauge.measure().memory.read >= first.memory.read);
    }
}
