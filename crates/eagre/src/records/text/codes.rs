//! Which code a key gets, and the codes of texts, months and lengths.

use super::{COUNTED, TextOptions, extended, fields, number, version, with_buffer};

/// How a key is turned into bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code {
    kind: Kind,
    ignore: Ignore,
    fold: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Numeric,
    General,
    Human,
    Month,
    Version,
}

/// Which bytes do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ignore {
    None,
    /// All but blanks, letters and digits.
    Dictionary,
    /// All that cannot be printed.
    Unprintable,
}

impl Code {
    /// The text as it stands.
    pub(super) const TEXT: Code = Code { kind: Kind::Text, ignore: Ignore::None, fold: false };

    /// What the options ask for. They do not contradict each other.
    pub(super) fn new(options: TextOptions) -> Code {
        let kind = match options {
            TextOptions { numeric: true, .. } => Kind::Numeric,
            TextOptions { general: true, .. } => Kind::General,
            TextOptions { human: true, .. } => Kind::Human,
            TextOptions { month: true, .. } => Kind::Month,
            TextOptions { version: true, .. } => Kind::Version,
            _ => Kind::Text,
        };
        let ignore = match options {
            TextOptions { dictionary: true, .. } => Ignore::Dictionary,
            TextOptions { printable: true, .. } => Ignore::Unprintable,
            _ => Ignore::None,
        };
        // The case of letters means nothing to the others.
        let fold = options.fold && matches!(kind, Kind::Text | Kind::Human | Kind::Version);
        Code { kind, ignore, fold }
    }

    /// Appends the code of `text`.
    #[inline]
    pub(super) fn append(&self, text: &[u8], key: &mut Vec<u8>) {
        if self.ignore == Ignore::None && !self.fold {
            return self.kind.append(text, key);
        }
        with_buffer(&COUNTED, |buffer| {
            let counts = text.iter().copied().filter(|&byte| self.ignore.keeps(byte));
            if self.fold {
                buffer.extend(counts.map(|byte| byte.to_ascii_uppercase()));
            } else {
                buffer.extend(counts);
            }
            self.kind.append(buffer, key);
        });
    }
}

impl Ignore {
    fn keeps(self, byte: u8) -> bool {
        match self {
            Ignore::None => true,
            Ignore::Dictionary => byte.is_ascii_alphanumeric() || fields::is_blank(byte),
            Ignore::Unprintable => matches!(byte, b' '..=b'~'),
        }
    }
}

impl Kind {
    #[inline]
    fn append(self, text: &[u8], key: &mut Vec<u8>) {
        match self {
            Kind::Text => escaped(text, key),
            Kind::Numeric => number::append(text, key),
            Kind::General => extended::append(text, key),
            Kind::Human => number::append_human(text, key),
            Kind::Month => key.push(month(text)),
            Kind::Version => version::append(text, key),
        }
    }
}

/// Bytes and an end mark, 0, which comes before all of them: 0 and 1 become two bytes.
fn escaped(mut text: &[u8], key: &mut Vec<u8>) {
    while let Some(at) = memchr::memchr2(0, 1, text) {
        key.extend_from_slice(&text[..at]);
        key.extend_from_slice(&[1, 1 + text[at]]);
        text = &text[at + 1..];
    }
    key.extend_from_slice(text);
    key.push(0);
}

/// 1 to 12, or 0 if the text does not begin with a month.
fn month(text: &[u8]) -> u8 {
    const MONTHS: [&[u8; 3]; 12] =
        [b"JAN", b"FEB", b"MAR", b"APR", b"MAY", b"JUN", b"JUL", b"AUG", b"SEP", b"OCT", b"NOV", b"DEC"];
    let Some(name) = text[fields::blanks(text)..].first_chunk::<3>() else { return 0 };
    MONTHS.iter().zip(1..).find(|(month, _)| month.eq_ignore_ascii_case(name)).map_or(0, |(_, number)| number)
}

/// Appends a length such that greater ones come later: one byte from `base` on, or the number of bytes and these.
#[inline]
pub(super) fn length(base: u8, length: usize, key: &mut Vec<u8>) {
    const LAST: u8 = 0xf8;
    if length <= usize::from(LAST - base) {
        return key.push(base + length as u8);
    }
    let bytes = length.to_be_bytes();
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    key.push(LAST + (bytes.len() - zeros) as u8);
    key.extend_from_slice(&bytes[zeros..]);
}

/// The code for the reversed order.
pub(super) fn complement(code: &mut [u8]) {
    code.iter_mut().for_each(|byte| *byte = !*byte);
}
