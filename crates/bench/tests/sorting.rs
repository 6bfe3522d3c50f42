//! The rows about sorting as their users call them.

use std::process::Command;

/// What the row `name` measured, reduced to 2^`keys` keys: name, memory beside the keys in MiB.
fn run(name: &str, keys: &str) -> Vec<(String, String, f64)> {
    let records = tempfile::tempdir().expect("directory");
    let output = Command::new(env!("CARGO_BIN_EXE_eagre-bench"))
        .args(["run", name, "--keys", keys, "--pairs", "1", "--patience", "0", "--json", "--records"])
        .arg(records.path())
        .output()
        .expect("eagre-bench runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let run: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let results = run["results"].as_array().expect("results");
    let standings = results.iter().flat_map(|result| {
        assert_eq!(result["reduced"], true);
        let case = result["case"].as_str().expect("case").to_owned();
        result["standings"].as_array().expect("standings").iter().map(move |standing| {
            let memory = standing["memory"][0].as_f64().expect("memory");
            (case.clone(), standing["contender"].as_str().expect("name").to_owned(), memory)
        })
    });
    standings.collect()
}

/// Eagre takes what it may take beside the keys and no more, as seen from another process: the peak of what is resident,
/// less what was resident before, is the slack and a little for stacks and code that was not needed before.
#[test]
fn memory_beside_the_keys_is_bounded_by_the_slack() {
    // A MiB of stack for each of two threads, as `Sorter::slack` says, and code that was not needed before.
    const LITTLE: f64 = 3.0;
    // 32 MiB of keys.
    let measured = run("sort-slack", "22");
    assert_eq!(measured.len(), 8, "{measured:?}");
    for (case, name, memory) in measured {
        let part: f64 = name.trim_start_matches("slack-1/").parse().expect("a part");
        assert!(memory <= 32.0 / part + LITTLE, "{case}, {name}: {memory} MiB beside 32");
        // It is a measurement: none of them sorts 32 MiB without any memory.
        assert!(memory > 0.05, "{case}, {name}: {memory} MiB");
    }
}
