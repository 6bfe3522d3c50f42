//! Merges a sorted front with a sorted back, in place but for a copy of the shorter one. No branch depends on keys.

use std::mem::MaybeUninit;

use super::uninit::UninitSlice;
use super::{Level, Word};

/// Merges the words before `middle` with the others. Both are in order; equal words keep their order.
///
/// # Panics
/// If there is no room for the shorter one.
pub(crate) fn merge<W: Word>(level: Level, words: &mut [W], middle: usize, room: &mut [MaybeUninit<W>]) {
    let n = words.len();
    level.run(
        #[inline(always)]
        || {
            if middle <= n - middle {
                let front = room[..middle].copied(&words[..middle]);
                // SAFETY: the back lies behind the places for the front.
                unsafe { forward(words.as_mut_ptr(), front, n) };
            } else {
                let back = room[..n - middle].copied(&words[middle..]);
                // SAFETY: the front lies before the places for the back.
                unsafe { backward(words.as_mut_ptr(), middle, back) };
            }
        },
    );
}

/// Merges `front` with the words behind its places, the smallest first.
///
/// # Safety
/// There are `n` words at `words`, as many places for the front among them.
#[inline(always)]
unsafe fn forward<W: Word>(words: *mut W, front: &[W], n: usize) {
    let (mut one, mut other, mut to) = (0, front.len(), 0);
    // SAFETY: the caller's promise. A word is written where one of the back was that has moved, or one of the front.
    unsafe {
        while one < front.len() && other < n {
            let (a, b) = (front.as_ptr().add(one), words.add(other).cast_const());
            let second = (*b).key() < (*a).key();
            words.add(to).write(if second { b } else { a }.read());
            other += usize::from(second);
            one += usize::from(!second);
            to += 1;
        }
        words.add(to).copy_from_nonoverlapping(front.as_ptr().add(one), front.len() - one);
    }
}

/// Merges `front` words with those of `back`, the largest first.
///
/// # Safety
/// There are as many words at `words`, and as many places for the back behind them.
#[inline(always)]
unsafe fn backward<W: Word>(words: *mut W, mut front: usize, back: &[W]) {
    let (mut left, mut to) = (back.len(), front + back.len());
    // SAFETY: as in `forward`, from the other end.
    unsafe {
        while front > 0 && left > 0 {
            let (a, b) = (words.add(front - 1).cast_const(), back.as_ptr().add(left - 1));
            let first = (*b).key() < (*a).key();
            to -= 1;
            words.add(to).write(if first { a } else { b }.read());
            front -= usize::from(first);
            left -= usize::from(!first);
        }
        words.copy_from_nonoverlapping(back.as_ptr(), left);
    }
}

#[cfg(test)]
mod tests {
    use super::super::scratch::Scratch;
    use super::*;

    #[test]
    fn any_front_and_back() {
        let mut random = fastrand::Rng::with_seed(1);
        for n in [0, 1, 2, 9, 100] {
            for middle in 0..=n {
                let mut words: Vec<u64> = (0..n).map(|_| random.u64(..50)).collect();
                words[..middle].sort();
                words[middle..].sort();
                let mut expected = words.clone();
                expected.sort();
                merge(Level::best(), &mut words, middle, &mut Scratch::new(n / 2).unwrap());
                assert_eq!(words, expected, "{n}, {middle}");
            }
        }
    }
}
