//! An array of keys on pages of a chosen kind.

use std::io;

use super::numbers::Element;
use crate::memory::{Pages, Region};

/// So many keys of one kind, zero at first.
pub(crate) struct Array<T> {
    region: Region,
    len: usize,
    kind: std::marker::PhantomData<T>,
}

/// Keys any bits of which are a value.
pub(crate) trait Plain: Element {}
impl Plain for u32 {}
impl Plain for u64 {}
impl Plain for i32 {}
impl Plain for i64 {}
impl Plain for f32 {}
impl Plain for (u32, u32) {}
impl Plain for u128 {}
impl Plain for f64 {}
impl Plain for (u64, u64) {}
impl Plain for [u64; 2] {}

impl<T: Plain> Array<T> {
    /// Maps room for `len` keys.
    pub(crate) fn new(len: usize, pages: Pages) -> io::Result<Array<T>> {
        let bytes = len.checked_mul(size_of::<T>()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Array { region: Region::map(bytes, pages)?, len, kind: std::marker::PhantomData })
    }

    /// The keys.
    pub(crate) fn keys_mut(&mut self) -> &mut [T] {
        // SAFETY: the region is at least `len` keys long, page-aligned, zero at first, and any bits are a `T`; it is
        // borrowed with `self`.
        unsafe { std::slice::from_raw_parts_mut(self.region.base().cast::<T>(), self.len) }
    }
}
