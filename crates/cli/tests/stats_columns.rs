//! `eagre stats --columns` and `--csv`: the answers of Python's exact fractions, and of its reader of CSV.
#![forbid(unsafe_code)]

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{eagre, parts, run, seeded};
use fastrand::Rng;

/// Reads CSV, and prints what `eagre stats --csv --columns count,sum,min,max,mean,var,stddev,median,p99,q0.125` should.
const PYTHON: &str = r#"
import csv, io, sys
from fractions import Fraction
from math import isqrt
path, delimiter, key, value, quoting = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5] == 'csv'
text = open(path, 'rb').read().removeprefix(b'\xef\xbb\xbf').decode('latin-1')
if quoting:
    rows = csv.reader(io.StringIO(text, newline=''), delimiter=delimiter, strict=False)
else:
    rows = (line.removesuffix('\r').split(delimiter) for line in text.split('\n') if line.removesuffix('\r'))
groups, decimals = {}, 0
for row in rows:
    if not row:
        continue
    number = row[value].strip()
    mantissa, _, exponent = number.lower().partition('e')
    written = len(mantissa.partition('.')[2]) - int(exponent or 0)
    if exponent and Fraction(number) == 0:
        written = 0
    decimals = max(decimals, written)
    groups.setdefault(row[key], []).append(Fraction(number))
def show(number, decimals):
    scaled = (number * 10**decimals + Fraction(1, 2)).__floor__()
    digits = str(abs(scaled)).zfill(decimals + 1)
    text = digits[:-decimals] + '.' + digits[-decimals:] if decimals else digits
    return ('-' if scaled < 0 else '') + text
def quantile(values, q):
    place = (len(values) - 1) * q
    low = place.__floor__()
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)
def root(number, decimals):
    twice = isqrt((4 * number * 10**(2 * decimals)).__floor__())
    return show(Fraction((twice + 1) // 2, 10**decimals), decimals)
out, mean, fine = [], max(decimals, 1), max(decimals, 6)
for key in sorted(groups, key=lambda key: key.encode('latin-1')):
    values = sorted(groups[key])
    n, total = len(values), sum(values)
    row = [str(n), show(total, decimals), show(values[0], decimals), show(values[-1], decimals), show(total / n, mean)]
    if n > 1:
        variance = (n * sum(v * v for v in values) - total * total) / (n * (n - 1))
        row += [show(variance, fine), root(variance, fine)]
    else:
        row += ['', '']
    row += [show(quantile(values, q), mean) for q in (Fraction(1, 2), Fraction(99, 100), Fraction(1, 8))]
    if quoting and any(c in key for c in (delimiter, '"', '\n', '\r')):
        key = '"' + key.replace('"', '""') + '"'
    out.append(delimiter.join([key] + row) + '\n')
sys.stdout.buffer.write(''.join(out).encode('latin-1'))
"#;

const COLUMNS: &str = "count,sum,min,max,mean,var,stddev,median,p99,q0.125";

/// What Python says; `None` if there is no Python.
fn python(path: &Path, delimiter: &str, key: usize, value: usize, csv: bool) -> Option<String> {
    let mut command = Command::new("python3");
    command.args(["-c", PYTHON]).arg(path).args([delimiter, &key.to_string(), &value.to_string()]);
    let output = command.arg(if csv { "csv" } else { "plain" }).output();
    let Ok(output) = output else {
        eprintln!("skipped: no python3");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(output.stdout.iter().map(|&byte| char::from(byte)).collect())
}

/// What `eagre stats` says, each byte a character.
fn stats(arguments: &[&str], path: &Path, piped: bool) -> String {
    let mut command = eagre();
    command.arg("stats").args(arguments);
    let output = match piped {
        true => {
            // Through a pipe nothing can be read twice.
            let mut cat = Command::new("cat").arg(path).stdout(Stdio::piped()).spawn().unwrap();
            let output = command.stdin(cat.stdout.take().unwrap()).output().unwrap();
            cat.wait().unwrap();
            output
        }
        false => command.arg(path).output().unwrap(),
    };
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout.iter().map(|&byte| char::from(byte)).collect()
}

fn number(random: &mut Rng) -> String {
    let sign = random.choice(&["", "", "", "-", "+"]).unwrap();
    let digits = 1 + random.u64(..6) as u32;
    let whole = random.u64(..10_u64.pow(digits));
    let part = random.u64(..1000);
    match random.u64(..16) {
        0 => format!("{sign}{whole}"),
        1 => format!(" {sign}{whole}.{part} "),
        2 => format!("{sign}{whole}.{part}e{}", random.u64(..3)),
        3 => format!("{sign}{whole}E-{}", random.u64(..9)),
        4 => format!("{sign}{whole}{whole}.{part}{part}{part}{whole}"),
        5 => format!("{sign}.{part}"),
        _ => format!("{sign}{whole}.{}", part % 10),
    }
}

#[test]
fn figures_are_exact() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows");
    for seed in 1..=6 {
        let random = &mut seeded(seed * 0x1234_5679);
        let keys = *random.choice(&[1, 7, 500, 5_000]).unwrap();
        let mut text = String::new();
        for _ in 0..8_000 {
            let key = random.u64(..keys);
            text += &format!("{}{key};{}\n", "long key ".repeat(key as usize % 5), number(random));
        }
        fs::write(&path, &text).unwrap();
        let Some(expected) = python(&path, ";", 0, 1, false) else { return };
        for threads in ["1", "3"] {
            let got = stats(&["-j", threads, "--columns", COLUMNS], &path, false);
            assert!(got == expected, "seed {seed}: {}", difference(&got, &expected));
        }
    }
}

/// A field, which may need its quotes.
fn field(random: &mut Rng, hard: bool) -> String {
    let text = random
        .choice(&["a", "Zürich", "key of some length, more than a word", "x;y", "5\" pipe", "", " b "])
        .unwrap()
        .to_string();
    let text = format!("{text}{}", random.u64(..40));
    match random.u64(..if hard { 8 } else { 1000 }) {
        0 => format!("\"{}\"", text.replace('"', "\"\"")),
        1 => format!("\"{}, {}\"", text.replace('"', "\"\""), random.u64(..3)),
        2 => format!("\"say \"\"{}\"\"\"", text.replace('"', "\"\"")),
        3 if hard => format!("\"{}\n\r\n,{}\"", text.replace('"', "\"\""), random.u64(..3)),
        _ => text.replace([',', '"'], "-"),
    }
}

#[test]
fn csv_is_what_python_reads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    for seed in 1..=8 {
        let random = &mut seeded(seed * 0x9876_5433);
        let hard = seed % 2 == 0;
        let newline = *random.choice(&["\n", "\r\n"]).unwrap();
        let mut text = if seed % 3 == 0 { "\u{feff}".to_owned() } else { String::new() };
        for _ in 0..6_000 {
            let value = number(random);
            let value = if random.u64(..3) == 0 { format!("\"{value}\"") } else { value };
            text += &[field(random, hard), value, field(random, hard)].join(",");
            text += newline;
        }
        if seed % 4 == 0 {
            text.truncate(text.trim_end().len());
        }
        fs::write(&path, &text).unwrap();
        let Some(expected) = python(&path, ",", 0, 1, true) else { return };
        for (threads, piped) in [("1", false), ("2", false), ("2", true)] {
            let got = stats(&["--csv", "-d,", "-j", threads, "--columns", COLUMNS], &path, piped);
            assert!(got == expected, "seed {seed}, {threads} threads: {}", difference(&got, &expected));
        }
        let got = stats(&["--csv", "-d,", "-k3", "--columns", "count"], &path, false);
        assert_eq!(got.matches('\n').count(), expected_lines(&path), "seed {seed}");
    }
}

/// How many lines the keys of the third column take.
fn expected_lines(path: &Path) -> usize {
    let text = python(path, ",", 2, 1, true).unwrap();
    text.matches('\n').count()
}

#[test]
fn records_that_are_none() {
    let message = |why: &str| format!("eagre: stats: standard input: {why}; ");
    let told = |arguments: &[&str], input: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in");
        fs::write(&path, input).unwrap();
        let mut command = eagre();
        command.args(["stats", "--csv", "-d,"]).args(arguments).stdin(fs::File::open(&path).unwrap());
        parts(&command.output().unwrap())
    };
    let (code, out, err) = told(&[], "a,1\n\"b,2\nc,3\n");
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(
        err.starts_with(&message("line 2: the quote that opens column 1 is never closed in '\"b,2\\nc,3\\n'")),
        "{err}"
    );
    // The line is that in which the record begins.
    let (code, out, err) = told(&[], "\"a\nb\",1\n\"c\nd\",x\n");
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.starts_with(&message("line 3: 'x' is not a number")), "{err}");
    let (code, out, err) = told(&["--skip-bad"], "\"a\nb\",1\n\"c\nd\",x\ne,2\n");
    assert_eq!((code, out.as_str()), (0, "\"a\nb\",1,1.0,1,1\ne,2,2.0,2,1\n"));
    assert!(err.contains("1 line skipped, the first is line 3: 'x'"), "{err}");
    // Lines are counted as they are, also in a record that ends nowhere.
    for input in ["a,1\n\"b,2\nc,3\n", "a,1\n\"b,2\nc,3"] {
        let (code, out, _) = told(&["--skip-bad", "--json"], input);
        assert!(code == 0 && out.contains("\"lines\": 3"), "{out}");
    }
    assert_eq!(told(&["--header"], "\"two\nlines\",value\na,1\n"), (0, "a,1,1.0,1,1\n".into(), String::new()));
    assert_eq!(told(&["--header"], "\u{feff}\"key\",value\na,1\n"), (0, "a,1,1.0,1,1\n".into(), String::new()));
    assert_eq!(told(&[], "\u{feff}a,1\na,2\n"), (0, "a,1,1.5,2,2\n".into(), String::new()));
    // Without --csv a quote is a character, and a byte order mark none.
    assert_eq!(run(&["stats", "-d,", "/dev/null"]), (0, String::new(), String::new()));
}

/// One key that is long, and one that is longer than a line of a table can be aligned to.
#[test]
fn long_keys_in_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in");
    fs::write(&path, format!("a;1\n{};2\n", "x".repeat(100_000))).unwrap();
    let (code, out, err) = run(&["stats", "--format", "table", path.to_str().unwrap()]);
    assert_eq!((code, err.as_str(), out.lines().count()), (0, "", 3));
    assert!(out.lines().nth(1).unwrap().len() < 200 && out.lines().nth(2).unwrap().ends_with("  2   2.0    2      1"));
}

/// Text that is more than a thread writes at a time.
#[test]
fn much_text_comes_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in");
    let keys: Vec<String> = (0..6_000).map(|key| format!("{key:05}{}", "y".repeat(1000))).collect();
    fs::write(&path, keys.iter().map(|key| format!("{key};1\n")).collect::<String>()).unwrap();
    for threads in ["1", "3"] {
        let (code, out, _) = run(&["stats", "-j", threads, "--columns", "count", path.to_str().unwrap()]);
        assert_eq!(code, 0);
        assert!(out.lines().eq(keys.iter().map(|key| format!("{key};1"))), "{threads} threads");
    }
}

/// Several files are one input, whatever is asked.
#[test]
fn figures_of_several_files() {
    let folder = tempfile::tempdir().unwrap();
    let random = &mut seeded(4711);
    let rows = |random: &mut Rng, from: u64| -> String {
        (0..8_000).map(|_| format!("k{};{}\n", from + random.u64(..5_000), number(random))).collect()
    };
    let (first, second) = (rows(random, 0), rows(random, 3_000));
    let path = |name: &str| folder.path().join(name);
    fs::write(path("first"), &first).unwrap();
    fs::write(path("second"), &second).unwrap();
    fs::write(path("both"), first + &second).unwrap();
    let columns = ["stats", "--columns", COLUMNS];
    let of = |files: &[&str]| {
        let output = eagre().args(columns).args(files).current_dir(folder.path()).output().unwrap();
        parts(&output)
    };
    assert_eq!(of(&["first", "second"]), of(&["both"]));
}

/// The first line that differs.
fn difference(got: &str, expected: &str) -> String {
    let lines = got.lines().zip(expected.lines()).find(|(got, expected)| got != expected);
    format!("{lines:?} of {} and {} lines", got.lines().count(), expected.lines().count())
}
