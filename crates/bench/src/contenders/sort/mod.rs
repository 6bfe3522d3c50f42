//! Sorting in memory: everyone in a process of its own, on the same keys in an array on the same kind of pages.
//!
//! [`numbers`] makes the keys and knows whether they are sorted. Sorts in Rust ([`rust`]) and C++ ([`foreign`]) run in
//! this program once more, told by a [`job`] what to do; those of Python ([`python`]) in a script. A process makes
//! the keys, sorts them, looks at them; only the sorting is timed. What it took for that beside the array is the peak
//! of what was resident, seen from outside, less what was resident before.

#[allow(unsafe_code, reason = "keys on mappings")]
pub(crate) mod array;
#[allow(unsafe_code, reason = "calls of C++")]
pub(crate) mod foreign;
pub(crate) mod job;
pub(crate) mod numbers;
mod python;
pub(crate) mod rust;

use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use self::job::{Job, Load, Order, Reply};
use crate::catalogue::{By, Keys, Pattern, Sorting};
use crate::child;
use crate::contenders::file::own::locked;
use crate::contenders::{Contender, Measured, Process, Trouble};
use crate::corpus::Store;
use crate::memory::Pages;
use crate::outcome::Identity;

/// The least that is sorted between two looks at the clock, where pieces are small.
const BATCH: u64 = 1 << 17;

/// A contender that sorts.
struct Sorts {
    by: By,
    sorting: Sorting,
    library: Option<PathBuf>,
    version: Option<String>,
}

/// `by`, ready for `sorting`.
pub(super) fn build(by: By, sorting: Sorting, store: &Store) -> Result<Box<dyn Contender>, Trouble> {
    let library = match by {
        By::Foreign(foreign) => Some(foreign::library(foreign, store)?),
        _ => None,
    };
    let version = match by {
        By::Eagre(_) => Some(format!("eagre {}", env!("CARGO_PKG_VERSION"))),
        By::StdUnstable | By::StdStable => Some("Rust's standard library".into()),
        By::RayonUnstable => locked("rayon"),
        By::Radsort => locked("radsort"),
        By::Voracious => locked("voracious_radix_sort"),
        By::Rdst | By::RdstLow => locked("rdst"),
        By::Foreign(_) => library.as_deref().map_or(Ok(None), foreign::version)?,
        By::Python(module) => Some(python::version(module, sorting.keys, sorting.piece == u64::MAX)?),
    };
    Ok(Box::new(Sorts { by, sorting, library, version }))
}

impl Contender for Sorts {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let Sorting { keys, pattern, threads, pages, .. } = self.sorting;
        let piece = self.sorting.piece.min(size);
        let batch = piece.max(BATCH.min(size));
        let order = Order {
            load: Load { keys, pattern, count: batch as usize },
            piece: piece as usize,
            repeat: (size / batch) as usize,
            threads,
            pages,
            by: self.by,
            library: self.library.clone(),
        };
        let expected = expected(&order);
        let ended = child::run(&mut self.command(&order)?)?;
        let done = match last_line(&ended.output)? {
            Reply::Done(done) => done,
            Reply::Unavailable(why) => return Err(Trouble::Unavailable(why)),
            Reply::Wrong(why) => return Err(Trouble::Wrong(why)),
            Reply::Failed(why) => return Err(Trouble::Failed(why)),
        };
        Ok(Measured {
            took: Duration::from_secs_f64(done.seconds),
            amount: batch * order.repeat as u64,
            threads,
            answer: done.digest,
            expected,
            process: Some(Process {
                processor: done.processor,
                memory: ended.process.resident.saturating_sub(done.resident),
                resident: ended.process.resident,
            }),
            counters: vec![],
            timeline: vec![],
        })
    }

    fn identity(&self) -> Identity {
        Identity { version: self.version.clone(), command: None }
    }
}

impl Sorts {
    /// The process that carries out `order`.
    fn command(&self, order: &Order) -> Result<Command, Trouble> {
        let mut command = match self.by {
            By::Python(module) => python::command(module, order)?,
            _ => {
                let program = std::env::current_exe().map_err(|e| Trouble::failed("this program", e))?;
                let job = Job::Sort(order.clone());
                let job = serde_json::to_string(&job).map_err(|e| Trouble::failed("job", e))?;
                let mut command = Command::new(program);
                command.args([job::COMMAND, &job]);
                command
            }
        };
        for name in ["RAYON_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS"] {
            command.env(name, order.threads.to_string());
        }
        // Where the array has huge pages, what is allocated beside it has them too.
        let huge = if order.pages == Pages::Huge { "1" } else { "0" };
        command.env("GLIBC_TUNABLES", format!("glibc.malloc.hugetlb={huge}"));
        Ok(command)
    }
}

/// What a process says in the last line of its output: libraries may talk before.
fn last_line(output: &[u8]) -> Result<Reply, Trouble> {
    let last = output.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    serde_json::from_slice(last).map_err(|e| Trouble::failed("reply", e))
}

/// The digest of what `order` sorts; each is made once.
fn expected(order: &Order) -> u64 {
    type Key = (Keys, Pattern, usize, usize);
    static KNOWN: Mutex<Vec<(Key, u64)>> = Mutex::new(Vec::new());
    let Load { keys, pattern, count } = order.load;
    let key = (keys, pattern, count, order.piece);
    let mut known = KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let digest = known.iter().find(|(known, _)| *known == key).map(|(_, digest)| *digest).unwrap_or_else(|| {
        let digest = match keys {
            Keys::U32 => numbers::digest::<u32>(pattern, count, order.piece),
            Keys::U64 => numbers::digest::<u64>(pattern, count, order.piece),
            Keys::F64 => numbers::digest::<f64>(pattern, count, order.piece),
            Keys::Pairs | Keys::Stable => numbers::digest::<(u64, u64)>(pattern, count, order.piece),
        };
        known.push((key, digest));
        digest
    });
    digest.wrapping_mul(order.repeat as u64)
}
