//! Texts with numbers in them, in the order of versions.
//!
//! GNU compares two names without their endings (`.tar.gz`) first, and then with them. Each comparison takes characters
//! in an order of their own (`~`, the end, letters, all others), and where both have digits, or one ends, the values of
//! the numbers; the end is the number zero with nothing behind it.
//!
//! So the code of a text has a byte for each character, and [`NUMBER`] with a length and digits for each number and for
//! the end. That of the whole text begins as that of its beginning does, up to the last number. If the beginnings are
//! equal, only what follows there can differ, and it is all that is appended.

use super::codes::length;
use super::number::{digits, pairs};

/// Names with a place of their own, before all others: the empty one, `.`, `..`, and those that begin with a point.
const EMPTY: u8 = 0;
const POINT: u8 = 1;
const POINTS: u8 = 2;
const HIDDEN: u8 = 3;
const OTHER: u8 = 4;

/// The end of a text. Between `~` and all characters.
const END: u8 = 2;
/// A number, and the end of what is not one. `~` comes before it, all other characters after it.
const NUMBER: u8 = 2;

/// The code of each character that is no digit.
const CHARACTERS: [u8; 256] = {
    let mut codes = [0; 256];
    let (mut next, mut byte) = (NUMBER + 1, 0);
    // Letters first.
    while byte < 256 {
        if (byte as u8).is_ascii_alphabetic() {
            codes[byte] = next;
            next += 1;
        }
        byte += 1;
    }
    byte = 0;
    while byte < 256 {
        if !(byte as u8).is_ascii_alphanumeric() && byte as u8 != b'~' {
            codes[byte] = next;
            next += 1;
        }
        byte += 1;
    }
    codes[b'~' as usize] = NUMBER - 1;
    codes
};

/// Appends the code of `text`.
pub(super) fn append(text: &[u8], key: &mut Vec<u8>) {
    match text {
        b"" => return key.push(EMPTY),
        b"." => return key.push(POINT),
        b".." => return key.push(POINTS),
        [b'.', ..] => key.push(HIDDEN),
        _ => key.push(OTHER),
    }
    let (beginning, ending) = text.split_at(ending(text));
    append_all(beginning, key);
    let number = beginning.last().is_some_and(u8::is_ascii_digit);
    if ending.is_empty() {
        key.extend_from_slice(&[NUMBER, END]);
    } else {
        // An ending begins with a point: a number ends before it. What it is has been compared.
        if number {
            key.push(NUMBER);
        }
        append_all(ending, key);
    }
}

/// Appends the code of all characters and numbers, and of the end.
fn append_all(mut text: &[u8], key: &mut Vec<u8>) {
    while !text.is_empty() {
        let characters = text.iter().position(u8::is_ascii_digit).unwrap_or(text.len());
        key.extend(text[..characters].iter().map(|&byte| CHARACTERS[usize::from(byte)]));
        text = &text[characters..];
        let zeros = text.iter().take_while(|&&byte| byte == b'0').count();
        let number = &text[zeros..];
        let number = &number[..digits(number)];
        text = &text[zeros + number.len()..];
        key.push(NUMBER);
        length(0, number.len(), key);
        pairs(number, 0, key);
    }
    key.push(END);
}

/// Where the ending of a name begins: the longest row of points, each with a letter or `~` behind it and then letters,
/// digits and `~`, that ends with the name and is not all of it.
fn ending(text: &[u8]) -> usize {
    let mut beginning = text.len();
    let mut end = text.len();
    // From the last point back, as long as what is between two points is such a part.
    while let Some(point) = memchr::memrchr(b'.', &text[..end]) {
        let is_part = match &text[point + 1..end] {
            [first, rest @ ..] => {
                (first.is_ascii_alphabetic() || *first == b'~')
                    && rest.iter().all(|&byte| byte.is_ascii_alphanumeric() || byte == b'~')
            }
            [] => false,
        };
        if !is_part || point == 0 {
            break;
        }
        (beginning, end) = (point, point);
    }
    beginning
}
