//! The index of a block of text: the positions where fields end.
//!
//! The first pass stores the positions of all delimiters and newlines of a few KiB of text. The second pass then knows
//! where each row begins without looking at the row before it, so the processor can work on several rows at once.
//! Finding the positions takes two comparisons per 64 bytes, and no branch that depends on the text.

use super::kernels::Level;

/// How much text is indexed at once. Text, index and a table of a few hundred keys fit together into the first-level
/// cache. The size is below 2^16, so positions fit into 16 bits.
pub(super) const BLOCK: usize = 4096;

/// Every byte may end a field, one entry is in front of them, and positions are written in groups, of which the last
/// may be partly unused.
pub(super) const ROOM: usize = 1 + BLOCK + 64;

/// The positions where the fields of a block end.
#[derive(Debug)]
pub(super) struct Index {
    /// The first entry is -1, where a field before the first would end. So every field begins one byte behind the end
    /// before it.
    pub(super) ends: Box<[u16; ROOM]>,
    /// The number of fields.
    pub(super) fields: usize,
    /// How many of them end with a newline.
    pub(super) lines: usize,
    /// The expected number of fields per line.
    pub(super) expected: u32,
    /// Whether all lines are known to have the expected number of fields. Only some instruction levels find this out.
    pub(super) regular: bool,
}

impl Index {
    /// `None` if memory is refused.
    pub(super) fn new() -> Option<Index> {
        let mut ends = Vec::new();
        ends.try_reserve_exact(ROOM).ok()?;
        ends.resize(ROOM, u16::MAX);
        let ends = ends.into_boxed_slice().try_into().ok()?;
        Some(Index { ends, fields: 0, lines: 0, expected: 2, regular: false })
    }

    /// Indexes `text`, which has at most [`BLOCK`] bytes.
    pub(super) fn fill(&mut self, text: &[u8], delimiter: u8, level: Level) {
        self.fields = 0;
        self.lines = 0;
        self.regular = false;
        level.index(text, delimiter, self);
    }

    /// The number of fields in the first line of the indexed text. `None` if the line does not end in it.
    pub(super) fn first_line(&self, text: &[u8]) -> Option<usize> {
        let newline = |&end: &u16| text[usize::from(end)] == b'\n';
        Some(self.ends[1..=self.fields].iter().position(newline)? + 1)
    }

    /// Stores the ends of fields among the 64 bytes at `base`, given as a mask.
    #[inline(always)]
    pub(super) fn note(&mut self, base: usize, mut ends: u64, newlines: u64) {
        let count = ends.count_ones() as usize;
        let mut at = 1 + self.fields;
        // Always writes eight positions, needed or not. Their number is unpredictable, and a mispredicted branch costs
        // more.
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

/// Fills the index without special instructions.
pub(super) fn portable(text: &[u8], delimiter: u8, index: &mut Index) {
    let (words, _) = text.as_chunks::<64>();
    for (number, word) in words.iter().enumerate() {
        let (ends, newlines) = masks(word, delimiter);
        index.note(number * 64, ends, newlines);
    }
    rest(text, delimiter, index);
}

/// Indexes the last bytes of a text, fewer than 64.
pub(super) fn rest(text: &[u8], delimiter: u8, index: &mut Index) {
    let (_, rest) = text.as_chunks::<64>();
    let mut last = [0; 64];
    last[..rest.len()].copy_from_slice(rest);
    let (ends, newlines) = masks(&last, delimiter);
    let inside = (1 << rest.len()) - 1;
    index.note(text.len() - rest.len(), ends & inside, newlines & inside);
}

/// The masks of 64 bytes: those that are delimiters or newlines, and those that are newlines. Bit `i` stands for byte
/// `i`.
fn masks(bytes: &[u8; 64], delimiter: u8) -> (u64, u64) {
    let (mut delimiters, mut newlines) = (0, 0);
    for (number, word) in bytes.as_chunks::<8>().0.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        delimiters |= equal(word, delimiter) << (8 * number);
        newlines |= equal(word, b'\n') << (8 * number);
    }
    (delimiters | newlines, newlines)
}

/// The mask of the bytes in `word` that equal `byte`. Bit `i` stands for byte `i`.
fn equal(word: u64, byte: u8) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let difference = word ^ u64::from_ne_bytes([byte; 8]);
    // The top bit of each byte is set where the byte is zero. No carry passes from byte to byte.
    let zero = !(((difference & LOW) + LOW) | difference | LOW);
    // The multiplication collects the eight top bits in the top byte.
    (zero >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}
