//! Sorts words that are nearly all the same: memory is read once, and hardly written.
//!
//! Words other than the *common* one are copied aside, and it is written in their place. All of the range is the same
//! word then, so that the others can be put at its front, be sorted there, and those that are larger move to its end.
//!
//! Only words that are their keys can be told apart, and made, by their keys.

use std::mem::MaybeUninit;

use super::tally::{GROUP, all, same};
use super::{Level, Word};

/// Takes the words aside that differ from `common`, which is all that is left. None, with the words as many as they
/// were, in another order, if there is no room for all of those.
#[inline(never)]
pub(crate) fn take_out<'a, W: Word>(
    level: Level,
    words: &mut [W],
    common: W,
    aside: &'a mut [MaybeUninit<W>],
) -> Option<&'a [W]> {
    assert!(!W::STABLE);
    let mut used = 0;
    let complete = level.run(
        #[inline(always)]
        || take_all(words, common, aside, &mut used),
    );
    // SAFETY: so many have been written.
    let aside = unsafe { aside[..used].assume_init_ref() };
    if !complete {
        put_back(words, aside);
    }
    complete.then_some(aside)
}

/// Puts words back that were taken out.
pub(crate) fn put_back<W: Word>(words: &mut [W], aside: &[W]) {
    words[..aside.len()].copy_from_slice(aside);
}

/// Whether there was room for all. If not, the range begins with as many of the common word as were taken out, at
/// least.
#[inline(always)]
fn take_all<W: Word>(words: &mut [W], common: W, aside: &mut [MaybeUninit<W>], used: &mut usize) -> bool {
    for group in words.chunks_mut(GROUP) {
        if all(group, common) {
            continue;
        }
        for word in group {
            if !same(*word, common) {
                let Some(place) = aside.get_mut(*used) else { return false };
                place.write(std::mem::replace(word, common));
                *used += 1;
            }
        }
    }
    true
}

/// Makes sorted words of sorted ones at the front and of one common word elsewhere.
pub(crate) fn change_ends<W: Word>(words: &mut [W], common: W, front: usize) {
    let n = words.len();
    let lesser = words[..front].partition_point(|word| word.key() < common.key());
    let larger = front - lesser;
    words.copy_within(lesser..front, n - larger);
    words[lesser..front.min(n - larger)].fill(common);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the standard library has them, with others below, above and on both sides of the common word, few and all.
    #[test]
    fn others_end_on_both_sides() {
        for n in [1, 31, 32, 33, 1000] {
            for every in [1, 2, 7, 100] {
                for common in [0, 500, u64::MAX] {
                    let number =
                        |i: u64| if i % every == every / 2 { i.wrapping_mul(0x9e37_79b9) % 1000 } else { common };
                    let mut words: Vec<u64> = (0..n).map(number).collect();
                    let mut expected = words.clone();
                    expected.sort_unstable();
                    let mut aside = vec![MaybeUninit::uninit(); n as usize];
                    let aside = take_out(Level::best(), &mut words, common, &mut aside).unwrap();
                    assert!(words.iter().all(|&word| word == common));
                    put_back(&mut words, aside);
                    words[..aside.len()].sort_unstable();
                    change_ends(&mut words, common, aside.len());
                    assert!(words == expected, "{n} words, one of {every}, common {common}");
                }
            }
        }
    }

    #[test]
    fn without_room_no_word_is_lost() {
        let mut words: Vec<u64> = (0..1000).map(|i| if i % 3 == 0 { i } else { 7 }).collect();
        let mut expected = words.clone();
        assert!(take_out(Level::best(), &mut words, 7, &mut [MaybeUninit::uninit(); 100]).is_none());
        words.sort_unstable();
        expected.sort_unstable();
        assert!(words == expected);
    }
}
