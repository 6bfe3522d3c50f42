//! Memory with a descriptor (memfd), which may be mapped any number of times, in any process that has the descriptor.
//!
//! A range named by address and length must belong to the caller: that is the one condition of every `unsafe fn` here.

use super::{Errno, Refusal};
use crate::units::HUGE_PAGE;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use rustix::mm::{self, Advice, MapFlags, MprotectFlags, ProtFlags};
use std::ffi::c_void;
use std::ptr;

/// What a mapping lets this process do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// A touch is a fault.
    Closed,
    Read,
    ReadWrite,
}

/// `madvise(2)`; Linux 6.1.
const MADV_COLLAPSE: i32 = 25;
/// Nobody can take memory away from under a mapping, or change these rules.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);
/// `statfs(2)`: the memory is made of pages that the administrator has set aside.
const HUGETLBFS: u32 = 0x9584_58f6;

fn at(address: usize) -> *mut c_void {
    ptr::with_exposed_provenance_mut(address)
}

/// Creates `len` bytes of zeros that stay as long as somebody maps them or has the descriptor. All of it is there:
/// no touch can find that memory has run out. `huge`: of huge pages that the administrator has set aside.
///
/// # Errors
/// The call that was refused; with `huge` also where there are no such pages.
pub(crate) fn create(len: usize, huge: bool) -> Result<OwnedFd, Refusal> {
    let kind = if huge { MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB } else { MemfdFlags::empty() };
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | kind;
    // Kernels before 6.3 do not know that memory need not be executable.
    let made = rustix::fs::memfd_create(c"eagre", flags | MemfdFlags::NOEXEC_SEAL)
        .or_else(|_| rustix::fs::memfd_create(c"eagre", flags));
    let fd = made.map_err(Refusal::of("memfd_create"))?;
    let fd = super::above_standard(fd).map_err(Refusal::of("fcntl"))?;
    // Beyond the limit of the process on files the kernel would send a signal.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    if limit.is_some_and(|limit| len as u64 > limit) {
        return Err(Refusal { call: "ftruncate", errno: rustix::io::Errno::FBIG.into() });
    }
    rustix::fs::ftruncate(&fd, len as u64).map_err(Refusal::of("ftruncate"))?;
    make_room(&fd, len)?;
    rustix::fs::fcntl_add_seals(&fd, SEALS).map_err(Refusal::of("fcntl(F_ADD_SEALS)"))?;
    Ok(fd)
}

/// Makes sure that there is memory behind every byte.
fn make_room(fd: &OwnedFd, len: usize) -> Result<(), Refusal> {
    // In pieces: a signal makes the kernel begin again.
    const PIECE: usize = 2 * HUGE_PAGE;
    for start in (0..len).step_by(PIECE) {
        let piece = (len - start).min(PIECE) as u64;
        let room = || rustix::fs::fallocate(fd, FallocateFlags::empty(), start as u64, piece);
        rustix::io::retry_on_intr(room).map_err(|refused| match refused {
            rustix::io::Errno::NOSPC => Refusal { call: "fallocate", errno: Errno::NOMEM },
            other => Refusal { call: "fallocate", errno: other.into() },
        })?;
    }
    Ok(())
}

/// Checks a descriptor that somebody else has made: memory of `len` bytes of ordinary pages that cannot shrink, and all of
/// it is there.
///
/// # Errors
/// `EINVAL` if it is anything else.
pub(crate) fn check(fd: &OwnedFd, len: usize) -> Result<(), Refusal> {
    let wrong = Refusal { call: "fcntl(F_GET_SEALS)", errno: Errno::INVAL };
    // Other files have no seals.
    let sealed = rustix::fs::fcntl_get_seals(fd).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
    let size = rustix::fs::fstat(fd).map_err(Refusal::of("fstat"))?.st_size;
    let kind = rustix::fs::fstatfs(fd).map_err(Refusal::of("fstatfs"))?.f_type;
    if !sealed || u64::try_from(size) != Ok(len as u64) || kind as u32 == HUGETLBFS {
        return Err(wrong);
    }
    make_room(fd, len)
}

/// Maps `len` bytes from `offset` of the memory at `address`, in place of what was there. Not inherited by forked
/// children, and not part of core dumps.
///
/// # Safety
/// The range belongs to the caller, who gives up its contents.
#[inline]
pub(crate) unsafe fn map(
    fd: impl AsFd,
    offset: usize,
    address: usize,
    len: usize,
    access: Access,
) -> Result<(), Errno> {
    let access = match access {
        Access::Closed => ProtFlags::empty(),
        Access::Read => ProtFlags::READ,
        Access::ReadWrite => ProtFlags::READ | ProtFlags::WRITE,
    };
    let flags = MapFlags::SHARED | MapFlags::NORESERVE | MapFlags::FIXED;
    // SAFETY: the caller owns the range and its contents.
    unsafe {
        mm::mmap(at(address), len, access, flags, fd, offset as u64)?;
        mm::madvise(at(address), len, Advice::LinuxDontFork)?;
        mm::madvise(at(address), len, Advice::LinuxDontDump)?;
    }
    Ok(())
}

/// Opens or closes what is mapped in a range.
///
/// # Safety
/// The range belongs to the caller, and memory with a descriptor is mapped all over it.
#[inline]
pub(crate) unsafe fn set_access(address: usize, len: usize, access: Access) -> Result<(), Errno> {
    let access = match access {
        Access::Closed => MprotectFlags::empty(),
        Access::Read => MprotectFlags::READ,
        Access::ReadWrite => MprotectFlags::READ | MprotectFlags::WRITE,
    };
    // SAFETY: the caller owns the range.
    unsafe { mm::mprotect(at(address), len, access) }.map_err(Errno::from)
}

/// Fills the page tables of a range, so that no touch in it is a fault.
///
/// # Safety
/// The range belongs to the caller and is open.
#[inline]
pub(crate) unsafe fn fill_tables(address: usize, len: usize) -> Result<(), Errno> {
    // As if it were read: that maps pages sixteen at a time, and those of a mapping open for writing are open for it as well.
    // SAFETY: the caller owns the range; contents do not change.
    match unsafe { mm::madvise(at(address), len, Advice::LinuxPopulateRead) } {
        // Kernels before 5.14 do not know the advice: the touch does the same.
        Err(rustix::io::Errno::INVAL) => Ok(()),
        other => Ok(other?),
    }
}

/// Puts huge pages in the place of small ones, whoever else maps them. Contents stay.
///
/// # Errors
/// `EINVAL` where the kernel cannot (before 6.1); others where it has no huge page to give.
///
/// # Safety
/// The range belongs to the caller, and memory with a descriptor is mapped all over it.
pub(crate) unsafe fn collapse(address: usize, len: usize) -> Result<(), Errno> {
    // SAFETY: `errno` of this thread, which a handler must leave alone.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let failed = (libc::madvise(at(address), len, MADV_COLLAPSE) != 0).then(|| Errno(*errno));
        *errno = before;
        failed.map_or(Ok(()), Err)
    }
}
