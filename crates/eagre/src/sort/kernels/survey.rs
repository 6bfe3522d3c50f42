//! One look at a range before any work: which bits of the keys differ, and is it in order already?

use super::{Level, Word};

/// What a range looks like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Survey {
    /// The key bits from here up are the same everywhere.
    pub(crate) high: u32,
    /// No key is smaller than the one before.
    pub(crate) ascending: bool,
    /// No key is larger than the one before; if words with equal keys may differ, each is smaller.
    pub(crate) descending: bool,
}

/// So many words are looked at between two decisions whether to go on.
const STEP: usize = 1 << 11;
/// So many at first.
const GLANCE: usize = 1 << 6;

/// Looks at `words`, until it is clear that they are in no order and differ in the highest of the `high` lowest bits.
pub(crate) fn survey<W: Word>(level: Level, words: &[W], high: u32) -> Survey {
    let mut seen = Survey { high: 0, ascending: true, descending: true };
    let Some(&first) = words.first() else { return seen };
    let mut differ = 0;
    let mut end = 0;
    while end < words.len() {
        // With the last word of the step before. Most ranges are seen through at the first step.
        let start = end;
        end = words.len().min(start + if start == 0 { GLANCE } else { STEP });
        let step = &words[start.saturating_sub(1)..end];
        let (up, down, new) = level.run(|| look(step, first));
        differ |= new;
        seen.ascending &= up;
        seen.descending &= down;
        seen.high = u128::BITS - differ.leading_zeros();
        if seen.high >= high && !seen.ascending && !seen.descending {
            break;
        }
    }
    seen
}

/// Whether `words`, at least one, go up or down, and in which bits they differ from `first`.
#[inline(always)]
fn look<W: Word>(words: &[W], first: W) -> (bool, bool, u128) {
    let (mut up, mut down) = (true, true);
    let mut differ = words[0].key() ^ first.key();
    for pair in words.windows(2) {
        let (one, two) = (pair[0].key(), pair[1].key());
        differ |= two ^ first.key();
        up &= one <= two;
        down &= if W::STABLE { one > two } else { one >= two };
    }
    (up, down, differ)
}
