//! The report of a sort, for people and for programs.

use std::fmt;
use std::time::Duration;

use eagre::keys::{Disorder, FileKey};
use eagre::records;
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
    pub(super) fn new(key: KeyType, target: &Target, threads: usize) -> Report {
        Report {
            target: name::Json::new(Some(target.name())),
            key: key.name(),
            keys: 0,
            written: 0,
            threads,
            read: Phase::default(),
            sort: Phase::default(),
            write: Phase::default(),
            memory: Memory::default(),
        }
    }

    pub(super) fn has_read<K>(&mut self, keys: &[K], time: Duration) {
        self.keys = keys.len() as u64;
        self.memory.keys = size_of_val(keys) as u64;
        self.read = Phase::of_bytes(self.memory.keys, time);
    }

    pub(super) fn has_sorted(&mut self, time: Duration) {
        self.sort = Phase::of_keys(self.keys, time);
    }

    pub(super) fn has_written<K>(&mut self, keys: &[K], time: Duration) {
        self.written = keys.len() as u64;
        self.write = Phase::of_bytes(size_of_val(keys) as u64, time);
        self.memory.peak = peak();
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
        let Report { keys, key, written, threads, read, sort, write, memory, .. } = self;
        let bytes =
            |part: &Phase| part.bytes_per_second.map_or_else(String::new, |rate| format!(", {}/s", units::bytes(rate)));
        write!(f, "eagre: sort: {keys} keys of {key}: read in {:.3} s{}", read.seconds, bytes(read))?;
        let threads = if *threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
        write!(f, "; sorted in {:.3} s by {threads}", sort.seconds)?;
        if let Some(rate) = sort.keys_per_second {
            write!(f, ", {:.1} million keys/s", rate as f64 / 1e6)?;
        }
        write!(f, "; {written} written in {:.3} s{}", write.seconds, bytes(write))?;
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
    pub(super) fn new(input: &Argument, disorder: Option<records::Place>) -> RecordCheck {
        let disorder = disorder.map(|place| RecordPlace { index: place.record, byte: place.offset });
        RecordCheck { file: name::Json::new(input.name()), sorted: disorder.is_none(), disorder }
    }
}

/// The first key that is out of order, in one line.
pub(super) fn disorder<K: FileKey>(input: &Argument, found: &Disorder<K>) -> String {
    let Disorder { index, before, key, .. } = found;
    let why = format!("disorder at key {index} (byte {}): {key:?} after {before:?}", index * K::WIDTH as u64);
    Message::new("sort", input.place(), why).to_string()
}
