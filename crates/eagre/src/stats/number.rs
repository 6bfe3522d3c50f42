//! Numbers as they are written, and how they are parsed.
//!
//! ```text
//! number   = [+-] digits [. digits] [e [+-] digits]      one of the first two groups of digits may be empty
//! ```
//! Nearly all numbers have at most 18 significant digits. They are kept as an integer and the position of the point.
//! The others, and those with an exponent, are converted to a [`Decimal`] at once.

use super::decimal::{DIGITS, Decimal, POWERS};

/// A number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// `mantissa` · 10^-`decimals`, with at most 18 digits and at most 18 decimals.
    Short { mantissa: i64, decimals: u8 },
    /// A number with more digits.
    Long(Decimal),
}

impl Number {
    /// Parses a number. Also returns the number of decimals, including zeros (at most 18). Further decimals are
    /// rounded. `None` if the text is not a number, or has more than 18 digits before the point.
    pub(super) fn parse(text: &[u8]) -> Option<(Number, u32)> {
        let (negative, digits) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, text),
        };
        // Eighteen digits and a point, so the mantissa does not overflow.
        if digits.len() <= DIGITS as usize {
            let (mut mantissa, mut point, mut others) = (0_i64, None, 0);
            for (at, &byte) in digits.iter().enumerate() {
                let digit = byte.wrapping_sub(b'0');
                if digit < 10 {
                    mantissa = mantissa * 10 + i64::from(digit);
                } else {
                    others += usize::from(byte != b'.') + usize::from(point.is_some());
                    point = Some(at);
                }
            }
            let decimals = point.map_or(0, |at| digits.len() - at - 1);
            if others == 0 && digits.len() > usize::from(point.is_some()) {
                let mantissa = if negative { -mantissa } else { mantissa };
                return Some((Number::Short { mantissa, decimals: decimals as u8 }, decimals as u32));
            }
        }
        let (number, decimals) = Decimal::parse(text)?;
        Some((Number::from(number), decimals))
    }

    pub(super) fn to_decimal(self) -> Decimal {
        match self {
            Number::Short { mantissa, decimals } => Decimal::new(mantissa, decimals.into()),
            Number::Long(decimal) => decimal,
        }
    }
}

/// The shortest representation of a decimal.
impl From<Decimal> for Number {
    fn from(decimal: Decimal) -> Number {
        let mut units = decimal.units();
        let mut decimals = DIGITS as u8;
        // Five steps count the trailing zeros, of which there are at most 31.
        for step in [16, 8, 4, 2, 1] {
            let power = POWERS[step];
            if usize::from(decimals) >= step && units % power == 0 {
                units /= power;
                decimals -= step as u8;
            }
        }
        match i64::try_from(units) {
            Ok(mantissa) if mantissa.unsigned_abs() < 10_u64.pow(DIGITS) => Number::Short { mantissa, decimals },
            _ => Number::Long(decimal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_numbers_have_the_same_value() {
        for text in [
            "0",
            "-0.0",
            "+12.30",
            "-.5",
            "5.",
            "1234567890.12345678",
            "-123456789012345678",
            "0.123456789012345678",
            "999999999999999999.999999999999999999",
            "000000000000000000000000007.50",
            "57.12345678901234567",
            "1e3",
            "-1.5E-7",
            "12e+2",
            "100e-20",
        ] {
            let (number, decimals) = Number::parse(text.as_bytes()).unwrap();
            let expected = Decimal::parse(text.as_bytes()).unwrap();
            assert_eq!((number.to_decimal(), decimals), expected, "{text}");
        }
        let short = |text: &str| matches!(Number::parse(text.as_bytes()), Some((Number::Short { .. }, _)));
        assert!(short("57.1234567890123456") && short("1e17") && short("0.000000000000000001"));
        assert!(!short("57.12345678901234567"));
    }

    #[test]
    fn texts_that_are_no_numbers_are_refused() {
        for text in
            ["", ".", "-", "+", "-.", "..", "1..2", "1.2.3", "--1", "1-", "1 2", "0x1", "1,5", "e5", "1e", "1e+", "."]
        {
            assert_eq!(Number::parse(text.as_bytes()), None, "{text}");
        }
    }
}
