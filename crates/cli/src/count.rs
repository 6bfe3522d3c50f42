//! `eagre count`: lines, words, bytes and longest lines of files, printed as `wc` prints them.
//!
//! The columns are those of GNU `wc` to the byte, because scripts cut them. Numbers are right-aligned. Their width is
//! known before the first file is read, from the sizes that the file system reports:
//!
//! ```text
//! one number of one file, or --total=only      as many digits as the number has
//! names from a pipe                            as many digits as each number has, because the files are not known yet
//! otherwise                                    the digits of the sum of the regular files' sizes,
//!                                              at least 7 if an input is not a regular file
//! ```

use std::io;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use clap::ValueEnum;
use eagre::count::{Counted, Counter, Counts};
use serde::Serialize;

use crate::console::Console;
use crate::exit::{Exit, Run};
use crate::explain::{Explainer, Explanation};
use crate::inputs::{self, Argument, Sources};
use crate::message::{self, Message};
use crate::name;
use crate::progress::Progress;

const LONG: &str = "\
Count the lines, words and bytes of files, and measure their longest lines.

The output has the format of 'wc': lines, words, bytes, longest line and name, in this order, and a total if there is \
more than one FILE. Without options, lines and bytes are printed. Lines are counted by their newlines, so text after the \
last newline does not count as a line. Words and widths are those of the C locale: words are separated by white space \
and contain at least one visible ASCII character. -c alone takes the size of a regular file from the file system, without \
reading the file. With no FILE, or when FILE is -, standard input is read.

Compressed files (.gz, .zst, .lz4) are decompressed, and their contents are counted, if their first bytes agree with \
their names. --decompress=never counts the compressed bytes.";

const AFTER: &str = "\
Examples:
  eagre count access.log              lines and bytes
  eagre count -l *.csv                lines of each file, and their total
  eagre count -lwc README.md          the same as 'LC_ALL=C wc README.md'
  eagre count --total=only -c *.iso   one number: the bytes of all files
  zcat big.gz | eagre count           input from a pipe
  eagre count -l log.gz log.zst       lines in compressed files
  eagre count --json a b | jq .total.lines
  eagre count --explain -l huge.log   also compare the speed with that of memory or of the disk

Exit status: 0 on success, 2 if a file could not be read to its end. For such a file a message is printed, and no \
counts. The other files are counted.";

/// Count lines, words and bytes of files
#[derive(clap::Args)]
#[command(long_about = LONG, after_help = AFTER)]
pub(crate) struct Args {
    /// Print the number of newlines
    #[arg(short, long)]
    lines: bool,

    /// Print the number of words
    #[arg(short, long)]
    words: bool,

    /// Print the number of bytes
    #[arg(short = 'c', long)]
    bytes: bool,

    /// Print the width of the longest line
    #[arg(short = 'L', long)]
    max_line_length: bool,

    /// Use at most N threads [default: as many as there are processors to use]
    #[arg(short = 'j', long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// Tell how each file was read, why, and how fast: on standard error, or in the JSON object
    #[arg(long)]
    explain: bool,

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
    /// Only the total
    Only,
    /// Never
    Never,
}

impl Args {
    pub(crate) fn run(self, console: &mut Console) -> Run {
        let inputs = self.sources.list("count")?;
        let sizes: Vec<_> = inputs.iter().map(Argument::size).collect();
        if !self.no_progress && !inputs.iter().any(Argument::is_typed) {
            console.watch(Progress::new("count", inputs::total_size(&sizes)));
        }
        let columns = self.columns(&inputs, &sizes);
        let mut report = Report::default();
        let mut explainer = Explainer::default();
        let (gauge, before) = (console.gauge(), AtomicU64::new(0));
        let advance = |done| {
            gauge.advance(before.load(Relaxed).saturating_add(done));
            ControlFlow::Continue(())
        };
        let mut counter = Counter::new().lines(columns.lines).words(columns.words).longest(columns.longest);
        counter = counter.threads(self.threads.map_or(0, NonZeroUsize::get)).progress(&advance);
        let mut total = counter.nothing();
        let mut overflow = false;

        for input in &inputs {
            let started = Instant::now();
            before.store(total.bytes, Relaxed);
            let counted = count(input, &mut counter);
            let time = started.elapsed();
            let explained = counted.as_ref().ok().filter(|_| self.explain);
            let explanation =
                explained.map(|counted| explainer.explain(input, counted.choice, counted.counts.bytes, time));
            if let Some(explanation) = explanation.as_ref().filter(|_| !self.json) {
                console.remark(&explanation.to_string());
            }
            let (counts, error) = match counted {
                Ok(counted) => (Some(counted.counts), None),
                Err((counts, error)) => (counts, Some(error)),
            };
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
                report.files.push(Entry { explain: explanation, ..columns.entry(input, counts, error.as_ref()) });
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

    fn has_total(&self, inputs: &[Argument]) -> bool {
        match self.total {
            Total::Auto => inputs.len() > 1,
            Total::Always | Total::Only => true,
            Total::Never => false,
        }
    }

    fn columns(&self, inputs: &[Argument], sizes: &[io::Result<Option<u64>>]) -> Columns {
        let mut columns = Columns {
            lines: self.lines,
            words: self.words,
            bytes: self.bytes,
            longest: self.max_line_length,
            width: 1,
        };
        let asked = [columns.lines, columns.words, columns.bytes, columns.longest];
        let numbers = match asked.into_iter().filter(|&asked| asked).count() {
            0 => {
                (columns.lines, columns.bytes) = (true, true);
                2
            }
            some => some,
        };
        let one_number = inputs.len() == 1 && numbers == 1;
        if !one_number && self.total != Total::Only && self.sources.are_counted() {
            columns.width = width(sizes);
        }
        columns
    }
}

/// Counts one input. If it cannot be read to its end, its partial counts are dropped. A directory is an error, but counts
/// as empty, as with `wc`.
fn count(input: &Argument, counter: &mut Counter<'_>) -> Result<Counted, (Option<Counts>, io::Error)> {
    let opened = input.open_scan().map_err(|error| (None, error))?;
    counter.input(opened).map_err(|error| {
        let source = error.source;
        let empty = source.kind() == io::ErrorKind::IsADirectory;
        (empty.then(|| counter.nothing()), source)
    })
}

/// The width of a column, as `wc` chooses it.
fn width(sizes: &[io::Result<Option<u64>>]) -> usize {
    let known = sizes.iter().flatten().flatten().fold(0, |sum: u64, size| sum.saturating_add(*size));
    // The contents of a pipe or a compressed file have an unknown size.
    let least = if sizes.iter().flatten().any(Option::is_none) { 7 } else { 1 };
    known.to_string().len().max(least)
}

/// Which numbers are printed, and their width.
struct Columns {
    lines: bool,
    words: bool,
    bytes: bool,
    longest: bool,
    width: usize,
}

impl Columns {
    /// One line of results.
    fn line(&self, counts: Counts, name: Option<&[u8]>) -> Vec<u8> {
        let width = self.width;
        let numbers: Vec<String> = self.numbers(counts).shown().map(|number| format!("{number:>width$}")).collect();
        let mut line = numbers.join(" ").into_bytes();
        if let Some(name) = name {
            line.push(b' ');
            line.extend(name::in_results(name));
        }
        line.push(b'\n');
        line
    }

    fn numbers(&self, counts: Counts) -> Numbers {
        Numbers {
            lines: counts.lines,
            words: counts.words,
            bytes: self.bytes.then_some(counts.bytes),
            longest_line: counts.longest,
        }
    }

    fn entry(&self, input: &Argument, counts: Option<Counts>, error: Option<&io::Error>) -> Entry {
        Entry {
            name: name::Json::new(input.name()),
            numbers: counts.map(|counts| self.numbers(counts)),
            error: error.map(message::reason),
            explain: None,
        }
    }
}

/// The JSON object.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<Explanation>,
}

/// The numbers that were asked for.
#[derive(Serialize)]
struct Numbers {
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    words: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    longest_line: Option<u64>,
}

impl Numbers {
    /// The numbers that exist, in the order of `wc`.
    fn shown(&self) -> impl Iterator<Item = u64> {
        [self.lines, self.words, self.bytes, self.longest_line].into_iter().flatten()
    }
}
