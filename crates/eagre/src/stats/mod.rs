//! Count, smallest, mean and largest value per key of lines such as `Hamburg;12.3`; on demand variance and quantiles.
//!
//! The answer is exact: values are decimal numbers and are added up as integers, so the mean is rounded once, when it is
//! printed, and the same whatever the number of threads and wherever the text was cut. A line is a row if it has a key
//! and a value, in the columns that were asked for:
//!
//! ```text
//! Hamburg;12.3          columns end with the delimiter, any byte, and the line with \n or \r\n
//! Bulawayo;-8.9         a value is [+-]digits[.digits][e[+-]digits], with at most 18 digits before the point once the
//!                       exponent has moved it, and blanks around; decimals beyond the eighteenth are rounded
//!                       an empty line is no row and no error
//! Zürich;n/a            an error that names the line, or a line to skip
//! ```
//!
//! Fields are what stands between delimiters, unless [`Stats::csv`] says that quotes mean something. A byte order mark in
//! front of the first line is passed over.
//!
//! # How
//! Rows are short, fourteen bytes perhaps, so what costs is not their bytes but a processor that waits: for the end of
//! one row to know where the next begins, for every branch it guessed wrong, and for memory once there are many keys. So a
//! block of text is passed over twice, first for the positions of all delimiters and newlines (`index.rs`), then for the
//! rows between them (`rows.rs`), and neither pass branches on what it reads as long as rows look alike. Rows that do not
//! are taken one at a time (`tally.rs`).
//!
//! ```text
//! text ──▶ index ──▶ rows ──▶ table    of this thread, in its cache: short keys, as many as there is room for
//!                         └─▶ batch ──▶ shared table    of all threads, in parts: all others, some thousands at a time
//! ```
//!
//! At the end the small tables are poured into the shared one, and its keys are put in order (`order.rs`). A key costs 64
//! bytes there, 11 to 21 of index while rows come, 16 of order when they have come, and its own if it has more than 16.
//! Memory is asked for before it is taken (`room.rs`). Exact numbers are in `decimal.rs` and `summary.rs`, and `join.rs`
//! sees to the lines that are cut.

mod answer;
mod batch;
mod chunks;
mod csv;
mod decimal;
mod fixed;
mod index;
mod join;
#[allow(unsafe_code, reason = "SIMD kernels")]
mod kernels;
mod layout;
mod number;
mod order;
mod room;
mod rows;
mod shard;
mod shared;
mod squares;
mod summary;
mod table;
mod tally;
#[cfg(test)]
mod tests;
mod values;

use std::fmt;
use std::io::{self, Seek, SeekFrom};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use rustix::thread::sched_getaffinity;

pub use answer::{Group, Table};
pub use decimal::{Decimal, NoDecimal};
pub use layout::LineError;
pub use summary::Sum;

use crate::doctor::{Available, Bound};
use crate::scan::{Input, Scanned, Scanner};
use join::{Joiner, Records};
use kernels::Level;
use layout::Layout;
use room::Refused;
use shard::Details;
use shared::Shared;
use table::Block;
use tally::{Lines, Question, Tally};

/// Collects values per key from one input after another.
///
/// ```
/// use eagre::stats::Stats;
/// # let file = { use std::io::{Seek, Write}; let mut file = tempfile::tempfile()?; file.write_all(b"Oslo;-1.5\nRoma;20.0\nOslo;3.0\n")?; file.rewind()?; file };
///
/// let mut stats = Stats::new();
/// stats.add(file.into(), |_bytes| ())?;
/// let table = stats.finish()?;
/// let oslo = table.get(0).expect("two keys");
/// assert_eq!((oslo.key, oslo.count), (&b"Oslo"[..], 2));
/// assert_eq!(oslo.mean(table.decimals()).to_text(1), "0.8");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Stats {
    layout: Layout,
    details: Details,
    header: bool,
    scanner: Scanner,
    level: Level,
    secret: Block,
    /// From the first input on.
    known: Option<Shared>,
    decimals: u32,
    threads: Option<NonZeroUsize>,
    /// From the first input on: for how many threads tables are cut, and what is kept.
    fixed: Option<(usize, Details)>,
    failure: Option<Refused>,
}

/// An input could not be added: nothing of it was. Or there is no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum StatsError {
    /// It could not be read to its end.
    Io(io::Error),
    /// A line of it is no row.
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        error: LineError,
    },
    /// There is no memory for so many keys.
    Memory {
        /// How many there were.
        keys: u64,
        /// How many bytes they took.
        taken: u64,
        /// What was left, if the system was asked before.
        available: Option<Available>,
    },
}

impl fmt::Display for StatsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        match self {
            StatsError::Io(error) => error.fmt(f),
            StatsError::Line { line, error } => write!(f, "line {line}: {error}"),
            StatsError::Memory { keys, taken, available } => {
                write!(f, "out of memory: {keys} keys so far take {} MiB, ", mib(*taken))?;
                let Some(Available { bytes, bound, .. }) = available else {
                    return f.write_str("and the system gives no more");
                };
                let whose = match bound {
                    Bound::AddressSpace => "of addresses ",
                    Bound::ControlGroup => "in the control group ",
                    Bound::Machine => "",
                };
                write!(f, "and {} MiB {whose}are left", mib(*bytes))
            }
        }
    }
}

impl std::error::Error for StatsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StatsError::Io(error) => Some(error),
            StatsError::Line { .. } | StatsError::Memory { .. } => None,
        }
    }
}

/// What was added.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Added {
    /// How many bytes the input had.
    pub bytes: u64,
    /// How many lines, a last one without a newline included.
    pub lines: u64,
    /// How many of them were skipped because they are no rows.
    pub skipped: u64,
    /// The first of those: its number, from 1, and what is wrong with it.
    pub first_skipped: Option<(u64, LineError)>,
}

impl Default for Stats {
    fn default() -> Stats {
        Stats::new()
    }
}

impl Stats {
    /// Keys in the first column, values in the second, `;` between them; every line must be a row. Uses as many threads
    /// as the process may use processors.
    #[must_use]
    pub fn new() -> Stats {
        let layout = Layout { delimiter: b';', key: 0, value: 1, strict: true, csv: false };
        let (level, secret, details) = (Level::chosen(), shared::secret(), Details::default());
        let scanner = Scanner::default();
        let (header, known, decimals, threads, fixed, failure) = (false, None, 0, None, None, None);
        Stats { layout, details, header, scanner, level, secret, known, decimals, threads, fixed, failure }
    }

    /// The byte between columns. A newline cannot be one: lines then have one column.
    #[must_use]
    pub fn delimiter(mut self, byte: u8) -> Stats {
        self.layout.delimiter = byte;
        self
    }

    /// The columns of key and value, from 1. They may be the same.
    #[must_use]
    pub fn columns(mut self, key: NonZeroUsize, value: NonZeroUsize) -> Stats {
        (self.layout.key, self.layout.value) = (key.get() - 1, value.get() - 1);
        self
    }

    /// Whether fields may be in double quotes (RFC 4180): then they may hold the delimiter, newlines, and quotes written
    /// twice. An input with newlines in quotes is read by one thread.
    #[must_use]
    pub fn csv(mut self, yes: bool) -> Stats {
        self.layout.csv = yes;
        self
    }

    /// Whether the first line of every input is to be passed over.
    #[must_use]
    pub fn header(mut self, yes: bool) -> Stats {
        self.header = yes;
        self
    }

    /// Whether lines that are no rows are skipped and counted, instead of being an error.
    #[must_use]
    pub fn skip_bad(mut self, yes: bool) -> Stats {
        self.layout.strict = !yes;
        self
    }

    /// Whether variances are wanted ([`Group::variance`]): 40 bytes more a key. To be said before the first input.
    #[must_use]
    pub fn variance(mut self, yes: bool) -> Stats {
        self.details.squares = yes;
        self
    }

    /// Whether quantiles are wanted ([`Group::quantile`]): 16 bytes more for each different value of a key. To be said
    /// before the first input.
    #[must_use]
    pub fn quantiles(mut self, yes: bool) -> Stats {
        self.details.values = yes;
        self
    }

    /// How many threads look at an input at most. To be said before the first input.
    #[must_use]
    pub fn threads(mut self, threads: NonZeroUsize) -> Stats {
        self.scanner = self.scanner.threads_at_most(threads);
        self.threads = Some(threads);
        self
    }

    /// Adds the rows of an input. `progress` is told now and then how many bytes are done.
    ///
    /// # Errors
    /// Of reading, and the first line that is no row: then nothing of this input was added. [`StatsError::Memory`] is final:
    /// there will be no answer.
    pub fn add(&mut self, input: Input, mut progress: impl FnMut(u64)) -> Result<Added, StatsError> {
        if let Some(refused) = self.failure {
            return Err(refused.into_error(self.keys()));
        }
        if !self.layout.csv {
            return Ok(self.lines(input, &mut progress)?.0);
        }
        // Only a file can be read once more, if records turn out to be longer than a line.
        let again = match &input {
            Input::File(file) => {
                file.try_clone().ok().and_then(|mut again| Some((again.stream_position().ok()?, again)))
            }
            Input::Stream(_) => None,
        };
        let Some((start, mut again)) = again else { return self.records(input, &mut progress) };
        match self.lines(input, &mut progress)? {
            (added, false) => Ok(added),
            (_, true) => {
                again.seek(SeekFrom::Start(start)).map_err(StatsError::Io)?;
                self.records(again.into(), &mut progress)
            }
        }
    }

    /// Takes lines for records. True if that is wrong for CSV, where one may go on in the next line; then nothing was added.
    fn lines(&mut self, input: Input, progress: &mut impl FnMut(u64)) -> Result<(Added, bool), StatsError> {
        let fresh = self.fresh()?;
        let question = self.question(&fresh);
        let mut joiner = Joiner::new(&question, self.header);
        let scanned = self.scanner.run(input, &question, |bytes, part| {
            joiner.part(part);
            progress(bytes);
            if joiner.failed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let Scanned { workers, bytes, .. } = scanned.map_err(|error| StatsError::Io(error.into()))?;
        let (tally, lines) = joiner.finish();
        // Without memory for it: what is inside long quotes may have been taken for keys.
        let goes_on = lines.unclosed || (self.layout.csv && fresh.failure().is_some());
        if !goes_on {
            self.pour(&fresh, workers.into_iter().chain([tally]), &lines)?;
            self.take_in(fresh)?;
        }
        Ok((Added::new(bytes, lines), goes_on))
    }

    /// Takes in records that may go over several lines.
    fn records(&mut self, input: Input, progress: &mut impl FnMut(u64)) -> Result<Added, StatsError> {
        let fresh = self.fresh()?;
        let records = Records { question: self.question(&fresh), header: self.header };
        let scanned = Scanner::new(NonZeroUsize::MIN).run(input, &records, |bytes, goes_on| {
            progress(bytes);
            if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        let Scanned { workers, bytes, .. } = scanned.map_err(|error| StatsError::Io(error.into()))?;
        let mut all = Lines::default();
        for reading in workers {
            let (tally, lines) = reading.finish(&records);
            self.pour(&fresh, [tally].into_iter(), &lines)?;
            all.append(lines);
        }
        self.take_in(fresh)?;
        Ok(Added::new(bytes, all))
    }

    fn question<'a>(&self, shared: &'a Shared) -> Question<'a> {
        let details = self.fixed.map_or(self.details, |(_, details)| details);
        Question { layout: self.layout, level: self.level, details, shared }
    }

    /// A table for the rows of one input.
    fn fresh(&mut self) -> Result<Shared, StatsError> {
        // All tables are cut alike, and keep the same, as long as this one lives.
        let threads = self.parts();
        let (threads, details) = *self.fixed.get_or_insert((threads, self.details));
        Shared::new(self.secret, threads, details).map_err(|refused| self.fail(refused, None))
    }

    /// How many parts a table has: several for each thread there may be. Counts processors as the system does, which takes
    /// a microsecond; what a control group allows takes longer than a small file.
    fn parts(&self) -> usize {
        let threads = self.threads.map(NonZeroUsize::get);
        threads.unwrap_or_else(|| sched_getaffinity(None).map_or(16, |processors| processors.count() as usize))
    }

    /// What threads have when all rows are in goes into a table, unless a line is no row.
    fn pour<'a>(
        &mut self,
        fresh: &'a Shared,
        tallies: impl Iterator<Item = Option<Tally<'a>>>,
        lines: &Lines,
    ) -> Result<(), StatsError> {
        if let Some(refused) = fresh.failure() {
            return Err(self.fail(refused, Some(fresh)));
        }
        if let (true, Some((before, error))) = (self.layout.strict, &lines.first) {
            return Err(StatsError::Line { line: before + 1, error: error.clone() });
        }
        // If nothing has got there yet, what little there is goes to where all of it ends up.
        let known = self.known.take();
        let to = known.as_ref().filter(|_| fresh.len() == 0).unwrap_or(fresh);
        let poured = tallies.flatten().try_for_each(|tally| {
            self.decimals = self.decimals.max(tally.finish(to)?);
            Ok(())
        });
        self.known = known;
        poured.map_err(|refused| self.fail(refused, Some(fresh)))
    }

    /// What is known of an input goes to what is known of all.
    fn take_in(&mut self, fresh: Shared) -> Result<(), StatsError> {
        match &self.known {
            None => self.known = Some(fresh),
            Some(known) => known.take_in(fresh).map_err(|refused| self.fail(refused, None))?,
        }
        Ok(())
    }

    /// There was no memory: there will be no answer.
    fn fail(&mut self, refused: Refused, beside: Option<&Shared>) -> StatsError {
        self.failure = Some(refused);
        refused.into_error(self.keys() + beside.map_or(0, Shared::len))
    }

    /// How many keys are known.
    fn keys(&self) -> usize {
        self.known.as_ref().map_or(0, Shared::len)
    }

    /// The answer.
    ///
    /// # Errors
    /// [`StatsError::Memory`].
    pub fn finish(mut self) -> Result<Table, StatsError> {
        let keys = self.keys();
        if let Some(refused) = self.failure {
            return Err(refused.into_error(keys));
        }
        let threads = if keys < 1 << 16 { 1 } else { self.scanner.threads().get() };
        let shards = self.known.map_or_else(|| Ok(Default::default()), Shared::finish);
        let table = shards.and_then(|shards| Table::new(shards, threads, self.decimals));
        table.map_err(|refused| refused.into_error(keys))
    }
}

impl Added {
    fn new(bytes: u64, lines: Lines) -> Added {
        let first_skipped = lines.first.map(|(before, error)| (before + 1, error));
        Added { bytes, lines: lines.count, skipped: lines.bad, first_skipped }
    }
}
