//! What one piece can say about the matches in it.

use std::ops::ControlFlow;

use super::found::Found;
use super::patterns::Patterns;
use crate::scan::Scan;
use eagre_mem::heap::{self, Refused};

/// The search for a finder's matches, as a question to a [`Scanner`](crate::scan::Scanner): its parts go to a
/// [`Join`](super::Join).
///
/// ```
/// use eagre::find::{Finder, Join};
/// use eagre::scan::{Input, Scanner};
/// use std::ops::ControlFlow;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("notes");
/// # std::fs::write(&path, "to be or not to be")?;
/// let finder = Finder::new("be")?;
/// let search = finder.search().limit(1);
/// let mut join = Join::new(&search);
/// let print = |found: eagre::find::Match<'_>| {
///     println!("{}", found.start);
///     ControlFlow::Continue(())
/// };
/// Scanner::new().input(Input::open(&path)?, &search, |done, part| {
///     eprintln!("{done} bytes searched");
///     join.part(part, print)
/// })?;
/// assert_eq!(join.finish(print), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Search<'f> {
    pub(super) patterns: &'f Patterns,
    pub(super) vectors: bool,
    pub(super) counting: bool,
    pub(super) limit: u64,
}

/// What one piece says.
#[derive(Debug)]
pub struct Part {
    pub(super) offset: u64,
    /// The first bytes of the piece, whose matches depend on what stood before; the whole piece if `rest` is `None`.
    pub(super) lead: Vec<u8>,
    pub(super) rest: Option<Rest>,
    /// There was no memory for it.
    pub(super) refused: Option<Refused>,
}

/// What a piece decided by itself, from the quiet point on.
#[derive(Debug)]
pub(super) struct Rest {
    /// Where the quiet point is in the input.
    pub(super) quiet: u64,
    pub(super) found: Found,
    /// Where the next match may begin: behind the last one, and behind everything that is decided.
    pub(super) next: u64,
    /// Where the piece ends.
    pub(super) end: u64,
    /// The last bytes of the piece, as many as an occurrence can reach over.
    pub(super) tail: Vec<u8>,
}

impl<'f> Search<'f> {
    pub(super) fn new(patterns: &'f Patterns, vectors: bool) -> Search<'f> {
        Search { patterns, vectors, counting: false, limit: u64::MAX }
    }

    /// Only counts the matches; the join reports none.
    #[must_use]
    pub fn counting(mut self) -> Search<'f> {
        self.counting = true;
        self
    }

    /// Ends after so many matches (without end unless told otherwise).
    #[must_use]
    pub fn limit(mut self, matches: u64) -> Search<'f> {
        self.limit = matches;
        self
    }

    /// The first place in a piece that no occurrence reaches over, whatever stood before the piece; `None` if it is
    /// not found soon, or there is none.
    ///
    /// All occurrences are looked at here, overlapping ones too, because which of them will be matches is not known.
    fn quiet_point(&self, bytes: &[u8]) -> Option<usize> {
        let reach = self.patterns.reach();
        // Looking longer costs more than it can win: in data that is nothing but occurrences, the next one is at the
        // next byte, for the whole piece. Counted in bytes compared, roughly.
        let mut patience = 16 * (reach + 4096);
        let mut quiet = reach;
        let mut from = 0;
        loop {
            // As far as an occurrence that begins in front of `quiet` can go, and nothing behind `quiet` can be taken
            // for decided unless as much follows.
            let window = bytes.get(..quiet + reach)?;
            match self.patterns.engine().next(window, from, self.vectors) {
                Some(hit) if hit.start < quiet => {
                    quiet = quiet.max(hit.end);
                    from = hit.start + 1;
                    patience = patience.checked_sub(16 + hit.end - hit.start)?;
                }
                _ => return Some(quiet),
            }
        }
    }

    fn decide(&self, offset: u64, bytes: &[u8], quiet: usize) -> Result<Rest, Refused> {
        let (mut found, mut kept) = (Found::default(), Ok(()));
        let end = bytes.len() - self.patterns.reach();
        let mut next = quiet;
        self.patterns.engine().each(bytes, quiet..end, self.vectors, |hit| {
            if self.counting {
                found.count_one();
            } else {
                kept = found.push(self.patterns, hit.start - next, hit.pattern, &bytes[hit.start..hit.end]);
            }
            next = hit.end;
            if found.count < self.limit && kept.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        kept?;
        Ok(Rest {
            quiet: offset + quiet as u64,
            found,
            next: offset + next.max(end) as u64,
            end: offset + bytes.len() as u64,
            tail: heap::copied(&bytes[end..])?,
        })
    }

    fn look(&self, offset: u64, bytes: &[u8]) -> Result<Part, Refused> {
        let quiet = self.quiet_point(bytes);
        let lead = quiet.map_or(bytes.len(), |quiet| quiet + self.patterns.reach());
        let rest = quiet.map(|quiet| self.decide(offset, bytes, quiet)).transpose()?;
        Ok(Part { offset, lead: heap::copied(&bytes[..lead])?, rest, refused: None })
    }
}

impl Scan for Search<'_> {
    type Worker = ();
    type Part = Part;

    fn worker(&self) {}

    fn piece(&self, (): &mut (), offset: u64, bytes: &[u8]) -> Part {
        let none = |refused| Part { offset, lead: Vec::new(), rest: None, refused: Some(refused) };
        self.look(offset, bytes).unwrap_or_else(none)
    }
}
