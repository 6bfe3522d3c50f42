//! The matches that one piece can decide.

use std::ops::ControlFlow;

use super::found::Found;
use super::patterns::Patterns;
use crate::scan::Scan;
use eagre_mem::heap::{self, Refused};

/// A search for the matches of a finder, as a question for a [`Scanner`](crate::scan::Scanner). The parts go to a
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

/// The answer for one piece.
#[derive(Debug)]
pub struct Part {
    pub(super) offset: u64,
    /// The first bytes of the piece, whose matches depend on the bytes before the piece. The whole piece if `rest` is
    /// `None`.
    pub(super) lead: Vec<u8>,
    pub(super) rest: Option<Rest>,
    /// Memory for this part was refused.
    pub(super) refused: Option<Refused>,
}

/// What a piece decided by itself, from the quiet point on.
#[derive(Debug)]
pub(super) struct Rest {
    /// The offset of the quiet point in the input.
    pub(super) quiet: u64,
    pub(super) found: Found,
    /// Where the next match may begin: behind the last match, and behind everything that is decided.
    pub(super) next: u64,
    /// The offset of the end of the piece.
    pub(super) end: u64,
    /// The last bytes of the piece, as many as an occurrence can extend over.
    pub(super) tail: Vec<u8>,
}

impl<'f> Search<'f> {
    pub(super) fn new(patterns: &'f Patterns, vectors: bool) -> Search<'f> {
        Search { patterns, vectors, counting: false, limit: u64::MAX }
    }

    /// Only counts the matches. The join then reports none.
    #[must_use]
    pub fn counting(mut self) -> Search<'f> {
        self.counting = true;
        self
    }

    /// Ends the search after this many matches. Default: no limit.
    #[must_use]
    pub fn limit(mut self, matches: u64) -> Search<'f> {
        self.limit = matches;
        self
    }

    /// The first place in a piece that no occurrence extends over, whatever comes before the piece. `None` if there is
    /// none, or if it is not found soon.
    ///
    /// This looks at all occurrences, overlapping ones too, because it is not known yet which of them are matches.
    fn quiet_point(&self, bytes: &[u8]) -> Option<usize> {
        let reach = self.patterns.reach();
        // A longer search costs more than it can save: in data that consists of occurrences, the next one is at the
        // next byte, throughout the piece. The limit roughly counts compared bytes.
        let mut patience = 16 * (reach + 4096);
        let mut quiet = reach;
        let mut from = 0;
        loop {
            // An occurrence that begins before `quiet` extends at most this far. And nothing behind `quiet` can be
            // decided unless as many bytes follow.
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
