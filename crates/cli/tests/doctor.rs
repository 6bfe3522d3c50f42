//! `eagre doctor` tells the same to people and to programs, and tries what it tells.
#![forbid(unsafe_code)]

mod common;

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
    assert_eq!(pairs.len(), 4);
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

#[test]
fn a_table_that_is_not_on_a_terminal_has_no_colours() {
    assert!(!run(&["doctor"]).1.contains('\x1b'));
}
