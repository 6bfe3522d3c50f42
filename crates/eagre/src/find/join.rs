//! Joining the parts: the matches at the seams.

use std::io;
use std::ops::ControlFlow;

use eagre_mem::heap::Refused;

use super::search::Rest;
use super::{Match, Part, Search};

/// Takes the parts of a [`Search`] in the order of the input, and reports the matches in that order.
#[derive(Debug)]
pub struct Join<'s> {
    search: Search<'s>,
    /// The last bytes so far, from the first place where a match may still begin, or a little before it.
    seam: Vec<u8>,
    /// The offset of the seam's first byte.
    offset: u64,
    /// Where the next match may begin.
    next: u64,
    count: u64,
    refused: Option<Refused>,
}

impl<'s> Join<'s> {
    /// A join for a search that has not begun.
    #[must_use]
    pub fn new(search: &Search<'s>) -> Join<'s> {
        Join { search: *search, seam: Vec::new(), offset: 0, next: 0, count: 0, refused: None }
    }

    /// Takes the next part, and calls `found` with the matches that are certain now. Returns `Break` when the search is
    /// over and nothing more will be reported: `found` returned `Break`, the limit was reached, or memory was refused
    /// (see [`Join::check`]).
    pub fn part(&mut self, part: Part, mut found: impl FnMut(Match<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
        debug_assert_eq!(part.offset, self.offset + self.seam.len() as u64, "parts come in order");
        if self.is_full() {
            return ControlFlow::Break(());
        }
        let room = self.seam.try_reserve(part.lead.len()).map_err(|_| Refused { bytes: part.lead.len() });
        self.refused = self.refused.or(part.refused).or(room.err());
        if self.refused.is_some() {
            return ControlFlow::Break(());
        }
        self.seam.extend_from_slice(&part.lead);
        let decided = self.seam.len().saturating_sub(self.search.patterns.reach());
        self.settle(decided, &mut found)?;
        match part.rest {
            None => self.forget(decided),
            Some(rest) => self.adopt(rest, &mut found)?,
        }
        ControlFlow::Continue(())
    }

    /// Ends the search: no part follows. Reports the remaining matches, and returns the number of all matches.
    pub fn finish(mut self, mut found: impl FnMut(Match<'_>) -> ControlFlow<()>) -> u64 {
        if !self.is_full() && self.refused.is_none() {
            let _ = self.settle(self.seam.len(), &mut found);
        }
        self.count
    }

    /// Whether all parts were complete. Call this before you rely on the matches.
    ///
    /// # Errors
    /// [`OutOfMemory`](io::ErrorKind::OutOfMemory): memory for a part was refused, and the search ended before it.
    pub fn check(&self) -> io::Result<()> {
        self.refused.map_or(Ok(()), |refused| Err(refused.into()))
    }

    /// The number of matches so far, including those that are only counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    fn is_full(&self) -> bool {
        self.count >= self.search.limit
    }

    /// Reports the matches that begin in the first `decided` bytes of the seam.
    fn settle(&mut self, decided: usize, found: &mut impl FnMut(Match<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
        let Join { search, seam, offset, next, count, .. } = self;
        let mut flow = ControlFlow::Continue(());
        let first = (*next - *offset) as usize;
        search.patterns.engine().each(seam, first..decided, search.vectors, |hit| {
            *next = *offset + hit.end as u64;
            *count += 1;
            if !search.counting {
                let start = *offset + hit.start as u64;
                flow = found(Match { start, pattern: hit.pattern, bytes: &seam[hit.start..hit.end] });
            }
            if *count >= search.limit {
                flow = ControlFlow::Break(());
            }
            flow
        });
        *next = (*next).max(*offset + decided as u64);
        flow
    }

    /// Reports the matches that a piece decided by itself, and continues with its tail.
    fn adopt(&mut self, rest: Rest, found: &mut impl FnMut(Match<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
        debug_assert_eq!(self.next, rest.quiet, "nothing reaches over a quiet point");
        self.offset = rest.end - rest.tail.len() as u64;
        self.seam = rest.tail;
        self.next = rest.next;
        if self.search.counting {
            self.count = self.count.saturating_add(rest.found.count).min(self.search.limit);
        } else {
            for hit in rest.found.iter(self.search.patterns, rest.quiet) {
                self.count += 1;
                found(hit)?;
                if self.is_full() {
                    break;
                }
            }
        }
        if self.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Drops the decided bytes, once there are enough of them to make moving the rest worthwhile.
    fn forget(&mut self, decided: usize) {
        if decided > self.seam.len() - decided {
            self.seam.drain(..decided);
            self.offset += decided as u64;
        }
    }
}
