//! The bandwidth of this machine's memory, measured in the same run as the rows.
//!
//! Three loops run over a range: read (sum), write (fill), copy (memcpy, each byte counted once). There are four settings: a
//! range as large as the blocks of one pipe, which fits the shared cache; a range much larger than that; and the large range
//! with two threads and with a thread on every core. The best of several passes counts, and a later measurement can only
//! raise it.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::kernels::{fill, sum};
use crate::memory::{Pages, Region, bytes_of_mut};

const PASSES: usize = 3;

/// Gigabytes per second.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Roofline {
    /// One thread, 6 MiB.
    pub cache: Bandwidth,
    /// One thread, memory.
    pub memory: Bandwidth,
    /// Two threads, memory; the sum.
    pub two_cores: Bandwidth,
    /// All cores, memory; the sum.
    pub all_cores: Bandwidth,
    /// Reading the file of the case past the page cache, for cases that read from the device.
    pub device: Option<f64>,
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

    /// The read bandwidth for this many threads.
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
    /// Allocates the ranges; tiny ones if `quick`, which measure nothing.
    pub(crate) fn new(quick: bool) -> std::io::Result<Gauge> {
        let (memory, cache) = if quick { (8 << 20, 1 << 20) } else { (256 << 20, 6 << 20) };
        let cores = std::thread::available_parallelism().map_or(1, usize::from).min(64);
        let regions = (0..cores).map(|_| Region::touched(memory, Pages::Huge)).collect::<std::io::Result<_>>()?;
        Ok(Gauge { regions, cache: cache / 8, best: Roofline::default() })
    }

    /// Measures everything again and returns the best so far.
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

/// Threads that read from a device at once: enough requests to keep it busy.
const REQUESTS: u64 = 4;

/// Bytes each of them reads at a time.
const PIECE: u64 = 2 << 20;

/// The bandwidth, in gigabytes per second, at which several threads read the file at `path` past the page cache: the best of
/// several passes over at most a gigabyte.
pub(crate) fn device_reads(path: &Path) -> std::io::Result<f64> {
    let file = File::options().read(true).custom_flags(libc::O_DIRECT).open(path)?;
    let pieces = file.metadata()?.len().min(1 << 30) / PIECE;
    let next = AtomicU64::new(0);
    let read = || -> std::io::Result<()> {
        let mut buffer = Region::touched(PIECE as usize, Pages::Huge)?;
        loop {
            let piece = next.fetch_add(1, Ordering::Relaxed);
            if piece >= pieces {
                return Ok(());
            }
            let bytes = bytes_of_mut(&mut buffer.words_mut()[..PIECE as usize / 8]);
            file.read_exact_at(bytes, piece * PIECE)?;
        }
    };
    let mut best = 0f64;
    for _ in 0..PASSES {
        next.store(0, Ordering::Relaxed);
        let start = Instant::now();
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..REQUESTS).map(|_| scope.spawn(read)).collect();
            let ended = threads.into_iter().map(|thread| thread.join().unwrap_or(Err(ErrorKind::Other.into())));
            ended.collect::<std::io::Result<()>>()
        })?;
        best = best.max((pieces * PIECE) as f64 / start.elapsed().as_secs_f64() / 1e9);
    }
    Ok(best)
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
