//! Memory with a descriptor (memfd), which may be mapped any number of times, in any process that has the descriptor.
//!
//! A range named by address and length must belong to the caller: that is the one condition of every `unsafe fn` here.

use super::{Errno, Refusal};
use crate::units::HUGE_PAGE;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use rustix::mm::{self, Advice, MapFlags, MprotectFlags, ProtFlags};
use std::ffi::c_void;
use std::ops::Range;
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
/// `linux/pidfd.h`: in the place of a descriptor, the thread itself; Linux 6.14.
const PIDFD_SELF: i32 = -10000;
/// Nobody can take memory away from under a mapping, or change these rules.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);
/// `statfs(2)`: the memory is made of pages that the administrator has set aside.
const HUGETLBFS: u32 = 0x9584_58f6;

fn at(address: usize) -> *mut c_void {
    ptr::with_exposed_provenance_mut(address)
}

/// Creates `len` bytes of zeros that stay as long as somebody maps them or has the descriptor. All of it is there:
/// no touch can find that memory has run out.
///
/// # Errors
/// The call that was refused.
pub(crate) fn create(len: usize) -> Result<OwnedFd, Refusal> {
    let fd = make()?;
    grow(&fd, len)?;
    make_room(&fd, 0..len)?;
    rustix::fs::fcntl_add_seals(&fd, SEALS).map_err(Refusal::of("fcntl(F_ADD_SEALS)"))?;
    Ok(fd)
}

fn make() -> Result<OwnedFd, Refusal> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels before 6.3 do not know that memory need not be executable.
    let made = rustix::fs::memfd_create(c"eagre", flags | MemfdFlags::NOEXEC_SEAL)
        .or_else(|_| rustix::fs::memfd_create(c"eagre", flags));
    let fd = made.map_err(Refusal::of("memfd_create"))?;
    super::above_standard(fd).map_err(Refusal::of("fcntl"))
}

/// Makes sure that there is memory behind every byte.
fn make_room(fd: &OwnedFd, range: Range<usize>) -> Result<(), Refusal> {
    // In pieces: a signal makes the kernel begin again.
    const PIECE: usize = 2 * HUGE_PAGE;
    for start in range.clone().step_by(PIECE) {
        let piece = (range.end - start).min(PIECE) as u64;
        let room = || rustix::fs::fallocate(fd, FallocateFlags::empty(), start as u64, piece);
        rustix::io::retry_on_intr(room).map_err(|refused| match refused {
            rustix::io::Errno::NOSPC => Refusal { call: "fallocate", errno: Errno::NOMEM },
            other => Refusal { call: "fallocate", errno: other.into() },
        })?;
    }
    Ok(())
}

/// Creates memory that is there only where it is [written](write) or [asked for](add_room), and that [grows](grow).
///
/// # Errors
/// The call that was refused.
pub(crate) fn create_sparse() -> Result<OwnedFd, Refusal> {
    let fd = make()?;
    rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK.union(SealFlags::SEAL))
        .map_err(Refusal::of("fcntl(F_ADD_SEALS)"))?;
    Ok(fd)
}

/// Makes memory `len` bytes long.
///
/// # Errors
/// The call that was refused. `EFBIG`: the limit of the process on files (`ulimit -f`), beyond which the kernel would send a
/// signal.
pub(crate) fn grow(fd: &OwnedFd, len: usize) -> Result<(), Refusal> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    if limit.is_some_and(|limit| len as u64 > limit) {
        return Err(Refusal { call: "ftruncate", errno: rustix::io::Errno::FBIG.into() });
    }
    rustix::fs::ftruncate(fd, len as u64).map_err(Refusal::of("ftruncate"))
}

/// Makes sure that there is memory behind a range of sparse memory.
///
/// # Errors
/// The call that was refused.
pub(crate) fn add_room(fd: &OwnedFd, range: Range<usize>) -> Result<(), Refusal> {
    make_room(fd, range)
}

/// Copies `len` bytes at `address` to `offset` of sparse memory, which gets what it needs for them. Safe in handlers.
///
/// # Errors
/// `ENOSPC`, `ENOMEM`: there is no memory.
///
/// # Safety
/// The bytes are there, and nobody changes them meanwhile.
pub(crate) unsafe fn write(fd: &OwnedFd, offset: usize, address: usize, len: usize) -> Result<(), Errno> {
    // SAFETY: the caller's contract.
    let bytes = unsafe { std::slice::from_raw_parts(at(address).cast::<u8>().cast_const(), len) };
    let mut done = 0;
    while done < len {
        match rustix::io::pwrite(fd, &bytes[done..], (offset + done) as u64) {
            Ok(0) => return Err(Errno::NOMEM),
            Ok(written) => done += written,
            Err(rustix::io::Errno::INTR) => {}
            Err(refused) => return Err(refused.into()),
        }
    }
    Ok(())
}

/// Gives the memory behind a range of sparse memory back; it reads as zeros. What the kernel refuses stays.
///
/// # Errors
/// What the kernel says.
pub(crate) fn punch(fd: &OwnedFd, offset: usize, len: usize) -> Result<(), Errno> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let punched = rustix::io::retry_on_intr(|| rustix::fs::fallocate(fd, flags, offset as u64, len as u64));
    punched.map_err(Errno::from)
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
    make_room(fd, 0..len)
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
    // SAFETY: the caller's contract.
    unsafe {
        map_piece(fd, offset, address, len, access)?;
        keep_out(address, len)
    }
}

/// The same for one of many pieces of a range, which is [kept out](keep_out) of children and dumps when all are mapped.
///
/// # Safety
/// The range belongs to the caller, who gives up its contents.
#[inline]
pub(crate) unsafe fn map_piece(
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
    unsafe { mm::mmap(at(address), len, access, flags, fd, offset as u64)? };
    Ok(())
}

/// Keeps what is mapped in a range out of forked children and core dumps.
///
/// # Safety
/// The range belongs to the caller.
#[inline]
pub(crate) unsafe fn keep_out(address: usize, len: usize) -> Result<(), Errno> {
    // SAFETY: the caller owns the range; contents do not change.
    unsafe {
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
    // SAFETY: the caller owns the range; contents do not change.
    quietly(|| unsafe { libc::madvise(at(address), len, MADV_COLLAPSE) } >= 0)
}

/// Empties the page tables of several ranges at once, so that the next touch of them is a fault: with one interrupt of other
/// processors for all, where the kernel can. The memory stays.
///
/// # Errors
/// What the kernel says.
///
/// # Safety
/// The ranges belong to the caller, and hold nothing but mappings of memory with a descriptor, or nothing at all.
pub(crate) unsafe fn empty_tables(ranges: &[Range<usize>; 2]) -> Result<(), Errno> {
    let pieces = ranges.each_ref().map(|range| libc::iovec { iov_base: at(range.start), iov_len: range.len() });
    let all: usize = ranges.iter().map(ExactSizeIterator::len).sum();
    // Of this process itself: since Linux 6.13. (The number is that of this thread, and a thread's memory is its process's.)
    let at_once = || {
        let (first, count) = (pieces.as_ptr(), pieces.len());
        // SAFETY: the caller's contract; the pieces are there until the call is over.
        let done =
            unsafe { libc::syscall(libc::SYS_process_madvise, PIDFD_SELF, first, count, libc::MADV_DONTNEED, 0) };
        done == all as i64
    };
    if quietly(at_once).is_ok() {
        return Ok(());
    }
    ranges.iter().filter(|range| !range.is_empty()).try_for_each(|range| {
        // SAFETY: the caller's contract.
        unsafe { mm::madvise(at(range.start), range.len(), Advice::LinuxDontNeed) }.map_err(Errno::from)
    })
}

/// A call of the C library, whose error number is not to be seen: a handler must leave that of its thread alone.
fn quietly(call: impl FnOnce() -> bool) -> Result<(), Errno> {
    // SAFETY: `errno` of this thread.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let failed = (!call()).then(|| Errno(*errno));
        *errno = before;
        failed.map_or(Ok(()), Err)
    }
}
