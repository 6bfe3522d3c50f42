//! The patterns, and the ways to ask for their occurrences.

use std::fmt;
use std::io::{self, BufRead};
use std::ops::ControlFlow;

use super::engine::Engine;
use super::{Join, Search};
use crate::scan::{Input, Scan, ScanError, Scanner};

/// Finds the occurrences of one byte string or of several.
///
/// See [the module](super) for what counts as an occurrence. A finder is made once, which takes a moment where there
/// are many patterns, and is then used by any number of threads.
///
/// ```
/// use eagre::find::Finder;
/// use std::ops::ControlFlow;
///
/// let finder = Finder::new("wave")?;
/// let mut offsets = Vec::new();
/// finder.read(&b"wave upon wave"[..], |found| {
///     offsets.push(found.start);
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(offsets, [0, 10]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Finder {
    patterns: Vec<Box<[u8]>>,
    case_insensitive: bool,
    engine: Engine,
}

/// One occurrence of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Match<'a> {
    /// The offset of its first byte.
    pub start: u64,
    /// Which pattern, counted from 0; the first of several that are equal.
    pub pattern: usize,
    /// What stands there: the pattern, or, where case makes no difference, its letters as they are written there.
    pub bytes: &'a [u8],
}

impl Match<'_> {
    /// The offset behind its last byte.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

/// Patterns that nothing can be found with.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternError {
    /// An empty pattern would be everywhere.
    Empty {
        /// Which one, counted from 0.
        pattern: usize,
    },
    /// More patterns, or longer ones, than the tables for several at once can hold (about 2^31 bytes in all).
    TooMany,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatternError::Empty { pattern } => write!(f, "pattern {} is empty", pattern + 1),
            PatternError::TooMany => write!(f, "the patterns are too many or too long to be found at once"),
        }
    }
}

impl std::error::Error for PatternError {}

/// What to find, and how.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    patterns: Vec<Box<[u8]>>,
    case_insensitive: bool,
    portable: bool,
}

impl Builder {
    /// One pattern more.
    #[must_use]
    pub fn pattern(mut self, pattern: impl AsRef<[u8]>) -> Builder {
        self.patterns.push(pattern.as_ref().into());
        self
    }

    /// Whether capital and small letters are the same. Only those of ASCII: other bytes stand for themselves.
    #[must_use]
    pub fn case_insensitive(mut self, yes: bool) -> Builder {
        self.case_insensitive = yes;
        self
    }

    /// Whether to do without this machine's vector instructions, for comparing; the matches are the same.
    #[must_use]
    pub fn portable(mut self, yes: bool) -> Builder {
        self.portable = yes;
        self
    }

    /// The finder. Without any pattern, it finds nothing.
    ///
    /// # Errors
    /// A pattern is empty, or there are too many.
    pub fn build(self) -> Result<Finder, PatternError> {
        let Builder { patterns, case_insensitive, portable } = self;
        if let Some(pattern) = patterns.iter().position(|pattern| pattern.is_empty()) {
            return Err(PatternError::Empty { pattern });
        }
        let engine = Engine::new(&patterns, case_insensitive, portable)?;
        Ok(Finder { patterns, case_insensitive, engine })
    }
}

impl Finder {
    /// Finds one pattern.
    ///
    /// # Errors
    /// It is empty.
    pub fn new(pattern: impl AsRef<[u8]>) -> Result<Finder, PatternError> {
        Finder::builder().pattern(pattern).build()
    }

    /// Finds several patterns at once: where more than one begins at a byte, the longest.
    ///
    /// # Errors
    /// One is empty, or there are too many.
    pub fn several<P: AsRef<[u8]>>(patterns: impl IntoIterator<Item = P>) -> Result<Finder, PatternError> {
        patterns.into_iter().fold(Finder::builder(), Builder::pattern).build()
    }

    /// For more wishes than [`new`](Self::new) and [`several`](Self::several) fulfil.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The patterns, in the order they were given.
    pub fn patterns(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.patterns.iter().map(|pattern| &**pattern)
    }

    /// The occurrences in a slice.
    pub fn iter<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = Match<'a>> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let hit = self.engine.next(bytes, from)?;
            from = hit.end;
            Some(Match { start: hit.start as u64, pattern: hit.pattern, bytes: &bytes[hit.start..hit.end] })
        })
    }

    /// The occurrences in anything that can be read, whose first byte has the offset 0. `Break` ends the search, which
    /// is no error.
    ///
    /// # Errors
    /// The first error of `source` other than an interruption; what lies before it was reported, except an occurrence
    /// that the next bytes could have changed.
    pub fn read(
        &self,
        mut source: impl BufRead,
        mut found: impl FnMut(Match<'_>) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let search = self.search();
        let mut join = Join::new(&search);
        let mut offset = 0;
        loop {
            let bytes = match source.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let length = bytes.len();
            if length == 0 {
                join.finish(found);
                return Ok(());
            }
            if join.part(search.piece(&mut (), offset, bytes), &mut found).is_break() {
                return join.check();
            }
            source.consume(length);
            offset += length as u64;
        }
    }

    /// The occurrences in a file or a stream, in order, with the threads of a scanner. Offsets count from where `input`
    /// stands. `Break` ends the search, which is no error.
    ///
    /// # Errors
    /// Those of reading. What lies before was reported, as with [`read`](Self::read).
    pub fn scan(
        &self,
        scanner: &mut Scanner,
        input: Input,
        mut found: impl FnMut(Match<'_>) -> ControlFlow<()>,
    ) -> Result<(), ScanError> {
        let search = self.search();
        let mut join = Join::new(&search);
        let scanned = scanner.run(input, &search, |_, part| join.part(part, &mut found))?;
        join.check().map_err(|source| ScanError { bytes: scanned.bytes, source })?;
        join.finish(found);
        Ok(())
    }

    /// How often the patterns occur in a file or a stream. Nothing is kept of the occurrences, however many.
    ///
    /// # Errors
    /// Those of reading.
    pub fn count(&self, scanner: &mut Scanner, input: Input) -> Result<u64, ScanError> {
        let search = self.search().counting();
        let mut join = Join::new(&search);
        let nobody = |_: Match<'_>| ControlFlow::Continue(());
        let scanned = scanner.run(input, &search, |_, part| join.part(part, nobody))?;
        join.check().map_err(|source| ScanError { bytes: scanned.bytes, source })?;
        Ok(join.finish(nobody))
    }

    /// The search for all occurrences as a question to a [`Scanner`], for callers that look after the parts
    /// themselves: to show progress, say.
    #[must_use]
    pub fn search(&self) -> Search<'_> {
        Search::new(self)
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) fn pattern(&self, index: usize) -> &[u8] {
        &self.patterns[index]
    }

    pub(super) fn has_several(&self) -> bool {
        self.patterns.len() > 1
    }

    /// Whether a pattern says by itself which bytes were found.
    pub(super) fn is_verbatim(&self) -> bool {
        !self.case_insensitive
    }

    /// How far an occurrence can reach over the place it begins in front of: the longest pattern, less one byte.
    pub(super) fn reach(&self) -> usize {
        self.patterns.iter().map(|pattern| pattern.len()).max().unwrap_or(1) - 1
    }
}
