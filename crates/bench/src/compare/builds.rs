//! Runs two builds of eagre-bench in turn.
//!
//! Each round of a row is one process of each build, which warms up and then measures one round. The order is OLD NEW,
//! NEW OLD, OLD NEW, so that neither always follows the other. A pair of processes that other programs disturbed runs
//! again while there is patience. A build needs only the commands `list` and `run --json`, so old builds will do.

use std::ffi::OsStr;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::measured::Measured;
use super::{CompareArguments, Filter, SIDES};
use crate::load::{Patience, QUIET};

/// The name of a row and the names of its contenders.
type Row = (String, Vec<String>);

/// Measures what both builds have and `filter` lets through, and notes what only one has.
pub(super) fn measure(
    paths: [&Path; 2],
    arguments: &CompareArguments,
    filter: &Filter,
    notes: &mut Vec<String>,
) -> Result<[Measured; 2], String> {
    let records = tempfile::tempdir().map_err(|e| format!("compare: {}: {e}", std::env::temp_dir().display()))?;
    let builds = [Build::new(paths[0])?, Build::new(paths[1])?];
    let lists = [builds[0].list()?, builds[1].list()?];
    filter.check(&lists.concat())?;
    let mut patience = Patience::new(arguments.patience);
    let mut sides = [Measured::default(), Measured::default()];
    for row in common(&lists, filter, notes) {
        rounds(&builds, &row, arguments, records.path(), &mut patience, &mut sides)?;
    }
    Ok(sides)
}

/// All rounds of one row; adds what they measure to `sides`.
fn rounds(
    builds: &[Build; 2],
    row: &Row,
    arguments: &CompareArguments,
    records: &Path,
    patience: &mut Patience,
    sides: &mut [Measured; 2],
) -> Result<(), String> {
    let progress = io::stderr().is_terminal();
    let mut round = 0;
    while round < arguments.rounds {
        if progress {
            eprint!("\r\x1b[K{}: round {round} of {}", row.0, arguments.rounds);
        }
        patience.wait_for_quiet();
        let start = Instant::now();
        let run = |side: usize| builds[side].run(row, arguments, records);
        let pair = if round % 2 == 0 {
            let old = run(0)?;
            [old, run(1)?]
        } else {
            let new = run(1)?;
            [run(0)?, new]
        };
        let noisy = pair.iter().flat_map(|side| &side.cases).any(|case| case.foreign > QUIET);
        if noisy && patience.again(start.elapsed()) {
            continue;
        }
        for (side, more) in sides.iter_mut().zip(pair) {
            side.append(more);
        }
        round += 1;
    }
    if progress {
        eprint!("\r\x1b[K");
    }
    Ok(())
}

/// The rows and contenders of both lists that `filter` lets through; a line in `notes` for each that only one has.
fn common([old, new]: &[Vec<Row>; 2], filter: &Filter, notes: &mut Vec<String>) -> Vec<Row> {
    let asked = |list: &[Row]| -> Vec<Row> {
        let rows = list.iter().filter(|(row, _)| filter.row(row)).map(|(row, contenders)| {
            (row.clone(), contenders.iter().filter(|name| filter.contender(row, name)).cloned().collect::<Vec<_>>())
        });
        rows.filter(|(_, contenders)| !contenders.is_empty()).collect()
    };
    let [old, new] = [asked(old), asked(new)];
    let mut rows = Vec::new();
    for (row, contenders) in &new {
        let Some((_, others)) = old.iter().find(|(other, _)| other == row) else {
            notes.push(format!("{row}: only {} has this row", SIDES[1]));
            continue;
        };
        let (both, only): (Vec<_>, Vec<_>) = contenders.iter().cloned().partition(|name| others.contains(name));
        let gone = others.iter().filter(|name| !contenders.contains(name));
        notes.extend(only.iter().map(|name| format!("{row}: only {} has the contender {name}", SIDES[1])));
        notes.extend(gone.map(|name| format!("{row}: only {} has the contender {name}", SIDES[0])));
        if !both.is_empty() {
            rows.push((row.clone(), both));
        }
    }
    let gone = old.iter().filter(|(row, _)| new.iter().all(|(other, _)| other != row));
    notes.extend(gone.map(|(row, _)| format!("{row}: only {} has this row", SIDES[0])));
    rows
}

/// An executable of eagre-bench.
struct Build {
    path: PathBuf,
}

impl Build {
    fn new(path: &Path) -> Result<Build, String> {
        // The system would look for a name without a slash in PATH.
        let path = std::path::absolute(path).map_err(|e| format!("compare: {}: {e}", path.display()))?;
        Ok(Build { path })
    }

    fn list(&self) -> Result<Vec<Row>, String> {
        let rows = parse_list(&self.output([OsStr::new("list")])?);
        if rows.iter().all(|(_, contenders)| contenders.is_empty()) {
            Err(self.failed("its 'list' names no rows; is it eagre-bench?"))
        } else {
            Ok(rows)
        }
    }

    /// One round of `row`.
    fn run(&self, (row, contenders): &Row, arguments: &CompareArguments, records: &Path) -> Result<Measured, String> {
        let contenders = contenders.join(",");
        let mut words: Vec<&OsStr> =
            ["run", row, "--contenders", &contenders, "--pairs", "1", "--patience", "0", "--json", "--records"]
                .map(OsStr::new)
                .into();
        words.push(records.as_os_str());
        let keys = arguments.keys.map(|exponent| exponent.to_string());
        if let Some(keys) = &keys {
            words.extend([OsStr::new("--keys"), OsStr::new(keys)]);
        }
        if let Some(directory) = &arguments.dir {
            words.extend([OsStr::new("--dir"), directory.as_os_str()]);
        }
        Measured::read(&self.output(words)?).map_err(|why| self.failed(&format!("run {row}: {why}")))
    }

    /// What the build prints; a missed target is no failure here.
    fn output<'a>(&self, words: impl IntoIterator<Item = &'a OsStr>) -> Result<String, String> {
        let output = Command::new(&self.path).args(words).output().map_err(|e| self.failed(&e.to_string()))?;
        if matches!(output.status.code(), Some(0 | 1)) {
            return String::from_utf8(output.stdout).map_err(|e| self.failed(&e.to_string()));
        }
        let said = String::from_utf8_lossy(&output.stderr);
        // Its own line says why; around it may be hints on usage.
        let own = said.lines().find(|line| line.starts_with("eagre-bench: ") || line.starts_with("error: "));
        let why = own.or(said.lines().last()).unwrap_or("it says nothing");
        Err(self.failed(&format!("{}: {why}", output.status)))
    }

    fn failed(&self, why: &str) -> String {
        format!("compare: {}: {why}", self.path.display())
    }
}

/// Rows and contenders in what `list` prints.
fn parse_list(text: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for line in text.lines() {
        let Some(line) = line.strip_prefix("  ") else {
            rows.extend(line.split_once(": ").map(|(row, _)| (row.to_owned(), vec![])));
            continue;
        };
        let other = ["source: ", "cases: ", "target: "].iter().any(|start| line.starts_with(start));
        // A name may have spaces in it. It fills a column of 16 letters, or it ends at the first space behind that.
        let end = line.char_indices().skip(16).find(|(_, letter)| *letter == ' ').map(|(at, _)| at);
        if let (false, Some((_, contenders)), Some(end)) = (other, rows.last_mut(), end) {
            contenders.push(line[..end].trim_end().to_owned());
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_names_what_the_catalogue_has() {
        let rows = crate::catalogue::rows().map(|row| {
            (row.name.to_owned(), row.contenders.iter().map(|entry| entry.name.to_owned()).collect::<Vec<_>>())
        });
        assert_eq!(parse_list(&crate::text::list()), rows.collect::<Vec<_>>());
    }
}
