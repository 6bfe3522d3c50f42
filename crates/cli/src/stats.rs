//! `eagre stats`: count, smallest, mean and largest value per key.
//!
//! What comes out looks like what went in: lines of fields with the same delimiter, sorted, so that `join`, `sort` and
//! `cut` go on with it. All files are one input; if any of them cannot be taken in whole there is no result, because
//! half an answer looks like a whole one.

use std::fmt::Write;
use std::num::NonZeroUsize;

use clap::ValueEnum;
use eagre::stats::{Group, Stats, StatsError, Table};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::cli::{Exit, Failure, Run};
use crate::console::Console;
use crate::inputs::{self, Input, Sources};
use crate::message::Message;
use crate::name;
use crate::progress::Progress;

const LONG: &str = "\
Print the smallest, the mean and the largest value of each key, and how many values it has.

Reads lines of fields such as 'Hamburg;12.3': a key in one column and a number in another. Prints a line for each \
key, in the order of their bytes: key, smallest, mean, largest, count, with the same delimiter between them. All FILEs \
together give one result. With no FILE, or when FILE is -, standard input is read.

Numbers are [+-]digits[.digits], with at most 18 digits before the point and 18 behind it; blanks around them are \
ignored. The result is exact: smallest and largest are printed with as many decimals as the number that has the most, \
and the mean too, but with one at least, rounded once, half up. Empty lines are passed over. Every other line that is \
no row is an error, which names the line, and then nothing is printed.

Fields are what is between delimiters. Quotes mean nothing: a field of a CSV file that holds the delimiter or a \
newline inside quotes is not understood. Lines end with a newline, or with a carriage return and a newline.";

const AFTER: &str = "\
Examples:
  eagre stats measurements.txt                 key;value lines
  eagre stats -d, --header -k2 -v5 sales.csv   the fifth column by the second
  eagre stats -d'\\t' --sort count --format table hits.tsv
  eagre stats --format 1brc measurements.txt   as the one-billion-row challenge wants it
  eagre stats --json *.log | jq '.groups[] | select(.max > 100)'

Exit status: 0, or 2 if a file could not be read or a line is no row.";

/// Smallest, mean and largest value per key
#[derive(clap::Args)]
#[command(long_about = LONG, after_help = AFTER)]
pub(crate) struct Args {
    /// The byte between columns: a character, \t, \0, \\ or \x and two digits
    #[arg(short, long, value_name = "BYTE", default_value = ";", value_parser = delimiter)]
    delimiter: u8,

    /// The column of the key, from 1
    #[arg(short, long, value_name = "COLUMN", default_value = "1")]
    key: NonZeroUsize,

    /// The column of the value, from 1
    #[arg(short, long, value_name = "COLUMN", default_value = "2")]
    value: NonZeroUsize,

    /// Pass over the first line of each FILE
    #[arg(long)]
    header: bool,

    /// Skip lines that are no rows, and say how many
    #[arg(long)]
    skip_bad: bool,

    /// The order of the keys
    #[arg(long, value_name = "BY", default_value = "key")]
    sort: Order,

    /// How the result looks
    #[arg(long, value_name = "FORM", default_value = "plain", conflicts_with = "json")]
    format: Form,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Use at most so many threads [default: as many as there are processors to use]
    #[arg(short = 'j', long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// Show no progress (it is shown only on a terminal, and only if it takes long)
    #[arg(long)]
    no_progress: bool,

    #[command(flatten)]
    sources: Sources,
}

/// The order of the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Order {
    /// Their bytes
    Key,
    /// The one with the most values first
    Count,
}

/// How the result looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A line for each key: key, smallest, mean, largest, count
    Plain,
    /// The same in aligned columns with headings, to look at
    Table,
    /// {key=smallest/mean/largest, ...} with one decimal, as in the one-billion-row challenge
    #[value(name = "1brc")]
    Challenge,
}

/// The byte that an argument of `-d` stands for.
fn delimiter(text: &str) -> Result<u8, String> {
    let byte = match text.as_bytes() {
        [byte] => *byte,
        b"\\t" => b'\t',
        b"\\0" => 0,
        b"\\\\" => b'\\',
        [b'\\', b'x', digits @ ..] if digits.len() == 2 => {
            u8::from_str_radix(&text[2..], 16).map_err(|_| "no hexadecimal digits behind \\x".to_owned())?
        }
        _ => return Err("not a single byte; write it as a character, \\t, \\0, \\\\ or \\x and two digits".into()),
    };
    match byte {
        b'\n' | b'\r' => Err("a line end cannot be the delimiter".into()),
        b'0'..=b'9' | b'.' | b'+' | b'-' => Err("a character of numbers cannot be the delimiter".into()),
        _ => Ok(byte),
    }
}

impl Args {
    pub(crate) fn run(self, console: &mut Console) -> Run {
        let inputs = self.sources.list("stats")?;
        if !self.no_progress && !inputs.iter().any(Input::is_typed) {
            let sizes: Vec<_> = inputs.iter().map(Input::size).collect();
            console.watch(Progress::new("stats", inputs::total_size(&sizes)));
        }
        let mut stats = Stats::new().delimiter(self.delimiter).columns(self.key, self.value).header(self.header);
        stats = stats.skip_bad(self.skip_bad);
        if let Some(threads) = self.threads {
            stats = stats.threads(threads);
        }
        let mut totals = Totals::default();
        for input in &inputs {
            add(input, &mut stats, &mut totals, console)?;
        }
        let mut table = stats.finish();
        if self.sort == Order::Count {
            table.groups.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.key.cmp(&b.key)));
        }
        if self.json {
            console.print_json(&report(&table, &totals))?;
            return Ok(Exit::Yes);
        }
        console.print(match self.format {
            Form::Plain => plain(&table, self.delimiter),
            Form::Table => aligned(&table).into_bytes(),
            Form::Challenge => challenge(&table),
        })?;
        Ok(Exit::Yes)
    }
}

/// What is known of all inputs together.
#[derive(Default)]
struct Totals {
    bytes: u64,
    lines: u64,
    skipped: u64,
}

/// Adds one input.
fn add(input: &Input, stats: &mut Stats, totals: &mut Totals, console: &mut Console) -> Result<(), Failure> {
    let trouble = |message: Message| Failure::Trouble(message.to_string());
    let opened = input.open_scan().map_err(|error| trouble(Message::from_io("stats", input.place(), &error)))?;
    let before = totals.bytes;
    let added = stats.add(opened, |bytes| console.advance(before.saturating_add(bytes)));
    let added = added.map_err(|error| {
        trouble(match &error {
            StatsError::Io(error) => Message::from_io("stats", input.place(), error),
            StatsError::Line { line: 1, .. } => Message::new("stats", input.place(), error.to_string())
                .cure(Some("pass over a heading with --header, name delimiter and columns with -d, -k and -v")),
            _ => Message::new("stats", input.place(), error.to_string())
                .cure(Some("correct the line, or skip such lines with --skip-bad")),
        })
    })?;
    if let Some((line, error)) = added.first_skipped {
        let lines = if added.skipped == 1 { "line" } else { "lines" };
        let why = format!("{} {lines} skipped, the first is line {line}: {error}", added.skipped);
        console.remark(&Message::new("stats", input.place(), why).to_string());
    }
    totals.bytes = totals.bytes.saturating_add(added.bytes);
    totals.lines += added.lines;
    totals.skipped += added.skipped;
    Ok(())
}

/// Smallest, mean and largest of a key as text.
fn numbers(group: &Group, table: &Table) -> [String; 3] {
    let mean = table.decimals.max(1);
    [group.min.to_text(table.decimals), group.mean(mean).to_text(mean), group.max.to_text(table.decimals)]
}

fn plain(table: &Table, delimiter: u8) -> Vec<u8> {
    let mut out = Vec::new();
    for group in &table.groups {
        out.extend_from_slice(&group.key);
        for number in numbers(group, table).iter().chain([&group.count.to_string()]) {
            out.push(delimiter);
            out.extend_from_slice(number.as_bytes());
        }
        out.push(b'\n');
    }
    out
}

fn aligned(table: &Table) -> String {
    let heading = ["key", "min", "mean", "max", "count"].map(str::to_owned);
    let rows = table.groups.iter().map(|group| {
        let [min, mean, max] = numbers(group, table);
        [name::in_messages(&group.key), min, mean, max, group.count.to_string()]
    });
    let rows: Vec<[String; 5]> = [heading].into_iter().chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3, 4].map(width);
    let mut out = String::new();
    for [key, numbers @ ..] in &rows {
        // Writing to a string does not fail.
        let _ = write!(out, "{key:<width$}", width = widths[0]);
        for (number, width) in numbers.iter().zip(&widths[1..]) {
            let _ = write!(out, "  {number:>width$}");
        }
        out.push('\n');
    }
    out
}

fn challenge(table: &Table) -> Vec<u8> {
    let mut out = b"{".to_vec();
    for (number, group) in table.groups.iter().enumerate() {
        if number > 0 {
            out.extend(b", ");
        }
        out.extend_from_slice(&group.key);
        let [min, mean, max] = [group.min, group.mean(1), group.max].map(|value| value.to_text(1));
        out.extend(format!("={min}/{mean}/{max}").bytes());
    }
    out.extend(b"}\n");
    out
}

/// The answer of `--json`.
#[derive(Serialize)]
struct Report {
    groups: Vec<Entry>,
    lines: u64,
    skipped: u64,
}

#[derive(Serialize)]
struct Entry {
    key: String,
    /// The exact bytes of a key that is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_hex: Option<String>,
    count: u64,
    // Numbers, but not of the kind that has only 53 bits.
    min: Box<RawValue>,
    mean: Box<RawValue>,
    max: Box<RawValue>,
}

fn report(table: &Table, totals: &Totals) -> Report {
    let entry = |group: &Group| {
        let [min, mean, max] = numbers(group, table).map(|number| RawValue::from_string(number).unwrap_or_default());
        let odd = std::str::from_utf8(&group.key).is_err();
        Entry {
            key: String::from_utf8_lossy(&group.key).into_owned(),
            key_hex: odd.then(|| name::hex(&group.key)),
            count: group.count,
            min,
            mean,
            max,
        }
    };
    Report { groups: table.groups.iter().map(entry).collect(), lines: totals.lines, skipped: totals.skipped }
}
