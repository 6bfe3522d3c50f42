//! Memory that stays where it is.

use std::ops::Range;
use std::{io, ptr};

use eagre_mem::FixedMemory;

use crate::error::{FabricError, FabricErrorKind};

/// Memory at an address where it stays, which another host may write once it is registered for that.
pub struct Memory {
    start: *mut u8,
    len: usize,
    owner: Owner,
}

enum Owner {
    /// It is mapped for this alone.
    Own,
    /// The memory of a pool, which lives as long as this does.
    Pool(#[allow(dead_code, reason = "it is kept alive")] FixedMemory),
}

// SAFETY: the memory does not care which thread uses it. What is shared and written is said at each call.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// So many zeros.
    ///
    /// # Errors
    /// [`FabricErrorKind::Refused`].
    pub fn new(len: usize) -> Result<Memory, FabricError> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: a new range, wherever the system likes.
        let start = unsafe { libc::mmap(ptr::null_mut(), len, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            let why = io::Error::last_os_error();
            return Err(FabricError::new(FabricErrorKind::Refused, format_args!("no memory of {len} bytes: {why}")));
        }
        Ok(Memory { start: start.cast(), len, owner: Owner::Own })
    }

    /// The memory of a pool. Whoever has its blocks has the bytes: nothing here touches them.
    pub fn of_pool(memory: FixedMemory) -> Memory {
        Memory { start: memory.start(), len: memory.len(), owner: Owner::Pool(memory) }
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    /// How many bytes there are.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks for none")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// How far from the beginning bytes are that lie in this memory.
    ///
    /// # Panics
    /// If they do not.
    pub fn place_of(&self, bytes: &[u8]) -> Range<usize> {
        let start = bytes.as_ptr().addr().wrapping_sub(self.start.addr());
        let range = start..start.saturating_add(bytes.len());
        self.check(&range);
        range
    }

    pub(crate) fn check(&self, range: &Range<usize>) {
        assert!(range.start <= range.end && range.end <= self.len, "inside the memory");
    }

    /// Copies bytes into memory of its own, where nothing that is on its way is.
    ///
    /// # Panics
    /// If there is no room, or it is a pool's memory.
    pub fn fill(&self, at: usize, bytes: &[u8]) {
        self.check_own(&(at..at + bytes.len()));
        // SAFETY: inside our range. A card that reads it meanwhile, against the rules, sends bytes that were to be sent anyway.
        unsafe { self.start.add(at).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }

    /// Copies bytes out of memory of its own, which the other side has given up.
    ///
    /// # Panics
    /// If there are not so many, or it is a pool's memory.
    pub fn copy_out(&self, at: usize, bytes: &mut [u8]) {
        self.check_own(&(at..at + bytes.len()));
        // SAFETY: inside our range, and initialised: it was zeros. The other side holds the token, and writes a place again only when
        // that is granted anew. One that breaks this changes what is copied, as with memory that processes share.
        unsafe { self.start.add(at).copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
    }

    fn check_own(&self, range: &Range<usize>) {
        assert!(matches!(self.owner, Owner::Own), "memory of its own");
        self.check(range);
    }

    /// Numbers that the other side may change at any time: they are read once.
    pub(crate) fn words<const N: usize>(&self, at: usize) -> [u64; N] {
        self.check_own(&(at..at + N * 8));
        assert!(at.is_multiple_of(8), "aligned");
        // SAFETY: inside our range, aligned, and any bytes are numbers.
        std::array::from_fn(|word| unsafe { self.start.add(at + word * 8).cast::<u64>().read_volatile() })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if matches!(self.owner, Owner::Own) {
            // SAFETY: the range is ours, and nobody has it registered any more.
            unsafe { libc::munmap(self.start.cast(), self.len) };
        }
    }
}
