//! Arrays of NumPy as slices.
//!
//! Python cannot say that nobody else uses an array. As in NumPy, that is what the caller of each function promises: no other
//! thread changes an array that a function reads, and none touches one that a function changes.

use numpy::npyffi::flags::{NPY_ARRAY_CARRAY, NPY_ARRAY_CARRAY_RO};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// What any bytes are.
///
/// # Safety
/// Any bytes of its size are one.
pub(crate) unsafe trait Raw: Copy + Send + Sync + 'static {}

macro_rules! raw {
    ($($type:ty)*) => { $(
        // SAFETY: numbers have no forbidden bytes and no padding.
        unsafe impl Raw for $type {}
    )* };
}

raw!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

// SAFETY: an array has no padding.
unsafe impl<T: Raw, const N: usize> Raw for [T; N] {}

/// An array whose elements lie one after the other, aligned and in this machine's byte order.
pub(crate) struct Plain<'a, 'py> {
    array: &'a Bound<'py, PyUntypedArray>,
    writable: bool,
}

impl<'a, 'py> Plain<'a, 'py> {
    /// An array to read, if it is plain.
    pub(crate) fn to_read(array: &'a Bound<'py, PyUntypedArray>) -> Option<Plain<'a, 'py>> {
        Plain::with(array, NPY_ARRAY_CARRAY_RO, false)
    }

    /// An array to change, if it is plain.
    pub(crate) fn to_write(array: &'a Bound<'py, PyUntypedArray>) -> Option<Plain<'a, 'py>> {
        Plain::with(array, NPY_ARRAY_CARRAY, true)
    }

    fn with(array: &'a Bound<'py, PyUntypedArray>, wanted: i32, writable: bool) -> Option<Plain<'a, 'py>> {
        // SAFETY: a live array, whose flags nobody changes while we have the GIL.
        let flags = unsafe { (*array.as_array_ptr()).fields.flags };
        (flags & wanted == wanted && array.dtype().is_native_byteorder() != Some(false))
            .then_some(Plain { array, writable })
    }

    /// The number of the type, and the size of an element in bytes.
    pub(crate) fn kind(&self) -> (i32, usize) {
        let dtype = self.array.dtype();
        (dtype.num(), dtype.itemsize())
    }

    pub(crate) fn len(&self) -> usize {
        self.array.len()
    }

    /// The elements along the last axis.
    pub(crate) fn row(&self) -> usize {
        self.array.shape().last().copied().unwrap_or(1)
    }

    fn start<T>(&self) -> *mut T {
        assert_eq!(self.kind().1, size_of::<T>(), "an element has the size of its kind");
        // SAFETY: a live array.
        unsafe { (*self.array.as_array_ptr()).fields.data.cast() }
    }

    /// All elements.
    ///
    /// # Panics
    /// If elements have another size.
    pub(crate) fn items<T: Raw>(&self) -> &'a [T] {
        match self.len() {
            0 => &[],
            // SAFETY: a plain array has `len` aligned elements of this size from here on, and any bytes are a `T`. The
            // reference we borrow keeps the array alive; that nobody changes it is the caller's promise.
            len => unsafe { std::slice::from_raw_parts(self.start(), len) },
        }
    }

    /// All elements, to be changed.
    ///
    /// # Panics
    /// If elements have another size, or the array is not one to write.
    pub(crate) fn items_mut<T: Raw>(&mut self) -> &'a mut [T] {
        assert!(self.writable, "an array to write");
        match self.len() {
            0 => &mut [],
            // SAFETY: as in `items`; that nobody touches it is the caller's promise.
            len => unsafe { std::slice::from_raw_parts_mut(self.start(), len) },
        }
    }
}

/// The bytes of an array of bytes that is plain, for threads that outlive a call. They keep the array.
pub(crate) struct Kept {
    bytes: &'static [u8],
    _array: Py<PyUntypedArray>,
}

impl Kept {
    /// The bytes of an array, if it is plain.
    pub(crate) fn new(array: &Bound<'_, PyUntypedArray>) -> Option<Kept> {
        let bytes = Plain::to_read(array)?.items::<u8>();
        // SAFETY: the reference to the array that stands beside the bytes keeps them where they are.
        let bytes = unsafe { std::mem::transmute::<&[u8], &'static [u8]>(bytes) };
        Some(Kept { bytes, _array: array.clone().unbind() })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes
    }
}
