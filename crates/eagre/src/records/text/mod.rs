//! Lines ordered by keys, as `LC_ALL=C sort` of GNU orders them.
//!
//! The idea: a line is *normalised* into bytes whose order under `memcmp` is the wanted one, once, instead of being taken
//! apart in every comparison. The key of a line holds one code per key of the order, one after the other, and then the
//! line itself, which decides where all keys are equal. Each code is free of prefixes: none is the beginning of another
//! for the same key. So a longer field never reaches into the next code, and the complement of a code is the code of the
//! reversed order.
//!
//! | option | code |
//! |---|---|
//! | none, `d`, `f`, `i` | the bytes that count, escaped, and an end mark |
//! | `n`, `h` | sign (and suffix), number of digits, digits; of any length |
//! | `g` | kind, sign, exponent and mantissa of an x87 extended number |
//! | `M` | one byte |
//! | `V` | characters in the order of versions, each number with its length before it |
//!
//! | file | holds |
//! |---|---|
//! | `options`, `order` | the syntax of options and keys; what is asked for, and whether it makes sense |
//! | `fields` | where a key begins and ends in a line |
//! | `csv` | records and fields with quotes |
//! | `codes` | texts, months and lengths; which code a key gets |
//! | `number`, `extended`, `version` | the codes of `n` and `h`, `g`, and `V` |

mod codes;
mod csv;
mod extended;
mod fields;
mod number;
mod options;
mod order;
mod version;

use std::cell::Cell;
use std::thread::LocalKey;

use super::{Format, Malformed, word};
use codes::Code;
use fields::{Cursor, Range};
pub use options::TextOptions;
pub use order::{TextKey, TextOrder};

/// Lines of text, ordered as `LC_ALL=C sort` of GNU orders them. A [`TextOrder`] makes it.
///
/// ```
/// use eagre::records::{Format, Text, TextOrder};
///
/// let text: Text = TextOrder::new().separator(b',').key("2,2n".parse()?).build()?;
/// let (mut nine, mut ten) = (Vec::new(), Vec::new());
/// assert!(text.key(b"a,9\n", &mut nine) < text.key(b"A,10\n", &mut ten));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    terminator: u8,
    separator: Option<u8>,
    csv: bool,
    keys: Vec<Key>,
    descending: bool,
    /// Whether the line decides between lines whose keys are equal.
    last_resort: bool,
}

/// A key of an order, with all that it inherits.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    range: Range,
    code: Code,
    /// Whether it goes the other way than the order as a whole.
    complement: bool,
}

impl Text {
    /// Whether the order as a whole is reversed. Keys compare as if it were not: who sorts turns the order, and keeps
    /// the order of lines whose keys are equal.
    #[must_use]
    pub fn descending(&self) -> bool {
        self.descending
    }

    /// The key of a record in two parts, to be read one after the other: what is built in `scratch`, and a part of the
    /// record. Unlike [`Format::key`], it never copies the whole line.
    #[inline]
    pub fn key_parts<'a>(&self, record: &'a [u8], scratch: &'a mut Vec<u8>) -> (&'a [u8], &'a [u8]) {
        let line = self.line(record);
        scratch.clear();
        if let Some(part) = self.borrowed(line) {
            return (&[], part);
        }
        self.append(line, scratch);
        (scratch, if self.last_resort { line } else { &[] })
    }

    /// The record without its terminator.
    #[inline]
    fn line<'a>(&self, record: &'a [u8]) -> &'a [u8] {
        record.strip_suffix(&[self.terminator]).unwrap_or(record)
    }

    /// The key as it stands in the line, if it does.
    #[inline]
    fn borrowed<'a>(&self, line: &'a [u8]) -> Option<&'a [u8]> {
        match &self.keys[..] {
            [] => Some(line),
            [Key { range, code: Code::TEXT, complement: false }] if !self.last_resort && !self.csv => {
                Some(range.find(line, self.separator, &mut Cursor::default()))
            }
            _ => None,
        }
    }

    /// Appends the codes of all keys.
    #[inline]
    fn append(&self, line: &[u8], key: &mut Vec<u8>) {
        let quoted = self.csv && csv::has_quotes(line);
        // The end of a line of CSV may be two bytes, of which the last line may lack both.
        let fields = if self.csv { line.strip_suffix(b"\r").unwrap_or(line) } else { line };
        let mut cursor = Cursor::default();
        for Key { range, code, complement } in &self.keys {
            let start = key.len();
            if quoted {
                with_buffer(&UNQUOTED, |buffer| {
                    let found = csv::find(range, fields, self.separator.unwrap_or(b','), buffer);
                    code.append(found, key);
                });
            } else {
                code.append(range.find(fields, self.separator, &mut cursor), key);
            }
            if *complement {
                codes::complement(&mut key[start..]);
            }
        }
    }
}

impl Format for Text {
    #[inline]
    fn length(&self, bytes: &[u8], last: bool) -> Result<Option<usize>, Malformed> {
        if self.csv {
            return csv::length(bytes, last, self.separator.unwrap_or(b','), self.terminator);
        }
        match memchr::memchr(self.terminator, bytes) {
            Some(end) => Ok(Some(end + 1)),
            None => Ok(last.then_some(bytes.len())),
        }
    }

    #[inline]
    fn key<'a>(&self, record: &'a [u8], scratch: &'a mut Vec<u8>) -> &'a [u8] {
        let line = self.line(record);
        if let Some(part) = self.borrowed(line) {
            return part;
        }
        scratch.clear();
        self.append(line, scratch);
        if self.last_resort {
            scratch.extend_from_slice(line);
        }
        scratch
    }

    #[inline]
    fn prefix(&self, record: &[u8], scratch: &mut Vec<u8>) -> u128 {
        let line = self.line(record);
        if let Some(part) = self.borrowed(line) {
            return word(part, 0);
        }
        scratch.clear();
        self.append(line, scratch);
        if self.last_resort {
            let missing = size_of::<u128>().saturating_sub(scratch.len());
            scratch.extend_from_slice(&line[..missing.min(line.len())]);
        }
        word(scratch, 0)
    }

    fn terminator(&self) -> Option<u8> {
        Some(self.terminator)
    }

    fn ends_at_terminator(&self) -> bool {
        !self.csv
    }
}

/// Room for a text that is made from another, kept from key to key.
type Buffer = LocalKey<Cell<Vec<u8>>>;

thread_local! {
    static UNQUOTED: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static COUNTED: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

fn with_buffer(buffer: &'static Buffer, work: impl FnOnce(&mut Vec<u8>)) {
    let mut text = buffer.take();
    text.clear();
    work(&mut text);
    buffer.set(text);
}

#[cfg(test)]
mod tests;
