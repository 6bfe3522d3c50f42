//! Exact decimal numbers: how they are read, added up, divided once and printed.
//!
//! A value is an integer number of 10^-18, so 18 digits before the point and 18 behind it are exact and values compare
//! as integers. A sum keeps whole numbers and the rest apart, each far from the end of its range: 2^64 values cannot
//! overflow it.

use std::fmt;

/// Digits a value may have before the point, and behind it.
pub(super) const DIGITS: u32 = 18;

/// How many of our units are one.
const ONE: i128 = 10_i128.pow(DIGITS);

/// A decimal number with at most 18 digits before the point and 18 behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decimal {
    /// In units of 10^-18.
    units: i128,
}

impl Decimal {
    /// `mantissa` · 10^-`decimals`, where there are at most 18 decimals.
    pub(super) fn new(mantissa: i64, decimals: u32) -> Decimal {
        Decimal { units: i128::from(mantissa) * 10_i128.pow(DIGITS - decimals) }
    }

    /// Reads `[+-]digits[.digits]`, where one of the two groups of digits may be empty. The second result is how many
    /// decimals were written, zeros included. `None` if it is no such number, or has too many digits.
    pub(super) fn parse(text: &[u8]) -> Option<(Decimal, u32)> {
        let (negative, text) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, text),
        };
        let point = text.iter().position(|&byte| byte == b'.');
        let (whole, part) = point.map_or((text, &[][..]), |at| (&text[..at], &text[at + 1..]));
        let decimals = u32::try_from(part.len()).ok().filter(|&decimals| decimals <= DIGITS)?;
        if whole.is_empty() && part.is_empty() {
            return None;
        }
        let units = i128::from(digits(whole)?) * ONE + i128::from(digits(part)?) * 10_i128.pow(DIGITS - decimals);
        Some((Decimal { units: if negative { -units } else { units } }, decimals))
    }

    /// The number as text with so many decimals (at most 18), rounded half up if it has more.
    #[must_use]
    pub fn to_text(self, decimals: u32) -> String {
        let decimals = decimals.min(DIGITS);
        let unit = 10_i128.pow(DIGITS - decimals);
        let rounded = (self.units + unit / 2).div_euclid(unit);
        let sign = if rounded < 0 { "-" } else { "" };
        let digits = format!("{:0>width$}", rounded.unsigned_abs(), width = decimals as usize + 1);
        let (whole, part) = digits.split_at(digits.len() - decimals as usize);
        if part.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
    }
}

/// As many decimals as are needed.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_text(DIGITS).trim_end_matches('0').trim_end_matches('.'))
    }
}

/// The number that digits write: zero if there are none, `None` if there are too many or anything else.
fn digits(text: &[u8]) -> Option<i64> {
    let text = &text[text.iter().take_while(|&&byte| byte == b'0').count()..];
    if text.len() > DIGITS as usize {
        return None;
    }
    text.iter().try_fold(0, |number: i64, byte| byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0')))
}

/// What is known of the values of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) count: u64,
    pub(super) min: Decimal,
    pub(super) max: Decimal,
    /// The sum is `whole` + `part` · 10^-18.
    whole: i128,
    part: i128,
}

impl Summary {
    /// One value.
    pub(super) fn one(value: Decimal) -> Summary {
        Summary::many(1, value, value, value.units)
    }

    /// Some values whose sum, in units of 10^-18, is known. `count` is not zero.
    fn many(count: u64, min: Decimal, max: Decimal, sum: i128) -> Summary {
        Summary { count, min, max, whole: sum.div_euclid(ONE), part: sum.rem_euclid(ONE) }
    }

    /// Values that were added up as integers: each stands for `10^-decimals`.
    pub(super) fn scaled(count: u64, min: i64, max: i64, sum: i64, decimals: u32) -> Summary {
        let sum = Decimal::new(sum, decimals).units;
        Summary::many(count, Decimal::new(min, decimals), Decimal::new(max, decimals), sum)
    }

    /// These values and others.
    pub(super) fn merge(&mut self, other: Summary) {
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.whole += other.whole;
        self.part += other.part;
    }

    /// The sum divided by the count, rounded once, half up, to so many decimals (at most 18).
    pub(super) fn mean(&self, decimals: u32) -> Decimal {
        let count = i128::from(self.count);
        let whole = self.whole + self.part.div_euclid(ONE);
        // What the division leaves is less than `count`, so below 2^64 · 10^18 units: twice that fits.
        let left = whole.rem_euclid(count) * ONE + self.part.rem_euclid(ONE);
        let unit = 10_i128.pow(DIGITS - decimals);
        let steps = (2 * left + count * unit).div_euclid(2 * count * unit);
        Decimal { units: whole.div_euclid(count) * ONE + steps * unit }
    }

    /// The sum in units of 10^-9, for tests with no more decimals.
    #[cfg(test)]
    pub(super) fn nano_sum(&self) -> i128 {
        self.whole * 1_000_000_000 + self.part / 1_000_000_000
    }
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
            "1e5",
            "nan",
            "inf",
            "1.2.3",
            "--1",
            "1 2",
            "0x1",
            "1,5",
            "\u{0661}",
            "1000000000000000000",
            "0.0000000000000000001",
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

    #[test]
    fn means_are_exact_to_the_last_digit_however_large_the_sum() {
        let huge = decimal("999999999999999999.999999999999999999");
        let mut summary = Summary::one(huge);
        // 2^63 values by doubling.
        for _ in 0..63 {
            summary.merge(summary);
        }
        assert_eq!((summary.count, summary.mean(18)), (1 << 63, huge));
        let mut third = Summary::one(decimal("1"));
        third.merge(Summary::one(decimal("0")));
        third.merge(Summary::one(decimal("0")));
        assert_eq!(third.mean(18).to_string(), "0.333333333333333333");
        let mut half = Summary::one(decimal("-0.1"));
        half.merge(Summary::one(decimal("0.0")));
        assert_eq!(half.mean(1).to_text(1), "0.0");
    }
}
