//! Quoted fields as in RFC 4180.
//!
//! ```text
//! plain, "with, a comma", "with a ""quote""", "over
//! two lines"
//! ```
//! A quote has a meaning only at the beginning of a field. Text between the closing quote and the delimiter, which is
//! not valid CSV, is part of the field.

use std::borrow::Cow;

use memchr::memchr;

/// Iterates over the fields of a record, without their quotes.
pub(super) struct Fields<'a> {
    rest: Option<&'a [u8]>,
    delimiter: u8,
}

/// Why a field could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoField {
    /// The closing quote is missing.
    Unclosed,
    /// Memory for the joined parts of the field was refused.
    Memory,
}

impl<'a> Fields<'a> {
    pub(super) fn new(record: &'a [u8], delimiter: u8) -> Fields<'a> {
        Fields { rest: Some(record), delimiter }
    }

    /// The text of an unquoted field, up to the next delimiter.
    fn plain(&mut self, from: &'a [u8]) -> &'a [u8] {
        match memchr(self.delimiter, from) {
            Some(end) => {
                self.rest = Some(&from[end + 1..]);
                &from[..end]
            }
            None => {
                self.rest = None;
                from
            }
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Cow<'a, [u8]>, NoField>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest?;
        let Some(mut inside) = rest.strip_prefix(b"\"") else {
            return Some(Ok(Cow::Borrowed(self.plain(rest))));
        };
        let mut field = Cow::Borrowed(&b""[..]);
        loop {
            let Some(end) = memchr(b'"', inside) else {
                self.rest = None;
                return Some(Err(NoField::Unclosed));
            };
            // The first of two quotes is a literal quote, and the field continues.
            let goes_on = inside.get(end + 1) == Some(&b'"');
            let parts = match goes_on {
                true => [&inside[..=end], &[]],
                false => [&inside[..end], self.plain(&inside[end + 1..])],
            };
            for part in parts {
                field = match append(field, part) {
                    Ok(field) => field,
                    Err(why) => return Some(Err(why)),
                };
            }
            if !goes_on {
                return Some(Ok(field));
            }
            inside = &inside[end + 2..];
        }
    }
}

/// Appends a part to a field. The field is copied when it gets its second part.
fn append<'a>(field: Cow<'a, [u8]>, part: &'a [u8]) -> Result<Cow<'a, [u8]>, NoField> {
    if part.is_empty() {
        return Ok(field);
    }
    if field.is_empty() {
        return Ok(Cow::Borrowed(part));
    }
    let (mut owned, before) = match field {
        Cow::Owned(owned) => (owned, &[][..]),
        Cow::Borrowed(before) => (Vec::new(), before),
    };
    owned.try_reserve(before.len() + part.len()).map_err(|_| NoField::Memory)?;
    owned.extend_from_slice(before);
    owned.extend_from_slice(part);
    Ok(Cow::Owned(owned))
}

/// The state of a scanner that finds where records end, line by line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// At the beginning of a field.
    Start,
    /// Inside an unquoted field, or behind a closing quote.
    Plain,
    /// Inside quotes.
    Quoted,
}

impl State {
    /// The state after a line, which is given without its newline. [`State::Quoted`] means that the record continues in
    /// the next line.
    pub(super) fn behind(self, line: &[u8], delimiter: u8) -> State {
        let (mut state, mut at) = (self, 0);
        while at < line.len() {
            match state {
                State::Start => {
                    state = if line[at] == b'"' { State::Quoted } else { State::Plain };
                    at += usize::from(line[at] == b'"');
                }
                State::Plain => match memchr(delimiter, &line[at..]) {
                    Some(end) => (state, at) = (State::Start, at + end + 1),
                    None => break,
                },
                State::Quoted => match memchr(b'"', &line[at..]) {
                    Some(end) if line.get(at + end + 1) == Some(&b'"') => at += end + 2,
                    Some(end) => (state, at) = (State::Plain, at + end + 1),
                    None => break,
                },
            }
        }
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(record: &str) -> Vec<Option<String>> {
        let text = |field: Cow<'_, [u8]>| String::from_utf8(field.into_owned()).unwrap();
        Fields::new(record.as_bytes(), b',').map(|field| field.ok().map(text)).collect()
    }

    #[test]
    fn fields_are_what_their_quotes_say() {
        for (record, expected) in [
            ("", &[Some("")][..]),
            ("a", &[Some("a")]),
            ("a,b", &[Some("a"), Some("b")]),
            ("a,", &[Some("a"), Some("")]),
            (",", &[Some(""), Some("")]),
            ("\"a,b\",c", &[Some("a,b"), Some("c")]),
            ("\"a \"\"b\"\"\",c", &[Some("a \"b\""), Some("c")]),
            ("\"\",\"\"", &[Some(""), Some("")]),
            ("\"\"\"\"", &[Some("\"")]),
            ("\"a\nb\",2", &[Some("a\nb"), Some("2")]),
            ("5\" pipe,3", &[Some("5\" pipe"), Some("3")]),
            ("\"a\"b,c", &[Some("ab"), Some("c")]),
            ("x,\"a,b", &[Some("x"), None]),
            ("\"a\"\"", &[None]),
        ] {
            let expected: Vec<_> = expected.iter().map(|field| field.map(str::to_owned)).collect();
            assert_eq!(fields(record), expected, "{record}");
            let unclosed = State::Start.behind(record.as_bytes(), b',') == State::Quoted;
            assert_eq!(unclosed, expected.contains(&None), "{record}");
        }
    }

    #[test]
    fn a_record_may_be_looked_at_line_by_line() {
        let record = "a,\"b\nc\"\",\n\"\"d\",\"e\n\",f";
        let mut state = State::Start;
        let states = record.split('\n').map(|line| {
            state = state.behind(line.as_bytes(), b',');
            state
        });
        assert_eq!(states.collect::<Vec<_>>(), [State::Quoted, State::Quoted, State::Quoted, State::Plain]);
    }
}
