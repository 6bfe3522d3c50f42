//! Sums of squares, and the variance computed from them. Everything is exact until the final rounding.
//!
//! A value has up to 120 bits in units of 10^-18, its square up to 240, and the sum of 2^64 squares up to 304. The
//! final computation, once per key, uses big integers.

use num_bigint::{BigInt, Sign};

use super::decimal::{DIGITS, Decimal};
use super::summary::Summary;

/// A sum of squares in units of 10^-36, with the least significant word first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Squares([u64; 5]);

impl Squares {
    /// Adds one value.
    pub(super) fn add(&mut self, value: Decimal) {
        let units = value.units().unsigned_abs();
        let (low, high) = (units & u128::from(u64::MAX), units >> 64);
        // (high · 2^64 + low)^2, word by word. Each product has at most 128 bits.
        let (lows, cross, highs) = (low * low, low * high, high * high);
        self.add_words(0, lows);
        self.add_words(1, cross);
        self.add_words(1, cross);
        self.add_words(2, highs);
    }

    /// Adds the values of another sum.
    pub(super) fn merge(&mut self, other: &Squares) {
        for (at, &word) in other.0.iter().enumerate() {
            self.add_words(at, word.into());
        }
    }

    /// Adds two words at word `at`. The last word has room for all carries.
    fn add_words(&mut self, at: usize, words: u128) {
        let mut carry = words;
        for word in &mut self.0[at..] {
            if carry == 0 {
                return;
            }
            let sum = u128::from(*word) + (carry & u128::from(u64::MAX));
            *word = sum as u64;
            carry = (carry >> 64) + (sum >> 64);
        }
    }

    /// The sample variance as a fraction in units of 10^-36. `None` for fewer than two values.
    fn variance(&self, summary: &Summary) -> Option<(BigInt, BigInt)> {
        if summary.count < 2 {
            return None;
        }
        let bytes: Vec<u8> = self.0.iter().flat_map(|word| word.to_le_bytes()).collect();
        let squares = BigInt::from_bytes_le(Sign::Plus, &bytes);
        let (whole, part) = summary.sum.parts();
        let sum: BigInt = BigInt::from(whole) * 10_u64.pow(DIGITS) + part;
        let count = BigInt::from(summary.count);
        let above = &count * squares - &sum * &sum;
        Some((above, &count * (&count - 1)))
    }

    /// The sample variance in units of the last of `decimals` decimals, rounded once, half up.
    pub(super) fn variance_scaled(&self, summary: &Summary, decimals: u32) -> Option<BigInt> {
        let (above, below) = self.variance(summary)?;
        let below = below * BigInt::from(10).pow(2 * DIGITS);
        let above = above * BigInt::from(10).pow(decimals);
        Some((above * 2 + &below) / (below * 2))
    }

    /// The square root of the sample variance, rounded once, half up.
    pub(super) fn deviation_scaled(&self, summary: &Summary, decimals: u32) -> Option<BigInt> {
        let (above, below) = self.variance(summary)?;
        // To round half up, take the root of four times the square, add one and halve. The integer part decides.
        let above = above * BigInt::from(10).pow(2 * decimals) * 4;
        let square: BigInt = above / (below * BigInt::from(10).pow(2 * DIGITS));
        Some((square.sqrt() + 1) / 2)
    }
}

/// Formats a non-negative number, given in units of the last of `decimals` decimals.
pub(super) fn write_big(scaled: &BigInt, decimals: u32) -> String {
    let mut digits = format!("{:0>width$}", scaled.to_string(), width = decimals as usize + 1);
    if decimals > 0 {
        digits.insert(digits.len() - decimals as usize, '.');
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str]) -> (Squares, Summary) {
        let mut values = texts.iter().map(|text| Decimal::parse(text.as_bytes()).unwrap().0);
        let first = values.next().unwrap();
        let (mut squares, mut summary) = (Squares::default(), Summary::one(first));
        squares.add(first);
        for value in values {
            squares.add(value);
            summary.merge(Summary::one(value));
        }
        (squares, summary)
    }

    #[test]
    fn variances_are_those_of_textbooks() {
        for (texts, variance, deviation) in [
            (&["2", "4", "4", "4", "5", "5", "7", "9"][..], "4.571429", "2.138090"),
            (&["-1.5", "3.0", "-0.1"], "5.303333", "2.302897"),
            (&["1000000000.1", "1000000000.2"], "0.005000", "0.070711"),
            (&["7", "7", "7"], "0.000000", "0.000000"),
            (&["0", "0.000000000000000001"], "0.000000", "0.000000"),
        ] {
            let (squares, summary) = of(texts);
            let text = |scaled: Option<BigInt>| write_big(&scaled.unwrap(), 6);
            let got = (text(squares.variance_scaled(&summary, 6)), text(squares.deviation_scaled(&summary, 6)));
            assert_eq!(got, (variance.to_owned(), deviation.to_owned()), "{texts:?}");
        }
        let (squares, summary) = of(&["5"]);
        assert_eq!(squares.variance_scaled(&summary, 6), None);
    }

    #[test]
    fn the_largest_numbers_fit() {
        let huge = "999999999999999999.999999999999999999";
        let (mut squares, mut summary) = of(&[huge, &format!("-{huge}")]);
        for _ in 0..62 {
            squares.merge(&squares.clone());
            summary.merge(summary);
        }
        // 2^63 values, half of them h and half -h: the variance is n h^2 / (n - 1).
        let h = BigInt::from(10).pow(36) - 1;
        let n = BigInt::from(1_u64 << 63);
        let expected =
            (&n * &h * &h * 2 + (&n - 1) * BigInt::from(10).pow(36)) / ((&n - 1) * BigInt::from(10).pow(36) * 2);
        assert_eq!(squares.variance_scaled(&summary, 0), Some(expected));
    }
}
