//! Buckets by borders that are looked up, not searched for.
//!
//! The numbers from the first border of a [`Tree`] on are cut into *cells*, and borders move up to the ends of their
//! cells. A table has each cell's bucket: one read of it instead of a search. Cells are of equal size, or larger in
//! proportion to their distance from the first border, as floating-point numbers are ([`Scale`]). That is for keys that
//! are uneven, but not so uneven that many borders share a cell.
//!
//! Few cells are tried first: borders are rounder numbers then, so that digits use more of the buckets within them, and
//! the table is small. A large one may be larger than a cache, since hardly any cells have most of the keys.

use std::mem::MaybeUninit;

use super::Word;
use super::classifier::{BATCH, Classifier, ask_for_batch};
use super::tree::{FAN, Lens, Tree};
use crate::sort::bounds::Bounds;

/// So many cells are tried first.
const FEW: usize = 1 << 14;
/// The most cells.
const MOST: usize = 1 << 20;
/// At most so many for each key: making the table costs as much as a pass over the keys otherwise.
const EACH: usize = 2;

/// The first number of more than 64 bits.
const BEYOND: f64 = (1u128 << 64) as f64;

/// From the distance to the first cell's beginning to a cell. Both are in ascending order.
#[derive(Clone, Copy)]
struct Scale {
    /// Distances are taken as floating-point numbers, rounded down, and those as their bits.
    floating: bool,
    /// Numbers without so many of their lowest bits are cells.
    shift: u32,
}

impl Scale {
    /// The smallest cells of which at most so many, at least two, begin within this distance of the first one's
    /// beginning.
    fn new(floating: bool, distance: u64, most: usize) -> Scale {
        let width = u64::BITS - Scale { floating, shift: 0 }.cell(distance).leading_zeros();
        Scale { floating, shift: width.saturating_sub(most.ilog2()) }
    }

    #[inline(always)]
    fn cell(self, distance: u64) -> u64 {
        // Without the bit after those that a floating-point number keeps, nothing is rounded up.
        let number = if self.floating { ((distance & !(distance >> 53)) as f64).to_bits() } else { distance };
        number >> self.shift
    }

    /// The largest distance in a cell.
    fn end(self, cell: u64) -> u64 {
        match (cell + 1).checked_mul(1 << self.shift) {
            Some(next) if !self.floating => next - 1,
            Some(next) if next < BEYOND.to_bits() => f64::from_bits(next).ceil() as u64 - 1,
            _ => u64::MAX,
        }
    }
}

/// A tree, and the table that does its work.
pub(crate) struct Cells<'a> {
    tree: &'a Tree,
    lens: Lens,
    /// Where the first cell begins.
    low: u64,
    scale: Scale,
    /// Each cell's bucket; those above the last border share the last place.
    buckets: &'a [u16],
}

impl<'a> Cells<'a> {
    /// Makes a table of a tree for `n` keys, whose borders move. None, and none has moved, if more than an eighth of
    /// them would meet, or move to where no keys are above them.
    pub(crate) fn new(tree: &'a mut Tree, n: usize, table: &'a mut [MaybeUninit<u16>]) -> Option<Cells<'a>> {
        let (borders, top) = (tree.borders(), tree.top());
        let (&first, &last) = (borders.first()?, borders.last()?);
        // One place is for what is beyond the last cell, and the first border may be anywhere in its own.
        let most = table.len().checked_sub(2)?.min(n.saturating_mul(EACH)).min(MOST);
        if most < 2 {
            return None;
        }
        let mut ends = [0; FAN];
        // Cells, and of how many borders one may meet another.
        let few = [false, true].map(|floating| (floating, most.min(FEW), 32));
        let many = [false, true].map(|floating| (floating, most, 8));
        let found = few.into_iter().chain(many).find_map(|(floating, most, of)| {
            let scale = Scale::new(floating, last - first, most);
            // Cells of equal size begin at round numbers, which makes round borders.
            let low = if floating { first } else { first >> scale.shift << scale.shift };
            let mut count = 0;
            for border in borders {
                let end = low.saturating_add(scale.end(scale.cell(border - low)));
                // Nothing is above the largest key.
                if end < top && (count == 0 || ends[count - 1] < end) {
                    ends[count] = end;
                    count += 1;
                }
            }
            ((borders.len() - count) * of <= borders.len()).then_some((low, scale, count))
        });
        let (low, scale, count) = found?;
        let mut start = 0;
        for (bucket, end) in ends[..count].iter().enumerate() {
            let end = scale.cell(end - low) as usize + 1;
            table[start..end].fill(MaybeUninit::new(bucket as u16));
            start = end;
        }
        table[start].write(count as u16);
        // SAFETY: written up to there.
        let buckets = unsafe { table[..=start].assume_init_ref() };
        tree.change_borders(&ends[..count]);
        Some(Cells { lens: tree.lens(), tree, low, scale, buckets })
    }

    /// [`Classifier::each`], by one kind of scale.
    #[inline(always)]
    unsafe fn look_up<W: Word>(&self, scale: Scale, words: *const W, n: usize, mut put: impl FnMut(W, usize)) {
        let last = self.buckets.len() as u64 - 1;
        let mut cells = [0u32; BATCH];
        for start in (0..n).step_by(BATCH) {
            let count = BATCH.min(n - start);
            ask_for_batch(words.wrapping_add(start));
            for (i, cell) in cells[..count].iter_mut().enumerate() {
                // SAFETY: as many as there are; `put` has not seen them yet.
                let number = self.lens.of(unsafe { *words.add(start + i) });
                *cell = scale.cell(number.saturating_sub(self.low)).min(last) as u32;
            }
            for (i, &cell) in cells[..count].iter().enumerate() {
                // SAFETY: as above; and no cell is beyond the last.
                let (word, bucket) = unsafe { (*words.add(start + i), *self.buckets.get_unchecked(cell as usize)) };
                put(word, bucket.into());
            }
        }
    }
}

// SAFETY: the tree's borders are ends of cells, so that all numbers of a cell are in one of its buckets.
unsafe impl<W: Word> Classifier<W> for Cells<'_> {
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
        // What the compiler knows of the scale it need not ask for each key.
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

    /// Tables with room for all cells, and for few.
    const ROOMS: &[usize] = if cfg!(miri) { &[FEW + 2] } else { &[2 * MOST, FEW + 2] };

    /// Every key goes to a bucket whose bounds it is within, in order, below, at, above and between borders; and all
    /// buckets are used but for few.
    fn finds_what_the_tree_has(floating: bool, room: usize, borders: &[u64]) {
        let known = Bounds::of_bits(64);
        let lens = Lens::new::<u64>(known);
        let mut tree = Tree::new(Level::best(), lens, known, borders);
        let mut table = vec![MaybeUninit::uninit(); room];
        let cells = Cells::new(&mut tree, MOST, &mut table).expect("hardly a border shares a cell");
        assert_eq!(cells.scale.floating, floating);
        let ends: Vec<u64> = cells.tree.borders().to_vec();
        let near = |&border: &u64| {
            [border.saturating_sub(1), border, border.saturating_add(1), border.saturating_add(1 << 45)]
        };
        let mut keys: Vec<u64> = borders.iter().chain(&ends).flat_map(near).collect();
        keys.extend([0, u64::MAX - 1, u64::MAX]);
        keys.sort_unstable();
        let mut at = 0;
        let mut seen = vec![false; borders.len() + 1];
        let check = |key: u64, bucket: usize| {
            let bounds = Classifier::<u64>::bounds(&cells, bucket);
            assert!((bounds.low..=bounds.high).contains(&key.into()), "{key} in {bucket}: {bounds:?}");
            assert_eq!(key, keys[at]);
            seen[bucket] = true;
            at += 1;
        };
        // SAFETY: all of the keys.
        unsafe { cells.each(keys.as_ptr(), keys.len(), check) };
        assert_eq!(at, keys.len());
        assert!(seen.iter().filter(|seen| **seen).count() * 8 >= seen.len() * 7);
    }

    #[test]
    fn cells_of_equal_size() {
        let borders: [fn(u64) -> u64; 4] = [
            |i| (1 << 40) + i * 1001,
            |i| f64::to_bits(1.0 / (100 - i) as f64),
            |i| u64::MAX - (100 - i) * (1 << 50),
            |i| i,
        ];
        for border in borders.into_iter().take(if cfg!(miri) { 1 } else { 4 }) {
            let borders: Vec<u64> = (0..99).map(border).collect();
            ROOMS.iter().for_each(|&room| finds_what_the_tree_has(false, room, &borders));
        }
        let many: Vec<u64> = (1..FAN as u64).map(|i| i << 50).collect();
        finds_what_the_tree_has(false, ROOMS[0], &many);
    }

    /// Borders over many powers of two, from 0 or from the middle of all numbers on, up to the last number.
    #[test]
    fn cells_in_proportion_to_their_distance() {
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
    fn cells_end_below_the_largest_key() {
        for shift in [0, 40] {
            let known = Bounds { low: u128::MAX - ((1 << (49 + shift)) - 1), high: u128::MAX };
            let lens = Lens::new::<u128>(known);
            let top = lens.of(u128::MAX);
            let powers = (0..4 * top.ilog2()).map(|i| 1000 + ((1u64 << (i / 4)) / 4) * u64::from(4 + i % 4));
            let mut borders: Vec<u64> = powers.filter(|&border| border < top).chain([top - 1]).collect();
            borders.dedup();
            let mut tree = Tree::new(Level::best(), lens, known, &borders);
            let mut table = vec![MaybeUninit::uninit(); ROOMS[0]];
            let cells = Cells::new(&mut tree, MOST, &mut table).expect("hardly a border shares a cell");
            let fan = cells.tree.borders().len() + 1;
            let bounds: Vec<Bounds> = (0..fan).map(|rank| Classifier::<u128>::bounds(&cells, rank)).collect();
            assert!(bounds.iter().all(|bounds| bounds.low <= bounds.high));
            assert!(bounds.windows(2).all(|two| two[0].high.checked_add(1) == Some(two[1].low)));
            assert_eq!((bounds[0].low, bounds[fan - 1].high), (known.low, known.high));
        }
    }

    /// Borders that are close in the middle, and far apart on both sides.
    #[test]
    fn a_tree_is_kept_where_borders_share_cells() {
        let known = Bounds::of_bits(64);
        let middle = 1 << 63;
        let (below, above) = ((0..60).rev().map(|i| middle - (1 << i)), (0..60).map(|i| middle + (1 << i)));
        let borders: Vec<u64> = below.chain(above).collect();
        let mut tree = Tree::new(Level::best(), Lens::new::<u64>(known), known, &borders);
        assert!(Cells::new(&mut tree, MOST, &mut vec![MaybeUninit::uninit(); ROOMS[0]]).is_none());
        assert_eq!(tree.borders(), borders);
        assert!(Cells::new(&mut tree, 0, &mut vec![MaybeUninit::uninit(); ROOMS[0]]).is_none());
        for room in 0..8 {
            assert!(Cells::new(&mut tree, MOST, &mut vec![MaybeUninit::uninit(); room]).is_none());
        }
    }
}
