//! Plain memory for the peers: a mapping with a chosen page size, touched beforehand on request.
//!
//! The peers use this instead of Eagre's own pool, so that a flaw of the pool does not slow the peers down.

use std::ffi::c_void;
use std::io;
use std::ptr::NonNull;

use crate::trouble::Trouble;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use serde::{Deserialize, Serialize};

/// Regions begin at multiples of this: the largest block a row moves.
pub(crate) const ALIGNMENT: usize = 4 << 20;

/// The page size that the kernel is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Pages {
    /// 2 MiB pages, if the machine has them.
    Huge,
    /// 4 KiB pages.
    Small,
}

/// A private anonymous mapping, readable and writable, unmapped when dropped.
pub(crate) struct Region {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a region owns its mapping as a box owns its allocation; nothing in it belongs to a thread.
unsafe impl Send for Region {}

impl Region {
    /// Maps `len` bytes at a multiple of [`ALIGNMENT`], not yet touched.
    pub(crate) fn map(len: usize, pages: Pages) -> io::Result<Region> {
        let len = len.next_multiple_of(ALIGNMENT);
        let (prot, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
        // SAFETY: a new mapping at an address of the kernel's choice touches nobody's memory; what
        // is unmapped below is the unaligned part of that same mapping.
        unsafe {
            let raw = mmap_anonymous(std::ptr::null_mut(), len + ALIGNMENT, prot, flags)?.cast::<u8>();
            let before = raw.align_offset(ALIGNMENT);
            if before > 0 {
                munmap(raw.cast::<c_void>(), before)?;
            }
            let base = raw.add(before);
            munmap(base.add(len).cast::<c_void>(), ALIGNMENT - before)?;
            let advice = match pages {
                Pages::Huge => Advice::LinuxHugepage,
                Pages::Small => Advice::LinuxNoHugepage,
            };
            // A kernel without huge pages refuses the advice; the region is as good without.
            let _ = madvise(base.cast::<c_void>(), len, advice);
            let base = NonNull::new(base).ok_or(io::ErrorKind::OutOfMemory)?;
            Ok(Region { base, len })
        }
    }

    /// Maps and touches `len` bytes: every page is there before the clock runs.
    pub(crate) fn touched(len: usize, pages: Pages) -> io::Result<Region> {
        let mut region = Region::map(len, pages)?;
        region.words_mut().fill(0);
        Ok(region)
    }

    /// The first byte.
    pub(crate) fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// The length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The contents as words.
    pub(crate) fn words(&self) -> &[u64] {
        // SAFETY: the mapping is readable, zero-initialised, aligned, and borrowed with `self`.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().cast(), self.len / 8) }
    }

    /// The contents as words.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: as above, and writable, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().cast(), self.len / 8) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the range is this region's own, and no borrow of it outlives it. A failure leaks.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// Words seen as bytes, for calls that want bytes.
pub(crate) fn bytes_of(words: &[u64]) -> &[u8] {
    // SAFETY: every byte of a word is a valid byte, and alignment only loosens.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len() * 8) }
}

/// Words seen as bytes, for calls that want bytes.
pub(crate) fn bytes_of_mut(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: as above, and every pattern of bytes is a valid word.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), words.len() * 8) }
}

/// Bytes that are whole, aligned words, as words.
pub(crate) fn words_of(bytes: &[u8]) -> Result<&[u64], Trouble> {
    // SAFETY: every pattern of bytes is a valid word.
    match unsafe { bytes.align_to::<u64>() } {
        ([], words, []) => Ok(words),
        _ => Err(Trouble::Wrong("a piece that is not whole, aligned words".into())),
    }
}

/// Room for whole, aligned words, as words.
pub(crate) fn words_of_mut(bytes: &mut [u8]) -> Result<&mut [u64], Trouble> {
    // SAFETY: every pattern of bytes is a valid word, and of words valid bytes.
    match unsafe { bytes.align_to_mut::<u64>() } {
        ([], words, []) => Ok(words),
        _ => Err(Trouble::Wrong("room that is not whole, aligned words".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_aligned_zeroed_and_writable() {
        for pages in [Pages::Huge, Pages::Small] {
            let mut region = Region::map(5 << 20, pages).unwrap();
            assert_eq!(region.base() as usize % ALIGNMENT, 0);
            assert_eq!(region.len(), 8 << 20);
            assert!(region.words().iter().all(|w| *w == 0));
            let last = region.words().len() - 1;
            region.words_mut()[last] = 9;
            assert_eq!(bytes_of(region.words())[last * 8], 9);
        }
    }
}
