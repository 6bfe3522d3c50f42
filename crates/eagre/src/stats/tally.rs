//! What one thread knows: complete lines in, a summary per key out.
//!
//! Two tables share the work. Short keys with ordinary numbers go through [`Rows`] into the fast [`Table`], a block of a
//! few KiB at a time. Everything else goes line by line into a map that takes anything: long keys, numbers written
//! with another count of decimals, rows of another shape, and what the fast table refused. At the end the fast one is
//! poured into the map; sums are exact, so which way a row went cannot be seen in the answer.

use std::collections::HashMap;

use memchr::memchr;

use super::decimal::{Decimal, Summary};
use super::fixed::{Fixed, MOST_DECIMALS};
use super::index::{BLOCK, Index};
use super::kernels::Level;
use super::rows::{Rows, Shape};
use super::table::{LONGEST, Table};
use super::{Layout, LineError, Row};

/// The lines of a stretch of text.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// How many there are.
    pub(super) count: u64,
    /// How many of them were no rows.
    pub(super) bad: u64,
    /// The first of these: how many lines are before it, and what is wrong.
    pub(super) first: Option<(u64, LineError)>,
}

impl Lines {
    /// One more line.
    pub(super) fn note(&mut self, line: Result<(), LineError>) {
        if let Err(error) = line {
            self.bad += 1;
            self.first.get_or_insert((self.count, error));
        }
        self.count += 1;
    }

    /// These lines, and others behind them.
    pub(super) fn append(&mut self, other: Lines) {
        if let (None, Some((line, error))) = (&self.first, other.first) {
            self.first = Some((self.count + line, error));
        }
        self.count += other.count;
        self.bad += other.bad;
    }
}

/// Summaries per key.
pub(super) type Map = HashMap<Box<[u8]>, Summary>;

/// Adds to the summary of a key.
fn add(map: &mut Map, key: &[u8], summary: Summary) {
    // Not `entry`, which wants a key of its own for every question.
    match map.get_mut(key) {
        Some(known) => known.merge(summary),
        None => drop(map.insert(key.into(), summary)),
    }
}

/// Summaries per key, under way.
#[derive(Debug)]
pub(super) struct Tally {
    layout: Layout,
    level: Level,
    index: Index,
    /// The fast table, from the first use on, and how its numbers are written.
    table: Option<(Table, Fixed)>,
    /// How many rows the fast table may still take before a count in it might overflow.
    room: u32,
    /// Rows that missed the fast table only because of their number of decimals.
    misfits: usize,
    map: Map,
    /// The most decimals that a value was written with.
    decimals: u32,
}

impl Tally {
    pub(super) fn new(layout: Layout, level: Level) -> Tally {
        Tally {
            layout,
            level,
            index: Index::new(),
            table: None,
            room: u32::MAX,
            misfits: 0,
            map: Map::new(),
            decimals: 0,
        }
    }

    /// Takes in text that consists of complete lines.
    pub(super) fn lines(&mut self, text: &[u8], lines: &mut Lines) {
        let mut at = 0;
        while at < text.len() && !self.stopped(lines) {
            at += match self.table {
                Some(_) => self.block(text, at, lines),
                None => self.one_by_one(&text[at..], 1, lines),
            };
        }
    }

    /// Takes in the lines that end in the block at `at`, or the one line that is longer. Returns their length.
    fn block(&mut self, text: &[u8], at: usize, lines: &mut Lines) -> usize {
        let block = &text[at..text.len().min(at + BLOCK)];
        self.index.fill(block, self.layout.delimiter, self.level);
        // A block is taken for one whose rows all have the shape of the first, until one has not.
        let shape = self.index.first_line(block).and_then(|fields| Shape::new(&self.layout, fields));
        let Some(shape) = shape else {
            return self.one_by_one(&text[at..], block.len(), lines);
        };
        self.index.expected = shape.fields as u32;
        if self.room < BLOCK as u32 {
            self.pour();
        }
        let mut row = 0;
        while let Some((table, fixed)) = &mut self.table {
            let rows = Rows::new(text, at, &self.index, shape, *fixed);
            let odd = self.level.add(rows, row, table);
            self.room -= (odd - row) as u32;
            lines.count += (odd - row) as u64;
            let start = rows.start(odd);
            if odd == rows.count() {
                return start - at;
            }
            let end = rows.start(odd + 1);
            let next = start + self.one_by_one(&text[start..], 1, lines);
            if self.stopped(lines) {
                return next - at;
            }
            if next != end {
                // Not only its key or its value was odd: it has another shape, and the index is out of step.
                let left = (at + block.len()).saturating_sub(next);
                return next - at + self.one_by_one(&text[next..], left, lines);
            }
            row = odd + 1;
        }
        unreachable!("a block is only begun with a table, and then there is one")
    }

    /// Takes in lines until they make up `least` bytes, and returns how many they made up.
    fn one_by_one(&mut self, text: &[u8], least: usize, lines: &mut Lines) -> usize {
        let mut at = 0;
        while at < least.min(text.len()) && !self.stopped(lines) {
            let length = memchr(b'\n', &text[at..]).unwrap_or(text.len() - at);
            lines.note(self.line(&text[at..at + length]));
            // A mapped file can change under us: the newline may be gone again, and is not counted on.
            at = (at + length + 1).min(text.len());
        }
        at
    }

    fn stopped(&self, lines: &Lines) -> bool {
        self.layout.strict && lines.bad > 0
    }

    /// Takes in one line, given without its newline.
    pub(super) fn line(&mut self, line: &[u8]) -> Result<(), LineError> {
        let Some(Row { key, value }) = self.layout.split(line)? else {
            return Ok(());
        };
        let (number, decimals) = Decimal::parse(value).ok_or_else(|| LineError::value(value))?;
        self.decimals = self.decimals.max(decimals);
        add(&mut self.map, key, Summary::one(number));
        if key.len() <= LONGEST && decimals <= MOST_DECIMALS {
            self.adapt(decimals);
        }
        Ok(())
    }

    /// A row with so many decimals came by that the fast table has not taken. From the first such row it gets the number of decimals it
    /// takes; it gets another when so many rows missed it that changing costs little beside them.
    fn adapt(&mut self, decimals: u32) {
        let Some((table, fixed)) = &mut self.table else {
            self.table = Some((Table::new(), Fixed::new(decimals)));
            return;
        };
        if fixed.decimals() == decimals {
            return;
        }
        self.misfits += 1;
        if self.misfits > 64 + 4 * table.len() {
            self.pour();
            self.misfits = 0;
            if let Some((_, fixed)) = &mut self.table {
                *fixed = Fixed::new(decimals);
            }
        }
    }

    /// Empties the fast table into the map.
    fn pour(&mut self) {
        let Some((table, fixed)) = &mut self.table else { return };
        for entry in table.entries() {
            let (min, max) = (entry.min.into(), entry.max.into());
            let summary = Summary::scaled(entry.count.into(), min, max, entry.sum, fixed.decimals());
            self.decimals = self.decimals.max(fixed.decimals());
            add(&mut self.map, &entry.key_bytes()[..entry.length as usize], summary);
        }
        table.clear();
        self.room = u32::MAX;
    }

    /// What this tally knows goes into another.
    pub(super) fn pour_into(mut self, other: &mut Tally) {
        self.pour();
        other.decimals = other.decimals.max(self.decimals);
        if other.map.is_empty() {
            other.map = self.map;
            return;
        }
        for (key, summary) in self.map {
            other.map.entry(key).and_modify(|known| known.merge(summary)).or_insert(summary);
        }
    }

    /// The summaries, and the most decimals that a value was written with.
    pub(super) fn finish(mut self) -> (Map, u32) {
        self.pour();
        (self.map, self.decimals)
    }
}
