//! Sorts words with a dominant key: memory is read once, and hardly written.
//!
//! Words other than the *dominant* one, the outliers, are copied to scratch memory, and the dominant word is written in
//! their place. Now all words of the range are equal. The outliers are put at its front and sorted there, and those
//! that are larger than the dominant word move to the end.
//!
//! This only works for words that are their keys: others could not be restored from an equal word.

use super::uninit::UninitSlice;
use std::mem::MaybeUninit;

use super::tally::{GROUP, all, same};
use super::{Level, Word};

/// Copies the outliers to `outliers`, and leaves only the dominant word in `words`. Returns `None`, with the same words
/// in another order, if there is no room for all outliers.
#[inline(never)]
pub(crate) fn extract<'a, W: Word>(
    level: Level,
    words: &mut [W],
    dominant: W,
    outliers: &'a mut [MaybeUninit<W>],
) -> Option<&'a [W]> {
    assert!(!W::STABLE);
    let mut used = 0;
    let complete = level.run(
        #[inline(always)]
        || take_all(words, dominant, outliers, &mut used),
    );
    // SAFETY: so many have been written.
    let outliers = unsafe { outliers[..used].written() };
    if !complete {
        restore(words, outliers);
    }
    complete.then_some(outliers)
}

/// Puts extracted words back.
pub(crate) fn restore<W: Word>(words: &mut [W], outliers: &[W]) {
    words[..outliers.len()].copy_from_slice(outliers);
}

/// Whether there was room for all outliers. If not, the range begins with at least as many dominant words as outliers
/// were extracted.
#[inline(always)]
fn take_all<W: Word>(words: &mut [W], dominant: W, outliers: &mut [MaybeUninit<W>], used: &mut usize) -> bool {
    for group in words.chunks_mut(GROUP) {
        if all(group, dominant) {
            continue;
        }
        for word in group {
            if !same(*word, dominant) {
                let Some(place) = outliers.get_mut(*used) else { return false };
                place.write(std::mem::replace(word, dominant));
                *used += 1;
            }
        }
    }
    true
}

/// Merges the sorted outliers in `words[..front]` with the run of `dominant` behind them.
pub(crate) fn merge<W: Word>(words: &mut [W], dominant: W, front: usize) {
    let n = words.len();
    let lesser = words[..front].partition_point(|word| word.key() < dominant.key());
    let larger = front - lesser;
    words.copy_within(lesser..front, n - larger);
    words[lesser..front.min(n - larger)].fill(dominant);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result is that of the standard library, with outliers below, above and on both sides of the dominant word.
    #[test]
    fn others_end_on_both_sides() {
        for n in [1, 31, 32, 33, 1000] {
            for every in [1, 2, 7, 100] {
                for dominant in [0, 500, u64::MAX] {
                    let number =
                        |i: u64| if i % every == every / 2 { i.wrapping_mul(0x9e37_79b9) % 1000 } else { dominant };
                    let mut words: Vec<u64> = (0..n).map(number).collect();
                    let mut expected = words.clone();
                    expected.sort_unstable();
                    let mut outliers = vec![MaybeUninit::uninit(); n as usize];
                    let outliers = extract(Level::best(), &mut words, dominant, &mut outliers).unwrap();
                    assert!(words.iter().all(|&word| word == dominant));
                    restore(&mut words, outliers);
                    words[..outliers.len()].sort_unstable();
                    merge(&mut words, dominant, outliers.len());
                    assert!(words == expected, "{n} words, one of {every}, dominant {dominant}");
                }
            }
        }
    }

    #[test]
    fn without_room_no_word_is_lost() {
        let mut words: Vec<u64> = (0..1000).map(|i| if i % 3 == 0 { i } else { 7 }).collect();
        let mut expected = words.clone();
        assert!(extract(Level::best(), &mut words, 7, &mut [MaybeUninit::uninit(); 100]).is_none());
        words.sort_unstable();
        expected.sort_unstable();
        assert!(words == expected);
    }
}
