//! Records of the sort benchmark, with the figures of `valsort`.

use std::fmt::Write;

use eagre::gensort::{RECORD, Summary, Validator};
use serde::Serialize;

use super::Work;
use crate::console::Console;
use crate::exit::{Exit, Failure, Run};
use crate::inputs::Argument;
use crate::message::Message;

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

/// Checks the parts and compares them with the other files.
pub(super) fn run(work: &Work, json: bool, console: &mut Console) -> Run {
    work.watch(console);
    let meter = work.meter(console);
    let advance = meter.hook();
    let mut validator = Validator::new().threads(work.threads).progress(&advance);
    let mut sum_up = |inputs: &[Argument]| {
        let mut whole = Summary::new();
        for input in inputs {
            let summary = summary(input, &mut validator)?;
            meter.done(bytes(&summary));
            whole = whole.append(&summary);
        }
        Ok(whole)
    };
    let whole = sum_up(&work.parts)?;
    let other = if work.against.is_empty() { None } else { Some(sum_up(&work.against)?) };
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
    if json {
        console.print_json(&report)?;
    } else {
        console.print(report.text())?;
    }
    Ok(if report.sorted && same != Some(false) { Exit::Yes } else { Exit::No })
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
        let cure = Some(
            "the file is truncated, or does not hold records of the sort benchmark; see --record, --klv, --keys and --lines",
        );
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
