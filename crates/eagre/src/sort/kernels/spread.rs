//! Splits a range by some key bits into another place of the same size, both in the cache: count, then move. Stable.

use std::mem::{MaybeUninit, transmute};

use super::{Level, Word};

/// The most ways to split.
pub(crate) const FAN: usize = 512;

/// A gap between neighbouring buckets, in words. Buckets of uniform keys begin at almost equal distances, often a
/// multiple of the distance at which addresses share a cache set; the gap spreads them over the sets.
pub(crate) const GAP: usize = 72;

/// Splits `words` by the `bits` key bits above `shift` into `other`, which has room for them and for `gap` words after
/// each bucket. Then `each` gets the buckets in turn: its words, and the place in `words` where they belong.
pub(crate) fn spread<W: Word>(
    level: Level,
    words: &mut [W],
    other: &mut [MaybeUninit<W>],
    shift: u32,
    bits: u32,
    gap: usize,
    mut each: impl FnMut(&mut [W], &mut [MaybeUninit<W>]),
) {
    let fan = 1usize << bits;
    assert!(fan <= FAN && words.len() + fan * gap <= other.len() && other.len() < u32::MAX as usize);
    let mut ends = [0u32; FAN];
    level.run(|| move_all(words, other, shift, gap, &mut ends[..fan]));
    let mut start = 0;
    for (bucket, &end) in ends[..fan].iter().enumerate() {
        let end = end as usize - bucket * gap;
        if start < end {
            // SAFETY: the second loop has written the bucket.
            let from = unsafe { other[start + bucket * gap..end + bucket * gap].assume_init_mut() };
            each(from, as_room(&mut words[start..end]));
        }
        start = end;
    }
}

/// Moves the words to their buckets. `ends` become the ends of the buckets in `other`.
#[inline(always)]
fn move_all<W: Word>(words: &[W], other: &mut [MaybeUninit<W>], shift: u32, gap: usize, ends: &mut [u32]) {
    let mask = ends.len() as u32 - 1;
    for &word in words {
        // SAFETY: the number of buckets is a power of two.
        *unsafe { ends.get_unchecked_mut((word.digit(shift) & mask) as usize) } += 1;
    }
    let mut start = 0;
    for (bucket, end) in ends.iter_mut().enumerate() {
        start += std::mem::replace(end, start + (bucket * gap) as u32);
    }
    for &word in words {
        // SAFETY: as above; the first loop has counted this word into its bucket, and buckets with gaps fit `other`.
        unsafe {
            let end = ends.get_unchecked_mut((word.digit(shift) & mask) as usize);
            other.get_unchecked_mut(*end as usize).write(word);
            *end += 1;
        }
    }
}

/// Words as a place for others. Who gets it writes words, or nothing: it does not leave the crate.
fn as_room<W: Word>(words: &mut [W]) -> &mut [MaybeUninit<W>] {
    // SAFETY: the same layout, and nobody here un-initialises memory.
    unsafe { transmute(words) }
}
