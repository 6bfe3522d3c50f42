//! The work of one thread: it takes complete lines and puts rows into tables.
//!
//! Two tables share the work. Short keys with ordinary numbers go through [`Rows`] into the thread's own [`Table`], one
//! block of a few KiB at a time, as long as there is room for their keys. All other rows are queued for the shared
//! table: further keys, long keys, and numbers with another number of decimals. At the end the small tables are merged
//! into the shared one. Sums are exact, so the result does not depend on the way a row took.

use memchr::memchr;

use super::decimal::Decimal;
use super::fixed::{Fixed, MOST_DECIMALS};
use super::index::{BLOCK, Index};
use super::kernels::Level;
use super::layout::{Layout, LineError, Row};
use super::number::Number;
use super::room::Refused;
use super::rows::{Rows, Shape};
use super::shard::{Details, Key};
use super::shared::Shared;
use super::summary::Summary;
use super::table::{LONGEST, Table};

/// After this many unsuitable rows in a block, the rest of the block is processed row by row.
const STRANGERS: usize = 8;

/// For how many full batches a useless small table stays closed, at first and at most.
const PAUSE: [u32; 2] = [16, 4096];

/// A summary of the lines of a text.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The number of lines.
    pub(super) count: u64,
    /// The number of lines that are not rows.
    pub(super) bad: u64,
    /// The first of these: how many lines precede it, and what is wrong with it.
    pub(super) first: Option<(u64, LineError)>,
    /// Whether a record continues in the next line, so that lines must not be taken for records.
    pub(super) unclosed: bool,
}

impl Lines {
    /// Counts one row of `lines` lines.
    pub(super) fn note(&mut self, row: Result<(), LineError>, lines: u64) {
        if let Err(error) = row {
            self.unclosed |= error.is_unclosed();
            self.bad += 1;
            self.first.get_or_insert((self.count, error));
        }
        self.count += lines;
    }

    /// Adds the summary of the lines that follow.
    pub(super) fn append(&mut self, other: Lines) {
        if let (None, Some((line, error))) = (&self.first, other.first) {
            self.first = Some((self.count + line, error));
        }
        self.count += other.count;
        self.bad += other.bad;
        self.unclosed |= other.unclosed;
    }
}

/// The question.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question<'a> {
    pub(super) layout: Layout,
    pub(super) level: Level,
    pub(super) details: Details,
    pub(super) shared: &'a Shared,
}

/// The part of the result that one thread has so far.
#[derive(Debug)]
pub(super) struct Tally<'a> {
    question: Question<'a>,
    index: Index,
    table: Table<'a>,
    /// The format of the numbers in the table, from the first row on.
    fixed: Option<Fixed>,
    /// How many more rows the table may take before a count in it could overflow.
    room: u32,
    /// Rows that missed the table only because of their number of decimals.
    misfits: usize,
    /// Rows on the fast path since the last full batch, and the number of keys in the table at that time.
    rows: usize,
    keys: usize,
    /// For how many more full batches the table stays closed, and for how many if it is useless again.
    closed: u32,
    pause: u32,
    /// The largest number of decimals with which a value was written.
    decimals: u32,
    /// Memory for a row was refused, so this tally is void.
    refused: bool,
}

impl<'a> Tally<'a> {
    /// `None` if memory is refused, which the shared table records.
    pub(super) fn new(question: &Question<'a>) -> Option<Tally<'a>> {
        let table = Table::new(*question.shared.secret(), question.details.any(), question.shared.room());
        let (Some(index), Some(table)) = (Index::new(), table) else {
            question.shared.refuse();
            return None;
        };
        Some(Tally {
            question: *question,
            index,
            table,
            fixed: None,
            room: u32::MAX,
            misfits: 0,
            rows: 0,
            keys: 0,
            closed: 0,
            pause: PAUSE[0],
            decimals: 0,
            refused: false,
        })
    }

    /// Processes text that consists of complete lines.
    pub(super) fn lines(&mut self, text: &[u8], lines: &mut Lines) {
        let mut at = 0;
        while at < text.len() && !self.stopped(lines) {
            at += match self.fixed {
                Some(fixed) => self.block(text, at, fixed, lines),
                None => self.one_by_one(&text[at..], 1, lines),
            };
        }
    }

    /// Processes the lines that end in the block at `at`, or one line that is longer than a block. Returns their
    /// length.
    fn block(&mut self, text: &[u8], at: usize, mut fixed: Fixed, lines: &mut Lines) -> usize {
        let Layout { delimiter, csv, .. } = self.question.layout;
        let block = &text[at..text.len().min(at + BLOCK)];
        if csv && memchr(b'"', block).is_some() {
            return self.one_by_one(&text[at..], block.len(), lines);
        }
        self.index.fill(block, delimiter, self.question.level);
        // All rows of a block are assumed to have the shape of the first, until one has not.
        let shape = self.index.first_line(block).and_then(|fields| Shape::new(&self.question.layout, fields));
        let Some(shape) = shape else {
            return self.one_by_one(&text[at..], block.len(), lines);
        };
        self.index.expected = shape.fields as u32;
        if self.room < BLOCK as u32 {
            self.pour();
        }
        if !self.table.queued.has_room(BLOCK) {
            self.judge();
            self.flush();
        }
        if self.refused {
            return block.len();
        }
        let (mut row, mut strangers) = (0, 0);
        loop {
            let rows = Rows::new(text, at, &self.index, shape, fixed);
            let odd = match strangers < STRANGERS {
                true => self.question.level.add(rows, row, &mut self.table),
                false => rows.add(row, &mut self.table),
            };
            self.room -= (odd - row) as u32;
            self.rows += odd - row;
            lines.count += (odd - row) as u64;
            let start = rows.start(odd);
            if odd == rows.count() {
                return start - at;
            }
            strangers += 1;
            row = odd + 1;
            if let Some((key, value)) = rows.fields(odd)
                && let Some(number) = Number::parse(text[value].trim_ascii())
            {
                self.row(&text[key], number);
                lines.count += 1;
            } else {
                let end = rows.start(odd + 1);
                let next = start + self.one_by_one(&text[start..], 1, lines);
                if next != end {
                    // The row has another shape, so the index is out of step with the rows.
                    let left = (at + block.len()).saturating_sub(next);
                    return next - at + self.one_by_one(&text[next..], left, lines);
                }
            }
            if self.stopped(lines) {
                return start - at;
            }
            fixed = self.fixed.unwrap_or(fixed);
        }
    }

    /// Processes lines one at a time until they have `least` bytes, and returns how many bytes they have.
    fn one_by_one(&mut self, text: &[u8], least: usize, lines: &mut Lines) -> usize {
        let mut at = 0;
        while at < least.min(text.len()) && !self.stopped(lines) {
            let length = memchr(b'\n', &text[at..]).unwrap_or(text.len() - at);
            lines.note(self.line(&text[at..at + length]), 1);
            // A mapped file may change meanwhile. So the newline may be gone, and the code does not rely on it.
            at = (at + length + 1).min(text.len());
        }
        at
    }

    fn stopped(&self, lines: &Lines) -> bool {
        self.refused || lines.unclosed || (self.question.layout.strict && lines.bad > 0)
    }

    /// Processes one line, or one record of several lines, given without the last newline.
    pub(super) fn line(&mut self, line: &[u8]) -> Result<(), LineError> {
        let row = match self.question.layout.split(line) {
            Err(error) if error.is_refused() => {
                self.note(Err(self.question.shared.refuse()));
                return Ok(());
            }
            row => row?,
        };
        let Some(Row { key, value }) = row else { return Ok(()) };
        let value = value.trim_ascii();
        let number = Number::parse(value).ok_or_else(|| LineError::value(value))?;
        self.row(&key, number);
        Ok(())
    }

    /// Processes one row.
    fn row(&mut self, key: &[u8], (number, decimals): (Number, u32)) {
        self.decimals = self.decimals.max(decimals);
        let Question { shared, .. } = &self.question;
        let queued = self.table.queued.push(shared.key(key), number, shared);
        self.note(queued);
        if key.len() <= LONGEST && decimals <= MOST_DECIMALS {
            self.adapt(decimals);
        }
    }

    /// A row has another number of decimals than the table takes. The first such row sets that number. Later it changes
    /// only when so many rows missed the table that the cost of changing is small in comparison.
    fn adapt(&mut self, decimals: u32) {
        if self.fixed.is_some_and(|fixed| fixed.decimals() == decimals) {
            return;
        }
        if self.fixed.is_some() {
            self.misfits += 1;
            if self.misfits <= 64 + 4 * self.table.len() {
                return;
            }
            self.pour();
        }
        self.misfits = 0;
        self.fixed = Some(Fixed::new(decimals));
        self.table.decimals = decimals as u8;
    }

    /// A batch is full: is the small table useful? If hardly any row finds its key there, searching it costs as much as
    /// searching the shared table. Then it is closed for some time. Afterwards it is filled with the keys of the next
    /// rows, which may be more frequent.
    fn judge(&mut self) {
        let queued = self.table.queued.len();
        // A row that was queued, or whose key is new, has not found its key.
        let new = self.table.len().saturating_sub(self.keys);
        let hits = std::mem::take(&mut self.rows).saturating_sub(queued + new);
        self.keys = self.table.len();
        if self.closed > 0 {
            self.closed -= 1;
            if self.closed == 0 {
                self.table.open(!self.question.details.any());
            }
        } else if hits >= queued / 3 {
            self.pause = PAUSE[0];
        } else if self.table.is_full() {
            self.pour();
            self.table.open(false);
            (self.closed, self.pause) = (self.pause, (self.pause * 2).min(PAUSE[1]));
        }
    }

    /// Moves the queued rows to the shared table.
    fn flush(&mut self) {
        let flushed = self.table.queued.flush(self.question.shared);
        self.note(flushed);
    }

    /// Empties the small table into the shared one.
    fn pour(&mut self) {
        let poured = self.pour_table(self.question.shared);
        self.note(poured);
        self.table.clear();
        self.room = u32::MAX;
    }

    fn pour_table(&self, shared: &Shared) -> Result<(), Refused> {
        let decimals = u32::from(self.table.decimals);
        let decimal = |value: i64| Decimal::new(value, decimals);
        self.table.entries().try_for_each(|entry| {
            let sum = decimal(entry.sum).units();
            let summary = Summary::many(entry.count.into(), decimal(entry.min.into()), decimal(entry.max.into()), sum);
            let key = Key { bytes: &entry.key_bytes()[..entry.length as usize], hash: entry.hash() };
            shared.merge(key, summary)
        })
    }

    fn note(&mut self, done: Result<(), Refused>) {
        self.refused |= done.is_err();
    }

    /// Merges everything in this tally into a shared table. Returns the largest number of decimals with which a value
    /// was written.
    pub(super) fn finish(mut self, shared: &Shared) -> Result<u32, Refused> {
        self.table.queued.flush(shared)?;
        self.pour_table(shared)?;
        Ok(self.decimals)
    }
}
