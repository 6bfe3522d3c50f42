//! One look at a range before any work: which bits of the keys differ, and is it in order already?

use super::Word;

/// What a range looks like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Survey {
    /// The key bits from here up are the same everywhere.
    pub(crate) high: u32,
    /// No key is smaller than the one before.
    pub(crate) ascending: bool,
    /// No key is larger than the one before.
    pub(crate) descending: bool,
}

/// So many words are looked at between two decisions whether to go on.
const STEP: usize = 1 << 11;

/// Looks at `words`, until it is clear that they are in no order and differ in the highest of the `high` lowest bits.
pub(crate) fn survey<W: Word>(words: &[W], high: u32) -> Survey {
    let mut seen = Survey { high: 0, ascending: true, descending: true };
    let Some(&first) = words.first() else { return seen };
    let (mut differ, mut before) = (0, first);
    for step in words.chunks(STEP) {
        let (mut up, mut down) = (true, true);
        for &word in step {
            differ |= word.key() ^ first.key();
            up &= before.key() <= word.key();
            down &= before.key() >= word.key();
            before = word;
        }
        seen.ascending &= up;
        seen.descending &= down;
        seen.high = u128::BITS - differ.leading_zeros();
        if seen.high >= high && !seen.ascending && !seen.descending {
            break;
        }
    }
    seen
}
