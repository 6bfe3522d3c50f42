//! Address space and what is mapped in it.
//!
//! All ranges are whole pages. A range named by address and length must belong to the caller: that is the one
//! condition of every `unsafe fn` here.

use super::{Errno, Refusal};
use rustix::mm::{self, Advice, MapFlags, MprotectFlags, MremapFlags, ProtFlags};
use std::ffi::c_void;
use std::ptr;

const NOTHING: ProtFlags = ProtFlags::empty();
const READ_WRITE: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);
const PLAIN: MapFlags = MapFlags::PRIVATE.union(MapFlags::NORESERVE);

fn at(address: usize) -> *mut c_void {
    ptr::with_exposed_provenance_mut(address)
}

/// Reserves `len` bytes of addresses with nothing behind them, aligned to `align` (a power of two, whole pages).
///
/// The range is unlocked (`mlockall(MCL_FUTURE)` would fill it when it opens), stays out of forked children and of
/// core dumps, and gets no huge pages unless it asks for them.
pub(crate) fn reserve(len: usize, align: usize) -> Result<usize, Refusal> {
    let wide = len.checked_add(align).ok_or(Refusal { call: "mmap", errno: Errno::NOMEM })?;
    // SAFETY: a fresh mapping at an address of the kernel's choosing touches nobody's memory.
    let raw = unsafe { mm::mmap_anonymous(ptr::null_mut(), wide, NOTHING, PLAIN) }.map_err(Refusal::of("mmap"))?;
    let raw = raw.expose_provenance();
    let start = raw.next_multiple_of(align);
    let trim = |from: usize, to: usize| match to - from {
        0 => Ok(()),
        // SAFETY: a piece of the mapping made above, outside of the aligned range handed out.
        len => unsafe { mm::munmap(at(from), len) }.map_err(Refusal::of("munmap")),
    };
    let trimmed = trim(raw, start).and_then(|()| trim(start + len, raw + wide));
    // SAFETY: made above, and nobody has seen it.
    unsafe {
        trimmed.and_then(|()| keep_out(start, len)).map(|()| start).inspect_err(|_| {
            let _ = mm::munmap(at(start), len);
        })
    }
}

/// Makes sure that a range stays out of forked children, core dumps, locked memory and huge pages.
///
/// # Safety
/// The range belongs to the caller and holds nothing.
unsafe fn keep_out(start: usize, len: usize) -> Result<(), Refusal> {
    // SAFETY: the caller owns the range, which is empty.
    unsafe {
        let _ = mm::munlock(at(start), len);
        mm::madvise(at(start), len, Advice::LinuxDontFork).map_err(Refusal::of("madvise(MADV_DONTFORK)"))?;
        mm::madvise(at(start), len, Advice::LinuxDontDump).map_err(Refusal::of("madvise(MADV_DONTDUMP)"))?;
        // A kernel built without huge pages knows no such advice, and needs none.
        let _ = mm::madvise(at(start), len, Advice::LinuxNoHugepage);
    }
    Ok(())
}

/// Gives a whole range back.
///
/// # Safety
/// The range belongs to the caller and nothing refers to it.
pub(crate) unsafe fn unmap(start: usize, len: usize, _align: usize) -> Result<(), Errno> {
    // SAFETY: the caller owns the range.
    unsafe { mm::munmap(at(start), len) }.map_err(Errno::from)
}

/// Opens a range for reading and writing.
///
/// # Safety
/// The range belongs to the caller.
#[inline]
pub(crate) unsafe fn open(start: usize, len: usize) -> Result<(), Errno> {
    // SAFETY: the caller owns the range.
    unsafe { mm::mprotect(at(start), len, MprotectFlags::READ.union(MprotectFlags::WRITE)) }.map_err(Errno::from)
}

/// Closes an open range whose pages have moved on: a touch is a fault before a page table is made for it.
///
/// # Safety
/// The range belongs to the caller, and nobody uses what is in it.
#[inline]
pub(crate) unsafe fn shut(start: usize, len: usize) -> Result<(), Errno> {
    // SAFETY: the caller owns the range.
    unsafe { mm::mprotect(at(start), len, MprotectFlags::empty()) }.map_err(Errno::from)
}

/// Asks for huge pages in a range; not an error where there are none.
///
/// # Safety
/// The range belongs to the caller.
pub(crate) unsafe fn want_huge(start: usize, len: usize) {
    // SAFETY: the caller owns the range; advice changes no contents.
    let _ = unsafe { mm::madvise(at(start), len, Advice::LinuxHugepage) };
}

/// Backs an open range with zeroed memory now. Unlike a touch, running out of memory is an error and not a signal.
///
/// # Safety
/// The range belongs to the caller.
pub(crate) unsafe fn populate(start: usize, len: usize) -> Result<(), Errno> {
    // SAFETY: the caller owns the range; pages that are present keep their contents.
    match unsafe { mm::madvise(at(start), len, Advice::LinuxPopulateWrite) } {
        // Kernels before 5.14 do not know the advice: the first touch does the same.
        Err(rustix::io::Errno::INVAL) => Ok(()),
        other => Ok(other?),
    }
}

/// Drops the memory behind a range; it reads as never touched. Frees empty page tables where the kernel can (6.14).
///
/// # Safety
/// The range belongs to the caller, who gives up its contents.
#[inline]
pub(crate) unsafe fn discard(start: usize, len: usize) -> Result<(), Errno> {
    // SAFETY: the caller owns the range and its contents.
    unsafe { mm::madvise(at(start), len, Advice::LinuxDontNeed) }.map_err(Errno::from)
}

/// Takes the locks off a range (`mlock`): locked pages can neither move nor be dropped. Not an error where there are none.
///
/// # Safety
/// The range belongs to the caller.
pub(crate) unsafe fn unlock(start: usize, len: usize) {
    // SAFETY: the caller owns the range; contents do not change.
    let _ = unsafe { mm::munlock(at(start), len) };
}

/// Replaces a range by a fresh closed reservation: contents, page tables and registrations are gone.
///
/// # Safety
/// The range belongs to the caller, who gives up its contents.
pub(crate) unsafe fn close(start: usize, len: usize) -> Result<(), Errno> {
    // SAFETY: the caller owns the range and its contents.
    unsafe {
        mm::mmap_anonymous(at(start), len, NOTHING, PLAIN.union(MapFlags::FIXED))?;
        Ok(keep_out(start, len)?)
    }
}

/// Replaces a range by open memory that the kernel zeroes on first touch. Where a limit allows no more private memory
/// (`ulimit -d`), it is shared memory, which no limit counts.
///
/// # Safety
/// The range belongs to the caller, who gives up its contents.
pub(crate) unsafe fn open_fresh(start: usize, len: usize) -> Result<(), Errno> {
    // SAFETY: the caller owns the range and its contents.
    unsafe {
        let map = |flags: MapFlags| mm::mmap_anonymous(at(start), len, READ_WRITE, flags.union(MapFlags::FIXED));
        map(PLAIN).or_else(|_| map(MapFlags::SHARED.union(MapFlags::NORESERVE)))?;
        let _ = mm::munlock(at(start), len);
        mm::madvise(at(start), len, Advice::LinuxDontFork)?;
        mm::madvise(at(start), len, Advice::LinuxDontDump)?;
    }
    Ok(())
}

/// Makes the pages at `from` appear at `to`; `from` is a closed reservation afterwards.
///
/// The source keeps a mapping throughout (`MREMAP_DONTUNMAP`, kernel 5.7), so no other thread's `mmap` can land in it.
///
/// # Safety
/// Both ranges belong to the caller and do not overlap; what was at `to` is gone.
pub(crate) unsafe fn remap(from: usize, to: usize, len: usize) -> Result<(), Errno> {
    // SAFETY: the caller owns both ranges.
    unsafe {
        move_mapping(from, to, len)?;
        // The pages have moved, so this is no failure, whatever happens to the empty source. A process that locks all it maps
        // (`mlockall`) may map nothing more at its limit, but may still close a mapping.
        if close(from, len).is_err() {
            let _ = shut(from, len);
        }
    }
    Ok(())
}

/// Moves what is mapped at `from` to `to`, with its page tables; `from` is an empty mapping of the same kind afterwards, as open as it was.
///
/// # Errors
/// `EINVAL` for memory with a descriptor on kernels before 5.13.
///
/// # Safety
/// As for [`remap`].
pub(crate) unsafe fn move_mapping(from: usize, to: usize, len: usize) -> Result<(), Errno> {
    let flags = MremapFlags::MAYMOVE | MremapFlags::DONTUNMAP;
    // SAFETY: the caller owns both ranges; `mremap_fixed` adds MREMAP_FIXED, which replaces the destination.
    unsafe {
        if let Err(refused) = mm::mremap_fixed(at(from), len, len, flags, at(to)) {
            // The kernel has unmapped the destination before it refused for lack of memory. Reserved again, so that no other
            // mapping comes there, which the next move would replace.
            let unless_mapped = PLAIN.union(MapFlags::FIXED_NOREPLACE);
            if mm::mmap_anonymous(at(to), len, NOTHING, unless_mapped).is_ok() {
                let _ = keep_out(to, len);
            }
            return Err(refused.into());
        }
    }
    Ok(())
}

/// Maps a piece of a file for reading; returns its address.
pub(crate) fn file(file: &std::fs::File, offset: u64, len: usize) -> Result<usize, Errno> {
    // Shared: a private mapping would see the same bytes, but counts against what may be committed in odd cases.
    // SAFETY: a fresh mapping at an address of the kernel's choosing touches nobody's memory.
    let start = unsafe { mm::mmap(ptr::null_mut(), len, ProtFlags::READ, MapFlags::SHARED, file, offset)? };
    Ok(start.expose_provenance())
}

/// Fills the page tables of a range, reading what is not in memory. Only advice: what fails is found by the touch.
///
/// # Safety
/// The range belongs to the caller.
pub(crate) unsafe fn populate_read(start: usize, len: usize) {
    // SAFETY: the caller owns the range; contents do not change.
    let _ = unsafe { mm::madvise(at(start), len, Advice::LinuxPopulateRead) };
}
