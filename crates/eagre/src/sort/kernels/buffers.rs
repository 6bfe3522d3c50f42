//! Words to buckets without counting them first: each goes to its bucket's buffer, and a full buffer goes, as a
//! *block*, to the next place in memory. Whatever the number of buckets, memory is read and written in sequence; what
//! is written in many places, the buffers, stays in the second-level cache.

use super::classifier::Classifier;
use super::{Word, copy_block};

/// What became of the words.
pub(super) struct Dealt {
    /// So many blocks were written.
    pub(super) blocks: usize,
    /// All words have been read.
    pub(super) complete: bool,
}

/// After so many words a thread reports its progress.
pub(super) const PIECE: usize = 1 << 17;

/// Sorts the `n` words at `words` into `buffers`, one for each bucket, of `block` words each, and full buffers to the
/// places at `to`, one after the other. `tags` become the blocks' ranks, and `left` the words of each rank that are in
/// its buffer. It ends early, but with each word in one place only, if `beat` says so.
///
/// # Safety
/// `n` words may be read at `words`, and as many whole blocks as they make may be written at `to`, which is another
/// place or begins at the same address. `buffers` has a buffer for each bucket, and is apart from both.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "one loop for two kernels, which own different memory")]
pub(super) unsafe fn deal<const FAN: usize, W: Word, C: Classifier<W>>(
    words: *const W,
    n: usize,
    to: *mut W,
    buffers: *mut W,
    block: usize,
    tags: &mut [u16],
    left: &mut [u32; FAN],
    classifier: &C,
    mut beat: impl FnMut(usize) -> bool,
) -> Dealt {
    assert!(classifier.fan() <= FAN && tags.len() >= n / block && block.is_power_of_two());
    let mut next: [u32; FAN] = std::array::from_fn(|bucket| (bucket * block) as u32);
    let mut blocks = 0;
    let mut put = |word, bucket: usize| {
        // SAFETY: a bucket is below the fan-out. `next[bucket]` stays within the bucket's buffer: it starts over when
        // the buffer is full. A full buffer's words have all been read, so that as many blocks end before those still
        // to be read, if that is where they go. Each block has its tag.
        unsafe {
            let next = next.get_unchecked_mut(bucket);
            let at = *next as usize;
            *buffers.add(at) = word;
            *next += 1;
            if (at + 1) & (block - 1) == 0 {
                *next -= block as u32;
                copy_block(buffers.add(*next as usize), to.add(blocks * block), block);
                *tags.get_unchecked_mut(blocks) = classifier.rank(bucket) as u16;
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
        if !beat(piece) {
            break;
        }
    }
    for (rank, left) in left.iter_mut().enumerate().take(classifier.fan()) {
        let bucket = classifier.bucket(rank);
        *left = next[bucket] - (bucket * block) as u32;
    }
    Dealt { blocks, complete: read == n }
}
