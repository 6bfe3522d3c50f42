//! The page cache (cachestat(2)).

use super::Errno;
use std::fs::File;
use std::os::fd::AsRawFd;

/// The number of the call: the same on all architectures, and too young for `libc` to name on all of them.
const CACHESTAT: libc::c_long = 451;

#[repr(C)]
struct Range {
    offset: u64,
    length: u64,
}

/// Numbers of pages.
#[repr(C)]
#[derive(Default)]
struct Pages {
    cached: u64,
    dirty: u64,
    in_writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// How many bytes of a range are in the page cache.
pub(crate) fn resident(file: &File, offset: u64, length: u64) -> Result<u64, Errno> {
    if length == 0 {
        // To the kernel, no length means to the end.
        return Ok(0);
    }
    let range = Range { offset, length };
    let mut pages = Pages::default();
    // SAFETY: the kernel reads the first structure and fills the second, both laid out as it wants them.
    let answer = unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut pages, 0) };
    if answer == 0 { Ok(pages.cached.saturating_mul(rustix::param::page_size() as u64)) } else { Err(Errno::last()) }
}
