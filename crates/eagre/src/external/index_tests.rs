//! Indexes and what is gathered by them, against sorted records; outputs that are verified.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::tests::expected;
use super::*;
use crate::records::{Fixed, KeyRange, Klv, Lines, Malformed};

fn index<F: Format>(sorter: &FileSorter<'_>, format: &F, from: &Path, to: &Path) -> io::Result<Report> {
    sorter.index(format, Input::new("from", File::open(from)?), Output::create(to)?, to)
}

/// Indexes bytes in several ways, and compares what is gathered with the oracle, and each entry with its record.
fn check<F: Format>(format: &F, bytes: &[u8], folder: &Path, what: &str) {
    let [from, to, gathered] = ["from", "to", "gathered"].map(|name| folder.join(name));
    std::fs::write(&from, bytes).unwrap();
    for (descending, unique, head, plan) in [
        (false, false, None, Plan::Auto),
        (true, false, None, Plan::MergePass),
        (true, true, None, Plan::Auto),
        (false, true, Some(77), Plan::MergePass),
    ] {
        let sorter = FileSorter::new().memory(LEAST_MEMORY).threads(2).temporary(folder).plan(plan).verify(true);
        let mut sorter = sorter.descending(descending).unique(unique);
        if let Some(head) = head {
            sorter = sorter.head(head);
        }
        let report = index(&sorter, format, &from, &to).unwrap();
        let wanted = expected(format, bytes, descending, unique, head.unwrap_or(u64::MAX) as usize);
        let records = gather(&to, &from, &gathered).unwrap();
        assert!(
            std::fs::read(&gathered).unwrap() == wanted,
            "{what}: {descending} {unique} {head:?} {plan}: {report:?}"
        );

        let file = std::fs::read(&to).unwrap();
        let header = IndexHeader::read(&File::open(&to).unwrap()).unwrap();
        assert_eq!((header.records, header.descending), (records, descending), "{what}");
        assert_eq!(report.written, file.len() as u64, "{what}");
        let (mut rest, mut scratch) = (&wanted[..], Vec::new());
        for entry in file[IndexHeader::BYTES..].chunks_exact(header.entry_bytes()) {
            let entry = header.entry(entry);
            let (record, behind) = rest.split_at(format.length(rest, true).unwrap().unwrap());
            let key = format.key(record, &mut scratch);
            let kept = key.len().min(header.key_bytes);
            assert!(entry.key[..kept] == key[..kept] && entry.key[kept..].iter().all(|&byte| byte == 0), "{what}");
            assert!(!header.whole_keys || kept == key.len());
            let found = &bytes[entry.offset as usize..][..entry.length as usize];
            assert!(record.starts_with(found) && record.len() - found.len() <= 1, "{what}");
            rest = behind;
        }
        assert!(rest.is_empty());
        if records > 10 {
            Gatherer::new().threads(3).range(3, Some(records - 4)).files(&to, &from, &gathered).unwrap();
            let part = std::fs::read(&gathered).unwrap();
            let ends =
                |from: usize| (0..from).fold(0, |at, _| at + format.length(&wanted[at..], true).unwrap().unwrap());
            assert!(wanted[ends(3)..].starts_with(&part), "{what}");
            assert_eq!(part.len(), ends(records as usize - 4) - ends(3));
        }
    }
}

#[test]
fn records_gathered_by_an_index_are_those_sorted() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(11);
    for size in [0, 3_000, 3 << 20] {
        let records: Vec<u8> = (0..size / 30 * 30).map(|_| random.u8(..4)).collect();
        let keys = |keys: &[&str]| keys.iter().map(|key| key.parse().unwrap()).collect::<Vec<KeyRange>>();
        check(&Fixed::new(30, &keys(&["3:10"])).unwrap(), &records, folder.path(), "short keys");
        check(&Fixed::new(30, &keys(&["26:i32", "2:2:desc", "3:20"])).unwrap(), &records, folder.path(), "long keys");

        let klv = Klv::new(3, 2, true).unwrap();
        let mut records = Vec::new();
        while records.len() < size {
            records.extend((0..3).map(|_| random.u8(..)));
            let length = random.u16(0..50);
            records.extend_from_slice(&length.to_be_bytes());
            records.extend((0..length).map(|_| random.u8(..)));
        }
        check(&klv, &records, folder.path(), "klv");

        let mut lines = Vec::new();
        while lines.len() < size {
            lines.extend_from_slice(&b"a common prefix of many lines"[..random.usize(0..30)]);
            lines.extend((0..random.usize(0..9)).map(|_| random.u8(b'a'..=b'd')));
            lines.push(b'\n');
        }
        lines.extend_from_slice(&b"b the end is missing"[..if size == 0 { 0 } else { 20 }]);
        check(&Lines::default(), &lines, folder.path(), "lines");
    }
    // Words that do not fit.
    let numbers: Vec<u8> = (0..4_000_000).map(|_| random.u8(..)).collect();
    check(&Fixed::numbers("i32").unwrap(), &numbers, folder.path(), "numbers");
}

/// Lines whose words are all equal need the rest of their keys in the merge, too.
#[test]
fn runs_of_keys_with_common_prefixes_are_merged_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let mut random = fastrand::Rng::with_seed(12);
    let mut lines = Vec::new();
    for _ in 0..1_000_000 {
        lines.extend_from_slice(&b"a common prefix "[..random.usize(10..=16)]);
        lines.extend_from_slice(format!("{:x}\n", random.u16(..)).as_bytes());
    }
    std::fs::write(&from, &lines).unwrap();
    for descending in [false, true] {
        let sorter = FileSorter::new().memory(LEAST_MEMORY).temporary(folder.path()).descending(descending);
        let report = sorter.plan(Plan::MergePass).verify(true).sort_file(&Lines::default(), &from, &to).unwrap();
        assert!(report.runs > 1, "{report:?}");
        let wanted = expected(&Lines::default(), &lines, descending, false, usize::MAX);
        assert!(std::fs::read(&to).unwrap() == wanted, "{descending}");
    }
}

#[test]
fn an_index_that_cannot_be_used_is_said_and_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let [from, to, out] = ["from", "to", "out"].map(|name| folder.path().join(name));
    let sorter = FileSorter::new().memory(LEAST_MEMORY).temporary(folder.path());
    let lines = Lines::default();
    let said = |gatherer: &Gatherer<'_>| gatherer.files(&to, &from, &out).unwrap_err().to_string();
    std::fs::write(&from, "b\na\nc\n").unwrap();
    index(&sorter, &lines, &from, &to).unwrap();
    let good = std::fs::read(&to).unwrap();
    let entry = (good.len() - IndexHeader::BYTES) / 3;

    let all = Gatherer::new();
    // Offset and length of entry 1: past the end, past what numbers hold, and no length.
    for (at, bytes) in [(16, &[5][..]), (16, &[0xff; 10]), (21, &[7]), (21, &[0])] {
        let mut hostile = good.clone();
        hostile[IndexHeader::BYTES + entry + at..][..bytes.len()].copy_from_slice(bytes);
        std::fs::write(&to, &hostile).unwrap();
        let text = said(&all);
        assert!(text.contains("to: the index is damaged: entry 1 points outside the data"), "{text}");
    }
    std::fs::write(&to, &good[..good.len() - 1]).unwrap();
    assert!(said(&all).contains("to: the index is cut short"), "{}", said(&all));
    std::fs::write(&to, &good).unwrap();
    let text = said(&Gatherer::new().range(2, Some(4)));
    assert!(text.contains("to: it has 3 entries, and 2..4 is no range of them"), "{text}");
    said(&Gatherer::new().range(4, None));
    assert_eq!(Gatherer::new().range(3, None).files(&to, &from, &out).unwrap(), 0);
    std::fs::remove_file(&out).unwrap();

    let then = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    File::options().write(true).open(&from).unwrap().set_modified(then).unwrap();
    let text = said(&all);
    assert!(text.contains("from: it was changed since it was indexed; index it again"), "{text}");
    assert_eq!(Gatherer::new().copied(true).files(&to, &from, &out).unwrap(), 3);
    assert_eq!(std::fs::read(&out).unwrap(), b"a\nb\nc\n");
    std::fs::remove_file(&out).unwrap();
    std::fs::write(&from, "b\na\n").unwrap();
    let text = said(&all.copied(true));
    assert!(text.contains("of another file: it has 4 bytes, and the file that was indexed 6"), "{text}");
    assert!(!out.exists());

    // What cannot be indexed.
    let mut opened = File::open(&from).unwrap();
    io::Seek::seek(&mut opened, io::SeekFrom::Start(2)).unwrap();
    let error = sorter.index(&lines, Input::new("from", opened), Output::create(&out).unwrap(), &out).unwrap_err();
    assert!(error.to_string().contains("from: an index points into a regular file"), "{error}");
    assert!(!out.exists());
}

/// Lines whose keys are turned round after so many have been looked at.
struct Fickle(AtomicUsize);

impl Format for Fickle {
    fn length(&self, bytes: &[u8], last: bool) -> Result<Option<usize>, Malformed> {
        Lines::default().length(bytes, last)
    }

    fn key<'a>(&self, record: &'a [u8], scratch: &'a mut Vec<u8>) -> &'a [u8] {
        if self.0.fetch_add(1, Relaxed) < 3 {
            return &record[..1];
        }
        *scratch = vec![!record[0]];
        scratch
    }

    fn key_size(&self) -> Option<usize> {
        Some(1)
    }
}

#[test]
fn an_output_that_is_not_what_it_should_be_does_not_appear() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    std::fs::write(&from, "b\na\nc\n").unwrap();
    let sorter = FileSorter::new().memory(LEAST_MEMORY).temporary(folder.path()).plan(Plan::Classic);
    sorter.sort_file(&Fickle(AtomicUsize::new(0)), &from, &to).unwrap();
    std::fs::remove_file(&to).unwrap();
    let error = sorter.verify(true).sort_file(&Fickle(AtomicUsize::new(0)), &from, &to).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    assert!(error.to_string().contains("record 1 at byte 2 is out of order"), "{error}");
    assert!(!to.exists());
    let pipe = Output::direct(tempfile::tempfile().unwrap());
    let input = || vec![Input::new("from", File::open(&from).unwrap())];
    let sorter = FileSorter::new().memory(LEAST_MEMORY).verify(true);
    let error = sorter.sort(&Lines::default(), input(), pipe, "pipe").unwrap_err();
    assert!(error.to_string().contains("verify: pipe: what is written there cannot be read back"), "{error}");
    for merge in [false, true] {
        let output = Output::create(&to).unwrap();
        std::fs::write(&from, "a\nb\nb\nc").unwrap();
        let inputs = [input(), input()].into_iter().flatten().collect();
        let report = match merge {
            true => sorter.merge(&Lines::default(), inputs, output, &to),
            false => sorter.sort(&Lines::default(), inputs, output, &to),
        };
        assert_eq!(report.unwrap().written, 16);
        assert_eq!(std::fs::read(&to).unwrap(), b"a\na\nb\nb\nb\nb\nc\nc\n");
    }
}
