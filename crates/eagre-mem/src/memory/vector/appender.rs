//! The end of a vector, in registers while a loop appends to it.

use super::calls::no_room;
use super::{Rejected, RewiredVec};
use crate::memory::slots::one_more;
use std::fmt;
use std::ptr::NonNull;

/// Appends to a [`RewiredVec`] that it borrows; made by [`RewiredVec::appender`].
///
/// [`RewiredVec::push`] must store the vector's length with each element, unless the vector is a local variable that no
/// pointer leads to. This keeps the length in a register and stores it once, when it is dropped: a loop is then a
/// comparison and a store an element, whoever owns the vector. If the code between panics, what was appended stays.
///
/// ```
/// # use eagre_mem::{BlockSize, Pool, RewiredVec};
/// fn evens(numbers: &[u64], into: &mut RewiredVec<u64>) {
///     let mut end = into.appender();
///     numbers.iter().filter(|&number| number % 2 == 0).for_each(|&number| end.push(number));
/// }
/// # let pool = Pool::new(BlockSize::DEFAULT, 2, None, None)?;
/// # let mut into = RewiredVec::in_pool(&pool)?;
/// evens(&[1, 2, 3, 4], &mut into);
/// assert_eq!(into, *[2, 4].as_slice());
/// # Ok::<(), eagre_mem::RewireError>(())
/// ```
pub struct Appender<'v, T> {
    vector: &'v mut RewiredVec<T>,
    start: NonNull<T>,
    /// The vector's own length and capacity are behind until this is dropped, and never ahead.
    len: usize,
    capacity: usize,
}

impl<T> RewiredVec<T> {
    /// The end of the vector, for a loop that appends: see [`Appender`].
    #[inline]
    pub fn appender(&mut self) -> Appender<'_, T> {
        Appender { start: self.start, len: self.len, capacity: self.capacity, vector: self }
    }
}

impl<T> Appender<'_, T> {
    /// Appends an element.
    ///
    /// # Panics
    /// If there is no room, with the error of [`RewiredVec::try_push`].
    #[inline]
    pub fn push(&mut self, value: T) {
        if self.is_full() && !self.grow() {
            no_room(self.vector.why_full());
        }
        // SAFETY: there is room, or there is now.
        unsafe { self.put(value) };
    }

    /// Appends an element, or hands it back.
    ///
    /// # Errors
    /// As [`RewiredVec::try_reserve`].
    #[inline]
    pub fn try_push(&mut self, value: T) -> Result<(), Rejected<T>> {
        if self.is_full() && !self.grow() {
            return Err(Rejected { value, error: self.vector.why_full() });
        }
        // SAFETY: as above.
        unsafe { self.put(value) };
        Ok(())
    }

    #[inline]
    fn grow(&mut self) -> bool {
        let capacity = one_more(&mut self.vector.slots, size_of::<T>());
        if capacity != 0 {
            self.capacity = capacity;
        }
        capacity != 0
    }

    /// Whether the memory is full; the vector may still grow.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.len == self.capacity
    }

    /// # Safety
    /// There is room.
    #[inline]
    pub(super) unsafe fn put(&mut self, value: T) {
        // SAFETY: the caller says there is room; beyond `len` there are no elements.
        unsafe { self.start.add(self.len).write(value) };
        self.len += 1;
    }
}

impl<T> Drop for Appender<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.vector.len = self.len;
        self.vector.capacity = self.capacity;
    }
}

impl<T> fmt::Debug for Appender<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Appender").field("len", &self.len).field("capacity", &self.capacity).finish()
    }
}
