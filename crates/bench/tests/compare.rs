//! `eagre-bench compare` as its users call it: records and builds of known speed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

/// Exit code, standard output, standard error.
type Said = (Option<i32>, String, String);

fn compare(old: &Path, new: &Path, options: &[&str]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_eagre-bench"));
    let output = command.arg("compare").args([old, new]).args(options).output().expect("eagre-bench runs");
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("UTF-8"));
    (output.status.code(), out, err)
}

fn machine(cpu: &str) -> Value {
    json!({ "cpu": cpu, "cores": 2, "caches": ["L2 1024K"], "memory": 1u64 << 33, "kernel": "Linux 6.14",
        "huge_pages": "[always]", "virtual_machine": false })
}

fn standing(contender: &str, rates: &[f64]) -> Value {
    json!({ "contender": contender, "unavailable": null, "left_out": null, "rates": rates })
}

fn case(row: &str, case: &str, standings: &[Value]) -> Value {
    json!({ "row": row, "case": case, "unit": "GB/s", "size": 8, "standings": standings })
}

/// Writes a record of `cases` and returns where.
fn record(directory: &Path, name: &str, cpu: &str, cases: &[Value]) -> PathBuf {
    let path = directory.join(name);
    let lines = cases.iter().map(|case| {
        let mut line = case.clone();
        line["machine"] = machine(cpu);
        line["date"] = "2026-01-02T03:04:05Z".into();
        format!("{line}\n")
    });
    fs::write(&path, lines.collect::<String>()).expect("a record");
    path
}

/// Fifteen rates around `rate`: up to 2 % more or less.
fn around(rate: f64) -> Vec<f64> {
    (0..15).map(|i| rate * (1.0 + 0.02 * (f64::from(i * 4 % 15) / 7.0 - 1.0))).collect()
}

/// A row of the catalogue, one of Eagre's contenders in it, another of Eagre's, and a peer.
const ROW: (&str, &str, &str, &str) = ("pipe", "signal+move", "explicit", "queue");

#[test]
fn records_are_compared_cell_by_cell_worst_first() {
    let directory = tempfile::tempdir().expect("directory");
    let (row, ours, other, peer) = ROW;
    let steady = vec![10.0; 15];
    // Of 15 ratios the interval runs from the 4th to the 12th. Eleven of 0.9 do not make it end below 0.95, twelve do.
    let ratios = |slow: usize| -> Vec<f64> { (0..15).map(|i| if i < slow { 9.0 } else { 10.0 }).collect() };
    let cases = |a: &[f64], b: &[f64], c: &[f64]| {
        [
            case(row, "one", &[standing(ours, a), standing(peer, &steady)]),
            case(row, "two", &[standing(ours, b), standing(other, c)]),
        ]
    };
    let old = record(directory.path(), "old", "A", &cases(&steady, &steady, &steady));
    let worse = record(directory.path(), "worse", "A", &cases(&ratios(11), &ratios(12), &around(5.0)));
    let (code, out, err) = compare(&old, &worse, &[]);
    assert_eq!((code, err.as_str()), (Some(1), ""), "{out}");
    let cells: Vec<&str> = out.lines().filter(|line| line.starts_with("  ")).collect();
    assert_eq!(cells.len(), 3, "the peer is not compared: {out}");
    assert!(cells[0].contains("  0.500 [0.49") && cells[0].contains("pipe, two: explicit"), "{out}");
    assert!(cells[0].contains("10.0 -> 5.00 GB/s") && cells[0].ends_with("slower"), "{out}");
    assert!(cells[1..].iter().any(|cell| cell.contains("two: signal+move") && cell.ends_with("slower")), "{out}");
    assert!(cells[1..].iter().any(|cell| cell.contains("one: signal+move") && cell.ends_with("GB/s")), "{out}");
    assert!(out.contains("3 cells, 2 slower"), "{out}");

    let (code, out, _) = compare(&worse, &old, &["--json"]);
    assert_eq!(code, Some(0), "faster is not slower: {out}");
    let json: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(json["notes"], json!([]));
    let last = &json["cells"][2];
    assert_eq!(
        (&last["row"], &last["contender"], &last["verdict"]),
        (&json!(row), &json!(other), &json!("not-slower"))
    );
    assert!((last["ratio"]["median"].as_f64().expect("median") - 2.0).abs() < 1e-9, "{last}");
    assert_eq!(last["ratio"]["pairs"], 15);

    let (code, out, _) = compare(&old, &worse, &["--peers", "--row", row]);
    assert_eq!(code, Some(1));
    assert!(out.contains("one: queue") && out.contains("4 cells"), "{out}");
    let (code, out, _) = compare(&old, &worse, &["--contenders", peer]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("1 cell, 0 slower"), "{out}");
}

#[test]
fn what_cannot_be_compared_is_one_line_each() {
    let directory = tempfile::tempdir().expect("directory");
    let (row, ours, other, _) = ROW;
    let rates = around(3.0);
    let absent = json!({ "contender": other, "unavailable": "no kernel", "left_out": null, "rates": [] });
    let mut large = case(row, "large", &[standing(ours, &rates)]);
    let small = large.clone();
    large["size"] = 16.into();
    let both = |extra: Value| case(row, "one", &[standing(ours, &rates), extra]);
    let gone = case("no-longer", "one", &[standing("eagre", &rates)]);
    let few = case(row, "few", &[standing(ours, &[1.0; 4])]);
    let fewer = case(row, "few", &[standing(ours, &[9.0; 15])]);
    let old = record(directory.path(), "old", "A", &[both(standing(other, &rates)), large, gone, fewer]);
    let peers = case("move", "a case", &[standing("memcpy", &rates)]);
    let new = case("sort", "a case", &[standing("eagre", &rates)]);
    let new = record(directory.path(), "new", "B", &[both(absent), small, new, peers, few]);
    let (code, out, err) = compare(&old, &new, &[]);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    let notes: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("note: ")).collect();
    assert_eq!(notes.len(), 5, "{notes:#?}");
    assert!(notes[0].starts_with("the machines differ") && notes[0].contains("OLD: A, 2 cores"), "{notes:?}");
    assert_eq!(notes[1], "pipe, one: only OLD has results of explicit; the other side: not here: no kernel");
    assert_eq!(notes[2..4], ["no-longer: only OLD has this row", "sort: only NEW has this row"]);
    assert_eq!(notes[4], "pipe, large: not compared: OLD is of size 16, NEW of size 8");
    // A ninth of the speed, but four rounds have no 90 % interval.
    assert!(out.contains("few: signal+move  9.00 -> 1.00 GB/s  too few rounds"), "{out}");
}

#[test]
fn the_last_measurement_of_a_case_counts() {
    let directory = tempfile::tempdir().expect("directory");
    let (row, ours, ..) = ROW;
    let of = |rate| case(row, "one", &[standing(ours, &[rate; 15])]);
    let old = record(directory.path(), "old", "A", &[of(1.0), of(8.0)]);
    let new = record(directory.path(), "new", "A", &[of(2.0)]);
    let (code, out, _) = compare(&old, &new, &[]);
    assert_eq!(code, Some(1));
    assert!(out.contains("0.250 [0.250, 0.250]"), "{out}");
}

#[test]
fn trouble_is_one_line_and_exit_code_two() {
    let directory = tempfile::tempdir().expect("directory");
    let (row, ours, _, peer) = ROW;
    let here = record(directory.path(), "here", "A", &[case(row, "one", &[standing(ours, &[1.0])])]);
    let peers = record(directory.path(), "peers", "A", &[case(row, "one", &[standing(peer, &[1.0])])]);
    let path = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::write(&path, text).expect("a file");
        path
    };
    let build = build(directory.path(), "build", "pipe: about (GB/s)\n  signal+move      about\n", &json!({}), 0);
    let silent = self::build(directory.path(), "silent", "", &json!({}), 0);
    for (new, options, want) in [
        (&directory.path().join("nonesuch"), &[][..], "nonesuch: No such file or directory"),
        (&path("text", "words"), &[], "neither a record nor an executable"),
        (&path("empty", ""), &[], "neither a record nor an executable"),
        (&path("cut", "{\"row\": \"pi"), &[], "not a record that 'eagre-bench run' wrote"),
        (&path("other", "{\"row\": 1}"), &[], "not a record that 'eagre-bench run' wrote"),
        (&build, &[], "one side is a record and the other a build"),
        (&here, &["--row", "nonesuch"], "nonesuch: neither OLD nor NEW has such a row"),
        (&here, &["--contenders", "nobody"], "nobody: neither OLD nor NEW has such a contender"),
        (&peers, &[], "OLD and NEW have no cell in common"),
        (&here, &["--rounds", "4"], "4 is not in 5..=1000"),
    ] {
        let (code, out, err) = compare(&here, new, options);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{want}: {err}");
        assert!(err.contains(want), "{want}: {err}");
        assert!(err.trim_end().lines().count() == 1 || want.contains("5..=1000"), "{err}");
    }
    let (code, _, err) = compare(&build, &silent, &[]);
    assert_eq!(code, Some(2));
    assert!(err.contains("silent: its 'list' names no rows"), "{err}");
}

/// A program that lists `list`, notes how it is called, prints `run` and ends with `code`.
fn build(directory: &Path, name: &str, list: &str, run: &Value, code: i32) -> PathBuf {
    let log = directory.join("log");
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = list ]; then cat <<'END'\n{list}END\nexit 0\nfi\n\
         echo {name} \"$@\" >>'{}'\ncat <<'END'\n{run}\nEND\necho last words >&2\nexit {code}\n",
        log.display()
    );
    program(directory, name, &script)
}

/// Makes an executable of `script` and returns where.
fn program(directory: &Path, name: &str, script: &str) -> PathBuf {
    let path = directory.join(name);
    let text = path.with_extension("sh");
    fs::write(&text, script).expect("a script");
    // A copy by another process: a program that a thread of this one still holds open for writing cannot run.
    let copied = Command::new("install").args(["-m", "755"]).args([&text, &path]).status().expect("install runs");
    assert!(copied.success());
    path
}

#[test]
fn builds_are_run_in_turn() {
    let directory = tempfile::tempdir().expect("directory");
    let here = directory.path();
    let run = |rate: f64| json!({ "machine": machine("A"), "results": [case("pipe", "one", &[standing("signal+move", &[rate])])] });
    let list = |more: &str| {
        format!(
            "pipe: about (GB/s)\n  source: x\n  cases: one\n  signal+move      about\n  queue            about\n{more}  target: signal+move / queue >= 1\n\n"
        )
    };
    // A missed target is the build's own business: exit code 1 is no trouble.
    let old = build(here, "old", &list("  explicit         about\n"), &run(10.0), 1);
    let new = build(here, "new", &(list("") + "extra: about (GB/s)\n  eagre            about\n"), &run(9.0), 0);
    let (code, out, err) = compare(&old, &new, &["--rounds", "5", "--patience", "0", "--keys", "12"]);
    assert_eq!((code, err.as_str()), (Some(1), ""), "{out}");
    assert!(out.contains("0.900 [0.900, 0.900]") && out.contains("1 cell, 1 slower"), "{out}");
    assert!(out.contains("note: pipe: only OLD has the contender explicit\n"), "{out}");
    assert!(out.contains("note: extra: only NEW has this row\n"), "{out}");
    let log = fs::read_to_string(here.join("log")).expect("log");
    let order: Vec<&str> = log.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(order, ["old", "new", "new", "old", "old", "new", "new", "old", "old", "new"]);
    for line in log.lines() {
        assert!(line.contains(" run pipe --contenders signal+move --pairs 1 "), "{line}");
        assert!(line.ends_with("--keys 12"), "{line}");
    }

    let broken = build(here, "broken", &list(""), &run(9.0), 2);
    let (code, out, err) = compare(&old, &broken, &["--rounds", "5", "--patience", "0"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(err.ends_with("broken: exit status: 2: last words\n"), "{err}");
}

/// The record of a real run is compared with what a real build prints when `compare` calls it. Both builds hand on what
/// this program measured once: their ratios are 1.
#[test]
fn real_records_and_real_builds_can_be_compared() {
    let directory = tempfile::tempdir().expect("directory");
    let [once, record] = ["once", "record"].map(|name| directory.path().join(name));
    // The eleventh word is the directory for records.
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = list ] && exec '{exe}' list\n\
         [ -f '{once}' ] || {{ '{exe}' \"$@\" >'{once}' && cp \"${{11}}\"/*.jsonl '{record}'; }} || exit\ncat '{once}'\n",
        exe = env!("CARGO_BIN_EXE_eagre-bench"),
        once = once.display(),
        record = record.display(),
    );
    let build = program(directory.path(), "build", &script);
    let options = ["--row", "sort-slack", "--rounds", "5", "--patience", "0", "--keys", "10"];
    let (code, out, err) = compare(&build, &build, &options);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    assert!(out.contains("1.000 [1.000, 1.000]  sort-slack, 1 thread: slack-1/16"), "{out}");
    assert!(out.contains("8 cells, 0 slower"), "{out}");

    let (code, out, err) = compare(&record, &once, &["--json"]);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    let json: Value = serde_json::from_str(&out).expect("JSON");
    let cells = json["cells"].as_array().expect("cells");
    assert_eq!((cells.len(), &json["notes"]), (8, &json!([])));
    // One round: the ratio is there, an interval is not.
    assert!(cells.iter().all(|cell| cell["ratio"]["median"] == 1.0 && cell["verdict"] == "too-few-rounds"), "{out}");
}
