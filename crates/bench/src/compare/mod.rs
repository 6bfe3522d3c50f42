//! `eagre-bench compare OLD NEW`: what changed between two measurements, cell by cell.
//!
//! A *cell* is one contender in one case of a row. Its ratio is the speed of NEW divided by that of OLD, round by round;
//! [`cells`] reports the median of these ratios with its interval. A cell is *slower* if its whole interval lies below
//! [`cells::SLOWER`].
//!
//! OLD and NEW are of one kind, which the files themselves tell. Two *records* were written by `eagre-bench run`
//! ([`measured`] reads them). Two *builds* of `eagre-bench` are run here, in turn ([`builds`]): the rounds of a pair are
//! neighbours in time, so that a machine that changes its speed changes both. The rounds of two records are not, and what
//! the machine did between them is part of their ratios.

mod builds;
mod cells;
mod measured;
mod text;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::builder::RangedU64ValueParser;
use serde::Serialize;

use crate::catalogue;
use crate::verdict;
use cells::{Cell, Comparison};
use measured::Measured;

/// Fewer rounds than this have no 90 % interval.
const FEWEST_ROUNDS: usize = 5;

#[derive(clap::Args)]
pub(crate) struct CompareArguments {
    /// What to compare with: a record that `run` wrote, or an executable of eagre-bench.
    old: PathBuf,
    /// What to compare: of the same kind as OLD.
    new: PathBuf,
    /// Compares only these rows, separated by commas [default: every row that both sides have].
    #[arg(long = "row", value_name = "NAMES", value_delimiter = ',')]
    rows: Vec<String>,
    /// Compares only these contenders, separated by commas [default: Eagre's own].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    contenders: Vec<String>,
    /// Compares all contenders, peers too.
    #[arg(long, conflicts_with = "contenders")]
    peers: bool,
    /// Prints the comparison as JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Runs each build this many times per row.
    #[arg(long, value_name = "N", default_value_t = verdict::MIN_PAIRS, value_parser = RangedU64ValueParser::<usize>::new().range(FEWEST_ROUNDS as u64..=1000))]
    rounds: usize,
    /// Sorts at most 2^EXPONENT keys, when builds are run.
    #[arg(long, value_name = "EXPONENT", value_parser = clap::value_parser!(u32).range(10..=40))]
    keys: Option<u32>,
    /// When builds are run: how many seconds in total to wait for other programs to become idle and to repeat rounds that
    /// they disturbed.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    patience: u64,
    /// When builds are run: where they make the files that they work on [default: $EAGRE_BENCH_DIR, else
    /// /var/tmp/eagre-bench].
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// What the user calls the two sides.
const SIDES: [&str; 2] = ["OLD", "NEW"];

/// Which cells are compared.
struct Filter<'a> {
    rows: &'a [String],
    contenders: &'a [String],
    peers: bool,
}

impl Filter<'_> {
    fn row(&self, row: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|name| name == row)
    }

    /// Whether to compare `contender` in `row`. What this build does not know is taken for Eagre's.
    fn contender(&self, row: &str, contender: &str) -> bool {
        if !self.contenders.is_empty() {
            return self.contenders.iter().any(|name| name == contender);
        }
        let entry = catalogue::row(row).and_then(|row| row.contenders.iter().find(|entry| entry.name == contender));
        self.peers || entry.is_none_or(|entry| entry.way.is_ours())
    }

    /// An error if nothing on either side has a name that was asked for.
    fn check(&self, known: &[(String, Vec<String>)]) -> Result<(), String> {
        if let Some(name) = self.rows.iter().find(|name| known.iter().all(|(row, _)| row != *name)) {
            return Err(format!("compare: {name}: neither OLD nor NEW has such a row"));
        }
        let missing = |name: &&String| {
            known.iter().all(|(row, contenders)| !self.row(row) || !contenders.iter().any(|other| other == *name))
        };
        match self.contenders.iter().find(missing) {
            Some(name) => Err(format!("compare: {name}: neither OLD nor NEW has such a contender in these rows")),
            None => Ok(()),
        }
    }
}

/// What a file is, by its looks.
enum Kind {
    /// Its text.
    Record(String),
    Build,
}

fn kind(path: &Path) -> Result<Kind, String> {
    let failed = |why: &str| format!("compare: {}: {why}", path.display());
    let bytes = fs::read(path).map_err(|e| failed(&e.to_string()))?;
    if bytes.trim_ascii_start().first() == Some(&b'{') {
        let text = String::from_utf8(bytes).map_err(|_| failed("a record, but not of UTF-8 text"))?;
        return Ok(Kind::Record(text));
    }
    let mode = fs::metadata(path).map_err(|e| failed(&e.to_string()))?.permissions().mode();
    if mode & 0o111 != 0 {
        return Ok(Kind::Build);
    }
    Err(failed(
        "neither a record nor an executable; name a file that 'eagre-bench run' wrote, or a build of eagre-bench",
    ))
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    old: &'a Path,
    new: &'a Path,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

/// Compares what the arguments name: what to print, and whether any cell is slower.
pub(crate) fn run(arguments: &CompareArguments) -> Result<(String, bool), String> {
    let filter = Filter { rows: &arguments.rows, contenders: &arguments.contenders, peers: arguments.peers };
    let paths = [&*arguments.old, &*arguments.new];
    let mut notes = Vec::new();
    let sides = match (kind(paths[0])?, kind(paths[1])?) {
        (Kind::Record(old), Kind::Record(new)) => {
            let read = |path: &Path, text: &str| {
                Measured::read(text).map_err(|why| format!("compare: {}: {why}", path.display()))
            };
            let sides = [read(paths[0], &old)?, read(paths[1], &new)?];
            filter.check(&sides.iter().flat_map(Measured::names).collect::<Vec<_>>())?;
            sides
        }
        (Kind::Build, Kind::Build) => builds::measure(paths, arguments, &filter, &mut notes)?,
        (Kind::Record(_), Kind::Build) | (Kind::Build, Kind::Record(_)) => {
            return Err("compare: one side is a record and the other a build; name two records or two builds".into());
        }
    };
    let mut comparison = cells::compare(&sides, &filter);
    notes.append(&mut comparison.notes);
    comparison.notes = notes;
    if comparison.cells.is_empty() {
        let why = comparison.notes.first().map_or(String::new(), |note| format!(" ({note})"));
        return Err(format!("compare: OLD and NEW have no cell in common{why}"));
    }
    let out = if arguments.json {
        let report = Report { old: paths[0], new: paths[1], comparison: &comparison };
        serde_json::to_string_pretty(&report).map_err(|e| format!("compare: json: {e}"))? + "\n"
    } else {
        text::table(paths, &comparison)
    };
    Ok((out, comparison.cells.iter().any(Cell::is_slower)))
}
