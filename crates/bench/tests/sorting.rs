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

/// Each cell of the grid is measured and checked, and shown in every form; a name that is none is refused.
#[test]
fn the_grid_of_kinds_patterns_and_sizes() {
    let directory = tempfile::tempdir().expect("directory");
    let grid = |arguments: &[&str]| {
        let base = ["sort-grid", "--patterns", "two-values,runs", "--sizes", "5", "--threads", "1,2"];
        let rounds = ["--rounds", "1", "--doubtful", "1", "--seed", "3"];
        let mut command = Command::new(env!("CARGO_BIN_EXE_eagre-bench"));
        command.args(base).args(rounds).args(arguments).output().expect("eagre-bench runs")
    };
    let output = grid(&["--json", "--report", directory.path().to_str().expect("a path")]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let cells: Vec<serde_json::Value> =
        String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let kinds = ["u32", "i32", "f32", "u64", "i64", "f64", "u32-pair", "u64-pair"];
    assert!(
        cells.iter().map(|cell| cell["kind"].as_str().expect("a kind")).eq(kinds.iter().flat_map(|kind| [*kind; 4]))
    );
    for cell in &cells {
        let ratio = cell["best"].as_f64().expect("a time") / cell["own"].as_f64().expect("a time");
        assert!((cell["ratio"].as_f64().expect("a ratio") / ratio - 1.0).abs() < 1e-6, "{cell}");
    }
    let page = std::fs::read_to_string(directory.path().join("grid.html")).expect("a page");
    assert_eq!(page.matches("<td").count(), cells.len());
    let text = String::from_utf8(grid(&[]).stdout).expect("text");
    assert!(text.contains("f32, 2 threads") && text.contains("32 cells, seed 3: geometric mean"), "{text}");
    assert_eq!(grid(&["--kinds", "u8"]).status.code(), Some(2));
}
