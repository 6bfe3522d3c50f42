//! Libraries used from Python: a script each, its clock started after the import.
//!
//! The scripts are given the file, the number of threads and nothing else, and print one line of JSON. `$PYTHON`
//! names the interpreter, else it is `python3`.

use std::collections::HashMap;
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use serde::Deserialize;

use crate::catalogue::Task;
use crate::contenders::Trouble;
use crate::contenders::file::{Answer, Done, Files};
use crate::corpus::keys::Figures;

/// What every script begins with and ends with.
const FRAME: &str = "\
import json, os, sys, time
path, threads = sys.argv[1], int(sys.argv[2])
os.environ['POLARS_MAX_THREADS'] = str(threads)
IMPORT
start, used = time.perf_counter(), time.process_time()
WORK
print(json.dumps({'seconds': time.perf_counter() - start, 'processor': time.process_time() - used, 'answer': answer}))
";

/// Not more work than the task: the lines need no columns.
const POLARS_COUNT: &str = "\
answer = pl.scan_csv(path, has_header=False, separator='\\x01', quote_char=None).select(pl.len()).collect().item()";

const POLARS_STATS: &str = "\
schema = {'station': pl.String, 't': pl.Float64}
lines = pl.scan_csv(path, has_header=False, separator=';', quote_char=None, schema=schema)
t = pl.col('t')
groups = lines.group_by('station').agg(t.min().alias('min'), t.mean().alias('mean'), t.max().alias('max'))
answer = groups.collect(engine='streaming').rows()";

const DUCKDB_STATS: &str = "\
base = duckdb.connect()
base.execute(f'SET threads = {threads}')
base.execute('SET enable_progress_bar = false')
columns = \"header = false, delim = ';', quote = '', columns = {'station': 'VARCHAR', 't': 'DOUBLE'}\"
groups = f'SELECT station, min(t), avg(t), max(t) FROM read_csv(?, {columns}) GROUP BY station'
answer = base.execute(groups, [path]).fetchall()";

const POLARS_KEYS: &str = "\
schema = {'key': pl.String, 't': pl.Float64}
lines = pl.scan_csv(path, has_header=False, separator=';', quote_char=None, schema=schema)
t = pl.col('t')
groups = lines.group_by('key').agg(t.min().alias('min'), t.mean().alias('mean'), t.max().alias('max'), pl.len())
table = groups.sort('key').collect(engine='streaming')
tenths = lambda column: round(table[column].sum() * 10)
answer = [table.height, table['len'].sum(), tenths('min'), tenths('max')]";

const DUCKDB_KEYS: &str = "\
base = duckdb.connect()
base.execute(f'SET threads = {threads}')
base.execute('SET enable_progress_bar = false')
columns = \"header = false, delim = ';', quote = '', columns = {'key': 'VARCHAR', 't': 'DOUBLE'}\"
groups = f'SELECT key, min(t) low, avg(t), max(t) high, count(*) rows FROM read_csv(?, {columns}) GROUP BY key ORDER BY key'
base.execute(f'CREATE TABLE answer AS {groups}', [path])
row = base.execute('SELECT count(*), sum(rows), sum(low) * 10, sum(high) * 10 FROM answer').fetchone()
answer = [round(number) for number in row]";

/// A library for Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Library {
    Polars,
    Duckdb,
    Numpy,
    Pyarrow,
}

impl Library {
    fn name(self) -> &'static str {
        match self {
            Library::Polars => "polars",
            Library::Duckdb => "duckdb",
            Library::Numpy => "numpy",
            Library::Pyarrow => "pyarrow",
        }
    }

    /// Its version, if Python has it; asked once.
    pub(crate) fn version(self) -> Result<String, Trouble> {
        static KNOWN: OnceLock<Mutex<HashMap<&'static str, Option<String>>>> = OnceLock::new();
        let mut known = KNOWN.get_or_init(Mutex::default).lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let name = self.name();
        let version = known.entry(name).or_insert_with(|| {
            let script = format!("import {name}; print({name}.__version__)");
            let output = Command::new(interpreter()).args(["-c", &script]).output().ok()?;
            output.status.success().then(|| format!("{name} {}", String::from_utf8_lossy(&output.stdout).trim()))
        });
        version
            .clone()
            .ok_or_else(|| Trouble::Unavailable(format!("no {name}; {} -m pip install {name}", interpreter())))
    }

    fn import(self) -> &'static str {
        match self {
            Library::Polars => "import polars as pl",
            Library::Duckdb => "import duckdb",
            Library::Numpy => "import numpy as np",
            Library::Pyarrow => "import pyarrow as pa",
        }
    }

    /// The script for `task`.
    pub(super) fn command(self, task: Task, threads: usize, files: &Files) -> Result<Command, Trouble> {
        let work = match (self, task) {
            (Library::Polars, Task::Count) => POLARS_COUNT,
            (Library::Polars, Task::Stats) => POLARS_STATS,
            (Library::Duckdb, Task::Stats) => DUCKDB_STATS,
            (Library::Polars, Task::Keys) => POLARS_KEYS,
            (Library::Duckdb, Task::Keys) => DUCKDB_KEYS,
            _ => return Err(Trouble::Failed(format!("catalogue: {self:?} cannot do {task:?}"))),
        };
        let mut command = Command::new(interpreter());
        command.arg("-c").arg(FRAME.replace("IMPORT", self.import()).replace("WORK", work));
        command.arg(files.from).arg(threads.to_string());
        Ok(command)
    }
}

/// The Python to use.
pub(crate) fn interpreter() -> String {
    std::env::var("PYTHON").ok().filter(|python| !python.is_empty()).unwrap_or_else(|| "python3".into())
}

#[derive(Deserialize)]
struct Line {
    seconds: f64,
    processor: f64,
    answer: serde_json::Value,
}

type Rows = Vec<(String, f64, f64, f64)>;

/// What a script printed, in its last line: libraries may talk before.
pub(super) fn understand(task: Task, output: &[u8]) -> Result<Done, Trouble> {
    let last = output.trim_ascii_end().rsplit(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
    let line: Line = serde_json::from_slice(last).map_err(|e| Trouble::failed("the script's JSON", e))?;
    let wrong = || Trouble::Wrong(format!("{} is no answer to {task:?}", line.answer));
    let answer = match task {
        Task::Count => Answer::Lines(line.answer.as_u64().ok_or_else(wrong)?),
        Task::Stats => Answer::Stations(serde_json::from_value::<Rows>(line.answer.clone()).map_err(|_| wrong())?),
        Task::Keys => {
            let (keys, rows, min, max) = serde_json::from_value(line.answer.clone()).map_err(|_| wrong())?;
            Answer::Keys(Figures { keys, rows, min, max })
        }
        _ => return Err(wrong()),
    };
    Ok(Done { seconds: line.seconds, processor: Some(line.processor), answer })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_understood_and_anything_else_is_trouble() {
        let done = understand(Task::Count, b"4 %\r\n{\"seconds\": 0.5, \"processor\": 0.9, \"answer\": 12}\n").unwrap();
        assert_eq!((done.seconds, done.processor, done.answer), (0.5, Some(0.9), Answer::Lines(12)));
        let rows = br#"{"seconds": 2, "processor": 1, "answer": [["a b", -1.5, 0.25, 3.0]]}"#;
        let expected = Answer::Stations(vec![("a b".into(), -1.5, 0.25, 3.0)]);
        assert_eq!(understand(Task::Stats, rows).unwrap().answer, expected);
        for output in [&b"Traceback"[..], br#"{"seconds": 0.5, "processor": 0.9, "answer": "x"}"#] {
            assert!(understand(Task::Count, output).is_err());
        }
    }
}
