//! Blocks with several addresses: memory that a descriptor names, cut into blocks.
//!
//! A block here has no home. It may be mapped at any number of addresses at once, for reading or for writing, in every
//! process that has the descriptor: that is what streams between processes stand on.
//!
//! ```text
//!   addresses    ┌ 0 ┬ 1 ┬ 2 ┐   ┌ 1 ┐        ┌ 0 ┐       in this process, or another
//!                  │   │   │       │            │
//!   memory         0   1   2 ◀─────┘   0 ◀──────┘
//! ```
//!
//! All of the memory is there from the start and cannot shrink: no touch of a mapped block finds none. It counts
//! against the control group of whoever made it.

use super::error::{RewireError, RewireErrorKind};
use crate::sys::shared::{self, Access};
use crate::sys::{Errno, Refusal};
use crate::units::{BlockSize, Bytes, HUGE_PAGE};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A number of blocks that a descriptor names, of pages of 4 KiB, which [`SharedBlocks::collapse`] makes huge.
///
/// Huge pages that the administrator has set aside would not do: whoever else has the descriptor can punch holes, for which no page
/// may be left.
#[derive(Debug)]
pub(crate) struct SharedBlocks {
    fd: OwnedFd,
    block: BlockSize,
    blocks: usize,
}

impl SharedBlocks {
    /// `blocks` blocks of zeros.
    ///
    /// # Errors
    /// [`RewireErrorKind::OutOfMemory`], [`RewireErrorKind::System`].
    pub(crate) fn new(block: BlockSize, blocks: usize) -> Result<SharedBlocks, RewireError> {
        let too_many = || no_memory(u64::MAX, Refusal { call: "ftruncate", errno: Errno::NOMEM });
        let len = block.bytes().checked_mul(blocks).ok_or_else(too_many)?;
        let fd = shared::create(len).map_err(|refusal| no_memory(len as u64, refusal))?;
        Ok(SharedBlocks { fd, block, blocks })
    }

    /// Blocks that another process has made and passed on. Nothing is believed: the memory must be of ordinary pages, exactly as
    /// large, and sealed against shrinking.
    ///
    /// # Errors
    /// [`RewireErrorKind::OutOfMemory`]; [`RewireErrorKind::System`] if the descriptor is for anything else.
    pub(crate) fn adopt(fd: OwnedFd, block: BlockSize, blocks: usize) -> Result<SharedBlocks, RewireError> {
        let len = block.bytes().saturating_mul(blocks);
        shared::check(&fd, len).map_err(|refusal| match refusal.is_shortage() {
            true => no_memory(len as u64, refusal),
            false => RewireError::new(
                RewireErrorKind::System,
                format_args!("the descriptor is not for {} of sealed memory: {refusal}", Bytes(len as u64)),
            ),
        })?;
        Ok(SharedBlocks { fd, block, blocks })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    fn bytes(&self, run: &Range<usize>) -> Result<usize, Errno> {
        let inside = run.start < run.end && run.end <= self.blocks;
        if inside { Ok(run.len() * self.block.bytes()) } else { Err(Errno::INVAL) }
    }

    /// Maps a run of blocks at `address`, in place of what was there. Safe in handlers.
    ///
    /// # Errors
    /// `ENOMEM` where there are no mappings left. `EINVAL` if there are no such blocks.
    ///
    /// # Safety
    /// The range belongs to the caller, who gives up its contents. What the mapping shows other mappings may change.
    #[inline]
    pub(crate) unsafe fn map(&self, run: Range<usize>, address: usize, access: Access) -> Result<(), Errno> {
        let len = self.bytes(&run)?;
        // SAFETY: the caller's contract.
        unsafe { shared::map(&self.fd, run.start * self.block.bytes(), address, len, access) }
    }

    /// Makes a run of blocks, mapped at `address`, of huge pages, in every process. Contents stay. False where the kernel
    /// cannot, or has no such pages now: then they stay as they are. It takes some milliseconds a huge page.
    ///
    /// # Safety
    /// The run is mapped at `address`, in a range that belongs to the caller.
    pub(crate) unsafe fn collapse(&self, run: Range<usize>, address: usize) -> bool {
        let Ok(len) = self.bytes(&run) else { return false };
        // SAFETY: the caller's contract.
        len >= HUGE_PAGE && unsafe { shared::collapse(address, len) }.is_ok()
    }
}

fn no_memory(bytes: u64, refusal: Refusal) -> RewireError {
    RewireError::from_memory("of shared memory", bytes, refusal)
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;
    use crate::memory::reservation::Reservation;
    use rustix::fs::{MemfdFlags, SealFlags};
    use std::ptr;

    const SMALL: BlockSize = BlockSize::MIN;

    fn at(address: usize) -> *mut u64 {
        ptr::with_exposed_provenance_mut(address)
    }

    /// A range for `blocks` blocks, given back at the end.
    fn with_range(block: BlockSize, blocks: usize, test: impl FnOnce(usize)) {
        let range = Reservation::aligned(blocks * block.bytes(), block.bytes().max(HUGE_PAGE)).unwrap();
        test(range.start());
        // SAFETY: nobody uses it any more.
        unsafe { range.unmap() };
    }

    #[test]
    fn a_block_has_several_addresses() {
        let blocks = SharedBlocks::new(SMALL, 3).unwrap();
        let len = SMALL.bytes();
        with_range(SMALL, 4, |start| {
            // SAFETY: inside our range.
            unsafe {
                blocks.map(0..3, start, Access::ReadWrite).unwrap();
                blocks.map(1..2, start + 3 * len, Access::Read).unwrap();
                assert_eq!(*at(start + 3 * len), 0);
                *at(start + len) = 7;
                assert_eq!(*at(start + 3 * len), 7);
                assert_eq!(*at(start), 0);
                // Mapped away and again, it still holds what it held.
                blocks.map(2..3, start + len, Access::ReadWrite).unwrap();
                assert_eq!(*at(start + len), 0);
                blocks.map(1..2, start, Access::ReadWrite).unwrap();
                assert_eq!(*at(start), 7);
                let beyond = blocks.map(2..4, start, Access::Read);
                assert_eq!(beyond, Err(Errno::INVAL));
                assert_eq!(*at(start), 7);
            }
        });
    }

    #[test]
    fn collapsed_blocks_hold_what_they_held() {
        let blocks = SharedBlocks::new(BlockSize::DEFAULT, 2).unwrap();
        let words = 2 * BlockSize::DEFAULT.bytes() / 8;
        with_range(BlockSize::DEFAULT, 4, |start| {
            // SAFETY: inside our range.
            unsafe {
                blocks.map(0..2, start, Access::ReadWrite).unwrap();
                blocks.map(0..2, start + words * 8, Access::Read).unwrap();
                (0..words).for_each(|word| *at(start).add(word) = word as u64);
                // Not everywhere possible.
                let huge = blocks.collapse(0..2, start);
                assert!((0..words).all(|word| *at(start).add(words + word) == word as u64), "{huge}");
            }
        });
    }

    #[test]
    fn what_is_passed_on_is_checked() {
        let made = SharedBlocks::new(SMALL, 2).unwrap();
        let copy = || made.fd().try_clone_to_owned().unwrap();
        let adopted = SharedBlocks::adopt(copy(), SMALL, 2).unwrap();
        with_range(SMALL, 2, |start| {
            // SAFETY: inside our range.
            unsafe {
                made.map(1..2, start, Access::ReadWrite).unwrap();
                adopted.map(1..2, start + SMALL.bytes(), Access::Read).unwrap();
                *at(start) = 5;
                assert_eq!(*at(start + SMALL.bytes()), 5);
            }
        });
        // It cannot be made smaller, nor its seals be taken off.
        assert!(rustix::fs::ftruncate(made.fd(), 0).is_err());
        assert!(rustix::fs::fcntl_add_seals(made.fd(), SealFlags::WRITE).is_err());

        let unsealed = rustix::fs::memfd_create(c"test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        rustix::fs::ftruncate(&unsealed, 2 * SMALL.bytes() as u64).unwrap();
        let file: OwnedFd = std::fs::File::open("/proc/self/exe").unwrap().into();
        for (what, fd, blocks) in [
            ("one block more", copy(), 3),
            ("one block less", copy(), 1),
            ("not sealed", unsealed, 2),
            ("a file", file, 2),
            ("too many to count", copy(), usize::MAX),
        ] {
            let error = SharedBlocks::adopt(fd, SMALL, blocks).unwrap_err();
            assert_eq!(error.kind(), RewireErrorKind::System, "{what}: {error}");
        }
    }

    #[test]
    fn more_than_there_is_is_refused() {
        let error = SharedBlocks::new(BlockSize::MAX, usize::MAX / 2).unwrap_err();
        assert_eq!(error.kind(), RewireErrorKind::OutOfMemory, "{error}");
    }
}
