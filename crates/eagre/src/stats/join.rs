//! The question as a scan, and how its parts are joined.
//!
//! Pieces are cut anywhere. A worker takes in the complete lines inside its piece; what stands before the first newline
//! and behind the last one goes back with the part, and the lines that these pieces make up are taken in here, in order:
//! one line a piece.

use memchr::{memchr, memrchr};

use super::Layout;
use super::kernels::Level;
use super::tally::{Lines, Tally};
use crate::scan::Scan;

/// What a scan is asked.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) layout: Layout,
    pub(super) level: Level,
}

/// What a piece says beside what its worker has taken in.
#[derive(Debug)]
pub(super) struct Part {
    /// Up to the first newline; everything if there is none.
    head: Vec<u8>,
    /// The rest, if there is a newline.
    rest: Option<Rest>,
}

#[derive(Debug)]
struct Rest {
    /// The complete lines behind it.
    lines: Lines,
    /// Behind the last newline.
    tail: Vec<u8>,
}

impl Scan for Question {
    type Worker = Tally;
    type Part = Part;

    fn worker(&self) -> Tally {
        Tally::new(self.layout, self.level)
    }

    fn piece(&self, tally: &mut Tally, _offset: u64, bytes: &[u8]) -> Part {
        let (Some(first), Some(last)) = (memchr(b'\n', bytes), memrchr(b'\n', bytes)) else {
            return Part { head: bytes.to_vec(), rest: None };
        };
        let mut lines = Lines::default();
        tally.lines(&bytes[first + 1..last + 1], &mut lines);
        Part { head: bytes[..first].to_vec(), rest: Some(Rest { lines, tail: bytes[last + 1..].to_vec() }) }
    }
}

/// Joins the parts of one input.
#[derive(Debug)]
pub(super) struct Joiner {
    tally: Tally,
    /// What is known of the lines so far.
    lines: Lines,
    /// The line whose end has not come yet.
    open: Vec<u8>,
    /// The first line is still to come, and to be passed over.
    header: bool,
    strict: bool,
}

impl Joiner {
    pub(super) fn new(question: &Question, header: bool) -> Joiner {
        Joiner {
            tally: question.worker(),
            lines: Lines::default(),
            open: Vec::new(),
            header,
            strict: question.layout.strict,
        }
    }

    /// The next part.
    pub(super) fn part(&mut self, part: Part) {
        self.open.extend(part.head);
        if let Some(rest) = part.rest {
            self.close();
            if !self.failed() {
                self.lines.append(rest.lines);
            }
            self.open.extend(rest.tail);
        }
    }

    /// Whether there is no use in going on.
    pub(super) fn failed(&self) -> bool {
        self.strict && self.lines.bad > 0
    }

    /// The end of the open line has come.
    fn close(&mut self) {
        let line = if self.header { Ok(()) } else { self.tally.line(&self.open) };
        self.header = false;
        self.lines.note(line);
        self.open.clear();
    }

    /// The lines joined here, and what is known of all lines. The last one may lack its newline.
    pub(super) fn finish(mut self) -> (Tally, Lines) {
        if !self.open.is_empty() && !self.failed() {
            self.close();
        }
        (self.tally, self.lines)
    }
}
