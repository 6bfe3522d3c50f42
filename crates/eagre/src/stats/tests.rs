//! All paths of the code give the same result as a naive implementation: every instruction level, every cut, every
//! shape.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fastrand::Rng;

use super::Aggregator;
use super::answer::Table;
use super::join::Joiner;
use super::kernels::Level;
use super::layout::Layout;
use super::shard::Details;
use super::shared::{self, Shared};
use super::tally::{Lines, Question};
use crate::scan::Scan;
use crate::scan::kernels::{Kernels, Simd};

/// Numbers that only look random, the same for the same seed. A test that fails shows its seeds.
fn seeded(seed: u64) -> Rng {
    eprintln!("seed: {seed}");
    Rng::with_seed(seed)
}

fn pick<T: Copy>(random: &mut Rng, from: &[T]) -> T {
    from[random.usize(..from.len())]
}

/// Count, minimum, sum and maximum, the last three in units of 10^-9.
type Naive = (u64, i128, i128, i128);

#[derive(Debug, Default, PartialEq, Eq)]
struct Answer {
    groups: BTreeMap<Vec<u8>, Naive>,
    decimals: usize,
    lines: u64,
    /// The first line that is not a row, and the number of such lines.
    bad: (Option<u64>, u64),
}

/// The number in units of 10^-9, and its number of decimals, computed independently of the code under test.
fn naive_number(text: &str) -> Option<(i128, usize)> {
    let text = text.trim_matches([' ', '\t', '\r']);
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (digits, exponent) = match digits.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, Some(exponent.parse::<i64>().ok()?)),
        None => (digits, None),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    if (whole.len() + part.len() == 0) || !(whole.chars().chain(part.chars())).all(|c| c.is_ascii_digit()) {
        return None;
    }
    // The point moves to the right, digit by digit.
    let (mut whole, mut part) = (whole.to_owned(), part.to_owned());
    let is_zero = !(whole.clone() + &part).contains(|c| c != '0');
    for _ in 0..exponent.unwrap_or(0).min(100) {
        whole.push(if part.is_empty() { '0' } else { part.remove(0) });
    }
    if !is_zero && whole.trim_start_matches('0').len() > 18 {
        return None;
    }
    let decimals = if is_zero && exponent.is_some() { 0 } else { part.len() };
    let number: i128 = if is_zero { 0 } else { format!("0{whole}{part:0<9}").parse().ok()? };
    Some((if text.starts_with('-') { -number } else { number }, decimals))
}

fn naive(text: &[u8], layout: Layout, header: bool) -> Answer {
    let mut answer = Answer::default();
    let mut lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    if lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    for (number, line) in (1..).zip(lines) {
        answer.lines = number;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || (header && number == 1) {
            continue;
        }
        let fields: Vec<&[u8]> = line.split(|&byte| byte == layout.delimiter).collect();
        let value = fields.get(layout.value).and_then(|value| naive_number(std::str::from_utf8(value).ok()?));
        let (Some(key), Some((value, decimals))) = (fields.get(layout.key), value) else {
            answer.bad = (answer.bad.0.or(Some(number)), answer.bad.1 + 1);
            if layout.strict {
                return answer;
            }
            continue;
        };
        answer.decimals = answer.decimals.max(decimals);
        let group = answer.groups.entry(key.to_vec()).or_insert((0, value, 0, value));
        *group = (group.0 + 1, group.1.min(value), group.2 + value, group.3.max(value));
    }
    answer
}

/// The result for a text in pieces, which two workers process alternately.
fn pieces(text: &[u8], cuts: &[usize], layout: Layout, header: bool, level: Level) -> Answer {
    let shared = Shared::new(shared::secret(), 2, Details::default()).unwrap();
    let question = Question { layout, level, details: Details::default(), shared: &shared };
    let mut workers = [question.worker(), question.worker()];
    let mut joiner = Joiner::new(&question, header);
    let mut start = 0;
    for (number, &end) in cuts.iter().chain([&text.len()]).enumerate() {
        if start < end && !joiner.failed() {
            joiner.part(question.piece(&mut workers[number % 2], start as u64, &text[start..end]));
        }
        start = end;
    }
    let (tally, lines) = joiner.finish();
    let tallies = workers.into_iter().chain([tally]).flatten();
    let decimals = tallies.map(|tally| tally.finish(&shared).unwrap()).max().unwrap();
    answer(shared, lines, decimals, layout)
}

fn answer(shared: Shared, lines: Lines, decimals: u32, layout: Layout) -> Answer {
    let bad = (lines.first.map(|(before, _)| before + 1), lines.bad);
    let failed = layout.strict && lines.bad > 0;
    let lines = if failed { bad.0.unwrap() } else { lines.count };
    let table = Table::new(shared.finish().unwrap(), 1, decimals).unwrap();
    let nano = |text: String| naive_number(&text).unwrap().0;
    let groups = table.iter().map(|group| {
        let (min, max) = (nano(group.min.to_string()), nano(group.max.to_string()));
        (group.key.to_vec(), (group.count, min, nano(group.sum.to_text(9)), max))
    });
    Answer { groups: groups.collect(), decimals: decimals as usize, lines, bad }
}

fn check(text: &[u8], cuts: &[usize], layout: Layout, header: bool) {
    let mut expected = naive(text, layout, header);
    for level in Simd::ALL.map(Level::of) {
        let mut answer = pieces(text, cuts, layout, header, level);
        if layout.strict && expected.bad.1 > 0 {
            // If everything is discarded, the amount processed has no meaning.
            assert_eq!(answer.bad.0, expected.bad.0, "{level:?}");
            assert!(answer.bad.1 > 0);
            continue;
        }
        let groups = (std::mem::take(&mut answer.groups), std::mem::take(&mut expected.groups));
        for (got, wanted) in groups.0.iter().zip(&groups.1) {
            assert_eq!(
                (got.0.escape_ascii().to_string(), got.1),
                (wanted.0.escape_ascii().to_string(), wanted.1),
                "{level:?}"
            );
        }
        assert_eq!(groups.0.len(), groups.1.len(), "{level:?}");
        assert_eq!(answer, expected, "{level:?}");
        expected.groups = groups.1;
    }
}

const PAIR: Layout = Layout { delimiter: b';', key: 0, value: 1, strict: true, csv: false };

/// The value of a row, usually similar to the others.
fn value(random: &mut Rng, decimals: usize) -> String {
    let sign = pick(random, &["", "", "-"]);
    match random.u64(..64) {
        0 => pick(
            random,
            &["-0.0", "+1.5", "7", ".5", "5.", " 12.25 ", "1234567.890123456", "00000000012.3", "-99999999", "-.125"],
        )
        .to_owned(),
        _ => {
            let digits = 1 + random.u64(..4) as u32;
            let whole = random.u64(..10_u64.pow(digits));
            let part = format!("{:0>decimals$}", random.u64(..10_u64.pow(decimals as u32)));
            if decimals == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
        }
    }
}

/// Many rows with random keys. Of 64 lines, `odd` are different.
fn corpus(random: &mut Rng, rows: usize, keys: &[Vec<u8>], layout: Layout, fields: usize, odd: u64) -> Vec<u8> {
    let decimals = pick(random, &[0, 1, 1, 1, 2, 3, 6, 7]);
    let newline = pick(random, &["\n", "\n", "\r\n"]);
    let mut text = Vec::new();
    for _ in 0..rows {
        let fields = if random.u64(..64) < odd { fields + random.u64(..3) as usize } else { fields };
        if random.u64(..64) < odd {
            text.extend(pick(random, &["", "\r", "only", "a;b", ";", ";;", "a;1.0;2", "key;1..2", "key;--1"]).bytes());
        } else {
            for field in 0..fields {
                if field > 0 {
                    text.push(layout.delimiter);
                }
                if field == layout.value {
                    text.extend(value(random, decimals).bytes());
                } else {
                    text.extend(&keys[random.usize(..keys.len())]);
                }
            }
        }
        text.extend(newline.bytes());
    }
    text
}

/// Keys of all lengths, of letters and of other bytes, without the delimiter.
fn keys(random: &mut Rng, number: usize, longest: u64, delimiter: u8) -> Vec<Vec<u8>> {
    (0..number)
        .map(|_| {
            let length = random.u64(..longest + 1);
            let any = random.u64(..2) == 0;
            let byte = |random: &mut Rng| match any {
                true => random.u8(..),
                false => b"aeinrst Z\xc3\xbc"[random.u64(..11) as usize],
            };
            let bytes = (0..length).map(|_| byte(random));
            bytes.filter(|byte| ![b'\n', b'\r', delimiter].contains(byte)).collect()
        })
        .collect()
}

#[test]
fn every_way_gives_the_naive_answer() {
    for seed in 1..60 {
        let random = &mut seeded(seed * 0x9e37_79b9);
        let fields = pick(random, &[2, 2, 2, 1, 3, 5, 17, 70]);
        let delimiter = pick(random, b";;;,\t| \0\xff0");
        let key = random.u64(..fields) as usize;
        let value = random.u64(..fields) as usize;
        let (key, value) = if random.u64(..2) == 0 && fields > 1 { (0, 1) } else { (key, value) };
        let layout = Layout { delimiter, key, value, strict: random.u64(..4) == 0, csv: false };
        let longest = pick(random, &[3, 12, 31, 33, 120]);
        let number = pick(random, &[1, 5, 100, 3000]);
        let keys = keys(random, number, longest, delimiter);
        let odd = pick(random, &[0, 0, 1, 32]);
        let text = corpus(random, 800, &keys, layout, fields as usize, odd);
        let mut cuts: Vec<usize> = (0..random.u64(..20)).map(|_| random.usize(..text.len())).collect();
        cuts.sort_unstable();
        let end = text.len() - random.u64(..3) as usize;
        cuts.retain(|&cut| cut <= end);
        check(&text[..end], &cuts, layout, random.u64(..3) == 0);
    }
}

#[test]
fn a_text_may_be_cut_anywhere() {
    let text =
        "Abha;-23.0\nZürich;9.8\r\n\nlong key that does not fit thirty-two bytes;+1.25\nx;0\nAbha;5.4\nlast;-0.5";
    let bytes = text.as_bytes();
    for header in [false, true] {
        for end in 0..=bytes.len() {
            let text = &bytes[..end];
            let skipping = Layout { strict: false, ..PAIR };
            check(text, &(1..end).collect::<Vec<_>>(), skipping, header);
            for cut in 0..end {
                check(text, &[cut], skipping, header);
                check(text, &[cut], PAIR, header);
            }
        }
    }
}

#[test]
fn lines_are_numbered_in_all_pieces() {
    for bad in [1, 2, 3, 400, 401, 999] {
        let mut text = String::new();
        for line in 1..1000 {
            text += if line == bad || line == 999 { "Oslo;cold\n" } else { "Oslo;-1.5\n" };
        }
        for size in [1, 7, 64, 4096, 5000] {
            let cuts: Vec<usize> = (1..text.len() / size).map(|cut| cut * size).collect();
            check(text.as_bytes(), &cuts, PAIR, false);
            check(text.as_bytes(), &cuts, Layout { strict: false, ..PAIR }, true);
        }
    }
}

/// Numbers of every width at every position of a block, and texts that are almost numbers.
#[test]
fn numbers_of_all_shapes() {
    let random = &mut seeded(5);
    let mut text = Vec::new();
    for _ in 0..20_000 {
        let mut number = value(random, 1).into_bytes();
        if random.u64(..8) == 0 && !number.is_empty() {
            let at = random.usize(..number.len());
            number[at] = pick(random, b"0123456789.-+:/ \r\xff\0e");
        }
        text.extend(b"k;");
        text.extend(number);
        text.push(b'\n');
    }
    check(&text, &[], Layout { strict: false, ..PAIR }, false);
}

/// A carriage return is part of neither the key nor the value, whichever is last.
#[test]
fn lines_may_end_as_those_of_dos() {
    for (fields, key, value) in [(2, 0, 1), (2, 1, 0), (3, 2, 0), (3, 0, 2), (3, 0, 1), (1, 0, 0)] {
        let mut text = String::new();
        for row in 0..2000 {
            let mut row = vec![format!("{}.{}", row % 50, row % 10); fields];
            if key != value {
                row[key] = ["", "a", "key", "twenty-five bytes or some"][row[value].len() % 4].to_owned();
            }
            text += &(row.join(";") + "\r\n");
        }
        let layout = Layout { key, value, ..PAIR };
        check(text.as_bytes(), &[text.len() / 3], layout, false);
        assert!(naive(text.as_bytes(), layout, false).groups.keys().all(|key| !key.ends_with(b"\r")));
    }
}

#[test]
fn a_hundred_thousand_keys() {
    let mut text = String::new();
    for round in 0..3 {
        for key in 0..100_000 {
            text += &format!("{key:x};{}.{}\n", key % 100 + round, key % 10);
        }
    }
    check(text.as_bytes(), &[text.len() / 2], PAIR, false);
}

/// A line of 64 MiB in pieces, with a long key. It would take hours if pieces were copied again and again.
#[test]
fn a_line_may_be_long() {
    let mut text = b"a;1.0\n".to_vec();
    text.resize(64 << 20, b'x');
    text.extend(b";2.5\nb;1.5\nb;x");
    let cuts: Vec<usize> = (1..text.len() / 10_000).map(|cut| cut * 10_000).collect();
    let shared = Shared::new(shared::secret(), 1, Details::default()).unwrap();
    let question = Question {
        layout: PAIR,
        level: Level::of(Kernels::best().simd()),
        details: Details::default(),
        shared: &shared,
    };
    let mut worker = question.worker();
    let mut joiner = Joiner::new(&question, false);
    let mut start = 0;
    for end in cuts.into_iter().chain([text.len()]) {
        joiner.part(question.piece(&mut worker, start as u64, &text[start..end]));
        start = end;
    }
    let (_, lines) = joiner.finish();
    assert_eq!((lines.count, lines.first.unwrap().0), (4, 3));
}

#[test]
fn whole_files() {
    use std::io::{Seek, Write};
    let random = &mut seeded(77);
    let keys = keys(random, 413, 20, b';');
    let text = corpus(random, 100_000, &keys, PAIR, 2, 0);
    let expected = naive(&text, PAIR, false);
    for threads in [1, 2, 5] {
        let seen = AtomicU64::new(0);
        let note = |bytes| {
            seen.store(bytes, Relaxed);
            ControlFlow::Continue(())
        };
        let mut aggregator = Aggregator::new().threads(threads).progress(&note);
        for part in 0..2 {
            let mut file = tempfile::tempfile().unwrap();
            let half = text[..text.len() / 2].iter().rposition(|&byte| byte == b'\n').unwrap() + 1;
            file.write_all(if part == 0 { &text[..half] } else { &text[half..] }).unwrap();
            file.rewind().unwrap();
            let added = aggregator.input(file.into()).unwrap();
            assert_eq!((added.bytes, added.skipped), (seen.load(Relaxed), 0));
        }
        let table = aggregator.finish().unwrap();
        assert_eq!(table.decimals() as usize, expected.decimals);
        assert_eq!(table.len(), expected.groups.len());
        for (group, (key, (count, _, sum, _))) in table.iter().zip(&expected.groups) {
            assert_eq!((group.key, group.count), (&key[..], *count));
            let tenths =
                (2 * sum * 10 + i128::from(*count) * 1_000_000_000).div_euclid(2 * i128::from(*count) * 1_000_000_000);
            assert_eq!(group.mean(1).to_text(9), group.mean(1).to_text(1) + "00000000");
            assert_eq!(naive_number(&group.mean(1).to_text(1)).unwrap().0, tenths * 100_000_000);
        }
    }
}

#[test]
fn a_failed_input_leaves_nothing() {
    use std::io::{Seek, Write};
    let mut aggregator = Aggregator::new();
    for (text, fails) in [("a;1\n", false), ("b;2\nb;x\n", true), ("c;3", false), ("", false)] {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.rewind().unwrap();
        assert_eq!(aggregator.input(file.into()).is_err(), fails, "{text}");
    }
    let table = aggregator.finish().unwrap();
    assert_eq!(table.iter().map(|group| group.key).collect::<Vec<_>>(), [b"a", b"c"]);
}

/// A table of many keys is merged into one of few. In hash order, that would take minutes.
#[test]
fn a_large_input_after_a_small_one() {
    use std::io::{Seek, Write};
    let large: String = (0..300_000).map(|key| format!("{key:x};1\n")).collect();
    for threads in [1, 2] {
        let mut aggregator = Aggregator::new().threads(threads);
        for text in ["a;1\n", &large, &large] {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(text.as_bytes()).unwrap();
            file.rewind().unwrap();
            aggregator.input(file.into()).unwrap();
        }
        let table = aggregator.finish().unwrap();
        assert_eq!(table.len(), 300_000);
        let twice = table.iter().filter(|group| group.count == 2).count();
        assert_eq!((twice, table.iter().find(|group| group.key == b"a").unwrap().count), (299_999, 3));
    }
}

/// All tables of one result have the same partitioning, whatever settings change between two inputs.
#[test]
fn threads_may_change_between_inputs() {
    use std::io::{Seek, Write};
    let text: String = (0..50_000).map(|key| format!("{key};1\n")).collect();
    let mut aggregator = Aggregator::new();
    for threads in [1, 8, 2] {
        aggregator = aggregator.threads(threads).variance(threads == 8);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.rewind().unwrap();
        aggregator.input(file.into()).unwrap();
    }
    let table = aggregator.finish().unwrap();
    assert_eq!(table.len(), 50_000);
    assert!(table.iter().all(|group| group.count == 3 && group.variance(1).is_none()));
}

#[test]
fn errors_name_the_file_and_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two\nlines");
    let place = format!("stats: '{}/two'$'\\n''lines': ", folder.path().display());
    let error = super::file(&path, b';').unwrap_err();
    assert_eq!(error.to_string(), place.clone() + "No such file or directory");
    std::fs::write(&path, "a,1\nb,x\n").unwrap();
    let error = super::file(&path, b',').unwrap_err();
    assert!(error.to_string().starts_with(&(place + "line 2: ")), "{error}");
    std::fs::write(&path, "a,1\na,2\n").unwrap();
    let table = super::file(&path, b',').unwrap();
    assert_eq!(table.iter().map(|group| (group.key, group.count)).collect::<Vec<_>>(), [(&b"a"[..], 2)]);
}

/// The result does not depend on the way in which the bytes are read, even if records span lines.
#[test]
fn readers_are_inputs_too() {
    for (text, csv) in [("a;1\nb;2\na;3", false), ("\"a\nb\";1\nc;2\n\"a\nb\";3\n", true)] {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        let (mut one, mut other) = (Aggregator::new().csv(csv), Aggregator::new().csv(csv));
        let added = [one.file(file.path()).unwrap(), other.read(text.as_bytes()).unwrap()];
        assert_eq!(format!("{:?}", added[0]), format!("{:?}", added[1]));
        let [one, other] = [one, other].map(|aggregator| {
            let table = aggregator.finish().unwrap();
            table.iter().map(|group| (group.key.to_vec(), group.count, group.max)).collect::<Vec<_>>()
        });
        assert_eq!(one, other);
        assert_eq!(one.iter().map(|(_, count, _)| count).sum::<u64>(), 3);
    }
}
