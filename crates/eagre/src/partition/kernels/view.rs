//! Memory as items.

use crate::partition::{Keyed, PartitionError};
use eagre_mem::{RawBlock, RewiredVec, heap};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

/// A block of a vector that has been taken apart, and the items in it.
pub(crate) struct Piece<T> {
    /// `None` once it is given on.
    block: Option<RawBlock>,
    /// The bytes of the items that lie wholly in it.
    inside: Range<usize>,
    /// The item that begins in it and ends in the next.
    straddler: Option<T>,
}

impl<T: Keyed> Piece<T> {
    /// Takes a vector apart.
    ///
    /// # Errors
    /// As [`RewiredVec::take_blocks`], and [`PartitionError::OutOfHeap`]: the vector is as it was.
    pub(crate) fn all(vector: &mut RewiredVec<T>) -> Result<Vec<Piece<T>>, PartitionError> {
        let (len, block, size) = (vector.len(), vector.block_size().bytes(), size_of::<T>());
        assert!(size <= block);
        vector.shrink_to_fit();
        let count = size_of_val(&**vector).div_ceil(block);
        let (mut pieces, mut straddlers, mut blocks) = (heap::list(count)?, heap::list(count)?, heap::list(count)?);
        // From here on nothing is asked of the heap, which could refuse it.
        vector.take_blocks_into(&mut blocks)?;
        let inside = |number: usize| {
            let first = (number * block).div_ceil(size).min(len);
            let end = ((number + 1) * block / size).min(len);
            let from_block = |item: usize| item * size - number * block;
            if first < end { from_block(first)..from_block(end) } else { 0..0 }
        };
        let straddler = |number: usize| {
            let border = (number + 1) * block;
            let before = border % size;
            if before == 0 || border / size >= len {
                return None;
            }
            let mut item = MaybeUninit::<T>::uninit();
            let to = item.as_mut_ptr().cast::<u8>();
            // SAFETY: the vector held this item: so many bytes of it end one block, the others begin the next.
            unsafe {
                to.copy_from_nonoverlapping(blocks[number].as_ptr().as_ptr().add(block - before), before);
                to.add(before).copy_from_nonoverlapping(blocks[number + 1].as_ptr().as_ptr(), size - before);
                Some(item.assume_init())
            }
        };
        straddlers.extend((0..blocks.len()).map(straddler));
        let parts = blocks.into_iter().zip(straddlers).enumerate();
        pieces.extend(parts.map(|(i, (block, straddler))| Piece { block: Some(block), inside: inside(i), straddler }));
        Ok(pieces)
    }

    /// The items that lie wholly in the block.
    pub(crate) fn items(&self) -> &[T] {
        let Some(block) = &self.block else { return &[] };
        // SAFETY: items of the vector, whose block is ours now.
        unsafe {
            let start = block.as_ptr().as_ptr().add(self.inside.start).cast::<T>();
            std::slice::from_raw_parts(start, self.inside.len() / size_of::<T>())
        }
    }

    /// The item after those, if it ends in the next block.
    pub(crate) fn straddler(&self) -> &[T] {
        self.straddler.as_slice()
    }

    /// Forgets the first `count` items.
    pub(crate) fn skip(&mut self, count: usize) {
        let inside = count.min(self.items().len());
        self.inside.start += inside * size_of::<T>();
        if inside < count {
            self.straddler = None;
        }
    }

    /// The block, if it was not taken before; its items are gone.
    pub(crate) fn take_block(&mut self) -> Option<RawBlock> {
        self.straddler = None;
        self.block.take()
    }

    /// Whether the block was not taken.
    pub(crate) fn is_there(&self) -> bool {
        self.block.is_some()
    }

    /// The block, if it is there, with the bytes of its items.
    pub(super) fn into_parts(self) -> Option<(RawBlock, Range<usize>)> {
        Some((self.block?, self.inside))
    }
}

/// The bytes of items.
pub(super) fn bytes_of<T: Keyed>(items: &[T]) -> &[MaybeUninit<u8>] {
    // SAFETY: any byte may be seen as one that is perhaps not initialised.
    unsafe { std::slice::from_raw_parts(items.as_ptr().cast(), size_of_val(items)) }
}

/// Memory in which buckets are full of items.
pub(crate) struct Filled<T> {
    memory: RewiredVec<MaybeUninit<u8>>,
    items: PhantomData<T>,
    /// The first byte of each bucket, a place for an item, and its length in items.
    buckets: Vec<(usize, usize)>,
}

impl<T: Keyed> Filled<T> {
    /// # Safety
    /// From the first byte of each bucket on, so many items have been written; buckets are apart.
    ///
    /// # Panics
    /// If a bucket is outside of the memory.
    pub(super) unsafe fn new(memory: RewiredVec<MaybeUninit<u8>>, buckets: Vec<(usize, usize)>) -> Filled<T> {
        for &(start, len) in &buckets {
            assert!(start + len * size_of::<T>() <= memory.len() && start % align_of::<T>() == 0);
        }
        Filled { memory, items: PhantomData, buckets }
    }

    pub(crate) fn buckets(&self) -> &[(usize, usize)] {
        &self.buckets
    }

    pub(crate) fn bucket(&self, bucket: usize) -> &[T] {
        let (start, len) = self.buckets[bucket];
        // SAFETY: written, as `new` was promised, and borrowed with `self`.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(start).cast(), len) }
    }

    pub(crate) fn bucket_mut(&mut self, bucket: usize) -> &mut [T] {
        let (start, len) = self.buckets[bucket];
        // SAFETY: as above, and borrowed by nobody else.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_mut_ptr().add(start).cast(), len) }
    }

    /// All buckets at once.
    pub(crate) fn all_mut(&mut self) -> impl ExactSizeIterator<Item = &mut [T]> {
        let start = self.memory.as_mut_ptr();
        self.buckets.iter().map(move |&(at, len)| {
            // SAFETY: as above; buckets are apart, and each is given out once.
            unsafe { std::slice::from_raw_parts_mut(start.add(at).cast(), len) }
        })
    }

    /// Whether each bucket begins where the one before ends, and the first with the memory. Empty ones lie nowhere.
    pub(crate) fn is_contiguous(&self) -> bool {
        let mut end = 0;
        let mut filled = self.buckets.iter().filter(|bucket| bucket.1 > 0);
        filled.all(|&(start, len)| std::mem::replace(&mut end, start + len * size_of::<T>()) == start)
    }

    pub(crate) fn len(&self) -> usize {
        self.buckets.iter().map(|&(_, len)| len).sum()
    }

    /// All items, if they are contiguous.
    pub(crate) fn as_slice(&self) -> Option<&[T]> {
        // SAFETY: from the first byte on everything is written.
        let all = || unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast(), self.len()) };
        self.is_contiguous().then(all)
    }

    /// The vector of all items.
    ///
    /// # Panics
    /// If they are not contiguous.
    pub(crate) fn into_vec(self) -> RewiredVec<T> {
        assert!(self.is_contiguous(), "buckets are apart");
        let len = self.len();
        // SAFETY: from the first byte on everything is written.
        let mut vector = unsafe { self.memory.assume_init(len) };
        vector.shrink_to_fit();
        vector
    }
}
