//! The Linux side: raw system calls through `rustix`, signals through `libc`.

pub(crate) mod alternate_stack;
pub(crate) mod cache;
pub(crate) mod event;
pub(crate) mod facts;
pub(crate) mod file;
pub(crate) mod futex;
pub(crate) mod map;
pub(crate) mod process;
pub(crate) mod processors;
pub(crate) mod ring;
pub(crate) mod shared;
pub(crate) mod signal;
pub(crate) mod socket;
pub(crate) mod thread;
pub(crate) mod tools;
pub(crate) mod uffd;

use super::{Errno, Refusal};

/// Moves a descriptor that has got the number of a standard stream, because that was closed, to another number: what
/// this process writes to its standard error must not end up in it.
fn above_standard(fd: rustix::fd::OwnedFd) -> Result<rustix::fd::OwnedFd, Errno> {
    if rustix::fd::AsRawFd::as_raw_fd(&fd) > 2 { Ok(fd) } else { Ok(rustix::io::fcntl_dupfd_cloexec(&fd, 3)?) }
}

impl From<rustix::io::Errno> for Errno {
    fn from(error: rustix::io::Errno) -> Self {
        Errno(error.raw_os_error())
    }
}
