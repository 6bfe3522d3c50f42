//! Where the key and the value are in a line, and what is wrong with a line that is not a row.

use std::borrow::Cow;
use std::fmt;

use memchr::memchr_iter;

use super::csv::{Fields, NoField, State};

/// Where the key and the value are in a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) delimiter: u8,
    /// The columns, from 0.
    pub(super) key: usize,
    pub(super) value: usize,
    /// Whether the first line that is not a row is an error for the whole input.
    pub(super) strict: bool,
    /// Whether quotes have a meaning.
    pub(super) csv: bool,
}

/// A key and its value.
pub(super) struct Row<'a> {
    pub(super) key: Cow<'a, [u8]>,
    pub(super) value: Cow<'a, [u8]>,
}

impl Layout {
    /// Whether a record continues in the next line.
    pub(super) fn goes_on(&self, line: &[u8]) -> bool {
        self.csv && State::Start.behind(line, self.delimiter) == State::Quoted
    }

    /// The row of a line, which is given without its newline. `None` if the line is empty.
    pub(super) fn split<'a>(&self, line: &'a [u8]) -> Result<Option<Row<'a>>, LineError> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return Ok(None);
        }
        let (first, second) = (self.key.min(self.value), self.key.max(self.value));
        let missing = |column: usize| LineError { why: Why::NoColumn(column + 1), text: Excerpt::of(line) };
        let (one, other) = if self.csv && memchr::memchr(b'"', line).is_some() {
            let (mut one, mut other) = (None, None);
            // This looks at all fields: one that is not closed continues in the next line.
            for (column, field) in Fields::new(line, self.delimiter).enumerate() {
                let why = |why| match why {
                    NoField::Unclosed => Why::Unclosed(column + 1),
                    NoField::Memory => Why::NoMemory,
                };
                let field = field.map_err(|error| LineError { why: why(error), text: Excerpt::of(line) })?;
                match column {
                    _ if column == first => one = Some(field),
                    _ if column == second => other = Some(field),
                    _ => {}
                }
            }
            if first == second {
                let one = one.ok_or_else(|| missing(first))?;
                let value = Cow::Owned(copy(&one).ok_or(LineError { why: Why::NoMemory, text: Excerpt::of(line) })?);
                return Ok(Some(Row { key: one, value }));
            }
            (one.ok_or_else(|| missing(first))?, other.ok_or_else(|| missing(second))?)
        } else {
            let mut start = 0;
            let mut fields = memchr_iter(self.delimiter, line).chain([line.len()]).map(|end| {
                let field = &line[start..end];
                start = end + 1;
                Cow::Borrowed(field)
            });
            let one = fields.nth(first).ok_or_else(|| missing(first))?;
            let other = match second - first {
                0 => one.clone(),
                more => fields.nth(more - 1).ok_or_else(|| missing(second))?,
            };
            (one, other)
        };
        let (key, value) = if self.key <= self.value { (one, other) } else { (other, one) };
        Ok(Some(Row { key, value }))
    }
}

/// A copy of the bytes. `None` if memory is refused.
fn copy(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len()).ok()?;
    copy.extend_from_slice(bytes);
    Some(copy)
}

/// What is wrong with a line that is not a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError {
    why: Why,
    text: Excerpt,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Why {
    NoColumn(usize),
    NoNumber,
    TooLong,
    Unclosed(usize),
    NoMemory,
}

impl LineError {
    /// Whether memory to look at the line was refused. Then nothing is wrong with the line.
    pub(super) fn is_refused(&self) -> bool {
        self.why == Why::NoMemory
    }

    /// Describes a value that is not a valid number.
    pub(super) fn value(text: &[u8]) -> LineError {
        let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
        let (digits, exponent) = match digits.iter().position(|byte| byte.eq_ignore_ascii_case(&b'e')) {
            Some(at) => (&digits[..at], &digits[at + 1..]),
            None => (digits, &b"0"[..]),
        };
        let exponent = exponent.strip_prefix(b"-").or(exponent.strip_prefix(b"+")).unwrap_or(exponent);
        let long = digits.iter().filter(|&&byte| byte == b'.').count() <= 1
            && digits.iter().all(|&byte| byte == b'.' || byte.is_ascii_digit())
            && digits.iter().any(u8::is_ascii_digit)
            && !exponent.is_empty()
            && exponent.iter().all(u8::is_ascii_digit);
        LineError { why: if long { Why::TooLong } else { Why::NoNumber }, text: Excerpt::of(text) }
    }

    /// Whether the line is the beginning of a record that continues in the next line.
    pub(super) fn is_unclosed(&self) -> bool {
        matches!(self.why, Why::Unclosed(_))
    }

    /// Describes a record that never ends.
    pub(super) fn endless(record: &[u8], delimiter: u8) -> LineError {
        let column = Fields::new(record, delimiter).position(|field| field.is_err());
        LineError { why: Why::Unclosed(column.unwrap_or(0) + 1), text: Excerpt::of(record) }
    }
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.text;
        match self.why {
            Why::NoColumn(column) => write!(f, "no column {column} in '{text}'"),
            Why::NoNumber => write!(f, "'{text}' is not a number"),
            Why::TooLong => write!(f, "'{text}' has more than 18 digits before the point"),
            Why::NoMemory => write!(f, "no memory for '{text}'"),
            Why::Unclosed(column) => write!(f, "the quote that opens column {column} is never closed in '{text}'"),
        }
    }
}

/// The beginning of a text, for a message of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Excerpt {
    bytes: [u8; Excerpt::BYTES],
    length: u8,
    cut: bool,
}

impl Excerpt {
    /// The most characters that are shown, and the bytes they may take.
    const MOST: usize = 40;
    const BYTES: usize = 80;

    fn of(text: &[u8]) -> Excerpt {
        let length = text.len().min(Excerpt::BYTES);
        let mut bytes = [0; Excerpt::BYTES];
        bytes[..length].copy_from_slice(&text[..length]);
        Excerpt { bytes, length: length as u8, cut: length < text.len() }
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = Excerpt::MOST;
        let mut parts = self.bytes[..usize::from(self.length)].utf8_chunks().peekable();
        while let Some(part) = parts.next() {
            // A character that was cut is not shown.
            let is_whole = !self.cut || parts.peek().is_some();
            let odd = (!part.invalid().is_empty() && is_whole).then_some(char::REPLACEMENT_CHARACTER);
            for character in part.valid().chars().chain(odd) {
                // Double quotes are not escaped, because messages about CSV contain them and the text is in single
                // quotes.
                let escaped = (character != '"').then(|| character.escape_debug()).into_iter().flatten();
                for shown in escaped.chain((character == '"').then_some('"')) {
                    if left == 0 {
                        return f.write_str("…");
                    }
                    left -= 1;
                    fmt::Write::write_char(f, shown)?;
                }
            }
        }
        if self.cut { f.write_str("…") } else { Ok(()) }
    }
}
