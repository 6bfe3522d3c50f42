//! The order of the records in a buffer: one word of 128 bits for each.
//!
//! ```text
//! |--------- first bytes of the key ---------|-- where the record is --|
//! ```
//!
//! Where a record is takes as many bits as the buffer needs: 32 for up to 4 GiB, or for four billion records of one size,
//! and 40 and more beyond. The rest is the beginning of the key. So a sort of plain numbers puts the records in
//! order, keeps equal ones as they were, and touches only 16 bytes for each. Keys that agree in all their bits of the
//! word are told apart [afterwards](super::ties).

use std::ops::Range;

use eagre_mem::heap;

use super::Order;
use crate::records::{self, Format, Malformed};
use crate::sort::{SortError, Sorter};

/// What the words of an index mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index {
    /// How many low bits say where a record is.
    bits: u32,
    /// What they count in, in bytes: the size of the records if they have one, else 1.
    unit: usize,
    order: Order,
    /// No record is longer.
    longest: usize,
}

impl Index {
    /// The index of a buffer of at most `bytes` bytes of records in `format`.
    #[must_use]
    pub fn new(format: &impl Format, bytes: u64, order: Order) -> Index {
        let unit = format.record_size().unwrap_or(1);
        let last = bytes / unit as u64;
        let needed = (u64::BITS - last.leading_zeros()).next_multiple_of(8);
        Index { bits: needed.max(32), unit, order, longest: usize::MAX }
    }

    /// The same, but no record is longer. Bytes that another process may change have records of any length then: without a
    /// limit, each might have all that follows.
    pub(crate) fn limited(self, longest: usize) -> Index {
        Index { longest, ..self }
    }

    /// How many bytes of the key a word holds.
    #[must_use]
    pub fn prefix(&self) -> usize {
        (u128::BITS - self.bits) as usize / 8
    }

    /// Where the record of a word begins, in bytes.
    #[inline]
    #[must_use]
    pub fn position(&self, word: u128) -> usize {
        let mask = (1 << self.bits) - 1;
        (word & mask) as usize * self.unit
    }

    /// The bits of a word that belong to the key.
    #[inline]
    pub(super) fn prefix_of(&self, word: u128) -> u128 {
        word >> self.bits
    }

    /// These bits where they are in the word.
    pub(crate) fn key_bits(&self, word: u128) -> u128 {
        word >> self.bits << self.bits
    }

    pub(crate) fn order(&self) -> Order {
        self.order
    }

    /// The word of the record at `position` with `key`, whose first `depth` bytes do not count.
    #[inline]
    pub(super) fn word(&self, key: &[u8], depth: usize, position: usize) -> u128 {
        self.with(self.order.turn(records::word(key, depth)) >> self.bits, position)
    }

    #[inline]
    pub(crate) fn with(&self, prefix: u128, position: usize) -> u128 {
        prefix << self.bits | (position / self.unit) as u128
    }

    /// Appends the words of the records of `bytes` in `range`, which begins and ends between records. Returns the size of
    /// the longest.
    ///
    /// # Errors
    /// The range ends inside a record, or memory is refused.
    pub fn append<F: Format>(
        &self,
        format: &F,
        bytes: &[u8],
        range: Range<usize>,
        words: &mut Vec<u128>,
    ) -> Result<usize, IndexError> {
        self.append_if(format, bytes, range, words, |_, _| true)
    }

    /// As [`append`](Self::append), of the records that `wanted` wants, which it is given with their positions.
    #[inline]
    pub(super) fn append_if<F: Format>(
        &self,
        format: &F,
        bytes: &[u8],
        range: Range<usize>,
        words: &mut Vec<u128>,
        mut wanted: impl FnMut(&[u8], usize) -> bool,
    ) -> Result<usize, IndexError> {
        let (mut at, mut longest, mut scratch) = (range.start, 0, Vec::new());
        if let Some(size) = format.record_size() {
            heap::reserve(words, range.len() / size).map_err(SortError::from)?;
        }
        while at < range.end {
            let rest = &bytes[at..range.end];
            let length = format.length(rest, true).map_err(|error| IndexError::Malformed(at, error))?;
            let length = length.unwrap_or(rest.len());
            if words.len() == words.capacity() {
                heap::reserve(words, (words.len() / 2).max(1 << 10)).map_err(SortError::from)?;
            }
            if wanted(&rest[..length], at) {
                let word = self.order.turn(format.prefix(&rest[..length], &mut scratch));
                words.push(self.with(word >> self.bits, at));
            }
            at += length;
            longest = longest.max(length);
        }
        Ok(longest)
    }

    /// Puts the words of records in `bytes` in order.
    ///
    /// # Errors
    /// Memory is refused, or the sorter's progress hook stops it.
    pub fn sort<F: Format>(
        &self,
        format: &F,
        bytes: &[u8],
        words: &mut [u128],
        sorter: &Sorter<'_>,
    ) -> Result<(), SortError> {
        self.sort_words(format, bytes, words, sorter, false)
    }

    /// As [`sort`](Self::sort), and the words still have the first bytes of their keys, by which they can be merged with
    /// others.
    pub(crate) fn sort_for_merge<F: Format>(
        &self,
        format: &F,
        bytes: &[u8],
        words: &mut [u128],
        sorter: &Sorter<'_>,
    ) -> Result<(), SortError> {
        self.sort_words(format, bytes, words, sorter, true)
    }

    fn sort_words<F: Format>(
        &self,
        format: &F,
        bytes: &[u8],
        words: &mut [u128],
        sorter: &Sorter<'_>,
        keep: bool,
    ) -> Result<(), SortError> {
        sorter.sort(words)?;
        super::ties::resolve(self, format, bytes, words, sorter, keep)
    }

    /// The record of a word.
    #[inline]
    #[must_use]
    pub fn record<'b, F: Format>(&self, format: &F, bytes: &'b [u8], word: u128) -> &'b [u8] {
        record_at(format, bytes, self.position(word), self.longest)
    }
}

/// The record at `position`. Where the bytes have changed since it was found, what there is of it; nothing behind their end,
/// and not more than `longest` bytes.
#[inline]
pub(super) fn record_at<'b, F: Format>(format: &F, bytes: &'b [u8], position: usize, longest: usize) -> &'b [u8] {
    let rest = bytes.get(position..).unwrap_or_default();
    let rest = &rest[..rest.len().min(longest)];
    let length = match format.record_size() {
        Some(size) => size.min(rest.len()),
        None if rest.is_empty() => 0,
        None => format.length(rest, true).ok().flatten().unwrap_or(rest.len()),
    };
    &rest[..length]
}

/// Why there is no index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IndexError {
    /// At this offset there is no record.
    Malformed(usize, Malformed),
    /// Memory is refused.
    Memory(SortError),
}

impl From<SortError> for IndexError {
    fn from(error: SortError) -> IndexError {
        IndexError::Memory(error)
    }
}

impl std::fmt::Display for IndexError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            IndexError::Malformed(at, why) => write!(f, "byte {at}: {why}"),
            IndexError::Memory(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for IndexError {}
