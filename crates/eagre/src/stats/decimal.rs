//! Exact decimal numbers: parsing, summing, one division, and formatting.
//!
//! A value is an integer in units of 10^-18. So 18 digits before the point and 18 after it are exact, and values
//! compare as integers. Further decimals are rounded when a number is parsed.

use std::fmt;
use std::str::FromStr;

/// The most digits of a value before the point, and after it.
pub(super) const DIGITS: u32 = 18;

/// The number of units in 1.
pub(super) const ONE: i128 = 10_i128.pow(DIGITS);

/// The powers of ten.
pub(super) const POWERS: [i128; 38] = {
    let mut powers = [1; 38];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// A decimal number with at most 18 digits before the point and 18 after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decimal {
    /// In units of 10^-18.
    units: i128,
}

impl Decimal {
    /// `mantissa` · 10^-`decimals`, with at most 18 decimals.
    pub(super) fn new(mantissa: i64, decimals: u32) -> Decimal {
        Decimal { units: i128::from(mantissa) * POWERS[(DIGITS - decimals) as usize] }
    }

    /// A number given in units of 10^-18.
    pub(super) fn from_units(units: i128) -> Decimal {
        Decimal { units }
    }

    /// The number in units of 10^-18.
    pub(super) fn units(self) -> i128 {
        self.units
    }

    /// Parses `[+-]digits[.digits][e[+-]digits]`. One of the first two groups of digits may be empty. Also returns the
    /// number of decimals, including zeros, after the exponent has moved the point (at most 18). Further decimals are
    /// rounded half away from zero. `None` if the text is not such a number, or has too many digits before the point.
    pub(super) fn parse(text: &[u8]) -> Option<(Decimal, u32)> {
        let (negative, text) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, text),
        };
        let mark = text.iter().position(|byte| byte.eq_ignore_ascii_case(&b'e'));
        let (text, exponent) = match mark {
            Some(at) => (&text[..at], Some(exponent(&text[at + 1..])?)),
            None => (text, None),
        };
        let point = text.iter().position(|&byte| byte == b'.');
        let (whole, part) = point.map_or((text, &[][..]), |at| (&text[..at], &text[at + 1..]));
        if whole.is_empty() && part.is_empty() {
            return None;
        }
        let (units, decimals) = match exponent {
            None if part.len() <= DIGITS as usize => {
                let power = POWERS[DIGITS as usize - part.len()];
                (i128::from(digits(whole)?) * ONE + i128::from(digits(part)?) * power, part.len() as u32)
            }
            None => (moved(whole, part, 0)?.0, DIGITS),
            Some(exponent) => moved(whole, part, exponent)?,
        };
        Some((Decimal { units: if negative { -units } else { units } }, decimals))
    }

    /// Appends the number as text with this many decimals (at most 18), rounded half up if it has more.
    pub fn write(self, decimals: u32, out: &mut Vec<u8>) {
        let decimals = decimals.min(DIGITS);
        let unit = POWERS[(DIGITS - decimals) as usize];
        let rounded = if unit == 1 { self.units } else { (self.units + unit / 2).div_euclid(unit) };
        write_scaled(rounded, decimals, out);
    }

    /// The number as text with this many decimals (at most 18), rounded half up if it has more.
    #[must_use]
    pub fn to_text(self, decimals: u32) -> String {
        let mut text = Vec::new();
        self.write(decimals, &mut text);
        String::from_utf8(text).unwrap_or_default()
    }
}

/// Appends `scaled` · 10^-`decimals` as text.
pub(super) fn write_scaled(scaled: i128, decimals: u32, out: &mut Vec<u8>) {
    if scaled < 0 {
        out.push(b'-');
    }
    // Filled from the last digit on: 39 digits, a point, and zeros in front of short numbers.
    let mut text = [b'0'; 64];
    let mut at = text.len();
    let mut put = |byte: u8| {
        at -= 1;
        text[at] = byte;
    };
    let mut left = scaled.unsigned_abs();
    let mut written = 0;
    while left > 0 || written <= decimals {
        // Nineteen digits at a time, because divisions of 128-bit numbers are slow.
        let mut word = left as u64;
        if left < u128::from(NINETEEN) {
            left = 0;
        } else {
            word = (left % u128::from(NINETEEN)) as u64;
            left /= u128::from(NINETEEN);
        }
        for _ in 0..19 {
            if left == 0 && word == 0 && written > decimals {
                break;
            }
            if written == decimals && decimals > 0 {
                put(b'.');
            }
            put(b'0' + (word % 10) as u8);
            word /= 10;
            written += 1;
        }
    }
    out.extend_from_slice(&text[at..]);
}

const NINETEEN: u64 = 10_u64.pow(19);

/// A number with an exponent, in units of 10^-18, and its number of decimals after the exponent has moved the point (at
/// most 18).
fn moved(whole: &[u8], part: &[u8], exponent: i64) -> Option<(i128, u32)> {
    let mut mantissa = 0_i128;
    let mut dropped = 0;
    for &byte in whole.iter().chain(part) {
        if !byte.is_ascii_digit() {
            return None;
        }
        if mantissa < MOST {
            mantissa = mantissa * 10 + i128::from(byte - b'0');
        } else {
            dropped += 1;
        }
    }
    let decimals = i64::try_from(part.len()).ok()?.checked_sub(exponent)?.checked_sub(dropped)?;
    if mantissa == 0 {
        return Some((0, 0));
    }
    let digits = i64::from(DIGITS);
    if decimals > digits {
        let power = usize::try_from(decimals - digits).ok().and_then(|beyond| POWERS.get(beyond));
        return Some((power.map_or(0, |power| (mantissa + power / 2) / power), DIGITS))
            .filter(|(units, _)| *units < MOST);
    }
    let power = usize::try_from(digits - decimals).ok().and_then(|missing| POWERS.get(missing))?;
    let units = mantissa.checked_mul(*power).filter(|&units| units < MOST)?;
    Some((units, decimals.max(0) as u32))
}

/// The limit for numbers, in units of 10^-18: they must be less than this.
const MOST: i128 = ONE * ONE;

/// Parses an exponent. Exponents beyond all valid numbers saturate.
fn exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let value = digits.iter().try_fold(0_i64, |number, byte| {
        byte.is_ascii_digit().then(|| (number * 10 + i64::from(byte - b'0')).min(1_000_000))
    });
    value.filter(|_| !digits.is_empty()).map(|value| if negative { -value } else { value })
}

/// Parses `[+-]digits[.digits][e[+-]digits]`.
impl FromStr for Decimal {
    type Err = NoDecimal;

    fn from_str(text: &str) -> Result<Decimal, NoDecimal> {
        Decimal::parse(text.as_bytes()).map(|(decimal, _)| decimal).ok_or(NoDecimal)
    }
}

/// The text is not a number, or it has more than 18 digits before the point or after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoDecimal;

impl fmt::Display for NoDecimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a number with at most 18 digits before the point and behind it")
    }
}

impl std::error::Error for NoDecimal {}

/// Formats the number with as many decimals as it needs.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_text(DIGITS).trim_end_matches('0').trim_end_matches('.'))
    }
}

/// The number written by these digits. Zero if there are none, `None` if there are too many or any other character.
fn digits(text: &[u8]) -> Option<i64> {
    let text = &text[text.iter().take_while(|&&byte| byte == b'0').count()..];
    if text.len() > DIGITS as usize {
        return None;
    }
    text.iter().try_fold(0, |number: i64, byte| byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text.as_bytes()).unwrap().0
    }

    #[test]
    fn reads_what_is_a_number_and_nothing_else() {
        for (text, decimals, shown) in [
            ("0", 0, "0"),
            ("-0.0", 1, "0"),
            ("+12.30", 2, "12.3"),
            ("-.5", 1, "-0.5"),
            ("5.", 0, "5"),
            ("000000000000000000000000007", 0, "7"),
            ("999999999999999999.999999999999999999", 18, "999999999999999999.999999999999999999"),
            ("-999999999999999999.999999999999999999", 18, "-999999999999999999.999999999999999999"),
            ("1e3", 0, "1000"),
            ("1.50e1", 1, "15"),
            ("-1.5E-7", 8, "-0.00000015"),
            ("100e-20", 18, "0.000000000000000001"),
            ("0.000000000000000000012e20", 1, "1.2"),
            ("0e-9999", 0, "0"),
            ("1e-19", 18, "0"),
            ("5e-19", 18, "0.000000000000000001"),
            ("-0.0022887941124736244", 18, "-0.002288794112473624"),
            ("1.2345678901234567e-05", 18, "0.000012345678901235"),
            ("-2.2250738585072014e-308", 18, "0"),
            ("0.00000000000000000099999999999999999999999999999999999999999999", 18, "0.000000000000000001"),
            ("123456789012345678.9012345678901234565", 18, "123456789012345678.901234567890123457"),
            ("999999999999999999e0", 0, "999999999999999999"),
        ] {
            let (value, written) = Decimal::parse(text.as_bytes()).unwrap();
            assert_eq!((written, value.to_string().as_str()), (decimals, shown), "{text}");
        }
        for text in [
            "",
            ".",
            "-",
            "+",
            "-.",
            "1e",
            "e5",
            "1e18",
            "1e99999999999999999999",
            "nan",
            "inf",
            "1.2.3",
            "--1",
            "1 2",
            "0x1",
            "1,5",
            "\u{0661}",
            "1000000000000000000",
            "999999999999999999.9999999999999999995",
        ] {
            assert_eq!(Decimal::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn rounds_half_up_once() {
        for (text, decimals, shown) in [
            ("0.05", 1, "0.1"),
            ("-0.05", 1, "0.0"),
            ("-0.06", 1, "-0.1"),
            ("-0.04", 1, "0.0"),
            ("1.5", 0, "2"),
            ("-1.5", 0, "-1"),
            ("7", 3, "7.000"),
            ("-12.345", 2, "-12.34"),
        ] {
            assert_eq!(decimal(text).to_text(decimals), shown, "{text} to {decimals}");
        }
    }
}
