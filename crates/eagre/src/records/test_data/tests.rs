//! Test data is what it claims to be, and the same however it is made.

use std::collections::{HashMap, HashSet};

use super::*;
use crate::records::{Fixed, Format};

/// All of a file.
fn made(data: &TestData<'_>, records: u64) -> Vec<u8> {
    let maker = Maker::new(data, records, 2).unwrap().unwrap();
    let mut bytes = vec![0; maker.length as usize];
    maker.fill(0, &mut bytes);
    bytes
}

fn cut(format: &dyn Format, mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let length = format.length(bytes, true).unwrap().unwrap();
        records.push(bytes[..length].to_vec());
        bytes = &bytes[length..];
    }
    records
}

fn every_form() -> Vec<TestData<'static>> {
    let mut all = vec![
        TestData::fixed(1).unwrap(),
        TestData::fixed(100).unwrap(),
        TestData::klv(Klv::new(10, 4, false).unwrap(), 90..=90).unwrap(),
        TestData::klv(Klv::new(3, 2, true).unwrap(), 0..=300).unwrap(),
        TestData::lines(Lines::default()),
        TestData::lines(Lines::ended_by(0)),
    ];
    for types in ["u8", "i16", "u32", "f32", "u64", "f64", "i128", "u32:u32", "u64:u64"] {
        all.push(TestData::numbers(types).unwrap());
    }
    let skewed: Vec<_> = all.iter().map(|data| data.clone().zipf(true).seed(9)).collect();
    all.extend(skewed);
    all
}

#[test]
fn any_part_is_a_part_of_the_whole() {
    let mut random = fastrand::Rng::with_seed(1);
    for data in every_form() {
        let whole = made(&data, 10_000);
        let maker = Maker::new(&data, 10_000, 1).unwrap().unwrap();
        for _ in 0..50 {
            let at = random.usize(..whole.len());
            let mut part = vec![0; random.usize(..5000).min(whole.len() - at)];
            maker.fill(at as u64, &mut part);
            assert!(part == whole[at..at + part.len()], "{data:?}: {} bytes at {at}", part.len());
        }
        assert!(made(&data.clone().seed(77), 10_000) != whole, "{data:?}: another seed");
    }
}

#[test]
fn any_number_of_threads_writes_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    for data in every_form() {
        let expected = made(&data, 70_000);
        for threads in [1, 3] {
            data.clone().threads(threads).file(&path, 70_000).unwrap();
            assert!(std::fs::read(&path).unwrap() == expected, "{data:?}, {threads} threads");
        }
        data.file(&path, 0).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
    }
}

#[test]
fn values_have_every_length_that_was_asked_for() {
    let format = Klv::new(3, 2, true).unwrap();
    let records = cut(&format, &made(&TestData::klv(format, 10..=20).unwrap(), 10_000));
    assert_eq!(records.len(), 10_000);
    let mut lengths: Vec<_> = records.iter().map(|record| record.len() - 5).collect();
    lengths.sort_unstable();
    lengths.dedup();
    assert_eq!(lengths, (10..=20).collect::<Vec<_>>());
}

#[test]
fn lines_are_words() {
    let records = cut(&Lines::default(), &made(&TestData::lines(Lines::default()), 10_000));
    assert_eq!(records.len(), 10_000);
    for line in &records {
        let text = std::str::from_utf8(line).unwrap().strip_suffix('\n').unwrap();
        assert!((8..=120).contains(&text.len()), "{text:?}");
        assert!(text.split(' ').all(|word| (1..=13).contains(&word.len())), "{text:?}");
        assert!(text.bytes().all(|byte| byte == b' ' || byte.is_ascii_lowercase()), "{text:?}");
    }
    let distinct: HashSet<_> = records.iter().collect();
    assert!(distinct.len() > 9_900, "{} distinct lines", distinct.len());
}

#[test]
fn numbers_are_in_their_range() {
    let floats = made(&TestData::numbers("f64").unwrap(), 10_000);
    let floats: Vec<_> = floats.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
    assert!(floats.iter().all(|number| (-1.0..=1.0).contains(number)));
    assert!(floats.iter().any(|&number| number < -0.99) && floats.iter().any(|&number| number > 0.99));
    let floats = made(&TestData::numbers("f32").unwrap().zipf(true), 10_000);
    assert!(floats.as_chunks().0.iter().all(|bytes| (-1.0..=1.0).contains(&f32::from_le_bytes(*bytes))));
    let pairs = made(&TestData::numbers("u64:u64").unwrap(), 1000);
    let second = pairs.as_chunks::<16>().0.iter().map(|pair| u64::from_le_bytes(*pair.last_chunk().unwrap()));
    assert!(second.eq(0..1000));
    let bits = made(&TestData::numbers("u64").unwrap(), 10_000).iter().map(|byte| byte.count_ones()).sum::<u32>();
    assert!((318_000..322_000).contains(&bits), "{bits} of 640,000 bits are set");
}

/// How often keys occur, the most frequent first.
fn frequencies(format: &dyn Format, data: &TestData<'_>, records: u64) -> Vec<u64> {
    let mut seen = HashMap::new();
    for record in cut(format, &made(data, records)) {
        *seen.entry(format.key(&record, &mut Vec::new()).to_vec()).or_insert(0) += 1;
    }
    let mut counts: Vec<_> = seen.into_values().collect();
    counts.sort_unstable_by(|one, other| other.cmp(one));
    counts
}

#[test]
fn keys_are_as_frequent_as_was_asked_for() {
    let klv = Klv::new(10, 4, false).unwrap();
    let lines = Lines::default();
    let (record, number) = (Fixed::gensort(), Fixed::numbers("u64").unwrap());
    let many = 20_000u64;
    let sum: f64 = (1..=many).map(|rank| 1.0 / rank as f64).sum();
    for (format, data) in [
        (&klv as &dyn Format, TestData::klv(klv, 10..=50).unwrap()),
        (&lines, TestData::lines(lines)),
        (&record, TestData::fixed(100).unwrap()),
        (&number, TestData::numbers("u64").unwrap()),
    ] {
        let uniform = frequencies(format, &data, many);
        assert!(uniform.len() as f64 > many as f64 * 0.99, "{} different keys", uniform.len());
        let skewed = frequencies(format, &data.zipf(true), many);
        for rank in [1, 2, 5] {
            let (found, expected) = (skewed[rank - 1] as f64, many as f64 / (rank as f64 * sum));
            assert!((found - expected).abs() < 6.0 * expected.sqrt(), "rank {rank}: {found} of {expected}");
        }
    }
}

#[test]
fn what_cannot_be_made_is_said() {
    TestData::fixed(0).unwrap_err();
    let klv = Klv::new(1, 1, false).unwrap();
    TestData::klv(klv, 0..=255).unwrap();
    TestData::klv(klv, 0..=256).unwrap_err();
    #[allow(clippy::reversed_empty_ranges, reason = "on purpose")]
    TestData::klv(klv, 5..=4).unwrap_err();
    for wrong in ["", "u7", "u64be", "u64:u32", "i128:i128", "u8:u8:u8"] {
        TestData::numbers(wrong).unwrap_err();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge");
    let huge = TestData::klv(Klv::new(1, 8, false).unwrap(), 0..=u64::MAX).unwrap();
    assert_eq!(huge.file(&path, 10_000).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    assert_eq!(TestData::fixed(100).unwrap().file(&path, u64::MAX).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    assert!(!path.exists());
}
