//! The report of a sort, for people and for programs.

use std::fmt;
use std::time::Duration;

use eagre::external::Report as Sorted;
use eagre::keys::{Disorder, FileKey};
use serde::Serialize;

use crate::inputs::Argument;
use crate::keys::KeyType;
use crate::message::Message;
use crate::phase::Phase;
use crate::target::Target;
use crate::{name, units};

/// The output of `--json`, and as text that of `--explain`.
#[derive(Serialize)]
pub(super) struct Report {
    #[serde(flatten)]
    target: name::Json,
    #[serde(rename = "type")]
    key: String,
    keys: u64,
    written: u64,
    threads: usize,
    /// The sorted runs in temporary files; none if all keys fit into memory.
    runs: u64,
    /// The bytes of all runs.
    temporary: u64,
    /// How often runs were merged.
    merges: u64,
    read: Phase,
    sort: Phase,
    write: Phase,
    memory: Memory,
}

#[derive(Default, Serialize)]
struct Memory {
    /// The size of the keys in bytes.
    keys: u64,
    /// The peak memory of this process in bytes, if the system tells.
    peak: Option<u64>,
}

impl Report {
    pub(super) fn new(key: KeyType, target: &Target, threads: usize, sorted: &Sorted) -> Report {
        let time = |names: &[&str]| {
            let phases = sorted.phases.iter().filter(|phase| names.contains(&phase.name));
            phases.map(|phase| phase.time).sum::<Duration>()
        };
        Report {
            target: name::Json::new(Some(target.name())),
            key: key.name(),
            keys: sorted.records,
            written: sorted.written / key.width(),
            threads,
            runs: sorted.runs,
            temporary: sorted.temporary,
            merges: sorted.merges,
            read: Phase::of_bytes(sorted.bytes, time(&["read"])),
            sort: Phase::of_keys(sorted.records, time(&["sort", "sort and write runs"])),
            write: Phase::of_bytes(sorted.written, time(&["write", "merge runs", "merge", "sync"])),
            memory: Memory { keys: sorted.bytes, peak: peak() },
        }
    }
}

/// The peak memory of this process in bytes.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { keys, key, written, threads, runs, read, sort, write, memory, .. } = self;
        let bytes =
            |part: &Phase| part.bytes_per_second.map_or_else(String::new, |rate| format!(", {}/s", units::bytes(rate)));
        write!(f, "eagre: sort: {keys} keys of {key}: read in {:.3} s{}", read.seconds, bytes(read))?;
        let threads = if *threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
        write!(f, "; sorted in {:.3} s by {threads}", sort.seconds)?;
        if let Some(rate) = sort.keys_per_second {
            write!(f, ", {:.1} million keys/s", rate as f64 / 1e6)?;
        }
        write!(f, "; {written} written in {:.3} s{}", write.seconds, bytes(write))?;
        if *runs > 0 {
            write!(f, ", merged from {runs} runs")?;
        }
        write!(f, "; {} of keys", units::bytes(memory.keys))?;
        match memory.peak {
            Some(peak) => write!(f, ", {} of memory at the most", units::bytes(peak)),
            None => Ok(()),
        }
    }
}

/// The output of `--check --json`.
#[derive(Serialize)]
pub(super) struct Check {
    #[serde(flatten)]
    file: name::Json,
    sorted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    disorder: Option<Place>,
}

/// The first key that is out of order. Keys are text, since numbers in JSON are not as wide.
#[derive(Serialize)]
struct Place {
    index: u64,
    byte: u64,
    before: String,
    key: String,
}

impl Check {
    pub(super) fn new<K: FileKey>(input: &Argument, found: Option<Disorder<K>>) -> Check {
        let disorder = found.map(|Disorder { index, before, key, .. }| Place {
            index,
            byte: index * K::WIDTH as u64,
            before: format!("{before:?}"),
            key: format!("{key:?}"),
        });
        Check { file: name::Json::new(input.name()), sorted: disorder.is_none(), disorder }
    }
}

/// The output of `--check --json` for records, which are counted from 0.
#[derive(Serialize)]
pub(super) struct RecordCheck {
    #[serde(flatten)]
    file: name::Json,
    sorted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    disorder: Option<RecordPlace>,
}

#[derive(Serialize)]
struct RecordPlace {
    index: u64,
    byte: u64,
}

impl RecordCheck {
    /// `disorder` is the index of the record and its place in bytes.
    pub(super) fn new(input: &Argument, disorder: Option<(u64, u64)>) -> RecordCheck {
        let disorder = disorder.map(|(index, byte)| RecordPlace { index, byte });
        RecordCheck { file: name::Json::new(input.name()), sorted: disorder.is_none(), disorder }
    }
}

/// The first key that is out of order, in one line.
pub(super) fn disorder<K: FileKey>(input: &Argument, found: &Disorder<K>) -> String {
    let Disorder { index, before, key, .. } = found;
    let why = format!("disorder at key {index} (byte {}): {key:?} after {before:?}", index * K::WIDTH as u64);
    Message::new("sort", input.place(), why).to_string()
}
