//! Lines sorted by the keys of `Text`, against GNU sort itself.

use std::cmp::Ordering;
use std::fmt::Write as _;
use std::process::{Command, Output};
use std::sync::LazyLock;

use eagre::records::{self, Format, Text, TextOrder};
use fastrand::Rng;

/// GNU sort with these arguments and a file.
fn gnu(arguments: &[String], file: &std::path::Path) -> Output {
    Command::new("sort").args(arguments).arg("--").arg(file).env("LC_ALL", "C").output().unwrap()
}

fn has_gnu() -> bool {
    let version = Command::new("sort").arg("--version").output();
    let found = version.is_ok_and(|version| String::from_utf8_lossy(&version.stdout).contains("GNU coreutils"));
    if !found {
        eprintln!("skipped: GNU sort is not here");
    }
    found
}

/// Takes out of `bytes` what GNU sort orders in ways that nobody means: the byte 0x80 inside of numbers does not count. And,
/// before version 9.2: names that begin with a point have another place, a NaN differs from itself, and
/// there are no suffixes R and Q.
fn tame(bytes: &mut [u8], options: &str) {
    static IS_OLD: LazyLock<bool> = LazyLock::new(|| {
        let version = Command::new("sort").arg("--version").output().unwrap();
        let version = String::from_utf8(version.stdout).unwrap();
        let number = version.lines().next().and_then(|line| line.rsplit(' ').next()).unwrap();
        let (major, minor) = number.split_once('.').unwrap();
        (major.parse::<u32>().unwrap(), minor.parse::<u32>().unwrap()) < (9, 2)
    });
    if options.contains(['n', 'h']) {
        bytes.iter_mut().filter(|byte| **byte == 0x80).for_each(|byte| *byte = 0x81);
    }
    if *IS_OLD && options.contains('h') {
        bytes.iter_mut().filter(|byte| matches!(byte, b'R' | b'Q')).for_each(|byte| *byte = b'y');
    }
    if *IS_OLD && options.contains('V') {
        bytes.iter_mut().filter(|byte| **byte == b'.').for_each(|byte| *byte = b'y');
    }
    if *IS_OLD && options.contains('g') {
        for at in 0..bytes.len() {
            if bytes[at..].get(..3).is_some_and(|word| word.eq_ignore_ascii_case(b"nan")) {
                bytes[at + 1] = b'y';
            }
        }
    }
}

/// The order that these arguments of GNU sort ask for.
fn order(arguments: &[String]) -> Result<(Text, bool), String> {
    let mut order = TextOrder::new();
    let mut unique = false;
    for argument in arguments {
        order = match argument.strip_prefix('-').unwrap().split_at(1) {
            ("t", separator) => order.separator(separator.as_bytes()[0]),
            ("k", key) => order.key(key.parse()?),
            ("s", "") => order.stable(true),
            ("z", "") => order.terminator(0),
            ("u", "") => {
                unique = true;
                order.unique(true)
            }
            (letter, "") => order.options(letter.parse()?),
            _ => unreachable!("{argument}"),
        };
    }
    Ok((order.build()?, unique))
}

/// The records of `bytes`, sorted by their keys alone.
fn sorted(text: &Text, unique: bool, bytes: &[u8]) -> Vec<u8> {
    let mut rest = bytes;
    let mut records = Vec::new();
    let mut scratch = vec![7; 3];
    while !rest.is_empty() {
        let (record, more) = rest.split_at(text.length(rest, true).unwrap().unwrap());
        let key = text.key(record, &mut scratch).to_vec();
        let (front, back) = text.key_parts(record, &mut scratch);
        assert_eq!([front, back].concat(), key);
        assert_eq!(text.prefix(record, &mut scratch), records::word(&key, 0));
        records.push((key, record));
        rest = more;
    }
    let turn = |order: Ordering| if text.descending() { order.reverse() } else { order };
    records.sort_by(|(a, _), (b, _)| turn(a.cmp(b)));
    if unique {
        records.dedup_by(|(a, _), (b, _)| a == b);
    }
    let terminator = text.terminator().unwrap();
    let mut output = Vec::new();
    for (_, record) in records {
        output.extend_from_slice(record);
        if record.last() != Some(&terminator) {
            output.push(terminator);
        }
    }
    output
}

/// A word that some option treats in its own way.
fn word(rng: &mut Rng, line: &mut Vec<u8>) {
    const WORDS: &[&str] = &[
        "",
        "a",
        "A",
        "ab",
        "aB",
        "Ab",
        "b",
        "é",
        "_",
        "a-b",
        "(a)",
        "jan",
        "JAN",
        "Feb",
        "marching",
        "dec",
        "ja",
        "~",
        "a~",
        "a",
        "+5",
        "-",
        "--5",
        "-0",
        "0",
        "00",
        "-00.0",
        "1e3",
        "1E-3",
        "0x1f",
        "0X1F.8p-2",
        "0x",
        "inf",
        "-INF",
        "infinity",
        "nan",
        "-nan",
        "NaN(12)",
        ".5",
        "-.5",
        "5.",
        "1,000",
        "1K",
        "1k",
        "2M",
        "1.5G",
        "-3T",
        "0K",
        "1Ki",
        "5.K",
        "m",
        "1m",
        ".",
        "..",
        "...",
        ".a",
        ".tar",
        "a.tar",
        "a.tar.gz",
        "a.tar.gz~",
        "a0.tar",
        "a00",
        "a1b",
        "a01b",
        "a0b",
        "1.0",
        "1.00",
        "1.0.0",
        "1e400",
        "1e4932",
        "1e5000",
        "1e-4945",
        "3e-4951",
        "1e-5000",
        "18446744073709551615",
        "18446744073709551616",
        "18446744073709551617",
        "36893488147419103233",
        "0.1",
        "0.10000000000000000001",
        "0.1000000000000000000013552527156068805",
        "1.00000000000000000005421010862427522",
        "1.000000000000000000054210108624275221700372640043497085571289062500001",
    ];
    match rng.u32(..10) {
        0..5 => line.extend_from_slice(WORDS[rng.usize(..WORDS.len())].as_bytes()),
        5 => number(rng, line),
        6 => versions(rng, line),
        7 => (0..rng.u32(..4)).for_each(|_| line.push(rng.u8(..))),
        8 => (0..rng.u32(..4)).for_each(|_| line.push(*rng.choice(b" \tab0.-~\0\x01\x02\xff,:").unwrap())),
        _ => line.extend_from_slice(&b"     "[..rng.usize(..5)]),
    }
}

fn number(rng: &mut Rng, line: &mut Vec<u8>) {
    let digits = |rng: &mut Rng, line: &mut Vec<u8>| {
        let longest = *rng.choice(&[1, 3, 20, 25, 300, 3000]).unwrap_or(&1);
        let some = if rng.bool() { "0" } else { "0123456789" };
        (0..rng.usize(..=longest)).for_each(|_| line.push(*rng.choice(some.as_bytes()).unwrap()));
        let all = if rng.bool() { "9" } else { "0123456789" };
        (0..rng.usize(..=longest)).for_each(|_| line.push(*rng.choice(all.as_bytes()).unwrap()));
    };
    if rng.bool() {
        line.push(b'-');
    }
    digits(rng, line);
    if rng.bool() {
        line.push(b'.');
        digits(rng, line);
    }
    match rng.u32(..5) {
        0 => line.push(*rng.choice(b"kKMGTPEZYm").unwrap()),
        1 => line.extend_from_slice(format!("e{}", rng.i32(-5100..5100)).as_bytes()),
        2 => line.extend_from_slice(format!("e{}", rng.i32(-30..30)).as_bytes()),
        _ => {}
    }
}

fn versions(rng: &mut Rng, line: &mut Vec<u8>) {
    for _ in 0..rng.u32(..8) {
        let piece = *rng
            .choice(&["a", "b", "A", ".", ".", "-", "~", "0", "00", "1", "10", "9", ".a", ".~", "~1", "_"])
            .unwrap();
        line.extend_from_slice(piece.as_bytes());
    }
}

fn lines(rng: &mut Rng, separator: Option<u8>, terminator: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..rng.u32(..150) {
        let start = bytes.len();
        for field in 0..rng.u32(..5) {
            if field > 0 {
                bytes.push(separator.unwrap_or(b' '));
            }
            word(rng, &mut bytes);
        }
        if rng.u32(..100) == 0 {
            let byte = rng.u8(..);
            bytes.resize(bytes.len() + rng.usize(..70_000), byte);
        }
        bytes[start..].iter_mut().filter(|byte| **byte == terminator).for_each(|byte| *byte = b'x');
        if rng.u32(..10) == 0 {
            bytes.push(b'\r');
        }
        bytes.push(terminator);
        if rng.u32(..10) == 0 {
            let again = bytes[start..].to_vec();
            bytes.extend_from_slice(&again);
        }
    }
    if rng.bool() {
        bytes.pop();
    }
    bytes
}

fn options(rng: &mut Rng, all: &[char], most: usize) -> String {
    (0..rng.usize(..=most)).map(|_| *rng.choice(all).unwrap()).collect()
}

fn key(rng: &mut Rng) -> String {
    let letters = ['b', 'd', 'f', 'g', 'h', 'i', 'M', 'n', 'r', 'V'];
    let mut key = format!("-k{}", rng.u32(1..4));
    if rng.u32(..3) == 0 {
        write!(key, ".{}", rng.u32(1..5)).unwrap();
    }
    key += &options(rng, &letters, 2);
    if rng.u32(..4) > 0 {
        write!(key, ",{}", rng.u32(1..5)).unwrap();
        if rng.u32(..3) == 0 {
            write!(key, ".{}", rng.u32(..5)).unwrap();
        }
        key += &options(rng, &letters, 1);
    }
    key
}

fn arguments(rng: &mut Rng) -> Vec<String> {
    let mut arguments = Vec::new();
    if rng.bool() {
        arguments.push(format!("-t{}", rng.choice([",", ":", " ", "a", "\t", "0"]).unwrap()));
    }
    for letter in options(rng, &['b', 'd', 'f', 'g', 'h', 'i', 'M', 'n', 'r', 'r', 'V'], 2).chars() {
        arguments.push(format!("-{letter}"));
    }
    (0..rng.u32(..3)).for_each(|_| arguments.push(key(rng)));
    for letter in ["-s", "-u", "-z"] {
        if rng.u32(..4) == 0 {
            arguments.push(letter.to_owned());
        }
    }
    arguments
}

#[test]
fn keys_order_as_gnu_sort() {
    if !has_gnu() {
        return;
    }
    let room = tempfile::tempdir().unwrap();
    let file = room.path().join("lines");
    for seed in 0..500 {
        let rng = &mut Rng::with_seed(seed);
        let arguments = arguments(rng);
        let separator =
            arguments.iter().find_map(|argument| argument.strip_prefix("-t")).map(|text| text.as_bytes()[0]);
        let terminator = if arguments.contains(&"-z".to_owned()) { 0 } else { b'\n' };
        let mut bytes = lines(rng, separator, terminator);
        tame(&mut bytes, &arguments.concat());
        std::fs::write(&file, &bytes).unwrap();
        let expected = gnu(&arguments, &file);
        match order(&arguments) {
            Err(error) => {
                let said = String::from_utf8_lossy(&expected.stderr);
                assert!(said.contains(&error), "seed {seed}: {arguments:?}: {error}, but GNU: {said}");
            }
            Ok((text, unique)) => {
                assert!(expected.status.success(), "seed {seed}: {arguments:?}: {expected:?}");
                let actual = sorted(&text, unique, &bytes);
                same(&actual, &expected.stdout, terminator, &format!("seed {seed}: sort {}", arguments.join(" ")));
            }
        }
    }
}

/// Whole outputs would fill pages: the first line that differs says it.
#[track_caller]
fn same(actual: &[u8], expected: &[u8], terminator: u8, what: &str) {
    if actual == expected {
        return;
    }
    let lines = |bytes: &[u8]| bytes.split(|&byte| byte == terminator).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let (actual, expected) = (lines(actual), lines(expected));
    let at = actual.iter().zip(&expected).position(|(a, b)| a != b).unwrap_or(actual.len().min(expected.len()));
    let show = |lines: &[Vec<u8>]| {
        let lines = lines.iter().skip(at.saturating_sub(1)).take(3);
        lines.map(|line| line[..line.len().min(200)].escape_ascii().to_string()).collect::<Vec<_>>()
    };
    panic!("{what}\nline {at}: {:#?}\nGNU: {:#?}", show(&actual), show(&expected));
}

/// Every word against every other in every order, where the grid meets few of them.
#[test]
fn words_of_one_kind_order_as_gnu_sort() {
    if !has_gnu() {
        return;
    }
    let room = tempfile::tempdir().unwrap();
    let file = room.path().join("lines");
    for (seed, (options, make)) in [
        ("V", versions as fn(&mut Rng, &mut Vec<u8>)),
        ("g", number),
        ("n", number),
        ("h", number),
        ("V", word),
        ("g", word),
        ("n", word),
        ("h", word),
        ("M", word),
        ("fV", versions),
    ]
    .into_iter()
    .enumerate()
    {
        let rng = &mut Rng::with_seed(seed as u64);
        let mut bytes = Vec::new();
        for _ in 0..1000 {
            let start = bytes.len();
            make(rng, &mut bytes);
            // A point elsewhere means the same to all versions.
            let end = if options.contains('V') { bytes.len().min(start + 1) } else { bytes.len() };
            tame(&mut bytes[start..end], options);
            bytes[start..].iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b'x');
            bytes.push(b'\n');
        }
        std::fs::write(&file, &bytes).unwrap();
        for flag in ["-s", "-u"] {
            let mut arguments: Vec<_> = options.chars().map(|letter| format!("-{letter}")).collect();
            arguments.push(flag.to_owned());
            let (text, unique) = order(&arguments).unwrap();
            let expected = gnu(&arguments, &file);
            same(&sorted(&text, unique, &bytes), &expected.stdout, b'\n', &arguments.join(" "));
        }
    }
}
