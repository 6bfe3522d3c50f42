//! The ways to ask for occurrences.

use std::io::{self, BufRead};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use super::patterns::Patterns;
use super::{FinderBuilder, Join, PatternError, Search};
use crate::scan::kernels::Kernels;
use crate::scan::{Input, Scan, ScanError, Scanner, Simd, about, setting_methods};

/// Finds the occurrences of one byte string or of several.
///
/// See [the module](super) for what counts as an occurrence. To make a finder takes a moment where there are many patterns.
/// To clone one takes none: a clone shares the patterns, and has settings and a buffer of its own. So each thread that
/// searches files can have its own.
///
/// ```
/// use eagre::find::Finder;
/// use std::ops::ControlFlow;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("notes");
/// # std::fs::write(&path, "wave upon wave")?;
/// let mut finder = Finder::new("wave")?.threads(2);
/// assert_eq!(finder.file(&path)?, 2);
///
/// let mut offsets = Vec::new();
/// finder.each_in_file(&path, |found| {
///     offsets.push(found.start);
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(offsets, [0, 10]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Finder<'a> {
    patterns: Arc<Patterns>,
    scanner: Scanner<'a>,
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

impl<'a> Finder<'a> {
    /// Finds one pattern.
    ///
    /// # Errors
    /// It is empty.
    pub fn new(pattern: impl AsRef<[u8]>) -> Result<Finder<'a>, PatternError> {
        Finder::builder().pattern(pattern).build()
    }

    /// Finds several patterns at once: where more than one begins at a byte, the longest.
    ///
    /// # Errors
    /// One is empty, or there are too many.
    pub fn several<P: AsRef<[u8]>>(patterns: impl IntoIterator<Item = P>) -> Result<Finder<'a>, PatternError> {
        patterns.into_iter().fold(Finder::builder(), FinderBuilder::pattern).build()
    }

    /// More choices than [`new`](Self::new) and [`several`](Self::several) have.
    pub fn builder() -> FinderBuilder {
        FinderBuilder::default()
    }

    pub(super) fn with(patterns: Patterns) -> Finder<'a> {
        Finder { patterns: Arc::new(patterns), scanner: Scanner::new() }
    }

    setting_methods!(scanner.settings);

    /// The patterns, in the order they were given.
    pub fn patterns(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.patterns.iter()
    }

    /// How often the patterns occur in a file. Errors name it.
    ///
    /// # Errors
    /// Those of opening the file, and those of [`input`](Self::input).
    pub fn file(&mut self, path: impl AsRef<Path>) -> io::Result<u64> {
        let counted = Input::open(&path).and_then(|input| Ok(self.input(input)?));
        counted.map_err(|error| about("find", path.as_ref(), error))
    }

    /// How often the patterns occur in a file or a stream, from its present position on. Nothing is kept of the
    /// occurrences, however many.
    ///
    /// # Errors
    /// Those of [`Scanner::input`].
    pub fn input(&mut self, input: Input) -> Result<u64, ScanError> {
        let search = search(&self.patterns, &self.scanner).counting();
        run(&mut self.scanner, &search, input, |_| ControlFlow::Continue(()))
    }

    /// How often the patterns occur in anything that can be read.
    ///
    /// # Errors
    /// As for [`each_in_read`](Self::each_in_read).
    pub fn read(&self, source: impl BufRead) -> io::Result<u64> {
        self.read_with(self.search().counting(), source, |_| ControlFlow::Continue(()))
    }

    /// The occurrences in a slice. Scans as [`simd`](Self::simd) says; a choice that is an error elsewhere makes no
    /// difference here.
    pub fn iter<'s>(&'s self, bytes: &'s [u8]) -> impl Iterator<Item = Match<'s>> {
        let (engine, vectors) = (self.patterns.engine(), vectors(&self.patterns, &self.scanner));
        let mut from = 0;
        std::iter::from_fn(move || {
            let hit = engine.next(bytes, from, vectors)?;
            from = hit.end;
            Some(Match { start: hit.start as u64, pattern: hit.pattern, bytes: &bytes[hit.start..hit.end] })
        })
    }

    /// The occurrences in a file: see [`each_in_input`](Self::each_in_input). Errors name the file.
    ///
    /// # Errors
    /// Those of opening the file, and those of [`each_in_input`](Self::each_in_input).
    pub fn each_in_file(
        &mut self,
        path: impl AsRef<Path>,
        found: impl FnMut(Match<'_>) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let searched = Input::open(&path).and_then(|input| Ok(self.each_in_input(input, found)?));
        searched.map_err(|error| about("find", path.as_ref(), error))
    }

    /// Calls `found` for each occurrence in a file or a stream, in order, on the calling thread. Offsets count from where
    /// `input` stands. `Break` ends the search, which is no error.
    ///
    /// # Errors
    /// Those of [`Scanner::input`]. What lies before was reported, as with [`each_in_read`](Self::each_in_read).
    pub fn each_in_input(
        &mut self,
        input: Input,
        found: impl FnMut(Match<'_>) -> ControlFlow<()>,
    ) -> Result<(), ScanError> {
        let search = search(&self.patterns, &self.scanner);
        run(&mut self.scanner, &search, input, found).map(drop)
    }

    /// Calls `found` for each occurrence in anything that can be read, whose first byte has the offset 0. `Break` ends the
    /// search, which is no error. The source is left somewhere behind that occurrence.
    ///
    /// # Errors
    /// The first error of `source` other than an interruption; what lies before it was reported, except an occurrence
    /// that the next bytes could have changed. The progress hook and wrong instructions, as for [`Scanner::input`].
    pub fn each_in_read(
        &self,
        source: impl BufRead,
        found: impl FnMut(Match<'_>) -> ControlFlow<()>,
    ) -> io::Result<()> {
        self.read_with(self.search(), source, found).map(drop)
    }

    fn read_with(
        &self,
        search: Search<'_>,
        mut source: impl BufRead,
        mut found: impl FnMut(Match<'_>) -> ControlFlow<()>,
    ) -> io::Result<u64> {
        self.scanner.settings.check()?;
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
                return Ok(join.finish(found));
            }
            if join.part(search.piece(&mut (), offset, bytes), &mut found).is_break() {
                return join.check().map(|()| join.count());
            }
            source.consume(length);
            offset += length as u64;
            self.scanner.settings.told(offset)?;
        }
    }

    /// The search for all occurrences as a question to a [`Scanner`], for callers that look after the parts themselves: to
    /// print what comes through a pipe when it is there, say.
    #[must_use]
    pub fn search(&self) -> Search<'_> {
        search(&self.patterns, &self.scanner)
    }
}

fn search<'p>(patterns: &'p Patterns, scanner: &Scanner<'_>) -> Search<'p> {
    Search::new(patterns, vectors(patterns, scanner))
}

/// Whether AVX-512 is to be used, if the patterns have a use for it.
fn vectors(patterns: &Patterns, scanner: &Scanner<'_>) -> bool {
    let wanted = || match scanner.settings.simd {
        Some(simd) => simd == Simd::Avx512,
        None => Kernels::chosen().is_ok_and(|kernels| kernels.simd() == Simd::Avx512),
    };
    patterns.engine().has_vectors() && wanted()
}

/// Searches an input, and returns how many occurrences there were.
fn run(
    scanner: &mut Scanner<'_>,
    search: &Search<'_>,
    input: Input,
    mut found: impl FnMut(Match<'_>) -> ControlFlow<()>,
) -> Result<u64, ScanError> {
    let mut join = Join::new(search);
    let mut ended = false;
    let scanned = scanner.input(input, search, |_, part| {
        let flow = join.part(part, &mut found);
        ended = flow.is_break();
        flow
    })?;
    join.check().map_err(|source| ScanError { bytes: scanned.bytes, source })?;
    Ok(if ended { join.count() } else { join.finish(found) })
}
