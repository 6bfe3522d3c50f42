//! Counting the lines, words and bytes of a file or a stream, and the width of its longest line.
//!
//! All four follow `wc` in the C locale. A line is a newline byte. Words are separated by white space and hold at least
//! one visible ASCII character. The width of a line counts visible characters and spaces, and tabs reach to the next
//! multiple of eight.
//!
//! A [`Counter`] uses a [`Scanner`], which chooses how each file is read and with how many threads. The counter keeps
//! its buffer, so counting a thousand small files allocates once.
//!
//! If only bytes are counted, a regular file need not be read: its size is in its metadata. The files of `/proc` and
//! `/sys` are an exception: they claim to be empty or one page long, and hold something else. So a size that is a
//! multiple of the page size is not trusted. The counter then seeks near the end and reads the rest, as GNU `wc` does.
//!
//! # Example
//!
//! ```
//! let counts = eagre::count::read(&b"one\ntwo\nno newline here"[..])?;
//! assert_eq!((counts.lines, counts.bytes), (Some(2), 23));
//! # Ok::<(), std::io::Error>(())
//! ```

mod metadata;
mod tally;
#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;

use crate::scan::{Cancelled, Choice, Input, ScanError, Scanner, about, setting_methods};
use tally::{Part, Tally, Total};

/// The counts of a source. A count that the [`Counter`] was not asked for is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// The number of newline bytes.
    pub lines: Option<u64>,
    /// The number of words.
    pub words: Option<u64>,
    /// The number of bytes.
    pub bytes: u64,
    /// The width of the longest line, in columns.
    pub longest: Option<u64>,
}

impl Counts {
    /// The counts of two sources together. The longest line is the longer of the two. A count that one of them lacks is
    /// `None`. Returns `None` if a number overflows: sparse files can claim nearly 2^63 bytes each, so three of them
    /// are enough.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let sum = |one: Option<u64>, other: Option<u64>| match one.zip(other) {
            Some((one, other)) => one.checked_add(other).map(Some),
            None => Some(None),
        };
        Some(Self {
            lines: sum(self.lines, other.lines)?,
            words: sum(self.words, other.words)?,
            bytes: self.bytes.checked_add(other.bytes)?,
            longest: self.longest.zip(other.longest).map(|(one, other)| one.max(other)),
        })
    }
}

/// The result for one input: the counts, and how it was read.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Counted {
    /// The counts.
    pub counts: Counts,
    /// How the file was read; `None` if its metadata was enough.
    pub choice: Option<Choice>,
}

/// A source could not be read to its end. Holds the counts up to there.
#[derive(Debug)]
#[non_exhaustive]
pub struct CountError {
    /// The counts up to the error.
    pub counts: Counts,
    /// The cause.
    pub source: io::Error,
}

impl CountError {
    /// Whether the [progress hook](Counter::progress) ended the count.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        Cancelled::is_cause_of(&self.source)
    }
}

impl fmt::Display for CountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_cancelled() {
            return write!(f, "cancelled after {} bytes", self.counts.bytes);
        }
        write!(f, "after {} bytes: {}", self.counts.bytes, self.source)
    }
}

impl std::error::Error for CountError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl From<CountError> for io::Error {
    fn from(error: CountError) -> Self {
        error.source
    }
}

/// Counts one source after another with the same settings and buffer.
///
/// ```
/// use eagre::count::Counter;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("notes");
/// # std::fs::write(&path, "to be\nor not\n")?;
/// let counted = Counter::new().words(true).threads(2).file(&path)?;
/// assert_eq!((counted.counts.lines, counted.counts.words), (Some(2), Some(4)));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Counter<'a> {
    lines: bool,
    words: bool,
    longest: bool,
    scanner: Scanner<'a>,
}

impl Default for Counter<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> Counter<'a> {
    /// A counter of lines and bytes.
    #[must_use]
    pub fn new() -> Self {
        Self { lines: true, words: false, longest: false, scanner: Scanner::new() }
    }

    /// Whether to count lines. Default: yes. Bytes are always counted. If nothing else is counted,
    /// [`input`](Self::input) reads only what metadata cannot answer.
    #[must_use]
    pub fn lines(mut self, yes: bool) -> Self {
        self.lines = yes;
        self
    }

    /// Whether to count words. Default: no.
    #[must_use]
    pub fn words(mut self, yes: bool) -> Self {
        self.words = yes;
        self
    }

    /// Whether to measure the longest line. Default: no.
    #[must_use]
    pub fn longest(mut self, yes: bool) -> Self {
        self.longest = yes;
        self
    }

    setting_methods!(scanner.settings);

    /// The counts of an empty source: zero for everything that is counted.
    #[must_use]
    pub fn nothing(&self) -> Counts {
        self.of(&Total::default(), 0)
    }

    /// The counts that were asked for.
    fn of(&self, total: &Total, bytes: u64) -> Counts {
        Counts {
            lines: self.lines.then_some(total.lines()),
            words: self.words.then_some(total.words()),
            bytes,
            longest: self.longest.then_some(total.longest()),
        }
    }

    /// Counts a file. See [`input`](Self::input). Errors name the file.
    ///
    /// # Errors
    /// Those of opening the file, and those of [`input`](Self::input).
    pub fn file(&mut self, path: impl AsRef<Path>) -> io::Result<Counted> {
        let counted = Input::open(&path).and_then(|input| Ok(self.input(input)?));
        counted.map_err(|error| about("count", path.as_ref(), error))
    }

    /// Counts a file or a stream from its present position to its end. If only bytes are counted, the metadata of a
    /// regular file is enough. The position of a file moves to its end, unless nothing had to be read. Then it stays,
    /// as with `wc -c`.
    ///
    /// # Errors
    /// Those of [`Scanner::input`], with the counts up to there. A directory gives an error when it is read.
    pub fn input(&mut self, input: impl Into<Input>) -> Result<Counted, CountError> {
        let input = input.into();
        let mut skipped = 0;
        if let Input::File(file) = &input
            && !(self.lines || self.words || self.longest)
        {
            let skip = metadata::skip_by_size(file);
            let counts = Counts { bytes: skip.bytes, ..Counts::default() };
            self.scanner.settings.told(skip.bytes).map_err(|source| CountError { counts, source })?;
            if skip.complete {
                return Ok(Counted { counts, choice: None });
            }
            skipped = skip.bytes;
        }
        let tally = match &input {
            Input::File(file) if is_tiny(file) => self.tally(true),
            _ => self.tally(false),
        }?;
        let mut total = Total::default();
        let scanned = self.scanner.input_behind(skipped, input, &tally, |_, part| total.take(part));
        match scanned {
            Ok(scanned) => {
                Ok(Counted { counts: self.of(&total, skipped + scanned.bytes), choice: Some(scanned.choice) })
            }
            Err(error) => Err(self.failed(&total, skipped, error)),
        }
    }

    /// Counts any source to its end.
    ///
    /// # Errors
    /// The first error of `source` other than an interruption, with the counts up to there. As for [`Scanner::input`],
    /// also cancellation by the progress hook, refused memory, and instructions that the processor lacks.
    pub fn read(&mut self, source: impl Read) -> Result<Counts, CountError> {
        let tally = self.tally(false)?;
        let mut total = Total::default();
        match self.scanner.read(source, &tally, |_, part| total.take(part)) {
            Ok(scanned) => Ok(self.of(&total, scanned.bytes)),
            Err(error) => Err(self.failed(&total, 0, error)),
        }
    }

    fn failed(&self, total: &Total, skipped: u64, error: ScanError) -> CountError {
        CountError { counts: self.of(total, skipped + error.bytes), source: error.source }
    }

    /// The question for the scanner. `few` means that there are few bytes to count.
    fn tally(&self, few: bool) -> Result<Tally, CountError> {
        let settings = &self.scanner.settings;
        let kernels = if few { settings.kernels_for_few() } else { settings.kernels() };
        let kernels = kernels.map_err(|source| CountError { counts: self.nothing(), source })?;
        Ok(Tally { kernels, lines: self.lines, words: self.words, longest: self.longest })
    }
}

impl Total {
    /// Adds the next part and continues.
    fn take(&mut self, part: Part) -> ControlFlow<()> {
        self.add(part);
        ControlFlow::Continue(())
    }
}

/// Whether a file is so small that any loop is fast enough.
fn is_tiny(file: &File) -> bool {
    const TINY: u64 = 16 << 10;
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= TINY)
}

/// Counts the lines and bytes of a file with all threads that this process may use.
///
/// # Errors
/// Those of opening and reading the file. They name the file.
///
/// # Example
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("notes");
/// std::fs::write(&path, "to be\nor not to be\n")?;
/// let counts = eagre::count::file(&path)?;
/// assert_eq!((counts.lines, counts.bytes), (Some(2), 19));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn file(path: impl AsRef<Path>) -> io::Result<Counts> {
    Counter::new().file(path).map(|counted| counted.counts)
}

/// Counts the lines and bytes of any source.
///
/// # Errors
/// The first error of `source` other than an interruption.
pub fn read(source: impl Read) -> io::Result<Counts> {
    Ok(Counter::new().read(source)?)
}
