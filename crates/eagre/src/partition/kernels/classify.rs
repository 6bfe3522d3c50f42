//! Which bucket an item belongs to.

use super::MAX_WAYS;
use crate::partition::Keyed;
use eagre_mem::heap::{self, Refused};

/// Finds the bucket of an item, without a branch that depends on its key.
///
/// # Safety
/// `bucket` is less than `ways`, whatever the item.
pub(crate) unsafe trait Classify: Sync {
    /// How many buckets there are, at most [`MAX_WAYS`].
    fn ways(&self) -> usize;

    /// Whether buckets are found by a search. Then it is better to classify several items at once, and not to classify
    /// twice.
    const SEARCHES: bool = false;

    /// The bucket of an item.
    fn bucket<T: Keyed>(&self, item: &T) -> usize;

    /// The buckets of several items, each less than `ways`.
    #[inline(always)]
    fn buckets<T: Keyed>(&self, items: &[T; STEP]) -> [usize; STEP] {
        std::array::from_fn(|i| self.bucket(&items[i]))
    }
}

/// How many items are classified together.
pub(crate) const STEP: usize = 16;

/// By some bits of the key.
pub(crate) struct Bits {
    shift: u32,
    mask: u64,
}

impl Bits {
    /// The `bits` bits above the `shift` lowest.
    pub(crate) fn new(shift: u32, bits: u32) -> Bits {
        assert!(shift < 64 && 1 << bits <= MAX_WAYS);
        Bits { shift, mask: (1 << bits) - 1 }
    }
}

// SAFETY: masked.
unsafe impl Classify for Bits {
    fn ways(&self) -> usize {
        self.mask as usize + 1
    }

    #[inline(always)]
    fn bucket<T: Keyed>(&self, item: &T) -> usize {
        ((item.key() >> self.shift) & self.mask) as usize
    }
}

/// Into ranges of keys of equal width.
pub(crate) struct Ranges {
    /// A shift that takes the highest bit of a key to the highest bit of 64.
    left: u32,
    ways: u64,
}

impl Ranges {
    pub(crate) fn new(key_bits: u32, ways: usize) -> Ranges {
        assert!((1..=64).contains(&key_bits) && ways <= MAX_WAYS);
        Ranges { left: 64 - key_bits, ways: ways as u64 }
    }
}

// SAFETY: a fraction below one of `ways`.
unsafe impl Classify for Ranges {
    fn ways(&self) -> usize {
        self.ways as usize
    }

    #[inline(always)]
    fn bucket<T: Keyed>(&self, item: &T) -> usize {
        ((u128::from(item.key() << self.left) * u128::from(self.ways)) >> 64) as usize
    }
}

/// By sorted boundaries: bucket `i` begins with boundary `i - 1`.
///
/// They form a binary tree in an array: the root is 1, and the children of `i` are `2 i` and `2 i + 1`. A step down
/// adds the outcome of a comparison to a number, so the compiler has no choice that it could turn into a branch.
pub(crate) struct Boundaries {
    tree: Box<[u64; MAX_WAYS]>,
    /// Steps from the root to below the leaves.
    height: u32,
    last: usize,
}

impl Boundaries {
    /// # Errors
    /// [`Refused`]: the heap has no room for the tree.
    pub(crate) fn new(boundaries: &[u64]) -> Result<Boundaries, Refused> {
        assert!(boundaries.len() < MAX_WAYS && boundaries.is_sorted());
        let height = (boundaries.len() + 1).next_power_of_two().ilog2();
        let mut tree = heap::boxed([u64::MAX; MAX_WAYS])?;
        for (at, node) in tree.iter_mut().enumerate().take(1 << height).skip(1) {
            let (level, first) = (at.ilog2(), 1 << at.ilog2());
            let rank = ((2 * (at - first) + 1) << (height - level - 1)) - 1;
            *node = boundaries.get(rank).copied().unwrap_or(u64::MAX);
        }
        Ok(Boundaries { tree, height, last: boundaries.len() })
    }

    /// One step down.
    #[inline(always)]
    fn down(&self, key: u64, at: usize) -> usize {
        // SAFETY: with fewer steps than `height` from 1, this is less than 2 to the power of `height`, at most
        // MAX_WAYS.
        let boundary = unsafe { *self.tree.get_unchecked(at) };
        2 * at + usize::from(boundary <= key)
    }

    /// The bucket after `height` steps.
    #[inline(always)]
    fn arrived(&self, at: usize) -> usize {
        // Unused nodes equal the largest key.
        (at - (1 << self.height)).min(self.last)
    }
}

// SAFETY: at most `last`.
unsafe impl Classify for Boundaries {
    const SEARCHES: bool = true;

    fn ways(&self) -> usize {
        self.last + 1
    }

    #[inline(always)]
    fn bucket<T: Keyed>(&self, item: &T) -> usize {
        let key = item.key();
        self.arrived((0..self.height).fold(1, |at, _| self.down(key, at)))
    }

    /// One step of all searches at a time, so that no search waits for another.
    #[inline(always)]
    fn buckets<T: Keyed>(&self, items: &[T; STEP]) -> [usize; STEP] {
        let keys: [u64; STEP] = std::array::from_fn(|i| items[i].key());
        let mut at = [1; STEP];
        for _ in 0..self.height {
            for (at, &key) in at.iter_mut().zip(&keys) {
                *at = self.down(key, *at);
            }
        }
        at.map(|at| self.arrived(at))
    }
}
