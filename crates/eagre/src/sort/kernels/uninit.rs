//! Slices of memory that is not initialised yet: what the standard library has from Rust 1.93 on.

use std::mem::MaybeUninit;

/// A slice of which a part is written before it is read.
pub(super) trait UninitSlice<T> {
    /// The values.
    ///
    /// # Safety
    /// All of them are initialised.
    unsafe fn written(&self) -> &[T];

    /// The values.
    ///
    /// # Safety
    /// All of them are initialised.
    unsafe fn written_mut(&mut self) -> &mut [T];

    /// Copies values into all of the slice.
    ///
    /// # Panics
    /// If there are more values than places, or fewer.
    fn copied(&mut self, from: &[T]) -> &mut [T]
    where
        T: Copy;
}

impl<T> UninitSlice<T> for [MaybeUninit<T>] {
    #[inline(always)]
    unsafe fn written(&self) -> &[T] {
        // SAFETY: the caller's promise; the layouts are the same.
        unsafe { &*(&raw const *self as *const [T]) }
    }

    #[inline(always)]
    unsafe fn written_mut(&mut self) -> &mut [T] {
        // SAFETY: the caller's promise; the layouts are the same.
        unsafe { &mut *(&raw mut *self as *mut [T]) }
    }

    #[inline(always)]
    fn copied(&mut self, from: &[T]) -> &mut [T]
    where
        T: Copy,
    {
        // SAFETY: what is initialised is also a value that may not be; the layouts are the same.
        self.copy_from_slice(unsafe { &*(&raw const *from as *const [MaybeUninit<T>]) });
        // SAFETY: written just now.
        unsafe { self.written_mut() }
    }
}

/// Says that the branch it stands in is rarely taken. What calls a cold function is cold, also if nothing is left of it.
#[cold]
#[inline]
pub(super) fn cold() {}
