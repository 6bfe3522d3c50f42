//! The question as a scan, and the joining of its parts.
//!
//! Pieces are cut anywhere. A worker processes the complete lines inside its piece. The text before the first newline
//! and behind the last one is returned with the part. The lines that these texts form are processed here, in order: one
//! line per piece.
//!
//! A CSV record may contain newlines inside quotes. At first each line is treated as a record. As long as every line
//! ends outside quotes, the next one begins outside quotes, so this is right. If a line ends inside quotes, everything
//! is done again by [`Records`], one piece after another.

use memchr::{memchr, memrchr};

use super::csv::State;
use super::layout::LineError;
use super::shared::Shared;
use super::tally::{Lines, Question, Tally};
use crate::scan::Scan;

/// The part of a piece, besides what its worker has processed.
#[derive(Debug)]
pub(super) struct Part {
    /// The text up to the first newline. The whole piece if there is none.
    head: Vec<u8>,
    /// The rest, if there is a newline.
    rest: Option<Rest>,
}

#[derive(Debug)]
struct Rest {
    /// The complete lines behind the first newline.
    lines: Lines,
    /// The text behind the last newline.
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
    /// A copy of `bytes`. It is empty if memory is refused, which the shared table records.
    fn keep(&self, bytes: &[u8]) -> Vec<u8> {
        let mut copy = Vec::new();
        append(&mut copy, bytes, self.shared);
        copy
    }
}

/// Appends to a line that is being put together. If memory is refused, the shared table records it.
fn append(line: &mut Vec<u8>, bytes: &[u8], shared: &Shared) {
    match line.try_reserve(bytes.len()) {
        Ok(()) => line.extend_from_slice(bytes),
        Err(_) => drop(shared.refuse()),
    }
}

/// A line or a record that has not ended yet. Only memory limits its length.
#[derive(Debug)]
struct Open<'a> {
    bytes: Vec<u8>,
    /// The length for which memory is accounted for. Lines up to [`LONG`] need no account.
    set_aside: usize,
    shared: &'a Shared,
}

/// Up to this length, the memory of a line is not accounted for.
const LONG: usize = 1 << 20;

impl<'a> Open<'a> {
    fn new(shared: &'a Shared) -> Open<'a> {
        Open { bytes: Vec::new(), set_aside: LONG, shared }
    }

    /// Appends bytes. If memory was refused before, the line is not needed, and nothing happens.
    fn append(&mut self, bytes: &[u8]) {
        // A growing vector exists twice for a moment.
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

    /// Starts the next line.
    fn clear(&mut self) {
        self.bytes.clear();
        if self.set_aside > LONG {
            self.bytes = Vec::new();
            self.shared.room().give(self.set_aside - LONG);
            self.set_aside = LONG;
        }
    }

    /// The bytes of the line. A byte order mark in front of the first line is removed.
    fn line(&self, first: bool) -> &[u8] {
        match self.bytes.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) if first => rest,
            _ => &self.bytes,
        }
    }
}

/// A byte order mark, with which some UTF-8 texts begin. It is not part of the first key.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Joins the parts of one input.
#[derive(Debug)]
pub(super) struct Joiner<'a> {
    question: Question<'a>,
    tally: Option<Tally<'a>>,
    /// The lines so far.
    lines: Lines,
    /// The line that has not ended yet.
    open: Open<'a>,
    /// Whether the first line is still to come.
    first: bool,
    /// Whether the first line is a header, which is skipped.
    header: bool,
}

impl<'a> Joiner<'a> {
    pub(super) fn new(question: &Question<'a>, header: bool) -> Joiner<'a> {
        let (question, tally, open) = (*question, Tally::new(question), Open::new(question.shared));
        Joiner { question, tally, lines: Lines::default(), open, first: true, header }
    }

    /// Joins the next part.
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

    /// Whether it is useless to continue.
    pub(super) fn failed(&self) -> bool {
        self.lines.unclosed
            || (self.question.layout.strict && self.lines.bad > 0)
            || self.question.shared.failure().is_some()
    }

    /// Processes the open line, which has ended.
    fn close(&mut self) {
        let Some(tally) = &mut self.tally else { return };
        let line = self.open.line(self.first);
        let skipped = self.first && self.header && !self.question.layout.goes_on(line);
        self.lines.note(if skipped { Ok(()) } else { tally.line(line) }, 1);
        self.first = false;
        self.open.clear();
    }

    /// The lines joined here, and a summary of all lines. The last line may lack its newline.
    pub(super) fn finish(mut self) -> (Option<Tally<'a>>, Lines) {
        if !self.open.bytes.is_empty() && !self.failed() {
            self.close();
        }
        (self.tally, self.lines)
    }
}

/// The same question for records that may contain newlines inside quotes. It needs a single thread, because whether a
/// byte is inside quotes is only known by reading from the beginning.
#[derive(Debug)]
pub(super) struct Records<'a> {
    pub(super) question: Question<'a>,
    pub(super) header: bool,
}

/// The state after the records so far.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    tally: Option<Tally<'a>>,
    lines: Lines,
    /// The record that has not ended yet.
    open: Open<'a>,
    /// Where its last line begins, and the state there.
    line: usize,
    state: State,
    /// The number of newlines before that line.
    newlines: u64,
    first: bool,
}

/// A record of several lines that is longer than this is assumed to lack a quote.
const LONGEST: usize = 256 << 20;

impl<'a> Scan for Records<'a> {
    type Worker = Reading<'a>;
    /// Whether it is useful to continue.
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
            // The unfinished line is counted when it ends.
            reading.unclosed(self, reading.newlines);
        }
        !reading.failed(self)
    }
}

impl Reading<'_> {
    fn failed(&self, of: &Records<'_>) -> bool {
        (of.question.layout.strict && self.lines.bad > 0) || of.question.shared.failure().is_some()
    }

    /// The state after the last line.
    fn behind(&self, of: &Records<'_>) -> State {
        let record = self.open.line(self.first);
        self.state.behind(&record[self.line.min(record.len())..], of.question.layout.delimiter)
    }

    /// Handles the end of a line. The record ends as well, unless it is inside quotes.
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

    /// Reports a record that never ends.
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
    /// The processed rows, and a summary of all lines. The last record may lack its newline.
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
