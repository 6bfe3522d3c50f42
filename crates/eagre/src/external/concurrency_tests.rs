//! All models of concurrency with all plans, against the sort of the standard library; and who uses a device meanwhile.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use super::*;
use crate::device::{Emulated, Model};
use crate::records::{Fixed, Lines, Malformed};

const MODELS: [Concurrency; 4] = [Concurrency::Auto, Concurrency::NoSync, Concurrency::Overlap, Concurrency::Aware];

/// A device like persistent memory, with one writer at best. Writing a cache line takes so long.
fn device(write: Duration) -> Emulated {
    let random_read = Duration::from_nanos(1);
    let model = Model { random_read, write, read_beside_writer: 0.5, writers: 1, ..Model::new("test") };
    Emulated::new(model)
}

#[test]
fn all_models_and_plans_have_the_same_result() {
    const SIZE: usize = 100;
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let mut random = fastrand::Rng::with_seed(11);
    let mut records: Vec<u8> = (0..24 << 20).map(|_| random.u8(..)).collect();
    records.truncate(records.len() / SIZE * SIZE);
    std::fs::write(&from, &records).unwrap();
    let mut wanted: Vec<&[u8]> = records.chunks_exact(SIZE).collect();
    wanted.sort_by_key(|record| &record[..10]);
    let wanted = wanted.concat();
    let device = device(Duration::from_nanos(1));
    for model in MODELS {
        for (plan, memory) in [
            (Plan::InMemory, 256 << 20),
            (Plan::OnePass, 256 << 20),
            (Plan::MergePass, 32 << 20),
            (Plan::Classic, 32 << 20),
        ] {
            let sorter = FileSorter::new().memory(memory).threads(2).temporary(folder.path());
            let sorter = sorter.plan(plan).concurrency(model).emulate(&device);
            let report = sorter.sort_file(&Fixed::gensort(), &from, &to).unwrap();
            assert!(std::fs::read(&to).unwrap() == wanted, "{model} {plan}: {report:?}");
            let used = if model == Concurrency::Auto { Concurrency::Aware } else { model };
            assert_eq!((report.plan, report.concurrency), (plan, used));
            assert_eq!(report.runs > 1, plan == Plan::Classic, "{report:?}");
            assert!(report.phases.iter().any(|phase| phase.threads == 2), "{report:?}");
            let parts: u64 = report.timeline.iter().map(|part| part.phase.written).sum();
            assert_eq!(parts, report.phases.iter().map(|phase| phase.written).sum::<u64>());
        }
    }
    // On a device of which nothing is known, as ever.
    let report = FileSorter::new().memory(256 << 20).sort_file(&Fixed::gensort(), &from, &to).unwrap();
    assert_eq!(report.concurrency, Concurrency::NoSync);
}

/// Lines that look at who uses the device whenever one is parsed or fetched.
struct Watching<'a> {
    device: &'a Emulated,
    /// How many wrote at once, at most.
    writers: AtomicU32,
    /// How often a thread that read looked.
    looked: AtomicU32,
}

impl Format for Watching<'_> {
    fn length(&self, bytes: &[u8], last: bool) -> Result<Option<usize>, Malformed> {
        let (readers, writers) = self.device.users();
        self.writers.fetch_max(writers, Relaxed);
        self.looked.fetch_add(readers.min(1), Relaxed);
        Lines::default().length(bytes, last)
    }

    fn key<'a>(&self, record: &'a [u8], scratch: &'a mut Vec<u8>) -> &'a [u8] {
        Lines::default().key(record, scratch)
    }

    fn terminator(&self) -> Option<u8> {
        Lines::default().terminator()
    }
}

#[test]
fn readers_see_no_more_writers_than_may_write() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let mut random = fastrand::Rng::with_seed(12);
    let mut lines: Vec<String> = (0..100_000).map(|_| format!("{:x}\n", random.u128(..))).collect();
    std::fs::write(&from, lines.concat()).unwrap();
    lines.sort();
    let lines = lines.concat();
    for (model, most) in [(Concurrency::Overlap, 1), (Concurrency::Aware, 0), (Concurrency::Auto, 0)] {
        for plan in [Plan::OnePass, Plan::MergePass] {
            // Long enough for others to see it.
            let device = device(Duration::from_micros(1));
            let format = Watching { device: &device, writers: AtomicU32::new(0), looked: AtomicU32::new(0) };
            let sorter = FileSorter::new().memory(128 << 20).threads(4).temporary(folder.path());
            let sorter = sorter.plan(plan).concurrency(model).emulate(&device);
            sorter.sort_file(&format, &from, &to).unwrap();
            assert!(std::fs::read_to_string(&to).unwrap() == lines);
            assert!(format.writers.into_inner() <= most, "{model} {plan}");
            assert!(format.looked.into_inner() >= 100_000, "{model} {plan}");
            assert_eq!(device.users(), (0, 0));
        }
    }
}
