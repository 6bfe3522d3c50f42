//! Settings, formats and records drawn at random, against the sort of the standard library. The seed is new each time; a
//! failure tells it, and `EAGRE_TEST_SEED` brings it back.

use std::path::Path;

use fastrand::Rng;

use super::tests::expected;
use super::*;
use crate::records::{Fixed, KeyRange, Klv, Lines};

const ROUNDS: usize = 10;

/// Some keys are frequent, some have a long common beginning, some are the beginning of others.
fn key(random: &mut Rng, letters: &[u8], most: usize) -> Vec<u8> {
    let length = random.usize(0..=most);
    match random.u8(0..8) {
        0 => vec![letters[0]; length],
        1 => vec![letters[0]; most.min(14)],
        _ => (0..length).map(|_| letters[random.usize(0..letters.len())]).collect(),
    }
}

/// About `size` bytes that `make` makes, record by record.
fn records(random: &mut Rng, size: usize, mut make: impl FnMut(&mut Rng) -> Vec<u8>) -> Vec<u8> {
    let mut bytes = Vec::new();
    while bytes.len() < size {
        bytes.extend(make(random));
    }
    bytes
}

/// A folder on a disk, or in memory: there, records that pointers point to are fetched in another way.
pub(super) fn folder(in_memory: bool) -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if in_memory && memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

/// Sorts by settings drawn at random.
fn check<F: Format>(random: &mut Rng, format: &F, bytes: &[u8], folder: &Path, what: &str) {
    let (from, to) = (folder.join("from"), folder.join("to"));
    std::fs::write(&from, bytes).unwrap();
    let (descending, unique) = (random.bool(), random.u8(0..4) == 0);
    let head = (random.u8(0..4) == 0).then(|| random.usize(0..20_000));
    let plans = [Plan::Auto, Plan::Classic, Plan::Classic, Plan::MergePass, Plan::OnePass];
    // Pointers do not leave repeated records out, nor complete a last line.
    let whole = format.terminator().is_none_or(|end| bytes.last() == Some(&end));
    let pointers = !unique && whole && !bytes.is_empty();
    let plan = plans[random.usize(0..if pointers { 5 } else { 3 })];
    let memory = if plan == Plan::OnePass { 128 << 20 } else { LEAST_MEMORY + random.u64(0..16 << 20) };
    let in_place = random.bool();
    let sorter = FileSorter::new().memory(memory).threads(random.usize(1..4)).temporary(folder).plan(plan);
    let sorter = sorter.descending(descending).unique(unique).verify(random.bool()).compress_runs(random.bool());
    let sorter = match head {
        Some(head) => sorter.head(head as u64),
        None => sorter,
    };
    let to = if in_place { &from } else { &to };
    let report = sorter.sort_file(format, &from, to).unwrap_or_else(|error| panic!("{what}, {sorter:?}: {error}"));
    let wanted = expected(format, bytes, descending, unique, head.unwrap_or(usize::MAX));
    let found = std::fs::read(to).unwrap();
    assert!(found == wanted, "{what}, {sorter:?}: {} of {} bytes, {report:?}", found.len(), wanted.len());
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), if in_place { 1 } else { 2 }, "nothing is left behind");
}

#[test]
fn settings_formats_and_records_at_random() {
    let seed = std::env::var("EAGRE_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    let random = &mut Rng::with_seed(seed);
    for round in 0..ROUNDS {
        let folder = folder(random.bool());
        let size = [0, 100, 100_000, 9 << 20, 14 << 20][random.usize(0..5)];
        let letters = [&b"ab"[..], b"abcdefghijklmnopqrstuvwxyz", b"\0\x01\xfe\xff"][random.usize(0..3)];
        let what = format!("EAGRE_TEST_SEED={seed}, round {round}");
        match random.usize(0..3) {
            0 => {
                let mut bytes = records(random, size, |random| [key(random, letters, 40), vec![b'\n']].concat());
                if random.bool() {
                    bytes.extend(key(random, letters, 3));
                }
                check(random, &Lines::default(), &bytes, folder.path(), &what);
            }
            1 => {
                let record = random.usize(20..120);
                let length = random.usize(1..=20);
                let offset = random.usize(0..=record - length);
                let mut ranges = vec![KeyRange::bytes(offset, length)];
                ranges.extend(random.bool().then(|| "3:i64:desc".parse::<KeyRange>().unwrap()));
                let bytes = records(random, size, |random| {
                    let mut bytes: Vec<u8> = (0..record).map(|_| random.u8(..)).collect();
                    let key = key(random, letters, length);
                    bytes[offset..offset + key.len()].copy_from_slice(&key);
                    bytes
                });
                check(random, &Fixed::new(record, &ranges).unwrap(), &bytes, folder.path(), &what);
            }
            _ => {
                let length = random.usize(1..16);
                let bytes = records(random, size, |random| {
                    let mut key = key(random, letters, length);
                    key.resize(length, 0);
                    let value = random.u8(..);
                    [key, vec![value], vec![value; value.into()]].concat()
                });
                check(random, &Klv::new(length, 1, false).unwrap(), &bytes, folder.path(), &what);
            }
        }
    }
}
