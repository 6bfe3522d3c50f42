//! The methods of a vector.

use super::{Rejected, RewiredVec};
use crate::memory::error::RewireError;
use std::mem::MaybeUninit;
use std::ptr;

impl<T> RewiredVec<T> {
    /// Appends an element. For a loop of them on a vector that is not a local variable, see [`RewiredVec::appender`].
    ///
    /// # Panics
    /// If there is no room, with the error of [`RewiredVec::try_push`].
    #[inline]
    pub fn push(&mut self, value: T) {
        let last = self.begin_push();
        if last == self.capacity && !self.grow() {
            self.len = last;
            no_room(self.why_full());
        }
        // SAFETY: `last` is less than `capacity`, so this is memory of ours without an element.
        unsafe { self.start.add(last).write(value) };
    }

    /// Counts the new element before it is there; nothing can unwind until it is. Stored first thing and on every path,
    /// the length of a vector that nobody else has a pointer to stays in a register throughout a loop of pushes. Elsewhere
    /// it is stored for each element, which takes every other entry in the processor's store queue; an appender and
    /// `extend` never do that.
    #[inline]
    fn begin_push(&mut self) -> usize {
        let last = self.len;
        self.len = last.wrapping_add(1);
        last
    }

    /// Appends an element, or hands it back.
    ///
    /// # Errors
    /// As [`RewiredVec::try_reserve`].
    #[inline]
    pub fn try_push(&mut self, value: T) -> Result<(), Rejected<T>> {
        let last = self.begin_push();
        if last == self.capacity && !self.grow() {
            self.len = last;
            return Err(Rejected { value, error: self.why_full() });
        }
        // SAFETY: as above.
        unsafe { self.start.add(last).write(value) };
        Ok(())
    }

    /// Makes sure that there is memory for `additional` more elements.
    ///
    /// # Panics
    /// With the error of [`RewiredVec::try_reserve`].
    pub fn reserve(&mut self, additional: usize) {
        if let Err(error) = self.try_reserve(additional) {
            no_room(error);
        }
    }

    /// Takes the last element, if there is one.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        // SAFETY: it was an element until now, and is none any more.
        Some(unsafe { self.start.add(self.len).read() })
    }

    /// Appends clones of all elements of a slice.
    ///
    /// # Panics
    /// As [`RewiredVec::push`], before the first is cloned. If a clone panics, those before it stay.
    pub fn extend_from_slice(&mut self, other: &[T])
    where
        T: Clone,
    {
        self.reserve(other.len());
        self.append_clones(other);
    }

    /// Appends clones of all elements of a slice, or of none.
    ///
    /// # Errors
    /// As [`RewiredVec::try_reserve`].
    pub fn try_extend_from_slice(&mut self, other: &[T]) -> Result<(), RewireError>
    where
        T: Clone,
    {
        self.try_reserve(other.len())?;
        self.append_clones(other);
        Ok(())
    }

    /// There is room for them.
    fn append_clones(&mut self, other: &[T])
    where
        T: Clone,
    {
        let mut end = self.appender();
        for value in other {
            // SAFETY: room for all of them was made.
            unsafe { end.put(value.clone()) };
        }
    }

    /// Appends clones of `value`, or drops elements, until there are `len`.
    ///
    /// # Panics
    /// As [`RewiredVec::extend_from_slice`].
    pub fn resize(&mut self, len: usize, value: T)
    where
        T: Clone,
    {
        let Some(more) = len.checked_sub(self.len) else { return self.truncate(len) };
        self.reserve(more);
        let mut end = self.appender();
        for _ in 0..more {
            // SAFETY: room for all of them was made.
            unsafe { end.put(value.clone()) };
        }
    }

    /// Drops the elements beyond the first `len`. Keeps the memory: see [`RewiredVec::shrink_to_fit`].
    pub fn truncate(&mut self, len: usize) {
        let Some(gone) = self.len.checked_sub(len) else { return };
        self.len = len;
        // SAFETY: they were elements until now; whatever happens while they are dropped, they are none any more.
        unsafe { ptr::slice_from_raw_parts_mut(self.start.as_ptr().add(len), gone).drop_in_place() };
    }

    /// Drops all elements. Keeps the memory.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Takes out the element at `index`; the last one takes its place.
    ///
    /// # Panics
    /// If there is no such element.
    pub fn swap_remove(&mut self, index: usize) -> T {
        assert!(index < self.len, "removal index {index} is not less than the length {}", self.len);
        let last = self.len - 1;
        self.swap(index, last);
        match self.pop() {
            Some(value) => value,
            None => unreachable!("there is at least one element"),
        }
    }

    /// Puts an element before the one at `index`, or at the end; those behind it move up.
    ///
    /// # Panics
    /// If `index` is more than the length. As [`RewiredVec::push`].
    pub fn insert(&mut self, index: usize, value: T) {
        assert!(index <= self.len, "insertion index {index} is more than the length {}", self.len);
        self.push(value);
        self[index..].rotate_right(1);
    }

    /// Takes out the element at `index`; those behind it move down.
    ///
    /// # Panics
    /// If there is no such element.
    pub fn remove(&mut self, index: usize) -> T {
        assert!(index < self.len, "removal index {index} is not less than the length {}", self.len);
        self[index..].rotate_left(1);
        match self.pop() {
            Some(value) => value,
            None => unreachable!("there is at least one element"),
        }
    }

    /// Gives back to the pool all blocks that hold no element. (A pinned block stays with its I/O; the pool gets new
    /// memory for it.)
    pub fn shrink_to_fit(&mut self) {
        self.shrink(0);
    }

    /// Gives back to the pool the blocks that neither the elements nor room for `least` elements in all need.
    pub fn shrink_to(&mut self, least: usize) {
        self.shrink(least);
    }

    /// A pointer to the first element, valid as long as the vector: it grows in place.
    #[inline]
    pub fn as_ptr(&self) -> *const T {
        self.start.as_ptr()
    }

    /// A pointer to the first element, valid as long as the vector: it grows in place.
    #[inline]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.start.as_ptr()
    }

    /// The memory beyond the last element, to be written before [`RewiredVec::set_len`].
    #[inline]
    pub fn spare_capacity_mut(&mut self) -> &mut [MaybeUninit<T>] {
        // SAFETY: memory of ours without elements, borrowed with `self`.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(self.len).cast(), self.capacity - self.len) }
    }

    /// Declares how many elements there are. Drops none.
    ///
    /// # Safety
    /// `len` is at most the capacity, and all elements below it are initialised.
    #[inline]
    pub unsafe fn set_len(&mut self, len: usize) {
        debug_assert!(len <= self.capacity);
        self.len = len;
    }
}

/// What calls without `try_` do.
#[cold]
#[inline(never)]
pub(super) fn no_room(error: RewireError) -> ! {
    panic!("{error}")
}
