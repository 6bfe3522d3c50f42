//! Says what files of records hold, with all threads.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use super::Summary;
use super::pieces::{Joiner, Pieces};
use crate::scan::{Input, ScanError, Scanner, about, setting_methods};

/// What a file of records holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Validated {
    /// What its whole records are.
    pub summary: Summary,
    /// How many bytes follow the last whole record.
    pub remainder: usize,
}

/// Validates files of records, as `valsort` does.
///
/// ```
/// use eagre::gensort::{Generator, Validator};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("records");
/// Generator::new().file(&path, 0, 1000)?;
/// let found = Validator::new().threads(2).file(&path)?;
/// assert_eq!((found.summary.records, found.remainder), (1000, 0));
/// assert!(!found.summary.is_sorted());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Validator<'a> {
    scanner: Scanner<'a>,
}

impl<'a> Validator<'a> {
    /// A validator with all defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setting_methods!(scanner.settings);

    /// Validates a file: see [`input`](Self::input). Errors name the file.
    ///
    /// # Errors
    /// Those of opening the file, and those of [`input`](Self::input).
    pub fn file(&mut self, path: impl AsRef<Path>) -> io::Result<Validated> {
        let found = Input::open(&path).and_then(|input| Ok(self.input(input)?));
        found.map_err(|error| about("check", path.as_ref(), error))
    }

    /// Validates a file or a stream from its present position, where a record begins, to its end.
    ///
    /// # Errors
    /// Those of [`Scanner::input`].
    pub fn input(&mut self, input: impl Into<Input>) -> Result<Validated, ScanError> {
        let mut joiner = Joiner::new();
        self.scanner.input(input.into(), &Pieces, |_, part| {
            joiner.part(&part);
            ControlFlow::Continue(())
        })?;
        let (summary, remainder) = joiner.finish();
        Ok(Validated { summary, remainder })
    }
}

/// Validates a file of records, with all threads this process may use.
///
/// # Errors
/// Those of opening and reading the file, with its name.
pub fn file(path: impl AsRef<Path>) -> io::Result<Validated> {
    Validator::new().file(path)
}
