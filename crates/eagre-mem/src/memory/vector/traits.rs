//! A rewired vector as the standard traits see it.

use super::RewiredVec;
use std::fmt;
use std::io;
use std::iter::FusedIterator;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::slice;

impl<T> Deref for RewiredVec<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the elements below `len` are initialised, aligned, and borrowed with `self`.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for RewiredVec<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and `self` is borrowed by nobody else.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T> AsRef<[T]> for RewiredVec<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T> AsMut<[T]> for RewiredVec<T> {
    fn as_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T: fmt::Debug> fmt::Debug for RewiredVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: PartialEq<U>, U> PartialEq<RewiredVec<U>> for RewiredVec<T> {
    fn eq(&self, other: &RewiredVec<U>) -> bool {
        **self == **other
    }
}

impl<T: PartialEq<U>, U> PartialEq<[U]> for RewiredVec<T> {
    fn eq(&self, other: &[U]) -> bool {
        **self == *other
    }
}

impl<T: Eq> Eq for RewiredVec<T> {}

/// Grows block by block, whatever the iterator says of its length.
impl<T> Extend<T> for RewiredVec<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        let mut values = values.into_iter();
        loop {
            let mut end = self.appender();
            while !end.is_full() {
                let Some(value) = values.next() else { return };
                // SAFETY: there is room.
                unsafe { end.put(value) };
            }
            let Some(value) = values.next() else { return };
            end.push(value);
        }
    }
}

impl<'a, T: Copy + 'a> Extend<&'a T> for RewiredVec<T> {
    fn extend<I: IntoIterator<Item = &'a T>>(&mut self, values: I) {
        self.extend(values.into_iter().copied());
    }
}

/// Never writes part of what it is given: all, or an error.
impl io::Write for RewiredVec<u8> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.try_extend_from_slice(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'v, T> IntoIterator for &'v RewiredVec<T> {
    type Item = &'v T;
    type IntoIter = slice::Iter<'v, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'v, T> IntoIterator for &'v mut RewiredVec<T> {
    type Item = &'v mut T;
    type IntoIter = slice::IterMut<'v, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T> IntoIterator for RewiredVec<T> {
    type Item = T;
    type IntoIter = RewiredIntoIter<T>;
    fn into_iter(mut self) -> RewiredIntoIter<T> {
        let left = self.len;
        // The elements are the iterator's to drop now; the memory is still the vector's.
        self.len = 0;
        let border = self.first_beyond(1);
        RewiredIntoIter { memory: ManuallyDrop::new(self), next: 0, end: left, border, passed: 0 }
    }
}

/// The elements of a [`RewiredVec`], one by one, while the vector vanishes: each block goes back to the pool as soon as
/// its last element has been taken from the front and the one after it is asked for. To fill `n` other vectors from this
/// one takes `n + 1` blocks more, not twice the memory. The rest goes with the iterator.
pub struct RewiredIntoIter<T> {
    /// A vector of length 0 on the memory of elements `next..end`.
    memory: ManuallyDrop<RewiredVec<T>>,
    next: usize,
    end: usize,
    /// The first element of which no byte is in the blocks up to and with number `passed`.
    border: usize,
    /// Blocks that have gone back.
    passed: usize,
}

impl<T> RewiredIntoIter<T> {
    /// What is left.
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: elements that were not given out.
        unsafe { slice::from_raw_parts(self.memory.start.as_ptr().add(self.next), self.end - self.next) }
    }

    /// Gives the blocks back that the elements left have no byte in.
    #[cold]
    #[inline(never)]
    fn pass_border(&mut self) {
        while self.next >= self.border && self.memory.is_here() {
            // SAFETY: nothing is left in it: every element with a byte there has been given out.
            unsafe { self.memory.slots.give_back(self.passed) };
            self.passed += 1;
            self.border = self.memory.first_beyond(self.passed + 1);
        }
    }
}

impl<T> Iterator for RewiredIntoIter<T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        if self.next == self.end {
            return None;
        }
        if self.next >= self.border {
            self.pass_border();
        }
        self.next += 1;
        // SAFETY: an element until now, and nobody's but the caller's from now on.
        Some(unsafe { self.memory.start.add(self.next - 1).read() })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.next, Some(self.end - self.next))
    }
}

impl<T> DoubleEndedIterator for RewiredIntoIter<T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        if self.next == self.end {
            return None;
        }
        self.end -= 1;
        // SAFETY: as above.
        Some(unsafe { self.memory.start.add(self.end).read() })
    }
}

impl<T> ExactSizeIterator for RewiredIntoIter<T> {}
impl<T> FusedIterator for RewiredIntoIter<T> {}

impl<T> Drop for RewiredIntoIter<T> {
    fn drop(&mut self) {
        /// Gives the memory back, also if an element panics.
        struct Memory<'i, T>(&'i mut ManuallyDrop<RewiredVec<T>>);
        impl<T> Drop for Memory<'_, T> {
            fn drop(&mut self) {
                // SAFETY: once, and nobody uses the iterator after its drop.
                unsafe { ManuallyDrop::drop(self.0) };
            }
        }
        let (start, left) = (self.memory.start.as_ptr().wrapping_add(self.next), self.end - self.next);
        let memory = Memory(&mut self.memory);
        if memory.0.is_here() {
            // SAFETY: elements that were not given out, dropped once.
            unsafe { ptr::slice_from_raw_parts_mut(start, left).drop_in_place() };
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for RewiredIntoIter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RewiredIntoIter").field(&self.as_slice()).finish()
    }
}
