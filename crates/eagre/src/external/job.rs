//! One sort: chunks of memory become the output, or runs that are merged into it.
//!
//! ```text
//! inputs ──> chunk ──> output                          all records fit into memory
//! inputs ──> chunk ──> run ┐
//!            chunk ──> run ├─ merge ──> output         else
//!            chunk ──> run ┘   (to longer runs first, if there are too many)
//! ```

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use eagre_mem::threads;

use super::budget::Budget;
use super::chunk::Chunk;
use super::inputs::{Input, Inputs};
use super::kernels::{self, InMemory, Merge, MergeError};
use super::plan::{self, Plan};
use super::run::{Run, RunReader, Temporary};
use super::{Delays, FileSorter, LEAST_MEMORY, Progress, Report, trouble};
use crate::Pipe;
use crate::doctor::available_memory;
use crate::file::{FileWriter, Output, ReadOptions, WriteOptions};
use crate::records::Format;
use crate::scan;
use crate::sort::Sorter;

/// How many bytes of a merge are put together before they go to the stream.
const BATCH: usize = 256 << 10;

pub(super) struct Job<'a, F> {
    pub(super) settings: &'a FileSorter<'a>,
    pub(super) format: &'a F,
    pub(super) budget: Budget,
    pub(super) temporary: Temporary,
    pub(super) report: Report,
    /// The size of the longest record that was merged.
    longest: usize,
    /// When the hook was called last.
    told: Option<Instant>,
}

impl<'a, F: Format> Job<'a, F> {
    pub(super) fn new(settings: &'a FileSorter<'a>, format: &'a F) -> io::Result<Self> {
        let half = || available_memory().map_or(1 << 30, |available| (available.bytes / 2).max(LEAST_MEMORY));
        let memory = settings.memory.unwrap_or_else(half);
        if memory < LEAST_MEMORY {
            let text = format!("sort: {memory} bytes of memory are too few; it takes {LEAST_MEMORY} at least");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let threads = if settings.threads == 0 { threads::available().get() } else { settings.threads };
        let budget = Budget::new(memory, threads);
        let temporary = Temporary::new(&settings.temporary);
        Ok(Job { settings, format, budget, temporary, report: Report::default(), longest: 0, told: None })
    }

    pub(super) fn delays(&self) -> Delays<'a> {
        Delays { device: self.settings.device, piece: None }
    }

    /// Tells the hook, unless it was just told.
    pub(super) fn tell(&mut self, phase: &'static str, done: u64, total: Option<u64>) -> io::Result<()> {
        const PAUSE: Duration = Duration::from_millis(50);
        let Some(hook) = self.settings.hook else { return Ok(()) };
        if self.told.is_some_and(|told| told.elapsed() < PAUSE) {
            return Ok(());
        }
        self.told = Some(Instant::now());
        match hook(Progress { phase, done, total }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(io::Error::new(io::ErrorKind::Interrupted, "sort: it was stopped")),
        }
    }

    pub(super) fn sort(mut self, inputs: Vec<Input>, output: Output, name: &Path) -> io::Result<Report> {
        let choice = plan::choose(self.settings, self.format, &self.budget, &inputs, &output)?;
        self.report.choice = Some(choice.clone());
        if let (Plan::OnePass | Plan::MergePass, [Input { name: from, from: scan::Input::File(file) }]) =
            (choice.plan, &inputs[..])
        {
            let (file, from) = (file.try_clone()?, from.clone());
            return self.sort_pointers(&file, &from, choice.plan, output, name);
        }
        let mut inputs = Inputs::new(inputs, self.budget.block);
        let all = !self.settings.unique && self.settings.head.is_none();
        if let Some(total) = inputs.total.filter(|_| all) {
            check_room(&output, name, total)?;
        }
        let mut runs = Vec::new();
        let mut chunk = Chunk::new(self.format, self.budget, self.settings.order)?;
        let mut output = Some(output);
        loop {
            let started = Instant::now();
            let before = inputs.done;
            let total = inputs.total;
            let more = chunk.fill(&mut inputs, &mut |done| self.tell("read", done, total))?;
            self.report.add("read", started, inputs.done - before, 0);
            let last = !more && runs.is_empty();
            if more && choice.plan == Plan::InMemory && self.settings.plan == Plan::InMemory {
                let text = "sort: --plan in-memory: the records do not fit into memory; use more with --memory, or another plan";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
            if more
                && runs.is_empty()
                && let Some(total) = total.filter(|_| all)
            {
                let written = output.as_ref().map_or(0, |output| if output.is_direct() { 0 } else { total });
                if let Some(output) = &output {
                    self.temporary.check_room(total, output, written)?;
                }
            }
            self.sort_chunk(&mut chunk)?;
            if last {
                let Some(output) = output.take() else { break };
                self.report.plan = Plan::InMemory;
                let mut writer = self.begin(output, name, total.filter(|_| all))?;
                let written = self.write_chunk(&mut chunk, "write", |bytes| Ok(writer.copy_in(bytes)?))?;
                drop(chunk);
                return self.end(&inputs, writer, written);
            }
            chunk.check_longest()?;
            let mut run = self.temporary.create(self.budget.block)?;
            self.write_chunk(&mut chunk, "write runs", |bytes| run.put(bytes))?;
            runs.push(run.finish(chunk.longest)?);
            if !more {
                break;
            }
        }
        drop(chunk);
        self.report.plan = Plan::Classic;
        self.report.runs = runs.len() as u64;
        let output = output.take().ok_or(io::ErrorKind::Other)?;
        self.merge_runs(runs, &inputs, output, name)
    }

    fn sort_chunk(&mut self, chunk: &mut Chunk<'_, F>) -> io::Result<()> {
        let started = Instant::now();
        self.tell("sort", 0, None)?;
        let sorter = Sorter::new().threads(self.budget.threads).slack(self.budget.slack as usize);
        chunk.sort(&sorter)?;
        self.report.records += chunk.parts().1.len() as u64;
        self.report.add("sort", started, 0, 0);
        Ok(())
    }

    /// Hands the records of a chunk to `put` in order, and returns how many bytes that were.
    fn write_chunk(
        &mut self,
        chunk: &mut Chunk<'_, F>,
        phase: &'static str,
        mut put: impl FnMut(&[u8]) -> io::Result<()> + Send,
    ) -> io::Result<u64> {
        let started = Instant::now();
        let index = chunk.index;
        let (bytes, words) = chunk.parts();
        let format = self.format;
        let mut unique = self.settings.unique;
        if let Some(head) = self.settings.head {
            if unique {
                kernels::keep_first(&index, format, bytes, words);
                unique = false;
            }
            words.truncate(usize::try_from(head).unwrap_or(usize::MAX));
        }
        let (mut written, mut failure) = (0, None);
        let (total, mean) = (Some(bytes.len() as u64), bytes.len() / words.len().max(1));
        let threads = self.budget.threads;
        let repeated = |before, word| kernels::is_repeated(&index, format, bytes, (before, word));
        let repeated = unique.then_some(&repeated as &(dyn Fn(u128, u128) -> bool + Sync));
        let source = InMemory { format, bytes };
        let this = Mutex::new(&mut *self);
        let delays = this.lock().unwrap_or_else(PoisonError::into_inner).delays();
        let wrote = |bytes: usize| delays.write(bytes as u64, || ());
        kernels::gather(&index, &source, words, mean, repeated, threads, &wrote, |bytes| {
            written += bytes.len() as u64;
            let mut this = this.lock().unwrap_or_else(PoisonError::into_inner);
            match put(bytes).and_then(|()| this.tell(phase, written, total)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        if let Some(failure) = failure {
            return Err(failure);
        }
        self.report.add(phase, started, 0, written);
        Ok(written)
    }

    /// Merges runs until there is one, which is the output.
    pub(super) fn merge_runs(
        mut self,
        mut runs: Vec<Run>,
        inputs: &Inputs,
        output: Output,
        name: &Path,
    ) -> io::Result<Report> {
        let mut at = 0;
        loop {
            let longest = runs.iter().map(|run| run.longest).max().unwrap_or(0);
            let budget = self.budget.merge(runs.len(), longest);
            if runs.len() <= budget.at_once {
                let total: u64 = runs.iter().map(|run| run.bytes).sum();
                let exact = !self.settings.unique && self.settings.head.is_none();
                let sources = runs.into_iter().map(|run| run.open(budget.block)).collect::<io::Result<_>>()?;
                let mut writer = self.begin(output, name, exact.then_some(total))?;
                let written = self.merge(sources, "merge", total, |bytes| Ok(writer.copy_in(bytes)?))?;
                return self.end(inputs, writer, written);
            }
            // As few as are needed for the rest to be merged at once. Neighbours, whose place the longer run takes: so records
            // with equal keys keep their order. The next merge takes the next ones, so no record is merged more often
            // than others by more than once.
            let take = (runs.len() - budget.at_once + 1).min(budget.at_once);
            if at + take > runs.len() {
                at = 0;
            }
            let behind = runs.split_off(at + take);
            let merged = runs.split_off(at);
            let total = merged.iter().map(|run| run.bytes).sum();
            let sources = merged.into_iter().map(|run| run.open(budget.block)).collect::<io::Result<_>>()?;
            let mut run = self.temporary.create(self.budget.block)?;
            self.merge(sources, "merge runs", total, |bytes| run.put(bytes))?;
            runs.push(run.finish(longest)?);
            runs.extend(behind);
            at += 1;
        }
    }

    /// Merges sources, and hands what comes out to `put`. Returns how many bytes that were.
    fn merge(
        &mut self,
        sources: Vec<RunReader>,
        phase: &'static str,
        total: u64,
        mut put: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<u64> {
        let started = Instant::now();
        self.report.merges += 1;
        let (order, delays) = (self.settings.order, self.delays());
        let names: Vec<String> = sources.iter().map(|source| source.name().to_owned()).collect();
        let why_unmerged = |error| why_unmerged(error, &names);
        let mut merge = Merge::new(self.format, sources, order).map_err(why_unmerged)?;
        let mut batch = Vec::new();
        eagre_mem::heap::reserve(&mut batch, 2 * BATCH).map_err(trouble)?;
        let mut last = LastKey::new(self.settings.unique);
        let mut left = self.settings.head.unwrap_or(u64::MAX);
        let (mut read, mut written) = (0_u64, 0_u64);
        while let Some(record) = merge.record()
            && left > 0
        {
            read += record.len() as u64;
            self.longest = self.longest.max(record.len());
            if !last.is_repeated(self.format, record)? {
                left -= 1;
                if batch.len() + record.len() > BATCH {
                    written += batch.len() as u64;
                    delays.read(batch.len() as u64, || ());
                    delays.write(batch.len() as u64, || put(&batch))?;
                    batch.clear();
                    self.tell(phase, read, Some(total))?;
                }
                if record.len() > BATCH {
                    written += record.len() as u64;
                    put(record)?;
                } else {
                    batch.extend_from_slice(record);
                }
            }
            merge.advance().map_err(why_unmerged)?;
        }
        put(&batch)?;
        written += batch.len() as u64;
        self.report.add(phase, started, read, written);
        Ok(written)
    }

    pub(super) fn merge_inputs(mut self, inputs: Vec<Input>, output: Output, name: &Path) -> io::Result<Report> {
        let mut listed = Inputs::new(Vec::new(), self.budget.block);
        let total = inputs.iter().try_fold(0_u64, |sum, input| sum.checked_add(input.bytes()?));
        listed.done = total.unwrap_or(0);
        self.report.plan = Plan::Classic;
        let at_once = self.budget.merge(inputs.len().max(1), 0).at_once;
        if inputs.len() <= at_once {
            let sources = self.open_inputs(inputs, &mut listed)?;
            let mut writer = self.begin(output, name, None)?;
            let written = self.merge(sources, "merge", total.unwrap_or(0), |bytes| Ok(writer.copy_in(bytes)?))?;
            return self.end(&listed, writer, written);
        }
        // Too many to be read at once: neighbours become runs.
        let (mut runs, mut inputs) = (Vec::new(), inputs.into_iter());
        while inputs.len() > 0 {
            let group: Vec<Input> = inputs.by_ref().take(at_once).collect();
            let total = group.iter().try_fold(0_u64, |sum, input| sum.checked_add(input.bytes()?));
            let sources = self.open_inputs(group, &mut listed)?;
            let mut run = self.temporary.create(self.budget.block)?;
            self.merge(sources, "merge runs", total.unwrap_or(0), |bytes| run.put(bytes))?;
            runs.push(run.finish(self.longest)?);
        }
        self.report.runs = runs.len() as u64;
        self.merge_runs(runs, &listed, output, name)
    }

    /// Begins to read inputs that are sorted.
    fn open_inputs(&self, inputs: Vec<Input>, listed: &mut Inputs) -> io::Result<Vec<RunReader>> {
        let budget = self.budget.merge(inputs.len().max(1), 0);
        let mut sources = Vec::new();
        for Input { name, from } in inputs {
            let reader = match from {
                scan::Input::Stream(reader) => reader,
                scan::Input::File(file) => {
                    listed.watch(&name, &file)?;
                    let stream = Pipe::builder().block_size(budget.block).lookback(0).explicit();
                    ReadOptions::new().explicit().stream(stream).read(file, PathBuf::from(&name))?
                }
            };
            let source = RunReader::new(reader, budget.block.bytes()).named(name);
            sources.push(source.ended_by(self.format.terminator()));
        }
        Ok(sources)
    }

    pub(super) fn begin(&self, output: Output, name: &Path, length: Option<u64>) -> io::Result<FileWriter> {
        let stream = Pipe::builder().block_size(self.budget.block).explicit();
        let options = WriteOptions::new().explicit().stream(stream);
        let options = match length {
            // A last line may get its end.
            Some(length) if self.format.terminator().is_none() => options.length(length),
            _ => options,
        };
        options.write(output, name)
    }

    pub(super) fn end(mut self, inputs: &Inputs, writer: FileWriter, written: u64) -> io::Result<Report> {
        let started = Instant::now();
        inputs.check_unchanged()?;
        writer.finish()?;
        self.report.add("sync", started, 0, 0);
        self.report.written = written;
        self.report.bytes = inputs.done;
        Ok(self.report)
    }
}

pub(super) fn check_room(output: &Output, name: &Path, bytes: u64) -> io::Result<()> {
    output.check_room(bytes).map_err(|error| crate::file::failure::Task::of("write", name).error(&error))
}

/// Why sources with these names could not be merged.
pub(super) fn why_unmerged(error: MergeError<io::Error>, names: &[String]) -> io::Error {
    match error {
        MergeError::Source { error, .. } => error,
        MergeError::Malformed(number, why) => {
            let name = names.get(number).map_or("a run", String::as_str);
            io::Error::new(io::ErrorKind::InvalidData, format!("read: {name}: {why}"))
        }
    }
}

/// The key that was written last.
struct LastKey {
    wanted: bool,
    key: Option<Vec<u8>>,
    scratch: Vec<u8>,
}

impl LastKey {
    fn new(wanted: bool) -> LastKey {
        LastKey { wanted, key: None, scratch: Vec::new() }
    }

    /// Whether the record has the key of the one before.
    fn is_repeated<F: Format>(&mut self, format: &F, record: &[u8]) -> io::Result<bool> {
        if !self.wanted {
            return Ok(false);
        }
        let key = format.key(record, &mut self.scratch);
        if self.key.as_deref() == Some(key) {
            return Ok(true);
        }
        let last = self.key.get_or_insert_default();
        last.clear();
        eagre_mem::heap::reserve(last, key.len()).map_err(trouble)?;
        last.extend_from_slice(key);
        Ok(false)
    }
}
