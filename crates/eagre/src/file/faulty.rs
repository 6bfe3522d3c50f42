//! A device for tests that does everything a system may do: transfers fewer bytes, is interrupted, answers in any
//! order, fails.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use eagre_mem::transfer::{Blocking, Device, Done, Request};

/// The faults that must cause an error or a special case, besides those that must not matter.
#[derive(Clone, Default)]
pub(super) struct Faults {
    pub(super) seed: u64,
    pub(super) alignment: usize,
    /// This byte of the file cannot be transferred, for this reason.
    pub(super) bad: Option<(u64, i32)>,
    /// The device itself fails after this many answers.
    pub(super) dies_after: Option<usize>,
    /// Every request fails with this error, again and again.
    pub(super) always: Option<i32>,
    /// Bytes to append to the file when a request first reaches its end.
    pub(super) grows: Option<Arc<Vec<u8>>>,
    /// Refuses unbuffered requests until it may continue through the cache.
    pub(super) refuses_direct: bool,
    /// The number of requests in flight: taken by the device, but not returned or dropped with it.
    pub(super) out: Arc<AtomicUsize>,
}

pub(super) struct Faulty {
    inner: Blocking,
    file: File,
    faults: Faults,
    held: Vec<Request>,
    answers: usize,
}

impl Faulty {
    pub(super) fn new(file: &File, faults: Faults) -> Faulty {
        let again = || file.try_clone().unwrap();
        Faulty { inner: Blocking::new(again(), 1), file: again(), faults, held: Vec::new(), answers: 0 }
    }

    /// A pseudorandom number below `below`.
    fn any(&mut self, below: usize) -> usize {
        // A Weyl sequence and a multiplication are enough for a test.
        self.faults.seed = self.faults.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.faults.seed ^ (self.faults.seed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed >> 33) as usize) % below
    }

    fn answer(&mut self, request: Request) -> Done {
        let error = |request, errno| Done { request, result: Err(io::Error::from_raw_os_error(errno)) };
        let align = self.faults.alignment.max(1);
        assert_eq!(request.offset() % align as u64, 0, "{request:?} is not aligned");
        assert_eq!(request.len() % align, 0, "{request:?} is not aligned");
        if let Some(errno) = self.faults.always {
            return error(request, errno);
        }
        if self.faults.refuses_direct {
            return error(request, libc::EINVAL);
        }
        match self.any(8) {
            0 => return error(request, libc::EINTR),
            1 => return error(request, libc::EAGAIN),
            _ => {}
        }
        let mut least = request.len();
        if self.any(3) == 0 {
            // Past the page cache, disks transfer whole sectors.
            least = least.min((1 + self.any(least)).next_multiple_of(align));
        }
        if let Some((byte, errno)) = self.faults.bad
            && let Some(good) = byte.checked_sub(request.offset())
            && good < least as u64
        {
            match good {
                0 => return error(request, errno),
                // A request that repeats good bytes for alignment only, and then reaches the bad one.
                good if good < align as u64 => return error(request, errno),
                good => least = (good - good % align as u64) as usize,
            }
        }
        let whole = request.len();
        self.inner.submit(request.at_most(least));
        let mut done = Vec::new();
        self.inner.wait(1, &mut done).unwrap();
        let done = done.pop().unwrap();
        if whole > 0
            && matches!(done.result, Ok(0))
            && let Some(more) = self.faults.grows.take()
        {
            std::os::unix::fs::FileExt::write_all_at(&self.file, &more, self.file.metadata().unwrap().len()).unwrap();
        }
        done
    }
}

impl Device for Faulty {
    fn depth(&self) -> usize {
        8
    }

    fn alignment(&self) -> usize {
        self.faults.alignment.max(1)
    }

    fn submit(&mut self, request: Request) {
        self.faults.out.fetch_add(1, SeqCst);
        self.held.push(request);
    }

    fn wait(&mut self, least: usize, done: &mut Vec<Done>) -> io::Result<()> {
        assert!(least <= self.held.len(), "would wait for ever");
        if self.any(10) == 0 {
            return Ok(());
        }
        let many = least + self.any(self.held.len() - least + 1);
        for _ in 0..many {
            if self.faults.dies_after.is_some_and(|after| self.answers >= after) {
                return Err(io::Error::from_raw_os_error(libc::EPERM));
            }
            let which = self.any(self.held.len());
            let request = self.held.swap_remove(which);
            self.answers += 1;
            let answer = self.answer(request);
            self.faults.out.fetch_sub(1, SeqCst);
            done.push(answer);
        }
        Ok(())
    }

    fn give_up_direct(&mut self) -> bool {
        let gave_up = self.faults.refuses_direct;
        self.faults.refuses_direct = false;
        self.faults.alignment = 1;
        gave_up
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        // Real devices do the same: the memory is free when the device is gone.
        self.faults.out.fetch_sub(self.held.len(), SeqCst);
    }
}

/// Bytes that depend on their offset.
pub(super) fn pattern(len: usize) -> Vec<u8> {
    (0..len as u64).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}
