//! Classifies words without counting them first. Each word goes to its bucket's buffer, and a full buffer goes, as a
//! *block*, to the next place at the front of the range. Memory is read and written sequentially, whatever the number
//! of buckets. The buffers, which are written at random, stay in the cache. The line behind a word in its buffer is
//! prefetched, long before the next word of that bucket needs it.

use crate::sort::kernels::uninit::cold;
use std::mem::MaybeUninit;

use super::super::classifier::Classifier;
use super::super::{Word, copy_block, prefetch};
use super::{FAN, stagger};

/// After so many words a thread reports progress.
pub(super) const PIECE: usize = 1 << 17;

/// Distributes `words` to `buffers`, one for each bucket: `block` words, and [`stagger`] more between two buffers. Full
/// buffers go to the front of `words`, one after the other. Writes the rank of each block to `ranks`, and the number of
/// words left in the buffer of each rank to `left`. Ends early if `report` says so, with each word in one place only.
/// Returns how many blocks are at the front, and whether all words have been read.
#[inline(always)]
pub(super) fn classify<W: Word, C: Classifier<W>>(
    words: &mut [W],
    block: usize,
    buffers: &mut [MaybeUninit<W>],
    ranks: &mut [u16],
    left: &mut [u32; FAN],
    classifier: &C,
    mut report: impl FnMut(usize) -> bool,
) -> (usize, bool) {
    let (n, fan) = (words.len(), classifier.fan());
    assert!(fan <= FAN && ranks.len() >= n / block && block.is_power_of_two());
    let stagger = const { stagger::<W>() };
    assert!(buffers.len() >= fan * (block + stagger) && buffers.len() <= u32::MAX as usize);
    let (words, buffers) = (words.as_mut_ptr(), buffers.as_mut_ptr().cast::<W>());
    // Where the next word of each bucket goes, if buffers are thought to be adjacent: a multiple of the block when a
    // buffer is full.
    let mut next: [u32; FAN] = std::array::from_fn(|bucket| (bucket * block) as u32);
    let mut blocks = 0;
    let mut put = |word, bucket: usize| {
        // SAFETY: a bucket is below the fan-out. `next[bucket]` stays within the bucket's buffer: it starts over when
        // the buffer is full. A full buffer's words have all been read, so that as many blocks end before those still
        // to be read, which is where they go. Each block has its rank.
        unsafe {
            let next = next.get_unchecked_mut(bucket);
            let at = *next as usize;
            let place = buffers.add(at + bucket * stagger);
            *place = word;
            prefetch(place.wrapping_add(1).cast());
            *next += 1;
            if (at + 1) & (block - 1) == 0 {
                cold();
                *next -= block as u32;
                copy_block(buffers.add(bucket * (block + stagger)), words.add(blocks * block), block);
                *ranks.get_unchecked_mut(blocks) = classifier.rank(bucket) as u16;
                blocks += 1;
            }
        }
    };
    let mut read = 0;
    while read < n {
        let piece = PIECE.min(n - read);
        // SAFETY: so many words are there, and only those that `put` has seen are overwritten.
        unsafe { classifier.each(words.add(read), piece, &mut put) };
        read += piece;
        if !report(piece) {
            break;
        }
    }
    for (rank, left) in left.iter_mut().enumerate().take(fan) {
        let bucket = classifier.bucket(rank);
        *left = next[bucket] - (bucket * block) as u32;
    }
    (blocks, read == n)
}
