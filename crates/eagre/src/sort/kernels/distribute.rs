//! Splits a range by way of another place, both in the cache: *distribution* and *collection*. Stable.
//!
//! Words are dealt to [`buffers`](super::buffers) of a few cache lines, which go to the other place as they become
//! full. A bucket's blocks are then collected, in the order in which they were filled, at the place where the bucket
//! belongs:
//!
//! ```text
//! words  c a b c a a ..    other  |a a|c c|a a|b b|..    buffers  a:|a  | b:|   | c:|c  |    words  a a a a a b b ..
//! ```
//!
//! Nothing is counted first, and addresses are in sequence but for the buffers'.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::buffers::deal;
use super::classifier::Classifier;
use super::{Level, Word, copy_block, prefetch, words_in};

/// The most ways to split.
pub(crate) const FAN: usize = 512;
/// The size of a block: four cache lines. Larger ones leave too little of the cache for what else there is.
const BLOCK_BYTES: usize = 256;
/// So many blocks are asked for ahead.
const AHEAD: usize = 8;

/// How much of `other` it takes to split `n` words: for buffers, blocks, and what is known of each.
pub(crate) fn room<W>(n: usize) -> usize {
    let block = const { words_in::<W>(BLOCK_BYTES) };
    let notes = n / block * (size_of::<u16>() + size_of::<u32>()) + size_of::<u32>();
    FAN * block + n + notes.div_ceil(size_of::<W>()) + 1
}

/// How many words can be split, at least, by way of so much.
pub(crate) fn most<W>(other: usize) -> usize {
    let free = other.saturating_sub(room::<W>(0));
    // Notes take six bytes for a block of 128, or more.
    free - free.div_ceil(16)
}

/// Splits `words` by way of `other`, which has [`room`]. `each` gets the buckets that have words in the order of their
/// keys, at the places where they belong, as soon as they are there: its rank, and the words. `ends` become the ends of
/// the buckets.
pub(crate) fn distribute<W: Word, C: Classifier<W>>(
    level: Level,
    words: &mut [W],
    other: &mut [MaybeUninit<W>],
    classifier: &C,
    ends: &mut [u32; FAN],
    mut each: impl FnMut(usize, &mut [W]),
) {
    let block = const { words_in::<W>(BLOCK_BYTES) };
    let (fan, n) = (classifier.fan(), words.len());
    assert!(fan <= FAN && n < u32::MAX as usize && other.len() >= room::<W>(n));
    let (buffers, rest) = other.split_at_mut(fan * block);
    let (blocks, notes) = rest.split_at_mut(n / block * block);
    // SAFETY: any bytes are numbers, and none is read that was not written.
    let (order, tags) = unsafe { notes.align_to_mut::<MaybeUninit<u32>>().1 }.split_at_mut(n / block);
    // SAFETY: as above.
    let tags = &mut unsafe { tags.align_to_mut::<MaybeUninit<u16>>().1 }[..n / block];
    order.fill(MaybeUninit::new(0));
    tags.fill(MaybeUninit::new(0));
    // SAFETY: written above.
    let (order, tags) = unsafe { (order.assume_init_mut(), tags.assume_init_mut()) };
    let mut left = [0u32; FAN];
    let (buffers, blocks) = (buffers.as_mut_ptr().cast::<W>(), blocks.as_mut_ptr().cast::<W>());
    // SAFETY: all of it belongs to us: `n` words, as many whole blocks, a buffer for each bucket.
    let dealt = level.run(
        #[inline(always)]
        || unsafe { deal(words.as_ptr(), n, blocks, buffers, block, tags, &mut left, classifier, |_| true) },
    );
    let order = in_order(&tags[..dealt.blocks], order, ends, fan);
    let (mut start, mut first) = (0, 0);
    for rank in 0..fan {
        let mine = first..ends[rank] as usize;
        first = mine.end;
        let end = start + mine.len() * block + left[rank] as usize;
        ends[rank] = end as u32;
        if start == end {
            continue;
        }
        let bucket = &mut words[start..end];
        // SAFETY: those blocks have been written, and so many words of the bucket's buffer.
        level.run(
            #[inline(always)]
            || unsafe {
                let buffer = buffers.add(classifier.bucket(rank) * block);
                collect(bucket, blocks, order, mine, buffer, left[rank] as usize);
            },
        );
        each(rank, bucket);
        start = end;
    }
    debug_assert_eq!(start, n);
}

/// The blocks' numbers by rank; `ends` become the ends of each rank's.
fn in_order<'a>(tags: &[u16], order: &'a mut [u32], ends: &mut [u32; FAN], fan: usize) -> &'a [u32] {
    ends[..fan].fill(0);
    for &tag in tags {
        ends[tag as usize] += 1;
    }
    let mut start = 0;
    for end in &mut ends[..fan] {
        start += std::mem::replace(end, start);
    }
    for (number, &tag) in tags.iter().enumerate() {
        let end = &mut ends[tag as usize];
        order[*end as usize] = number as u32;
        *end += 1;
    }
    &order[..tags.len()]
}

/// Brings a bucket's blocks, and what is left in its buffer, to `bucket`.
///
/// # Safety
/// The blocks that `mine` of the order's numbers name can be read, and `left` words of the buffer; together they are as
/// many as the bucket has.
#[inline(always)]
unsafe fn collect<W: Word>(
    bucket: &mut [W],
    blocks: *const W,
    order: &[u32],
    mine: Range<usize>,
    buffer: *const W,
    left: usize,
) {
    let block = const { words_in::<W>(BLOCK_BYTES) };
    debug_assert_eq!(bucket.len(), mine.len() * block + left);
    let mut to = bucket.as_mut_ptr();
    for i in mine {
        if let Some(&later) = order.get(i + AHEAD) {
            let later = blocks.wrapping_add(later as usize * block).cast::<u8>();
            (0..BLOCK_BYTES).step_by(64).for_each(|line| prefetch(later.wrapping_add(line)));
        }
        // SAFETY: the caller's promise.
        unsafe {
            copy_block(blocks.add(order[i] as usize * block), to, block);
            to = to.add(block);
        }
    }
    // SAFETY: as above.
    unsafe { std::ptr::copy_nonoverlapping(buffer, to, left) };
}

#[cfg(test)]
mod tests {
    use super::super::classifier::Radix;
    use super::super::first::by_first;
    use super::*;
    use crate::sort::bounds::Bounds;

    /// Splits pairs by their first part.
    fn check<W: Word>(words: &mut [W], radix: &Radix) {
        let n = words.len();
        // No more room than is asked for.
        let mut other = Vec::with_capacity(room::<W>(n));
        let other = &mut other.spare_capacity_mut()[..room::<W>(n)];
        let mut ends = [0; FAN];
        let mut seen = 0;
        distribute(Level::best(), words, other, radix, &mut ends, |rank, bucket| {
            seen += bucket.len();
            assert!(bucket.iter().all(|word| radix.rank_of(word.key()) == rank));
        });
        let last = ends[Classifier::<W>::fan(radix) - 1] as usize;
        assert_eq!((seen, last), (n, n));
    }

    #[test]
    fn what_can_be_split_has_room() {
        for other in [0, 1000, 20_000, 1 << 20] {
            let most = most::<u64>(other);
            assert!(most == 0 || room::<u64>(most) <= other);
            assert!(super::most::<[u8; 40]>(other) == 0 || room::<[u8; 40]>(super::most::<[u8; 40]>(other)) <= other);
        }
    }

    /// Pairs with this in their second part.
    fn check_with<V: Copy + Default + PartialEq + Send + Sync + 'static>(payload: fn(usize) -> V) {
        let most = if cfg!(miri) { 40 } else { usize::MAX };
        for n in [1, 31, 32, 33, 500, 4096, 40_007].into_iter().filter(|&n| n <= most) {
            for bits in [1, 4, 9] {
                // Digits begin anywhere in their circle.
                for low in [0, 77 << 56] {
                    let number = |i: usize| ((i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).max(low);
                    let mut pairs: Vec<(u64, V)> = (0..n).map(|i| (number(i), payload(i))).collect();
                    let radix = Radix::new(Bounds { low: low.into(), high: u64::MAX.into() }, bits);
                    let mut expected = pairs.clone();
                    expected.sort_by_key(|pair| radix.rank_of(pair.0.into()));
                    check(by_first(&mut pairs).unwrap(), &radix);
                    assert!(pairs == expected, "{n} words, {bits} bits from {low}");
                }
            }
        }
    }

    /// Each bucket has its words, in the order they were in, when its turn comes and at the end; also words whose size
    /// is no power of two.
    #[test]
    fn buckets_are_where_they_belong_and_in_order() {
        check_with(|i| i);
        // Padding, and what is no number.
        check_with(|i| i as u32);
        check_with(|i| ["a", "word"][i % 2]);
        check_with(|i| [i; 2]);
        check_with(|i| [i; 4]);
        check_with(|i| [i; 7]);
    }
}
