//! The reading end's answer.

use super::{sum, sum_at, word};
use crate::trouble::Trouble;

/// The reading end's answer: the sum, and whether every piece was in its place.
#[derive(Default)]
pub(crate) struct Tally {
    /// How many words have been seen.
    words: u64,
    /// Their sum.
    total: u64,
    /// The index of the first word found out of place.
    misplaced: Option<u64>,
}

impl Tally {
    /// Adds the next piece of the stream.
    pub(crate) fn add(&mut self, piece: &[u64]) {
        let (Some(first), Some(last)) = (piece.first(), piece.last()) else {
            return;
        };
        self.place(*first, *last, piece.len() as u64, sum(piece));
    }

    /// Adds the next `words` words, read through a stream pointer.
    ///
    /// # Safety
    ///
    /// As [`sum_at`]; the first word is read once before and the last one once after.
    pub(crate) unsafe fn add_at(&mut self, from: *const u64, words: usize) {
        if words == 0 {
            return;
        }
        // SAFETY: the caller's promise; `words` is not zero.
        unsafe {
            let first = from.read();
            let total = sum_at(from, words);
            let last = from.add(words - 1).read();
            self.place(first, last, words as u64, total);
        }
    }

    /// Adds words whose sum was formed elsewhere, in an order nobody checked.
    pub(crate) fn add_sum(&mut self, words: u64, total: u64) {
        self.words += words;
        self.total = self.total.wrapping_add(total);
    }

    fn place(&mut self, first: u64, last: u64, words: u64, total: u64) {
        let in_place = first == word(self.words) && last == word(self.words + words - 1);
        if !in_place && self.misplaced.is_none() {
            self.misplaced = Some(self.words);
        }
        self.add_sum(words, total);
    }

    /// The sum, or why it cannot be right.
    pub(crate) fn answer(self) -> Result<u64, Trouble> {
        match self.misplaced {
            None => Ok(self.total),
            Some(index) => Err(Trouble::Wrong(format!("the piece at word {index} is not the one that belongs there"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::expected_sum;
    use crate::kernels::tests::naive;

    #[test]
    fn a_tally_sees_pieces_that_changed_places() {
        let words = naive(0, 512);
        let mut right = Tally::default();
        words.chunks(64).for_each(|piece| right.add(piece));
        assert_eq!(right.answer().ok(), Some(expected_sum(512)));

        let mut swapped = Tally::default();
        swapped.add(&words[256..]);
        swapped.add(&words[..256]);
        assert!(swapped.answer().is_err());
    }
}
