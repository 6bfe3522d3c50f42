//! Splits a range in place, in two passes, by any number of threads.
//!
//! **[Classify](mod@classify).** Every word goes to its bucket's buffer, which is one block long. A full buffer is
//! written to the front of the range, to a place whose words have been read already and are still in the cache. Reads
//! and writes are sequential, so neither cache sets nor the TLB limit the number of buckets:
//!
//! ```text
//! range    |a a|c c|b b|a a|....|?|?|?|?|?|?|      ....  read, not yet overwritten: at most the buffers' size
//!                          ▲    ▲
//!                        front  next              buffers  a:|a| b:|b b b| c:| |
//! ```
//!
//! **[Permute](mod@permute).** The blocks of each bucket move together, each copied once, along the cycles of the
//! permutation. A bucket's blocks begin at the first multiple of the block size inside its final range.
//!
//! Several threads classify a stripe each. The blocks of all stripes are permuted together.
//!
//! **[Clean up](mod@cleanup).** The words before that multiple, and after the last whole block, come from the buffers
//! and from the part of the last block that sticks out. Where words with equal keys keep their order, the blocks of
//! each stripe move instead, by less than the size of the buffers, so that the words left in its buffers fit behind
//! them.

mod classify;
mod cleanup;
mod permute;
#[cfg(test)]
mod tests;

use crate::sort::kernels::uninit::UninitSlice;
use std::ops::Range;

use eagre_mem::heap;

use super::classifier::Classifier;
use super::scratch::{Scratch, several};
use super::{Level, Word, words_in};
use crate::sort::progress::Reporter;
use crate::sort::team;

/// The most ways to split.
pub(crate) const FAN: usize = 512;
/// Every range may be split so many ways.
pub(crate) const LEAST: usize = FAN / 2;

/// The most ways, and the words of a block. Larger blocks permute faster, smaller blocks allow for more of them in the
/// buffers.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    fan: usize,
    block: usize,
}

impl Shape {
    /// For ranges larger than the cache. All buffers take a MiB, which stays in the second-level cache. Blocks are as
    /// large as that allows, since each begins with a cache miss.
    pub(crate) fn in_memory<W>() -> Shape {
        const BUFFERS: usize = 1 << 20;
        Shape { fan: FAN, block: words_in::<W>(BUFFERS / FAN) }
    }

    /// For ranges of up to `len` words that fit the cache, to be split into buckets of `piece` words.
    pub(crate) fn in_cache<W>(len: usize, piece: usize) -> Shape {
        const BLOCK: usize = 512;
        Shape { fan: len.div_ceil(piece).next_power_of_two().clamp(LEAST, FAN), block: words_in::<W>(BLOCK) }
    }

    /// The distance from one buffer to the next, in words.
    fn pitch<W>(self) -> usize {
        self.block + stagger::<W>()
    }

    /// The words of all buffers of a thread. See [`Blocks::cut`] and [`Blocks::spare`].
    fn buffers<W>(self) -> usize {
        self.fan * self.pitch::<W>() + 2 * self.block
    }
}

/// The buffers, and a description of each block. Both are kept from one split to the next.
pub(crate) struct Blocks<W> {
    shape: Shape,
    /// One for each thread.
    buffers: Vec<Scratch<W>>,
    /// The rank of each block at the front of a stripe.
    ranks: Vec<u16>,
    /// For each place, the block that goes there.
    sources: Vec<u32>,
    /// One for each thread of the current split.
    stripes: Vec<Stripe>,
}

/// The words between two buffers: about a cache line. Buffers fill at nearly the same rate. Without the gap, the lines
/// in use would share a few sets of the cache.
const fn stagger<W>() -> usize {
    if size_of::<W>() < 64 { 64 / size_of::<W>() } else { 1 }
}

/// No block.
const NONE: u32 = u32::MAX;

/// One thread's part of the range, classified.
struct Stripe {
    /// Its first block.
    start: usize,
    /// How many blocks are at its front, and how many could be.
    front: usize,
    places: usize,
    /// How many words of each rank are left in the buffers.
    left: [u32; FAN],
    /// How many blocks each rank has. Only used where words keep their order.
    full: [u32; FAN],
    /// How the blocks of one bucket move. Only used where words keep their order.
    shift: Shift,
    /// The bucket of rank 0, and how many buckets there are.
    first: usize,
    fan: usize,
    /// The distance from one buffer to the next, in words.
    pitch: usize,
    /// All words have been read.
    complete: bool,
}

/// A move of so many words.
#[derive(Clone, Copy)]
struct Shift {
    from: usize,
    to: usize,
    len: usize,
}

impl Stripe {
    /// A stripe before the first split.
    const NONE: Stripe = Stripe {
        start: 0,
        front: 0,
        places: 0,
        left: [0; FAN],
        full: [0; FAN],
        shift: Shift { from: 0, to: 0, len: 0 },
        first: 0,
        fan: 0,
        pitch: 0,
        complete: false,
    };

    /// The words of a bucket that are left in the buffers.
    fn rest<'a, W>(&self, buffers: &'a Scratch<W>, rank: usize) -> &'a [W] {
        let bucket = (self.first + rank) & (self.fan - 1);
        // SAFETY: so many are in the buffer.
        unsafe { buffers[bucket * self.pitch..][..self.left[rank] as usize].written() }
    }
}

impl<W: Word> Blocks<W> {
    /// For ranges of up to `len` words, and so many threads. Returns `None` if there is no memory.
    pub(crate) fn new(shape: Shape, len: usize, threads: usize) -> Option<Blocks<W>> {
        let most = len.div_ceil(shape.block);
        let (mut ranks, mut sources) = (heap::list(most).ok()?, heap::list(most).ok()?);
        ranks.resize(most, 0);
        sources.resize(most, NONE);
        let buffers = several(threads, || Scratch::new(shape.buffers::<W>()))?;
        let stripes = several(threads, || Some(Stripe::NONE))?;
        Some(Blocks { shape, buffers, ranks, sources, stripes })
    }

    /// How many bytes [`Blocks::new`] takes.
    pub(crate) fn bytes(shape: Shape, len: usize, threads: usize) -> usize {
        let of_blocks = len.div_ceil(shape.block) * (size_of::<u16>() + size_of::<u32>());
        let of_thread = shape.buffers::<W>() * size_of::<W>() + size_of::<Stripe>();
        threads.saturating_mul(of_thread).saturating_add(of_blocks)
    }

    /// Whether it can split so many words.
    pub(crate) fn takes(&self, len: usize) -> bool {
        len.div_ceil(self.shape.block) <= self.ranks.len()
    }

    /// The place for the block that sticks out beyond the end of the range, behind the buffers.
    fn cut(&self) -> Range<usize> {
        let start = self.shape.fan * self.shape.pitch::<W>();
        start..start + self.shape.block
    }

    /// The place for the first block of a cycle.
    fn spare(&self) -> Range<usize> {
        let start = self.cut().end;
        start..start + self.shape.block
    }

    /// Splits `words`, at least one. The bucket of rank `r` becomes `words[starts[r]..starts[r + 1]]`. Returns false if
    /// the hook ended the sort.
    pub(crate) fn split<C: Classifier<W>>(
        &mut self,
        level: Level,
        words: &mut [W],
        classifier: &C,
        starts: &mut [usize; FAN + 1],
        progress: Reporter<'_>,
    ) -> bool {
        // Moved out, so that it can be borrowed beside the rest.
        let mut all = std::mem::take(&mut self.stripes);
        let complete = self.split_in(&mut all, level, words, classifier, starts, progress);
        self.stripes = all;
        complete
    }

    fn split_in<C: Classifier<W>>(
        &mut self,
        stripes: &mut [Stripe],
        level: Level,
        words: &mut [W],
        classifier: &C,
        starts: &mut [usize; FAN + 1],
        progress: Reporter<'_>,
    ) -> bool {
        let fan = classifier.fan();
        let places = words.len().div_ceil(self.shape.block);
        assert!(fan <= self.shape.fan && places <= self.ranks.len() && places < NONE as usize);
        let stripes = self.classify(stripes, level, words, classifier, progress);
        if stripes.iter().any(|stripe| !stripe.complete) {
            self.give_back(words, stripes);
            return false;
        }
        let mut counts = [0u32; FAN];
        for stripe in &*stripes {
            for &rank in &self.ranks[stripe.start..][..stripe.front] {
                counts[rank as usize] += 1;
            }
        }
        let mut start = 0;
        for rank in 0..fan {
            starts[rank] = start;
            let left: usize = stripes.iter().map(|stripe| stripe.left[rank] as usize).sum();
            start += counts[rank] as usize * self.shape.block + left;
        }
        starts[fan] = start;
        debug_assert_eq!(start, words.len());
        self.find_sources(stripes, places, &starts[..fan]);
        self.permute(words, stripes, progress);
        if W::STABLE {
            self.clean_up_in_order(words, &starts[..=fan], stripes);
        } else {
            self.clean_up(words, &starts[..=fan], &counts, stripes);
        }
        true
    }

    /// Classifies a stripe on each thread. Returns the stripes in use.
    fn classify<'s, C: Classifier<W>>(
        &mut self,
        stripes: &'s mut [Stripe],
        level: Level,
        words: &mut [W],
        classifier: &C,
        progress: Reporter<'_>,
    ) -> &'s mut [Stripe] {
        let (block, pitch) = (self.shape.block, self.shape.pitch::<W>());
        let places = words.len().div_ceil(block).div_ceil(self.buffers.len());
        let stripes = &mut stripes[..words.len().div_ceil(places * block)];
        let parts = words.chunks_mut(places * block).zip(self.ranks.chunks_mut(places)).zip(&mut self.buffers);
        let jobs = parts.zip(&mut *stripes).enumerate().map(|(i, (((words, ranks), buffers), stripe))| {
            move || {
                stripe.left = [0; FAN];
                let left = &mut stripe.left;
                (stripe.front, stripe.complete) = level.run(
                    #[inline(always)]
                    || classify::classify(words, block, buffers, ranks, left, classifier, |n| progress.report(n)),
                );
                stripe.start = i * places;
                stripe.places = words.len().div_ceil(block);
                stripe.first = classifier.first();
                stripe.fan = classifier.fan();
                stripe.pitch = pitch;
            }
        });
        team::run(jobs);
        stripes
    }

    /// Moves words from the buffers back to the range. There is room between the blocks at the front and the words not
    /// read.
    fn give_back(&self, words: &mut [W], stripes: &[Stripe]) {
        for (stripe, buffers) in stripes.iter().zip(&self.buffers) {
            let mut at = (stripe.start + stripe.front) * self.shape.block;
            for rank in 0..stripe.fan {
                let rest = stripe.rest(buffers, rank);
                words[at..at + rest.len()].copy_from_slice(rest);
                at += rest.len();
            }
        }
    }
}
