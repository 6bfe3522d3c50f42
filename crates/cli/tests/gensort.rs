//! `eagre gen` and `eagre check`: records of the sort benchmark.
#![forbid(unsafe_code)]

mod common;

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use common::{eagre, names, parts, run};

/// Runs the command in a folder.
fn within(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    parts(&eagre().current_dir(folder).args(arguments).output().unwrap())
}

const UNSORTED: &str =
    "records: 100\nchecksum: 319e1030c3\nduplicate keys: 0\nunordered records: 51\nfirst unordered record: 2\n";

#[test]
fn what_is_made_is_what_the_benchmark_makes() {
    let room = tempfile::tempdir().unwrap();
    for threads in ["1", "2", "7"] {
        assert_eq!(within(room.path(), &["gen", "-j", threads, "100", "b"]), (0, String::new(), String::new()));
        assert_eq!(within(room.path(), &["check", "-j", threads, "b"]), (1, UNSORTED.to_owned(), String::new()));
    }
    for (options, checksum) in [
        (&["1000000"][..], "7a0e0d4868cd4"),
        (&["--ascii", "1000000"], "7a19cff467438"),
        (&["--skew", "1000000"], "79f9a7e6de673"),
        (&["-a", "-s", "1000000"], "7a135fbce6df2"),
    ] {
        let (code, _, err) = within(room.path(), &[&["gen"], options, &["b"]].concat());
        assert_eq!((code, &*err), (0, ""));
        let (code, out, _) = within(room.path(), &["check", "b"]);
        assert_eq!((code, out.lines().nth(1)), (1, Some(&*format!("checksum: {checksum}"))), "{options:?}");
    }
    let (_, line, _) = run(&["gen", "--ascii", "1"]);
    assert_eq!(
        line,
        "AsfAGHM5om  00000000000000000000000000000000  0000222200002222000022220000222200002222000000001111\r\n"
    );
}

#[test]
fn parts_are_one_file() {
    let room = tempfile::tempdir().unwrap();
    for (first, part) in [("0", "a"), ("40", "b"), ("70", "c")] {
        let count = if part == "a" { "40" } else { "30" };
        assert_eq!(within(room.path(), &["gen", "--first", first, count, part]).0, 0);
    }
    assert_eq!(within(room.path(), &["check", "a", "b", "c"]), (1, UNSORTED.to_owned(), String::new()));
    let whole = [1, 2, 3].map(|part| std::fs::read(room.path().join(["a", "b", "c"][part - 1])).unwrap()).concat();
    std::fs::write(room.path().join("whole"), &whole).unwrap();
    assert_eq!(within(room.path(), &["check", "whole"]).1, UNSORTED);
}

#[test]
fn sorted_or_the_same_records() {
    let room = tempfile::tempdir().unwrap();
    let mut records = eagre_records(room.path(), 1000);
    std::fs::write(room.path().join("in"), records.concat()).unwrap();
    records.sort();
    std::fs::write(room.path().join("out"), records.concat()).unwrap();
    let (code, out, _) = within(room.path(), &["check", "out", "--against", "in"]);
    assert_eq!(code, 0, "{out}");
    assert!(out.ends_with("unordered records: 0\nsame records: yes\n"), "{out}");

    records[500] = records[499].clone();
    std::fs::write(room.path().join("out"), records.concat()).unwrap();
    let (code, out, _) = within(room.path(), &["check", "out"]);
    assert_eq!((code, out.lines().nth(2)), (0, Some("duplicate keys: 1")), "in order, all the same");
    let (code, out, _) = within(room.path(), &["check", "--json", "out", "--against", "in"]);
    assert_eq!(code, 1);
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&found["sorted"], &found["same_records"]), (&true.into(), &false.into()));
    assert_eq!(found["records"], 1000);
}

fn eagre_records(room: &Path, count: usize) -> Vec<Vec<u8>> {
    assert_eq!(within(room, &["gen", &count.to_string(), "all"]).0, 0);
    std::fs::read(room.join("all")).unwrap().chunks(100).map(<[u8]>::to_vec).collect()
}

#[test]
fn through_pipes_and_compressed() {
    let room = tempfile::tempdir().unwrap();
    let made = eagre().args(["gen", "100"]).output().unwrap();
    assert_eq!(made.stdout.len(), 10_000);
    let mut check = eagre().arg("check").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    check.stdin.take().unwrap().write_all(&made.stdout).unwrap();
    assert_eq!(String::from_utf8(check.wait_with_output().unwrap().stdout).unwrap(), UNSORTED);

    std::fs::write(room.path().join("b"), &made.stdout).unwrap();
    let packed = std::process::Command::new("gzip").arg("b").current_dir(room.path()).status();
    if !packed.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: no gzip here");
    }
    assert_eq!(within(room.path(), &["check", "b.gz"]).1, UNSORTED);
}

#[test]
fn any_number_of_threads_and_little_memory() {
    let room = tempfile::tempdir().unwrap();
    for threads in ["61", "1000000", "18446744073709551615"] {
        assert_eq!(within(room.path(), &["gen", "-j", threads, "100000", "b"]), (0, String::new(), String::new()));
        let (code, out, err) = within(room.path(), &["check", "-j", threads, "b"]);
        assert_eq!((code, &*err, out.lines().next()), (1, "", Some("records: 100000")));
    }
    let mut small = eagre();
    small.current_dir(room.path()).env("EAGRE_POOL", "8M").args(["gen", "-j", "8", "100000", "small"]);
    assert_eq!(parts(&small.output().unwrap()), (0, String::new(), String::new()));
    assert!(std::fs::read(room.path().join("small")).unwrap() == std::fs::read(room.path().join("b")).unwrap());
}

#[test]
fn trouble_is_one_line_and_no_file() {
    let room = tempfile::tempdir().unwrap();
    std::fs::write(room.path().join("cut"), [7; 250]).unwrap();
    for (arguments, line) in [
        (
            &["check", "cut"][..],
            "eagre: check: cut: a record of 50 bytes, not 100, at byte 200; the file is truncated, or does not hold records of the sort \
             benchmark; see --record, --klv, --keys and --lines\n",
        ),
        (&["check", "missing"], "eagre: check: missing: No such file or directory; check the name\n"),
        (
            &["check", "-", "--against", "-"],
            "eagre: check: standard input: it cannot be both the records and those of --against; name a file\n",
        ),
        (&["gen", "1", "no/b"], "eagre: gen: no/b: No such file or directory; check the name\n"),
    ] {
        let (code, out, err) = within(room.path(), arguments);
        assert_eq!((code, &*out, &*err), (2, "", line));
    }
    for records in ["18446744073709551615", "92233720368547758"] {
        let (code, out, err) = within(room.path(), &["gen", records, "huge"]);
        assert_eq!((code, &*out, err.lines().count()), (2, "", 1), "{err}");
    }
    assert_eq!(within(room.path(), &["gen", "0", "empty"]).0, 0);
    assert_eq!(within(room.path(), &["check", "empty"]).0, 0);
    assert_eq!(names(room.path()), ["cut", "empty"]);
}
