//! Fields in double quotes, as in RFC 4180.
//!
//! A quote opens a field only at its beginning, so that `5" nails` is text as it stands. What follows a closing quote up
//! to the next separator is text, too.

use memchr::{memchr, memchr2};

use super::fields::{self, Range, Stop};
use crate::records::Malformed;

#[inline]
pub(super) fn has_quotes(line: &[u8]) -> bool {
    memchr(b'"', line).is_some()
}

/// As `Format::length`.
#[inline]
pub(super) fn length(bytes: &[u8], last: bool, separator: u8, terminator: u8) -> Result<Option<usize>, Malformed> {
    let line = memchr(terminator, bytes);
    let first = line.unwrap_or(bytes.len());
    if !has_quotes(&bytes[..first]) {
        return Ok(line.map(|end| end + 1).or(last.then_some(bytes.len())));
    }
    let mut at = 0;
    loop {
        let Some(text) = behind_quotes(bytes, at) else {
            return if last { Err(Malformed::Unclosed { bytes: bytes.len() as u64 }) } else { Ok(None) };
        };
        match memchr2(separator, terminator, &bytes[text..]) {
            None => return Ok(last.then_some(bytes.len())),
            Some(end) if bytes[text + end] == terminator => return Ok(Some(text + end + 1)),
            Some(end) => at = text + end + 1,
        }
    }
}

/// Where the text of the field at `at` goes on without quotes: at `at`, or behind the quote that closes it. `None` if no
/// quote closes it.
fn behind_quotes(bytes: &[u8], mut at: usize) -> Option<usize> {
    if bytes.get(at) != Some(&b'"') {
        return Some(at);
    }
    loop {
        at += 1;
        at += memchr(b'"', &bytes[at..])? + 1;
        if bytes.get(at) != Some(&b'"') {
            return Some(at);
        }
    }
}

/// A part of a line that has quotes, built in `text`. As in lines without quotes, characters may be counted into the
/// fields that follow, and separators are part of what lies between two fields.
pub(super) fn find<'a>(range: &Range, line: &[u8], separator: u8, text: &'a mut Vec<u8>) -> &'a [u8] {
    let (first, last) = match range.stop {
        None => (range.field, usize::MAX),
        Some(stop) if stop.character == 0 => (range.field, stop.field),
        Some(stop) => (range.field.min(stop.field), usize::MAX),
    };
    // Where the fields begin in `text`: at its end if the line does not have them.
    let (mut start, mut stop) = (None, None);
    let mut at = 0;
    for field in 0..=last {
        if field == range.field {
            start = Some(text.len());
        }
        if range.stop.is_some_and(|stop| stop.field == field) {
            stop = Some(text.len());
        }
        let behind = behind_quotes(line, at).unwrap_or(line.len());
        let end = memchr(separator, &line[behind..]).map_or(line.len(), |end| behind + end);
        if field >= first {
            unquote(&line[at..behind], text);
            text.extend_from_slice(&line[behind..end]);
        }
        at = end + 1;
        if at > line.len() {
            break;
        }
        if field >= first && field < last {
            text.push(separator);
        }
    }
    let place = |field: Option<usize>, skip_blanks, character| {
        fields::inside(text, field.unwrap_or(text.len()), skip_blanks, character)
    };
    let start = place(start, range.skip_blanks, range.character);
    let end = match range.stop {
        Some(Stop { character: character @ 1.., skip_blanks, .. }) => place(stop, skip_blanks, character),
        _ => text.len(),
    };
    &text[start..end.max(start)]
}

/// Appends what a field in quotes says, if it is one. A closing quote may be missing.
fn unquote(field: &[u8], text: &mut Vec<u8>) {
    let Some(mut rest) = field.strip_prefix(b"\"") else { return text.extend_from_slice(field) };
    while let Some(quote) = memchr(b'"', rest) {
        text.extend_from_slice(&rest[..quote]);
        let Some(more) = rest[quote + 1..].strip_prefix(b"\"") else { return };
        text.push(b'"');
        rest = more;
    }
    text.extend_from_slice(rest);
}
