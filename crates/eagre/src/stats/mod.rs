//! Count, smallest, mean and largest value per key of lines such as `Hamburg;12.3`.
//!
//! The answer is exact: values are decimal numbers and are added up as integers, so the mean is rounded once, when it is
//! printed, and the same whatever the number of threads and wherever the text was cut. A line is a row if it has a key
//! and a value, in the columns that were asked for:
//!
//! ```text
//! Hamburg;12.3          columns end with the delimiter, any byte, and the line with \n or \r\n
//! Bulawayo;-8.9         a value is [+-]digits[.digits]: 18 digits before the point, 18 behind it, blanks around
//!                       an empty line is no row and no error
//! Zürich;n/a            an error that names the line, or a line to skip
//! ```
//!
//! Fields are what stands between delimiters: quotes mean nothing, so a field cannot hold the delimiter or a newline.
//!
//! # How
//! Rows are short, fourteen bytes perhaps, so what costs is not their bytes but a processor that waits: for the end of
//! one row to know where the next begins, and for every branch it guessed wrong. So a block of text is passed over
//! twice, first for the positions of all delimiters and newlines (`index.rs`), then for the rows between them
//! (`rows.rs`), and neither pass branches on what it reads as long as rows look alike. Rows that do not are taken one at
//! a time (`tally.rs`). The table is in `table.rs`, exact numbers are in `decimal.rs`, and `join.rs` sees to the lines
//! that are cut.

mod decimal;
mod fixed;
mod index;
mod join;
#[allow(unsafe_code, reason = "SIMD kernels")]
mod kernels;
mod rows;
mod table;
mod tally;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use memchr::memchr_iter;

pub use decimal::Decimal;

use crate::scan::{Input, Scanner};
use decimal::Summary;
use join::{Joiner, Question};
use kernels::Level;
use tally::Tally;

/// Collects values per key from one input after another.
///
/// ```
/// use eagre::stats::Stats;
/// # let file = { use std::io::{Seek, Write}; let mut file = tempfile::tempfile()?; file.write_all(b"Oslo;-1.5\nRoma;20.0\nOslo;3.0\n")?; file.rewind()?; file };
///
/// let mut stats = Stats::new();
/// stats.add(file.into(), |_bytes| ())?;
/// let table = stats.finish();
/// let oslo = &table.groups[0];
/// assert_eq!((&*oslo.key, oslo.count), (&b"Oslo"[..], 2));
/// assert_eq!(oslo.mean(table.decimals).to_text(1), "0.8");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Stats {
    layout: Layout,
    header: bool,
    scanner: Scanner,
    level: Level,
    known: Tally,
}

/// Where key and value are in a line.
#[derive(Clone, Copy, Debug)]
struct Layout {
    delimiter: u8,
    /// Columns, from 0.
    key: usize,
    value: usize,
    /// The first line that is no row ends it all.
    strict: bool,
}

/// A key and its value.
struct Row<'a> {
    key: &'a [u8],
    value: &'a [u8],
}

impl Layout {
    /// The row of a line that is given without its newline; `None` if it is empty.
    fn split<'a>(&self, line: &'a [u8]) -> Result<Option<Row<'a>>, LineError> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return Ok(None);
        }
        let mut start = 0;
        let mut fields = memchr_iter(self.delimiter, line).chain([line.len()]).map(|end| {
            let field = &line[start..end];
            start = end + 1;
            field
        });
        let (first, second) = (self.key.min(self.value), self.key.max(self.value));
        let missing = |column: usize| LineError { why: Why::NoColumn(column + 1), text: excerpt(line) };
        let one = fields.nth(first).ok_or_else(|| missing(first))?;
        let other = match second - first {
            0 => one,
            more => fields.nth(more - 1).ok_or_else(|| missing(second))?,
        };
        let (key, value) = if self.key <= self.value { (one, other) } else { (other, one) };
        Ok(Some(Row { key, value: value.trim_ascii() }))
    }
}

/// A line that is no row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError {
    why: Why,
    text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Why {
    NoColumn(usize),
    NoNumber,
    TooLong,
}

impl LineError {
    /// What is wrong with a value that could not be read.
    fn value(text: &[u8]) -> LineError {
        let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
        let long = digits.iter().filter(|&&byte| byte == b'.').count() <= 1
            && digits.iter().all(|&byte| byte == b'.' || byte.is_ascii_digit())
            && digits.len() > 1;
        LineError { why: if long { Why::TooLong } else { Why::NoNumber }, text: excerpt(text) }
    }
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.text;
        match self.why {
            Why::NoColumn(column) => write!(f, "no column {column} in '{text}'"),
            Why::NoNumber => write!(f, "'{text}' is not a number"),
            Why::TooLong => write!(f, "'{text}' has more than 18 digits before or behind the point"),
        }
    }
}

/// The beginning of a text, for a message of one line.
fn excerpt(text: &[u8]) -> String {
    const MOST: usize = 40;
    let shown = String::from_utf8_lossy(&text[..text.len().min(4 * MOST)]);
    let mut shown = shown.escape_debug().to_string();
    if let Some((end, _)) = shown.char_indices().nth(MOST) {
        shown.truncate(end);
        shown.push('…');
    }
    shown
}

/// An input could not be added. Nothing of it was.
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
}

impl fmt::Display for StatsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StatsError::Io(error) => error.fmt(f),
            StatsError::Line { line, error } => write!(f, "line {line}: {error}"),
        }
    }
}

impl std::error::Error for StatsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StatsError::Io(error) => Some(error),
            StatsError::Line { .. } => None,
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
        let layout = Layout { delimiter: b';', key: 0, value: 1, strict: true };
        let level = Level::chosen();
        Stats { layout, header: false, scanner: Scanner::default(), level, known: Tally::new(layout, level) }
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

    /// How many threads look at an input at most.
    #[must_use]
    pub fn threads(mut self, threads: NonZeroUsize) -> Stats {
        self.scanner = self.scanner.threads_at_most(threads);
        self
    }

    /// Adds the rows of an input. `progress` is told now and then how many bytes are done.
    ///
    /// # Errors
    /// Of reading, and the first line that is no row. Then nothing of this input was added.
    pub fn add(&mut self, input: Input, mut progress: impl FnMut(u64)) -> Result<Added, StatsError> {
        let question = Question { layout: self.layout, level: self.level };
        let mut joiner = Joiner::new(&question, self.header);
        let scanned = self.scanner.run(input, &question, |bytes, part| {
            joiner.part(part);
            progress(bytes);
            if joiner.failed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let scanned = scanned.map_err(|error| StatsError::Io(error.into()))?;
        let (tally, lines) = joiner.finish();
        let first = lines.first.map(|(before, error)| (before + 1, error));
        if let (true, Some((line, error))) = (self.layout.strict, &first) {
            return Err(StatsError::Line { line: *line, error: error.clone() });
        }
        for tally in scanned.workers.into_iter().chain([tally]) {
            tally.pour_into(&mut self.known);
        }
        Ok(Added { bytes: scanned.bytes, lines: lines.count, skipped: lines.bad, first_skipped: first })
    }

    /// The answer.
    #[must_use]
    pub fn finish(self) -> Table {
        let (map, decimals) = self.known.finish();
        let mut groups: Vec<Group> = map.into_iter().map(|(key, summary)| Group::new(key, summary)).collect();
        groups.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        Table { groups, decimals }
    }
}

/// Summaries of all keys.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Table {
    /// In the order of the bytes of their keys.
    pub groups: Vec<Group>,
    /// The most decimals that a value was written with.
    pub decimals: u32,
}

/// The summary of one key.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Group {
    /// The key.
    pub key: Box<[u8]>,
    /// How many values it has, at least one.
    pub count: u64,
    /// The smallest.
    pub min: Decimal,
    /// The largest.
    pub max: Decimal,
    summary: Summary,
}

impl Group {
    fn new(key: Box<[u8]>, summary: Summary) -> Group {
        Group { key, count: summary.count, min: summary.min, max: summary.max, summary }
    }

    /// The exact mean, rounded half up to so many decimals, at most 18.
    #[must_use]
    pub fn mean(&self, decimals: u32) -> Decimal {
        self.summary.mean(decimals.min(decimal::DIGITS))
    }
}
