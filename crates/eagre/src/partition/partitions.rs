//! The result of partitioning.

use super::Keyed;
use super::kernels::view::Filled;
use eagre_mem::RewiredVec;
use std::fmt;

/// Items in buckets, each of which is a slice.
///
/// The buckets lie in ascending order in one range of addresses. [`Layout`](super::Layout) says whether there is room
/// between them.
pub struct Partitions<T> {
    filled: Filled<T>,
}

impl<T: Keyed> Partitions<T> {
    pub(super) fn new(filled: Filled<T>) -> Partitions<T> {
        Partitions { filled }
    }

    /// How many buckets there are.
    pub fn ways(&self) -> usize {
        self.filled.buckets().len()
    }

    /// How many items there are in all buckets.
    pub fn len(&self) -> usize {
        self.filled.len()
    }

    /// Whether all buckets are empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The items of a bucket.
    ///
    /// # Panics
    /// If there is no such bucket.
    pub fn bucket(&self, bucket: usize) -> &[T] {
        self.filled.bucket(bucket)
    }

    /// The items of a bucket, mutable.
    ///
    /// # Panics
    /// If there is no such bucket.
    pub fn bucket_mut(&mut self, bucket: usize) -> &mut [T] {
        self.filled.bucket_mut(bucket)
    }

    /// The buckets, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[T]> {
        (0..self.ways()).map(|bucket| self.bucket(bucket))
    }

    /// The buckets, in order, mutable. Several threads may have some each.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut [T]> {
        self.filled.all_mut()
    }

    /// How many items lie before each bucket, and in all buckets: one number more than there are buckets.
    pub fn offsets(&self) -> Vec<usize> {
        let mut offset = 0;
        let ends = self.filled.buckets().iter().map(|&(_, len)| {
            offset += len;
            offset
        });
        std::iter::once(0).chain(ends).collect()
    }

    /// All items as one slice, which [`Partitions::offsets`] divides into buckets. `None` if there is room between
    /// buckets.
    pub fn as_slice(&self) -> Option<&[T]> {
        self.filled.as_slice()
    }

    /// All items as one vector.
    ///
    /// # Panics
    /// If there is room between buckets, as there is with [`Layout::Apart`](super::Layout::Apart).
    pub fn into_vec(self) -> RewiredVec<T> {
        self.filled.into_vec()
    }
}

impl<T: Keyed + fmt::Debug> fmt::Debug for Partitions<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
