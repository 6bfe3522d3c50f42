//! `eagre gen` and `eagre check`: every format but the sort benchmark's.
#![forbid(unsafe_code)]

mod common;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{eagre, names, parts};

/// Runs the command in a folder.
fn within(folder: &Path, arguments: &str) -> (i32, String, String) {
    parts(&eagre().current_dir(folder).args(arguments.split_whitespace()).output().unwrap())
}

/// What `check` says, line by line, with its exit code.
fn check(folder: &Path, arguments: &str) -> (i32, Vec<String>) {
    let (code, out, err) = within(folder, &format!("check {arguments}"));
    assert_eq!(err, "");
    (code, out.lines().map(str::to_owned).collect())
}

#[test]
fn what_is_made_can_be_checked() {
    let room = tempfile::tempdir().unwrap();
    for (made, checked, record) in [
        ("--record 32", "--record 32 --key 0:10", 32),
        ("--klv 10:90", "--klv 10:4", 104),
        ("--klv 8:90:2be", "--klv 8:2be", 100),
        ("--klv 10:10..50", "--klv 10:4le", 0),
        ("--keys u64", "--keys u64", 8),
        ("--keys f32 --dist zipf", "--keys f32", 4),
        ("--keys u64:u64", "--keys u64:u64", 16),
        ("--lines", "--lines", 0),
        ("--lines -z --dist zipf", "--lines --zero-terminated", 0),
    ] {
        assert_eq!(within(room.path(), &format!("gen 5000 data {made} --seed 3")), (0, String::new(), String::new()));
        let first = fs::read(room.path().join("data")).unwrap();
        if record > 0 {
            assert_eq!(first.len(), 5000 * record, "{made}");
        }
        let (code, lines) = check(room.path(), &format!("data --against data {checked}"));
        assert_eq!((code, &*lines[0], &*lines[5]), (1, "records: 5000", "same records: yes"), "{made}: {lines:?}");
        within(room.path(), &format!("gen 5000 data {made} --seed 3 -j 1"));
        assert!(fs::read(room.path().join("data")).unwrap() == first, "{made}: one thread");
        within(room.path(), &format!("gen 5000 data {made} --seed 4"));
        assert!(fs::read(room.path().join("data")).unwrap() != first, "{made}: another seed");
    }
}

#[test]
fn lines_as_gnu_sort_has_them() {
    let room = tempfile::tempdir().unwrap();
    let path = |name| room.path().join(name);
    within(room.path(), "gen 3000 in --lines --dist zipf");
    let sort = |options: &[&str], to| {
        let mut sort = Command::new("sort");
        sort.env("LC_ALL", "C")
            .args(options)
            .arg(path("in"))
            .arg("-o")
            .arg(path(to))
            .status()
            .is_ok_and(|s| s.success())
    };
    if !sort(&[], "sorted") || !sort(&["-r"], "reversed") || !sort(&["-u"], "unique") {
        return eprintln!("skipped: no sort here");
    }
    let text = fs::read_to_string(path("sorted")).unwrap();
    let lines: Vec<_> = text.lines().collect();
    let duplicates = lines.windows(2).filter(|two| two[0] == two[1]).count();
    let (code, said) = check(room.path(), "--lines sorted --against in");
    assert_eq!((code, &*said[2]), (0, &*format!("duplicate keys: {duplicates}")));
    assert_eq!(said[3..], ["unordered records: 0", "same records: yes"]);
    assert_eq!(check(room.path(), "--lines -r reversed --against in").0, 0);
    assert_eq!(check(room.path(), "--lines -u unique").0, 0);
    assert_eq!(check(room.path(), "--lines unique --against in").0, 1);
    assert_eq!(check(room.path(), "--lines -r sorted").0, 1);

    let (code, said) = check(room.path(), "--lines -u sorted");
    let first = lines.windows(2).position(|two| two[0] == two[1]).unwrap() + 1;
    let byte: usize = lines[..first].iter().map(|line| line.len() + 1).sum();
    assert_eq!((code, &*said[4]), (1, &*format!("first unordered record: {first}, at byte {byte}")));
}

#[test]
fn keys_of_records() {
    let room = tempfile::tempdir().unwrap();
    // A signed number, and a letter in descending order.
    let mut records: Vec<(i32, u8)> = (0..500).map(|i| (i * 7919 % 100 - 50, b'a' + (i % 26) as u8)).collect();
    let write = |name: &str, records: &[(i32, u8)]| {
        let bytes: Vec<u8> =
            records.iter().flat_map(|(number, letter)| [&[*letter][..], &number.to_be_bytes()].concat()).collect();
        fs::write(room.path().join(name), bytes).unwrap();
    };
    write("in", &records);
    records.sort_by_key(|&(number, letter)| (number, !letter));
    write("out", &records);
    let keys = "--record 5 --key 1:i32be -k 0:1:desc";
    assert_eq!(check(room.path(), &format!("{keys} out --against in")).0, 0);
    assert_eq!(check(room.path(), "--record 5 -k 1:i32be out").0, 0);
    assert_eq!(check(room.path(), &format!("{keys} in")).0, 1);
    assert_eq!(check(room.path(), "--record 5 out").0, 1, "the whole record is the key");
    assert_eq!(check(room.path(), "--record 5 -k 1:4 out").0, 1, "as bytes, negative numbers are last");
    records.reverse();
    write("back", &records);
    assert_eq!(check(room.path(), &format!("{keys} -r back")).0, 0);
}

#[test]
fn parts_are_one_file() {
    let room = tempfile::tempdir().unwrap();
    for (name, text) in [("a", "1\n2"), ("b", "2\n3\n"), ("c", "0\n"), ("all", "0\n1\n2\n2\n3")] {
        fs::write(room.path().join(name), text).unwrap();
    }
    let (code, said) = check(room.path(), "--lines a b");
    assert_eq!((code, &*said[2]), (0, "duplicate keys: 1"));
    assert_eq!(check(room.path(), "--lines a b c").1[4], "first unordered record: 4, at byte 0 of c");
    assert_eq!(check(room.path(), "--lines -u a b").1[4], "first unordered record: 2, at byte 0 of b");
    assert_eq!(check(room.path(), "--lines all --against a --against b --against c").0, 0);
    assert_eq!(check(room.path(), "--lines all --against a --against b").0, 1);

    let (code, out, _) = within(room.path(), "check --json --lines a b c --against all");
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &found["records"], &found["duplicate_keys"]), (1, &5.into(), &1.into()));
    assert_eq!((&found["sorted"], &found["same_records"]), (&false.into(), &true.into()));
    assert_eq!((&found["first_unordered"], &found["first_unordered_byte"]), (&4.into(), &0.into()));
    assert_eq!(found["file"], "c");
    let (_, out, _) = within(room.path(), "check --json --lines a b");
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((found.get("first_unordered"), found.get("file")), (None, None), "nothing is out of order");
}

#[test]
fn pipes() {
    let made = eagre().args(["gen", "1000", "--klv", "4:0..9"]).output().unwrap();
    let mut check = eagre();
    check.args(["check", "--klv", "4:4"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut check = check.spawn().unwrap();
    check.stdin.take().unwrap().write_all(&made.stdout).unwrap();
    let said = String::from_utf8(check.wait_with_output().unwrap().stdout).unwrap();
    assert!(said.starts_with("records: 1000\n"), "{said}");
    assert!(said.contains("\nfirst unordered record: "), "{said}");
}

#[test]
fn trouble_is_one_line_and_no_file() {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("cut"), [7; 250]).unwrap();
    let cure = "the file is truncated, or has another format";
    for (arguments, line) in [
        (
            "check --record 100 cut",
            &*format!(
                "eagre: check: cut: record 2, at byte 200: the last record is cut short: it has 50 bytes of 100; {cure}\n"
            ),
        ),
        (
            "check --klv 10:4 cut",
            &*format!(
                "eagre: check: cut: record 0, at byte 0: the last record is cut short: it has 250 bytes of 117901077; {cure}\n"
            ),
        ),
        ("check --lines missing", "eagre: check: missing: No such file or directory; check the name\n"),
        ("check --record 5 --key 3:4 cut", "eagre: check: --key: a key ends at byte 7, but a record has 5\n"),
        (
            "check -r cut",
            "eagre: check: --reverse: records of the sort benchmark ascend, with equal keys; use --record 100 --key 0:10, or name a format\n",
        ),
        (
            "gen 5 out --seed 1",
            "eagre: gen: --seed: records of the sort benchmark are the same everywhere; name another format (--record, --klv, --keys, --lines), or use --skew or --first\n",
        ),
    ] {
        assert_eq!(within(room.path(), arguments), (2, String::new(), line.to_owned()), "{arguments}");
    }
    for arguments in [
        "check --record 0 cut",
        "check --record 5 --klv 1:1 cut",
        "check --key 0:1 cut",
        "check --klv 10:90 cut",
        "check -z cut",
        "gen 5 out --record 0",
        "gen 5 out --klv 10",
        "gen 5 out --klv 10:300:1",
        "gen 5 out --klv 10:9..8",
        "gen 5 out --klv 0:8",
        "gen 5 out --keys u7",
        "gen 5 out --lines --ascii",
        "gen 5 out --record 5 --skew",
        "gen 5 out --gensort --seed 4",
        "gen 18446744073709551615 out --record 100",
    ] {
        let (code, out, err) = within(room.path(), arguments);
        assert_eq!((code, &*out, err.lines().count()), (2, "", 1), "{arguments}: {err}");
    }
    assert_eq!(within(room.path(), "check --gensort cut").0, 2);
    assert_eq!(names(room.path()), ["cut"]);
}

#[test]
fn models_of_concurrency() {
    let room = tempfile::tempdir().unwrap();
    assert_eq!(within(room.path(), "gen 100000 data").0, 0);
    let (mut sorted, device) = (Vec::new(), "--gensort --plan one-pass --emulate braid");
    for (asked, used) in [("no-sync", "no-sync"), ("overlap", "overlap"), ("aware", "aware"), ("auto", "aware")] {
        let arguments =
            format!("sort {device} -j 2 --memory 256M --concurrency {asked} --json --explain data -o {asked}");
        let (code, out, err) = within(room.path(), &arguments);
        assert_eq!(code, 0, "{err}");
        assert!(err.starts_with(&format!("eagre: explain: plan one-pass, 2 threads, {used}: ")), "{err}");
        let json: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(json["concurrency"].as_str(), Some(used));
        let timeline = json["timeline"].as_array().unwrap();
        let starts: Vec<f64> = timeline.iter().map(|part| part["start"].as_f64().unwrap()).collect();
        assert!(starts.is_sorted() && starts[0] >= 0.0, "{out}");
        let last = timeline.last().unwrap();
        assert_eq!((last["phase"].as_str(), last["threads"].as_u64()), (Some("sync"), Some(1)), "{out}");
        let gather = timeline.iter().find(|part| part["phase"] == "gather").unwrap();
        assert_eq!((gather["read"].as_u64(), gather["threads"].as_u64()), (Some(10_000_000), Some(2)));
        sorted.push(fs::read(room.path().join(asked)).unwrap());
    }
    assert!(sorted.windows(2).all(|two| two[0] == two[1]));
    assert_eq!(within(room.path(), "check --gensort auto --against data").0, 0);
    let (code, out, err) = within(room.path(), "sort --concurrency sync data");
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(["auto", "no-sync", "overlap", "aware"].iter().all(|name| err.contains(name)), "{err}");
}
