//! Every format and way against the sort of the standard library.

use std::io;
use std::path::Path;

use super::*;
use crate::gensort::{Generator, Validator};
use crate::records::{Fixed, KeyRange, Klv, Lines, TextOrder};

/// Cuts bytes into records, sorts them by their keys, and joins them again.
pub(super) fn expected<F: Format>(format: &F, bytes: &[u8], descending: bool, unique: bool, head: usize) -> Vec<u8> {
    let (mut records, mut rest, mut scratch) = (Vec::new(), bytes, Vec::new());
    while !rest.is_empty() {
        let (record, behind) = rest.split_at(format.length(rest, true).unwrap().unwrap());
        let mut whole = record.to_vec();
        whole.extend(format.terminator().filter(|end| record.last() != Some(end)));
        records.push((format.key(record, &mut scratch).to_vec(), whole));
        rest = behind;
    }
    if descending {
        records.sort_by(|a, b| b.0.cmp(&a.0));
    } else {
        records.sort_by(|a, b| a.0.cmp(&b.0));
    }
    if unique {
        records.dedup_by(|a, b| a.0 == b.0);
    }
    records.into_iter().take(head).flat_map(|(_, record)| record).collect()
}

fn check<F: Format>(format: &F, bytes: &[u8], folder: &Path, what: &str) {
    let (from, to) = (folder.join("from"), folder.join("to"));
    std::fs::write(&from, bytes).unwrap();
    for (descending, unique, head) in [
        (false, false, None),
        (true, false, None),
        (false, true, None),
        (true, true, Some(100)),
        (false, false, Some(1000)),
    ] {
        let sorter =
            FileSorter::new().memory(LEAST_MEMORY).threads(2).temporary(folder).descending(descending).unique(unique);
        let sorter = sorter.plan(Plan::Classic);
        let sorter = match head {
            Some(head) => sorter.head(head),
            None => sorter,
        };
        let report = sorter.sort_file(format, &from, &to).unwrap();
        let wanted = expected(format, bytes, descending, unique, head.unwrap_or(u64::MAX) as usize);
        let found = std::fs::read(&to).unwrap();
        assert!(
            found == wanted,
            "{what}: {descending} {unique} {head:?}: {} of {} bytes, {report:?}",
            found.len(),
            wanted.len()
        );
        assert_eq!((report.written, report.bytes), (wanted.len() as u64, bytes.len() as u64));
        if bytes.len() > 10 << 20 {
            assert!(report.runs > 1, "{what}: {report:?}");
        }
    }
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 2, "nothing is left behind");
}

#[test]
fn records_of_all_formats_in_memory_and_in_runs() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    for size in [0, 1000, 12 << 20] {
        // Sort-benchmark records, with repeated keys.
        let mut records: Vec<u8> = (0..size / 100 * 100).map(|_| random.u8(..)).collect();
        for record in records.chunks_exact_mut(100).skip(1).step_by(3) {
            let few = record[0] % 16;
            record[..10].fill(few);
        }
        check(&Fixed::gensort(), &records, folder.path(), "gensort");
        let keys: Vec<KeyRange> = ["90:i32", "3:2:desc", "20:30"].iter().map(|key| key.parse().unwrap()).collect();
        check(&Fixed::new(100, &keys).unwrap(), &records, folder.path(), "keys");

        let mut lines = Vec::new();
        while lines.len() < size {
            let common = random.usize(0..3);
            lines.extend_from_slice(&b"a common prefix of many lines"[..10 * common]);
            lines.extend((0..random.usize(0..60)).map(|_| random.u8(b' '..=b'~')));
            lines.push(b'\n');
        }
        lines.extend_from_slice(b"the end is missing");
        if size == 0 {
            lines.clear();
        }
        check(&Lines::default(), &lines, folder.path(), "lines");

        let klv = Klv::new(3, 2, true).unwrap();
        let mut records = Vec::new();
        while records.len() < size {
            records.extend((0..3).map(|_| random.u8(..)));
            let length = random.u16(0..500);
            records.extend_from_slice(&length.to_be_bytes());
            records.extend((0..length).map(|_| random.u8(..)));
        }
        check(&klv, &records, folder.path(), "klv");
    }
}

#[test]
fn records_of_very_different_lengths_are_fetched() {
    let folder = super::random_tests::folder(true);
    let mut random = fastrand::Rng::with_seed(11);
    // Those that come first in the order are much longer than most, and one is longer than all memory for records.
    let mut lines = Vec::new();
    while lines.len() < 24 << 20 {
        let long = random.usize(0..200) == 0;
        lines.extend(if long { vec![b'a'; random.usize(1000..6000)] } else { vec![b'z'; random.usize(0..30)] });
        lines.extend((0..8).map(|_| random.u8(b'a'..=b'z')));
        lines.push(b'\n');
    }
    lines.extend([vec![b'b'; 12 << 20], vec![b'\n']].concat());
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    std::fs::write(&from, &lines).unwrap();
    let wanted = expected(&Lines::default(), &lines, false, false, usize::MAX);
    for (plan, memory) in [(Plan::MergePass, LEAST_MEMORY), (Plan::OnePass, 40 << 20), (Plan::OnePass, 200 << 20)] {
        let sorter = FileSorter::new().memory(memory).threads(2).temporary(folder.path()).plan(plan);
        let report = sorter.sort_file(&Lines::default(), &from, &to).unwrap();
        assert!(std::fs::read(&to).unwrap() == wanted, "{report:?}");
        assert_eq!(report.plan, plan);
    }
}

#[test]
fn many_runs_are_merged_in_several_passes_and_stay_stable() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    Generator::new().skewed(true).file(&from, 0, 1_500_000).unwrap();
    let sorter = FileSorter::new().memory(LEAST_MEMORY).temporary(folder.path()).plan(Plan::Classic);
    let report = sorter.sort_file(&Fixed::gensort(), &from, &to).unwrap();
    let (before, after) = (Validator::new().file(&from).unwrap(), Validator::new().file(&to).unwrap());
    assert!(after.summary.is_sorted() && after.summary.checksum == before.summary.checksum, "{report:?}");
    assert_eq!(after.summary.records, 1_500_000);
    assert!(report.runs > 8 && report.merges >= 1, "{report:?}");
}

#[test]
fn newlines_inside_quotes_end_no_record() {
    let folder = tempfile::tempdir().unwrap();
    let text = TextOrder::new().csv(true).stable(true).key("1,1n".parse().unwrap()).build().unwrap();
    let mut random = fastrand::Rng::with_seed(8);
    let mut records = Vec::new();
    while records.len() < 12 << 20 {
        let value: String = (0..random.usize(0..40)).map(|_| ['a', '\n', ',', 'b'][random.usize(0..4)]).collect();
        records.extend_from_slice(format!("{},\"{value}\"\n", random.u32(0..100_000)).as_bytes());
    }
    check(&text, &records, folder.path(), "csv");
}

#[test]
fn all_plans_have_the_same_result() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let mut random = fastrand::Rng::with_seed(3);
    let mut lines = Vec::new();
    while lines.len() < 9 << 20 {
        let common = if random.bool() { &b"many lines begin like this"[..] } else { b"" };
        lines.extend_from_slice(common);
        lines.extend((0..random.usize(0..30)).map(|_| random.u8(b'a'..=b'd')));
        lines.push(b'\n');
    }
    std::fs::write(&from, &lines).unwrap();
    for descending in [false, true] {
        let wanted = expected(&Lines::default(), &lines, descending, false, usize::MAX);
        for (plan, memory) in [
            (Plan::Auto, LEAST_MEMORY),
            (Plan::InMemory, 256 << 20),
            (Plan::OnePass, 256 << 20),
            (Plan::MergePass, LEAST_MEMORY),
            (Plan::Classic, LEAST_MEMORY),
        ] {
            let sorter = FileSorter::new().memory(memory).temporary(folder.path()).descending(descending).plan(plan);
            let report = sorter.sort_file(&Lines::default(), &from, &to).unwrap();
            assert!(plan == Plan::Auto || report.plan == plan, "{report:?}");
            assert!(std::fs::read(&to).unwrap() == wanted, "{plan} {descending}");
        }
    }
    let sorter = FileSorter::new().memory(LEAST_MEMORY);
    let error = sorter.plan(Plan::InMemory).sort_file(&Lines::default(), &from, &to).unwrap_err().to_string();
    assert!(error.contains("do not fit into memory"), "{error}");
}

#[test]
fn what_cannot_be_sorted_is_said_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let sorter = FileSorter::new().memory(LEAST_MEMORY).temporary(folder.path());
    let said = |format: &dyn Fn(&FileSorter<'_>) -> io::Result<Report>| format(&sorter).unwrap_err().to_string();

    std::fs::write(&from, vec![b'x'; 250]).unwrap();
    let text = said(&|sorter| sorter.sort_file(&Fixed::gensort(), &from, &to));
    assert!(text.contains("from: the last record is cut short: it has 50 bytes of 100, from byte 200 on"), "{text}");
    let text = said(&|sorter| sorter.sort_file(&Klv::new(4, 4, false).unwrap(), &from, &to));
    assert!(text.contains("from byte 0 on"), "{text}");
    std::fs::write(&from, vec![b'x'; 20 << 20]).unwrap();
    let text = said(&|sorter| sorter.sort_file(&Lines::default(), &from, &to));
    assert!(text.contains("the record at byte 0 is longer than") && text.contains("--memory"), "{text}");
    let text = said(&|sorter| sorter.clone().memory(1000).sort_file(&Lines::default(), &from, &to));
    assert!(text.contains("1000 bytes of memory are too few; it takes 16777216 at least"), "{text}");
    let stop = |_: Progress| ControlFlow::Break(());
    let error = sorter.clone().progress(&stop).sort_file(&Fixed::new(1, &[]).unwrap(), &from, &to).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::Interrupted);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no output");
}

#[test]
fn what_cannot_be_merged_is_said_with_the_name_of_the_input() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, cut) = (folder.path().join("whole"), folder.path().join("cut"));
    std::fs::write(&whole, vec![b'x'; 300]).unwrap();
    std::fs::write(&cut, vec![b'y'; 250]).unwrap();
    let input = |path: &Path| Input::new(path.display().to_string(), File::open(path).unwrap());
    let to = folder.path().join("to");
    let sorter = FileSorter::new().memory(LEAST_MEMORY).temporary(folder.path());
    // More than can be merged at once are merged to runs first.
    for count in [2, 200] {
        let mut inputs: Vec<Input> = (1..count).map(|_| input(&whole)).collect();
        inputs.push(input(&cut));
        let error = sorter.merge(&Fixed::gensort(), inputs, Output::create(&to).unwrap(), &to).unwrap_err();
        let text = format!("read: {}: the last record is cut short: it has 50 bytes of 100", cut.display());
        assert_eq!((error.kind(), error.to_string()), (io::ErrorKind::InvalidData, text));
        assert!(!to.exists());
    }
}

#[test]
fn inputs_that_are_not_sorted_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("to");
    let mut random = fastrand::Rng::with_seed(4);
    let lines: Vec<String> = (0..600_000).map(|_| format!("{}\n", random.u64(..))).collect();
    let mut expected: Vec<&str> = lines.iter().map(String::as_str).collect();
    expected.sort_unstable();
    // More than can be merged at once are merged to runs first.
    for count in [2, 200] {
        let input = |(number, lines): (usize, &[String])| {
            let path = folder.path().join(number.to_string());
            std::fs::write(&path, lines.concat()).unwrap();
            Input::new(number.to_string(), File::open(path).unwrap())
        };
        let inputs = lines.chunks(lines.len() / count).enumerate().map(input).collect();
        let sorter = FileSorter::new().memory(LEAST_MEMORY).threads(2).temporary(folder.path());
        sorter.merge(&Lines::default(), inputs, Output::create(&to).unwrap(), &to).unwrap();
        let merged = std::fs::read_to_string(&to).unwrap();
        let mut found: Vec<&str> = merged.split_inclusive('\n').collect();
        found.sort_unstable();
        assert!(found == expected, "{count} inputs");
    }
}
