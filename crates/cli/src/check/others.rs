//! Records of any other format.

use eagre::records::{CheckError, Checked, Checker, Checksum, Format};
use serde::Serialize;

use super::{Asked, Work};
use crate::console::Console;
use crate::exit::{Exit, Failure, Run};
use crate::inputs::Argument;
use crate::message::Message;
use crate::name;

/// The output.
#[derive(Serialize)]
struct Report {
    records: u64,
    checksum: String,
    duplicate_keys: u64,
    unordered: u64,
    #[serde(flatten)]
    first_unordered: Option<Place>,
    sorted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    same_records: Option<bool>,
}

/// The first record that is out of order.
#[derive(Serialize)]
struct Place {
    /// Counted from the first of all files.
    #[serde(rename = "first_unordered")]
    record: u64,
    /// Counted from the beginning of its file.
    #[serde(rename = "first_unordered_byte")]
    byte: u64,
    #[serde(flatten)]
    file: name::Json,
    #[serde(skip)]
    shown: Vec<u8>,
}

/// Checks the parts and compares them with the other files.
pub(super) fn run<F: Format>(format: &F, work: &Work, asked: Asked, console: &mut Console) -> Run {
    work.watch(console);
    let meter = work.meter(console);
    let advance = meter.hook();
    let mut checker =
        Checker::new(format).descending(asked.reverse).unique(asked.unique).threads(work.threads).progress(&advance);
    let mut whole = Checked::default();
    // Where each part ends.
    let mut ends = Vec::new();
    for part in &work.parts {
        let found = check(part, &mut checker)?;
        meter.done(found.bytes);
        whole = checker.join(whole, found);
        ends.push(whole.bytes);
    }
    let mut other = Checksum::default();
    for input in &work.against {
        let found = check(input, &mut checker)?;
        meter.done(found.bytes);
        other += found.checksum;
    }
    let same = (!work.against.is_empty()).then(|| other == whole.checksum);
    let report = Report {
        records: whole.checksum.records,
        checksum: format!("{:x}", whole.checksum.sum),
        duplicate_keys: whole.duplicates,
        unordered: whole.unordered,
        first_unordered: whole.first_unordered.map(|place| {
            let part = ends.partition_point(|&end| end <= place.offset);
            let begin = part.checked_sub(1).map_or(0, |before| ends[before]);
            let input = &work.parts[part];
            let shown = if ends.len() > 1 { name::in_results(input.name().unwrap_or(b"-")) } else { Vec::new() };
            let file = name::Json::new(input.name());
            Place { record: place.record, byte: place.offset - begin, file, shown }
        }),
        sorted: whole.is_sorted(),
        same_records: same,
    };
    if asked.json {
        console.print_json(&report)?;
    } else {
        console.print(report.text())?;
    }
    Ok(if report.sorted && same != Some(false) { Exit::Yes } else { Exit::No })
}

fn check<F: Format>(input: &Argument, checker: &mut Checker<'_, F>) -> Result<Checked, Failure> {
    let trouble = |message: Message| Failure::Trouble(message.to_string());
    let of_system = |error| trouble(Message::from_io("check", input.place(), &error));
    let opened = input.open_scan().map_err(of_system)?;
    checker.input(opened).map_err(|error| match error {
        CheckError::Malformed { .. } => {
            let message = Message::new("check", input.place(), error.to_string());
            trouble(message.cure(Some("the file is truncated, or has another format")))
        }
        error => of_system(error.into()),
    })
}

impl Report {
    fn text(&self) -> Vec<u8> {
        let mut text = format!(
            "records: {}\nchecksum: {}\nduplicate keys: {}\nunordered records: {}\n",
            self.records, self.checksum, self.duplicate_keys, self.unordered
        )
        .into_bytes();
        if let Some(Place { record, byte, shown, .. }) = &self.first_unordered {
            text.extend(format!("first unordered record: {record}, at byte {byte}").bytes());
            if !shown.is_empty() {
                text.extend(b" of ");
                text.extend(shown);
            }
            text.push(b'\n');
        }
        if let Some(same) = self.same_records {
            text.extend(format!("same records: {}\n", if same { "yes" } else { "no" }).bytes());
        }
        text
    }
}
