//! The page cache: how much of a file is in it, when to go past it, and how.
//!
//! Bytes in the page cache arrive at the speed of memory. Other bytes arrive at the speed of the disk, and would evict
//! what is in the cache. So all code that reads or writes large files asks this module:
//!
//! | caller | in the page cache | choice |
//! |---|---|---|
//! | `scan` | [`WARM`] or more | the file is mapped |
//! | | between | it is read through the cache, and readahead brings the rest |
//! | | less than [`COLD`] | it is read past the cache |
//! | `file`, reading | less than [`COLD`], or unknown | past the cache; otherwise through it |
//! | `file`, writing | | past the cache: the bytes are new |
//! | `copy`, reading | all of a piece | that piece is read through the cache; otherwise past it |
//! | `copy`, writing | | past the cache: the bytes must become durable anyway, and are written once instead of twice |
//!
//! Files below [`LEAST_TO_SCAN`], [`LEAST_TO_STREAM`] or [`LEAST_TO_COPY`] go through the cache, whatever it holds. So
//! do files that [live in memory](lives_in_memory).

mod buffer;
mod residency;

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use eagre_mem::BlockSize;
use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};

#[cfg_attr(not(feature = "copy"), allow(unused_imports, reason = "for copies"))]
pub(crate) use buffer::Buffer;
pub(crate) use residency::lives_in_memory;
use residency::residency;

/// At least this fraction of a file must be in the page cache for it to be scanned in a mapping. The missing pages
/// fault in, a few at a time, which is slower than reading. For a tenth of the file that pays.
const WARM: f64 = 0.9;
/// If less than this fraction of a file is in the page cache, the file is read past the cache. That takes as long as
/// reading the missing half through the cache, and does not evict other files.
const COLD: f64 = 0.5;

/// Smaller files are scanned by reading, with one thread. Mapping them, or starting a thread, would take as long as
/// that.
pub(crate) const LEAST_TO_SCAN: u64 = 2 << 20;
/// Smaller files are streamed through the cache. The preparations (another open file, a ring of requests, blocks of 2
/// MiB) would not pay.
pub(crate) const LEAST_TO_STREAM: u64 = 4 << 20;
/// Smaller files are copied through the cache. The limit is lower than for a stream because a copy only opens two more
/// files.
#[cfg(feature = "copy")]
pub(crate) const LEAST_TO_COPY: u64 = 1 << 20;

/// The alignment of offsets, lengths and memory for `O_DIRECT` where the file system does not tell it: the largest disk
/// block that we know of.
pub(crate) const ALIGN: usize = 4096;

/// How much of a range of a file is in the page cache, as a fraction of 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Warmth {
    /// All, or nearly.
    Warm(f64),
    /// Some.
    Half(f64),
    /// Little, or nothing.
    Cold(f64),
}

/// How much of `length` bytes from `offset` is in the page cache. `None` if there is no way to know.
pub(crate) fn warmth(file: &File, offset: u64, length: u64) -> Option<Warmth> {
    Some(match residency(file, offset, length)?.fraction() {
        fraction if fraction >= WARM => Warmth::Warm(fraction),
        fraction if fraction >= COLD => Warmth::Half(fraction),
        fraction => Warmth::Cold(fraction),
    })
}

/// Whether all of `length` bytes from `offset` are in the page cache. `None` if the kernel does not count.
#[cfg(feature = "copy")]
pub(crate) fn holds_all(file: &File, offset: u64, length: u64) -> Option<bool> {
    eagre_mem::cache::resident(file, offset, length).ok().map(|cached| cached >= length)
}

/// The alignment of offsets and lengths for transfers past the cache. `None` if these are not possible, or of no use.
pub(crate) fn alignment(file: &File) -> Option<usize> {
    if lives_in_memory(file) {
        return None;
    }
    match rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) {
        Ok(said) if said.stx_mask & StatxFlags::DIOALIGN.bits() != 0 => {
            let least = said.stx_dio_offset_align.max(said.stx_dio_mem_align) as usize;
            (said.stx_dio_offset_align > 0 && least <= BlockSize::MIN.bytes()).then_some(least.max(512))
        }
        // The kernel or file system does not tell. Opening the file will.
        _ => Some(ALIGN),
    }
}

/// Opens the same file again, past the page cache. The given open file may be shared with other programs, so its flags
/// must not change.
///
/// # Errors
/// The file system does not support `O_DIRECT`, or the file may not be opened with this access.
pub(crate) fn reopen_past(file: &File, access: OFlags) -> io::Result<File> {
    let flags = access | OFlags::DIRECT | OFlags::CLOEXEC | OFlags::NOCTTY;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

/// As [`reopen_past`]. `None` if that fails, or if the file lives in memory, whatever the file system says about
/// `O_DIRECT`.
#[cfg(feature = "copy")]
pub(crate) fn past(file: &File, access: OFlags) -> Option<File> {
    if lives_in_memory(file) { None } else { reopen_past(file, access).ok() }
}
