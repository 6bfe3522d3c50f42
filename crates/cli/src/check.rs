//! `eagre check`: checks the order of records of the sort benchmark, and summarises them.

use std::ffi::OsString;
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use eagre::gensort::{RECORD, Summary, Validator};
use serde::Serialize;

use crate::console::Console;
use crate::exit::{Exit, Failure, Run};
use crate::inputs::{self, Argument};
use crate::message::Message;
use crate::progress::Progress;

const LONG: &str = "\
Check whether records of the sort benchmark are in order, and compute their checksum.

A FILE holds records of 100 bytes, the first ten of which are the key (sortbenchmark.org). Several FILEs are \
parts of one file, in the given order. The output has the figures of valsort: the number of records, of keys \
that equal the key before, and of keys that are less than the key before, and the first record with such a key, \
counted from 0. The checksum is the sum of the CRC-32 of all records and does not depend on their order. So two \
files with the same number of records and the same checksum hold the same records. With no FILE, or when FILE \
is -, standard input is read.";

const AFTER: &str = "\
Examples:
  eagre check sorted.dat                       is the file in order?
  eagre check sorted.dat --against input.dat   does it also have the records of the input?
  eagre check part-*                           parts of one file
  eagre check --json sorted.dat | jq .checksum

Exit status: 0 if the records are in order and, with --against, the same as the other file's; 1 if they are not; \
2 on error.";

/// Check whether records of the sort benchmark are in order
#[derive(clap::Args)]
#[command(long_about = LONG, after_help = AFTER)]
pub(crate) struct Args {
    /// Also check whether FILE has the same records, in any order
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    against: Option<OsString>,

    /// Use at most N threads [default: as many as there are processors to use]
    #[arg(short = 'j', long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Show no progress (it is shown only on a terminal, and only if the command takes long)
    #[arg(long)]
    no_progress: bool,

    /// Files to check; - is standard input
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    files: Vec<OsString>,
}

/// The output.
#[derive(Serialize)]
struct Report {
    records: u128,
    checksum: String,
    duplicate_keys: u128,
    unordered: u128,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_unordered: Option<u128>,
    sorted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    same_records: Option<bool>,
}

impl Args {
    pub(crate) fn run(self, console: &mut Console) -> Run {
        let parts = Argument::all(&self.files);
        let against = self.against.as_deref().map(Argument::of);
        if against.as_ref().is_some_and(Argument::is_stdin) && parts.iter().any(Argument::is_stdin) {
            let message =
                Message::new("check", "standard input", "it cannot be both the records and those of --against");
            return Err(Failure::Trouble(message.cure(Some("name a file")).to_string()));
        }
        let all: Vec<_> = parts.iter().chain(&against).collect();
        if !self.no_progress && !all.iter().any(|input| input.is_typed()) {
            let sizes: Vec<_> = all.iter().map(|input| input.size()).collect();
            console.watch(Progress::new("check", inputs::total_size(&sizes)));
        }
        let (gauge, before) = (console.gauge(), AtomicU64::new(0));
        let advance = |done| {
            gauge.advance(before.load(Relaxed).saturating_add(done));
            ControlFlow::Continue(())
        };
        let mut validator = Validator::new().threads(self.threads.map_or(0, NonZeroUsize::get)).progress(&advance);
        let mut sum_up = |input: &Argument| {
            let summary = summary(input, &mut validator)?;
            before.fetch_add(bytes(&summary), Relaxed);
            Ok(summary)
        };
        let mut whole = Summary::new();
        for part in &parts {
            whole = whole.append(&sum_up(part)?);
        }
        let other = against.as_ref().map(sum_up).transpose()?;
        let same = other.map(|other| (other.records, other.checksum) == (whole.records, whole.checksum));
        let report = Report {
            records: whole.records,
            checksum: format!("{:x}", whole.checksum),
            duplicate_keys: whole.duplicates,
            unordered: whole.unordered,
            first_unordered: whole.first_unordered,
            sorted: whole.is_sorted(),
            same_records: same,
        };
        if self.json {
            console.print_json(&report)?;
        } else {
            console.print(report.text())?;
        }
        Ok(if report.sorted && same != Some(false) { Exit::Yes } else { Exit::No })
    }
}

fn bytes(summary: &Summary) -> u64 {
    u64::try_from(summary.records).unwrap_or(u64::MAX).saturating_mul(RECORD as u64)
}

fn summary(input: &Argument, validator: &mut Validator<'_>) -> Result<Summary, Failure> {
    let found = input.open_scan().and_then(|opened| Ok(validator.input(opened)?));
    let found =
        found.map_err(|error| Failure::Trouble(Message::from_io("check", input.place(), &error).to_string()))?;
    if found.remainder > 0 {
        let whole = bytes(&found.summary);
        let why = format!("a record of {} bytes, not {RECORD}, at byte {whole}", found.remainder);
        let cure = Some("the file is truncated, or does not hold records of the sort benchmark");
        return Err(Failure::Trouble(Message::new("check", input.place(), why).cure(cure).to_string()));
    }
    Ok(found.summary)
}

impl Report {
    fn text(&self) -> String {
        let mut text = format!("records: {}\nchecksum: {}\n", self.records, self.checksum);
        let _ = writeln!(text, "duplicate keys: {}\nunordered records: {}", self.duplicate_keys, self.unordered);
        if let Some(record) = self.first_unordered {
            let _ = writeln!(text, "first unordered record: {record}");
        }
        if let Some(same) = self.same_records {
            let _ = writeln!(text, "same records: {}", if same { "yes" } else { "no" });
        }
        text
    }
}
