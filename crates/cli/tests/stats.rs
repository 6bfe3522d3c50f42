//! `eagre stats`: its forms, its refusals, and the answers of Python's exact fractions.
#![forbid(unsafe_code)]

mod common;

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use common::{eagre, parts, run, seeded};
use fastrand::Rng;

/// Runs `eagre stats` with these arguments on what comes through a pipe.
fn stats(arguments: &[&str], input: &[u8]) -> (i32, String, String) {
    let mut child = eagre()
        .arg("stats")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A refused option reads nothing.
    let _ = child.stdin.take().unwrap().write_all(input);
    parts(&child.wait_with_output().unwrap())
}

/// The same, where all must be well.
fn answer(arguments: &[&str], input: &str) -> String {
    let (code, out, err) = stats(arguments, input.as_bytes());
    assert_eq!((code, err.as_str()), (0, ""), "{arguments:?}");
    out
}

const TEMPERATURES: &str = "Oslo;-1.5\nRoma;20.0\nOslo;3.0\nÅrhus;0.0\nOslo;-0.1\n";

#[test]
fn a_line_for_each_key() {
    assert_eq!(answer(&[], TEMPERATURES), "Oslo;-1.5;0.5;3.0;3\nRoma;20.0;20.0;20.0;1\nÅrhus;0.0;0.0;0.0;1\n");
    assert_eq!(answer(&[], ""), "");
    assert_eq!(answer(&[], "\n\r\n"), "");
    assert_eq!(answer(&[], "a;1\r\na;2"), "a;1;1.5;2;2\n");
    // As many decimals as the longest number has, the mean at least one.
    assert_eq!(answer(&[], "a;1\na;2.250\nb;+.5\n"), "a;1.000;1.625;2.250;2\nb;0.500;0.500;0.500;1\n");
    assert_eq!(answer(&[], "a;1\na;1\na;0\n"), "a;0;0.7;1;3\n");
    // Eighteen digits on both sides.
    let huge = "999999999999999999.999999999999999999";
    assert_eq!(answer(&[], &format!("k;-{huge}\nk;{huge}\nk;{huge}\n")), {
        let third = "333333333333333333.333333333333333333";
        format!("k;-{huge};{third};{huge};3\n")
    });
}

#[test]
fn columns_and_delimiters() {
    assert_eq!(answer(&["-d,", "-k2", "-v1"], "1.5,a\n2.5,a\r\n"), "a,1.5,2.0,2.5,2\n");
    assert_eq!(answer(&["-d", "\\t", "-k", "3", "-v", "1"], "1\tx\ta b\n3\ty;z\ta b\n"), "a b\t1\t2.0\t3\t2\n");
    assert_eq!(answer(&["--delimiter=\\x7C"], "a| 1 |comment\n"), "a|1|1.0|1|1\n");
    assert_eq!(answer(&["-d\\0"], "a\x001\n"), "a\x001\x001.0\x001\x001\n");
    assert_eq!(answer(&["-k1", "-v1"], "5\n5\n"), "5;5;5.0;5;2\n");
    assert_eq!(answer(&["-d,", "--header", "-v3"], "name,note,value\na,\"q\",1\n"), "a,1,1.0,1,1\n");
    for (arguments, why) in [
        (&["-d", ""][..], "not a single byte"),
        (&["-d", "ab"], "not a single byte"),
        (&["-d", "é"], "not a single byte"),
        (&["-d", "\\xZZ"], "no hexadecimal digits"),
        (&["-d", "\\x0a"], "a line end"),
        (&["-d", "5"], "a character of numbers"),
        (&["-k", "0"], "columns are counted from 1"),
        (&["-v", "x"], "not the number of a column"),
        (&["--columns", "median,mode"], "no column 'mode'"),
        (&["--columns", "p101"], "no column 'p101'"),
        (&["--columns", ""], "no column ''"),
        (&["--columns", "sum", "--format", "1brc"], "leave out --columns"),
        (&["-j", "0"], "0"),
        (&["--csv", "-d", "\""], "name another delimiter"),
        (&["--sort", "size"], "size"),
        (&["--json", "--format", "table"], "--json"),
    ] {
        let (code, out, err) = stats(arguments, b"");
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{arguments:?}: {err}");
        assert!(err.contains(why), "{err}");
    }
}

#[test]
fn forms() {
    assert_eq!(
        answer(&["--format=1brc"], TEMPERATURES),
        "{Oslo=-1.5/0.5/3.0, Roma=20.0/20.0/20.0, Århus=0.0/0.0/0.0}\n"
    );
    assert_eq!(answer(&["--format=1brc"], ""), "{}\n");
    // Half up, as Java's Math.round: towards the larger.
    assert_eq!(answer(&["--format=1brc"], "a;0.1\na;0.0\nb;-0.1\nb;0.0\n"), "{a=0.0/0.1/0.1, b=-0.1/0.0/0.0}\n");
    assert_eq!(
        answer(&["--format=table", "--sort=count"], TEMPERATURES),
        "key     min  mean   max  count\n\
         Oslo   -1.5   0.5   3.0      3\n\
         Roma   20.0  20.0  20.0      1\n\
         Århus   0.0   0.0   0.0      1\n"
    );
    let json = answer(&["--json"], TEMPERATURES);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["groups"][0], serde_json::json!({"key": "Oslo", "count": 3, "min": -1.5, "mean": 0.5, "max": 3.0}));
    assert_eq!((&json["lines"], &json["skipped"]), (&5.into(), &0.into()));
    let (code, out, _) = stats(&["--json"], b"\xff\x00;123456789012345678.5\n");
    assert_eq!(code, 0);
    assert!(out.contains("\"key_hex\": \"ff00\"") && out.contains("\"max\": 123456789012345678.5"), "{out}");
}

#[test]
fn lines_that_are_no_rows() {
    let message = |why: &str| format!("eagre: stats: standard input: {why}\n");
    let skip = "correct the line, or skip such lines with --skip-bad";
    let head = "skip a heading with --header, or choose delimiter and columns with -d, -k and -v";
    for (input, why) in [
        ("a;1\n\nb;cold\n", format!("line 3: 'cold' is not a number; {skip}")),
        ("a;1\nb;1e", format!("line 2: '1e' is not a number; {skip}")),
        ("a;1\nb;1e18", format!("line 2: '1e18' has more than 18 digits before the point; {skip}")),
        ("a;1\nb;\n", format!("line 2: '' is not a number; {skip}")),
        ("a;1\nb;\x1b[31m\n", format!("line 2: '\\u{{1b}}[31m' is not a number; {skip}")),
        ("a;1\nb\n", format!("line 2: no column 2 in 'b'; {skip}")),
        ("name;value\na;1\n", format!("line 1: 'value' is not a number; {head}")),
        ("a,1\n", format!("line 1: no column 2 in 'a,1'; {head}")),
        (
            "a;1\na;1234567890123456789\n",
            format!("line 2: '1234567890123456789' has more than 18 digits before the point; {skip}"),
        ),
        (
            &format!("a;1\nb;{}\n", "x".repeat(100_000)),
            format!("line 2: '{}…' is not a number; {skip}", "x".repeat(40)),
        ),
    ] {
        assert_eq!(stats(&[], input.as_bytes()), (2, String::new(), message(&why)));
    }
    let input = "a;1\nb\nc;x\nd;2";
    let said = message("2 lines skipped, the first is line 2: no column 2 in 'b'");
    assert_eq!(stats(&["--skip-bad"], input.as_bytes()), (0, "a;1;1.0;1;1\nd;2;2.0;2;1\n".to_owned(), said));
}

/// The number of a line is right wherever it is in a large file, and however many threads look.
#[test]
fn lines_of_large_files_are_numbered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large");
    let file = path.to_str().unwrap();
    for bad in [1, 2, 77_777, 250_000] {
        let text: String = (1..=250_000).map(|line| if line == bad { "k;no\n" } else { "key;-12.5\n" }).collect();
        fs::write(&path, text).unwrap();
        for threads in ["1", "2", "5"] {
            let (code, out, err) = run(&["stats", "-j", threads, file]);
            assert_eq!((code, out.as_str()), (2, ""));
            assert!(err.contains(&format!("line {bad}: 'no' is not a number")), "{err}");
        }
        let (code, _, err) = run(&["stats", "--header", file]);
        assert_eq!((code, err.is_empty()), if bad == 1 { (0, true) } else { (2, false) }, "{err}");
    }
}

#[test]
fn several_files_are_one_input() {
    let folder = tempfile::tempdir().unwrap();
    // The first has no newline at its end; its last line ends all the same.
    fs::write(folder.path().join("a"), "x;1\ny;2").unwrap();
    fs::write(folder.path().join("b"), "x;3\n").unwrap();
    let run_in =
        |arguments: &[&str]| parts(&eagre().current_dir(folder.path()).arg("stats").args(arguments).output().unwrap());
    assert_eq!(run_in(&["a", "b"]), (0, "x;1;2.0;3;2\ny;2;2.0;2;1\n".to_owned(), String::new()));
    // A heading in each.
    assert_eq!(run_in(&["--header", "a", "b"]), (0, "y;2;2.0;2;1\n".to_owned(), String::new()));
    let missing = "eagre: stats: missing: No such file or directory; check the name\n";
    assert_eq!(run_in(&["a", "missing", "b"]), (2, String::new(), missing.to_owned()));
    fs::write(folder.path().join("names"), "a\0b\0").unwrap();
    assert_eq!(run_in(&["--files0-from", "names"]).1, "x;1;2.0;3;2\ny;2;2.0;2;1\n");
}

/// What Python makes of the same text, with fractions and not with floating point.
const PYTHON: &str = r"
import sys
from fractions import Fraction
delimiter, key, value = sys.argv[2].encode(), int(sys.argv[3]), int(sys.argv[4])
groups, decimals = {}, 0
for line in open(sys.argv[1], 'rb').read().split(b'\n'):
    line = line.removesuffix(b'\r')
    if line:
        fields = line.split(delimiter)
        text = fields[value].decode()
        decimals = max(decimals, len(text.partition('.')[2]))
        groups.setdefault(fields[key], []).append(Fraction(text))
def show(number, decimals):
    scaled = (number * 10**decimals + Fraction(1, 2)).__floor__()
    digits = str(abs(scaled)).zfill(decimals + 1)
    text = digits[:-decimals] + '.' + digits[-decimals:] if decimals else digits
    return ('-' if scaled < 0 else '') + text
for key in sorted(groups):
    values = groups[key]
    row = [show(min(values), decimals), show(sum(values) / len(values), max(decimals, 1)), show(max(values), decimals)]
    row = [key] + [text.encode() for text in row] + [str(len(values)).encode()]
    sys.stdout.buffer.write(delimiter.join(row) + b'\n')
";

#[test]
fn agrees_with_fractions() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: no python3");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows");
    for seed in 1..=8 {
        let random = &mut seeded(seed * 0x1234_5678_9abc);
        let delimiter = *random.choice(&[";", ",", "\t", "|"]).unwrap();
        let fields = *random.choice(&[2, 2, 3, 8]).unwrap();
        let (key, value) = *random.choice(&[(0, 1), (1, 0), (fields - 1, 0)]).unwrap();
        let (whole, part) = (*random.choice(&[1, 2, 2, 6, 18]).unwrap(), *random.choice(&[0, 1, 1, 2, 18]).unwrap());
        let (keys, longest) = (*random.choice(&[1, 413, 20_000]).unwrap(), *random.choice(&[1, 20, 60]).unwrap());
        let mut text = Vec::new();
        for _ in 0..40_000 {
            for field in 0..fields {
                if field > 0 {
                    text.extend(delimiter.bytes());
                }
                if field == value {
                    text.extend(random.choice(&["", "", "-"]).unwrap().bytes());
                    text.extend(digits(random, whole).bytes());
                    if part > 0 {
                        text.push(b'.');
                        text.extend(digits(random, part).bytes());
                    }
                } else {
                    let key = random.u64(..keys);
                    text.extend(NAME.bytes().skip(key as usize % 7).take((key % longest) as usize));
                    text.extend(key.to_string().bytes());
                }
            }
            text.push(b'\n');
        }
        fs::write(&path, text).unwrap();
        let file = path.to_str().unwrap();
        let columns = [key.to_string(), value.to_string()];
        let python = Command::new("python3").args(["-c", PYTHON, file, delimiter]).args(&columns).output().unwrap();
        let expected = parts(&python);
        assert_eq!((expected.0, expected.2.as_str()), (0, ""));
        for (threads, simd) in [("1", None), ("2", None), ("5", Some("avx2")), ("2", Some("portable"))] {
            let mut command = eagre();
            command.args(["stats", "-j", threads, "-d", delimiter, "-k", &(key + 1).to_string()]);
            command.args(["-v", &(value + 1).to_string(), file]);
            if let Some(simd) = simd {
                command.env("EAGRE_SIMD", simd);
            }
            let got = parts(&command.output().unwrap());
            if got.2.contains("this processor has no such instructions") {
                eprintln!("skipped: {}", got.2);
                continue;
            }
            assert!(got == expected, "seed {seed}, {threads} threads, {simd:?}: {}", difference(&got.1, &expected.1));
        }
    }
}

/// A key's beginning, which many share.
const NAME: &str = "Zürich \u{2603} key of some length, and more than fits a word, and then some";

/// So many digits.
fn digits(random: &mut Rng, number: usize) -> String {
    (0..number).map(|_| random.u64(..10).to_string()).collect()
}

/// The first line that differs.
fn difference(got: &str, expected: &str) -> String {
    let lines = got.lines().zip(expected.lines()).find(|(got, expected)| got != expected);
    format!("{lines:?} of {} and {} lines", got.lines().count(), expected.lines().count())
}
