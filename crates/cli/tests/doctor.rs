//! `eagre doctor` tells the same to people and to programs.
#![forbid(unsafe_code)]

mod common;

use common::run;

#[test]
fn the_table_and_the_json_agree() {
    let (_, table, err) = run(&["doctor"]);
    assert_eq!(err, "");
    let (_, json, err) = run(&["doctor", "--json"]);
    assert_eq!(err, "");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let facts = json["facts"].as_object().unwrap();
    for verdict in ["ok", "limited", "missing"] {
        let shown = table.lines().filter(|line| line.starts_with(&format!("  {verdict} "))).count();
        let said = facts.values().filter(|fact| fact["verdict"] == verdict).count();
        assert_eq!(shown, said, "{verdict}\n{table}");
    }
    assert!(facts["memory.total"]["value"].as_u64() > Some(1 << 20));
    assert!(facts["kernel.release"]["value"].is_string());
}

#[test]
fn what_is_not_ok_has_a_reason() {
    let (_, json, _) = run(&["doctor", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    for (name, fact) in json["facts"].as_object().unwrap() {
        assert_eq!(fact["verdict"] == "ok", fact["why"].is_null(), "{name}: {fact}");
    }
}

#[test]
fn a_table_that_is_not_on_a_terminal_has_no_colours() {
    assert!(!run(&["doctor"]).1.contains('\x1b'));
}
