//! Buckets by borders that are looked up, not searched for.
//!
//! The numbers from the first border of a [`Tree`] to the last are cut into *cells* of equal size, and borders move up
//! to the ends of their cells. A table has each cell's bucket: one read of it instead of a search. That is for large
//! ranges whose keys are uneven, but not so uneven that many borders share a cell: floating-point numbers, mostly. The
//! table may be larger than a cache, since hardly any cells have most of the keys.

use std::mem::MaybeUninit;

use super::classifier::{AHEAD, Classifier};
use super::tree::{FAN, Lens, Tree};
use super::{Word, prefetch};
use crate::sort::bounds::Bounds;

/// The most cells.
pub(crate) const CELLS: usize = 1 << 18;
/// So many keys are looked up at once.
const BATCH: usize = 64;

/// A tree, and the table that does its work.
pub(crate) struct Cells<'a> {
    tree: &'a Tree,
    lens: Lens,
    /// Numbers without so many of their lowest bits are cells.
    shift: u32,
    /// The cell of the first border.
    first: u64,
    /// Each cell's bucket from there on; those above the last border share the last place.
    buckets: &'a [u8],
}

impl<'a> Cells<'a> {
    /// Makes a table of a tree, whose borders move. None, and none has moved, if more than an eighth of them would
    /// meet, or the table has no room for [`CELLS`].
    pub(crate) fn new(tree: &'a mut Tree, table: &'a mut [MaybeUninit<u8>]) -> Option<Cells<'a>> {
        let borders = tree.borders();
        let (&low, &high) = (borders.first()?, borders.last()?);
        if table.len() < CELLS {
            return None;
        }
        // The smallest cells that there is room for, and one place beyond the last.
        let mut shift = (u64::BITS - (high - low).leading_zeros()).saturating_sub(CELLS.ilog2());
        while (high >> shift) - (low >> shift) + 2 > CELLS as u64 {
            shift += 1;
        }
        let mut ends = [0; FAN];
        let mut count = 0;
        for border in borders {
            let end = border | ((1 << shift) - 1);
            // The largest number there is cannot be a border.
            if end < u64::MAX && (count == 0 || ends[count - 1] < end) {
                ends[count] = end;
                count += 1;
            }
        }
        if count * 8 < borders.len() * 7 {
            return None;
        }
        let first = low >> shift;
        let mut start = 0;
        for (bucket, end) in ends[..count].iter().enumerate() {
            let end = ((end >> shift) - first) as usize + 1;
            table[start..end].fill(MaybeUninit::new(bucket as u8));
            start = end;
        }
        table[start].write(count as u8);
        // SAFETY: written up to there.
        let buckets = unsafe { table[..=start].assume_init_ref() };
        tree.change_borders(&ends[..count]);
        Some(Cells { lens: tree.lens(), tree, shift, first, buckets })
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
    unsafe fn each(&self, words: *const W, n: usize, mut put: impl FnMut(W, usize)) {
        let last = self.buckets.len() as u64 - 1;
        let mut cells = [0u32; BATCH];
        for start in (0..n).step_by(BATCH) {
            let count = BATCH.min(n - start);
            for line in 0..(BATCH * size_of::<W>()).div_ceil(64) {
                prefetch(words.wrapping_add(start).cast::<u8>().wrapping_add((AHEAD + line) * 64));
            }
            for (i, cell) in cells[..count].iter_mut().enumerate() {
                // SAFETY: as many as there are; `put` has not seen them yet.
                let number = self.lens.of(unsafe { *words.add(start + i) });
                *cell = (number >> self.shift).saturating_sub(self.first).min(last) as u32;
            }
            for (i, &cell) in cells[..count].iter().enumerate() {
                // SAFETY: as above; and no cell is beyond the last.
                let (word, bucket) = unsafe { (*words.add(start + i), *self.buckets.get_unchecked(cell as usize)) };
                put(word, bucket.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    /// Every key goes to a bucket whose bounds it is within, in order, below, at, above and between borders; and all
    /// buckets are used but for few.
    #[test]
    fn finds_what_the_tree_has() {
        let known = Bounds::of_bits(64);
        let borders_of: [fn(u64) -> u64; 4] = [
            |i| (1 << 40) + i * 1001,
            |i| f64::to_bits(1.0 / (100 - i) as f64),
            |i| u64::MAX - (100 - i) * (1 << 50),
            |i| i,
        ];
        for border in borders_of.into_iter().take(if cfg!(miri) { 1 } else { 4 }) {
            let borders: Vec<u64> = (0..99).map(border).collect();
            let lens = Lens::new::<u64>(known);
            let mut tree = Tree::new(Level::best(), lens, known, &borders);
            let mut table = vec![MaybeUninit::uninit(); CELLS];
            let cells = Cells::new(&mut tree, &mut table).expect("no border shares a cell");
            let near = |&border: &u64| [border.saturating_sub(1), border, border + 1, border.saturating_add(1 << 45)];
            let mut keys: Vec<u64> = borders.iter().flat_map(near).collect();
            keys.extend([0, u64::MAX - 1, u64::MAX]);
            keys.sort_unstable();
            let mut at = 0;
            let mut seen = [false; 100];
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
            assert!(seen.iter().filter(|seen| **seen).count() >= 88);
        }
    }

    /// Borders over many powers of two.
    #[test]
    fn a_tree_is_kept_where_borders_share_cells() {
        let known = Bounds::of_bits(64);
        let borders: Vec<u64> =
            (0..128).map(|i| (1 << (i / 2)) + i % 2).collect::<std::collections::BTreeSet<_>>().into_iter().collect();
        let mut tree = Tree::new(Level::best(), Lens::new::<u64>(known), known, &borders);
        assert!(Cells::new(&mut tree, &mut vec![MaybeUninit::uninit(); CELLS]).is_none());
        assert_eq!(tree.borders(), borders);
    }
}
