//! Count, minimum, mean and maximum per key of lines such as `Hamburg;12.3`; on request also variance and quantiles.
//!
//! The results are exact. Values are decimal numbers and are summed as integers, and the mean is rounded once, when it
//! is printed. So results do not depend on the number of threads, nor on where the text is cut. A line is a row if it
//! has a key and a value in the chosen columns:
//!
//! ```text
//! Hamburg;12.3          columns end with the delimiter, any byte; lines end with \n or \r\n
//! Bulawayo;-8.9         a value is [+-]digits[.digits][e[+-]digits], with at most 18 digits before the point (after the
//!                       exponent has moved it); blanks around it are ignored; it is rounded to 18 decimals
//!                       an empty line is neither a row nor an error
//! Zürich;n/a            an error that names the line; or, on request, a line to skip
//! ```
//!
//! A field is everything between two delimiters, unless [`Aggregator::csv`] gives quotes a meaning. A byte order mark
//! before the first line is skipped.
//!
//! # How it works
//! Rows are short, often fourteen bytes. So the cost is not in their bytes but in the waits of the processor: for the
//! end of a row, which tells where the next begins, for mispredicted branches, and for memory once there are many keys.
//! Therefore each block of text is processed in two passes. The first finds the positions of all delimiters and
//! newlines (`index.rs`), and the second processes the rows between them (`rows.rs`). Neither branches on the data as
//! long as all rows have the same shape. Other rows are processed one at a time (`tally.rs`).
//!
//! ```text
//! text ──▶ index ──▶ rows ──▶ table    one per thread, in its cache: short keys, while there is room for them
//!                         └─▶ batch ──▶ shared table    one for all threads: other keys, thousands of rows at a time
//! ```
//!
//! At the end, the small tables are merged into the shared one, and its keys are sorted (`order.rs`). A key takes 64
//! bytes in the shared table, 11 to 21 bytes of index while rows arrive, 16 bytes of order afterwards, and its own
//! bytes if there are more than 16. Memory is accounted for before it is used (`room.rs`). Exact numbers are in
//! `decimal.rs` and `summary.rs`. `join.rs` handles lines that are cut between pieces.

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

/// Aggregates values per key over one or more inputs.
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
    /// The rows of all inputs so far. `None` before the first input.
    known: Option<Shared>,
    decimals: u32,
    /// The number of threads for which tables are partitioned, and the details that they keep. Fixed by the first
    /// input.
    fixed: Option<(usize, Details)>,
    failure: Option<Refused>,
}

/// A summary of one input.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Added {
    /// The number of bytes in the input.
    pub bytes: u64,
    /// The number of lines, including a last line without a newline.
    pub lines: u64,
    /// The number of lines that were skipped because they are not rows.
    pub skipped: u64,
    /// The first of these: its line number, from 1, and what is wrong with it.
    pub first_skipped: Option<(u64, LineError)>,
}

impl Default for Aggregator<'_> {
    fn default() -> Self {
        Aggregator::new()
    }
}

impl<'a> Aggregator<'a> {
    /// The defaults: keys in column 1, values in column 2, `;` as the delimiter, and an error for a line that is not a
    /// row.
    #[must_use]
    pub fn new() -> Self {
        let layout = Layout { delimiter: b';', key: 0, value: 1, strict: true, csv: false };
        let (secret, details) = (shared::secret(), Details::default());
        let (header, scanner, known, decimals, fixed, failure) = (false, Scanner::new(), None, 0, None, None);
        Aggregator { layout, details, header, scanner, secret, known, decimals, fixed, failure }
    }

    setting_methods!(scanner.settings);

    /// The byte between columns. A newline is not a useful delimiter: each line then has one column.
    #[must_use]
    pub fn delimiter(mut self, byte: u8) -> Self {
        self.layout.delimiter = byte;
        self
    }

    /// The columns of the key and of the value, from 1. They may be equal.
    #[must_use]
    pub fn columns(mut self, key: NonZeroUsize, value: NonZeroUsize) -> Self {
        (self.layout.key, self.layout.value) = (key.get() - 1, value.get() - 1);
        self
    }

    /// Whether fields may be quoted with double quotes (RFC 4180). A quoted field may contain the delimiter, newlines,
    /// and doubled quotes. An input with newlines inside quotes is read by one thread.
    #[must_use]
    pub fn csv(mut self, yes: bool) -> Self {
        self.layout.csv = yes;
        self
    }

    /// Whether to skip the first line of every input.
    #[must_use]
    pub fn header(mut self, yes: bool) -> Self {
        self.header = yes;
        self
    }

    /// Whether lines that are not rows are skipped and counted. By default, they are an error.
    #[must_use]
    pub fn skip_bad(mut self, yes: bool) -> Self {
        self.layout.strict = !yes;
        self
    }

    /// Whether to compute variances ([`Group::variance`]). They take 40 more bytes per key. Must be set before the
    /// first input.
    #[must_use]
    pub fn variance(mut self, yes: bool) -> Self {
        self.details.squares = yes;
        self
    }

    /// Whether to compute quantiles ([`Group::quantile`]). They take 16 more bytes for each distinct value of a key.
    /// Must be set before the first input.
    #[must_use]
    pub fn quantiles(mut self, yes: bool) -> Self {
        self.details.values = yes;
        self
    }

    /// Adds the rows of a file. See [`input`](Self::input). Errors name the file.
    ///
    /// # Errors
    /// Those of opening the file, and those of [`input`](Self::input).
    pub fn file(&mut self, path: impl AsRef<Path>) -> Result<Added, StatsError> {
        let added = Input::open(&path).map_err(StatsError::Io).and_then(|input| self.input(input));
        added.map_err(|error| error.about(path.as_ref()))
    }

    /// Adds the rows of a file or a stream, from its present position to its end. The partitioning of the tables
    /// follows the number of threads that was set before the first input.
    ///
    /// A CSV file with newlines inside fields is read twice. The progress hook then starts from zero again.
    ///
    /// # Errors
    /// Those of [`Scanner::input`]. The first line that is not a row: then no row of this input was added.
    /// [`StatsError::Memory`]: then the aggregator has no result, and all further calls fail.
    pub fn input(&mut self, input: Input) -> Result<Added, StatsError> {
        if let Some(refused) = self.failure {
            return Err(refused.into_error(self.keys()));
        }
        if !self.layout.csv {
            return Ok(self.lines(Origin::of(input))?.0);
        }
        // If records turn out to span lines, the input must be read again. Only a file can be.
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

    /// Adds the rows of any source. Otherwise as [`input`](Self::input).
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

    /// Processes each line as a record. Returns true if that is wrong, because a CSV record spans lines. Then no row
    /// was added.
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
        // If memory was refused, text inside long quotes may have been taken for keys.
        let goes_on = lines.unclosed || (self.layout.csv && fresh.failure().is_some());
        if !goes_on {
            self.pour(&fresh, workers.into_iter().chain([tally]), &lines)?;
            self.take_in(fresh)?;
        }
        Ok((Added::new(bytes, lines), goes_on))
    }

    /// Processes records that may span lines.
    fn records(&mut self, origin: Origin<impl Read>) -> Result<Added, StatsError> {
        let fresh = self.fresh()?;
        let records = Records { question: self.question(&fresh)?, header: self.header };
        // Whether a byte is inside quotes is only known by reading from the beginning.
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

    /// A new table for the rows of one input.
    fn fresh(&mut self) -> Result<Shared, StatsError> {
        // All tables of this aggregator have the same partitioning and details.
        let threads = self.parts();
        let (threads, details) = *self.fixed.get_or_insert((threads, self.details));
        Shared::new(self.secret, threads, details).map_err(|refused| self.fail(refused, None))
    }

    /// The number of threads for which tables are partitioned. This asks for the processors of the affinity mask, which
    /// takes a microsecond. Asking for the quota of the control group takes longer than processing a small file.
    fn parts(&self) -> usize {
        match self.scanner.settings.threads {
            0 => sched_getaffinity(None).map_or(16, |processors| processors.count() as usize),
            threads => threads,
        }
    }

    /// Merges the tables of the threads into a table when all rows are in, unless a line is not a row.
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
        // If no row has reached the new table yet, the rest goes directly into the table of all inputs.
        let known = self.known.take();
        let to = known.as_ref().filter(|_| fresh.len() == 0).unwrap_or(fresh);
        let poured = tallies.flatten().try_for_each(|tally| {
            self.decimals = self.decimals.max(tally.finish(to)?);
            Ok(())
        });
        self.known = known;
        poured.map_err(|refused| self.fail(refused, Some(fresh)))
    }

    /// Merges the table of one input into the table of all inputs.
    fn take_in(&mut self, fresh: Shared) -> Result<(), StatsError> {
        match &self.known {
            None => self.known = Some(fresh),
            Some(known) => known.take_in(fresh).map_err(|refused| self.fail(refused, None))?,
        }
        Ok(())
    }

    /// Records that memory was refused, which makes any result impossible.
    fn fail(&mut self, refused: Refused, beside: Option<&Shared>) -> StatsError {
        self.failure = Some(refused);
        refused.into_error(self.keys() + beside.map_or(0, Shared::len))
    }

    /// The number of keys so far.
    fn keys(&self) -> usize {
        self.known.as_ref().map_or(0, Shared::len)
    }

    /// The result.
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

/// The source of the rows.
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

/// Count, minimum, mean and maximum per key of a file of `key;value` lines, with any byte as the delimiter. Uses all
/// threads that this process may use.
///
/// # Errors
/// Those of opening and reading the file, which name it. The first line that is not a row. Refused memory for the keys.
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
