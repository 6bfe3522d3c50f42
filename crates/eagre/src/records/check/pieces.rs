//! Checks records wherever the file is cut, if they can be found from anywhere in it.
//!
//! A piece of a file begins and ends inside of records. What stands in front of its first whole record and behind its
//! last one travels with what is known of the others, and is put together with that of the neighbours when the pieces are
//! joined in order.

use eagre_mem::heap::{self, Refused};

use super::checked::{Checked, Order, Walked, extend, walk};
use crate::records::{Format, Malformed};
use crate::scan::Scan;

/// Where records begin.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cut {
    /// At each multiple of this size.
    Every(u64),
    /// Behind each byte like this.
    Behind(u8),
}

impl Cut {
    /// `None` if records are found only from those before them.
    pub(super) fn of(format: &(impl Format + ?Sized)) -> Option<Cut> {
        match format.record_size() {
            Some(size) => Some(Cut::Every(size as u64)),
            None => format.terminator().filter(|_| format.ends_at_terminator()).map(Cut::Behind),
        }
    }

    /// Where the record that is open at `offset` ends in the bytes from there on, if it does.
    fn end(self, offset: u64, bytes: &[u8]) -> Option<usize> {
        match self {
            _ if offset == 0 => Some(0),
            Cut::Every(size) => {
                let end = (size - offset % size) % size;
                (end <= bytes.len() as u64).then_some(end as usize)
            }
            Cut::Behind(byte) => memchr::memchr(byte, bytes).map(|end| end + 1),
        }
    }
}

/// The question what records a file holds. Its parts go to a [`Joiner`] in their order.
pub(super) struct Pieces<'a, F: ?Sized> {
    pub(super) format: &'a F,
    pub(super) cut: Cut,
    pub(super) order: Order,
}

/// What one piece holds.
pub(super) struct Part {
    head: Vec<u8>,
    /// What follows the head. `None` if the head is all, and does not end its record.
    rest: Option<(Walked, Vec<u8>)>,
}

impl<F: Format + ?Sized> Scan for Pieces<'_, F> {
    type Worker = [Vec<u8>; 2];
    type Part = Result<Part, Refused>;

    fn worker(&self) -> [Vec<u8>; 2] {
        Default::default()
    }

    fn piece(&self, scratch: &mut [Vec<u8>; 2], offset: u64, bytes: &[u8]) -> Result<Part, Refused> {
        let Some(end) = self.cut.end(offset, bytes) else {
            return Ok(Part { head: heap::copied(bytes)?, rest: None });
        };
        let (head, rest) = bytes.split_at(end);
        let walked = walk(self.format, self.order, rest, false, scratch)?;
        let tail = &rest[walked.run.bytes as usize..];
        Ok(Part { head: heap::copied(head)?, rest: Some((walked, heap::copied(tail)?)) })
    }
}

/// Puts the parts of a file together.
pub(super) struct Joiner<'a, F: ?Sized> {
    pub(super) format: &'a F,
    pub(super) order: Order,
    pub(super) whole: Checked,
    /// The record that has begun and not ended.
    pub(super) open: Vec<u8>,
}

impl<F: Format + ?Sized> Joiner<'_, F> {
    /// Takes the next part. No part may follow where something is malformed.
    pub(super) fn part(&mut self, part: Part) -> Result<Option<Malformed>, Refused> {
        extend(&mut self.open, &part.head)?;
        let Some((walked, tail)) = part.rest else { return Ok(None) };
        if let malformed @ Some(_) = self.close(false)? {
            return Ok(malformed);
        }
        self.whole.append(self.order, walked.run);
        extend(&mut self.open, &tail)?;
        Ok(walked.malformed)
    }

    /// Ends the file.
    pub(super) fn close(&mut self, last: bool) -> Result<Option<Malformed>, Refused> {
        if self.open.is_empty() {
            return Ok(None);
        }
        let walked = walk(self.format, self.order, &self.open, last, &mut Default::default())?;
        self.whole.append(self.order, walked.run);
        self.open.clear();
        Ok(walked.malformed)
    }
}
