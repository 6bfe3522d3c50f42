//! Which bucket an item belongs to.

use super::MAX_WAYS;
use crate::partition::Item;

/// Finds the bucket of an item, without a branch that depends on its key.
///
/// # Safety
/// `bucket` is less than `ways`, whatever the item.
pub(crate) unsafe trait Classify: Sync {
    /// How many buckets there are, at most [`MAX_WAYS`].
    fn ways(&self) -> usize;

    /// The bucket of an item.
    fn bucket<T: Item>(&self, item: &T) -> usize;
}

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
    fn bucket<T: Item>(&self, item: &T) -> usize {
        ((item.key() >> self.shift) & self.mask) as usize
    }
}

/// Into ranges of keys of equal width.
pub(crate) struct Ranges {
    /// Takes the highest bit of a key to the highest of the word.
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
    fn bucket<T: Item>(&self, item: &T) -> usize {
        ((u128::from(item.key() << self.left) * u128::from(self.ways)) >> 64) as usize
    }
}

/// By sorted boundaries: bucket `i` begins with boundary `i - 1`.
pub(crate) struct Boundaries {
    /// Filled up to a power of two less one.
    sorted: Box<[u64; MAX_WAYS]>,
    /// Half of that power.
    half: usize,
    last: usize,
}

impl Boundaries {
    pub(crate) fn new(boundaries: &[u64]) -> Boundaries {
        assert!(boundaries.len() < MAX_WAYS && boundaries.is_sorted());
        let mut sorted = Box::new([u64::MAX; MAX_WAYS]);
        sorted[..boundaries.len()].copy_from_slice(boundaries);
        Boundaries { sorted, half: (boundaries.len() + 1).next_power_of_two() / 2, last: boundaries.len() }
    }
}

// SAFETY: at most `last`.
unsafe impl Classify for Boundaries {
    fn ways(&self) -> usize {
        self.last + 1
    }

    /// Searches of neighbours do not wait for each other: the processor works on many at once.
    #[inline(always)]
    fn bucket<T: Item>(&self, item: &T) -> usize {
        let key = item.key();
        let (mut below, mut step) = (0, self.half);
        while step > 0 {
            // SAFETY: the steps add up to less than twice `half`, which is at most MAX_WAYS.
            let boundary = unsafe { *self.sorted.get_unchecked(below + step - 1) };
            below += if boundary <= key { step } else { 0 };
            step /= 2;
        }
        // What was filled up equals the largest key.
        below.min(self.last)
    }
}
