//! io_uring: a queue of requests to the kernel and a queue of its answers.

use super::Errno;
use io_uring::{IoUring, opcode, types};
use std::fmt;
use std::fs::File;
use std::os::fd::AsRawFd;

/// A ring, for the thread that made it.
pub(crate) struct Ring(IoUring);

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ring").field(&self.0.as_raw_fd()).finish()
    }
}

impl Ring {
    /// A ring for `depth` requests. Its descriptor is closed on exec.
    pub(crate) fn new(depth: u32) -> Result<Ring, Errno> {
        // One thread that comes for its completions: the kernel need not interrupt it for them (6.1). Before, it does.
        let quiet = IoUring::builder().dontfork().setup_single_issuer().setup_defer_taskrun().build(depth);
        let ring = quiet.or_else(|_| IoUring::builder().dontfork().build(depth)).map_err(|error| Errno::of(&error))?;
        // Reads and writes without a vector came together with this (5.6).
        if ring.params().is_feature_rw_cur_pos() { Ok(Ring(ring)) } else { Err(Errno::NOSYS) }
    }

    /// Adds a request for the next `wait` to send.
    ///
    /// # Safety
    /// The kernel reads (`write`) or changes (otherwise) `len` bytes at `address` until `wait` has answered with `token`,
    /// whatever happens to this ring. No more than its depth are out.
    pub(crate) unsafe fn push(
        &mut self,
        file: &File,
        write: bool,
        address: usize,
        len: usize,
        offset: u64,
        token: u64,
    ) {
        let (fd, len) = (types::Fd(file.as_raw_fd()), u32::try_from(len).unwrap_or(u32::MAX));
        let entry = match write {
            true => opcode::Write::new(fd, std::ptr::with_exposed_provenance(address), len).offset(offset).build(),
            false => opcode::Read::new(fd, std::ptr::with_exposed_provenance_mut(address), len).offset(offset).build(),
        };
        // SAFETY: the caller sees to the memory.
        let pushed = unsafe { self.0.submission().push(&entry.user_data(token)) };
        pushed.expect("the queue holds the depth");
    }

    /// Sends what was pushed, waits for `least` answers, and tells all there are.
    pub(crate) fn wait(&mut self, least: u32, mut answer: impl FnMut(u64, i32)) -> Result<(), Errno> {
        const MOST_REFUSALS: u32 = 1000;
        let (mut answers, mut refusals) = (0, 0);
        while answers < least {
            let entered = self.0.submit_and_wait((least - answers) as usize);
            for completion in self.0.completion() {
                answers += 1;
                answer(completion.user_data(), completion.result());
            }
            match entered.map_err(|error| Errno::of(&error)) {
                Ok(_) | Err(Errno::INTR) => {}
                // Answers had no room, or requests found no memory: it goes on in a moment.
                Err(Errno::AGAIN | Errno::BUSY) if refusals < MOST_REFUSALS => {
                    refusals += 1;
                    std::thread::yield_now();
                }
                Err(error) => return if answers > 0 { Ok(()) } else { Err(error) },
            }
        }
        Ok(())
    }
}
