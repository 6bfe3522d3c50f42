//! Moves the words on one side of a threshold to the front of a range, in place.

use std::ops::Range;

use super::{Level, Word};

/// How many words are compared at once, by vectors if there are any.
const GROUP: usize = 64;
/// If more words of a group belong to the front, the group is split without branches.
const SPARSE: usize = 8;

/// Which words to keep, by their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Below the threshold.
    Below,
    /// Below the threshold, or equal to it.
    UpTo,
    /// Above the threshold.
    Above,
    /// Above the threshold, or equal to it.
    From,
}

/// Moves the words on that side of `threshold` to the front. Returns how many there are.
pub(crate) fn filter<W: Word>(level: Level, words: &mut [W], threshold: W, side: Side) -> usize {
    match side {
        Side::Below => level.run(
            #[inline(always)]
            || move_some(words, |word| word.key() < threshold.key()),
        ),
        Side::UpTo => level.run(
            #[inline(always)]
            || move_some(words, |word| word.key() <= threshold.key()),
        ),
        Side::Above => level.run(
            #[inline(always)]
            || move_some(words, |word| word.key() > threshold.key()),
        ),
        Side::From => level.run(
            #[inline(always)]
            || move_some(words, |word| word.key() >= threshold.key()),
        ),
    }
}

#[inline(always)]
fn move_some<W: Word>(words: &mut [W], belongs: impl Fn(W) -> bool) -> usize {
    let mut front = 0;
    for start in (0..words.len()).step_by(GROUP) {
        let group = start..words.len().min(start + GROUP);
        let some = words[group.clone()].iter().map(|&word| usize::from(belongs(word))).sum::<usize>();
        if some > SPARSE {
            split(words, front, group, &belongs);
            front += some;
        } else if some > 0 {
            let mut which = mask(&words[group], &belongs);
            while which > 0 {
                words.swap(front, start + which.trailing_zeros() as usize);
                front += 1;
                which &= which - 1;
            }
        }
    }
    front
}

/// A bit for each word of a group, the lowest for the first.
#[inline(always)]
fn mask<W: Word>(group: &[W], belongs: impl Fn(W) -> bool) -> u64 {
    let of_eight = |eight: &[W]| {
        let mut mask = 0u8;
        for (i, &word) in eight.iter().enumerate() {
            mask |= u8::from(belongs(word)) << i;
        }
        mask
    };
    let mut masks = [0; GROUP / 8];
    for (mask, eight) in masks.iter_mut().zip(group.chunks(8)) {
        *mask = of_eight(eight);
    }
    u64::from_le_bytes(masks)
}

/// Moves the words of a group that belong to the front there. The words that were there go behind the other words.
#[inline(always)]
fn split<W: Word>(words: &mut [W], front: usize, group: Range<usize>, belongs: impl Fn(W) -> bool) {
    let (mut kept, mut rest) = ([words[group.start]; GROUP], [words[group.start]; GROUP]);
    let (mut kept_len, mut rest_len) = (0, 0);
    for &word in &words[group.clone()] {
        kept[kept_len % GROUP] = word;
        rest[rest_len % GROUP] = word;
        let belongs = belongs(word);
        kept_len += usize::from(belongs);
        rest_len += usize::from(!belongs);
    }
    let gives_way = front..group.start.min(front + kept_len);
    words.copy_within(gives_way.clone(), group.end - gives_way.len());
    words[front..front + kept_len].copy_from_slice(&kept[..kept_len]);
    words[group.end - gives_way.len() - rest_len..group.end - gives_way.len()].copy_from_slice(&rest[..rest_len]);
}
