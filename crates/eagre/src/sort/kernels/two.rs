//! Words of which only two are distinct: counted, and written anew.

use super::tally::{all, same};
use super::{Level, Word};

/// How many words are compared between two decisions whether to go on.
const STEP: usize = 128;

/// Sorts words if at most two of them are distinct. Returns false, with the words unchanged, when it sees a third one.
/// Words must be their keys: others could not be restored from a count.
pub(crate) fn sort<W: Word>(level: Level, words: &mut [W]) -> bool {
    assert!(!W::STABLE);
    let Some(&one) = words.first() else { return true };
    let steps = level.run(
        #[inline(always)]
        || words.chunks(STEP).position(|step| !all(step, one)),
    );
    let Some(steps) = steps else { return true };
    let first = steps * STEP + words[steps * STEP..].iter().position(|&word| !same(word, one)).unwrap_or(0);
    let other = words[first];
    // Usually a third one comes soon.
    if words[first..].iter().take(4).any(|&word| !same(word, one) && !same(word, other)) {
        return false;
    }
    let ones = level.run(
        #[inline(always)]
        || count(&words[first..], one, other),
    );
    let Some(ones) = ones else { return false };
    let ones = first + ones;
    let (smaller, larger, split) =
        if one.key() < other.key() { (one, other, ones) } else { (other, one, words.len() - ones) };
    words[..split].fill(smaller);
    words[split..].fill(larger);
    true
}

/// How many words equal the first of two, if each equals one of the two.
#[inline(always)]
fn count<W: Word>(words: &[W], one: W, other: W) -> Option<usize> {
    let mut ones = 0;
    for step in words.chunks(STEP) {
        let (mut here, mut known) = (0u32, true);
        for &word in step {
            let is_one = same(word, one);
            here += u32::from(is_one);
            known &= is_one | same(word, other);
        }
        if !known {
            return None;
        }
        ones += here as usize;
    }
    Some(ones)
}
