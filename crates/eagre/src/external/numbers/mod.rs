//! Sorting files of numbers: a chunk of memory is nothing but keys, and a merge compares nothing but numbers.
//!
//! ```text
//! inputs ──> chunk ──> output                          all keys fit into memory
//! inputs ──> chunk ──> run ┐
//!            chunk ──> run ├─ merge ──> output         else
//!            chunk ──> run ┘   (to longer runs first, if there are too many)
//! ```
//!
//! If it is known that not all keys fit, there are two chunks of half the size: one is read while the other is sorted and
//! written.

mod merge;
mod source;
mod verify;

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use eagre_mem::heap;

use self::merge::{Bits, Merge};
use self::source::{Keys, Narrow, PIECE, Wide};
use self::verify::KeyRecords;
use super::inputs::{Found, Input, Inputs};
use super::job::Job;
use super::passes::Passes;
use super::plan::Plan;
use super::run::{Run, RunWriter};
use super::target::{Sink, check_room, check_verifiable};
use super::{FileSorter, Report, trouble};
use crate::file::{FileWriter, Output};
use crate::keys::{self, FileKey, Order};
use crate::sort::{SortError, Sorter};
use crate::{BlockSize, Pool, RewiredVec};

/// How many bytes are decoded, merged or written at a time: they are still in the cache when they are read again.
const BATCH: usize = 128 << 10;

/// Where sorted keys go.
#[expect(clippy::large_enum_variant, reason = "there is one of them")]
pub(super) enum Target<'o> {
    Open(Output),
    /// Opened when all has been read.
    Later(Box<dyn FnOnce() -> io::Result<Output> + 'o>),
}

/// The sort of one array of numbers.
pub(super) struct Numbers<'a, K> {
    job: Job<'a, ()>,
    order: Order,
    /// The most runs that are merged at once.
    at_once: usize,
    /// Keys as they are verified.
    records: KeyRecords<K>,
}

impl<'a, K: FileKey> Numbers<'a, K> {
    pub(super) fn new(settings: &'a FileSorter<'a>) -> io::Result<Self> {
        if let plan @ (Plan::OnePass | Plan::MergePass) = settings.plan {
            let text = format!("sort: --plan {plan}: numbers have no records to point to; use another plan");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let mut job = Job::new(settings, &())?;
        if let Some(slack) = settings.slack {
            job.budget = job.budget.slack(slack);
        }
        let mut order = Order::default();
        (order.reverse, order.by_first) = (settings.order.descending, settings.by_first && K::IS_PAIR);
        order.nan_last = settings.nan_last;
        let records = KeyRecords::new(order)?;
        Ok(Numbers { job, order, at_once: usize::MAX, records })
    }

    pub(super) fn sort(mut self, inputs: Vec<Input>, output: Target<'_>, name: &Path) -> io::Result<Report> {
        let mut inputs = Inputs::new(inputs, self.job.budget.block);
        if let Target::Open(output) = &output {
            self.check_verifiable(output, name)?;
        }
        let exact = inputs.total.filter(|_| self.keeps_all() && !self.job.settings.compression.is_output());
        if let (Target::Open(output), Some(total)) = (&output, exact) {
            check_room(output, name, total)?;
        }
        let chunk = self.job.budget.chunk;
        let mut runs = match inputs.total.filter(|&total| total > chunk) {
            Some(total) => {
                self.check_runs(total)?;
                let (mut one, mut other) = chunks(chunk, 2)?;
                self.make_runs_by_turns(&mut one, &mut other, &mut inputs)?
            }
            None => {
                // If a file grows meanwhile, or if nothing is known, there are several chunks after all.
                let (mut keys, _) = chunks(inputs.total.unwrap_or(chunk), 1)?;
                let more = self.fill(&mut keys, &mut inputs)?;
                if !more {
                    return self.write_all(&mut keys, &inputs, output, name);
                }
                self.check_runs(inputs.total.unwrap_or(0))?;
                self.make_runs(&mut keys, &mut inputs)?
            }
        };
        self.job.report.plan = Plan::Classic;
        self.job.report.runs = runs.len() as u64;
        self.merge_groups(&mut runs)?;
        let output = open(output, &inputs)?;
        self.check_verifiable(&output, name)?;
        self.merge_to(runs, &inputs, output, name)
    }

    fn check_verifiable(&self, output: &Output, name: &Path) -> io::Result<()> {
        if self.job.settings.verify { check_verifiable(output, name) } else { Ok(()) }
    }

    /// Whether the output has all keys of the inputs.
    fn keeps_all(&self) -> bool {
        !self.job.settings.unique && self.job.settings.head.is_none()
    }

    /// Checks that runs may be written, and have room.
    fn check_runs(&self, total: u64) -> io::Result<()> {
        if self.job.settings.plan == Plan::InMemory {
            let text =
                "sort: --plan in-memory: the keys do not fit into memory; use more with --memory, or another plan";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        if self.keeps_all() { self.job.temporary.check_room(total, None) } else { Ok(()) }
    }

    /// Replaces the keys by others of the inputs. True if these have more.
    fn fill(&mut self, keys: &mut RewiredVec<K>, inputs: &mut Inputs) -> io::Result<bool> {
        let (started, before) = (Instant::now(), inputs.done);
        keys.clear();
        let more = loop {
            let room = keys.limit() - keys.len();
            if room == 0 {
                break !inputs.is_at_end()?;
            }
            let (records, sum) = (&self.records, &mut self.job.checksum);
            let found = inputs.read_whole(K::WIDTH, BATCH.min(room.saturating_mul(K::WIDTH)), |bytes| {
                let (before, more) = (keys.len(), bytes.len() / K::WIDTH);
                keys.try_reserve(more).map_err(trouble)?;
                keys.resize(before + more, K::default());
                K::decode(bytes, &mut keys[before..]);
                if let Some(sum) = sum {
                    records.include(bytes, sum);
                }
                Ok(())
            })?;
            if matches!(found, Found::End) {
                break false;
            }
            self.job.tell("read", inputs.done, inputs.total)?;
        };
        self.job.report.records += keys.len() as u64;
        self.job.report.add("read", 1, started, inputs.done - before, 0);
        Ok(more)
    }

    /// Writes the output from memory.
    fn write_all(
        mut self,
        keys: &mut RewiredVec<K>,
        inputs: &Inputs,
        output: Target<'_>,
        name: &Path,
    ) -> io::Result<Report> {
        let output = open(output, inputs)?;
        self.check_verifiable(&output, name)?;
        let started = Instant::now();
        let chunk = Chunk::of(&self.job, self.order);
        let total = size_of_val(&keys[..]) as u64;
        let job = Mutex::new(&mut self.job);
        let mut stopped = Mutex::new(None);
        let count = chunk.arrange(keys, &|done: u64| {
            let told = job.lock().unwrap_or_else(PoisonError::into_inner).tell("sort", done, Some(total));
            told.map_err(|error| {
                *stopped.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            })
        });
        if let Some(error) = stopped.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(error);
        }
        let count = count.map_err(trouble)?;
        self.job.report.add("sort", self.job.budget.threads, started, 0, 0);
        self.job.report.plan = Plan::InMemory;

        let started = Instant::now();
        let keys = &keys[..count];
        let bytes = size_of_val(keys) as u64;
        let mut writer = self.job.create(output, name, Some(bytes))?;
        let mut written = 0;
        for piece in keys.chunks(BATCH / K::WIDTH) {
            keys::put(piece, &mut writer)?;
            written += size_of_val(piece) as u64;
            self.job.tell("write", written, Some(bytes))?;
        }
        self.job.report.add("write", 1, started, 0, written);
        self.finish(inputs, writer, written, name)
    }

    /// Makes runs of the keys in memory and of the rest of the inputs.
    fn make_runs(&mut self, keys: &mut RewiredVec<K>, inputs: &mut Inputs) -> io::Result<Vec<Run>> {
        let mut runs = Vec::new();
        loop {
            let started = Instant::now();
            self.job.tell("sort", 0, None)?;
            let run = self.job.temporary.create(self.job.budget.block)?;
            let run = Chunk::of(&self.job, self.order).to_run(keys, run)?;
            self.job.report.add("sort and write runs", self.job.budget.threads, started, 0, run.bytes);
            runs.push(run);
            let more = self.fill(keys, inputs)?;
            if !more && keys.is_empty() {
                return Ok(runs);
            }
        }
    }

    /// Makes runs of the inputs. One chunk is read while the other is sorted and written.
    fn make_runs_by_turns<'b>(
        &mut self,
        mut one: &'b mut RewiredVec<K>,
        mut other: &'b mut RewiredVec<K>,
        inputs: &mut Inputs,
    ) -> io::Result<Vec<Run>> {
        let mut runs = Vec::new();
        let mut more = self.fill(one, inputs)?;
        loop {
            let chunk = Chunk::of(&self.job, self.order);
            let run = self.job.temporary.create(self.job.budget.block)?;
            let (run, waited, filled) = std::thread::scope(|scope| {
                let work = std::thread::Builder::new().name("eagre-sort".into());
                let keys = &mut *one;
                let work = work.spawn_scoped(scope, move || chunk.to_run(keys, run))?;
                let filled = if more { self.fill(other, inputs) } else { Ok(false) };
                let waited = Instant::now();
                let run = work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                Ok::<_, io::Error>((run?, waited, filled))
            })?;
            self.job.report.add("sort and write runs", self.job.budget.threads, waited, 0, run.bytes);
            runs.push(run);
            if !more {
                return Ok(runs);
            }
            more = filled?;
            std::mem::swap(&mut one, &mut other);
        }
    }

    /// Merges runs until so few are left that one merge gives the output.
    fn merge_groups(&mut self, runs: &mut Vec<Run>) -> io::Result<()> {
        let mut passes = Passes::default();
        loop {
            let budget = self.job.budget.merge(runs.len(), PIECE);
            let Some(group) = passes.next(runs.len(), budget.at_once.min(self.at_once)) else { return Ok(()) };
            let behind = runs.split_off(group.end);
            let merged = runs.split_off(group.start);
            let mut run = self.job.temporary.create(self.job.budget.block)?;
            self.merge(merged, budget.block, "merge runs", |keys| run.put_keys(keys))?;
            runs.push(run.finish(K::WIDTH)?);
            runs.extend(behind);
        }
    }

    fn merge_to(mut self, runs: Vec<Run>, inputs: &Inputs, output: Output, name: &Path) -> io::Result<Report> {
        let block = self.job.budget.merge(runs.len(), PIECE).block;
        let total: u64 = runs.iter().map(|run| run.bytes).sum();
        let mut writer = self.job.create(output, name, self.keeps_all().then_some(total))?;
        let written = self.merge(runs, block, "merge", |keys| Ok(keys::put(keys, &mut writer)?))?;
        self.finish(inputs, writer, written, name)
    }

    fn merge(
        &mut self,
        runs: Vec<Run>,
        block: BlockSize,
        phase: &'static str,
        put: impl FnMut(&[K]) -> io::Result<()>,
    ) -> io::Result<u64> {
        let narrow = Narrow(self.order);
        if narrow.suffices::<K>() {
            self.merge_by(narrow, runs, block, phase, put)
        } else {
            self.merge_by(Wide(self.order), runs, block, phase, put)
        }
    }

    /// Merges runs, and hands what comes out to `put`. Returns how many bytes that were.
    fn merge_by<B: Bits<K>>(
        &mut self,
        bits: B,
        runs: Vec<Run>,
        block: BlockSize,
        phase: &'static str,
        mut put: impl FnMut(&[K]) -> io::Result<()>,
    ) -> io::Result<u64> {
        let started = Instant::now();
        self.job.report.merges += 1;
        let total: u64 = runs.iter().map(|run| run.bytes).sum();
        let mut sources = Vec::new();
        for run in runs {
            sources.push((Keys(run.stream(block)?), heap::list(PIECE / K::WIDTH).map_err(trouble)?));
        }
        let mut merge = Merge::new(bits, sources)?;
        let mut batch = heap::list(BATCH / K::WIDTH).map_err(trouble)?;
        batch.resize(BATCH / K::WIDTH, K::default());
        let settings = self.job.settings;
        let (delays, mut last) = (self.job.delays(), None);
        let mut left = settings.head.unwrap_or(u64::MAX);
        let (mut read, mut written) = (0, 0);
        while left > 0 {
            let count = merge.next(&mut batch)?;
            if count == 0 {
                break;
            }
            read += (count * K::WIDTH) as u64;
            delays.read((count * K::WIDTH) as u64, || ());
            let mut keys = &mut batch[..count];
            if settings.unique {
                let count = keys::unique(keys, self.order);
                let repeated = last.is_some_and(|last| self.order.compare(last, keys[0]).is_eq());
                keys = &mut keys[usize::from(repeated)..count];
                last = keys.last().copied().or(last);
            }
            let keys = &keys[..usize::try_from(left).map_or(keys.len(), |left| left.min(keys.len()))];
            left -= keys.len() as u64;
            delays.write(size_of_val(keys) as u64, || put(keys))?;
            written += size_of_val(keys) as u64;
            self.job.tell(phase, read, Some(total))?;
        }
        self.job.report.add(phase, 1, started, read, written);
        Ok(written)
    }

    fn finish(self, inputs: &Inputs, writer: FileWriter, written: u64, name: &Path) -> io::Result<Report> {
        // That the inputs are as they were has been checked; by now one of them may be the output.
        let mut read = Inputs::new(Vec::new(), self.job.budget.block);
        read.done = inputs.done;
        self.job.end_verified(&self.records, &[], &read, (Sink::File(writer), written), name)
    }
}

/// Opens the output when all has been read.
fn open(output: Target<'_>, inputs: &Inputs) -> io::Result<Output> {
    inputs.check_unchanged()?;
    match output {
        Target::Open(output) => Ok(output),
        Target::Later(open) => open(),
    }
}

/// One or two empty vectors, which have room for `bytes` bytes together.
fn chunks<K: FileKey>(bytes: u64, count: u64) -> io::Result<(RewiredVec<K>, RewiredVec<K>)> {
    let size = if bytes >= 128 << 20 { BlockSize::DEFAULT } else { BlockSize::MIN };
    let each = (bytes / count).div_ceil(size.bytes() as u64).clamp(1, 1 << 30);
    let pool = Pool::new(size, (each * count) as u32, None, None).map_err(trouble)?;
    let vector =
        |blocks: u64| RewiredVec::with_limit(&pool, blocks as usize * (size.bytes() / K::WIDTH)).map_err(trouble);
    Ok((vector(each)?, vector(if count == 1 { 1 } else { each })?))
}

/// How a chunk is sorted. It is independent of the job, which may do something else meanwhile.
#[derive(Clone, Copy)]
struct Chunk {
    order: Order,
    unique: bool,
    head: Option<usize>,
    threads: usize,
    slack: usize,
}

impl Chunk {
    fn of(job: &Job<'_, ()>, order: Order) -> Chunk {
        let settings = job.settings;
        let head = settings.head.map(|head| usize::try_from(head).unwrap_or(usize::MAX));
        let slack = usize::try_from(job.budget.slack).unwrap_or(usize::MAX);
        Chunk { order, unique: settings.unique, head, threads: job.budget.threads, slack }
    }

    /// Moves the keys to write to the front, in order, and returns how many there are. Calls `tell` with the number of bytes
    /// done.
    fn arrange<K: FileKey>(
        self,
        keys: &mut [K],
        tell: &(dyn Fn(u64) -> Result<(), ()> + Sync),
    ) -> Result<usize, SortError> {
        let Chunk { order, unique, head, threads, slack } = self;
        let hook = |progress: crate::sort::Progress| match tell(progress.done * K::WIDTH as u64) {
            Ok(()) => ControlFlow::Continue(()),
            Err(()) => ControlFlow::Break(()),
        };
        let sorter = Sorter::new().threads(threads).slack(slack).nan_last(order.nan_last).progress(&hook);
        match head.filter(|&head| !unique && !order.by_first && head < keys.len()) {
            Some(few) if order.reverse => sorter.largest(keys, few)?,
            Some(few) => sorter.smallest(keys, few)?,
            None if order.by_first => {
                // Reversed before and after, equal pairs keep their order.
                if order.reverse {
                    keys.reverse();
                }
                sorter.sort_by_first(keys)?;
                if order.reverse {
                    keys.reverse();
                }
            }
            None => sorter.descending(order.reverse).sort(keys)?,
        }
        let count = if unique { keys::unique(keys, order) } else { keys.len() };
        Ok(head.map_or(count, |head| head.min(count)))
    }

    /// Sorts keys and writes them to a run.
    fn to_run<K: FileKey>(self, keys: &mut [K], mut run: RunWriter) -> io::Result<Run> {
        let count = self.arrange(keys, &|_| Ok(())).map_err(trouble)?;
        for piece in keys[..count].chunks(BATCH / K::WIDTH) {
            run.put_keys(piece)?;
        }
        run.finish(K::WIDTH)
    }
}

#[cfg(test)]
mod tests;
