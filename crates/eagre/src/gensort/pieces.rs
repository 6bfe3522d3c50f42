//! Validates records wherever they are cut.
//!
//! A piece of a file begins and ends inside of records. What stands in front of its first whole record and behind its
//! last one travels with its summary, and is put together with that of the neighbours when the pieces are joined in order.

use super::{RECORD, Summary};
use crate::scan::Scan;

/// The question what records a file holds. Its parts go to a [`Joiner`] in their order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pieces;

/// What one piece holds.
pub(super) struct Part {
    head: Fragment,
    summary: Summary,
    tail: Fragment,
}

/// Less than a record, or just one.
#[derive(Clone, Copy)]
struct Fragment {
    bytes: [u8; RECORD],
    length: usize,
}

impl Fragment {
    const EMPTY: Fragment = Fragment { bytes: [0; RECORD], length: 0 };

    fn extend(&mut self, bytes: &[u8]) {
        self.bytes[self.length..][..bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    fn of(bytes: &[u8]) -> Fragment {
        let mut fragment = Fragment::EMPTY;
        fragment.extend(bytes);
        fragment
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Scan for Pieces {
    type Worker = ();
    type Part = Part;

    fn worker(&self) {}

    fn piece(&self, (): &mut (), offset: u64, bytes: &[u8]) -> Part {
        let begun = (offset % RECORD as u64) as usize;
        let lead = if begun == 0 { 0 } else { (RECORD - begun).min(bytes.len()) };
        let (head, rest) = bytes.split_at(lead);
        let (whole, tail) = rest.split_at(rest.len() / RECORD * RECORD);
        Part { head: Fragment::of(head), summary: Summary::of(whole), tail: Fragment::of(tail) }
    }
}

/// Puts the parts of a file together.
pub(super) struct Joiner {
    summary: Summary,
    open: Fragment,
}

impl Joiner {
    pub(super) fn new() -> Joiner {
        Joiner { summary: Summary::new(), open: Fragment::EMPTY }
    }

    /// Takes the next part.
    pub(super) fn part(&mut self, part: &Part) {
        self.extend(part.head.bytes());
        self.summary = self.summary.append(&part.summary);
        self.extend(part.tail.bytes());
    }

    fn extend(&mut self, bytes: &[u8]) {
        self.open.extend(bytes);
        if self.open.length == RECORD {
            self.summary = self.summary.append(&Summary::of(&self.open.bytes));
            self.open = Fragment::EMPTY;
        }
    }

    /// The summary of all whole records, and how many bytes follow them.
    pub(super) fn finish(self) -> (Summary, usize) {
        (self.summary, self.open.length)
    }
}
