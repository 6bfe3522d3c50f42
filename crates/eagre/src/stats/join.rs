//! The question as a scan, and how its parts are joined.
//!
//! Pieces are cut anywhere. A worker takes in the complete lines inside its piece; what stands before the first newline
//! and behind the last one goes back with the part, and the lines that these pieces make up are taken in here, in order:
//! one line a piece.
//!
//! A record of CSV may have newlines in quotes. Lines are then taken for records until one turns out to be none: each line is
//! looked at once, and if each of them ends outside of quotes, none begins inside. If one does not, all is done again by
//! [`Records`], one piece after the other.

use memchr::{memchr, memrchr};

use super::csv::State;
use super::layout::LineError;
use super::shared::Shared;
use super::tally::{Lines, Question, Tally};
use crate::scan::Scan;

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

impl<'a> Scan for Question<'a> {
    type Worker = Option<Tally<'a>>;
    type Part = Part;

    fn worker(&self) -> Option<Tally<'a>> {
        Tally::new(self)
    }

    fn piece(&self, tally: &mut Option<Tally<'a>>, _offset: u64, bytes: &[u8]) -> Part {
        let (Some(first), Some(last)) = (memchr(b'\n', bytes), memrchr(b'\n', bytes)) else {
            return Part { head: self.keep(bytes), rest: None };
        };
        let mut lines = Lines::default();
        if let Some(tally) = tally {
            tally.lines(&bytes[first + 1..last + 1], &mut lines);
        }
        Part { head: self.keep(&bytes[..first]), rest: Some(Rest { lines, tail: self.keep(&bytes[last + 1..]) }) }
    }
}

impl Question<'_> {
    /// A copy; empty if there is no memory for it, which the shared table then knows.
    fn keep(&self, bytes: &[u8]) -> Vec<u8> {
        let mut copy = Vec::new();
        append(&mut copy, bytes, self.shared);
        copy
    }
}

/// Appends to what is to become a line. If there is no memory for it, the shared table knows.
fn append(line: &mut Vec<u8>, bytes: &[u8], shared: &Shared) {
    match line.try_reserve(bytes.len()) {
        Ok(()) => line.extend_from_slice(bytes),
        Err(_) => drop(shared.refuse()),
    }
}

/// A line, or a record, whose end has not come yet. It may be as long as there is memory for it.
#[derive(Debug)]
struct Open<'a> {
    bytes: Vec<u8>,
    /// How much memory is set aside for it: some without a question.
    set_aside: usize,
    shared: &'a Shared,
}

/// A line may take so much memory before anybody asks whether there is some.
const LONG: usize = 1 << 20;

impl<'a> Open<'a> {
    fn new(shared: &'a Shared) -> Open<'a> {
        Open { bytes: Vec::new(), set_aside: LONG, shared }
    }

    /// Appends some bytes, unless something was refused before: then nobody will look at it.
    fn append(&mut self, bytes: &[u8]) {
        // A vector that grows is there twice.
        while self.bytes.len() + bytes.len() > self.set_aside && self.shared.failure().is_none() {
            let more = 2 * self.set_aside;
            if self.shared.take(more).is_ok() {
                self.set_aside += more;
            }
        }
        if self.shared.failure().is_none() {
            append(&mut self.bytes, bytes, self.shared);
        }
    }

    /// The next one begins.
    fn clear(&mut self) {
        self.bytes.clear();
        if self.set_aside > LONG {
            self.bytes = Vec::new();
            self.shared.room().give(self.set_aside - LONG);
            self.set_aside = LONG;
        }
    }

    /// The bytes, without the mark that the first line of a text may have.
    fn line(&self, first: bool) -> &[u8] {
        match self.bytes.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) if first => rest,
            _ => &self.bytes,
        }
    }
}

/// The first bytes of some texts in UTF-8: no part of the first key.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Joins the parts of one input.
#[derive(Debug)]
pub(super) struct Joiner<'a> {
    question: Question<'a>,
    tally: Option<Tally<'a>>,
    /// What is known of the lines so far.
    lines: Lines,
    /// The line whose end has not come yet.
    open: Open<'a>,
    /// The first line is still to come.
    first: bool,
    /// It is to be passed over.
    header: bool,
}

impl<'a> Joiner<'a> {
    pub(super) fn new(question: &Question<'a>, header: bool) -> Joiner<'a> {
        let (question, tally, open) = (*question, Tally::new(question), Open::new(question.shared));
        Joiner { question, tally, lines: Lines::default(), open, first: true, header }
    }

    /// The next part.
    pub(super) fn part(&mut self, part: Part) {
        self.open.append(&part.head);
        if let Some(rest) = part.rest {
            self.close();
            if !self.failed() {
                self.lines.append(rest.lines);
            }
            self.open.append(&rest.tail);
        }
    }

    /// Whether there is no use in going on.
    pub(super) fn failed(&self) -> bool {
        self.lines.unclosed
            || (self.question.layout.strict && self.lines.bad > 0)
            || self.question.shared.failure().is_some()
    }

    /// The end of the open line has come.
    fn close(&mut self) {
        let Some(tally) = &mut self.tally else { return };
        let line = self.open.line(self.first);
        let skipped = self.first && self.header && !self.question.layout.goes_on(line);
        self.lines.note(if skipped { Ok(()) } else { tally.line(line) }, 1);
        self.first = false;
        self.open.clear();
    }

    /// The lines joined here, and what is known of all lines. The last one may lack its newline.
    pub(super) fn finish(mut self) -> (Option<Tally<'a>>, Lines) {
        if !self.open.bytes.is_empty() && !self.failed() {
            self.close();
        }
        (self.tally, self.lines)
    }
}

/// The same question about records that may have newlines in quotes. For one thread: what is inside quotes is only known
/// from the beginning.
#[derive(Debug)]
pub(super) struct Records<'a> {
    pub(super) question: Question<'a>,
    pub(super) header: bool,
}

/// What is known of the records so far.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    tally: Option<Tally<'a>>,
    lines: Lines,
    /// The record whose end has not come yet.
    open: Open<'a>,
    /// Where its last line begins, and in what state.
    line: usize,
    state: State,
    /// How many lines are before that one.
    newlines: u64,
    first: bool,
}

/// A record of several lines that has more bytes has lost a quote.
const LONGEST: usize = 256 << 20;

impl<'a> Scan for Records<'a> {
    type Worker = Reading<'a>;
    /// Whether it is of use to go on.
    type Part = bool;

    fn worker(&self) -> Reading<'a> {
        let (tally, open) = (Tally::new(&self.question), Open::new(self.question.shared));
        Reading { tally, lines: Lines::default(), open, line: 0, state: State::Start, newlines: 0, first: true }
    }

    fn piece(&self, reading: &mut Reading<'a>, _offset: u64, mut bytes: &[u8]) -> bool {
        while let Some(end) = memchr(b'\n', bytes)
            && !reading.failed(self)
        {
            reading.open.append(&bytes[..end]);
            bytes = &bytes[end + 1..];
            reading.end_of_line(self);
        }
        reading.open.append(bytes);
        if reading.state == State::Quoted && reading.open.bytes.len() > LONGEST {
            // The line that goes on is counted when it ends.
            reading.unclosed(self, reading.newlines);
        }
        !reading.failed(self)
    }
}

impl Reading<'_> {
    fn failed(&self, of: &Records<'_>) -> bool {
        (of.question.layout.strict && self.lines.bad > 0) || of.question.shared.failure().is_some()
    }

    /// What is true behind the last line.
    fn behind(&self, of: &Records<'_>) -> State {
        let record = self.open.line(self.first);
        self.state.behind(&record[self.line.min(record.len())..], of.question.layout.delimiter)
    }

    /// A line has ended: the record as well, unless that is in quotes.
    fn end_of_line(&mut self, of: &Records<'_>) {
        self.state = self.behind(of);
        if self.state == State::Quoted {
            self.open.append(b"\n");
            self.line = self.open.line(self.first).len();
            self.newlines += 1;
        } else {
            self.close(of);
        }
    }

    fn close(&mut self, of: &Records<'_>) {
        let skipped = self.first && of.header;
        let Some(tally) = &mut self.tally else { return };
        let row = if skipped { Ok(()) } else { tally.line(self.open.line(self.first)) };
        self.next(row, self.newlines + 1);
    }

    /// The record goes on, and ends nowhere.
    fn unclosed(&mut self, of: &Records<'_>, lines: u64) {
        let error = LineError::endless(self.open.line(self.first), of.question.layout.delimiter);
        self.next(Err(error), lines);
    }

    fn next(&mut self, row: Result<(), LineError>, lines: u64) {
        self.lines.note(row, lines);
        (self.line, self.state, self.newlines, self.first) = (0, State::Start, 0, false);
        self.open.clear();
    }
}

impl<'a> Reading<'a> {
    /// What was taken in, and what is known of all lines. The last record may lack its newline.
    pub(super) fn finish(mut self, of: &Records<'a>) -> (Option<Tally<'a>>, Lines) {
        if (self.newlines > 0 || !self.open.bytes.is_empty()) && !self.failed(of) {
            if self.behind(of) == State::Quoted {
                let last = u64::from(self.open.line(self.first).len() > self.line);
                self.unclosed(of, self.newlines + last);
            } else {
                self.close(of);
            }
        }
        (self.tally, self.lines)
    }
}
