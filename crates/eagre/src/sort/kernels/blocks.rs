//! Splits a range of any size in place, in two passes over memory.
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
//! With several threads each classifies a stripe of its own; the blocks of all are permuted together.
//!
//! **Close.** The words before that multiple, and after the last whole block, come from the buffers and from the
//! words by which the last block sticks out. Where words with equal keys have an order to keep, the blocks of each
//! stripe move instead, by less than the buffers' size, so that the words left in its buffers fit behind them.

use super::scratch::Scratch;
use crate::sort::progress::Pulse;
use crate::sort::team;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::buffers::{PIECE, deal};
use super::classifier::Classifier;
use super::{Level, Word, words_in};

/// The most ways to split, if the range is that large.
pub(crate) const FAN: usize = 1024;
/// The ways to split that any range may get.
const LEAST: usize = 256;
/// More ways are there for ranges that would come in pieces larger than this.
const PIECE_BYTES: usize = 8 << 20;
/// The buffers of all buckets, which stay in the second-level cache.
const BUFFER_BYTES: usize = 1 << 20;

/// The buffers, and what is known of each block: kept from one split to the next.
pub(crate) struct Blocks<W> {
    /// The most ways to split.
    fan: usize,
    /// Words of a block: larger ones permute faster, smaller ones allow for more of them in the buffers.
    block: usize,
    /// One thread's each.
    buffers: Vec<Scratch<W>>,
    /// The bucket of each block at the front of a stripe.
    tags: Vec<u16>,
    /// For each place, the block that belongs there.
    sources: Vec<u32>,
}

const NONE: u32 = u32::MAX;

/// One thread's part of the range, classified.
struct Stripe {
    /// Its first block.
    start: usize,
    /// So many blocks are at its front, of so many there could be.
    front: usize,
    places: usize,
    /// So many words are left of each bucket, by rank.
    left: [u32; FAN],
    /// The number of the bucket of rank 0, and how many buckets there are.
    first: usize,
    fan: usize,
    /// Words of a block.
    block: usize,
    /// All words have been read.
    complete: bool,
}

impl Stripe {
    /// The words of a bucket that are left in the stripe's buffers.
    fn rest<'a, W>(&self, buffers: &'a Scratch<W>, rank: usize) -> &'a [W] {
        let bucket = (self.first + rank) & (self.fan - 1);
        // SAFETY: so many are in the buffer.
        unsafe { buffers[bucket * self.block..][..self.left[rank] as usize].assume_init_ref() }
    }
}

impl<W: Word> Blocks<W> {
    /// For ranges of up to `len` words, and so many threads. None if there is no memory.
    pub(crate) fn new(len: usize, threads: usize) -> Option<Blocks<W>> {
        let (fan, block) = shape::<W>(len);
        let most = len.div_ceil(block);
        let (mut tags, mut sources) = (Vec::new(), Vec::new());
        tags.try_reserve_exact(most).ok()?;
        sources.try_reserve_exact(most).ok()?;
        tags.resize(most, 0);
        sources.resize(most, NONE);
        let buffers = (0..threads).map(|_| Scratch::new((fan + 2) * block)).collect::<Option<_>>()?;
        Some(Blocks { fan, block, buffers, tags, sources })
    }

    /// How many bytes [`Blocks::new`] takes.
    pub(crate) fn bytes(len: usize, threads: usize) -> usize {
        let (fan, block) = shape::<W>(len);
        let of_blocks = len.div_ceil(block) * (size_of::<u16>() + size_of::<u32>());
        threads.saturating_mul((fan + 2) * block * size_of::<W>()).saturating_add(of_blocks)
    }

    /// The most ways to split.
    pub(crate) fn fan(&self) -> usize {
        self.fan
    }

    /// The place after the buffers for the block that does not fit the end of the range.
    fn cut(&self) -> Range<usize> {
        self.fan * self.block..(self.fan + 1) * self.block
    }

    /// The place for the block that a cycle begins with.
    fn aside(&self) -> Range<usize> {
        (self.fan + 1) * self.block..(self.fan + 2) * self.block
    }

    /// Splits `words`, at least one. The bucket of rank `r` becomes `words[starts[r]..starts[r + 1]]`. False if it was
    /// told to stop, and did.
    pub(crate) fn split<C: Classifier<W>>(
        &mut self,
        level: Level,
        words: &mut [W],
        classifier: &C,
        starts: &mut [usize],
        pulse: Pulse<'_>,
    ) -> bool {
        let fan = classifier.fan();
        let places = words.len().div_ceil(self.block);
        assert!(fan <= self.fan && fan < starts.len() && places <= self.tags.len() && places < NONE as usize);
        let stripes = self.classify_all(level, words, classifier, pulse);
        if stripes.iter().any(|stripe| !stripe.complete) {
            self.give_back(words, &stripes);
            return false;
        }
        let mut counts = [0u32; FAN];
        for stripe in &stripes {
            for &tag in &self.tags[stripe.start..][..stripe.front] {
                counts[tag as usize] += 1;
            }
        }
        let mut start = 0;
        for rank in 0..fan {
            starts[rank] = start;
            let left: usize = stripes.iter().map(|stripe| stripe.left[rank] as usize).sum();
            start += counts[rank] as usize * self.block + left;
        }
        starts[fan] = start;
        debug_assert_eq!(start, words.len());
        self.find_sources(&stripes, places, starts, &counts[..fan]);
        self.permute(words, &stripes, pulse);
        if W::STABLE {
            self.close_in_order(words, &starts[..=fan], &stripes);
        } else {
            self.close(words, starts, &counts[..fan], &stripes);
        }
        true
    }

    /// Classifies a stripe on each thread.
    fn classify_all<C: Classifier<W>>(
        &mut self,
        level: Level,
        words: &mut [W],
        classifier: &C,
        pulse: Pulse<'_>,
    ) -> Vec<Stripe> {
        let block = self.block;
        let places = words.len().div_ceil(block).div_ceil(self.buffers.len());
        let stripes = words.chunks_mut(places * block).zip(self.tags.chunks_mut(places)).zip(&mut self.buffers);
        let jobs = stripes.enumerate().map(|(i, ((words, tags), buffers))| {
            move || {
                let mut left = [0; FAN];
                let (n, range, buffers) = (words.len(), words.as_mut_ptr(), buffers.as_mut_ptr().cast::<W>());
                let dealt = level.run(
                    #[inline(always)]
                    // SAFETY: the words are read before blocks are written where they were; there is a buffer for each
                    // bucket, and so many words are whole blocks at most.
                    || unsafe { deal(range, n, range, buffers, block, tags, &mut left, classifier, |n| pulse.beat(n)) },
                );
                Stripe {
                    start: i * places,
                    front: dealt.blocks,
                    places: n.div_ceil(block),
                    left,
                    first: classifier.first(),
                    fan: classifier.fan(),
                    block,
                    complete: dealt.complete,
                }
            }
        });
        team::run(jobs)
    }

    /// Back from the buffers to the range, which has room for them between what was put there and what was not read.
    fn give_back(&self, words: &mut [W], stripes: &[Stripe]) {
        for (stripe, buffers) in stripes.iter().zip(&self.buffers) {
            let mut at = (stripe.start + stripe.front) * self.block;
            for rank in 0..stripe.fan {
                let rest = stripe.rest(buffers, rank);
                words[at..at + rest.len()].copy_from_slice(rest);
                at += rest.len();
            }
        }
    }

    /// Notes which block belongs where.
    fn find_sources(&mut self, stripes: &[Stripe], places: usize, starts: &[usize], counts: &[u32]) {
        // The next free place of each bucket.
        let mut place = [0usize; FAN];
        for rank in 0..counts.len() {
            place[rank] = starts[rank].div_ceil(self.block);
        }
        let sources = &mut self.sources[..places];
        sources.fill(NONE);
        for stripe in stripes {
            for (i, &tag) in self.tags[stripe.start..][..stripe.front].iter().enumerate() {
                let place = &mut place[tag as usize];
                sources[*place] = (stripe.start + i) as u32;
                *place += 1;
            }
        }
    }

    /// Brings the blocks of each bucket together: along paths that begin at a place where no block lies and end at
    /// one that no block goes to; there is one for almost every buffer, and they are shared among the threads. Then
    /// along the cycles that remain. It cannot stop halfway.
    fn permute(&mut self, words: &mut [W], stripes: &[Stripe], pulse: Pulse<'_>) {
        let block = self.block;
        let len = words.len();
        let (cut, aside) = (self.cut(), self.aside());
        let holes: Vec<usize> = stripes.iter().flat_map(|s| s.start + s.front..s.start + s.places).collect();
        let next = AtomicUsize::new(0);
        let sources = Shared(self.sources.as_mut_ptr());
        let range = Shared(words.as_mut_ptr());
        let kept = Shared(self.buffers[0][cut].as_mut_ptr().cast::<W>());
        let team = self.buffers.len();
        let walk = || {
            let mut moved = 0;
            while let Some(&first) = holes.get(next.fetch_add(1, Ordering::Relaxed)) {
                let (sources, range, kept) = (&sources, &range, &kept);
                let mut hole = first;
                // SAFETY: a place is on one path only, so that no two threads meet. Blocks lie within the range, but
                // for a place at its very end, which no block comes from.
                unsafe {
                    loop {
                        let source = sources.0.add(hole).replace(NONE);
                        if source == NONE {
                            break;
                        }
                        let source = source as usize;
                        if *sources.0.add(source) != NONE {
                            prefetch_words(range.0.wrapping_add(*sources.0.add(source) as usize * block), block);
                        }
                        let to = if (hole + 1) * block > len { kept.0 } else { range.0.add(hole * block) };
                        std::ptr::copy_nonoverlapping(range.0.add(source * block), to, block);
                        hole = source;
                        moved += block;
                        if moved >= PIECE {
                            let _ = pulse.beat(std::mem::take(&mut moved));
                        }
                    }
                }
            }
            let _ = pulse.beat(moved);
        };
        team::run((0..team).map(|_| walk));
        let sources = &mut self.sources;
        for first in stripes.iter().flat_map(|s| s.start..s.start + s.front) {
            if sources[first] == NONE || sources[first] as usize == first {
                continue;
            }
            self.buffers[0][aside.clone()].write_copy_of_slice(&words[first * block..][..block]);
            let mut hole = first;
            loop {
                let source = std::mem::replace(&mut sources[hole], NONE) as usize;
                if source == first {
                    // SAFETY: written above.
                    let block_aside = unsafe { self.buffers[0][aside.clone()].assume_init_ref() };
                    words[hole * block..][..block].copy_from_slice(block_aside);
                    break;
                }
                words.copy_within(source * block..(source + 1) * block, hole * block);
                hole = source;
            }
        }
    }

    /// Fills what is left of each bucket's range before and after its blocks.
    fn close(&mut self, words: &mut [W], starts: &[usize], counts: &[u32], stripes: &[Stripe]) {
        let block = self.block;
        for (rank, &count) in counts.iter().enumerate() {
            let (start, end) = (starts[rank], starts[rank + 1]);
            let first = if count == 0 { end } else { start.next_multiple_of(block) };
            let last = first + count as usize * block;
            let mut at = start;
            if last > end {
                // What sticks out lies where later buckets, not filled yet, will begin, or beyond the range.
                let within = last.min(words.len());
                if last > within {
                    // SAFETY: only the block that the end of the range cuts reaches beyond it, and it was kept.
                    let cut = unsafe { self.buffers[0][self.cut()].assume_init_ref() };
                    let (inside, beyond) = cut.split_at(block - (last - within));
                    words[within - inside.len()..within].copy_from_slice(inside);
                    words[at..at + beyond.len()].copy_from_slice(beyond);
                    at += beyond.len();
                }
                words.copy_within(end..within, at);
                at += within - end;
            }
            for (stripe, buffers) in stripes.iter().zip(&self.buffers) {
                let mut rest = stripe.rest(buffers, rank);
                while !rest.is_empty() {
                    if at == first {
                        at = last;
                    }
                    let room = if at < first { first - at } else { rest.len() };
                    let (now, later) = rest.split_at(room.min(rest.len()));
                    words[at..at + now.len()].copy_from_slice(now);
                    at += now.len();
                    rest = later;
                }
            }
        }
    }
}

impl<W: Word> Blocks<W> {
    /// [`Blocks::close`] for words that keep their order.
    fn close_in_order(&mut self, words: &mut [W], starts: &[usize], stripes: &[Stripe]) {
        let block = self.block;
        let tally = |stripe: &Stripe| {
            let mut full = [0u32; FAN];
            self.tags[stripe.start..][..stripe.front].iter().for_each(|&tag| full[tag as usize] += 1);
            full
        };
        let full: Vec<[u32; FAN]> = stripes.iter().map(tally).collect();
        let mut moves = Vec::with_capacity(stripes.len());
        for (rank, ends) in starts.windows(2).enumerate() {
            moves.clear();
            let (mut source, mut to) = (ends[0].next_multiple_of(block), ends[0]);
            for (i, (stripe, full)) in stripes.iter().zip(&full).enumerate() {
                let len = full[rank] as usize * block;
                moves.push((i, source, len, to));
                source += len;
                to += len + stripe.left[rank] as usize;
            }
            // From one stripe to the next they move further to the right. So none is overwritten before it has moved
            // if those that move to the right begin, from the last, and the others follow, from the first.
            let first_to_right = moves.partition_point(|&(_, source, _, to)| to <= source);
            let (left, right) = moves.split_at(first_to_right);
            for &(i, source, len, to) in right.iter().rev().chain(left) {
                // Only the block that the end of the range cuts is not where it belongs, but was kept. Behind it a
                // bucket without blocks may seem to begin.
                let whole = if len > 0 && source + len > words.len() { len - block } else { len };
                if whole > 0 {
                    words.copy_within(source..source + whole, to);
                }
                if whole < len {
                    // SAFETY: see above.
                    let cut = unsafe { self.buffers[0][self.cut()].assume_init_ref() };
                    words[to + whole..to + len].copy_from_slice(cut);
                }
                let rest = stripes[i].rest(&self.buffers[i], rank);
                words[to + len..][..rest.len()].copy_from_slice(rest);
            }
        }
    }
}

/// The most ways to split ranges of up to `len` words, and the words of a block.
fn shape<W>(len: usize) -> (usize, usize) {
    let pieces = len.saturating_mul(size_of::<W>()).div_ceil(PIECE_BYTES);
    let fan = pieces.checked_next_power_of_two().unwrap_or(FAN).clamp(LEAST, FAN);
    (fan, words_in::<W>(BUFFER_BYTES / fan))
}

/// A pointer that several threads use, each for places of its own.
struct Shared<T>(*mut T);
// SAFETY: who dereferences it keeps to that.
unsafe impl<T: Send> Sync for Shared<T> {}

/// Asks for the words that move next.
#[inline(always)]
fn prefetch_words<W>(at: *const W, n: usize) {
    for line in (0..n * size_of::<W>()).step_by(64) {
        super::prefetch(at.cast::<u8>().wrapping_add(line));
    }
}

#[cfg(test)]
mod tests {
    use super::super::classifier::Radix;
    use super::super::first::by_first;
    use super::*;
    use crate::sort::bounds::Bounds;
    use crate::sort::progress::Monitor;

    /// Every word is in its bucket, and no word is lost, wherever the range ends and however many threads there are.
    #[test]
    fn splits_into_buckets() {
        let block = shape::<u64>(1).1;
        for threads in [1, 2, 3] {
            for n in [1, block - 1, block, block + 1, 3 * block, 5 * block - 7, 9 * block + 1] {
                for bits in [1, 3, 8] {
                    // All in one bucket, in two, and anywhere.
                    for spread in [0, 1 << 63, u64::MAX] {
                        let number = |i: usize| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) & (spread | 0xffff);
                        let mut words: Vec<u64> = (0..n).map(number).collect();
                        let mut expected = words.clone();
                        let mut starts = [0; FAN + 1];
                        let mut blocks = Blocks::new(n, threads).unwrap();
                        let monitor = Monitor::new(None, n, 8, 1);
                        let radix = Radix::new(Bounds::of_bits(64), bits);
                        assert!(blocks.split(Level::best(), &mut words, &radix, &mut starts, monitor.pulse(0)));
                        for (bucket, ends) in starts[..=1 << bits].windows(2).enumerate() {
                            assert!(words[ends[0]..ends[1]].iter().all(|word| word >> (64 - bits) == bucket as u64));
                        }
                        assert_eq!((starts[0], starts[1 << bits]), (0, n));
                        words.sort_unstable();
                        expected.sort_unstable();
                        assert!(words == expected, "{n} words, {bits} bits, {threads} threads");
                    }
                }
            }
        }
    }

    /// More ways, of smaller blocks, than a range of this size would get.
    #[test]
    fn splits_into_more_buckets() {
        for (len, bits) in [(1 << 29, 9), (1 << 30, 10)] {
            for threads in [1, 2] {
                let mut blocks = Blocks::new(len, threads).unwrap();
                assert_eq!(blocks.fan(), 1 << bits);
                let number = |i: u64| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let mut words: Vec<u64> = (0..700_001).map(number).collect();
                let mut expected = words.clone();
                let mut starts = [0; FAN + 1];
                let monitor = Monitor::new(None, words.len(), 8, 1);
                let radix = Radix::new(Bounds::of_bits(64), bits);
                assert!(blocks.split(Level::best(), &mut words, &radix, &mut starts, monitor.pulse(0)));
                for (bucket, ends) in starts[..=1 << bits].windows(2).enumerate() {
                    assert!(words[ends[0]..ends[1]].iter().all(|word| word >> (64 - bits) == bucket as u64));
                }
                words.sort_unstable();
                expected.sort_unstable();
                assert!(words == expected, "{bits} bits, {threads} threads");
            }
        }
    }

    /// Words with equal keys stay in their order, with as many stripes as leave more words in their buffers than there
    /// is room for before a bucket's first block, and with a block that the end of the range cuts.
    #[test]
    fn keeps_the_order() {
        keeps_the_order_with(|i| i);
        keeps_the_order_with(|i| [i; 2]);
        keeps_the_order_with(|i| [i; 4]);
    }

    fn keeps_the_order_with<V: Copy + PartialEq + Send + Sync + 'static>(payload: fn(usize) -> V) {
        let block = shape::<(u64, V)>(1).1;
        for threads in [1, 2, 7] {
            for n in [block - 1, 3 * block, 20 * block + 5, 60 * block - 1] {
                for bits in [1, 3] {
                    let number = |i: usize| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    let mut pairs: Vec<(u64, V)> = (0..n).map(|i| (number(i), payload(i))).collect();
                    let mut expected = pairs.clone();
                    expected.sort_by_key(|pair| pair.0 >> (64 - bits));
                    let words = by_first(&mut pairs).unwrap();
                    let monitor = Monitor::new(None, n, 16, 1);
                    let radix = Radix::new(Bounds::of_bits(64), bits);
                    let mut blocks = Blocks::new(n, threads).unwrap();
                    assert!(blocks.split(Level::best(), words, &radix, &mut [0; FAN + 1], monitor.pulse(0)));
                    assert!(pairs == expected, "{n} words, {bits} bits, {threads} threads");
                }
            }
        }
    }
}
