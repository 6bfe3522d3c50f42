//! Blocks on their way between a stream and a file.
//!
//! A [`Transfer`] owns the blocks it fills or empties. It cuts each into requests for a [`Device`], several of which are
//! on their way at once; goes on where one fell short; repeats what was interrupted; and hands the blocks back in the
//! order they came, whatever the order in which the requests are done.
//!
//! ```text
//!   Writer::take ──▶ begin ──▶ | request | request | request | request | ──▶ finish ──▶ Writer::complete
//!                                   └───────── Device ─────────┘
//! ```
//!
//! Memory goes back to the stream only when no request for it is out: a request owns a share of its block, and a device
//! keeps a request as long as the system may touch it. Dropping a transfer waits for what is in flight.

mod device;
mod request;
mod uring;

pub use device::{Blocking, Device, Done};
pub use request::{Block, Direction, Request};
pub use uring::Uring;

use crate::sys::Errno;
use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// How often a request that gets nowhere is repeated, and how long a pause lies between two attempts after `EAGAIN`.
const TRIES: u32 = 1000;
const PAUSE: Duration = Duration::from_millis(1);
/// The least that a disk moves.
const SECTOR: usize = 512;

/// How requests reach the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Through io_uring: many at a time.
    Uring,
    /// As plain system calls, one after the other.
    Blocking,
}

impl FromStr for Engine {
    type Err = ();
    fn from_str(name: &str) -> Result<Engine, ()> {
        match name {
            "uring" => Ok(Engine::Uring),
            "blocking" => Ok(Engine::Blocking),
            _ => Err(()),
        }
    }
}

/// Makes calls on `file` go past the page cache (O_DIRECT), or through it. This holds for everybody who shares the open file.
///
/// # Errors
/// The file system cannot.
pub fn set_direct(file: &File, direct: bool) -> io::Result<()> {
    crate::sys::file::set_direct(file, direct)
}

/// Fills ([`WriteBlock`](crate::stream::WriteBlock)) or empties ([`ReadBlock`](crate::stream::ReadBlock)) blocks.
pub struct Transfer<B> {
    device: Box<dyn Device>,
    /// The most bytes of a request.
    piece: usize,
    /// Blocks that are here, the oldest first.
    jobs: VecDeque<Job<B>>,
    /// The number of the oldest.
    first: u64,
    /// Requests that the device has no room for yet.
    waiting: VecDeque<Request>,
    in_flight: usize,
    done: Vec<Done>,
}

/// A block being transferred.
struct Job<B> {
    block: Arc<B>,
    offset: u64,
    wanted: usize,
    /// Where the file was found to end: `wanted`, or before.
    end: usize,
    requests: usize,
}

/// A block that has been transferred.
#[derive(Debug)]
pub struct Transferred<B> {
    /// The block.
    pub block: B,
    /// Where its first byte belongs in the file.
    pub offset: u64,
    /// How many bytes were wanted.
    pub wanted: usize,
    /// How many there were: fewer only where the file ended.
    pub bytes: usize,
}

/// A transfer that cannot go on.
#[derive(Debug)]
pub struct TransferError {
    /// The first byte, in the file, that could not be transferred.
    pub offset: u64,
    /// Why.
    pub error: io::Error,
}

impl<B> fmt::Debug for Transfer<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transfer").field("blocks", &self.jobs.len()).field("in_flight", &self.in_flight).finish()
    }
}

impl<B: Block> Transfer<B> {
    /// Requests of at most `piece` bytes, rounded up to the device's alignment, to `device`.
    pub fn new(device: Box<dyn Device>, piece: usize) -> Transfer<B> {
        let piece = piece.max(1).next_multiple_of(device.alignment());
        Transfer {
            device,
            piece,
            jobs: VecDeque::new(),
            first: 0,
            waiting: VecDeque::new(),
            in_flight: 0,
            done: vec![],
        }
    }

    /// How many blocks are here.
    pub fn blocks(&self) -> usize {
        self.jobs.len()
    }

    /// Begins with the first `wanted` bytes of `block`, which belong at `offset` of the file.
    ///
    /// The device moves multiples of its alignment: up to that many bytes more than `wanted` are read or written.
    ///
    /// # Panics
    /// If `wanted` is 0, or more than the block has.
    pub fn begin(&mut self, block: B, offset: u64, wanted: usize) {
        assert!(wanted > 0, "nothing to transfer");
        let align = self.device.alignment();
        let job = self.first + self.jobs.len() as u64;
        let block = Arc::new(block);
        let mut at = 0;
        let mut requests = 0;
        while at < wanted {
            let len = self.piece.min((wanted - at).next_multiple_of(align));
            self.waiting.push_back(Request::new(&block, job, at, len, offset.saturating_add(at as u64)));
            at += len;
            requests += 1;
        }
        self.jobs.push_back(Job { block, offset, wanted, end: wanted, requests });
    }

    /// Waits for the oldest block. `None` if there is none, or if `still_wanted` says no, which is asked whenever the
    /// device has nothing to tell for a while.
    ///
    /// # Errors
    /// Any of the blocks could not be transferred. The transfer is to be dropped.
    pub fn finish(&mut self, still_wanted: impl Fn() -> bool) -> Result<Option<Transferred<B>>, TransferError> {
        while self.jobs.front().is_some_and(|job| job.requests > 0) {
            while self.in_flight < self.device.depth() {
                let Some(request) = self.waiting.pop_front() else { break };
                self.device.submit(request);
                self.in_flight += 1;
            }
            let least = self.jobs[0].requests.min(self.in_flight);
            let mut done = std::mem::take(&mut self.done);
            let waited = self.device.wait(least, &mut done);
            let nothing = done.is_empty();
            // Repeated in the order they were made: a pipe's bytes must not change places.
            for done in done.drain(..).rev() {
                self.in_flight -= 1;
                self.look_at(done)?;
            }
            self.done = done;
            waited.map_err(|error| TransferError { offset: self.jobs[0].offset, error })?;
            if nothing && !still_wanted() {
                return Ok(None);
            }
        }
        let Some(Job { block, offset, wanted, end, .. }) = self.jobs.pop_front() else { return Ok(None) };
        self.first += 1;
        // The last request has come back, and with it the last share.
        let block = Arc::into_inner(block).expect("a device kept a share of a request it has returned");
        Ok(Some(Transferred { block, offset, wanted, bytes: end.min(wanted) }))
    }

    fn job(&mut self, request: &Request) -> &mut Job<B> {
        &mut self.jobs[(request.job - self.first) as usize]
    }

    /// What a request has brought, and what is left to do of it.
    fn look_at(&mut self, Done { mut request, result }: Done) -> Result<(), TransferError> {
        let align = self.device.alignment();
        let good = request.good;
        let offset = request.offset().saturating_add((good - request.at) as u64);
        let failed = |error: io::Error| Err(TransferError { offset, error });
        match result {
            Err(error) => {
                let in_vain = request.tries >= TRIES;
                request.tries += 1;
                match Errno::of(&error) {
                    Errno::INTR if !in_vain => {}
                    Errno::AGAIN if !in_vain => std::thread::sleep(PAUSE),
                    Errno::INVAL if align > 1 && self.device.give_up_direct() => {}
                    // The device has given up on another's account already.
                    Errno::INVAL if align == 1 && request.tries == 1 => {}
                    _ => return failed(error),
                }
                self.waiting.push_front(request);
            }
            Ok(bytes) => {
                let reached = request.at + bytes;
                let job = self.job(&request);
                // Past the page cache, only the end of a file lies inside of a sector.
                let ended = bytes == 0 || (align > 1 && bytes % SECTOR != 0) || reached == good;
                if reached >= job.wanted.min(request.until) {
                    job.requests -= 1;
                } else if ended && request.direction() == Direction::Read {
                    job.requests -= 1;
                    job.end = job.end.min(reached);
                    self.ended_before(request.job, request.at);
                } else if bytes == 0 || request.tries >= TRIES {
                    return failed(io::ErrorKind::WriteZero.into());
                } else {
                    // From an aligned place, some of it once more.
                    let again = reached - reached % align - request.at;
                    request.tries = if again > 0 { 0 } else { request.tries + 1 };
                    let mut rest = request.rest(again);
                    rest.good = reached;
                    self.waiting.push_front(rest);
                }
            }
        }
        Ok(())
    }

    /// The file ends before byte `at` of a job's block: what lies further on need not be asked for.
    fn ended_before(&mut self, job: u64, at: usize) {
        for request in std::mem::take(&mut self.waiting) {
            if (request.job, request.at) < (job, at) {
                self.waiting.push_back(request);
                continue;
            }
            let job = self.job(&request);
            job.requests -= 1;
            job.end = job.end.min(request.good);
        }
    }
}

#[cfg(test)]
mod tests;
