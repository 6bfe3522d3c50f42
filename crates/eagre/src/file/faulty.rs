//! A device for tests that does everything a system may do: transfers fewer bytes, is interrupted, answers in any
//! order, fails.
//!
//! A test gives it to a transfer, or [plans](plan) that all files in a folder are read and written through it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use eagre_mem::transfer::{Blocking, Device, Direction, Done, Request};

/// The faults that must cause an error or a special case, besides those that must not matter.
#[derive(Clone, Default)]
pub(crate) struct Faults {
    pub(crate) seed: u64,
    pub(crate) alignment: usize,
    /// This byte of the file cannot be transferred, for this reason.
    pub(crate) bad: Option<(u64, i32)>,
    /// Only these requests meet the bad byte.
    pub(crate) only: Option<Direction>,
    /// The file is cut to so many bytes when it is read first.
    pub(crate) cut: Option<u64>,
    /// Eight bytes of the file from this one on are others when it is read first.
    pub(crate) damaged: Option<u64>,
    /// The device itself fails after this many answers.
    pub(crate) dies_after: Option<usize>,
    /// Every request fails with this error, again and again.
    pub(crate) always: Option<i32>,
    /// Bytes to append to the file when a request first reaches its end.
    pub(crate) grows: Option<Arc<Vec<u8>>>,
    /// Refuses unbuffered requests until it may continue through the cache.
    pub(crate) refuses_direct: bool,
    /// The number of requests in flight: taken by the device, but not returned or dropped with it.
    pub(crate) out: Arc<AtomicUsize>,
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
        if request.direction() == Direction::Read
            && let Some(bytes) = self.faults.cut.take()
        {
            let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
            OpenOptions::new().write(true).open(path).unwrap().set_len(bytes).unwrap();
        }
        if request.direction() == Direction::Read
            && let Some(byte) = self.faults.damaged.take()
        {
            let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
            let file = OpenOptions::new().write(true).open(path).unwrap();
            if byte + 8 <= file.metadata().unwrap().len() {
                std::os::unix::fs::FileExt::write_all_at(&file, &[0xa5; 8], byte).unwrap();
            }
        }
        if let Some((byte, errno)) = self.faults.bad
            && self.faults.only.is_none_or(|only| only == request.direction())
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

/// What is planned for which folders.
static PLANS: Mutex<Vec<(PathBuf, Faults)>> = Mutex::new(Vec::new());

/// All files in this folder are read and written through a [`Faulty`] device as long as this lives.
#[cfg_attr(not(feature = "external"), allow(dead_code, reason = "plans are made by tests of sorts"))]
pub(crate) struct Planned(PathBuf);

/// Plans faults for all files in a folder: those that are opened from now on, and that have offsets.
#[cfg_attr(not(feature = "external"), allow(dead_code, reason = "plans are made by tests of sorts"))]
pub(crate) fn plan(folder: &Path, faults: Faults) -> Planned {
    let folder = folder.canonicalize().unwrap();
    PLANS.lock().unwrap_or_else(PoisonError::into_inner).push((folder.clone(), faults));
    Planned(folder)
}

impl Drop for Planned {
    fn drop(&mut self) {
        PLANS.lock().unwrap_or_else(PoisonError::into_inner).retain(|(folder, _)| *folder != self.0);
    }
}

/// The device for a file for whose folder faults are planned.
pub(super) fn planned(file: &File, alignment: usize) -> Option<Faulty> {
    let mut plans = PLANS.lock().unwrap_or_else(PoisonError::into_inner);
    if plans.is_empty() {
        return None;
    }
    // A file without a name is shown with one that does not exist, in its directory.
    let path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    let (_, faults) = plans.iter_mut().find(|(folder, _)| path.parent() == Some(folder))?;
    faults.seed += 1;
    Some(Faulty::new(file, Faults { alignment, ..faults.clone() }))
}

/// Bytes that depend on their offset.
pub(super) fn pattern(len: usize) -> Vec<u8> {
    (0..len as u64).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}
