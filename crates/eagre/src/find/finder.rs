//! The public interface: a finder and its searches.

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
/// See [the module](super) for what counts as an occurrence. Making a finder takes some time if there are many
/// patterns. Cloning one takes almost none, because clones share the patterns. A clone has its own settings and buffer,
/// so each thread that searches files can have its own.
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
    /// The index of the pattern, from 0. Of several equal patterns, the first.
    pub pattern: usize,
    /// The bytes found: the pattern, or, in a case-insensitive search, the letters as the input has them.
    pub bytes: &'a [u8],
}

impl Match<'_> {
    /// The offset after its last byte.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl<'a> Finder<'a> {
    /// A finder for one pattern.
    ///
    /// # Errors
    /// The pattern is empty.
    pub fn new(pattern: impl AsRef<[u8]>) -> Result<Finder<'a>, PatternError> {
        Finder::builder().pattern(pattern).build()
    }

    /// A finder for several patterns. Where several of them begin at the same byte, the longest is found.
    ///
    /// # Errors
    /// A pattern is empty, or there are too many.
    pub fn several<P: AsRef<[u8]>>(patterns: impl IntoIterator<Item = P>) -> Result<Finder<'a>, PatternError> {
        patterns.into_iter().fold(Finder::builder(), FinderBuilder::pattern).build()
    }

    /// A builder, which has more options than [`new`](Self::new) and [`several`](Self::several).
    pub fn builder() -> FinderBuilder {
        FinderBuilder::default()
    }

    pub(super) fn with(patterns: Patterns) -> Finder<'a> {
        Finder { patterns: Arc::new(patterns), scanner: Scanner::new() }
    }

    setting_methods!(scanner.settings);

    /// The patterns, in the order in which they were given.
    pub fn patterns(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.patterns.iter()
    }

    /// Counts the occurrences in a file. Errors name the file.
    ///
    /// # Errors
    /// Those of opening the file, and those of [`input`](Self::input).
    pub fn file(&mut self, path: impl AsRef<Path>) -> io::Result<u64> {
        let counted = Input::open(&path).and_then(|input| Ok(self.input(input)?));
        counted.map_err(|error| about("find", path.as_ref(), error))
    }

    /// Counts the occurrences in a file or a stream, from its present position to its end. This takes no memory per
    /// occurrence.
    ///
    /// # Errors
    /// Those of [`Scanner::input`].
    pub fn input(&mut self, input: Input) -> Result<u64, ScanError> {
        let search = search(&self.patterns, &self.scanner).counting();
        run(&mut self.scanner, &search, input, |_| ControlFlow::Continue(()))
    }

    /// Counts the occurrences in any source.
    ///
    /// # Errors
    /// As for [`each_in_read`](Self::each_in_read).
    pub fn read(&self, source: impl BufRead) -> io::Result<u64> {
        self.read_with(self.search().counting(), source, |_| ControlFlow::Continue(()))
    }

    /// Iterates over the occurrences in a slice. Uses the instructions of [`simd`](Self::simd), but ignores an invalid
    /// choice.
    pub fn iter<'s>(&'s self, bytes: &'s [u8]) -> impl Iterator<Item = Match<'s>> {
        let (engine, vectors) = (self.patterns.engine(), vectors(&self.patterns, &self.scanner));
        let mut from = 0;
        std::iter::from_fn(move || {
            let hit = engine.next(bytes, from, vectors)?;
            from = hit.end;
            Some(Match { start: hit.start as u64, pattern: hit.pattern, bytes: &bytes[hit.start..hit.end] })
        })
    }

    /// Reports the occurrences in a file. See [`each_in_input`](Self::each_in_input). Errors name the file.
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

    /// Calls `found` for each occurrence in a file or a stream, in order, on the calling thread. Offsets count from the
    /// present position of `input`. If `found` returns `Break`, the search ends without an error.
    ///
    /// # Errors
    /// Those of [`Scanner::input`]. The occurrences before the error were reported, as with
    /// [`each_in_read`](Self::each_in_read).
    pub fn each_in_input(
        &mut self,
        input: Input,
        found: impl FnMut(Match<'_>) -> ControlFlow<()>,
    ) -> Result<(), ScanError> {
        let search = search(&self.patterns, &self.scanner);
        run(&mut self.scanner, &search, input, found).map(drop)
    }

    /// Calls `found` for each occurrence in any source, whose first byte has offset 0. If `found` returns `Break`, the
    /// search ends without an error, and the source is left at some position behind that occurrence.
    ///
    /// # Errors
    /// The first error of `source` other than an interruption. The occurrences before it were reported, except one that
    /// the next bytes could have changed. As for [`Scanner::input`], also cancellation by the progress hook, and
    /// instructions that the processor lacks.
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

    /// The search as a question for a [`Scanner`], for callers that handle the parts themselves. For example, a caller
    /// can print matches as soon as they arrive through a pipe.
    #[must_use]
    pub fn search(&self) -> Search<'_> {
        search(&self.patterns, &self.scanner)
    }
}

fn search<'p>(patterns: &'p Patterns, scanner: &Scanner<'_>) -> Search<'p> {
    Search::new(patterns, vectors(patterns, scanner))
}

/// Whether to use AVX-512: it is allowed, and there is a kernel for the patterns.
fn vectors(patterns: &Patterns, scanner: &Scanner<'_>) -> bool {
    let wanted = || match scanner.settings.simd {
        Some(simd) => simd == Simd::Avx512,
        None => Kernels::chosen().is_ok_and(|kernels| kernels.simd() == Simd::Avx512),
    };
    patterns.engine().has_vectors() && wanted()
}

/// Searches an input, and returns the number of occurrences.
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
