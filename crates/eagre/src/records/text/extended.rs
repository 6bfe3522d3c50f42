//! Numbers as the C library reads them (`strtold`), in the x87 extended format, which `sort -g` of GNU compares.
//!
//! The code is one byte for what is no number, or for a NaN; for a number, another byte, sign and exponent (2 bytes) and
//! mantissa (8 bytes), all complemented if it is negative. Values are rounded as the C library rounds them: to the nearest,
//! to even in the middle.
//!
//! Most numbers have at most 19 digits and a small power of ten: both fit into machine words, and the result is exact.
//! Of longer ones, the first 19 digits give two bounds, which mostly round to the same. `large` computes the rest.

mod large;

/// What is no number comes first, then NaNs.
const NO_NUMBER: u8 = 0;
const NEGATIVE_NAN: u8 = 1;
const NAN: u8 = 2;
const NUMBER: u8 = 3;

/// The least exponent of a number with a leading one; smaller numbers have fewer bits.
const LEAST: i64 = -16382;
/// The exponent field of infinity.
const INFINITE: u16 = 0x7fff;

/// A positive number: exponent field and mantissa, whose first bit is its one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extended(u16, u64);

impl Extended {
    const ZERO: Extended = Extended(0, 0);
    const INFINITY: Extended = Extended(INFINITE, 1 << 63);

    /// `number` times two to `power`, rounded. If `more`, the number is a bit larger, and has 66 bits at least.
    fn round(number: u128, power: i64, more: bool) -> Extended {
        if number == 0 {
            return Extended::ZERO;
        }
        let bits = i64::from(128 - number.leading_zeros());
        let exponent = power + bits - 1;
        // Bits too many for the mantissa; small numbers have fewer.
        let excess = bits - 64 + (LEAST - exponent).max(0);
        let mantissa = if excess <= 0 {
            number << -excess
        } else if excess > 128 {
            0
        } else {
            let cut = if excess == 128 { 0 } else { number >> excess };
            let rest = if excess == 128 { number } else { number & ((1 << excess) - 1) };
            let half = 1 << (excess - 1);
            cut + u128::from(rest > half || rest == half && (more || cut & 1 == 1))
        };
        let field = (exponent.max(LEAST) - LEAST + 1) as u64;
        match mantissa {
            0 => Extended::ZERO,
            // Rounded up to a power of two.
            _ if mantissa >> 64 != 0 => Extended::finite(field + 1, 1 << 63),
            // Without a leading one.
            _ if mantissa >> 63 == 0 => Extended(0, mantissa as u64),
            _ => Extended::finite(field, mantissa as u64),
        }
    }

    fn finite(field: u64, mantissa: u64) -> Extended {
        if field >= u64::from(INFINITE) { Extended::INFINITY } else { Extended(field as u16, mantissa) }
    }

    /// `number` times ten to `power`, if both that power of five and the product fit into machine words.
    fn decimal(number: u64, power: i64) -> Option<Extended> {
        // Five to 27 has 63 bits.
        let five = 5_u128.pow(u32::try_from(power.unsigned_abs()).ok().filter(|&power| power <= 27)?);
        if power >= 0 {
            return Some(Extended::round(u128::from(number) * five, power, false));
        }
        // The quotient has 65 to 126 bits, and gets another.
        let zeros = u128::from(number).leading_zeros();
        let dividend = u128::from(number) << zeros;
        let (quotient, rest) = (dividend / five, dividend % five * 2);
        let quotient = quotient << 1 | u128::from(rest >= five);
        Some(Extended::round(quotient, power - i64::from(zeros) - 1, rest % five != 0))
    }
}

/// Appends the code of the number that `text` begins with.
pub(super) fn append(text: &[u8], key: &mut Vec<u8>) {
    let spaces = text.iter().take_while(|byte| matches!(byte, b' ' | b'\t'..=b'\r')).count();
    let (negative, text) = match &text[spaces..] {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let starts = |name: &[u8]| text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    let number = if starts(b"nan") {
        return key.push(if negative { NEGATIVE_NAN } else { NAN });
    } else if starts(b"inf") {
        Some(Extended::INFINITY)
    } else if starts(b"0x") {
        // Without a digit behind the x, it is a zero and some text.
        Some(hexadecimal(&text[2..]).unwrap_or(Extended::ZERO))
    } else {
        decimal(text)
    };
    let Some(Extended(exponent, mantissa)) = number else { return key.push(NO_NUMBER) };
    let (mut exponent, mut mantissa) = (exponent | 0x8000, mantissa);
    // Zero has no sign.
    if negative && (exponent, mantissa) != (0x8000, 0) {
        (exponent, mantissa) = (!exponent, !mantissa);
    }
    key.push(NUMBER);
    key.extend_from_slice(&exponent.to_be_bytes());
    key.extend_from_slice(&mantissa.to_be_bytes());
}

/// The digits of a number, without the zeros before them and without a point, and where the point was.
struct Digits<'a> {
    whole: &'a [u8],
    fraction: &'a [u8],
    /// How many digits of the fraction were zeros and are gone.
    zeros: usize,
    /// What follows.
    rest: &'a [u8],
}

impl<'a> Digits<'a> {
    /// `None` if there is no digit.
    fn read(text: &'a [u8], is_digit: fn(&u8) -> bool) -> Option<Digits<'a>> {
        let split = |text: &'a [u8]| text.split_at(text.iter().take_while(|byte| is_digit(byte)).count());
        let (whole, rest) = split(text);
        let (fraction, rest) = match rest {
            [b'.', rest @ ..] => split(rest),
            _ => (&[][..], rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let zeros = |digits: &[u8]| digits.iter().take_while(|&&digit| digit == b'0').count();
        let whole = &whole[zeros(whole)..];
        let zeros = if whole.is_empty() { zeros(fraction) } else { 0 };
        Some(Digits { whole, fraction: &fraction[zeros..], zeros, rest })
    }

    fn all(&self) -> impl Iterator<Item = u8> {
        self.whole.iter().chain(self.fraction).copied()
    }

    fn len(&self) -> usize {
        self.whole.len() + self.fraction.len()
    }

    /// How many digits behind the point the last one is.
    fn behind_point(&self) -> i64 {
        (self.zeros + self.fraction.len()) as i64
    }

    /// The exponent that follows `letter`, if one does.
    fn exponent(&self, letter: u8) -> i64 {
        let [first, rest @ ..] = self.rest else { return 0 };
        if !first.eq_ignore_ascii_case(&letter) {
            return 0;
        }
        let (negative, digits) = match rest {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, rest),
        };
        let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
        // More is infinite or zero, however long the number is.
        let exponent = digits.fold(0_i64, |sum, &digit| sum.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
        let exponent = exponent.min(i64::MAX / 4);
        if negative { -exponent } else { exponent }
    }
}

fn hexadecimal(text: &[u8]) -> Option<Extended> {
    let digits = Digits::read(text, u8::is_ascii_hexdigit)?;
    let (mut number, mut more) = (0, false);
    // All that can matter, and whether something follows.
    for (at, digit) in digits.all().enumerate() {
        let digit = (digit as char).to_digit(16).unwrap_or(0);
        if at < 30 {
            number = number << 4 | u128::from(digit);
        } else {
            more |= digit != 0;
        }
    }
    let cut = digits.len().saturating_sub(30) as i64;
    let power = digits.exponent(b'p').saturating_add(4 * (cut - digits.behind_point()));
    Some(Extended::round(number, power, more))
}

fn decimal(text: &[u8]) -> Option<Extended> {
    let digits = Digits::read(text, u8::is_ascii_digit)?;
    let power = digits.exponent(b'e').saturating_sub(digits.behind_point());
    let leading = digits.all().take(19).fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    let cut = digits.len().saturating_sub(19) as i64;
    if leading == 0 {
        return Some(Extended::ZERO);
    }
    let leading_power = power.saturating_add(cut);
    // Far from the largest and the least number, 10^4932 and 10^-4951.
    let magnitude = power.saturating_add(digits.len() as i64);
    if magnitude > 4940 {
        return Some(Extended::INFINITY);
    }
    if magnitude < -4960 {
        return Some(Extended::ZERO);
    }
    let low = Extended::decimal(leading, leading_power);
    if let (0, Some(number)) = (cut, low) {
        return Some(number);
    }
    if let Some(low) = low.filter(|&low| Extended::decimal(leading + 1, leading_power) == Some(low)) {
        return Some(low);
    }
    let (number, power, more) = large::decimal(digits.all(), digits.len(), power);
    Some(Extended::round(number, power, more))
}
