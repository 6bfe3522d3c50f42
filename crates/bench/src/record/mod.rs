//! Records: one line of JSON per case, added to files and never rewritten. `run` has one file per machine and day.
//!
//! [`read()`] gives back what [`append_to`] wrote, as far as the catalogue still has it.

mod read;

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::machine::Machine;
use crate::outcome::{CaseResult, Run};
pub(crate) use read::{Recorded, of_run, read};

/// One line: a case, with everything that describes its run.
#[derive(Serialize)]
struct Line<'a> {
    date: &'a str,
    version: &'a str,
    build: &'a str,
    command: &'a str,
    machine: &'a Machine,
    places: &'a [String],
    #[serde(flatten)]
    result: &'a CaseResult,
}

/// The default directory for records: `bench-records` here if it exists, else one in the user's data directory.
pub(crate) fn default_directory() -> PathBuf {
    let here = PathBuf::from("bench-records");
    if here.is_dir() {
        return here;
    }
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    match (set("XDG_DATA_HOME"), set("HOME")) {
        (Some(data), _) => PathBuf::from(data).join("eagre/bench-records"),
        (None, Some(home)) => PathBuf::from(home).join(".local/share/eagre/bench-records"),
        (None, None) => here,
    }
}

/// Adds the run to its file below `directory` and returns the path of the file.
pub(crate) fn append(directory: &Path, run: &Run) -> io::Result<PathBuf> {
    fs::create_dir_all(directory)?;
    let day = run.date.split('T').next().unwrap_or_default();
    let path = directory.join(format!("{}-{day}.jsonl", run.machine.slug()));
    append_to(&path, run)?;
    Ok(path)
}

/// Adds the run to the file at `path`.
pub(crate) fn append_to(path: &Path, run: &Run) -> io::Result<()> {
    let mut lines = Vec::new();
    for result in &run.results {
        let line = Line {
            date: &run.date,
            version: &run.version,
            build: &run.build,
            command: &run.command,
            machine: &run.machine,
            places: &run.places,
            result,
        };
        serde_json::to_writer(&mut lines, &line)?;
        lines.push(b'\n');
    }
    // One write: two runs that end at once do not mix their lines.
    OpenOptions::new().create(true).append(true).open(path)?.write_all(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(row: &'static str) -> Run {
        let result = CaseResult {
            row,
            case: "case",
            unit: "GB/s",
            size: 1,
            reduced: false,
            pairs: 15,
            quick: false,
            foreign: 0.0,
            standings: vec![],
            outcomes: vec![],
            roofline: Default::default(),
        };
        Run {
            date: "2026-01-02T03:04:05Z".into(),
            version: "1".into(),
            build: "b".into(),
            command: "eagre-bench run".into(),
            machine: Machine::here(),
            places: vec![],
            results: vec![result],
        }
    }

    #[test]
    fn lines_are_added_and_each_stands_alone() {
        let directory = tempfile::tempdir().unwrap();
        let below = directory.path().join("a/b");
        let first = append(&below, &run("one")).unwrap();
        let second = append(&below, &run("two")).unwrap();
        assert_eq!(first, second);
        assert!(first.to_string_lossy().ends_with("-2026-01-02.jsonl"));
        let text = fs::read_to_string(first).unwrap();
        let rows: Vec<_> = text
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .map(|value| (value["row"].clone(), value["machine"]["cores"].as_u64()))
            .collect();
        assert_eq!(rows[0].0, "one");
        assert_eq!(rows[1].0, "two");
        assert!(rows[0].1.is_some());
    }
}
