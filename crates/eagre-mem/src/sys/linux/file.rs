//! Files: positions, readiness, and the page cache left aside.

#![forbid(unsafe_code)]

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// One `pread`.
pub(crate) fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(bytes, offset)
}

/// One `pwrite`.
pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    file.write_at(bytes, offset)
}

/// Waits until a read (or `write`) would not wait, or has an error to tell. False if that takes longer than `limit`.
pub(crate) fn is_ready(file: &File, write: bool, limit: Duration) -> bool {
    let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos() as _ };
    let events = if write { PollFlags::OUT } else { PollFlags::IN };
    !matches!(rustix::event::poll(&mut [PollFd::new(file, events)], Some(&limit)), Ok(0))
}

/// Says whether transfers go past the page cache. Of everybody who shares this open file.
pub(crate) fn set_direct(file: &File, direct: bool) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(file)?;
    Ok(rustix::fs::fcntl_setfl(file, if direct { flags | OFlags::DIRECT } else { flags - OFlags::DIRECT })?)
}
