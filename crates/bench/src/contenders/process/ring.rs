//! The hand-written ring between processes: the speed of a protocol written for one program.
//!
//! A few blocks of shared memory, filled and summed in place, two counters, and a place to sleep for each side. It checks nothing, and
//! if one process dies, the other one waits for ever.

use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::thread::futex;

use crate::spsc::SPIN;

const PAGE: usize = 4096;
/// `madvise(2)`, Linux 6.1: makes huge pages of small ones.
const MADV_COLLAPSE: i32 = 25;

/// A value on a pair of cache lines of its own.
#[repr(C, align(128))]
struct Apart<T>(T);

/// In the page behind the blocks. Zeros are its beginning.
#[repr(C)]
struct Counters {
    sent: Apart<AtomicU64>,
    received: Apart<AtomicU64>,
    producer: Apart<AtomicU32>,
    consumer: Apart<AtomicU32>,
}

/// Blocks that two processes share.
pub(super) struct Ring {
    base: NonNull<u8>,
    len: usize,
    block: usize,
    blocks: usize,
}

impl Ring {
    /// A new one, touched and on huge pages, and its descriptor.
    pub(super) fn create(block: usize, blocks: usize) -> io::Result<(Ring, OwnedFd)> {
        let fd = memfd_create("ring", MemfdFlags::CLOEXEC)?;
        ftruncate(&fd, (block * blocks + PAGE) as u64)?;
        let ring = Ring::map(&fd, block, blocks)?;
        // SAFETY: the blocks of our own mapping, which nobody uses yet. Without huge pages it is as good.
        unsafe { libc::madvise(ring.base.as_ptr().cast(), block * blocks, MADV_COLLAPSE) };
        Ok((ring, fd))
    }

    /// The one of another process.
    pub(super) fn open(fd: OwnedFd, block: usize, blocks: usize) -> io::Result<Ring> {
        Ring::map(&fd, block, blocks)
    }

    fn map(fd: &OwnedFd, block: usize, blocks: usize) -> io::Result<Ring> {
        const HUGE: usize = 2 << 20;
        let len = block * blocks + PAGE;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: new mappings; the second one lies within the first, at a multiple of a huge page. What is around it stays.
        let base = unsafe {
            let wide =
                rustix::mm::mmap_anonymous(std::ptr::null_mut(), len + HUGE, ProtFlags::empty(), MapFlags::PRIVATE)?;
            let start = wide.wrapping_byte_add(wide.cast::<u8>().align_offset(HUGE));
            mmap(start, len, access, MapFlags::SHARED | MapFlags::FIXED | MapFlags::POPULATE, fd, 0)?
        };
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Ring { base, len, block, blocks })
    }

    fn counters(&self) -> &Counters {
        // SAFETY: the page behind the blocks, aligned; atomic words hold any value.
        unsafe { &*self.base.as_ptr().add(self.block * self.blocks).cast() }
    }

    fn slot(&self, index: u64) -> *mut u64 {
        // SAFETY: inside the mapping.
        unsafe { self.base.as_ptr().add((index % self.blocks as u64) as usize * self.block).cast() }
    }

    /// Fills `words` words, block by block.
    pub(super) fn write(&self, words: u64, fill: impl Fn(&mut [u64], u64)) {
        let counters = self.counters();
        let (mut written, mut sent) = (0, 0);
        while written < words {
            let free = || sent - counters.received.0.load(Ordering::Acquire) < self.blocks as u64;
            wait(&counters.producer.0, free);
            let now = (words - written).min(self.block as u64 / 8);
            // SAFETY: the producer's block until it is sent.
            fill(unsafe { std::slice::from_raw_parts_mut(self.slot(sent), now as usize) }, written);
            written += now;
            sent += 1;
            counters.sent.0.store(sent, Ordering::Release);
            wake(&counters.consumer.0);
        }
    }

    /// Reads `words` words, block by block.
    pub(super) fn read(&self, words: u64, mut add: impl FnMut(&[u64])) {
        let counters = self.counters();
        let (mut read, mut received) = (0, 0);
        while read < words {
            wait(&counters.consumer.0, || counters.sent.0.load(Ordering::Acquire) > received);
            let now = (words - read).min(self.block as u64 / 8);
            // SAFETY: the consumer's block until it is received.
            add(unsafe { std::slice::from_raw_parts(self.slot(received), now as usize) });
            read += now;
            received += 1;
            counters.received.0.store(received, Ordering::Release);
            wake(&counters.producer.0);
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: our own mapping, and no borrow of it outlives it. A failure leaks.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// As in the queue between threads, but the kernel must find the word in two processes.
fn wait(bed: &AtomicU32, ready: impl Fn() -> bool) {
    for _ in 0..SPIN {
        if ready() {
            return;
        }
        std::hint::spin_loop();
    }
    loop {
        bed.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if ready() {
            bed.store(0, Ordering::Relaxed);
            return;
        }
        let _ = futex::wait(bed, futex::Flags::empty(), 1, None);
    }
}

fn wake(bed: &AtomicU32) {
    fence(Ordering::SeqCst);
    if bed.load(Ordering::Relaxed) == 1 {
        bed.store(0, Ordering::Relaxed);
        let _ = futex::wake(bed, futex::Flags::empty(), 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_arrive_in_order_and_once() {
        let (near, fd) = Ring::create(64 << 10, 3).unwrap();
        let far = Ring::open(fd, 64 << 10, 3).unwrap();
        let words = 100_003;
        let mut got = Vec::new();
        std::thread::scope(|scope| {
            // Each has its own mapping, as two processes do.
            let far = std::panic::AssertUnwindSafe(Far(far));
            scope.spawn(move || {
                let far = far;
                far.0.0.write(words, |out, first| (first..).zip(out).for_each(|(word, out)| *out = word));
            });
            near.read(words, |words| got.extend_from_slice(words));
        });
        assert!(got.iter().copied().eq(0..words));
    }

    struct Far(Ring);
    // SAFETY: a ring owns its mapping, and nothing in it belongs to a thread.
    unsafe impl Send for Far {}
}
