//! Memory that stays where it is.

use std::ops::Range;
use std::{io, ptr};

use crate::error::{FabricError, FabricErrorKind};

/// Zeros at an address of their own, which another host may write once they are registered for that.
pub(crate) struct Memory {
    start: *mut u8,
    len: usize,
}

// SAFETY: the memory is ours alone, whichever thread we are.
unsafe impl Send for Memory {}

impl Memory {
    pub(crate) fn new(len: usize) -> Result<Memory, FabricError> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: a new range, wherever the system likes.
        let start = unsafe { libc::mmap(ptr::null_mut(), len, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            let why = io::Error::last_os_error();
            return Err(FabricError::new(FabricErrorKind::Refused, format_args!("no memory of {len} bytes: {why}")));
        }
        Ok(Memory { start: start.cast(), len })
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn check(&self, range: &Range<usize>) {
        assert!(range.start <= range.end && range.end <= self.len, "inside the memory");
    }

    /// Bytes that the other side has given up: it holds the token, and writes a block again only when it has it back. One that
    /// breaks this changes what is looked at, as with memory that processes share.
    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.check(&range);
        // SAFETY: inside our range, and initialised: it was zeros.
        unsafe { std::slice::from_raw_parts(self.start.add(range.start), range.len()) }
    }

    /// Bytes of this side's.
    pub(crate) fn bytes_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        self.check(&range);
        // SAFETY: inside our range and borrowed from us; the card reads only blocks that are on their way, which are not asked for.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(range.start), range.len()) }
    }

    /// Numbers that the other side may change at any time: they are read once.
    pub(crate) fn words<const N: usize>(&self, at: usize) -> [u64; N] {
        self.check(&(at..at + N * 8));
        assert!(at.is_multiple_of(8), "aligned");
        // SAFETY: inside our range, aligned, and any bytes are numbers.
        std::array::from_fn(|word| unsafe { self.start.add(at + word * 8).cast::<u64>().read_volatile() })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the range is ours, and nobody has it registered any more.
        unsafe { libc::munmap(self.start.cast(), self.len) };
    }
}
