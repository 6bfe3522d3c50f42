//! The second pass: adds the rows of an indexed block to the table.

use std::ops::Range;

use super::fixed::Fixed;
use super::index::Index;
use super::layout::Layout;
use super::table::{Block, LONGEST, Table};

/// The positions of key and value in rows that all have the same number of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Fields per row.
    pub(super) fields: usize,
    /// The field with the key, from 0.
    pub(super) key: usize,
    /// The field with the value, from 0.
    pub(super) value: usize,
}

impl Shape {
    /// Two fields, key and value. The compiler specialises the code for this shape.
    pub(super) const PAIR: Shape = Shape { fields: 2, key: 0, value: 1 };

    /// The shape of rows with this many fields. `None` if they lack the key or the value.
    pub(super) fn new(layout: &Layout, fields: usize) -> Option<Shape> {
        let (key, value) = (layout.key, layout.value);
        (key < fields && value < fields).then_some(Shape { fields, key, value })
    }
}

/// The rows of an indexed block that may have the same shape.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) text: &'a [u8],
    /// The offset of the block in the text.
    pub(super) base: usize,
    /// The ends of the fields of a whole number of rows. The entry in front of them is -1.
    pub(super) ends: &'a [u16],
    pub(super) shape: Shape,
    /// Whether they are known to have this shape.
    pub(super) regular: bool,
    pub(super) fixed: Fixed,
}

impl<'a> Rows<'a> {
    /// The rows of the block at `base`.
    pub(super) fn new(text: &'a [u8], base: usize, index: &'a Index, shape: Shape, fixed: Fixed) -> Rows<'a> {
        let rows = index.lines.min(index.fields / shape.fields);
        let regular = index.regular && index.expected as usize == shape.fields;
        Rows { text, base, ends: &index.ends[..=rows * shape.fields], shape, regular, fixed }
    }

    /// The number of rows.
    pub(super) fn count(&self) -> usize {
        (self.ends.len() - 1) / self.shape.fields
    }

    /// The offset of a row. For `row == count()`, where a row after the last one would begin.
    pub(super) fn start(&self, row: usize) -> usize {
        self.base + usize::from(self.ends[row * self.shape.fields].wrapping_add(1))
    }

    /// Adds rows from number `from` on to the table. Returns the number of the first row that it cannot process, or the
    /// number of rows.
    #[inline(always)]
    pub(super) fn add(&self, from: usize, table: &mut Table) -> usize {
        if self.shape == Shape::PAIR {
            self.add_shaped(Shape::PAIR, from, table)
        } else {
            self.add_shaped(self.shape, from, table)
        }
    }

    /// The ranges of the key and the value of a row, if the row has the assumed shape.
    pub(super) fn fields(&self, row: usize) -> Option<(Range<usize>, Range<usize>)> {
        let shape = self.shape;
        let ends = &self.ends[row * shape.fields..=(row + 1) * shape.fields];
        if !self.is_line(shape, ends) {
            return None;
        }
        let field = |number: usize| {
            let (start, end) = self.field(shape, ends, number);
            self.base + start..self.base + end
        };
        Some((field(shape.key), field(shape.value)))
    }

    /// Whether these are the field ends of one line. The fields of several lines may have been taken for those of one.
    #[inline(always)]
    fn is_line(&self, shape: Shape, ends: &[u16]) -> bool {
        let newline = |end: &u16| self.text[self.base + usize::from(*end)] == b'\n';
        let last = shape.fields;
        self.regular || (newline(&ends[last]) && !ends[1..last].iter().any(newline))
    }

    /// The range of a field of a line in the block.
    #[inline(always)]
    fn field(&self, shape: Shape, ends: &[u16], number: usize) -> (usize, usize) {
        let start = usize::from(ends[number].wrapping_add(1));
        let end = usize::from(ends[number + 1]);
        // The last field of a line may end with a carriage return, which is not part of it.
        let cut = number + 1 == shape.fields && self.text[self.base..][start..end].ends_with(b"\r");
        (start, end - usize::from(cut))
    }

    #[inline(always)]
    fn add_shaped(&self, shape: Shape, from: usize, table: &mut Table) -> usize {
        // Each window begins with the end of the row before.
        let rows = self.ends.windows(shape.fields + 1).step_by(shape.fields);
        for (row, ends) in rows.enumerate().skip(from) {
            if self.add_row(shape, ends, table).is_none() {
                return row;
            }
        }
        self.count()
    }

    /// Adds one row.
    #[inline(always)]
    fn add_row(&self, shape: Shape, ends: &[u16], table: &mut Table) -> Option<()> {
        let text = &self.text[self.base..];
        if !self.is_line(shape, ends) {
            return None;
        }
        let field = |number: usize| self.field(shape, ends, number);
        let (start, end) = field(shape.value);
        let word = self.text.get((self.base + end).wrapping_sub(8)..self.base + end)?.first_chunk()?;
        let value = self.fixed.parse(u64::from_le_bytes(*word), end - start)?;
        let (start, end) = field(shape.key);
        let mask = MASKS.get(end - start)?;
        let words = text.get(start..start + LONGEST)?.as_chunks::<8>().0;
        let mut key = [0; 4];
        for (to, (from, mask)) in key.iter_mut().zip(words.iter().zip(mask)) {
            *to = u64::from_le_bytes(*from) & mask;
        }
        table.add(&key, (end - start) as u32, value);
        Some(())
    }
}

/// Masks of the first bytes of a block, by length.
static MASKS: [Block; LONGEST + 1] = {
    let mut masks = [[0; 4]; LONGEST + 1];
    let mut length = 0;
    while length <= LONGEST {
        let mut byte = 0;
        while byte < length {
            masks[length][byte / 8] |= 0xff << (8 * (byte % 8));
            byte += 1;
        }
        length += 1;
    }
    masks
};
