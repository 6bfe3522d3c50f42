//! Sorting keys and pointers, and fetching the records from the input.
//!
//! ```text
//! OnePass     input ──keys──> words, sorted ───────────────────────> fetch records ──> output
//! MergePass   input ──keys──> words, sorted ──> runs ──> merge ──┘
//! ```
//!
//! The input is mapped. Its pages are those of the file, in the page cache or on a tmpfs, and there is no second copy of them: the
//! memory of the sort is that of the words.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Instant;

use eagre_mem::heap;

use super::inputs::Inputs;
use super::job::Job;
use super::kernels::{Index, Merge, Work, gather, is_repeated};
use super::merging::why_unmerged;
use super::passes::Passes;
use super::pieces::{self, Wanted};
use super::plan::Plan;
use super::pointed::Pointed;
use super::run::{Run, RunReader};
use super::target::{Sink, Target};
use super::{Delays, Report, trouble};
use crate::file::Output;
use crate::records::{Format, Malformed};
use crate::sort::Sorter;
use crate::{BlockSize, Pool, RewiredVec};

/// How many words of a merge are gathered at once.
const BATCH: usize = 1 << 16;

/// How far the records of words have been fetched and written.
struct Fetched<'w> {
    sink: Sink<'w>,
    /// How many bytes.
    written: u64,
}

/// Sorted words: in memory, or in runs if there are any.
pub(super) struct Words {
    pub(super) words: RewiredVec<u128>,
    pool: Pool,
    pub(super) runs: Vec<Run>,
}

impl<F: Format> Job<'_, F> {
    /// Sorts one regular file by pointers.
    pub(super) fn sort_pointers(
        mut self,
        file: &File,
        from: &str,
        plan: Plan,
        target: Target<'_>,
        name: &Path,
    ) -> io::Result<Report> {
        let length = file.metadata()?.len();
        if self.settings.head.is_none() && !self.settings.compression.is_output() {
            target.check_room(name, length)?;
        }
        let mut watched = Inputs::new(Vec::new(), self.budget.block);
        watched.watch(from, file)?;
        watched.done = length;
        self.report.plan = plan;
        let (sink, written) =
            Pointed::with(file, &watched, from, length, |input| self.sort_by_pointers(input, plan, target, name))?;
        self.end_records(&watched, sink, written, name)
    }

    fn sort_by_pointers<'w>(
        &mut self,
        input: &Pointed<'_>,
        plan: Plan,
        target: Target<'w>,
        name: &Path,
    ) -> io::Result<(Sink<'w>, u64)> {
        let mut index = Index::new(self.format, input.bytes.len() as u64, self.settings.order);
        let all = self.settings.head.is_none() && !self.settings.compression.is_output();
        let beside = target.unseen().filter(|_| all).map(|output| (output, input.bytes.len() as u64));
        let mut sorted = self.sort_words(input, &mut index, plan, beside)?;
        let total = self.settings.head.is_none().then_some(input.bytes.len() as u64);
        let sink = self.begin(target, name, total)?;
        let started = Instant::now();
        let fetched = if sorted.runs.is_empty() {
            if let Some(head) = self.settings.head {
                sorted.words.truncate(usize::try_from(head).unwrap_or(usize::MAX));
            }
            let mut fetched = Fetched { sink, written: 0 };
            self.fetch(input, &index, &sorted.words, &mut fetched)?;
            fetched
        } else {
            self.report.plan = Plan::MergePass;
            let mut fetched = Fetched { sink, written: 0 };
            self.merge_words(input, &index, sorted, |this, words| this.fetch(input, &index, words, &mut fetched))?;
            fetched
        };
        let Fetched { sink, written, .. } = fetched;
        self.report.add("gather", self.budget.threads, started, written, written);
        Ok((sink, written))
    }

    /// Sorts the words of all records: in memory if they fit and `plan` is not merge-pass, else in runs. `beside` is what will be
    /// written while these are there. The index learns how long the longest record is.
    pub(super) fn sort_words(
        &mut self,
        input: &Pointed<'_>,
        index: &mut Index,
        plan: Plan,
        beside: Option<(&Output, u64)>,
    ) -> io::Result<Words> {
        let size = if self.budget.chunk >= 128 << 20 { BlockSize::DEFAULT } else { BlockSize::MIN };
        let blocks = (self.budget.chunk / size.bytes() as u64).clamp(8, u64::from(u32::MAX)) as u32;
        let pool = Pool::new(size, blocks, None, None).map_err(trouble)?;
        let most = blocks as usize * (size.bytes() / 16);
        let mut words = RewiredVec::<u128>::with_limit(&pool, most).map_err(trouble)?;
        let (mut runs, mut at) = (Vec::new(), 0);
        loop {
            at = self.read_words(input, index, &mut words, at, most)?;
            *index = index.limited(self.longest);
            let started = Instant::now();
            self.report.records += words.len() as u64;
            let last = at == input.bytes.len();
            let fits = last && runs.is_empty() && plan != Plan::MergePass;
            // One pass may have been chosen by a wrong guess at the size of the records.
            if plan == Plan::OnePass && self.settings.plan == Plan::OnePass && !fits {
                let text = format!(
                    "sort: --plan one-pass: the keys of {} do not fit into memory; use more with --memory, or --plan merge-pass",
                    input.name
                );
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
            let sorter = Sorter::new().threads(self.budget.threads).slack(self.budget.slack as usize);
            if fits {
                index.sort(self.format, input.bytes, &mut words, &sorter).map_err(trouble)?;
            } else {
                index.sort_for_merge(self.format, input.bytes, &mut words, &sorter).map_err(trouble)?;
            }
            self.report.add("sort", self.budget.threads, started, 0, 0);
            if fits {
                break;
            }
            if runs.is_empty() {
                // The rest of the input has as many records for its bytes.
                let all = 16.0 * words.len() as f64 * input.bytes.len() as f64 / at as f64;
                self.temporary.check_room(all as u64, beside)?;
            }
            runs.push(self.write_words(&words)?);
            words.clear();
            if last {
                break;
            }
        }
        Ok(Words { words, pool, runs })
    }

    /// Reads records from `at` on until `words` is full, and returns where they end.
    fn read_words(
        &mut self,
        input: &Pointed<'_>,
        index: &Index,
        words: &mut RewiredVec<u128>,
        mut at: usize,
        most: usize,
    ) -> io::Result<usize> {
        let started = Instant::now();
        let (start, total) = (at, Some(input.bytes.len() as u64));
        'all: while at < input.bytes.len() {
            let cut = pieces::cut(self.format, input.bytes, at, 8 * self.budget.threads, true);
            let cut = cut.map_err(|why| malformed(input, why))?;
            let bytes = cut.iter().map(|range| range.len() as u64).sum();
            let wanted = Wanted { sum: self.checksum.is_some(), seen: None };
            let made =
                || pieces::words(self.format, index, input.bytes, &cut, self.budget.threads, wanted).map_err(trouble);
            let made = self.delays().read(bytes, made)?;
            for (range, made) in cut.iter().zip(made) {
                if words.len() + made.words.len() > most {
                    break 'all;
                }
                words.try_extend_from_slice(&made.words).map_err(trouble)?;
                self.longest = self.longest.max(made.longest);
                if let Some(sum) = &mut self.checksum {
                    *sum += made.checksum;
                }
                at = range.end;
            }
            input.check_unchanged()?;
            self.tell("read keys", at as u64, total)?;
        }
        self.report.add("read keys", self.budget.threads, started, (at - start) as u64, 0);
        Ok(at)
    }

    /// Writes a run of words.
    fn write_words(&mut self, words: &[u128]) -> io::Result<Run> {
        let started = Instant::now();
        let mut run = self.temporary.create(self.budget.block)?;
        let mut bytes = Vec::new();
        for piece in words.chunks(1 << 14) {
            bytes.clear();
            heap::reserve(&mut bytes, 16 * piece.len()).map_err(trouble)?;
            piece.iter().for_each(|word| bytes.extend_from_slice(&word.to_be_bytes()));
            run.put_bytes(&bytes)?;
        }
        self.report.runs += 1;
        self.report.add("write runs", 1, started, 0, 16 * words.len() as u64);
        run.finish(16)
    }

    /// Fetches the records of words, and writes them.
    fn fetch(
        &mut self,
        input: &Pointed<'_>,
        index: &Index,
        words: &[u128],
        Fetched { sink, written }: &mut Fetched<'_>,
    ) -> io::Result<()> {
        let threads = self.budget.threads;
        let mean = (input.bytes.len() as u64 / self.report.records.max(1)) as usize;
        let (format, total) = (self.format, Some(input.bytes.len() as u64));
        let writing = self.delays();
        let fetching = Delays { piece: Some(mean as u64), ..writing };
        let fetching = |bytes: u64, fetch: Work<'_>| fetching.read(bytes, fetch);
        let write = |bytes: u64| writing.write(bytes, || ());
        let pace = self.controller.pace(threads, true, writing.slows().then_some(&write));
        let mut put = |bytes: &[u8]| {
            *written += bytes.len() as u64;
            input.check_unchanged()?;
            sink.copy_in(bytes)?;
            self.tell("gather", *written, total)
        };
        gather(index, (format, input.bytes), words, mean, None, &pace, &fetching, &mut put)
    }

    /// Merges runs of words to a longer one.
    fn merge_to_run(&mut self, format: &WordRecords<'_, F>, runs: Vec<Run>, block: BlockSize) -> io::Result<Run> {
        let started = Instant::now();
        self.report.merges += 1;
        let total = runs.iter().map(|run| run.bytes).sum();
        let mut merge = Merge::new(format, open(runs, block)?, self.settings.order).map_err(why_unmerged)?;
        let mut run = self.temporary.create(self.budget.block)?;
        let mut bytes = Vec::new();
        heap::reserve(&mut bytes, 16 * BATCH).map_err(trouble)?;
        while let Some(word) = merge.record() {
            if bytes.len() == 16 * BATCH {
                run.put_bytes(&bytes)?;
                bytes.clear();
            }
            bytes.extend_from_slice(word);
            merge.advance().map_err(why_unmerged)?;
        }
        run.put_bytes(&bytes)?;
        self.report.add("merge runs", 1, started, total, total);
        run.finish(16)
    }

    /// Merges runs of words, and hands what comes out to `put`, some words at a time.
    pub(super) fn merge_words(
        &mut self,
        input: &Pointed<'_>,
        index: &Index,
        sorted: Words,
        mut put: impl FnMut(&mut Self, &[u128]) -> io::Result<()>,
    ) -> io::Result<()> {
        let Words { words, pool, mut runs } = sorted;
        drop(words);
        drop(pool);
        let format = WordRecords { index, format: self.format, bytes: input.bytes };
        let budget = self.budget.merge(runs.len(), 16);
        let mut passes = Passes::default();
        while let Some(group) = passes.next(runs.len(), budget.at_once) {
            let behind = runs.split_off(group.end);
            let merged = self.merge_to_run(&format, runs.split_off(group.start), budget.block)?;
            runs.push(merged);
            runs.extend(behind);
        }
        self.report.merges += 1;
        let mut merge = Merge::new(&format, open(runs, budget.block)?, self.settings.order).map_err(why_unmerged)?;
        let mut left = self.settings.head.unwrap_or(u64::MAX);
        let mut words = Vec::new();
        heap::reserve(&mut words, BATCH).map_err(trouble)?;
        let mut last = None;
        loop {
            words.clear();
            while words.len() < BATCH && left > 0 {
                let Some(word) = merge.record() else { break };
                let word = u128::from_be_bytes(word.try_into().unwrap_or_default());
                let before = last.replace(word).filter(|_| self.settings.unique);
                if !before.is_some_and(|last| is_repeated(index, self.format, input.bytes, (last, word))) {
                    words.push(word);
                    left -= 1;
                }
                merge.advance().map_err(why_unmerged)?;
            }
            if words.is_empty() {
                return Ok(());
            }
            put(self, &words)?;
        }
    }
}

fn open(runs: Vec<Run>, block: BlockSize) -> io::Result<Vec<RunReader>> {
    runs.into_iter().map(|run| run.open(block)).collect()
}

fn malformed(input: &Pointed<'_>, why: Malformed) -> io::Error {
    let at = input.bytes.len() as u64 - why.bytes();
    io::Error::new(io::ErrorKind::InvalidData, format!("read: {}: {why}, from byte {at} on", input.name))
}

/// Words in a run as records. Those whose keys agree in all bits are told apart by the records they point to.
struct WordRecords<'a, F> {
    index: &'a Index,
    format: &'a F,
    bytes: &'a [u8],
}

impl<F: Format> Format for WordRecords<'_, F> {
    #[inline]
    fn length(&self, bytes: &[u8], _: bool) -> Result<Option<usize>, Malformed> {
        Ok((bytes.len() >= 16).then_some(16))
    }

    fn key<'a>(&self, record: &'a [u8], scratch: &'a mut Vec<u8>) -> &'a [u8] {
        let word = u128::from_be_bytes(record.try_into().unwrap_or_default());
        let key = self.format.key(self.index.record(self.format, self.bytes, word), scratch).to_vec();
        *scratch = key;
        scratch
    }

    /// The bits of the key. The merge turns them if the order descends; here they are turned already.
    #[inline]
    fn prefix(&self, record: &[u8], _: &mut Vec<u8>) -> u128 {
        let word = u128::from_be_bytes(record.try_into().unwrap_or_default());
        self.index.order().turn(self.index.key_bits(word))
    }

    fn key_size(&self) -> Option<usize> {
        self.format.key_size().filter(|&size| size <= self.index.prefix())
    }

    fn record_size(&self) -> Option<usize> {
        Some(16)
    }
}
