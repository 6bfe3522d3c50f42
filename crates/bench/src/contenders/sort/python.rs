//! Sorts of libraries for Python: a script in a process of its own, which gets the keys from this program.

use std::process::Command;

use super::job::{self, Job, Order};
use crate::catalogue::{Keys, Module};
use crate::contenders::Trouble;
use crate::contenders::file::python::{Library, interpreter};
use crate::memory::Pages;

/// The array is on pages as all others have them; the keys are looked at as they are in this program, a portion at a
/// time so that looking takes no memory to speak of.
const SCRIPT: &str = r#"
import json, mmap, os, subprocess, sys, time
program, job, kind, count, piece, repeat, huge = sys.argv[1:8]
count, piece, repeat = int(count), int(piece), int(repeat)
import numpy as np
IMPORT

HUGE = 2 << 20
size = count * np.dtype(kind).itemsize
room = mmap.mmap(-1, size + 2 * HUGE)
room.madvise(mmap.MADV_HUGEPAGE if huge == 'true' else mmap.MADV_NOHUGEPAGE)
start = -np.frombuffer(room, np.uint8).ctypes.data % HUGE
keys = np.frombuffer(room, kind, count, start)

def fill(view):
    with subprocess.Popen([program, 'sort-job', job], stdout=subprocess.PIPE, bufsize=0) as source:
        at = 0
        while at < size:
            got = source.stdout.readinto(view[at:])
            if not got:
                raise EOFError('the keys end too early')
            at += got

PORTION = 1 << 15

def look(keys):
    digest = 0
    for at in range(0, count, PORTION):
        part = keys[at:at + PORTION]
        word = part.astype(np.uint64) if kind == 'uint32' else part.view(np.uint64).copy()
        word ^= word >> np.uint64(29)
        word *= np.uint64(0xbf58476d1ce4e5b9)
        word ^= word >> np.uint64(32)
        weight = np.arange(at, at + len(part), dtype=np.uint64) // np.uint64(piece) * np.uint64(2) + np.uint64(1)
        digest += int((word * weight).sum())
        # With the first key after the part; a step down is none between two pieces.
        further = keys[at:at + PORTION + 1]
        down = np.flatnonzero(~(further[:-1] <= further[1:]))
        if any((at + int(i) + 1) % piece for i in down):
            return None
    return digest

def resident():
    with open('/proc/self/status') as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith('VmRSS:'))

seconds = processor = digest = before = 0
source = None
for repetition in range(repeat):
    if source is None:
        fill(memoryview(keys).cast('B'))
        if repeat > 1:
            source = keys.copy()
        before = resident()
    else:
        keys[:] = source
    BEFORE
    cpu, clock = time.process_time(), time.perf_counter()
    SORT
    seconds += time.perf_counter() - clock
    processor += time.process_time() - cpu
    seen = look(RESULT)
    if seen is None:
        print(json.dumps({'Wrong': 'a key stands before a smaller one'}))
        sys.exit()
    digest += seen
print(json.dumps({'Done': {'seconds': seconds, 'processor': processor, 'resident': before, 'digest': digest % 2**64}}))
"#;

/// What is put into the script: imports, what comes before the clock, the sort, and where its result is.
fn parts(module: Module) -> [(&'static str, &'static str); 4] {
    match module {
        // One call for all pieces: rows of a table, sorted where they are.
        Module::Numpy => {
            [("IMPORT", ""), ("BEFORE", "rows = keys.reshape(-1, piece)"), ("SORT", "rows.sort()"), ("RESULT", "keys")]
        }
        Module::Polars => [
            ("IMPORT", "import polars as pl"),
            ("BEFORE", "series = pl.Series(keys)"),
            ("SORT", "result = series.sort()"),
            ("RESULT", "result.to_numpy()"),
        ],
    }
}

/// The library a module belongs to.
fn library(module: Module) -> Library {
    match module {
        Module::Numpy => Library::Numpy,
        Module::Polars => Library::Polars,
    }
}

/// The version of `module`, if it is here and sorts such keys in such pieces.
pub(super) fn version(module: Module, keys: Keys, whole: bool) -> Result<String, Trouble> {
    if dtype(keys).is_none() {
        return Err(Trouble::Unavailable("it sorts no pairs".into()));
    }
    if module == Module::Polars && !whole {
        return Err(Trouble::Unavailable("a call a piece costs more than the sorting".into()));
    }
    // Both need it: the array is NumPy's.
    Library::Numpy.version()?;
    library(module).version()
}

/// What NumPy calls such keys.
fn dtype(keys: Keys) -> Option<&'static str> {
    match keys {
        Keys::U32 => Some("uint32"),
        Keys::U64 => Some("uint64"),
        Keys::F64 => Some("float64"),
        Keys::Pairs | Keys::Stable => None,
    }
}

/// The process that carries out `order`.
pub(super) fn command(module: Module, order: &Order) -> Result<Command, Trouble> {
    let program = std::env::current_exe().map_err(|e| Trouble::failed("this program", e))?;
    let pour = serde_json::to_string(&Job::Pour(order.load)).map_err(|e| Trouble::failed("job", e))?;
    let script = parts(module).into_iter().fold(SCRIPT.to_owned(), |script, (name, text)| script.replace(name, text));
    let script = script.replace("'sort-job'", &format!("'{}'", job::COMMAND));
    let mut command = Command::new(interpreter());
    command.arg("-c").arg(script).arg(program).arg(pour).arg(dtype(order.load.keys).unwrap_or_default());
    let numbers = [order.load.count, order.piece, order.repeat].map(|number| number.to_string());
    command.args(numbers).arg((order.pages == Pages::Huge).to_string());
    Ok(command)
}
