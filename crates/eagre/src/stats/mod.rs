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
//! Fields are what stands between delimiters, unless [`Aggregator::csv`] says that quotes mean something. A byte order mark in
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
mod error;
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

use std::io::{self, Read, Seek, SeekFrom};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;

use rustix::thread::sched_getaffinity;

pub use answer::{Group, Table};
pub use decimal::{Decimal, NoDecimal};
pub use error::StatsError;
pub use layout::LineError;
pub use summary::Sum;

use crate::scan::{Input, Scan, ScanError, Scanned, Scanner, setting_methods};
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
/// use eagre::stats::Aggregator;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("temperatures");
/// std::fs::write(&path, "Oslo;-1.5\nRoma;20.0\nOslo;3.0\n")?;
///
/// let mut aggregator = Aggregator::new().variance(true);
/// aggregator.file(&path)?;
/// aggregator.read(&b"Roma;24.0\n"[..])?;
/// let table = aggregator.finish()?;
/// let oslo = table.get(0).expect("two keys");
/// assert_eq!((oslo.key, oslo.count), (&b"Oslo"[..], 2));
/// assert_eq!(oslo.mean(table.decimals()).to_text(1), "0.8");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Aggregator<'a> {
    layout: Layout,
    details: Details,
    header: bool,
    scanner: Scanner<'a>,
    secret: Block,
    /// From the first input on.
    known: Option<Shared>,
    decimals: u32,
    /// From the first input on: for how many threads tables are cut, and what is kept.
    fixed: Option<(usize, Details)>,
    failure: Option<Refused>,
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

impl Default for Aggregator<'_> {
    fn default() -> Self {
        Aggregator::new()
    }
}

impl<'a> Aggregator<'a> {
    /// Keys in the first column, values in the second, `;` between them; every line must be a row.
    #[must_use]
    pub fn new() -> Self {
        let layout = Layout { delimiter: b';', key: 0, value: 1, strict: true, csv: false };
        let (secret, details) = (shared::secret(), Details::default());
        let (header, scanner, known, decimals, fixed, failure) = (false, Scanner::new(), None, 0, None, None);
        Aggregator { layout, details, header, scanner, secret, known, decimals, fixed, failure }
    }

    setting_methods!(scanner.settings);

    /// The byte between columns. A newline cannot be one: lines then have one column.
    #[must_use]
    pub fn delimiter(mut self, byte: u8) -> Self {
        self.layout.delimiter = byte;
        self
    }

    /// The columns of key and value, from 1. They may be the same.
    #[must_use]
    pub fn columns(mut self, key: NonZeroUsize, value: NonZeroUsize) -> Self {
        (self.layout.key, self.layout.value) = (key.get() - 1, value.get() - 1);
        self
    }

    /// Whether fields may be in double quotes (RFC 4180): then they may hold the delimiter, newlines, and quotes written
    /// twice. An input with newlines in quotes is read by one thread.
    #[must_use]
    pub fn csv(mut self, yes: bool) -> Self {
        self.layout.csv = yes;
        self
    }

    /// Whether the first line of every input is to be passed over.
    #[must_use]
    pub fn header(mut self, yes: bool) -> Self {
        self.header = yes;
        self
    }

    /// Whether lines that are no rows are skipped and counted, instead of being an error.
    #[must_use]
    pub fn skip_bad(mut self, yes: bool) -> Self {
        self.layout.strict = !yes;
        self
    }

    /// Whether variances are wanted ([`Group::variance`]): 40 bytes more a key. To be said before the first input.
    #[must_use]
    pub fn variance(mut self, yes: bool) -> Self {
        self.details.squares = yes;
        self
    }

    /// Whether quantiles are wanted ([`Group::quantile`]): 16 bytes more for each different value of a key. To be said
    /// before the first input.
    #[must_use]
    pub fn quantiles(mut self, yes: bool) -> Self {
        self.details.values = yes;
        self
    }

    /// Adds the rows of a file: see [`input`](Self::input). Errors name the file.
    ///
    /// # Errors
    /// Those of opening the file, and those of [`input`](Self::input).
    pub fn file(&mut self, path: impl AsRef<Path>) -> Result<Added, StatsError> {
        let added = Input::open(&path).map_err(StatsError::Io).and_then(|input| self.input(input));
        added.map_err(|error| error.about(path.as_ref()))
    }

    /// Adds the rows of a file or a stream, from its present position to its end. Keeps as many tables as the threads that
    /// were set before the first input.
    ///
    /// A CSV file whose fields hold newlines is read twice: the progress hook then begins again.
    ///
    /// # Errors
    /// Those of [`Scanner::input`], and the first line that is no row: then nothing of this input was added.
    /// [`StatsError::Memory`] is final: there will be no answer.
    pub fn input(&mut self, input: Input) -> Result<Added, StatsError> {
        if let Some(refused) = self.failure {
            return Err(refused.into_error(self.keys()));
        }
        if !self.layout.csv {
            return Ok(self.lines(Origin::of(input))?.0);
        }
        // Only a file can be read once more, if records turn out to be longer than a line.
        let again = match &input {
            Input::File(file) => {
                file.try_clone().ok().and_then(|mut again| Some((again.stream_position().ok()?, again)))
            }
            Input::Stream(_) => None,
        };
        let Some((start, mut again)) = again else { return self.records(Origin::of(input)) };
        match self.lines(Origin::of(input))? {
            (added, false) => Ok(added),
            (_, true) => {
                again.seek(SeekFrom::Start(start)).map_err(StatsError::Io)?;
                self.records(Origin::of(again.into()))
            }
        }
    }

    /// Adds the rows of anything that can be read. Otherwise as [`input`](Self::input).
    ///
    /// # Errors
    /// As for [`input`](Self::input).
    pub fn read(&mut self, source: impl Read) -> Result<Added, StatsError> {
        if let Some(refused) = self.failure {
            return Err(refused.into_error(self.keys()));
        }
        let origin = Origin::Read(source);
        if self.layout.csv { self.records(origin) } else { Ok(self.lines(origin)?.0) }
    }

    /// Takes lines for records. True if that is wrong for CSV, where one may go on in the next line; then nothing was added.
    fn lines(&mut self, origin: Origin<impl Read>) -> Result<(Added, bool), StatsError> {
        let fresh = self.fresh()?;
        let question = self.question(&fresh)?;
        let mut joiner = Joiner::new(&question, self.header);
        let scanned = origin.scan(&mut self.scanner, &question, |_, part| {
            joiner.part(part);
            if joiner.failed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let Scanned { workers, bytes, .. } = scanned?;
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
    fn records(&mut self, origin: Origin<impl Read>) -> Result<Added, StatsError> {
        let fresh = self.fresh()?;
        let records = Records { question: self.question(&fresh)?, header: self.header };
        // What is inside quotes is only known from the beginning.
        let mut alone = self.scanner.clone().threads(1);
        let scanned =
            origin.scan(
                &mut alone,
                &records,
                |_, goes_on| {
                    if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                },
            );
        let Scanned { workers, bytes, .. } = scanned?;
        let mut all = Lines::default();
        for reading in workers {
            let (tally, lines) = reading.finish(&records);
            self.pour(&fresh, [tally].into_iter(), &lines)?;
            all.append(lines);
        }
        self.take_in(fresh)?;
        Ok(Added::new(bytes, all))
    }

    fn question<'s>(&self, shared: &'s Shared) -> Result<Question<'s>, StatsError> {
        let details = self.fixed.map_or(self.details, |(_, details)| details);
        let kernels = self.scanner.settings.kernels().map_err(StatsError::Io)?;
        Ok(Question { layout: self.layout, level: Level::of(kernels.simd()), details, shared })
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
        match self.scanner.settings.threads {
            0 => sched_getaffinity(None).map_or(16, |processors| processors.count() as usize),
            threads => threads,
        }
    }

    /// What threads have when all rows are in goes into a table, unless a line is no row.
    fn pour<'s>(
        &mut self,
        fresh: &'s Shared,
        tallies: impl Iterator<Item = Option<Tally<'s>>>,
        lines: &Lines,
    ) -> Result<(), StatsError> {
        if let Some(refused) = fresh.failure() {
            return Err(self.fail(refused, Some(fresh)));
        }
        if let (true, Some((before, error))) = (self.layout.strict, &lines.first) {
            return Err(StatsError::Line { file: None, line: before + 1, error: error.clone() });
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
        let threads = if keys < 1 << 16 { 1 } else { self.scanner.thread_count() };
        let shards = self.known.map_or_else(|| Ok(Default::default()), Shared::finish);
        let table = shards.and_then(|shards| Table::new(shards, threads, self.decimals));
        table.map_err(|refused| refused.into_error(keys))
    }
}

/// Where rows come from.
enum Origin<R> {
    Input(Input),
    Read(R),
}

impl Origin<io::Empty> {
    fn of(input: Input) -> Self {
        Origin::Input(input)
    }
}

impl<R: Read> Origin<R> {
    fn scan<S: Scan>(
        self,
        scanner: &mut Scanner<'_>,
        scan: &S,
        deliver: impl FnMut(u64, S::Part) -> ControlFlow<()>,
    ) -> Result<Scanned<S::Worker>, ScanError> {
        match self {
            Origin::Input(input) => scanner.input(input, scan, deliver),
            Origin::Read(source) => scanner.read(source, scan, deliver),
        }
    }
}

impl Added {
    fn new(bytes: u64, lines: Lines) -> Added {
        let first_skipped = lines.first.map(|(before, error)| (before + 1, error));
        Added { bytes, lines: lines.count, skipped: lines.bad, first_skipped }
    }
}

/// Count, smallest, mean and largest value per key of a file of `key;value` lines, with any byte in place of `;`. Uses all
/// threads this process may use.
///
/// # Errors
/// Those of opening and reading the file, with its name; the first line that is no row; a lack of memory for the keys.
///
/// # Example
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("temperatures");
/// std::fs::write(&path, "Oslo,-1.5\nRoma,20.0\nOslo,3.0\n")?;
/// let table = eagre::stats::file(&path, b',')?;
/// let largest: Vec<_> = table.iter().map(|group| (group.key, group.max.to_string())).collect();
/// assert_eq!(largest, [(&b"Oslo"[..], "3".to_string()), (b"Roma", "20".to_string())]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn file(path: impl AsRef<Path>, delimiter: u8) -> Result<Table, StatsError> {
    let mut aggregator = Aggregator::new().delimiter(delimiter);
    aggregator.file(path)?;
    aggregator.finish()
}
