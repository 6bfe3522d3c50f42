//! Waking the pager: an eventfd beside the userfaultfd.

#![forbid(unsafe_code)]

use super::Errno;
use super::uffd::Uffd;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// A bell that any thread may ring, from a handler too.
#[derive(Debug)]
pub(crate) struct Bell(OwnedFd);

impl Bell {
    /// A silent bell.
    pub(crate) fn new() -> Result<Bell, Errno> {
        let bell = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        super::above_standard(bell).map(Bell)
    }

    /// Makes the next `wait` return.
    #[inline]
    pub(crate) fn ring(&self) {
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Sleeps until the bell rings (it is silent afterwards), a fault waits in `uffd`, or `limit` has passed. Tells
    /// whether it was anything but a fault.
    pub(crate) fn wait(&self, uffd: &Uffd, limit: Option<Duration>) -> bool {
        let limit = limit.map(|limit| Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos() as _ });
        let mut fds = [PollFd::from_borrowed_fd(uffd.fd(), PollFlags::IN), PollFd::new(&self.0, PollFlags::IN)];
        match rustix::event::poll(&mut fds, limit.as_ref()) {
            Ok(ready) if ready > 0 => {
                let rang = fds[1].revents().contains(PollFlags::IN);
                if rang {
                    let _ = rustix::io::read(self.0.as_fd(), &mut [0u8; 8]);
                }
                rang
            }
            _ => true,
        }
    }
}
