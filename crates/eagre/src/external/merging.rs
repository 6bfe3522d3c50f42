//! Merging runs.
//!
//! The output is cut into segments by keys, and each segment is a merge of its own: of the part of each run that has its
//! keys. Where the parts begin is known from samples of the runs. So several threads merge, each a segment at a time, and
//! the segments are put together in order.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::budget::MergeBudget;
use super::inputs::{Input, Inputs};
use super::job::Job;
use super::kernels::{Merge, MergeError, Order, Piece};
use super::passes::Passes;
use super::plan::Plan;
use super::run::{Run, RunReader};
use super::target::Target;
use super::{Report, trouble};
use crate::Pipe;
use crate::file::ReadOptions;
use crate::records::{Checksum, Format};
use crate::scan;

/// How many bytes of a merge are put together before they go to the stream.
const BATCH: usize = 256 << 10;

impl<F: Format> Job<'_, F> {
    /// Merges runs until there is one, which is the output.
    pub(super) fn merge_runs(
        mut self,
        mut runs: Vec<Run>,
        inputs: &Inputs,
        target: Target<'_>,
        name: &Path,
    ) -> io::Result<Report> {
        let mut passes = Passes::default();
        loop {
            let longest = runs.iter().map(|run| run.longest).max().unwrap_or(0);
            let budget = self.budget.merge(runs.len(), longest);
            let Some(group) = passes.next(runs.len(), budget.at_once) else {
                let total: u64 = runs.iter().map(|run| run.bytes).sum();
                let exact = !self.settings.unique && self.settings.head.is_none();
                let mut sink = self.begin(target, name, exact.then_some(total))?;
                let written = self.merge_together(&runs, &budget, "merge", |bytes| sink.copy_in(bytes))?;
                drop(runs);
                return self.end_records(inputs, sink, written, name);
            };
            let behind = runs.split_off(group.end);
            let merged = runs.split_off(group.start);
            let (format, mut run) = (self.format, self.temporary.create(self.budget.block)?);
            self.merge_together(&merged, &budget, "merge runs", |bytes| run.put(format, bytes))?;
            drop(merged);
            runs.push(run.finish(longest)?);
            runs.extend(behind);
        }
    }

    /// Merges runs by several threads if that is possible, and hands what comes out to `put`. Returns how many bytes that
    /// were.
    fn merge_together(
        &mut self,
        runs: &[Run],
        budget: &MergeBudget,
        phase: &'static str,
        mut put: impl FnMut(&[u8]) -> io::Result<()> + Send,
    ) -> io::Result<u64> {
        let total: u64 = runs.iter().map(|run| run.bytes).sum();
        let order = self.settings.order;
        // Readers that write later have nothing but their buffers, so segments, which may be larger than asked for, should fit.
        let controller = self.controller;
        let apart = controller.pace(budget.threads, true, None).apart;
        let segment = if apart { budget.segment / 4 * 3 } else { budget.segment };
        let bounds = bounds(runs, order, total, segment as u64);
        if budget.threads == 1 || bounds.is_empty() || self.settings.head.is_some() || !self.ordered {
            let sources = runs.iter().map(|run| run.open(budget.block)).collect::<io::Result<_>>()?;
            return self.merge(sources, phase, total, None, &[], put);
        }
        let started = Instant::now();
        self.report.merges += 1;
        let (format, delays, unique) = (self.format, self.delays(), self.settings.unique);
        let make = |number: usize, piece: &mut Piece<'_, '_>| {
            let lower = number.checked_sub(1).map(|before| &bounds[before][..]);
            let segment = Segment { lower, upper: bounds.get(number).map(|bound| &bound[..]), order };
            segment.merge(format, runs, budget, unique, piece)?;
            delays.read(piece.bytes(), || ());
            Ok(())
        };
        let mut written = 0;
        let mut put = |bytes: &[u8]| {
            for bytes in bytes.chunks(BATCH) {
                self.tell(phase, written, Some(total))?;
                written += bytes.len() as u64;
            }
            put(bytes)
        };
        let write = |bytes: u64| delays.write(bytes, || ());
        let pace = controller.pace(budget.threads, true, delays.slows().then_some(&write));
        pace.run(bounds.len() + 1, budget.segment, &make, &mut put)?;
        self.report.add(phase, budget.threads, started, total, written);
        Ok(written)
    }

    /// Merges sources, and hands what comes out to `put`. Returns how many bytes that were. All that is read is added to `sum`.
    /// `names` are those of inputs.
    fn merge(
        &mut self,
        sources: Vec<RunReader>,
        phase: &'static str,
        total: u64,
        mut sum: Option<&mut Checksum>,
        names: &[String],
        mut put: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<u64> {
        let started = Instant::now();
        self.report.merges += 1;
        let (order, delays) = (self.settings.order, self.delays());
        let why_unmerged = |error| match error {
            MergeError::Malformed(number, why) if number < names.len() => {
                io::Error::new(io::ErrorKind::InvalidData, format!("read: {}: {why}", names[number]))
            }
            error => why_unmerged(error),
        };
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
            if let Some(sum) = &mut sum {
                sum.include(self.format, record);
            }
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
        self.report.add(phase, 1, started, read, written);
        Ok(written)
    }

    pub(super) fn merge_inputs(mut self, inputs: Vec<Input>, target: Target<'_>, name: &Path) -> io::Result<Report> {
        self.check_verifiable(&target, name)?;
        self.ordered = false;
        let mut listed = Inputs::new(Vec::new(), self.budget.block);
        let total = inputs.iter().try_fold(0_u64, |sum, input| sum.checked_add(input.bytes()?));
        listed.done = total.unwrap_or(0);
        self.report.plan = Plan::Classic;
        let at_once = self.budget.merge(inputs.len().max(1), 0).at_once;
        if inputs.len() <= at_once {
            let names: Vec<String> = inputs.iter().map(|input| input.name.clone()).collect();
            let sources = self.open_inputs(inputs, &mut listed)?;
            let mut sink = self.begin(target, name, None)?;
            let (mut sum, total) = (self.checksum, total.unwrap_or(0));
            let put = |bytes: &[u8]| sink.copy_in(bytes);
            let written = self.merge(sources, "merge", total, sum.as_mut(), &names, put)?;
            self.checksum = sum;
            return self.end_records(&listed, sink, written, name);
        }
        // Too many to be read at once: neighbours become runs.
        let (mut runs, mut inputs, format) = (Vec::new(), inputs.into_iter(), self.format);
        while inputs.len() > 0 {
            let group: Vec<Input> = inputs.by_ref().take(at_once).collect();
            let names: Vec<String> = group.iter().map(|input| input.name.clone()).collect();
            let sources = self.open_inputs(group, &mut listed)?;
            let mut run = self.temporary.create(self.budget.block)?;
            let (mut sum, total) = (self.checksum, total.unwrap_or(0));
            self.merge(sources, "merge runs", total, sum.as_mut(), &names, |bytes| run.put(format, bytes))?;
            self.checksum = sum;
            runs.push(run.finish(self.longest)?);
        }
        self.report.runs = runs.len() as u64;
        self.merge_runs(runs, &listed, target, name)
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
                    ReadOptions::new().explicit().stream(stream).read(file, PathBuf::from(name))?
                }
            };
            sources.push(RunReader::new(reader, budget.block.bytes()).ended_by(self.format.terminator()));
        }
        Ok(sources)
    }
}

pub(super) fn why_unmerged(error: MergeError<io::Error>) -> io::Error {
    match error {
        MergeError::Source { error, .. } => error,
        MergeError::Malformed(number, why) => {
            io::Error::new(io::ErrorKind::InvalidData, format!("sort: input {}: {why}", number + 1))
        }
        MergeError::Memory(refused) => trouble(refused),
    }
}

/// The keys that cut what is in runs into segments of about `size` bytes.
fn bounds(runs: &[Run], order: Order, total: u64, size: u64) -> Vec<Vec<u8>> {
    let mut samples: Vec<(&[u8], u64)> = Vec::new();
    for run in runs {
        samples.extend(run.samples.iter().map(|(_, key)| (&key[..], run.stride)));
    }
    samples.sort_unstable_by(|a, b| order.of(a.0.cmp(b.0)));
    let (mut bounds, mut bytes): (Vec<Vec<u8>>, u64) = (Vec::new(), 0);
    if total <= size {
        return bounds;
    }
    for (key, stride) in samples {
        bytes += stride;
        if bytes > size && bounds.last().is_none_or(|last| last != key) {
            bounds.push(key.to_vec());
            bytes = 0;
        }
    }
    bounds
}

/// The keys from `lower` on, and below `upper`.
struct Segment<'a> {
    lower: Option<&'a [u8]>,
    upper: Option<&'a [u8]>,
    order: Order,
}

impl Segment<'_> {
    /// The range of bytes of a run that holds them, and some others on either side. Samples are beginnings of keys, and at
    /// least as long as a bound; so they are told from it by the bytes they have.
    fn range(&self, run: &Run) -> (u64, u64) {
        let before = |bound: &[u8]| run.samples.partition_point(|(_, key)| self.order.of(key[..].cmp(bound)).is_lt());
        let start = self.lower.and_then(|bound| before(bound).checked_sub(1)).map_or(0, |at| run.samples[at].0);
        let behind = |bound: &[u8]| run.samples.partition_point(|(_, key)| self.order.of(key[..].cmp(bound)).is_le());
        let end = self.upper.and_then(|bound| run.samples.get(behind(bound))).map_or(run.bytes, |sample| sample.0);
        (start, end.max(start))
    }

    fn merge<F: Format>(
        &self,
        format: &F,
        runs: &[Run],
        budget: &MergeBudget,
        unique: bool,
        piece: &mut Piece<'_, '_>,
    ) -> io::Result<()> {
        let mut sources = Vec::new();
        for run in runs {
            let (start, end) = self.range(run);
            sources.push(run.open_range(budget.block, start, end)?);
        }
        let mut merge = Merge::new(format, sources, self.order).map_err(why_unmerged)?;
        let mut last = LastKey::new(unique);
        let upper = self.upper.map(|bound| (merge.word_of(bound), bound));
        if let Some(bound) = self.lower {
            let word = merge.word_of(bound);
            while merge.is_before(word, bound) {
                merge.advance().map_err(why_unmerged)?;
            }
        }
        while upper.is_none_or(|(word, bound)| merge.is_before(word, bound))
            && let Some(record) = merge.record()
        {
            if !last.is_repeated(format, record)? {
                piece.push(record)?;
            }
            merge.advance().map_err(why_unmerged)?;
        }
        Ok(())
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
