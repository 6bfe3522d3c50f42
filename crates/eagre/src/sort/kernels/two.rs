//! Words of which only two are distinct: counted, and written anew.
//!
//! They are counted step by step, each at that end where fewer places are free, and written as soon as there is room: the
//! smaller ones at the start, the larger ones at the end. So memory is read and written once.

use super::tally::{all, same};
use super::{Level, Word};

/// How many words are compared between two decisions.
const STEP: usize = 512;
/// So many words are written at once.
const RUN: usize = 16;

/// Sorts words if at most two of them are distinct. Returns false, with the words in any order, when it sees a third one.
/// Words must be their keys: others could not be restored from a count.
pub(crate) fn sort<W: Word>(level: Level, words: &mut [W]) -> bool {
    assert!(!W::STABLE);
    let Some(&one) = words.first() else { return true };
    let Some(first) = first_other(level, words, one) else { return true };
    let (rest, other) = (&words[first..], words[first]);
    // Usually a third one comes soon.
    if rest.iter().take(4).any(|&word| !same(word, one) && !same(word, other)) {
        return false;
    }
    let (smaller, larger) = if one.key() < other.key() { (one, other) } else { (other, one) };
    level.run(
        #[inline(always)]
        || sort_two(words, smaller, larger),
    )
}

/// The place of the first word that is not the same as `one`: most often the second.
fn first_other<W: Word>(level: Level, words: &[W], one: W) -> Option<usize> {
    let other = |words: &[W]| words.iter().position(|&word| !same(word, one));
    other(&words[..words.len().min(8)]).or_else(|| {
        let step = level.run(
            #[inline(always)]
            || words.chunks(STEP).position(|step| !all(step, one)),
        )?;
        Some(step * STEP + other(&words[step * STEP..])?)
    })
}

/// Sorts words if each equals one of the two.
#[inline(always)]
fn sort_two<W: Word>(words: &mut [W], smaller: W, larger: W) -> bool {
    // Yet to be read is what lies between `front` and `back`. Up to `start` and from `end` on words are where they belong, and
    // the places between are free for the `lesser` and `greater` words that were counted.
    let (mut start, mut front, mut back, mut end) = (0, 0, words.len(), words.len());
    let (mut lesser, mut greater) = (0usize, 0);
    while front < back {
        let step = STEP.min(back - front);
        let at_back = end - back <= front - start;
        let from = if at_back { back - step } else { front };
        let Some(count) = count(&words[from..][..step], smaller, larger) else {
            // What was counted goes to the free places.
            for place in (start..front).chain(back..end) {
                words[place] = if lesser > 0 { smaller } else { larger };
                lesser = lesser.saturating_sub(1);
            }
            return false;
        };
        if at_back {
            back -= step;
        } else {
            front += step;
        }
        (lesser, greater) = (lesser + count, greater + step - count);
        let now = lesser.min(front - start) / RUN * RUN;
        words[start..][..now].as_chunks_mut().0.iter_mut().for_each(|run| *run = [smaller; RUN]);
        (start, lesser) = (start + now, lesser - now);
        let now = greater.min(end - back) / RUN * RUN;
        words[end - now..end].as_chunks_mut().0.iter_mut().for_each(|run| *run = [larger; RUN]);
        (end, greater) = (end - now, greater - now);
    }
    words[start..][..lesser].fill(smaller);
    words[start + lesser..end].fill(larger);
    true
}

/// How many words equal the smaller one, if each equals one of the two.
#[inline(always)]
fn count<W: Word>(words: &[W], smaller: W, larger: W) -> Option<usize> {
    let (mut count, mut known) = (0u32, true);
    for &word in words {
        let lesser = same(word, smaller);
        count += u32::from(lesser);
        known &= lesser | same(word, larger);
    }
    known.then_some(count as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two distinct words, in any order, and of three, wherever the third one is.
    #[test]
    fn two_are_sorted_and_three_are_kept() {
        let mut random = fastrand::Rng::with_seed(5);
        for n in [1, 2, 3, 100, 127, 128, 129, 256, 300, 1000, 5000] {
            for share in [0.0, 0.01, 0.5, 0.99] {
                for (one, other) in [(7u64, 1 << 40), (u64::MAX, 0)] {
                    let mut words: Vec<u64> = (0..n).map(|_| if random.f64() < share { one } else { other }).collect();
                    let mut expected = words.clone();
                    expected.sort_unstable();
                    assert!(sort(Level::best(), &mut words));
                    assert_eq!(words, expected, "{n} words");
                    random.shuffle(&mut words);
                    words[random.usize(..n)] = 99;
                    let mut kept = words.clone();
                    words.sort_unstable();
                    if !sort(Level::best(), &mut kept) {
                        kept.sort_unstable();
                    }
                    assert_eq!(kept, words, "{n} words");
                }
            }
        }
    }
}
