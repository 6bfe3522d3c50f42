//! What the kernel keeps of a file in its page cache.
#![forbid(unsafe_code)]

use crate::sys;
use std::fs::File;
use std::io;

/// How many bytes of this range of a file are in the page cache, in whole pages: `cachestat(2)`, Linux 6.5. It costs a
/// few microseconds a gigabyte where pages are large.
///
/// # Errors
/// `ENOSYS` on older kernels, `EPERM` for a file that the caller neither owns nor may write.
pub fn resident(file: &File, offset: u64, length: u64) -> io::Result<u64> {
    sys::cache::resident(file, offset, length).map_err(sys::Errno::to_io)
}
