//! The Linux side: raw system calls through `rustix`, signals through `libc`.

pub(crate) mod event;
pub(crate) mod facts;
pub(crate) mod futex;
pub(crate) mod map;
pub(crate) mod process;
pub(crate) mod room;
pub(crate) mod signal;
pub(crate) mod uffd;

use super::Errno;

impl From<rustix::io::Errno> for Errno {
    fn from(error: rustix::io::Errno) -> Self {
        Errno(error.raw_os_error())
    }
}
