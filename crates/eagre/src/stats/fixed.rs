//! Parsing numbers with a known number of decimals, eight characters at once.

/// The format of numbers that [`Fixed::parse`] accepts: `-?digits.digits` with exactly this many digits after the
/// point, and at most 8 characters after the sign. With zero decimals there is no point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fixed {
    pub(super) decimals: u32,
    /// A mask of the characters after the point, in a word whose last byte is the last character of the number.
    pub(super) behind: u64,
    /// The shift of the digits before the point that closes the gap: 8 bits, or 0 if there is no point.
    pub(super) gap: u32,
    /// A mask of the point.
    pub(super) point: u64,
}

/// The most decimals that the fast path supports.
pub(super) const MOST_DECIMALS: u32 = 6;

const ZEROS: u64 = u64::from_ne_bytes([b'0'; 8]);
const POINTS: u64 = u64::from_ne_bytes([b'.'; 8]);
const TOPS: u64 = u64::from_ne_bytes([0x80; 8]);

impl Fixed {
    /// Numbers with this many decimals, at most [`MOST_DECIMALS`].
    pub(super) fn new(decimals: u32) -> Fixed {
        if decimals == 0 {
            return Fixed { decimals, behind: 0, gap: 0, point: 0 };
        }
        let behind = !(!0 >> (8 * decimals));
        Fixed { decimals, behind, gap: 8, point: !(!0 >> (8 * decimals + 8)) & !behind }
    }

    pub(super) fn decimals(self) -> u32 {
        self.decimals
    }

    /// Parses a number of `length` characters at the end of `word`. Its earlier bytes may be anything. The result is in
    /// units of the last decimal. `None` if the number does not have this format.
    #[inline(always)]
    pub(super) fn parse(self, word: u64, length: usize) -> Option<i32> {
        let length = length as u32;
        // There is no branch until everything is known, because signs and lengths are unpredictable. The shifts wrap
        // for lengths that are rejected in the end.
        let first = word.wrapping_shr(64_u32.wrapping_sub(length.wrapping_mul(8))) as u8;
        let negative = u32::from(first == b'-');
        let characters = length.wrapping_sub(negative);
        let digits = characters.wrapping_sub(self.gap / 8);
        let number = (word & self.behind) | ((word << self.gap) & !self.behind);
        let real = (!0_u64).wrapping_shl(64_u32.wrapping_sub(digits.wrapping_mul(8)));
        let number = (number ^ ZEROS) & real;
        // For a digit above 9, adding 0x76 sets the top bit.
        let wrong = ((number.wrapping_add(0x7676_7676_7676_7676) | number) & TOPS) | ((word ^ POINTS) & self.point);
        if wrong != 0 || digits.wrapping_sub(self.decimals + 1) > 7 - self.decimals || length > 8 {
            return None;
        }
        // Neighbouring digits are combined to pairs, pairs to fours, and fours to the number. The first digit is in the
        // lowest byte.
        let pairs = (number.wrapping_mul((10 << 8) + 1) >> 8) & 0x00ff_00ff_00ff_00ff;
        let fours = (pairs.wrapping_mul((100 << 16) + 1) >> 16) & 0x0000_ffff_0000_ffff;
        let number = (fours.wrapping_mul((10_000 << 32) + 1) >> 32) as i32;
        let sign = -(negative as i32);
        Some((number ^ sign) - sign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::decimal::Decimal;

    /// The number at the end of a word whose other characters are arbitrary.
    fn parse(text: &str, before: u8, decimals: u32) -> Option<i32> {
        let mut bytes = [before; 8];
        if text.len() <= 8 {
            bytes[8 - text.len()..].copy_from_slice(text.as_bytes());
        } else {
            bytes.copy_from_slice(&text.as_bytes()[text.len() - 8..]);
        }
        Fixed::new(decimals).parse(u64::from_le_bytes(bytes), text.len())
    }

    #[test]
    fn agrees_with_the_general_reader_or_refuses() {
        let texts = [
            "",
            "-",
            ".",
            "0",
            "7",
            "-7",
            "12",
            "123456",
            "1234567",
            "12345678",
            "-1234567",
            "-12345678",
            "123456789",
            "1.2",
            "-1.2",
            "12.3",
            "-12.3",
            "99.9",
            "-99.9",
            "0.0",
            "-0.0",
            "123.4",
            "123456.7",
            "-12345.6",
            "1234567.8",
            ".5",
            "-.5",
            "5.",
            "-5.",
            "--1",
            "1-1",
            "1.-1",
            "1..2",
            "1.2.3",
            "12.34",
            "a.b",
            "1:0",
            "1/0",
            "+1.2",
            " 1.2",
            "1.2\r",
            "1.23456",
            "\u{ff}.1",
            "0.123456",
            "-0.12345",
            "1.:",
            "-:.1",
        ];
        for text in texts {
            for decimals in 0..=MOST_DECIMALS {
                for before in [b';', b'0', b'9', b'-', b'.', 0, 0xff] {
                    let expected = Decimal::parse(text.as_bytes());
                    match parse(text, before, decimals) {
                        Some(number) => {
                            assert_eq!(Some((Decimal::new(number.into(), decimals), decimals)), expected, "{text}");
                        }
                        None => {
                            let digits = text.trim_start_matches('-');
                            let easy = expected.is_some_and(|(_, written)| written == decimals)
                                && digits.len() <= 8 - (text.len() - digits.len())
                                && !digits.starts_with(['.', '+'])
                                && !digits.ends_with('.');
                            assert!(!easy, "{text:?} behind {before} with {decimals} decimals was refused");
                        }
                    }
                }
            }
        }
    }
}
