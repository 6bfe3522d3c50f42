//! `eagre doctor` tells the same to people and to programs, and tries what it tells.
#![forbid(unsafe_code)]

mod common;

use std::path::Path;

use common::{eagre, parts, run};
use serde_json::Value;

/// Runs the doctor with these variables set; exit code and JSON.
fn examine(variables: &[(&str, &str)]) -> (i32, Value) {
    let (code, json, err) =
        parts(&eagre().args(["doctor", "--json"]).envs(variables.iter().copied()).output().unwrap());
    assert_eq!(err, "");
    (code, serde_json::from_str(&json).unwrap())
}

fn selected(json: &Value) -> Vec<String> {
    let pairs = json["pairs"].as_array().unwrap().iter();
    let name = |pair: &Value| format!("{} + {}", pair["trap"].as_str().unwrap(), pair["mover"].as_str().unwrap());
    pairs.filter(|pair| pair["selected"] == true).map(name).collect()
}

#[test]
fn the_table_and_the_json_agree() {
    let (code, table, err) = run(&["doctor"]);
    assert_eq!(err, "");
    let (again, json) = examine(&[]);
    assert_eq!(code, again);
    let facts = json["facts"].as_object().unwrap();
    let pairs = json["pairs"].as_array().unwrap();
    for verdict in ["ok", "limited", "missing"] {
        let shown = table.lines().filter(|line| line.starts_with(&format!("  {verdict} "))).count();
        let said = facts.values().chain(pairs).filter(|entry| entry["verdict"] == verdict).count();
        assert_eq!(shown, said, "{verdict}\n{table}");
    }
    assert!(facts["memory.total"]["value"].as_u64() > Some(1 << 20));
    assert!(facts["kernel.release"]["value"].is_string());
    // Streams between processes work wherever these tests do.
    assert_eq!(facts["processes.memory"]["value"], true);
    assert!(table.contains("\nstreams between processes\n"), "{table}");
}

#[test]
fn what_is_not_ok_has_a_reason() {
    let (_, json) = examine(&[]);
    let pairs = json["pairs"].as_array().unwrap();
    for entry in json["facts"].as_object().unwrap().values().chain(pairs) {
        assert_eq!(entry["verdict"] == "ok", entry["why"].is_null(), "{entry}");
    }
}

#[test]
fn the_best_pair_that_works_is_selected() {
    let (code, json) = examine(&[("EAGRE_TRAP", ""), ("EAGRE_MOVER", "")]);
    let pairs = json["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 5);
    let best = pairs.iter().find(|pair| pair["verdict"] == "ok").expect("off + copy works anywhere");
    assert_eq!(best["selected"], true);
    assert_eq!(selected(&json).len(), 1);
    assert_eq!(json["facts"]["streams.default"]["value"], selected(&json)[0].as_str());
    assert_eq!(code, i32::from(best["trap"] == "off"));
}

#[test]
fn the_environment_selects_another() {
    let (code, json) = examine(&[("EAGRE_TRAP", "off"), ("EAGRE_MOVER", "")]);
    assert_eq!((code, selected(&json)), (1, vec!["off + copy".to_owned()]));
    assert_eq!(json["settings"]["EAGRE_TRAP"], "off");
    assert_eq!(json["settings"]["EAGRE_MOVER"], Value::Null);
}

#[test]
fn an_environment_in_which_no_stream_opens_is_trouble() {
    for (trap, mover) in [("off", "move"), ("perhaps", "")] {
        let (code, json) = examine(&[("EAGRE_TRAP", trap), ("EAGRE_MOVER", mover)]);
        assert_eq!((code, selected(&json)), (2, Vec::new()));
        let fact = &json["facts"]["streams.default"];
        assert_eq!(fact["verdict"], "missing");
        assert!(fact["cure"].as_str().unwrap().contains("unset"), "{fact}");
    }
}

/// Runs the doctor on a directory, with a cache directory of its own.
fn on(cache: &Path, arguments: &[&str], directory: &Path) -> (i32, String, String) {
    parts(&eagre().arg("doctor").args(arguments).arg(directory).env("XDG_CACHE_HOME", cache).output().unwrap())
}

#[test]
fn a_directory_is_measured_once() {
    let (cache, directory) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let examine = |arguments: &[&str]| {
        let (code, json, err) = on(cache.path(), arguments, directory.path());
        assert_eq!((code, err.as_str()), (0, ""));
        serde_json::from_str::<Value>(&json).unwrap()
    };
    // No time: one request of each kind.
    let first = examine(&["--json", "--seconds", "0"]);
    assert_eq!(first["cached"], false);
    let again = examine(&["--json"]);
    assert_eq!(again["cached"], true);
    assert_eq!(again["measured"], first["measured"]);
    assert!(first["measured"].as_array().unwrap().len() > 50);
    assert_eq!(examine(&["--json", "--measure", "--seconds", "0"])["cached"], false);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    let (_, table, _) = on(cache.path(), &[], directory.path());
    for heading in ["\nrandom reads\n", "\nsequential writes\n", " ago; --measure measures again"] {
        assert!(table.contains(heading), "{table}");
    }
}

#[test]
fn a_place_that_cannot_be_measured_is_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, b"").unwrap();
    let (code, out, err) = on(directory.path(), &[], &file);
    assert_eq!((code, out.as_str()), (2, ""));
    assert_eq!(err, format!("eagre: measure: {}: Not a directory; name a directory\n", file.display()));
    let missing = directory.path().join("missing");
    let (code, _, err) = on(directory.path(), &["--json"], &missing);
    assert_eq!(code, 2);
    assert_eq!(err, format!("eagre: measure: {}: No such file or directory; check the name\n", missing.display()));
    assert_eq!(run(&["doctor", "--measure"]).0, 2);
}

#[test]
fn a_table_that_is_not_on_a_terminal_has_no_colours() {
    assert!(!run(&["doctor"]).1.contains('\x1b'));
}
