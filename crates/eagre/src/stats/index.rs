//! The index of a block of text: where the fields end.
//!
//! A first pass over a few KiB notes the positions of all delimiters and newlines; a second one then knows where each
//! row begins without having looked at the row before it, so the processor works on several rows at once. Finding the
//! positions takes two comparisons for 64 bytes at a time and no branch that depends on the text.

use super::kernels::Level;

/// How much text is indexed at once: text, index and a table of a few hundred keys together stay in the first-level
/// cache. Below 2^16, so that positions are short.
pub(super) const BLOCK: usize = 4096;

/// Every byte may end a field, one place is in front, and positions are written in groups, the last of them not full.
pub(super) const ROOM: usize = 1 + BLOCK + 64;

/// Where the fields of a block end.
#[derive(Debug)]
pub(super) struct Index {
    /// The first is -1, where a field before the first would end; so a field begins behind the end before its own.
    pub(super) ends: Box<[u16; ROOM]>,
    /// How many fields there are.
    pub(super) fields: usize,
    /// How many of their ends are newlines.
    pub(super) lines: usize,
    /// How many fields a line is expected to have.
    pub(super) expected: u32,
    /// All lines are known to have as many fields as expected. Only some levels find out.
    pub(super) regular: bool,
}

impl Index {
    /// `None` if there is no memory for it.
    pub(super) fn new() -> Option<Index> {
        let mut ends = Vec::new();
        ends.try_reserve_exact(ROOM).ok()?;
        ends.resize(ROOM, u16::MAX);
        let ends = ends.into_boxed_slice().try_into().ok()?;
        Some(Index { ends, fields: 0, lines: 0, expected: 2, regular: false })
    }

    /// Indexes `text`, of which there are at most [`BLOCK`] bytes.
    pub(super) fn fill(&mut self, text: &[u8], delimiter: u8, level: Level) {
        self.fields = 0;
        self.lines = 0;
        self.regular = false;
        level.index(text, delimiter, self);
    }

    /// How many fields the first line of the text has that was indexed; `None` if its end is not in there.
    pub(super) fn first_line(&self, text: &[u8]) -> Option<usize> {
        let newline = |&end: &u16| text[usize::from(end)] == b'\n';
        Some(self.ends[1..=self.fields].iter().position(newline)? + 1)
    }

    /// Notes the ends of fields among 64 bytes that begin at `base`, one bit each.
    #[inline(always)]
    pub(super) fn note(&mut self, base: usize, mut ends: u64, newlines: u64) {
        let count = ends.count_ones() as usize;
        let mut at = 1 + self.fields;
        // Eight at a time, wanted or not: how many there are cannot be foretold, and a wrong guess costs more.
        while ends != 0 {
            for slot in &mut self.ends[at..at + 8] {
                *slot = (base + ends.trailing_zeros() as usize) as u16;
                ends &= ends.wrapping_sub(1);
            }
            at += 8;
        }
        self.fields += count;
        self.lines += newlines.count_ones() as usize;
    }
}

/// One pass without special instructions.
pub(super) fn portable(text: &[u8], delimiter: u8, index: &mut Index) {
    let (words, _) = text.as_chunks::<64>();
    for (number, word) in words.iter().enumerate() {
        let (ends, newlines) = masks(word, delimiter);
        index.note(number * 64, ends, newlines);
    }
    rest(text, delimiter, index);
}

/// What is left of a text behind its last whole word.
pub(super) fn rest(text: &[u8], delimiter: u8, index: &mut Index) {
    let (_, rest) = text.as_chunks::<64>();
    let mut last = [0; 64];
    last[..rest.len()].copy_from_slice(rest);
    let (ends, newlines) = masks(&last, delimiter);
    let inside = (1 << rest.len()) - 1;
    index.note(text.len() - rest.len(), ends & inside, newlines & inside);
}

/// Which of 64 bytes are delimiters or newlines, and which are newlines: bit `i` for byte `i`.
fn masks(bytes: &[u8; 64], delimiter: u8) -> (u64, u64) {
    let (mut delimiters, mut newlines) = (0, 0);
    for (number, word) in bytes.as_chunks::<8>().0.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        delimiters |= equal(word, delimiter) << (8 * number);
        newlines |= equal(word, b'\n') << (8 * number);
    }
    (delimiters | newlines, newlines)
}

/// Which of eight bytes are `byte`: bit `i` for byte `i`.
fn equal(word: u64, byte: u8) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let difference = word ^ u64::from_ne_bytes([byte; 8]);
    // The top bit of each byte: set where the byte is zero. No carry passes from byte to byte.
    let zero = !(((difference & LOW) + LOW) | difference | LOW);
    // Multiplying brings the eight top bits together in the top byte.
    (zero >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}
