//! Devices carry requests out: the calls of the system behind one trait, so that a test can take their place.

#![forbid(unsafe_code)]

use super::request::{Direction, Request};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::time::Duration;

/// A file that takes requests and returns them when they are done, in any order.
///
/// A device may fall short in every way that a system call may: fewer bytes than asked for, `EINTR`, `EAGAIN`, an error.
/// The [`Transfer`](super::Transfer) above it continues, repeats, or gives up.
pub trait Device {
    /// How many requests it takes at a time; at least 1.
    fn depth(&self) -> usize;

    /// What offsets and lengths must be multiples of; a power of two.
    fn alignment(&self) -> usize {
        1
    }

    /// Begins to carry out a request, or promises to during the next [`Device::wait`].
    fn submit(&mut self, request: Request);

    /// Waits until at least `least` of the requests are done and appends them. Fewer, or none, is no error: the caller
    /// has a look whether it still wants them, and comes back.
    ///
    /// # Errors
    /// The device as such has failed. Requests it still has do not come back.
    fn wait(&mut self, least: usize, done: &mut Vec<Done>) -> io::Result<()>;

    /// Goes on through the page cache, if that is not what it does already. Asked for when an unbuffered request was
    /// refused as such (`EINVAL`).
    fn give_up_direct(&mut self) -> bool {
        false
    }
}

/// A request that is done, with the number of bytes moved.
#[derive(Debug)]
pub struct Done {
    /// The request.
    pub request: Request,
    /// How many of its bytes were moved; 0 for a read means that the file ends there.
    pub result: io::Result<usize>,
}

/// One request after another, each a system call that returns when it is done.
#[derive(Debug)]
pub struct Blocking {
    file: File,
    /// Whether requests go to their offsets, or just to where the file stands.
    positions: bool,
    alignment: usize,
    queue: VecDeque<Request>,
}

/// How long to wait for a pipe before having a look whether anybody still wants what comes.
const PATIENCE: Duration = Duration::from_millis(200);

impl Blocking {
    /// A file with positions. Offsets and lengths are multiples of `alignment`: what O_DIRECT asks for, or 1.
    pub fn new(file: File, alignment: usize) -> Blocking {
        Blocking { file, positions: true, alignment, queue: VecDeque::new() }
    }

    /// A file that is read or written on from where it stands: a pipe, a terminal, a file of /proc.
    pub fn sequential(file: File) -> Blocking {
        Blocking { file, positions: false, alignment: 1, queue: VecDeque::new() }
    }

    fn perform(&mut self, request: &mut Request) -> io::Result<usize> {
        let offset = request.offset();
        match (request.direction(), self.positions) {
            (Direction::Read, true) => crate::sys::file::read_at(&self.file, request.bytes_mut(), offset),
            (Direction::Write, true) => crate::sys::file::write_at(&self.file, request.bytes(), offset),
            (Direction::Read, false) => (&self.file).read(request.bytes_mut()),
            (Direction::Write, false) => (&self.file).write(request.bytes()),
        }
    }
}

impl Device for Blocking {
    fn depth(&self) -> usize {
        1
    }

    fn alignment(&self) -> usize {
        self.alignment
    }

    fn submit(&mut self, request: Request) {
        self.queue.push_back(request);
    }

    fn wait(&mut self, _least: usize, done: &mut Vec<Done>) -> io::Result<()> {
        let Some(mut request) = self.queue.pop_front() else { return Ok(()) };
        if !self.positions && !crate::sys::file::is_ready(&self.file, request.direction() == Direction::Write, PATIENCE)
        {
            self.queue.push_front(request);
            return Ok(());
        }
        let result = self.perform(&mut request);
        done.push(Done { request, result });
        Ok(())
    }

    fn give_up_direct(&mut self) -> bool {
        let gave_up = self.alignment > 1 && crate::sys::file::set_direct(&self.file, false).is_ok();
        if gave_up {
            self.alignment = 1;
        }
        gave_up
    }
}
