//! `eagre count`: lines and bytes of files, printed as `wc` prints them.
//!
//! The columns are those of GNU `wc` to the byte, because scripts cut them: numbers right-aligned in a
//! width that is known before the first file is read, from what the file system says about all of them.
//!
//! ```text
//! one number of one file, or --total=only      as wide as it is
//! otherwise                                    the digits of the sum of the regular files' sizes,
//!                                              at least 7 if something is no regular file
//! ```

use std::io;

use clap::ValueEnum;
use eagre::count::{CountError, Counter, Counts};
use eagre::scan;
use serde::Serialize;

use crate::cli::{Exit, Run};
use crate::console::Console;
use crate::inputs::{Input, Sources};
use crate::message::{self, Message};
use crate::name;
use crate::progress::Progress;

const LONG: &str = "\
Count the lines and bytes of files, or of standard input.

Prints what 'wc -l -c' prints, column for column: lines, bytes and the name of each file, and a \
total if there is more than one. A line is a newline, so text behind the last newline is no line \
of its own. With -l or -c only that is printed; -c alone asks the file system and does not read \
regular files. With no FILE, or when FILE is -, standard input is read.

Compressed files (.gz, .zst, .lz4) are counted as what is in them, if their first bytes say that they \
are what their name says; --decompress=never counts them as they are.";

const AFTER: &str = "\
Examples:
  eagre count access.log              lines and bytes
  eagre count -l *.csv                lines of each file, and their total
  eagre count --total=only -c *.iso   one number: the bytes of all files
  zcat big.gz | eagre count           what comes through a pipe
  eagre count -l log.gz log.zst       lines of what is in compressed files
  eagre count --json a b | jq .total.lines

Exit status: 0, or 2 if a file could not be read; the others are counted all the same.";

/// Count lines and bytes of files
#[derive(clap::Args)]
#[command(long_about = LONG, after_help = AFTER)]
pub(crate) struct Args {
    /// Print the number of newlines
    #[arg(short, long)]
    lines: bool,

    /// Print the number of bytes
    #[arg(short = 'c', long)]
    bytes: bool,

    /// When to print a line with the total counts
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    total: Total,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Show no progress (it is shown only on a terminal, and only if counting takes long)
    #[arg(long)]
    no_progress: bool,

    #[command(flatten)]
    sources: Sources,
}

/// When to print a total.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Total {
    /// If there is more than one FILE
    Auto,
    /// Always
    Always,
    /// And nothing else
    Only,
    /// Never
    Never,
}

impl Args {
    pub(crate) fn run(self, console: &mut Console) -> Run {
        let inputs = self.sources.list("count")?;
        let sizes: Vec<_> = inputs.iter().map(Input::size).collect();
        if !self.no_progress && !inputs.iter().any(Input::is_typed) {
            console.watch(Progress::new("count", total_size(&sizes)));
        }
        let columns = self.columns(&inputs, &sizes);
        let mut report = Report::default();
        let mut counter = Counter::new().lines(columns.lines);
        let mut total = Counts::default();
        let mut overflow = false;

        for input in &inputs {
            let (counts, error) = count(input, &mut counter, total.bytes, console);
            if let Some(error) = &error {
                console.complain(&Message::from_io("count", input.place(), error).to_string());
            }
            if let Some(counts) = counts {
                match total.checked_add(counts) {
                    Some(sum) => total = sum,
                    None => overflow = true,
                }
                if !self.json && self.total != Total::Only {
                    console.print(columns.line(counts, input.name()))?;
                }
            }
            if self.json && self.total != Total::Only {
                report.files.push(columns.entry(input, counts, error.as_ref()));
            }
        }

        if overflow {
            let line = Message::new("count", "total", "the sum does not fit 64 bits")
                .cure(Some("count fewer files at a time"));
            console.complain(&line.to_string());
        }
        if self.json {
            report.total = (self.total != Total::Never).then(|| columns.numbers(total));
            console.print_json(&report)?;
        } else if self.has_total(&inputs) {
            let name = (self.total != Total::Only).then_some(&b"total"[..]);
            console.print(columns.line(total, name))?;
        }
        Ok(Exit::Yes)
    }

    fn has_total(&self, inputs: &[Input]) -> bool {
        match self.total {
            Total::Auto => inputs.len() > 1,
            Total::Always | Total::Only => true,
            Total::Never => false,
        }
    }

    fn columns(&self, inputs: &[Input], sizes: &[io::Result<Option<u64>>]) -> Columns {
        let (lines, bytes) = match (self.lines, self.bytes) {
            (false, false) => (true, true),
            chosen => chosen,
        };
        let one_number = inputs.len() == 1 && lines != bytes;
        let width = if one_number || self.total == Total::Only { 1 } else { width(sizes) };
        Columns { lines, bytes, width }
    }
}

/// Counts one input. Both are there if reading failed half-way: what was counted, and why no more.
fn count(
    input: &Input,
    counter: &mut Counter,
    before: u64,
    console: &mut Console,
) -> (Option<Counts>, Option<io::Error>) {
    let progress = |done| console.advance(before.saturating_add(done));
    let counted = match input.open_scan() {
        Ok(scan::Input::File(file)) => counter.count_file(&file, progress),
        Ok(scan::Input::Stream(content)) => counter.count(content, progress),
        Ok(_) => return (None, Some(io::ErrorKind::Unsupported.into())),
        Err(error) => return (None, Some(error)),
    };
    match counted {
        Ok(counts) => (Some(counts), None),
        Err(CountError { counts, source, .. }) => (Some(counts), Some(source)),
    }
}

/// How many bytes there are to read, if only regular files are counted.
fn total_size(sizes: &[io::Result<Option<u64>>]) -> Option<u64> {
    sizes.iter().flatten().try_fold(0, |sum: u64, &size| sum.checked_add(size?))
}

/// The width of a column, as `wc` chooses it.
fn width(sizes: &[io::Result<Option<u64>>]) -> usize {
    let known = sizes.iter().flatten().flatten().fold(0, |sum: u64, size| sum.saturating_add(*size));
    // Nobody knows how much will come out of a pipe, or of a compressed file.
    let least = if sizes.iter().flatten().any(Option::is_none) { 7 } else { 1 };
    known.to_string().len().max(least)
}

/// Which numbers are shown, and how wide.
struct Columns {
    lines: bool,
    bytes: bool,
    width: usize,
}

impl Columns {
    /// One line of results.
    fn line(&self, counts: Counts, name: Option<&[u8]>) -> Vec<u8> {
        let shown = self.numbers(counts);
        let width = self.width;
        let numbers: Vec<String> =
            [shown.lines, shown.bytes].into_iter().flatten().map(|number| format!("{number:>width$}")).collect();
        let mut line = numbers.join(" ").into_bytes();
        if let Some(name) = name {
            line.push(b' ');
            line.extend(name::in_results(name));
        }
        line.push(b'\n');
        line
    }

    fn numbers(&self, counts: Counts) -> Numbers {
        Numbers { lines: self.lines.then_some(counts.lines), bytes: self.bytes.then_some(counts.bytes) }
    }

    fn entry(&self, input: &Input, counts: Option<Counts>, error: Option<&io::Error>) -> Entry {
        Entry {
            name: name::Json::new(input.name()),
            numbers: counts.map(|counts| self.numbers(counts)),
            error: error.map(message::reason),
        }
    }
}

/// The answer of `--json`.
#[derive(Default, Serialize)]
struct Report {
    files: Vec<Entry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<Numbers>,
}

#[derive(Serialize)]
struct Entry {
    #[serde(flatten)]
    name: name::Json,
    #[serde(flatten)]
    numbers: Option<Numbers>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
struct Numbers {
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}
