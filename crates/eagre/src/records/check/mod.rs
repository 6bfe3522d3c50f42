//! Says whether records are in order, and which they are.
//!
//! Where records can be found from anywhere in a file, all threads look at its pieces ([`pieces`]). Otherwise one thread
//! goes from record to record ([`in_order`]).

mod checked;
mod in_order;
mod pieces;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io::{self, Read, Seek};
use std::ops::ControlFlow;
use std::path::Path;

use eagre_mem::heap::Refused;

use checked::Order;
pub use checked::{Checked, Place};
use in_order::InOrder;
use pieces::{Cut, Joiner, Pieces};

use super::{Format, Malformed};
use crate::scan::{Input, Scan, ScanError, Scanned, Scanner, about, setting_methods};

/// Checks files of records: are they in order, and which records are they?
///
/// ```
/// use eagre::records::{Checker, Lines, checksum};
///
/// let lines = Lines::default();
/// let found = Checker::new(&lines).read(&b"a\nc\nb\nb\n"[..])?;
/// assert_eq!((found.checksum.records, found.duplicates, found.unordered), (4, 1, 1));
/// let first = found.first_unordered.expect("b behind c");
/// assert_eq!((first.record, first.offset), (2, 4));
/// assert_eq!(found.ends(), Some((&b"a"[..], &b"b"[..])));
/// assert_eq!(found.checksum, checksum(&lines, b"a\nb\nb\nc")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Checker<'a, F: ?Sized> {
    format: &'a F,
    order: Order,
    scanner: Scanner<'a>,
}

impl<F: ?Sized> Clone for Checker<'_, F> {
    fn clone(&self) -> Self {
        Checker { format: self.format, order: self.order, scanner: self.scanner.clone() }
    }
}

impl<'a, F: Format + ?Sized> Checker<'a, F> {
    /// A checker with all defaults: records ascend, and equal keys may follow one another.
    #[must_use]
    pub fn new(format: &'a F) -> Self {
        Checker { format, order: Order::default(), scanner: Scanner::new() }
    }

    /// Whether records descend.
    #[must_use]
    pub fn descending(mut self, yes: bool) -> Self {
        self.order.descending = yes;
        self
    }

    /// Whether a key that is equal to the one before is out of order.
    #[must_use]
    pub fn unique(mut self, yes: bool) -> Self {
        self.order.unique = yes;
        self
    }

    setting_methods!(scanner.settings);

    /// Checks a file: see [`input`](Self::input). Errors name the file.
    ///
    /// # Errors
    /// Those of opening the file, and those of [`input`](Self::input).
    pub fn file(&mut self, path: impl AsRef<Path>) -> io::Result<Checked> {
        let found = Input::open(&path).and_then(|input| Ok(self.input(input)?));
        found.map_err(|error| about("check", path.as_ref(), error))
    }

    /// Checks a file or a stream from its present position, where a record begins, to its end. A record must fit in
    /// memory.
    ///
    /// # Errors
    /// Those of [`Scanner::input`], and records that are malformed.
    pub fn input(&mut self, input: impl Into<Input>) -> Result<Checked, CheckError> {
        let input = input.into();
        let length = length(&input);
        self.check(length, Source::Input(input))
    }

    /// Checks any source to its end, on the calling thread.
    ///
    /// # Errors
    /// As for [`input`](Self::input).
    pub fn read(&mut self, mut source: impl Read) -> Result<Checked, CheckError> {
        self.check(None, Source::Read(&mut source))
    }

    /// What is known of two rows of records together, `next` behind `first`.
    #[must_use]
    pub fn join(&self, mut first: Checked, next: Checked) -> Checked {
        first.append(self.order, next);
        first
    }

    fn check(&mut self, length: Option<u64>, source: Source<'_>) -> Result<Checked, CheckError> {
        let (format, order) = (self.format, self.order);
        let mut joiner = Joiner { format, order, whole: Checked::default(), open: Vec::new() };
        let mut wrong = Ok(None);
        let go_on = |found: &Result<Option<Malformed>, Refused>| match found {
            Ok(None) => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        };
        if let Some(cut) = Cut::of(format) {
            source.scan(&mut self.scanner, &Pieces { format, cut, order }, |_, part| {
                wrong = part.and_then(|part| joiner.part(part));
                go_on(&wrong)
            })?;
        } else {
            // One thread gets all pieces, in their order.
            let mut scanner = self.scanner.clone().threads(1);
            let mut scanned = source.scan(&mut scanner, &InOrder { format, order, length }, |_, part| {
                wrong = part.map(|part| {
                    joiner.whole.append(order, part.run);
                    part.malformed
                });
                go_on(&wrong)
            })?;
            joiner.open = scanned.workers.pop().map_or_else(Vec::new, |state| state.open);
        }
        let wrong = match wrong {
            Ok(None) => joiner.close(true),
            wrong => wrong,
        };
        let whole = joiner.whole;
        match wrong {
            Ok(None) => Ok(whole),
            Ok(Some(why)) => Err(CheckError::Malformed { record: whole.checksum.records, offset: whole.bytes, why }),
            Err(refused) => Err(CheckError::Scan(ScanError { bytes: whole.bytes, source: refused.into() })),
        }
    }
}

/// Where records come from.
enum Source<'a> {
    Input(Input),
    Read(&'a mut dyn Read),
}

impl Source<'_> {
    fn scan<S: Scan>(
        self,
        scanner: &mut Scanner<'_>,
        scan: &S,
        deliver: impl FnMut(u64, S::Part) -> ControlFlow<()>,
    ) -> Result<Scanned<S::Worker>, ScanError> {
        match self {
            Source::Input(input) => scanner.input(input, scan, deliver),
            Source::Read(source) => scanner.read(source, scan, deliver),
        }
    }
}

/// How many bytes an input has, if that is known. The files of `/proc` claim to be empty.
fn length(input: &Input) -> Option<u64> {
    let Input::File(file) = input else { return None };
    let metadata = file.metadata().ok().filter(|metadata| metadata.is_file() && metadata.len() > 0)?;
    let before = (&*file).stream_position().ok()?;
    metadata.len().checked_sub(before)
}

/// Records could not be checked to their end.
#[derive(Debug)]
#[non_exhaustive]
pub enum CheckError {
    /// The input could not be read, or the progress hook ended the call.
    Scan(ScanError),
    /// No record begins at a place where one should, or the last one is cut short.
    Malformed {
        /// How many records lie before it.
        record: u64,
        /// How many bytes lie before it.
        offset: u64,
        /// What is wrong.
        why: Malformed,
    },
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckError::Scan(error) => error.fmt(f),
            CheckError::Malformed { record, offset, why } => write!(f, "record {record}, at byte {offset}: {why}"),
        }
    }
}

impl std::error::Error for CheckError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CheckError::Scan(error) => Some(error),
            CheckError::Malformed { why, .. } => Some(why),
        }
    }
}

impl From<ScanError> for CheckError {
    fn from(error: ScanError) -> CheckError {
        CheckError::Scan(error)
    }
}

impl From<CheckError> for io::Error {
    fn from(error: CheckError) -> io::Error {
        match error {
            CheckError::Scan(error) => error.into(),
            CheckError::Malformed { .. } => io::Error::new(io::ErrorKind::InvalidData, error.to_string()),
        }
    }
}
