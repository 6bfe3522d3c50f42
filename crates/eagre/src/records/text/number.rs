//! Decimal numbers of any length, and such with suffixes.
//!
//! The code of a positive number is the count of its digits before the point, then all digits without the zeros at either
//! end, two to a byte, then an end mark. That of a negative number is the complement. So numbers with as many digits
//! before the point are compared digit by digit, as texts are.

use super::codes::{complement, length};
use super::fields;

/// The code of zero, and of what is no number.
const ZERO: u8 = 0x80;

/// Appends the code of the number that `text` begins with: blanks, a minus, digits, a point, digits. All may be missing.
#[inline]
pub(super) fn append(text: &[u8], key: &mut Vec<u8>) {
    let text = &text[fields::blanks(text)..];
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let (whole, rest) = text.split_at(digits(text));
    let fraction = match rest {
        [b'.', rest @ ..] => trimmed(&rest[..digits(rest)]),
        _ => &[],
    };
    let whole = &whole[whole.iter().take_while(|&&digit| digit == b'0').count()..];
    if whole.is_empty() && fraction.is_empty() {
        return key.push(ZERO);
    }
    let start = key.len();
    length(ZERO + 1, whole.len(), key);
    if fraction.is_empty() {
        pairs(trimmed(whole), 1, key);
    } else {
        // A pair may lie on either side of the point.
        let (even, odd) = whole.split_at(whole.len() & !1);
        pairs(even, 1, key);
        match (odd, fraction) {
            ([tens], [ones, rest @ ..]) => {
                key.push(pair(*tens, *ones) + 1);
                pairs(rest, 1, key);
            }
            _ => pairs(fraction, 1, key),
        }
    }
    key.push(0);
    if negative {
        complement(&mut key[start..]);
    }
}

/// Appends the code of a number with a suffix behind it, as in 2K: whatever the number is, the suffix counts first.
pub(super) fn append_human(text: &[u8], key: &mut Vec<u8>) {
    let text = &text[fields::blanks(text)..];
    let negative = text.first() == Some(&b'-');
    let number = &text[usize::from(negative)..];
    let mut end = digits(number);
    if number.get(end) == Some(&b'.') {
        end += 1;
        end += digits(&number[end..]);
    }
    let order = match number.get(end) {
        // Zero is zero in all units.
        _ if number[..end].iter().all(|&byte| matches!(byte, b'0' | b'.')) => 0,
        Some(b'k' | b'K') => 1,
        Some(b'M') => 2,
        Some(b'G') => 3,
        Some(b'T') => 4,
        Some(b'P') => 5,
        Some(b'E') => 6,
        Some(b'Z') => 7,
        Some(b'Y') => 8,
        Some(b'R') => 9,
        Some(b'Q') => 10,
        _ => 0,
    };
    key.push(if negative { 0x80 - order } else { 0x80 + order });
    append(text, key);
}

/// How many digits `text` begins with.
#[inline]
pub(super) fn digits(text: &[u8]) -> usize {
    text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len())
}

/// Without the zeros at the end.
#[inline]
fn trimmed(digits: &[u8]) -> &[u8] {
    &digits[..digits.iter().rposition(|&digit| digit != b'0').map_or(0, |last| last + 1)]
}

/// Appends digits, two to a byte, with `base` added. A last one alone stands for tens.
#[inline]
pub(super) fn pairs(digits: &[u8], base: u8, key: &mut Vec<u8>) {
    let (whole, rest) = digits.as_chunks();
    key.extend(whole.iter().map(|&[tens, ones]| pair(tens, ones) + base));
    if let [tens] = rest {
        key.push(pair(*tens, b'0') + base);
    }
}

#[inline]
fn pair(tens: u8, ones: u8) -> u8 {
    (tens - b'0') * 10 + (ones - b'0')
}
