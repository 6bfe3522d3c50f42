//! Splits a range of any size by some key bits, in place, in two passes over memory.
//!
//! **Classify.** Every word goes to its bucket's buffer, one block long. A full buffer is written to the front of the
//! range, to a place whose words have been read already and are still in the cache. Both streams of addresses are
//! sequential, so neither the cache sets nor the translation of addresses limit the number of buckets:
//!
//! ```text
//! range    |a a|c c|b b|a a|....|?|?|?|?|?|?|      ....  read, not yet overwritten: at most the buffers' size
//!                          ▲    ▲
//!                        front  next              buffers  a:|a| b:|b b b| c:| |
//! ```
//!
//! **Permute.** The blocks of each bucket move together, each copied once, along the cycles of the permutation. A
//! bucket's blocks begin at the first multiple of the block size inside its final range.
//!
//! **Close.** The words before that multiple, and after the last whole block, come from the buffers and from the
//! words by which the last block sticks out.

use super::scratch::Scratch;
use super::{Level, Word};

/// The most ways to split.
pub(crate) const FAN: usize = 256;
/// The size of a block: larger ones permute faster, smaller ones keep the buffers in the second-level cache.
const BLOCK_BYTES: usize = 4096;

/// Words of a block.
const fn block<W>() -> usize {
    BLOCK_BYTES / size_of::<W>()
}

/// The buffers, and what is known of each block: kept from one split to the next.
pub(crate) struct Blocks<W> {
    buffers: Scratch<W>,
    /// The bucket of each block at the front.
    tags: Vec<u16>,
    /// For each place, the block that belongs there.
    sources: Vec<u32>,
}

/// After the buffers: the block that does not fit the end of the range, and the one that a cycle begins with.
const CUT: usize = FAN;
const ASIDE: usize = FAN + 1;
const NONE: u32 = u32::MAX;

impl<W: Word> Blocks<W> {
    /// For ranges of up to `len` words. None if there is no memory.
    pub(crate) fn new(len: usize) -> Option<Blocks<W>> {
        let most = len / block::<W>() + 1;
        let (mut tags, mut sources) = (Vec::new(), Vec::new());
        tags.try_reserve_exact(most).ok()?;
        sources.try_reserve_exact(most).ok()?;
        tags.resize(most, 0);
        sources.resize(most, NONE);
        Some(Blocks { buffers: Scratch::new((FAN + 2) * block::<W>())?, tags, sources })
    }

    /// Splits `words` by the `bits` key bits above `shift`. Bucket `b` becomes `words[starts[b]..starts[b + 1]]`.
    /// Words are first given to `map`, a few at a time, in place.
    pub(crate) fn split(
        &mut self,
        level: Level,
        words: &mut [W],
        shift: u32,
        bits: u32,
        map: Option<fn(&mut [W])>,
        starts: &mut [usize; FAN + 1],
    ) {
        let fan = 1usize << bits;
        assert!(fan <= FAN && words.len() / block::<W>() < self.tags.len() && shift < W::KEY_BITS);
        let mut left = [0u32; FAN];
        let front = level.run(|| self.classify(words, shift, fan, map, &mut left));
        let mut counts = [0u32; FAN];
        for &tag in &self.tags[..front] {
            counts[tag as usize] += 1;
        }
        let mut start = 0;
        for bucket in 0..fan {
            starts[bucket] = start;
            start += counts[bucket] as usize * block::<W>() + left[bucket] as usize;
        }
        starts[fan] = start;
        debug_assert_eq!(start, words.len());
        self.permute(words, front, starts, &counts[..fan]);
        self.close(words, starts, &counts[..fan], &left);
    }

    /// Returns how many blocks are at the front; `left` become the words in each buffer.
    #[inline(always)]
    fn classify(
        &mut self,
        words: &mut [W],
        shift: u32,
        fan: usize,
        map: Option<fn(&mut [W])>,
        left: &mut [u32; FAN],
    ) -> usize {
        let block = const { block::<W>() };
        let mask = fan as u32 - 1;
        let mut next = [0u32; FAN];
        for (bucket, next) in next.iter_mut().enumerate() {
            *next = (bucket * block) as u32;
        }
        let mut front = 0;
        let (n, range) = (words.len(), words.as_mut_ptr());
        let buffers = self.buffers.as_mut_ptr().cast::<W>();
        let mut done = 0;
        while done < n {
            let some = (n - done).min(block);
            if let Some(map) = map {
                map(&mut words[done..done + some]);
            }
            // SAFETY: `next[bucket]` stays within the bucket's buffer: it starts over when the buffer is full. A
            // full buffer's words have all been read from the range, so that `front` blocks end before `i`; words
            // not yet read are never overwritten. Each block at the front has its tag.
            unsafe {
                for i in done..done + some {
                    let word = *range.add(i);
                    let bucket = (word.digit(shift) & mask) as usize;
                    let at = next[bucket % FAN] as usize;
                    *buffers.add(at) = word;
                    if (at + 1).is_multiple_of(block) {
                        let full = buffers.add(at + 1 - block);
                        std::ptr::copy_nonoverlapping(full, range.add(front * block), block);
                        *self.tags.get_unchecked_mut(front) = bucket as u16;
                        front += 1;
                        next[bucket % FAN] = (bucket * block) as u32;
                    } else {
                        next[bucket % FAN] = at as u32 + 1;
                    }
                }
            }
            done += some;
        }
        for bucket in 0..fan {
            left[bucket] = next[bucket] - (bucket * block) as u32;
        }
        front
    }

    /// Brings the blocks of each bucket together.
    fn permute(&mut self, words: &mut [W], front: usize, starts: &[usize; FAN + 1], counts: &[u32]) {
        let block = const { block::<W>() };
        let places = words.len().div_ceil(block);
        // The next free place of each bucket.
        let mut place = [0usize; FAN];
        for bucket in 0..counts.len() {
            place[bucket] = starts[bucket].div_ceil(block);
        }
        let sources = &mut self.sources[..places];
        sources.fill(NONE);
        for (source, &tag) in self.tags[..front].iter().enumerate() {
            sources[place[tag as usize]] = source as u32;
            place[tag as usize] += 1;
        }
        let (cut, aside) = (CUT * block..(CUT + 1) * block, ASIDE * block..(ASIDE + 1) * block);
        // Paths first: they begin at a place where no block lies, and end at one that no block goes to.
        for first in front..places {
            let mut hole = first;
            while sources[hole] != NONE {
                let source = std::mem::replace(&mut sources[hole], NONE) as usize;
                if (hole + 1) * block > words.len() {
                    // The range ends before this block does.
                    self.buffers[cut.clone()].write_copy_of_slice(&words[source * block..][..block]);
                } else {
                    prefetch_block(words, sources[source]);
                    words.copy_within(source * block..(source + 1) * block, hole * block);
                }
                hole = source;
            }
        }
        // The rest are cycles. One block of each steps aside.
        for first in 0..front {
            if sources[first] == NONE || sources[first] as usize == first {
                continue;
            }
            self.buffers[aside.clone()].write_copy_of_slice(&words[first * block..][..block]);
            let mut hole = first;
            loop {
                let source = std::mem::replace(&mut sources[hole], NONE) as usize;
                if source == first {
                    // SAFETY: written above.
                    let block_aside = unsafe { self.buffers[aside.clone()].assume_init_ref() };
                    words[hole * block..][..block].copy_from_slice(block_aside);
                    break;
                }
                prefetch_block(words, sources[source]);
                words.copy_within(source * block..(source + 1) * block, hole * block);
                hole = source;
            }
        }
    }

    /// Fills what is left of each bucket's range before and after its blocks.
    fn close(&mut self, words: &mut [W], starts: &[usize; FAN + 1], counts: &[u32], left: &[u32; FAN]) {
        let block = const { block::<W>() };
        let (buffers, cut) = self.buffers.split_at(CUT * block);
        for (bucket, &count) in counts.iter().enumerate() {
            let (start, end) = (starts[bucket], starts[bucket + 1]);
            // SAFETY: so many are in the buffer.
            let rest = unsafe { buffers[bucket * block..][..left[bucket] as usize].assume_init_ref() };
            if count == 0 {
                words[start..end].copy_from_slice(rest);
                continue;
            }
            let first = start.next_multiple_of(block);
            let last = first + count as usize * block;
            let mut at = start;
            if last > end {
                // What sticks out lies where later buckets, not filled yet, will begin, or beyond the range.
                let within = last.min(words.len());
                if last > within {
                    // SAFETY: only the block that the end of the range cuts reaches beyond it, and it was kept.
                    let cut = unsafe { cut[..block].assume_init_ref() };
                    let (inside, beyond) = cut.split_at(block - (last - within));
                    words[within - inside.len()..within].copy_from_slice(inside);
                    words[at..at + beyond.len()].copy_from_slice(beyond);
                    at += beyond.len();
                }
                words.copy_within(end..within, at);
                at += within - end;
            }
            let (before, after) = rest.split_at(first - at);
            words[at..first].copy_from_slice(before);
            if last < end {
                words[last..end].copy_from_slice(after);
            }
        }
    }
}

/// Asks for the block that moves next.
fn prefetch_block<W>(words: &[W], source: u32) {
    if source != NONE {
        let at = words.as_ptr().wrapping_add(source as usize * block::<W>()).cast::<u8>();
        for line in (0..BLOCK_BYTES).step_by(64) {
            super::prefetch(at.wrapping_add(line));
        }
    }
}
