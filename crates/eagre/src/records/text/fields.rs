//! Where a key begins and ends in a line.

/// A part of a line. Fields and characters are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) field: usize,
    pub(super) character: usize,
    pub(super) skip_blanks: bool,
    /// Without it, the part goes to the end of the line.
    pub(super) stop: Option<Stop>,
}

/// Where a part ends: behind so many characters of a field, or behind the field if there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) field: usize,
    pub(super) character: usize,
    pub(super) skip_blanks: bool,
}

/// A field whose beginning is known: keys are mostly found from the left to the right.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor {
    field: usize,
    at: usize,
}

impl Range {
    /// The part of `line`. It is empty if its end comes before its beginning.
    #[inline]
    pub(super) fn find<'a>(&self, line: &'a [u8], separator: Option<u8>, cursor: &mut Cursor) -> &'a [u8] {
        let field = cursor.seek(self.field, line, separator);
        let start = inside(line, field, self.skip_blanks, self.character);
        let end = match self.stop {
            None => line.len(),
            Some(stop) => stop.find(line, separator, cursor),
        };
        &line[start..end.max(start)]
    }
}

impl Stop {
    #[inline]
    fn find(&self, line: &[u8], separator: Option<u8>, cursor: &mut Cursor) -> usize {
        let field = cursor.seek(self.field, line, separator);
        if self.character > 0 {
            inside(line, field, self.skip_blanks, self.character)
        } else {
            end(line, field, separator)
        }
    }
}

impl Cursor {
    /// Where a field begins: the end of the line if it has no such field.
    #[inline]
    fn seek(&mut self, field: usize, line: &[u8], separator: Option<u8>) -> usize {
        if field < self.field {
            *self = Cursor::default();
        }
        while self.field < field && self.at < line.len() {
            self.at = end(line, self.at, separator);
            if separator.is_some() && self.at < line.len() {
                self.at += 1;
            }
            self.field += 1;
        }
        // Fields that a line does not have begin where it ends.
        self.field = self.field.max(field);
        self.at
    }
}

/// Where the field that begins at `at` ends.
#[inline]
fn end(line: &[u8], at: usize, separator: Option<u8>) -> usize {
    let rest = &line[at..];
    match separator {
        Some(separator) => memchr::memchr(separator, rest).map_or(line.len(), |end| at + end),
        None => {
            let blanks = blanks(rest);
            at + rest[blanks..].iter().position(|&byte| is_blank(byte)).map_or(rest.len(), |text| blanks + text)
        }
    }
}

/// A character of a field, or the end of the line if that comes before.
#[inline]
pub(super) fn inside(line: &[u8], field: usize, skip_blanks: bool, character: usize) -> usize {
    let field = if skip_blanks { field + blanks(&line[field..]) } else { field };
    field.saturating_add(character).min(line.len())
}

/// How many blanks `text` begins with.
#[inline]
pub(super) fn blanks(text: &[u8]) -> usize {
    text.iter().position(|&byte| !is_blank(byte)).unwrap_or(text.len())
}

/// Lines that end with NUL may contain newlines, and these are blanks.
#[inline]
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n')
}
