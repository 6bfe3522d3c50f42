//! `eagre stats`: summaries of the values of each key.
//!
//! The output has the format of the input: sorted lines of fields with the same delimiter, for `join`, `sort` and `cut`.
//! All files form one input. If any of them cannot be read completely there is no result, because a partial result looks
//! like a complete one.

mod columns;
mod output;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use clap::ValueEnum;
use eagre::doctor::{Available, Bound};
use eagre::stats::{Aggregator, StatsError};

use crate::console::Console;
use crate::exit::{Exit, Failure, Run};
use crate::inputs::{self, Argument, Sources};
use crate::message::Message;
use crate::progress::Progress;
use columns::Columns;

const LONG: &str = "\
Print the minimum, mean, maximum and count of the values of each key, or the figures that --columns names.

Reads lines of fields such as 'Hamburg;12.3': a key in one column and a number in another. Prints one line for each key, \
in byte order of the keys: key, minimum, mean, maximum and count, separated by the same delimiter. All FILEs together \
give one result. With no FILE, or when FILE is -, standard input is read.

Numbers are [+-]digits[.digits][e[+-]digits], with at most 18 digits before the point. They are rounded to 18 decimals. \
Blanks around numbers are ignored.

Results are exact, and each is rounded once, half up. Minimum, maximum and sum are printed with the largest number of \
decimals in the input. Mean and quantiles have as many, but at least one. Variance and standard deviation have as many, \
but at least six.

Empty lines are skipped. Any other line without a key and a valid number is an error: a message names the line, and no \
result is printed.

A field is everything between two delimiters. With --csv, fields may be in double quotes, and then contain the delimiter, \
newlines, and doubled quotes. Keys are then printed in quotes where necessary. Lines end with a newline, or with a \
carriage return and a newline.

All keys are kept in memory, with 80 to 120 bytes each. If memory does not suffice, that is an error.";

const AFTER: &str = "\
Columns:
  count, sum, min, max, mean
  var, stddev       sample variance and standard deviation (divided by count - 1); empty for a single value
  median, pN, qX    quantiles, such as p99, p99.9 or q0.25, with linear interpolation as in numpy;
                    they take 16 bytes of memory for each distinct value of a key

Examples:
  eagre stats measurements.txt                        key;value lines
  eagre stats --csv -d, --header -k2 -v5 sales.csv    column 5, grouped by column 2
  eagre stats --columns count,sum,median,p99 hits.txt
  eagre stats -d'\\t' --sort count --format table hits.tsv
  eagre stats --format 1brc measurements.txt          in the format of the one-billion-row challenge
  eagre stats --json *.log | jq '.groups[] | select(.max > 100)'

Exit status: 0 on success, 2 if a file could not be read, a line has no key or number, or memory does not suffice.";

/// Print minimum, mean, maximum and count per key
#[derive(clap::Args)]
#[command(long_about = LONG, after_help = AFTER)]
pub(crate) struct Args {
    /// The byte between columns: a character, \t, \0, \\ or \x and two digits
    #[arg(short, long, value_name = "BYTE", default_value = ";", value_parser = delimiter)]
    delimiter: u8,

    /// The column of the key, from 1
    #[arg(short, long, value_name = "COLUMN", default_value = "1", value_parser = column)]
    key: NonZeroUsize,

    /// The column of the value, from 1
    #[arg(short, long, value_name = "COLUMN", default_value = "2", value_parser = column)]
    value: NonZeroUsize,

    /// The figures to print for each key: names from the list below, separated by commas
    #[arg(long, value_name = "NAMES", default_value = "min,mean,max,count")]
    columns: Columns,

    /// Allow fields in double quotes, as in CSV files
    #[arg(long)]
    csv: bool,

    /// Skip the first line of each FILE
    #[arg(long)]
    header: bool,

    /// Skip lines without a key and a number, and tell how many
    #[arg(long)]
    skip_bad: bool,

    /// The order of the keys
    #[arg(long, value_name = "BY", default_value = "key")]
    sort: Order,

    /// The format of the result
    #[arg(long, value_name = "FORM", default_value = "plain", conflicts_with = "json")]
    format: Form,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Use at most N threads [default: as many as there are processors to use]
    #[arg(short = 'j', long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// Show no progress (it is shown only on a terminal, and only if the command takes long)
    #[arg(long)]
    no_progress: bool,

    #[command(flatten)]
    sources: Sources,
}

/// The order of the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Order {
    /// By the bytes of the key
    Key,
    /// By the number of values, largest first
    Count,
}

/// The format of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A line for each key: the key and the columns
    Plain,
    /// The same in aligned columns with headings
    Table,
    /// {key=min/mean/max, ...} with one decimal, as in the one-billion-row challenge
    #[value(name = "1brc")]
    Challenge,
}

/// The number of a column.
fn column(text: &str) -> Result<NonZeroUsize, String> {
    match text.parse::<usize>() {
        Ok(number) => NonZeroUsize::new(number).ok_or_else(|| "columns are counted from 1".to_owned()),
        Err(_) => Err("not the number of a column, from 1".to_owned()),
    }
}

/// The byte given by the argument of `-d`.
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
        if self.format == Form::Challenge && self.columns != Columns::default() {
            let message = Message::new("stats", "--format 1brc", "this format has fixed columns");
            return Err(Failure::Trouble(message.cure(Some("leave out --columns")).to_string()));
        }
        if self.csv && self.delimiter == b'"' {
            let message = Message::new("stats", "-d '\"'", "with --csv, double quotes enclose fields");
            return Err(Failure::Trouble(message.cure(Some("name another delimiter")).to_string()));
        }
        let inputs = self.sources.list("stats")?;
        if !self.no_progress && !inputs.iter().any(Argument::is_typed) {
            let sizes: Vec<_> = inputs.iter().map(Argument::size).collect();
            console.watch(Progress::new("stats", inputs::total_size(&sizes)));
        }
        let (gauge, before) = (console.gauge(), AtomicU64::new(0));
        let advance = |done| {
            gauge.advance(before.load(Relaxed).saturating_add(done));
            ControlFlow::Continue(())
        };
        let mut aggregator = Aggregator::new().delimiter(self.delimiter).columns(self.key, self.value);
        aggregator = aggregator.header(self.header).skip_bad(self.skip_bad).csv(self.csv);
        aggregator = aggregator.variance(self.columns.need_variance()).quantiles(self.columns.need_values());
        aggregator = aggregator.threads(self.threads.map_or(0, NonZeroUsize::get)).progress(&advance);
        let mut totals = Totals::default();
        for input in &inputs {
            before.store(totals.bytes, Relaxed);
            add(input, &mut aggregator, &mut totals, console)?;
        }
        let in_memory =
            |error: StatsError| Failure::Trouble(out_of_memory("the keys of all files", &error).to_string());
        let mut table = aggregator.finish().map_err(in_memory)?;
        if self.sort == Order::Count {
            table.sort_by_count().map_err(in_memory)?;
        }
        let threads = self.threads.unwrap_or_else(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN));
        let output = output::Output { table: &table, columns: &self.columns, threads };
        match self.format {
            _ if self.json => output.json(&totals, console)?,
            Form::Plain => output.plain(self.delimiter, self.csv, console)?,
            Form::Table => output.aligned(console)?,
            Form::Challenge => output.challenge(console)?,
        }
        Ok(Exit::Yes)
    }
}

/// Totals of all inputs.
#[derive(Default)]
struct Totals {
    bytes: u64,
    lines: u64,
    skipped: u64,
}

/// Adds one input.
fn add(
    input: &Argument,
    aggregator: &mut Aggregator<'_>,
    totals: &mut Totals,
    console: &mut Console,
) -> Result<(), Failure> {
    let trouble = |message: Message| Failure::Trouble(message.to_string());
    let opened = input.open_scan().map_err(|error| trouble(Message::from_io("stats", input.place(), &error)))?;
    let added = aggregator.input(opened).map_err(|error| {
        trouble(match &error {
            StatsError::Io(error) => Message::from_io("stats", input.place(), error),
            StatsError::Memory { .. } => out_of_memory(&input.place(), &error),
            StatsError::Line { line: 1, .. } => Message::new("stats", input.place(), error.to_string())
                .cure(Some("skip a heading with --header, or choose delimiter and columns with -d, -k and -v")),
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

fn out_of_memory(place: &str, error: &StatsError) -> Message {
    let cure = match error {
        StatsError::Memory { available: Some(Available { bound: Bound::AddressSpace, .. }), .. } => {
            "ulimit -v unlimited"
        }
        StatsError::Memory { available: Some(Available { bound: Bound::ControlGroup, .. }), .. } => {
            "raise MemoryMax= of the service, or --memory of the container, or process fewer keys at a time"
        }
        _ => "use a machine with more memory, or process fewer keys at a time",
    };
    Message::new("stats", place, error.to_string()).cure(Some(cure))
}
