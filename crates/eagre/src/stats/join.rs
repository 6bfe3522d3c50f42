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

/// The first bytes of some texts in UTF-8: no part of the first key.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A line whose end has not come yet may take so much memory before anybody asks whether there is some.
const LONG: usize = 64 << 20;

/// Joins the parts of one input.
#[derive(Debug)]
pub(super) struct Joiner<'a> {
    question: Question<'a>,
    tally: Option<Tally<'a>>,
    /// What is known of the lines so far.
    lines: Lines,
    /// The line whose end has not come yet.
    open: Vec<u8>,
    /// How much memory is set aside for it.
    set_aside: usize,
    /// The first line is still to come.
    first: bool,
    /// It is to be passed over.
    header: bool,
}

impl<'a> Joiner<'a> {
    pub(super) fn new(question: &Question<'a>, header: bool) -> Joiner<'a> {
        let (question, tally) = (*question, Tally::new(question));
        Joiner { question, tally, lines: Lines::default(), open: Vec::new(), set_aside: LONG, first: true, header }
    }

    /// The next part.
    pub(super) fn part(&mut self, part: Part) {
        self.append(&part.head);
        if let Some(rest) = part.rest {
            self.close();
            if !self.failed() {
                self.lines.append(rest.lines);
            }
            self.append(&rest.tail);
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        // A vector that grows is there twice.
        while self.open.len() + bytes.len() > self.set_aside && !self.failed() {
            let more = 2 * self.set_aside;
            if self.question.shared.take(more).is_ok() {
                self.set_aside += more;
            }
        }
        if !self.failed() {
            append(&mut self.open, bytes, self.question.shared);
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
        let line = match self.open.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) if self.first => rest,
            _ => &self.open,
        };
        let skipped = self.first && self.header && !self.question.layout.goes_on(line);
        self.lines.note(if skipped { Ok(()) } else { tally.line(line) }, 1);
        self.first = false;
        self.open.clear();
    }

    /// The lines joined here, and what is known of all lines. The last one may lack its newline.
    pub(super) fn finish(mut self) -> (Option<Tally<'a>>, Lines) {
        if !self.open.is_empty() && !self.failed() {
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
    open: Vec<u8>,
    /// Where its last line begins, and in what state.
    line: usize,
    state: State,
    /// How many lines are before that one.
    newlines: u64,
    first: bool,
}

/// A record of more bytes has lost a quote.
const LONGEST: usize = 256 << 20;

impl<'a> Scan for Records<'a> {
    type Worker = Reading<'a>;
    /// Whether it is of use to go on.
    type Part = bool;

    fn worker(&self) -> Reading<'a> {
        let tally = Tally::new(&self.question);
        let (lines, open) = (Lines::default(), Vec::new());
        Reading { tally, lines, open, line: 0, state: State::Start, newlines: 0, first: true }
    }

    fn piece(&self, reading: &mut Reading<'a>, _offset: u64, mut bytes: &[u8]) -> bool {
        while let Some(end) = memchr(b'\n', bytes)
            && !reading.failed(self)
        {
            append(&mut reading.open, &bytes[..end], self.question.shared);
            bytes = &bytes[end + 1..];
            reading.end_of_line(self);
        }
        append(&mut reading.open, bytes, self.question.shared);
        if reading.state == State::Quoted && reading.open.len() > LONGEST {
            reading.unclosed(self);
        }
        !reading.failed(self)
    }
}

impl Reading<'_> {
    fn failed(&self, of: &Records<'_>) -> bool {
        (of.question.layout.strict && self.lines.bad > 0) || of.question.shared.failure().is_some()
    }

    /// The record so far, without the mark that the first may have.
    fn record(&self) -> &[u8] {
        match self.open.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) if self.first => rest,
            _ => &self.open,
        }
    }

    /// A line has ended: the record as well, unless that is in quotes.
    fn end_of_line(&mut self, of: &Records<'_>) {
        let record = self.record();
        let line = &record[self.line.min(record.len())..];
        self.state = self.state.behind(line, of.question.layout.delimiter);
        if self.state == State::Quoted {
            append(&mut self.open, b"\n", of.question.shared);
            self.line = self.record().len();
            self.newlines += 1;
        } else {
            self.close(of);
        }
    }

    fn close(&mut self, of: &Records<'_>) {
        let skipped = self.first && of.header;
        let Some(mut tally) = self.tally.take() else { return };
        let row = if skipped { Ok(()) } else { tally.line(self.record()) };
        self.tally = Some(tally);
        self.next(row);
    }

    /// The record goes on, and ends nowhere.
    fn unclosed(&mut self, of: &Records<'_>) {
        let error = LineError::endless(self.record(), of.question.layout.delimiter);
        self.next(Err(error));
    }

    fn next(&mut self, row: Result<(), LineError>) {
        self.lines.note(row, self.newlines + 1);
        (self.line, self.state, self.newlines, self.first) = (0, State::Start, 0, false);
        self.open.clear();
    }
}

impl<'a> Reading<'a> {
    /// What was taken in, and what is known of all lines. The last record may lack its newline.
    pub(super) fn finish(mut self, of: &Records<'a>) -> (Option<Tally<'a>>, Lines) {
        if (self.newlines > 0 || !self.open.is_empty()) && !self.failed(of) {
            self.end_of_line(of);
            if self.state == State::Quoted {
                // There is no newline where the input ends.
                self.open.pop();
                self.unclosed(of);
            }
        }
        (self.tally, self.lines)
    }
}
