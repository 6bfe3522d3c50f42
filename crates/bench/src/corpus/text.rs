//! Lines of words that resemble English, with the pattern at known offsets.
//!
//! Words are drawn from a small vocabulary, common ones more often, so lines differ in length and the letters of the pattern
//! are frequent. Each window of so many bytes has the pattern once, at a random offset.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use super::{Expected, PATTERN, Places};

/// Bytes that are made at a time; a multiple of the window.
const BLOCK: usize = 8 << 20;

/// The number of different words.
const VOCABULARY: u64 = 512;

/// Letters, the common ones more often.
const LETTERS: &[u8] = b"eeeeeeetttttaaaaaoooooiiiiinnnnsssshhhrrrrddllluuccmmffwwyyppvbgkjqxz";

/// Makes a file of `size` bytes with one occurrence in each window of `every` bytes that it holds whole.
pub(super) fn make(path: &Path, size: u64, every: u64) -> io::Result<Expected> {
    let mut file = File::create_new(path)?;
    let mut words = Words::new();
    let mut block = vec![0; BLOCK];
    let (mut lines, mut places, mut at) = (0, Places::default(), 0);
    while at < size {
        let piece = &mut block[..(size - at).min(BLOCK as u64) as usize];
        words.fill(piece);
        for (i, window) in piece.chunks_exact_mut(every as usize).enumerate() {
            let place = words.random.below(every - PATTERN.len() as u64);
            window[place as usize..][..PATTERN.len()].copy_from_slice(PATTERN);
            places.push(at + i as u64 * every + place);
        }
        if let (true, Some(last)) = (at + piece.len() as u64 == size, piece.last_mut()) {
            // Programs differ on whether a last line without an end is one. No pattern reaches the last byte.
            *last = b'\n';
        }
        lines += bytecount::count(piece, b'\n') as u64;
        file.write_all(piece)?;
        at += piece.len() as u64;
    }
    file.sync_data()?;
    Ok(Expected::Text { lines, places })
}

/// An endless text.
pub(super) struct Words {
    random: Random,
    vocabulary: Vec<Vec<u8>>,
    /// Words left in the present line.
    left: u64,
    /// The part of the last word that did not fit.
    rest: Vec<u8>,
}

impl Words {
    pub(super) fn new() -> Words {
        let mut random = Random(1);
        let mut word = || {
            let letters = 2 + random.below(5) + random.below(5);
            (0..letters).map(|_| LETTERS[random.below(LETTERS.len() as u64) as usize]).collect()
        };
        let vocabulary = (0..VOCABULARY).map(|_| word()).collect();
        Words { random, vocabulary, left: 12, rest: Vec::new() }
    }

    /// Adds the rest of the present line to `line`, its end included.
    pub(super) fn line(&mut self, line: &mut Vec<u8>) {
        loop {
            let draw = self.random.below(VOCABULARY).min(self.random.below(VOCABULARY));
            line.extend_from_slice(&self.vocabulary[draw as usize]);
            let end = self.left == 0;
            line.push(if end { b'\n' } else { b' ' });
            self.left = if end { 2 + self.random.below(24) } else { self.left - 1 };
            if end {
                return;
            }
        }
    }

    /// The next bytes of the text.
    fn fill(&mut self, mut out: &mut [u8]) {
        let mut word = std::mem::take(&mut self.rest);
        while !out.is_empty() {
            let n = word.len().min(out.len());
            let (now, later) = out.split_at_mut(n);
            now.copy_from_slice(&word[..n]);
            out = later;
            if n < word.len() {
                self.rest = word.split_off(n);
                return;
            }
            // The lesser of two draws: the first words come often, the last ones seldom.
            let draw = self.random.below(VOCABULARY).min(self.random.below(VOCABULARY));
            word.clear();
            word.extend_from_slice(&self.vocabulary[draw as usize]);
            word.push(if self.left == 0 { b'\n' } else { b' ' });
            self.left = if self.left == 0 { 2 + self.random.below(24) } else { self.left - 1 };
        }
        self.rest = word;
    }
}

/// A generator of pseudo-random numbers: xorshift, multiplied.
pub(super) struct Random(u64);

impl Random {
    /// One of many sequences; `seed` is not zero.
    pub(super) fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// A number less than `bound`, which is small.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((self.next() >> 32) * bound) >> 32
    }

    /// Any number.
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against searches nobody can doubt.
    #[test]
    fn the_maker_knows_what_it_made() {
        let directory = tempfile::tempdir().unwrap();
        for (size, every) in [(10_000, 4096), (BLOCK as u64 + 100_000, 65_536), (3000, 4096)] {
            let path = directory.path().join(format!("{size}"));
            let expected = make(&path, size, every).unwrap();
            let text = std::fs::read(&path).unwrap();
            assert_eq!((text.len() as u64, text.last()), (size, Some(&b'\n')));
            let lines = text.iter().filter(|byte| **byte == b'\n').count() as u64;
            let found: Vec<u64> = (0..text.len() as u64).filter(|i| text[*i as usize..].starts_with(PATTERN)).collect();
            assert_eq!(found.len() as u64, size / every, "one in each window");
            assert_eq!(expected, Expected::Text { lines, places: found.into_iter().collect() });
        }
    }

    #[test]
    fn text_is_plain_and_lines_are_neither_empty_nor_endless() {
        let mut text = vec![0; 1 << 20];
        Words::new().fill(&mut text);
        assert!(text.iter().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b' ' | b'\n')));
        let longest = text.split(|byte| *byte == b'\n').map(<[u8]>::len).max().unwrap();
        assert!(!text.windows(2).any(|pair| pair == b"\n\n") && longest < 400);
    }

    /// Pieces of any length, one after the other, are the same text.
    #[test]
    fn the_text_does_not_depend_on_where_it_is_cut() {
        let (mut whole, mut cut) = (vec![0; 5000], vec![0; 5000]);
        Words::new().fill(&mut whole);
        let mut words = Words::new();
        for piece in cut.chunks_mut(7) {
            words.fill(piece);
        }
        assert_eq!(whole, cut);
    }
}
