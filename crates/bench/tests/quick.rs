//! The program as its users call it: quick runs of every row, and what it says when it is misused.

mod browser;

use std::process::{Command, Output};

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_eagre-bench")).args(arguments).output().expect("eagre-bench runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The names of all rows, and of those that published works have.
fn all_rows() -> (Vec<String>, Vec<String>) {
    let listed = text(&bench(&["list"]).stdout);
    let rows = listed.lines().filter(|line| !line.starts_with(' ')).filter_map(|line| Some(line.split_once(": ")?.0));
    let works = text(&bench(&["reproduce", "--list"]).stdout);
    let of_works = works.lines().filter_map(|line| line.strip_prefix("    rows: ")).flat_map(|names| names.split(", "));
    (rows.map(String::from).collect(), of_works.map(String::from).collect())
}

/// Those of published works are run as `reproduce`, by another test.
#[test]
fn every_row_gives_right_answers() {
    let (all, of_works) = all_rows();
    assert!(all.len() > of_works.iter().collect::<std::collections::HashSet<_>>().len());
    let mut own: Vec<&str> = all.iter().filter(|row| !of_works.contains(row)).map(String::as_str).collect();
    own.push("pipe");
    let output = bench(&[&["run", "--quick", "--json"], &own[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let run: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let results = run["results"].as_array().expect("results");
    let rows: std::collections::HashSet<_> = results.iter().filter_map(|result| result["row"].as_str()).collect();
    assert_eq!(rows, own.iter().copied().collect());
    for result in results {
        assert_eq!(result["quick"], true);
        for standing in result["standings"].as_array().expect("standings") {
            let ran = standing["rates"].as_array().is_some_and(|rates| rates.len() == 1);
            assert!(ran || standing["unavailable"].is_string(), "{standing}");
        }
    }
    // The peers need nothing special of the machine.
    let queue = results
        .iter()
        .find(|result| result["row"] == "pipe")
        .and_then(|result| result["standings"].as_array())
        .and_then(|standings| standings.iter().find(|s| s["contender"] == "queue"))
        .expect("queue");
    assert!(queue["unavailable"].is_null(), "{queue}");
}

#[test]
fn a_group_is_its_rows_and_no_others() {
    let output = bench(&["rewire", "--quick", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let run: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let results = run["results"].as_array().expect("results");
    let rows: std::collections::BTreeSet<_> = results.iter().filter_map(|result| result["row"].as_str()).collect();
    assert!(rows.iter().eq(&["rewire-map", "rewire-random", "rewire-scan", "rewire-touch"]), "{rows:?}");
    // A copy needs nothing of the machine.
    for standing in results.iter().map(|result| &result["standings"][0]) {
        assert_eq!(
            (standing["contender"].as_str(), &standing["unavailable"]),
            (Some("copied"), &serde_json::Value::Null)
        );
    }
    let output = bench(&["rewire", "pipe"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()));
}

#[test]
fn an_unknown_row_is_one_line_and_exit_code_two() {
    let output = bench(&["run", "nonesuch"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stderr), "eagre-bench: run: nonesuch: no such row; 'eagre-bench list' names them all\n");
    let output = bench(&["run", "pipe", "--quick", "--contenders", "nobody"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("eagre-bench: run: nobody: "));
}

#[test]
fn list_names_the_rows() {
    let output = bench(&["list"]);
    assert_eq!(output.status.code(), Some(0));
    for row in ["move", "pipe", "overhead", "read-file", "count-warm", "stats", "copy"] {
        assert!(
            text(&output.stdout).contains(&format!("\n{row}: "))
                || text(&output.stdout).starts_with(&format!("{row}: "))
        );
    }
}

#[test]
fn a_measured_run_leaves_a_record_and_a_page() {
    let directory = tempfile::tempdir().expect("directory");
    let records = directory.path().join("records");
    let report = directory.path().join("report");
    let output = bench(&[
        "run",
        "move",
        "--contenders",
        "memcpy",
        "--pairs",
        "1",
        "--patience",
        "0",
        "--records",
        records.to_str().expect("path"),
        "--report",
        report.to_str().expect("path"),
    ]);
    // Too few pairs for a verdict: not a failure.
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let page = std::fs::read_to_string(report.join("index.html")).expect("page");
    assert!(page.contains("<svg") && page.contains("memcpy") && page.contains("cannot tell"));
    assert!(!page.contains("http"), "self-contained");
    let files: Vec<_> = std::fs::read_dir(records).expect("records").collect();
    assert_eq!(files.len(), 1);
}

/// Every bar of a page made from real runs is where it should be, as far as a browser can tell.
#[test]
fn the_page_of_a_quick_run_is_in_order() {
    let directory = tempfile::tempdir().expect("directory");
    let report = directory.path().join("report");
    let files = directory.path().join("files");
    let [report_name, files_name] = [&report, &files].map(|path| path.to_str().expect("path"));
    let rows = ["move", "read-file", "write-file", "count-cold", "copy"];
    let output = bench(&[&["run", "--quick", "--report", report_name, "--dir", files_name], &rows[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(!files.exists(), "nothing is left of the files");
    let Some(found) = browser::finds_nothing_wrong(&report.join("index.html"), 1100) else { return };
    // Eight cases of the first row, one of each of the next three, two of the last.
    assert_eq!(found["charts"], 13);
    assert!(found["bars"].as_u64().is_some_and(|bars| bars > 20), "{found}");
}
