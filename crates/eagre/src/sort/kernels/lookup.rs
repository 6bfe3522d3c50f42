//! A lookup table that replaces the search in a splitter [`Tree`].
//!
//! The key range above the first splitter is divided into intervals. The table has an entry for each interval: the
//! bucket of its keys. So a key's bucket is found by one read instead of a search. For this to be exact, each splitter
//! moves up to the end of its interval. Intervals have equal widths, or widths in proportion to their distance from the
//! first splitter, as floating-point numbers are spaced ([`Scale`]). This works for skewed keys, unless many splitters
//! fall into one interval.
//!
//! Few intervals are tried first: the table is small then, and splitters become rounder numbers, so that later radix
//! steps use more of their buckets. A large table may exceed the cache, since most keys share a few entries.

use super::uninit::UninitSlice;
use std::mem::MaybeUninit;

use super::Word;
use super::classifier::{BATCH, Classifier, ask_for_batch};
use super::tree::{FAN, KeyPrefix, Tree};
use crate::sort::bounds::Bounds;

/// The number of intervals that is tried first.
const FEW: usize = 1 << 14;
/// The most intervals.
const MOST: usize = 1 << 20;
/// The most intervals for each key. With more, filling the table would cost as much as a pass over the keys.
const EACH: usize = 2;

/// The first number of more than 64 bits.
const BEYOND: f64 = (1u128 << 64) as f64;

/// Maps the distance of a key from the start of the first interval to the index of the key's entry, monotonically.
#[derive(Clone, Copy)]
struct Scale {
    /// Distances are converted to floating-point numbers, rounded down, and these are taken as their bits.
    floating: bool,
    /// The index is the number without so many of its lowest bits.
    shift: u32,
}

impl Scale {
    /// The scale with the narrowest intervals of which at most `most`, at least two, cover this distance.
    fn new(floating: bool, distance: u64, most: usize) -> Scale {
        let width = u64::BITS - Scale { floating, shift: 0 }.entry(distance).leading_zeros();
        Scale { floating, shift: width.saturating_sub(most.ilog2()) }
    }

    #[inline(always)]
    fn entry(self, distance: u64) -> u64 {
        // Without the bit after those that a floating-point number keeps, nothing is rounded up.
        let number = if self.floating { ((distance & !(distance >> 53)) as f64).to_bits() } else { distance };
        number >> self.shift
    }

    /// The largest distance in an interval.
    fn end(self, entry: u64) -> u64 {
        match (entry + 1).checked_mul(1 << self.shift) {
            Some(next) if !self.floating => next - 1,
            Some(next) if next < BEYOND.to_bits() => f64::from_bits(next).ceil() as u64 - 1,
            _ => u64::MAX,
        }
    }
}

/// A tree, and the table that replaces its search.
pub(crate) struct LookupTable<'a> {
    tree: &'a Tree,
    prefix: KeyPrefix,
    /// Where the first interval begins.
    low: u64,
    scale: Scale,
    /// The bucket of each interval. All intervals above the last splitter share the last entry.
    buckets: &'a [u16],
}

impl<'a> LookupTable<'a> {
    /// Fills a table for a tree and `n` keys, and moves the tree's splitters to the ends of their intervals. Returns
    /// `None`, with the tree unchanged, if more than an eighth of the splitters would coincide or have no keys above
    /// them.
    pub(crate) fn new(tree: &'a mut Tree, n: usize, table: &'a mut [MaybeUninit<u16>]) -> Option<LookupTable<'a>> {
        let (splitters, top) = (tree.splitters(), tree.top());
        let (&first, &last) = (splitters.first()?, splitters.last()?);
        // One entry is for keys beyond the last interval, and the first splitter may be anywhere in its interval.
        let most = table.len().checked_sub(2)?.min(n.saturating_mul(EACH)).min(MOST);
        if most < 2 {
            return None;
        }
        let mut ends = [0; FAN];
        // How many intervals to try, and that one of so many splitters may coincide with another.
        let few = [false, true].map(|floating| (floating, most.min(FEW), 32));
        let many = [false, true].map(|floating| (floating, most, 8));
        let found = few.into_iter().chain(many).find_map(|(floating, most, of)| {
            let scale = Scale::new(floating, last - first, most);
            // Intervals of equal widths begin at round numbers, so that splitters are round.
            let low = if floating { first } else { first >> scale.shift << scale.shift };
            let mut count = 0;
            for splitter in splitters {
                let end = low.saturating_add(scale.end(scale.entry(splitter - low)));
                // Nothing is above the largest key.
                if end < top && (count == 0 || ends[count - 1] < end) {
                    ends[count] = end;
                    count += 1;
                }
            }
            ((splitters.len() - count) * of <= splitters.len()).then_some((low, scale, count))
        });
        let (low, scale, count) = found?;
        let mut start = 0;
        for (bucket, end) in ends[..count].iter().enumerate() {
            let end = scale.entry(end - low) as usize + 1;
            table[start..end].fill(MaybeUninit::new(bucket as u16));
            start = end;
        }
        table[start].write(count as u16);
        // SAFETY: the entries up to there were written above.
        let buckets = unsafe { table[..=start].written() };
        tree.change_splitters(&ends[..count]);
        Some(LookupTable { prefix: tree.prefix(), tree, low, scale, buckets })
    }

    /// [`Classifier::each`] for one kind of scale.
    #[inline(always)]
    unsafe fn look_up<W: Word>(&self, scale: Scale, words: *const W, n: usize, mut put: impl FnMut(W, usize)) {
        let last = self.buckets.len() as u64 - 1;
        let mut entries = [0u32; BATCH];
        for start in (0..n).step_by(BATCH) {
            let count = BATCH.min(n - start);
            ask_for_batch(words.wrapping_add(start));
            for (i, entry) in entries[..count].iter_mut().enumerate() {
                // SAFETY: as many as there are; `put` has not seen them yet.
                let number = self.prefix.of(unsafe { *words.add(start + i) });
                *entry = scale.entry(number.saturating_sub(self.low)).min(last) as u32;
            }
            for (i, &entry) in entries[..count].iter().enumerate() {
                // SAFETY: as above; and indices are at most `last`.
                let (word, bucket) = unsafe { (*words.add(start + i), *self.buckets.get_unchecked(entry as usize)) };
                put(word, bucket.into());
            }
        }
    }
}

// SAFETY: the tree's splitters are ends of intervals, so that all keys of an interval belong to one bucket.
unsafe impl<W: Word> Classifier<W> for LookupTable<'_> {
    fn fan(&self) -> usize {
        Classifier::<W>::fan(self.tree)
    }

    fn first(&self) -> usize {
        Classifier::<W>::first(self.tree)
    }

    fn bounds(&self, rank: usize) -> Bounds {
        Classifier::<W>::bounds(self.tree, rank)
    }

    #[inline(always)]
    unsafe fn each(&self, words: *const W, n: usize, put: impl FnMut(W, usize)) {
        // The compiler makes a loop for each kind of scale: no test for each key.
        let floating = self.scale.floating;
        // SAFETY: the caller's promise.
        unsafe {
            match floating {
                true => self.look_up(Scale { floating: true, ..self.scale }, words, n, put),
                false => self.look_up(Scale { floating: false, ..self.scale }, words, n, put),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    /// Tables with room for all intervals, and for few.
    const ROOMS: &[usize] = if cfg!(miri) { &[FEW + 2] } else { &[2 * MOST, FEW + 2] };

    /// Every key goes to a bucket whose bounds it is within, in order, below, at, above and between splitters; and all
    /// buckets are used but for few.
    fn finds_what_the_tree_has(floating: bool, room: usize, splitters: &[u64]) {
        let known = Bounds::of_bits(64);
        let prefix = KeyPrefix::new::<u64>(known);
        let mut tree = Tree::new(Level::best(), prefix, known, splitters);
        let mut table = vec![MaybeUninit::uninit(); room];
        let lookup = LookupTable::new(&mut tree, MOST, &mut table).expect("hardly any splitters share an interval");
        assert_eq!(lookup.scale.floating, floating);
        let ends: Vec<u64> = lookup.tree.splitters().to_vec();
        let near = |&splitter: &u64| {
            [splitter.saturating_sub(1), splitter, splitter.saturating_add(1), splitter.saturating_add(1 << 45)]
        };
        let mut keys: Vec<u64> = splitters.iter().chain(&ends).flat_map(near).collect();
        keys.extend([0, u64::MAX - 1, u64::MAX]);
        keys.sort_unstable();
        let mut at = 0;
        let mut seen = vec![false; splitters.len() + 1];
        let check = |key: u64, bucket: usize| {
            let bounds = Classifier::<u64>::bounds(&lookup, bucket);
            assert!((bounds.low..=bounds.high).contains(&key.into()), "{key} in {bucket}: {bounds:?}");
            assert_eq!(key, keys[at]);
            seen[bucket] = true;
            at += 1;
        };
        // SAFETY: all of the keys.
        unsafe { lookup.each(keys.as_ptr(), keys.len(), check) };
        assert_eq!(at, keys.len());
        assert!(seen.iter().filter(|seen| **seen).count() * 8 >= seen.len() * 7);
    }

    #[test]
    fn intervals_of_equal_width() {
        let splitters: [fn(u64) -> u64; 4] = [
            |i| (1 << 40) + i * 1001,
            |i| f64::to_bits(1.0 / (100 - i) as f64),
            |i| u64::MAX - (100 - i) * (1 << 50),
            |i| i,
        ];
        for splitter in splitters.into_iter().take(if cfg!(miri) { 1 } else { 4 }) {
            let splitters: Vec<u64> = (0..99).map(splitter).collect();
            ROOMS.iter().for_each(|&room| finds_what_the_tree_has(false, room, &splitters));
        }
        let many: Vec<u64> = (1..FAN as u64).map(|i| i << 50).collect();
        finds_what_the_tree_has(false, ROOMS[0], &many);
    }

    /// Splitters over many powers of two, from 0 or from the middle of all numbers on, up to the last number.
    #[test]
    fn intervals_in_proportion_to_their_distance() {
        let powers = |low: u64, bits: u32| {
            let powers = (0..4 * bits).map(move |i| low + ((1u64 << (i / 4)) / 4) * u64::from(4 + i % 4));
            powers.chain([u64::MAX - 1]).collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
        };
        for (low, bits) in [(0, 60), (1 << 63, 50), (7, 61)].into_iter().take(if cfg!(miri) { 1 } else { 3 }) {
            ROOMS.iter().for_each(|&room| finds_what_the_tree_has(true, room, &powers(low, bits)));
        }
    }

    /// Wide keys up to the largest there is, of which the least is known: no cell ends above them.
    #[test]
    fn intervals_end_below_the_largest_key() {
        for shift in [0, 40] {
            let known = Bounds { low: u128::MAX - ((1 << (49 + shift)) - 1), high: u128::MAX };
            let prefix = KeyPrefix::new::<u128>(known);
            let top = prefix.of(u128::MAX);
            let powers = (0..4 * top.ilog2()).map(|i| 1000 + ((1u64 << (i / 4)) / 4) * u64::from(4 + i % 4));
            let mut splitters: Vec<u64> = powers.filter(|&splitter| splitter < top).chain([top - 1]).collect();
            splitters.dedup();
            let mut tree = Tree::new(Level::best(), prefix, known, &splitters);
            let mut table = vec![MaybeUninit::uninit(); ROOMS[0]];
            let lookup = LookupTable::new(&mut tree, MOST, &mut table).expect("hardly any splitters share an interval");
            let fan = lookup.tree.splitters().len() + 1;
            let bounds: Vec<Bounds> = (0..fan).map(|rank| Classifier::<u128>::bounds(&lookup, rank)).collect();
            assert!(bounds.iter().all(|bounds| bounds.low <= bounds.high));
            assert!(bounds.windows(2).all(|two| two[0].high.checked_add(1) == Some(two[1].low)));
            assert_eq!((bounds[0].low, bounds[fan - 1].high), (known.low, known.high));
        }
    }

    /// Splitters that are close in the middle, and far apart on both sides.
    #[test]
    fn a_tree_is_kept_where_splitters_share_intervals() {
        let known = Bounds::of_bits(64);
        let middle = 1 << 63;
        let (below, above) = ((0..60).rev().map(|i| middle - (1 << i)), (0..60).map(|i| middle + (1 << i)));
        let splitters: Vec<u64> = below.chain(above).collect();
        let mut tree = Tree::new(Level::best(), KeyPrefix::new::<u64>(known), known, &splitters);
        assert!(LookupTable::new(&mut tree, MOST, &mut vec![MaybeUninit::uninit(); ROOMS[0]]).is_none());
        assert_eq!(tree.splitters(), splitters);
        assert!(LookupTable::new(&mut tree, 0, &mut vec![MaybeUninit::uninit(); ROOMS[0]]).is_none());
        for room in 0..8 {
            assert!(LookupTable::new(&mut tree, MOST, &mut vec![MaybeUninit::uninit(); room]).is_none());
        }
    }
}
