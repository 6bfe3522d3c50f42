//! Counting the lines, words and bytes of a file or a stream, and the width of its longest line.
//!
//! All four are what `wc` makes of them in the C locale: a line is a newline byte; words are parted by white space and
//! hold at least one visible character of ASCII; the width of a line counts visible characters and spaces, and tabs to
//! the next multiple of eight.
//!
//! A [`Counter`] is a question for a [`Scanner`], which brings the pieces of a file in the way that suits it, by several
//! threads. It keeps its buffer, so counting a thousand small files allocates once.
//!
//! When only bytes are asked for, a regular file need not be read: its size is in its metadata. That is
//! wrong for the files of `/proc` and `/sys`, which claim to be empty or one page long and hold something
//! else, so a size that is a multiple of the page size is never trusted: we seek near the end and read the
//! rest, as GNU `wc` does.
//!
//! # Example
//!
//! ```
//! let counts = eagre::count::count(&b"one\ntwo\nno newline here"[..])?;
//! assert_eq!((counts.lines, counts.bytes), (Some(2), 23));
//! # Ok::<(), std::io::Error>(())
//! ```

mod metadata;
mod tally;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use eagre_mem::heap::{self, Refused};

use crate::scan::kernels::Kernels;
use crate::scan::{Choice, Input, Plan, Scan, Scanner};
use tally::{Tally, Total};

/// How much is read at a time of a source that is no file.
const BUFFER: usize = 256 * 1024;

/// What was counted. What the [`Counter`] was not asked for is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Newline bytes.
    pub lines: Option<u64>,
    /// Words.
    pub words: Option<u64>,
    /// Bytes.
    pub bytes: u64,
    /// The width of the longest line, in columns.
    pub longest: Option<u64>,
}

impl Counts {
    /// The counts of two sources together, or `None` where a number would not fit (sparse files can claim nearly
    /// 2^63 bytes each, so three of them are enough). The longest line is the longer one. What was not counted of both is not
    /// known of them together.
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

/// What was counted, and how.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// The counts.
    pub counts: Counts,
    /// How the file was read; `None` if its metadata was enough.
    pub choice: Option<Choice>,
}

/// A source could not be read to its end. What was counted before that is handed back.
#[derive(Debug)]
#[non_exhaustive]
pub struct CountError {
    /// The counts up to the error.
    pub counts: Counts,
    /// What the system said.
    pub source: io::Error,
}

impl fmt::Display for CountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

/// Counts sources one after another with one buffer.
#[derive(Debug)]
pub struct Counter {
    lines: bool,
    words: bool,
    longest: bool,
    scanner: Scanner,
}

impl Default for Counter {
    fn default() -> Self {
        Self::new()
    }
}

impl Counter {
    /// A counter of lines and bytes that uses all the processors it may.
    #[must_use]
    pub fn new() -> Self {
        Self { lines: true, words: false, longest: false, scanner: Scanner::default() }
    }

    /// Whether lines are counted (they are unless told otherwise). Bytes always are. With nothing else to count,
    /// [`count_input`](Self::count_input) needs to read only what metadata cannot answer.
    #[must_use]
    pub fn lines(mut self, yes: bool) -> Self {
        self.lines = yes;
        self
    }

    /// Whether words are counted (they are not unless told so).
    #[must_use]
    pub fn words(mut self, yes: bool) -> Self {
        self.words = yes;
        self
    }

    /// Whether the longest line is measured (it is not unless told so).
    #[must_use]
    pub fn longest(mut self, yes: bool) -> Self {
        self.longest = yes;
        self
    }

    /// Uses at most so many threads.
    #[must_use]
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.scanner = self.scanner.threads_at_most(threads);
        self
    }

    /// Reads files in this way: see [`Scanner::plan`].
    #[must_use]
    pub fn plan(mut self, plan: Plan) -> Self {
        self.scanner = self.scanner.plan(plan);
        self
    }

    /// The counts of an empty source: zeros for what is counted.
    #[must_use]
    pub fn nothing(&self) -> Counts {
        self.of(&Total::default(), 0)
    }

    /// Those of the numbers that were asked for.
    fn of(&self, total: &Total, bytes: u64) -> Counts {
        Counts {
            lines: self.lines.then_some(total.lines()),
            words: self.words.then_some(total.words()),
            bytes,
            longest: self.longest.then_some(total.longest()),
        }
    }

    /// Reads `source` to its end. `progress` is told, after every read, how many bytes were counted so far.
    ///
    /// # Errors
    ///
    /// The first error of `source` other than an interruption, with the counts up to it.
    pub fn count(&mut self, mut source: impl Read, mut progress: impl FnMut(u64)) -> Result<Counts, CountError> {
        let tally = self.tally().map_err(|source| CountError { counts: self.nothing(), source })?;
        let refused = |refused: Refused| CountError { counts: self.nothing(), source: refused.into() };
        let mut buffer = heap::filled(BUFFER, 0).map_err(refused)?;
        let (mut total, mut bytes) = (Total::default(), 0);
        loop {
            match source.read(&mut buffer) {
                Ok(0) => return Ok(self.of(&total, bytes)),
                Ok(n) => {
                    total.add(tally.piece(&mut (), bytes, &buffer[..n]));
                    bytes += n as u64;
                    progress(bytes);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(CountError { counts: self.of(&total, bytes), source }),
            }
        }
    }

    /// Counts a file or a stream from its present position to its end, taking the short cut through metadata where only
    /// bytes are asked for. A file's position is moved to its end, except where nothing had to be read: as with
    /// `wc -c`, the next reader finds the file untouched then.
    ///
    /// # Errors
    ///
    /// The first error of reading other than an interruption, with the counts up to it. A directory is
    /// such an error.
    pub fn count_input(
        &mut self,
        input: impl Into<Input>,
        mut progress: impl FnMut(u64),
    ) -> Result<Counted, CountError> {
        let input = input.into();
        let mut skipped = 0;
        if let Input::File(file) = &input
            && !(self.lines || self.words || self.longest)
        {
            let skip = metadata::skip_by_size(file);
            progress(skip.bytes);
            if skip.complete {
                return Ok(Counted { counts: Counts { bytes: skip.bytes, ..Counts::default() }, choice: None });
            }
            skipped = skip.bytes;
        }
        let tally = match &input {
            Input::File(file) if is_tiny(file) => self.tally_by(Kernels::for_few()),
            _ => self.tally(),
        };
        let tally = tally.map_err(|source| CountError { counts: self.nothing(), source })?;
        let mut total = Total::default();
        let scanned = self.scanner.run(input, &tally, |bytes, part| {
            total.add(part);
            progress(skipped + bytes);
            ControlFlow::Continue(())
        });
        match scanned {
            Ok(scanned) => {
                Ok(Counted { counts: self.of(&total, skipped + scanned.bytes), choice: Some(scanned.choice) })
            }
            Err(error) => Err(CountError { counts: self.of(&total, skipped + error.bytes), source: error.source }),
        }
    }

    fn tally(&self) -> io::Result<Tally> {
        self.tally_by(Kernels::chosen())
    }

    fn tally_by(&self, kernels: Result<Kernels, String>) -> io::Result<Tally> {
        let kernels = kernels.map_err(|text| io::Error::new(io::ErrorKind::InvalidInput, text))?;
        Ok(Tally { kernels, lines: self.lines, words: self.words, longest: self.longest })
    }
}

/// Whether a file is so small that any loop is fast enough.
fn is_tiny(file: &File) -> bool {
    const TINY: u64 = 16 << 10;
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= TINY)
}

/// Counts the lines and bytes of anything that can be read.
///
/// # Errors
///
/// The first error of `source` other than an interruption.
pub fn count(source: impl Read) -> io::Result<Counts> {
    Ok(Counter::new().count(source, |_| ())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, SeekFrom, Write};

    #[test]
    fn counts_newlines_and_bytes() {
        for (text, lines) in [("", 0), ("a", 0), ("\n", 1), ("a\nb", 1), ("\n\n\n", 3)] {
            let counts = count(text.as_bytes()).unwrap();
            assert_eq!((counts.lines, counts.bytes), (Some(lines), text.len() as u64), "{text:?}");
        }
    }

    #[test]
    fn agrees_with_a_naive_count_across_buffer_borders() {
        let data: Vec<u8> = (0..3 * BUFFER + 17).map(|i| if i % 7 == 0 { b'\n' } else { b'x' }).collect();
        let naive = data.iter().filter(|&&byte| byte == b'\n').count() as u64;
        let mut reports = Vec::new();
        let counts = Counter::new().count(&data[..], |n| reports.push(n)).unwrap();
        assert_eq!((counts.lines, counts.bytes), (Some(naive), data.len() as u64));
        assert_eq!(reports.last(), Some(&counts.bytes));
        assert!(reports.is_sorted());
    }

    /// A reader that is interrupted, gives a little, then fails.
    struct Failing(u32);

    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            match self.0 {
                1 => Err(io::ErrorKind::Interrupted.into()),
                2 => {
                    buffer[..4].copy_from_slice(b"a\nb\n");
                    Ok(4)
                }
                _ => Err(io::Error::other("broken")),
            }
        }
    }

    #[test]
    fn an_error_hands_back_what_was_counted() {
        let error = Counter::new().count(Failing(0), |_| ()).unwrap_err();
        assert_eq!((error.counts.lines, error.counts.bytes), (Some(2), 4));
        assert_eq!(error.to_string(), "after 4 bytes: broken");
    }

    #[test]
    fn sizes_come_from_metadata_but_only_where_they_can_be_trusted() {
        let page = rustix::param::page_size();
        for size in [0, 1, 511, page - 1, page, page + 1, 8 * page, 100_003, 1 << 20] {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&vec![b'\n'; size]).unwrap();
            for start in [0, 1, size / 2, size, size + 5] {
                file.seek(SeekFrom::Start(start as u64)).unwrap();
                let counts = Counter::new().lines(false).count_input(file.try_clone().unwrap(), |_| ());
                let left = size.saturating_sub(start) as u64;
                assert_eq!(counts.unwrap().counts.bytes, left, "size {size} from {start}");
            }
        }
    }

    #[test]
    fn proc_files_have_bytes_though_their_size_is_zero() {
        let file = File::open("/proc/version").unwrap();
        assert_eq!(file.metadata().unwrap().len(), 0);
        let counts = Counter::new().lines(false).count_input(file, |_| ()).unwrap().counts;
        assert_eq!(counts.bytes, std::fs::read("/proc/version").unwrap().len() as u64);
    }

    #[test]
    fn what_was_not_asked_for_is_not_there() {
        let text = b"two words\n";
        let all = Counts { lines: Some(1), words: Some(2), bytes: 10, longest: Some(9) };
        assert_eq!(Counter::new().words(true).longest(true).count(&text[..], |_| ()).unwrap(), all);
        let lines = Counter::new().count(&text[..], |_| ()).unwrap();
        assert_eq!(lines, Counts { words: None, longest: None, ..all });
        let words = Counter::new().lines(false).words(true);
        assert_eq!(words.nothing(), Counts { words: Some(0), ..Counts::default() });
        let both = { words }.count(&text[..], |_| ()).unwrap().checked_add(all).unwrap();
        assert_eq!(both, Counts { lines: None, words: Some(4), bytes: 20, longest: None });
    }

    #[test]
    fn sums_that_do_not_fit_are_noticed() {
        let huge = Counts { bytes: u64::MAX, ..Counts::default() };
        assert_eq!(huge.checked_add(Counts::default()), Some(huge));
        assert_eq!(huge.checked_add(Counts { bytes: 1, ..Counts::default() }), None);
    }
}
