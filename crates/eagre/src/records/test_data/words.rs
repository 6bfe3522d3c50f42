//! Text that looks like text: words of a made-up language.

use std::sync::OnceLock;

use super::random::{Stream, Use};

const WORDS: usize = 1024;

/// The longest word, and the blank behind it.
const LONGEST: usize = 16;

/// Characters in a line.
const LINE: std::ops::RangeInclusive<u64> = 8..=120;

/// Room for a line and what the last word may have too much.
pub(super) const ROOM: usize = 120 + LONGEST;

/// A word with a blank behind it.
#[derive(Clone, Copy)]
struct Word {
    bytes: [u8; LONGEST],
    length: usize,
}

fn words() -> &'static [Word; WORDS] {
    static TABLE: OnceLock<[Word; WORDS]> = OnceLock::new();
    TABLE.get_or_init(|| {
        let stream = Stream::new(0, Use::Key);
        let mut table = [Word { bytes: [b' '; LONGEST], length: 0 }; WORDS];
        for (number, word) in table.iter_mut().enumerate() {
            // Frequent words, which come first, are short.
            let syllables = 1 + number * 4 / WORDS;
            for syllable in 0..syllables as u64 {
                let of = stream.of(number as u64);
                let pick = |at, from: &[u8]| from[of.below(8 * syllable + at, from.len() as u64) as usize];
                let mut put = |byte| {
                    word.bytes[word.length] = byte;
                    word.length += 1;
                };
                put(pick(0, b"bcdfghklmnprstvwyz"));
                put(pick(1, b"aaeeeiioou"));
                if of.below(8 * syllable + 2, 3) == 0 {
                    put(pick(3, b"lmnrst"));
                }
            }
            word.length += 1;
        }
        table
    })
}

/// How many characters a line has, without the byte that ends it: mostly some 60.
pub(super) fn length(line: Stream) -> usize {
    let half = (LINE.end() - LINE.start()) / 2 + 1;
    (LINE.start() + line.below(0, half) + line.below(1, half)) as usize
}

/// Writes a line with so many characters, and some more behind it.
pub(super) fn write(line: Stream, length: usize, to: &mut [u8; ROOM]) {
    let (table, mut at, mut word) = (words(), 0, 2);
    while at < length {
        let mut random = line.word(word);
        word += 1;
        // Three words of 20 bits. A product of two numbers is small more often than large.
        for _ in 0..3 {
            let [one, other] = [random & 1023, random >> 10 & 1023].map(|part| part as usize);
            let next = &table[one * other / WORDS];
            to[at..at + LONGEST].copy_from_slice(&next.bytes);
            at += next.length;
            random >>= 20;
            if at >= length {
                break;
            }
        }
    }
    if to[length - 1] == b' ' {
        to[length - 1] = b's';
    }
}
