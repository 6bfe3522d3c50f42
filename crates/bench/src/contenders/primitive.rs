//! The kernel's ways to move a block, and the copy they are compared with.
//!
//! Every run maps its blocks afresh, fills them, and then moves all of them to the other half of
//! the addresses and back, as often as the row says; only the moves are timed. Then the blocks are
//! read at their final addresses. Fresh memory matters for blocks below 2 MiB: the first move out of a
//! huge page splits it, and only the first.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::contenders::{Contender, Measured, Trouble};
use crate::kernels::{Tally, fill};
use crate::memory::{Pages, Region};

/// The bytes a run moves in one pass: more than any cache here holds.
pub(crate) const TOTAL: usize = 64 << 20;

/// What is moved.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    /// The size of a block.
    pub block: usize,
    /// The pages behind it.
    pub pages: Pages,
    /// Whether a second thread of this process runs meanwhile, so that each move needs a TLB shootdown.
    pub peer_runs: bool,
}

impl Load {
    /// Runs `timed` with or without the peer thread.
    pub(crate) fn beside_peer(&self, timed: impl FnOnce() -> Duration) -> Duration {
        if !self.peer_runs {
            return timed();
        }
        let (started, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                started.store(true, Ordering::Release);
                while !stop.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
            });
            while !started.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            let took = timed();
            stop.store(true, Ordering::Release);
            took
        })
    }
}

/// One way to move a block.
pub(super) trait Primitive: Send {
    /// Whether the target's pages must exist beforehand.
    fn touches_target(&self) -> bool {
        false
    }
    /// Whether one block goes to and fro instead of many in turn.
    fn one_block(&self) -> bool {
        false
    }
    /// Called once a run, before the clock starts.
    fn prepare(&mut self, _region: &Region) -> io::Result<()> {
        Ok(())
    }
    /// Called before all blocks move to `to`, on the clock.
    fn begin_pass(&mut self, _to: &Region) -> io::Result<()> {
        Ok(())
    }
    /// Called once a run, after the clock.
    fn finish(&mut self) {}
    /// Moves `len` bytes.
    ///
    /// # Safety
    ///
    /// Both ranges lie in the run's regions, do not overlap, and nobody else uses them.
    unsafe fn transfer(&mut self, to: *mut u8, from: *mut u8, len: usize) -> io::Result<()>;
}

/// A contender that moves blocks by `P`.
pub(super) struct Mover<P> {
    pub(super) load: Load,
    pub(super) primitive: P,
}

/// Moving by copying.
pub(crate) fn memcpy(load: Load, warm: bool) -> Box<dyn Contender> {
    Box::new(Mover { load, primitive: Memcpy { warm } })
}

/// Moving by `mremap`.
pub(crate) fn mremap(load: Load) -> Box<dyn Contender> {
    Box::new(Mover { load, primitive: Mremap })
}

/// Moving by `UFFDIO_MOVE`, where the kernel has it.
pub(crate) fn uffdio_move(load: Load) -> Result<Box<dyn Contender>, Trouble> {
    let primitive = UffdioMove::open()?;
    Ok(Box::new(Mover { load, primitive }))
}

impl<P: Primitive> Contender for Mover<P> {
    fn run(&mut self, passes: u64) -> Result<Measured, Trouble> {
        let (block, pages) = (self.load.block, self.load.pages);
        let (bytes, passes) = match self.primitive.one_block() {
            true => (block, passes * (TOTAL / block) as u64),
            false => (TOTAL, passes),
        };
        let memory = |e| Trouble::failed("memory", e);
        let mut home = Region::map(bytes, pages).map_err(memory)?;
        let mut away = Region::map(bytes, pages).map_err(memory)?;
        fill(home.words_mut(), 0);
        if self.primitive.touches_target() {
            away.words_mut().fill(1);
        }
        for region in [&home, &away] {
            self.primitive.prepare(region).map_err(|e| Trouble::failed("prepare", e))?;
        }
        let (mut from, mut to) = (&home, &away);
        let primitive = &mut self.primitive;
        let mut result = Ok(());
        let took = self.load.beside_peer(|| {
            let start = Instant::now();
            for _ in 0..passes {
                result = std::mem::replace(&mut result, Ok(())).and(primitive.begin_pass(to));
                for offset in (0..bytes).step_by(block) {
                    // SAFETY: the offset is inside both regions, which belong to this run.
                    let moved = unsafe { primitive.transfer(to.base().add(offset), from.base().add(offset), block) };
                    result = std::mem::replace(&mut result, Ok(())).and(moved);
                }
                std::mem::swap(&mut from, &mut to);
            }
            start.elapsed()
        });
        primitive.finish();
        result.map_err(|e| Trouble::failed("move", e))?;
        // Where the blocks are now; `map` may have rounded the regions up beyond them.
        let end = if passes % 2 == 0 { &home } else { &away };
        let words = &end.words()[..bytes / 8];
        let mut tally = Tally::default();
        words.chunks(block / 8).for_each(|piece| tally.add(piece));
        let moves = passes * (bytes / block) as u64;
        Ok(Measured::alone(took, moves, tally.answer()?, words.len() as u64))
    }
}

struct Memcpy {
    warm: bool,
}

impl Primitive for Memcpy {
    fn touches_target(&self) -> bool {
        true
    }

    fn one_block(&self) -> bool {
        self.warm
    }

    unsafe fn transfer(&mut self, to: *mut u8, from: *mut u8, len: usize) -> io::Result<()> {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(from, to, len) };
        Ok(())
    }
}

/// By `mremap`.
pub(super) struct Mremap;

impl Primitive for Mremap {
    unsafe fn transfer(&mut self, to: *mut u8, from: *mut u8, len: usize) -> io::Result<()> {
        // DONTUNMAP keeps the source's addresses ours: without it they are free for anybody's mmap
        // until the block comes back, and MREMAP_FIXED would then destroy what it finds.
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED | libc::MREMAP_DONTUNMAP;
        // SAFETY: both ranges are the caller's own mappings and nobody else uses them.
        let got = unsafe { libc::mremap(from.cast(), len, len, flags, to.cast::<c_void>()) };
        if got == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// A descriptor with the feature, and the system call's structures.
pub(super) struct UffdioMove(OwnedFd);

/// `struct uffdio_api`.
#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}

/// `struct uffdio_register`.
#[repr(C)]
struct Register {
    start: u64,
    len: u64,
    mode: u64,
    ioctls: u64,
}

/// `struct uffdio_move`.
#[repr(C)]
struct Move {
    dst: u64,
    src: u64,
    len: u64,
    mode: u64,
    moved: i64,
}

/// `_IOWR(0xAA, number, T)`.
const fn request<T>(number: u64) -> u64 {
    3 << 30 | (size_of::<T>() as u64) << 16 | 0xAA << 8 | number
}

const UFFD_API: u64 = 0xAA;
const UFFD_FEATURE_MOVE: u64 = 1 << 16;
const UFFD_USER_MODE_ONLY: libc::c_int = 1;
const UFFDIO_REGISTER_MODE_MISSING: u64 = 1;

impl UffdioMove {
    /// Opens a descriptor; an error says what this machine lacks.
    pub(super) fn open() -> Result<UffdioMove, Trouble> {
        let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | UFFD_USER_MODE_ONLY;
        // SAFETY: the call takes flags and returns a new descriptor or -1.
        let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
        if fd < 0 {
            let why = io::Error::last_os_error();
            return Err(Trouble::Unavailable(format!("userfaultfd: {why}")));
        }
        // SAFETY: the descriptor is new and nobody else's.
        let uffd = UffdioMove(unsafe { OwnedFd::from_raw_fd(fd as i32) });
        let mut api = Api { api: UFFD_API, features: UFFD_FEATURE_MOVE, ioctls: 0 };
        // SAFETY: UFFDIO_API reads and writes one `struct uffdio_api`.
        unsafe { uffd.ioctl(0x3F, &mut api) }
            .map_err(|e| Trouble::Unavailable(format!("UFFDIO_MOVE: {e}: the kernel is older than 6.8")))?;
        Ok(uffd)
    }

    /// # Safety
    ///
    /// `T` is the structure that request `number` takes, and what it asks for is safe.
    unsafe fn ioctl<T>(&self, number: u64, argument: &mut T) -> io::Result<()> {
        let argument: *mut T = argument;
        // SAFETY: the caller's promise; the pointer is valid for the size in the request.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), request::<T>(number), argument) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Primitive for UffdioMove {
    fn prepare(&mut self, region: &Region) -> io::Result<()> {
        let mut register = Register {
            start: region.base() as u64,
            len: region.len() as u64,
            mode: UFFDIO_REGISTER_MODE_MISSING,
            ioctls: 0,
        };
        // SAFETY: UFFDIO_REGISTER takes `struct uffdio_register`; nothing in the region is touched
        // where no page is, so nobody waits for a fault that is never answered.
        unsafe { self.ioctl(0x00, &mut register) }
    }

    unsafe fn transfer(&mut self, to: *mut u8, from: *mut u8, len: usize) -> io::Result<()> {
        let (mut done, mut refusals) = (0, 0);
        loop {
            let (dst, src) = ((to as usize + done) as u64, (from as usize + done) as u64);
            let mut order = Move { dst, src, len: (len - done) as u64, mode: 0, moved: 0 };
            // SAFETY: UFFDIO_MOVE takes `struct uffdio_move`; both ranges are the caller's own.
            match unsafe { self.ioctl(0x05, &mut order) } {
                Ok(()) => return Ok(()),
                Err(_) if order.moved > 0 => done += order.moved as usize,
                // The kernel itself holds a page for a moment, to scan it or to merge it.
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy && refusals < 1000 => refusals += 1,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && refusals < 1000 => refusals += 1,
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From <linux/userfaultfd.h>, as the C compiler expands them.
    #[test]
    fn requests_are_those_of_the_header() {
        assert_eq!(request::<Api>(0x3F), 0xc018_aa3f);
        assert_eq!(request::<Register>(0x00), 0xc020_aa00);
        assert_eq!(request::<Move>(0x05), 0xc028_aa05);
    }
}
