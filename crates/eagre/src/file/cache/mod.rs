//! The page cache: how much of a file is in it, when to go past it, and how.
//!
//! What is in the page cache comes at the speed of memory. What is not comes at the speed of a disk, and would drive out
//! what is there. So whoever reads or writes a large file asks here:
//!
//! | who | in the cache | then |
//! |---|---|---|
//! | `scan` | [`WARM`] or more | the file is mapped |
//! | | between | it is read through the cache: reading ahead brings the rest |
//! | | less than [`COLD`] | it is read past the cache |
//! | `file`, reading | less than [`COLD`], or nobody knows | past the cache |
//! | `file`, writing | | past the cache: nobody has the bytes yet |
//! | `copy`, reading | all of a piece | through the cache, each piece for itself; else past it |
//! | `copy`, writing | | past the cache: what is to be made durable anyhow is written once and not twice |
//!
//! Files below [`LEAST_TO_SCAN`], [`LEAST_TO_STREAM`] or [`LEAST_TO_COPY`] go through the cache, whatever it holds; so does what
//! [lives in memory](lives_in_memory).

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

/// A file that is in the page cache to this part is scanned in a mapping. What is missing of it faults in, a few pages at a
/// time, which is slower than reading: a tenth is worth it.
const WARM: f64 = 0.9;
/// A file that is in the page cache to less than this part is taken from the disk: past the cache that takes as long as to
/// read the missing half through it, and leaves the cache to others.
const COLD: f64 = 0.5;

/// Less than this is scanned by reading, with one thread: it would take as long to map it, or to start a thread.
pub(crate) const LEAST_TO_SCAN: u64 = 2 << 20;
/// A stream from a file below this is not worth the preparations: another open file, a ring of requests, blocks of 2 MiB.
pub(crate) const LEAST_TO_STREAM: u64 = 4 << 20;
/// A copy below this is not worth going past the page cache. Less than for a stream, since it takes only two open files.
#[cfg(feature = "copy")]
pub(crate) const LEAST_TO_COPY: u64 = 1 << 20;

/// What O_DIRECT wants offsets, lengths and memory to be multiples of, where the file system does not say: the largest block
/// of a disk we know.
pub(crate) const ALIGN: usize = 4096;

/// How much of a stretch of a file is in the page cache, as a part of 1.
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

/// What offsets and lengths of transfers past the cache must be multiples of. `None`: not possible, or of no use.
pub(crate) fn alignment(file: &File) -> Option<usize> {
    if lives_in_memory(file) {
        return None;
    }
    match rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) {
        Ok(said) if said.stx_mask & StatxFlags::DIOALIGN.bits() != 0 => {
            let least = said.stx_dio_offset_align.max(said.stx_dio_mem_align) as usize;
            (said.stx_dio_offset_align > 0 && least <= BlockSize::MIN.bytes()).then_some(least.max(512))
        }
        // A kernel or file system that does not say: opening it will.
        _ => Some(ALIGN),
    }
}

/// The same file once more, past the page cache: an open file of our own, since the one we were given may be shared with other
/// programs.
///
/// # Errors
/// The file system has no such thing, or the file may not be opened so.
pub(crate) fn reopen_past(file: &File, access: OFlags) -> io::Result<File> {
    let flags = access | OFlags::DIRECT | OFlags::CLOEXEC | OFlags::NOCTTY;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

/// The same, unless there is nothing to go past, whatever the file system says.
#[cfg(feature = "copy")]
pub(crate) fn past(file: &File, access: OFlags) -> Option<File> {
    if lives_in_memory(file) { None } else { reopen_past(file, access).ok() }
}
