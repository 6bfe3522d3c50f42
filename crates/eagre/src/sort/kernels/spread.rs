//! Splits a range into another place of the same size, both in the cache: count, then move. Stable.

use std::mem::MaybeUninit;

use super::classifier::{Classifier, as_room};
use super::{Level, Word};

/// The most ways to split.
pub(crate) const FAN: usize = 512;

/// A gap between neighbouring buckets, in words. Buckets of uniform keys begin at almost equal distances, often a
/// multiple of the distance at which addresses share a cache set; the gap spreads them over the sets.
pub(crate) const GAP: usize = 72;

/// Splits `words` into `other`, which has room for them and for `gap` words after each bucket. Then `each` gets the
/// buckets in the order of their keys: the rank, the words, and the place in `words` where they belong.
pub(crate) fn spread<W: Word, C: Classifier<W>>(
    level: Level,
    words: &mut [W],
    other: &mut [MaybeUninit<W>],
    classifier: &C,
    gap: usize,
    mut each: impl FnMut(usize, &mut [W], &mut [MaybeUninit<W>]),
) {
    let fan = classifier.fan();
    assert!(fan <= FAN && words.len() + fan * gap <= other.len() && other.len() < u32::MAX as usize);
    let mut ends = [0u32; FAN];
    level.run(|| move_all(words, other, classifier, gap, &mut ends));
    let mut start = 0;
    for rank in 0..fan {
        let end = ends[classifier.bucket(rank)] as usize - rank * gap;
        if start < end {
            // SAFETY: the second loop has written the bucket.
            let from = unsafe { other[start + rank * gap..end + rank * gap].assume_init_mut() };
            each(rank, from, as_room(&mut words[start..end]));
        }
        start = end;
    }
}

/// Moves the words to their buckets. `ends` become the ends of the buckets in `other`.
#[inline(always)]
fn move_all<W: Word, C: Classifier<W>>(
    words: &[W],
    other: &mut [MaybeUninit<W>],
    classifier: &C,
    gap: usize,
    ends: &mut [u32; FAN],
) {
    let (at, n) = (words.as_ptr(), words.len());
    // SAFETY: n words are there; a bucket is below the fan-out, which is at most `FAN`.
    unsafe { classifier.each(at, n, |_, bucket| *ends.get_unchecked_mut(bucket) += 1) };
    let mut start = 0;
    for rank in 0..classifier.fan() {
        let end = &mut ends[classifier.bucket(rank)];
        start += std::mem::replace(end, start + (rank * gap) as u32);
    }
    let put = |word, bucket| {
        // SAFETY: as above; the first loop has counted this word into its bucket, and buckets with gaps fit `other`.
        unsafe {
            let end = ends.get_unchecked_mut(bucket);
            other.get_unchecked_mut(*end as usize).write(word);
            *end += 1;
        }
    };
    // SAFETY: as above.
    unsafe { classifier.each(at, n, put) };
}
