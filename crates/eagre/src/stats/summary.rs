//! The exact summary of the values of one key.
//!
//! A sum keeps its integer part and its fraction apart. Each is far from overflow even for 2^64 values.

use super::decimal::{DIGITS, Decimal, ONE, POWERS, write_scaled};

/// Count, minimum, maximum and sum of the values of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) count: u64,
    pub(super) min: Decimal,
    pub(super) max: Decimal,
    pub(super) sum: Sum,
}

impl Summary {
    /// The summary of one value.
    pub(super) fn one(value: Decimal) -> Summary {
        Summary::many(1, value, value, value.units())
    }

    /// The summary of some values with a known sum in units of 10^-18. `count` must not be zero.
    pub(super) fn many(count: u64, min: Decimal, max: Decimal, sum: i128) -> Summary {
        Summary { count, min, max, sum: Sum::of_units(sum) }
    }

    /// Merges the summary of other values.
    pub(super) fn merge(&mut self, other: Summary) {
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum.whole += other.sum.whole;
        self.sum.part += other.sum.part;
    }

    /// The sum divided by the count, rounded once, half up, to this many decimals (at most 18).
    pub(super) fn mean(&self, decimals: u32) -> Decimal {
        let count = i128::from(self.count);
        let Sum { whole, part } = self.sum.normal();
        // The remainder is less than `count`, so below 2^64 · 10^18 units, and twice that fits.
        let left = whole.rem_euclid(count) * ONE + part;
        let unit = POWERS[(DIGITS - decimals) as usize];
        let steps = (2 * left + count * unit).div_euclid(2 * count * unit);
        Decimal::from_units(whole.div_euclid(count) * ONE + steps * unit)
    }
}

/// An exact sum of decimal numbers: up to 37 digits before the point and 18 after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// The sum is `whole` + `part` · 10^-18.
    whole: i128,
    part: i128,
}

impl Sum {
    fn of_units(units: i128) -> Sum {
        Sum { whole: units.div_euclid(ONE), part: units.rem_euclid(ONE) }
    }

    /// The sum in units of 10^-18. `None` if that overflows.
    pub(super) fn units(self) -> Option<i128> {
        self.whole.checked_mul(ONE)?.checked_add(self.part)
    }

    /// The same sum with a fraction from 0 to below 10^18.
    fn normal(self) -> Sum {
        Sum { whole: self.whole + self.part.div_euclid(ONE), part: self.part.rem_euclid(ONE) }
    }

    /// The integer part, and the fraction in units of 10^-18, from 0 to below 10^18.
    pub(super) fn parts(self) -> (i128, i128) {
        let Sum { whole, part } = self.normal();
        (whole, part)
    }

    /// Appends the sum as text with this many decimals (at most 18), rounded half up if it has more.
    pub fn write(self, decimals: u32, out: &mut Vec<u8>) {
        let decimals = decimals.min(DIGITS);
        let unit = POWERS[(DIGITS - decimals) as usize];
        let Sum { whole, part } = self.normal();
        let rounded = Sum { whole, part: if unit == 1 { part } else { (part + unit / 2) / unit * unit } }.normal();
        // Below zero, the fraction counts up from the next smaller integer.
        let (whole, part) = match rounded {
            Sum { whole, part } if whole < 0 && part > 0 => (whole + 1, ONE - part),
            Sum { whole, part } => (whole, part),
        };
        if rounded.whole < 0 && whole == 0 {
            out.push(b'-');
        }
        write_scaled(whole, 0, out);
        if decimals > 0 {
            out.push(b'.');
            // A leading one keeps the zeros, and is removed afterwards.
            let from = out.len();
            write_scaled(POWERS[decimals as usize] + part / unit, 0, out);
            out.remove(from);
        }
    }

    /// The sum as text with this many decimals (at most 18), rounded half up if it has more.
    #[must_use]
    pub fn to_text(self, decimals: u32) -> String {
        let mut text = Vec::new();
        self.write(decimals, &mut text);
        String::from_utf8(text).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text.as_bytes()).unwrap().0
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

    #[test]
    fn sums_are_written_exactly() {
        let sum = |texts: &[&str]| {
            let mut summaries = texts.iter().map(|text| Summary::one(decimal(text)));
            let mut all = summaries.next().unwrap();
            summaries.for_each(|one| all.merge(one));
            all.sum
        };
        for (texts, decimals, shown) in [
            (&["0.5", "0.75"][..], 2, "1.25"),
            (&["-0.5", "-0.75"], 2, "-1.25"),
            (&["-0.5", "0.25"], 2, "-0.25"),
            (&["-0.5", "0.25"], 1, "-0.2"),
            (&["-1", "-1"], 0, "-2"),
            (&["0.999", "0.0005"], 3, "1.000"),
            (&["1.05", "-0"], 0, "1"),
            (&["7"], 3, "7.000"),
            (&["7.007"], 3, "7.007"),
        ] {
            assert_eq!(sum(texts).to_text(decimals), shown, "{texts:?}");
        }
        let mut huge = Summary::one(decimal("-999999999999999999.999999999999999999"));
        for _ in 0..60 {
            huge.merge(huge);
        }
        // 2^60 of them.
        let expected = format!("-{}.{}", "1152921504606846975999999999999999998", "847078495393153024");
        assert_eq!(huge.sum.to_text(18), expected);
    }
}
