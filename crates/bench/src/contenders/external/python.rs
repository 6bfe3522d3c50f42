//! Sorts of libraries used from Python, whose clock starts after the import.
//!
//! They sort tables, so they get one: a parquet file with a column for the key and one for the value, without compression,
//! which is the format that both read and write fastest. It is made of the records beforehand; records are made of the
//! sorted table afterwards, to be checked like those of all others. Neither is timed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use super::Order;
use crate::catalogue::{Data, Sorter};
use crate::contenders::Trouble;
use crate::contenders::file::python::{Library, interpreter};

/// What the form of a corpus is called.
pub(super) const FORM: &str = "parquet";

/// What is said of their command lines.
pub(super) const ABOUT: &str = "parquet, key and value as columns, not compressed; fsync included";

/// Row groups of as many rows as duckdb itself makes them of.
const TO_TABLE: &str = "\
import sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
source, target, length = sys.argv[1], sys.argv[2], int(sys.argv[3])
def column(bytes):
    rows, width = bytes.shape
    offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(width)
    return pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(bytes))])
def table(raw):
    if length == 8:
        return pa.table({'key': pa.array(raw.view('<u8'))})
    rows = raw.reshape(-1, length)
    return pa.table({'key': column(rows[:, :10]), 'value': column(rows[:, 10:])})
writer = None
with open(source, 'rb') as file:
    while bytes := file.read(122880 * length):
        part = table(np.frombuffer(bytes, np.uint8))
        if writer is None:
            writer = pq.ParquetWriter(target, part.schema, compression='none', use_dictionary=False, write_statistics=False)
        writer.write_table(part)
writer.close()
";

const FROM_TABLE: &str = "\
import sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
def column(array):
    if pa.types.is_integer(array.type):
        return array.to_numpy().astype('<u8').view(np.uint8).reshape(-1, 8)
    array = array.cast(pa.large_binary())
    offsets = np.frombuffer(array.buffers()[1], np.int64)[array.offset:array.offset + len(array) + 1]
    bytes = np.frombuffer(array.buffers()[2], np.uint8)[offsets[0]:offsets[-1]]
    widths = np.diff(offsets)
    assert (widths == widths[0]).all(), 'rows of different lengths'
    return bytes.reshape(len(array), -1)
with open(sys.argv[2], 'wb') as file:
    for part in pq.ParquetFile(sys.argv[1]).iter_batches():
        if len(part):
            file.write(np.hstack([column(array) for array in part.columns]).tobytes())
";

/// What both scripts begin and end with.
const FRAME: &str = "\
import json, os, sys, time
source, target, temporary, memory, threads = *sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5])
SETTINGS
start = time.perf_counter()
try:
WORK
except Exception as error:
    # The first line says why, those behind it what one may do.
    sys.exit(str(error).splitlines()[0])
with open(target, 'rb+') as file:
    os.fsync(file)
print(json.dumps({'seconds': time.perf_counter() - start}))
";

const DUCKDB: [&str; 2] = [
    "\
import duckdb
base = duckdb.connect()
for setting in (f\"memory_limit = '{memory}B'\", f'threads = {threads}', f\"temp_directory = '{temporary}'\",
                'preserve_insertion_order = false', 'enable_progress_bar = false'):
    base.execute('SET ' + setting)",
    "\
table = f\"SELECT * FROM read_parquet('{source}') ORDER BY key\"
base.execute(f\"COPY ({table}) TO '{target}' (FORMAT parquet, COMPRESSION uncompressed)\")",
];

const POLARS: [&str; 2] = [
    "\
os.environ['POLARS_MAX_THREADS'] = str(threads)
# What it counts as its memory, and where it goes with the rest.
os.environ['POLARS_OOC_MEMORY_BUDGET_MB'] = os.environ['POLARS_OVERRIDE_TOTAL_MEMORY_MB'] = str(memory // 1000000)
os.environ['POLARS_OOC_SPILL_DIR'] = temporary
import polars as pl",
    "pl.scan_parquet(source).sort('key').sink_parquet(target, compression='uncompressed', engine='streaming')",
];

/// The version of the library, if Python has it, and what makes tables.
pub(super) fn version(sorter: Sorter) -> Result<String, Trouble> {
    Library::Numpy.version()?;
    Library::Pyarrow.version()?;
    match sorter {
        Sorter::Duckdb => Library::Duckdb.version(),
        _ => Library::Polars.version(),
    }
}

/// The process that sorts a table.
pub(super) fn command(sorter: Sorter, threads: usize, order: &Order) -> Command {
    let [settings, work] = if sorter == Sorter::Duckdb { DUCKDB } else { POLARS };
    let work = work.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n");
    let mut command = Command::new(interpreter());
    command.arg("-c").arg(FRAME.replace("SETTINGS", settings).replace("WORK", &work));
    command.args([order.from, order.to, order.temporary]).args([order.memory.to_string(), threads.to_string()]);
    command
}

#[derive(Deserialize)]
struct Line {
    seconds: f64,
}

/// What the last line of a script says; libraries may talk before.
pub(super) fn seconds(output: &[u8]) -> Result<Duration, Trouble> {
    let last = output.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let line: Line = serde_json::from_slice(last).map_err(|e| Trouble::failed("the script's JSON", e))?;
    Ok(Duration::from_secs_f64(line.seconds))
}

/// Makes a table of the records in `from`.
pub(super) fn to_table(data: Data, from: &Path, to: &Path) -> Result<(), Trouble> {
    run(TO_TABLE, from, to, &data.item().to_string())
}

/// Records of the sorted table at `table`, which is removed; where they are.
pub(super) fn from_table(table: &Path) -> Result<PathBuf, Trouble> {
    let records = table.with_extension("records");
    run(FROM_TABLE, table, &records, "")?;
    std::fs::remove_file(table).map_err(|e| Trouble::failed("output", e))?;
    Ok(records)
}

fn run(script: &str, from: &Path, to: &Path, more: &str) -> Result<(), Trouble> {
    let output = Command::new(interpreter()).args(["-c", script]).args([from, to]).arg(more).output();
    let output = output.map_err(|e| Trouble::failed("python", e))?;
    if output.status.success() {
        return Ok(());
    }
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(Trouble::Failed(format!("python: {}", complaints.trim().lines().last().unwrap_or("no message"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::sortable;

    #[test]
    fn the_last_line_has_the_seconds() {
        assert_eq!(seconds(b"warning\n{\"seconds\": 0.25}\n").unwrap(), Duration::from_millis(250));
        assert!(seconds(b"Traceback").is_err());
    }

    /// There and back again, the records are the same.
    #[test]
    fn tables_hold_the_records() {
        if let Err(Trouble::Unavailable(why)) = version(Sorter::Duckdb) {
            return eprintln!("skipped: {why}");
        }
        let directory = tempfile::tempdir().unwrap();
        let (records, table) = (directory.path().join("in"), directory.path().join("table"));
        for data in [Data::Records, Data::Words] {
            let mut bytes = vec![0u8; 2000 * data.item() as usize];
            bytes.iter_mut().zip(0u32..).for_each(|(byte, i)| *byte = (i.wrapping_mul(0x9E37_79B1) >> 17) as u8);
            std::fs::write(&records, &bytes).unwrap();
            to_table(data, &records, &table).unwrap();
            let back = from_table(&table).unwrap();
            assert!(!table.exists());
            assert_eq!(std::fs::read(&back).unwrap(), bytes);
            assert!(sortable::check(&back, data).is_err(), "{data:?}: not sorted");
        }
    }
}
