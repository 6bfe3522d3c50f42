//! A compact list of matches.
//!
//! Each match is stored as its gap from the end of the match before it, and the index of its pattern if there are
//! several. Numbers take seven bits per byte, the lowest first. So a piece that consists of matches of one byte takes
//! one byte for each.

use super::Match;
use super::patterns::Patterns;
use eagre_mem::heap::Refused;

/// The matches of a piece.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The number of matches, both stored and only counted.
    pub(super) count: u64,
    codes: Vec<u8>,
    /// The bytes of the matches, one after another, if the patterns do not determine them.
    texts: Vec<u8>,
}

impl Found {
    /// Stores one more match, `gap` bytes behind the one before.
    pub(super) fn push(
        &mut self,
        patterns: &Patterns,
        gap: usize,
        pattern: usize,
        bytes: &[u8],
    ) -> Result<(), Refused> {
        self.codes.try_reserve(2 * LONGEST_CODE).map_err(|_| Refused { bytes: 2 * LONGEST_CODE })?;
        encode(&mut self.codes, gap);
        if patterns.has_several() {
            encode(&mut self.codes, pattern);
        }
        if !patterns.is_verbatim() {
            self.texts.try_reserve(bytes.len()).map_err(|_| Refused { bytes: bytes.len() })?;
            self.texts.extend_from_slice(bytes);
        }
        self.count += 1;
        Ok(())
    }

    /// Counts one more match without storing it.
    pub(super) fn count_one(&mut self) {
        self.count += 1;
    }

    /// The stored matches. The gap of the first one counts from `from`.
    pub(super) fn iter<'a>(&'a self, patterns: &'a Patterns, mut from: u64) -> impl Iterator<Item = Match<'a>> {
        let mut codes = &self.codes[..];
        let mut texts = &self.texts[..];
        std::iter::from_fn(move || {
            let start = from + decode(&mut codes)? as u64;
            let pattern = if patterns.has_several() { decode(&mut codes)? } else { 0 };
            let mut bytes = patterns.pattern(pattern);
            if !patterns.is_verbatim() {
                (bytes, texts) = texts.split_at(bytes.len());
            }
            from = start + bytes.len() as u64;
            Some(Match { start, pattern, bytes })
        })
    }
}

/// The most bytes that a number takes.
const LONGEST_CODE: usize = (usize::BITS as usize).div_ceil(7);

fn encode(codes: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        codes.push(number as u8 | 0x80);
        number >>= 7;
    }
    codes.push(number as u8);
}

fn decode(codes: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    let mut shift = 0;
    loop {
        let (&code, rest) = codes.split_first()?;
        *codes = rest;
        number |= usize::from(code & 0x7f) << shift;
        if code < 0x80 {
            return Some(number);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let numbers = [0, 1, 127, 128, 16_383, 16_384, 1 << 31, usize::MAX];
        let mut codes = Vec::new();
        numbers.iter().for_each(|&number| encode(&mut codes, number));
        let mut rest = &codes[..];
        let back: Vec<_> = std::iter::from_fn(|| decode(&mut rest)).collect();
        assert_eq!(back, numbers);
    }
}
