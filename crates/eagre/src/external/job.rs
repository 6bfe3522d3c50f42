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
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use eagre_mem::threads;

use super::budget::Budget;
use super::chunk::Chunk;
use super::concurrency::Controller;
use super::inputs::{Input, Inputs};
use super::kernels;
use super::plan::{self, Chosen, Plan};
use super::run::Temporary;
use super::target::{self, Sink, Target};
use super::verify::{self, Expected};
use super::{Delays, FileSorter, LEAST_MEMORY, Progress, Report};
use crate::doctor::{Available, Bound, available_memory};
use crate::file::{FileWriter, Output};
use crate::records::{Checksum, Format};
use crate::scan;
use crate::sort::Sorter;

pub(super) struct Job<'a, F> {
    pub(super) settings: &'a FileSorter<'a>,
    pub(super) format: &'a F,
    pub(super) budget: Budget,
    pub(super) temporary: Temporary,
    /// Who reads and writes at the same time.
    pub(super) controller: Controller,
    pub(super) report: Report,
    /// Which records the inputs have, if the output must have the same.
    pub(super) checksum: Option<Checksum>,
    /// The size of the longest record that was merged or that words point to.
    pub(super) longest: usize,
    /// Whether the runs are in order for sure: inputs that are said to be sorted may not be.
    pub(super) ordered: bool,
    /// When the hook was called last.
    told: Option<Instant>,
}

impl<'a, F> Job<'a, F> {
    pub(super) fn new(settings: &'a FileSorter<'a>, format: &'a F) -> io::Result<Self> {
        let memory = settings.memory.unwrap_or_else(default_memory);
        if memory < LEAST_MEMORY {
            let text = format!("sort: {memory} bytes of memory are too few; it takes {LEAST_MEMORY} at least");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let threads = if settings.threads == 0 { threads::available().get() } else { settings.threads };
        let budget = settings.compression.within(Budget::new(memory, threads));
        let temporary = Temporary::new(&settings.temporary);
        #[cfg(feature = "compressed")]
        let temporary = if settings.compression.runs { temporary.packed_by(budget.threads) } else { temporary };
        let same = settings.verify && !settings.unique && settings.head.is_none();
        let checksum = same.then(Checksum::default);
        let controller = Controller::new(settings, budget.threads, None);
        let report = Report { began: Some(Instant::now()), concurrency: controller.model, ..Report::default() };
        Ok(Job {
            settings,
            format,
            budget,
            temporary,
            controller,
            report,
            checksum,
            longest: 0,
            ordered: true,
            told: None,
        })
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

    /// Begins to write a file.
    pub(super) fn create(&self, output: Output, name: &Path, length: Option<u64>) -> io::Result<FileWriter> {
        target::create(self.settings.compression, &self.budget, output, name, length)
    }

    /// Completes the output.
    pub(super) fn end(mut self, inputs: &Inputs, sink: Sink<'_>, written: u64) -> io::Result<Report> {
        let started = Instant::now();
        inputs.check_unchanged()?;
        sink.finish()?;
        self.report.add("sync", 1, started, 0, 0);
        self.report.written = written + self.settings.header.len() as u64;
        self.report.bytes = inputs.done;
        self.report.temporary = self.temporary.stored();
        Ok(self.report)
    }
}

impl<F: Format> Job<'_, F> {
    pub(super) fn sort(mut self, inputs: Vec<Input>, target: Target<'_>, name: &Path) -> io::Result<Report> {
        self.check_verifiable(&target, name)?;
        let Chosen { choice, profiles } =
            plan::choose(self.settings, self.format, &self.budget, &inputs, target.file())?;
        self.controller = Controller::new(self.settings, self.budget.threads, profiles.as_ref());
        self.report.concurrency = self.controller.model;
        self.report.choice = Some(choice.clone());
        if let (Plan::OnePass | Plan::MergePass, [Input { name: from, from: scan::Input::File(file) }]) =
            (choice.plan, &inputs[..])
        {
            let (file, from) = (file.try_clone()?, from.clone());
            return self.sort_pointers(&file, &from, choice.plan, target, name);
        }
        let mut inputs = Inputs::new(inputs, self.budget.block);
        self.sort_whole(&mut inputs, target, name).inspect_err(|error| inputs.fail(error))
    }

    /// Sorts whole records.
    fn sort_whole(mut self, inputs: &mut Inputs, target: Target<'_>, name: &Path) -> io::Result<Report> {
        let all = !self.settings.unique && self.settings.head.is_none();
        if let Some(total) = inputs.total.filter(|_| all && !self.settings.compression.is_output()) {
            target.check_room(name, total)?;
        }
        let mut runs = Vec::new();
        let distinct = self.settings.unique && self.settings.plan != Plan::InMemory;
        let mut chunk = Chunk::new(self.format, self.budget, self.settings.order, distinct)?;
        chunk.checksum = self.checksum;
        let mut target = Some(target);
        loop {
            let started = Instant::now();
            let before = inputs.done;
            let total = inputs.total;
            let more = chunk.fill(inputs, &mut |done| self.tell("read", done, total))?;
            self.report.add("read", self.budget.threads, started, inputs.done - before, 0);
            self.checksum = chunk.checksum;
            let last = !more && runs.is_empty();
            if more && self.settings.plan == Plan::InMemory {
                let text = "sort: --plan in-memory: the records do not fit into memory; use more with --memory, or another plan";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
            if more
                && runs.is_empty()
                && let Some(total) = total.filter(|_| all)
            {
                let beside = target.as_ref().and_then(Target::unseen).map(|output| (output, total));
                self.temporary.check_room(total, beside)?;
            }
            self.sort_chunk(&mut chunk)?;
            if last {
                let Some(target) = target.take() else { break };
                self.report.plan = Plan::InMemory;
                let mut sink = self.begin(target, name, total.filter(|_| all))?;
                let written = self.write_chunk(&mut chunk, "write", |bytes| sink.copy_in(bytes))?;
                drop(chunk);
                return self.end_records(inputs, sink, written, name);
            }
            chunk.check_longest()?;
            let format = self.format;
            let mut run = self.temporary.create(self.budget.block)?;
            self.write_chunk(&mut chunk, "write runs", |bytes| run.put(format, bytes))?;
            runs.push(run.finish(chunk.longest)?);
            if !more {
                break;
            }
        }
        drop(chunk);
        self.report.plan = Plan::Classic;
        self.report.runs = runs.len() as u64;
        let target = target.take().ok_or(io::ErrorKind::Other)?;
        self.merge_runs(runs, inputs, target, name)
    }

    fn sort_chunk(&mut self, chunk: &mut Chunk<'_, F>) -> io::Result<()> {
        let started = Instant::now();
        self.tell("sort", 0, None)?;
        let sorter = Sorter::new().threads(self.budget.threads).slack(self.budget.slack as usize);
        chunk.sort(&sorter)?;
        self.report.records += chunk.records;
        self.report.add("sort", self.budget.threads, started, 0, 0);
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
        let mut written = 0;
        let (total, mean) = (Some(bytes.len() as u64), bytes.len() / words.len().max(1));
        let threads = self.budget.threads;
        let repeated = |before, word| kernels::is_repeated(&index, format, bytes, (before, word));
        let repeated = unique.then_some(&repeated as &(dyn Fn(u128, u128) -> bool + Sync));
        let delays = self.delays();
        let write = |bytes: u64| delays.write(bytes, || ());
        let pace = self.controller.pace(threads, false, delays.slows().then_some(&write));
        let mut put = |bytes: &[u8]| {
            written += bytes.len() as u64;
            put(bytes)?;
            self.tell(phase, written, total)
        };
        kernels::gather(&index, (format, bytes), words, mean, repeated, &pace, &|_, fetch| fetch(), &mut put)?;
        self.report.add(phase, threads, started, 0, written);
        Ok(written)
    }

    pub(super) fn begin<'w>(&self, target: Target<'w>, name: &Path, length: Option<u64>) -> io::Result<Sink<'w>> {
        let header = self.settings.header;
        // A last line may get its end.
        let length = length.filter(|_| self.format.terminator().is_none());
        let mut sink = target.begin(
            self.settings.compression,
            &self.budget,
            name,
            length.map(|length| length + header.len() as u64),
        )?;
        sink.copy_in(header)?;
        Ok(sink)
    }

    /// Completes an output of records, which is verified if that is wanted.
    pub(super) fn end_records(self, inputs: &Inputs, sink: Sink<'_>, written: u64, name: &Path) -> io::Result<Report> {
        let (format, header) = (self.format, self.settings.header);
        self.end_verified(format, header, inputs, (sink, written), name)
    }
}

impl<F: Sync> Job<'_, F> {
    /// Completes an output of records of a format behind a header, which is verified if that is wanted.
    pub(super) fn end_verified<G: Format>(
        mut self,
        format: &G,
        header: &[u8],
        inputs: &Inputs,
        (sink, written): (Sink<'_>, u64),
        name: &Path,
    ) -> io::Result<Report> {
        if !self.settings.verify {
            return self.end(inputs, sink, written);
        }
        let started = Instant::now();
        inputs.check_unchanged()?;
        sink.finish_checked(|output| self.verify(format, header, output, written, name))?;
        self.report.add("verify", self.budget.threads, started, written, 0);
        self.report.written = written + header.len() as u64;
        self.report.bytes = inputs.done;
        self.report.temporary = self.temporary.stored();
        Ok(self.report)
    }

    /// # Errors
    /// The output is to be verified, and cannot be read back.
    pub(super) fn check_verifiable(&self, target: &Target<'_>, name: &Path) -> io::Result<()> {
        if self.settings.verify { target.check_verifiable(name) } else { Ok(()) }
    }

    fn verify<G: Format>(
        &mut self,
        format: &G,
        header: &[u8],
        output: &Output,
        written: u64,
        name: &Path,
    ) -> io::Result<()> {
        let FileSorter { order, unique, compression, .. } = *self.settings;
        let (descending, checksum) = (order.descending, self.checksum);
        let expected = Expected { header, descending, unique, bytes: written, compression, checksum };
        let place = crate::file::name::shown(name.as_os_str().as_encoded_bytes());
        let threads = self.budget.threads;
        let this = Mutex::new(&mut *self);
        let hook = |done| {
            let mut this = this.lock().unwrap_or_else(PoisonError::into_inner);
            match this.tell("verify", done, Some(written)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        };
        verify::records(format, output, &place, &expected, threads, &hook)
    }
}

/// Half of the memory that is available. Where addresses are limited, memory takes several times as many: in a pool, in
/// vectors, and in the heap of each thread.
fn default_memory() -> u64 {
    let memory = match available_memory() {
        Some(Available { bytes, bound: Bound::AddressSpace, .. }) => bytes / 8,
        Some(Available { bytes, .. }) => bytes / 2,
        None => 1 << 30,
    };
    memory.max(LEAST_MEMORY)
}
