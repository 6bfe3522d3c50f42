//! Many requests at once, through io_uring.
//!
//! The ring keeps every request the kernel may still touch. It is made, used and dropped by one thread; dropping it
//! waits for what is in flight, because the kernel cannot be asked to forget a transfer that the disk has begun.

use super::device::{Device, Done};
use super::request::{Direction, Request};
use crate::sys::Errno;
use crate::sys::ring::Ring;
use std::fs::File;
use std::io;

/// A file behind a ring of requests.
#[derive(Debug)]
pub struct Uring {
    ring: Ring,
    file: File,
    alignment: usize,
    /// Requests the kernel has, each at the place that its completion will name.
    slots: Vec<Option<Request>>,
    free: Vec<usize>,
}

impl Uring {
    /// A ring for `depth` requests at a time. To be used by the thread that calls this. Offsets and lengths are
    /// multiples of `alignment`: what O_DIRECT asks for, or 1.
    ///
    /// # Errors
    /// The system has no io_uring, forbids it (containers, `kernel.io_uring_disabled`), or has no memory for it.
    pub fn new(file: File, depth: usize, alignment: usize) -> io::Result<Uring> {
        let ring = Ring::new(depth as u32).map_err(Errno::to_io)?;
        let slots = (0..depth).map(|_| None).collect();
        Ok(Uring { ring, file, alignment, slots, free: (0..depth).rev().collect() })
    }

    fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

impl Device for Uring {
    fn depth(&self) -> usize {
        self.slots.len()
    }

    fn alignment(&self) -> usize {
        self.alignment
    }

    fn submit(&mut self, request: Request) {
        let slot = self.free.pop().expect("no more requests than the depth");
        let write = request.direction() == Direction::Write;
        // SAFETY: the request's bytes are its own, and it stays in its slot until the kernel has said that it is done.
        // A read's may be changed (`bytes_mut`).
        unsafe {
            self.ring.push(&self.file, write, request.address(), request.len(), request.offset(), slot as u64);
        }
        self.slots[slot] = Some(request);
    }

    fn wait(&mut self, least: usize, done: &mut Vec<Done>) -> io::Result<()> {
        let least = least.min(self.in_flight());
        if least == 0 {
            return Ok(());
        }
        let (slots, free) = (&mut self.slots, &mut self.free);
        let entered = self.ring.wait(least as u32, |slot, result| {
            let slot = slot as usize;
            if let Some(request) = slots.get_mut(slot).and_then(Option::take) {
                free.push(slot);
                let result = usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result));
                done.push(Done { request, result });
            }
        });
        entered.map_err(Errno::to_io)
    }

    fn give_up_direct(&mut self) -> bool {
        let gave_up = self.alignment > 1 && crate::sys::file::set_direct(&self.file, false).is_ok();
        if gave_up {
            self.alignment = 1;
        }
        gave_up
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        let mut done = Vec::new();
        while self.in_flight() > 0 {
            if self.wait(1, &mut done).is_err() {
                // The kernel will not say when it is done, so the memory that it may still touch is never used again.
                self.slots.drain(..).for_each(std::mem::forget);
                return;
            }
            done.clear();
        }
    }
}
