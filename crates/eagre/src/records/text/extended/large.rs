//! Decimal numbers of thousands of digits, exactly.

/// The digits that can matter: the middle between two extended numbers has fewer.
const DIGITS: usize = 12_000;

/// A natural number: words of 32 bits, the least first, the last of which is not 0.
#[derive(Clone)]
pub(super) struct Large(Vec<u32>);

impl Large {
    /// Multiplies by `factor` and adds `addend`.
    fn multiply(&mut self, factor: u32, addend: u32) {
        let mut carry = u64::from(addend);
        for word in &mut self.0 {
            carry += u64::from(*word) * u64::from(factor);
            *word = carry as u32;
            carry >>= 32;
        }
        if carry > 0 {
            self.0.push(carry as u32);
        }
    }

    /// Multiplies by five to `power`.
    fn multiply_five(&mut self, power: u64) {
        for _ in 0..power / 13 {
            self.multiply(5_u32.pow(13), 0);
        }
        self.multiply(5_u32.pow((power % 13) as u32), 0);
    }

    fn bits(&self) -> u64 {
        let last = self.0.last().map_or(32, |last| last.leading_zeros());
        32 * self.0.len() as u64 - u64::from(last)
    }

    fn shift_left(&mut self, bits: u64) {
        self.multiply(1 << (bits % 32), 0);
        self.0.splice(0..0, std::iter::repeat_n(0, (bits / 32) as usize));
    }

    fn at_least(&self, other: &Large) -> bool {
        let length = self.0.len().cmp(&other.0.len());
        length.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev())).is_ge()
    }

    /// Subtracts a number that is not larger.
    fn subtract(&mut self, other: &Large) {
        let mut borrow = false;
        for (at, word) in self.0.iter_mut().enumerate() {
            let (less, first) = word.overflowing_sub(other.0.get(at).copied().unwrap_or(0));
            let (less, second) = less.overflowing_sub(u32::from(borrow));
            (*word, borrow) = (less, first || second);
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

/// `digits` times ten to `power`, as a number of 66 bits or more, a power of two, and whether that is a bit less.
pub(super) fn decimal(digits: impl Iterator<Item = u8>, count: usize, power: i64) -> (u128, i64, bool) {
    let mut number = Large(Vec::new());
    let mut more = false;
    for (at, digit) in digits.enumerate() {
        if at < DIGITS {
            number.multiply(10, u32::from(digit - b'0'));
        } else {
            more |= digit != b'0';
        }
    }
    let power = power + count.saturating_sub(DIGITS) as i64;
    let mut divisor = Large(vec![1]);
    let fives = if power >= 0 { &mut number } else { &mut divisor };
    fives.multiply_five(power.unsigned_abs());
    // Both as long as each other, so that the quotient is between 1/2 and 2.
    let (long, short) = (number.bits(), divisor.bits());
    if long < short {
        number.shift_left(short - long);
    } else {
        divisor.shift_left(long - short);
    }
    let mut quotient = 0;
    for _ in 0..68 {
        let bit = number.at_least(&divisor);
        if bit {
            number.subtract(&divisor);
        }
        quotient = quotient << 1 | u128::from(bit);
        number.multiply(2, 0);
    }
    (quotient, power + long as i64 - short as i64 - 67, more || !number.0.is_empty())
}
