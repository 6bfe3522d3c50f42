//! The portable twin: the standard library alone.
//!
//! Blocks come from the allocator, waiting is a mutex and a condition variable, and there are no traps: the functions
//! that would need one answer `ENOSYS`. Streams over it have the explicit interface only.

use super::{Errno, Refusal};

pub(crate) mod cache {
    //! Nobody to ask.

    use super::Errno;

    /// Always `ENOSYS`.
    pub(crate) fn resident(_: &std::fs::File, _: u64, _: u64) -> Result<u64, Errno> {
        Err(Errno::NOSYS)
    }
}

pub(crate) mod facts {
    //! What the standard library knows of this machine.

    /// No limit that is known.
    pub(crate) fn address_space() -> Option<u64> {
        None
    }

    /// A guess: the portable twin cannot ask.
    pub(crate) fn memory() -> u64 {
        1 << 30
    }

    /// More memory.
    pub(crate) fn address_cure() -> &'static str {
        "use less memory"
    }

    /// Mappings are not counted here.
    pub(crate) fn most_mappings() -> u64 {
        u64::MAX
    }
}

pub(crate) mod futex {
    //! Waiting for a word of memory to change, with one lock for the whole process.

    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Condvar, Mutex, PoisonError};
    use std::time::{Duration, Instant};

    static LOCK: Mutex<()> = Mutex::new(());
    static CHANGED: Condvar = Condvar::new();

    /// Sleeps while `word` is `value`, for at most `limit`. May return early.
    pub(crate) fn wait(word: &AtomicU32, value: u32, limit: Option<Duration>) {
        let guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        if word.load(Ordering::SeqCst) != value {
            return;
        }
        let limit = limit.unwrap_or(Duration::from_secs(3600));
        drop(CHANGED.wait_timeout(guard, limit));
    }

    /// Wakes every thread that sleeps on `word`, and on any other.
    pub(crate) fn wake(_: &AtomicU32) {
        drop(LOCK.lock().unwrap_or_else(PoisonError::into_inner));
        CHANGED.notify_all();
    }

    /// Nanoseconds of the monotonic clock.
    pub(crate) fn now() -> u64 {
        static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }
}

pub(crate) mod process {
    //! Forks are not for this twin.

    pub(crate) fn id() -> u32 {
        1
    }

    pub(crate) fn remember() {}

    pub(crate) fn end(code: i32) -> ! {
        std::process::exit(code)
    }

    /// None that are known.
    pub(crate) fn faults() -> u64 {
        0
    }
}

pub(crate) mod processors {
    //! What the standard library says.

    /// How many there are; at least one.
    pub(crate) fn count() -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }
}

pub(crate) mod thread {
    //! Threads of the standard library.

    use super::Errno;
    use std::ffi::{CStr, c_void};
    use std::thread::{Builder, JoinHandle};

    /// A thread that runs, to be joined.
    pub(crate) struct Thread(JoinHandle<()>);

    struct Argument(*mut c_void);

    // SAFETY: the caller of `start` promises that another thread may have it.
    unsafe impl Send for Argument {}

    impl Argument {
        fn pointer(self) -> *mut c_void {
            self.0
        }
    }

    /// Runs `main(argument)` on a thread of its own, with a stack of `stack` bytes.
    ///
    /// # Safety
    /// `main` may be called with `argument` on another thread, until the thread is joined.
    pub(crate) unsafe fn start(
        stack: usize,
        main: extern "C" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
    ) -> Result<Thread, Errno> {
        let argument = Argument(argument);
        let call = move || drop(main(argument.pointer()));
        Builder::new().stack_size(stack).spawn(call).map(Thread).map_err(|_| Errno::NOMEM)
    }

    impl Thread {
        /// Waits until it has ended.
        pub(crate) fn join(self) {
            let _ = self.0.join();
        }
    }

    /// Nobody looks.
    pub(crate) fn name(_: &CStr) {}
}

pub(crate) mod map {
    //! Blocks from the allocator.

    use super::{Errno, Refusal};
    use std::alloc::{Layout, alloc_zeroed, dealloc};

    fn layout(len: usize, align: usize) -> Result<Layout, Errno> {
        Layout::from_size_align(len.max(1), align).map_err(|_| Errno::NOMEM)
    }

    /// `len` zeroed bytes aligned to `align`.
    pub(crate) fn reserve(len: usize, align: usize) -> Result<usize, Refusal> {
        let refused = |errno| Refusal { call: "malloc", errno };
        // SAFETY: the size is not zero.
        let start = unsafe { alloc_zeroed(layout(len, align).map_err(refused)?) };
        if start.is_null() { Err(refused(Errno::NOMEM)) } else { Ok(start.expose_provenance()) }
    }

    /// Gives a range back.
    ///
    /// # Safety
    /// The range came from `reserve` with the same length and alignment, and nothing refers to it.
    pub(crate) unsafe fn unmap(start: usize, len: usize, align: usize) -> Result<(), Errno> {
        // SAFETY: the caller's contract.
        unsafe { dealloc(std::ptr::with_exposed_provenance_mut(start), layout(len, align)?) };
        Ok(())
    }

    /// Blocks are always open here.
    ///
    /// # Safety
    /// The range belongs to the caller.
    pub(crate) unsafe fn open(_: usize, _: usize) -> Result<(), Errno> {
        Ok(())
    }

    /// Blocks are always open here.
    ///
    /// # Safety
    /// The range belongs to the caller.
    pub(crate) unsafe fn shut(_: usize, _: usize) -> Result<(), Errno> {
        Ok(())
    }

    /// There are no huge pages here.
    ///
    /// # Safety
    /// The range belongs to the caller.
    pub(crate) unsafe fn want_huge(_: usize, _: usize) {}

    /// Blocks are always backed here.
    ///
    /// # Safety
    /// The range belongs to the caller.
    pub(crate) unsafe fn populate(_: usize, _: usize) -> Result<(), Errno> {
        Ok(())
    }

    /// Zeroes the range, as if it had been dropped and touched again.
    ///
    /// # Safety
    /// The range belongs to the caller, who gives up its contents.
    pub(crate) unsafe fn discard(start: usize, len: usize) -> Result<(), Errno> {
        // SAFETY: the caller owns the range.
        unsafe { std::ptr::with_exposed_provenance_mut::<u8>(start).write_bytes(0, len) };
        Ok(())
    }

    /// Nothing is locked here.
    ///
    /// # Safety
    /// The range belongs to the caller.
    pub(crate) unsafe fn unlock(_: usize, _: usize) {}

    /// Reservations cannot be closed here: no trap would see the touch.
    ///
    /// # Safety
    /// The range belongs to the caller.
    pub(crate) unsafe fn close(_: usize, _: usize) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    /// See `close`.
    ///
    /// # Safety
    /// The range belongs to the caller.
    pub(crate) unsafe fn open_fresh(_: usize, _: usize) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    /// Files are not mapped here.
    pub(crate) fn file(_: &std::fs::File, _: u64, _: usize) -> Result<usize, Errno> {
        Err(Errno::NOSYS)
    }

    /// See `file`.
    ///
    /// # Safety
    /// The range belongs to the caller.
    pub(crate) unsafe fn populate_read(_: usize, _: usize) {}

    /// Blocks do not change their address here.
    ///
    /// # Safety
    /// Both ranges belong to the caller.
    pub(crate) unsafe fn remap(_: usize, _: usize, _: usize) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }
}

pub(crate) mod uffd {
    //! There is no userfaultfd here: no value of this type exists.

    use super::{Errno, Refusal};

    /// Who resolves the faults of a descriptor.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) enum Mode {
        /// A pager thread.
        Pager,
        /// The faulting thread.
        Signal,
    }

    /// A userfaultfd, of which there is none.
    #[derive(Debug)]
    pub(crate) enum Uffd {}

    impl Uffd {
        /// Always `ENOSYS`.
        pub(crate) fn open(_: Mode) -> Result<Uffd, Errno> {
            Err(Errno::NOSYS)
        }

        /// # Safety
        /// Cannot be called.
        pub(crate) unsafe fn register(&self, _: usize, _: usize) -> Result<(), Refusal> {
            match *self {}
        }

        /// # Safety
        /// Cannot be called.
        pub(crate) unsafe fn move_pages(&self, _: usize, _: usize, _: usize, _: &Uffd) -> Result<(), Errno> {
            match *self {}
        }

        /// # Safety
        /// Cannot be called.
        pub(crate) unsafe fn zero(&self, _: usize, _: usize) -> Result<(), Errno> {
            match *self {}
        }

        /// # Safety
        /// Cannot be called.
        pub(crate) unsafe fn poison(&self, _: usize, _: usize) -> Result<(), Errno> {
            match *self {}
        }

        /// Cannot be called.
        pub(crate) fn wake(&self, _: usize, _: usize) {
            match *self {}
        }
    }
}

pub(crate) mod file {
    //! Files as the standard library knows them.

    use std::fs::File;
    use std::io;
    use std::os::unix::fs::FileExt;
    use std::time::Duration;

    /// One `pread`.
    pub(crate) fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        file.read_at(bytes, offset)
    }

    /// One `pwrite`.
    pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
        file.write_at(bytes, offset)
    }

    /// Always: the call itself may wait.
    pub(crate) fn is_ready(_: &File, _: bool, _: Duration) -> bool {
        true
    }

    /// The page cache cannot be left aside here.
    pub(crate) fn set_direct(_: &File, direct: bool) -> io::Result<()> {
        if direct { Err(super::Errno::NOSYS.to_io()) } else { Ok(()) }
    }
}

pub(crate) mod ring {
    //! There is no io_uring here: no value of this type exists.

    use super::Errno;
    use std::fs::File;

    /// A ring, of which there is none.
    #[derive(Debug)]
    pub(crate) enum Ring {}

    impl Ring {
        /// Always `ENOSYS`.
        pub(crate) fn new(_: u32) -> Result<Ring, Errno> {
            Err(Errno::NOSYS)
        }

        /// # Safety
        /// Cannot be called.
        pub(crate) unsafe fn push(&mut self, _: &File, _: bool, _: usize, _: usize, _: u64, _: u64) {
            match *self {}
        }

        /// Cannot be called.
        pub(crate) fn wait(&mut self, _: u32, _: impl FnMut(u64, i32)) -> Result<(), Errno> {
            match *self {}
        }
    }
}

pub(crate) mod shared {
    //! Memory has no descriptors here.

    use super::{Errno, Refusal};
    use std::os::fd::OwnedFd;

    /// What a mapping lets this process do.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Access {
        Closed,
        Read,
        ReadWrite,
    }

    /// Always `ENOSYS`.
    pub(crate) fn create(_: usize) -> Result<OwnedFd, Refusal> {
        Err(Refusal { call: "memfd_create", errno: Errno::NOSYS })
    }

    /// Always `ENOSYS`.
    pub(crate) fn create_sparse() -> Result<OwnedFd, Refusal> {
        Err(Refusal { call: "memfd_create", errno: Errno::NOSYS })
    }

    /// Always `ENOSYS`.
    pub(crate) fn grow(_: &OwnedFd, _: usize) -> Result<(), Refusal> {
        Err(Refusal { call: "ftruncate", errno: Errno::NOSYS })
    }

    /// Always `ENOSYS`.
    pub(crate) fn add_room(_: &OwnedFd, _: std::ops::Range<usize>) -> Result<(), Refusal> {
        Err(Refusal { call: "fallocate", errno: Errno::NOSYS })
    }

    /// Always `ENOSYS`.
    ///
    /// # Safety
    /// The bytes are there.
    pub(crate) unsafe fn write(_: &OwnedFd, _: usize, _: usize, _: usize) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    /// Always `ENOSYS`.
    pub(crate) fn punch(_: &OwnedFd, _: usize, _: usize) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    /// Always `ENOSYS`.
    ///
    /// # Safety
    /// The ranges belong to the caller.
    pub(crate) unsafe fn empty_tables(_: &[std::ops::Range<usize>; 2]) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    /// Always `ENOSYS`.
    pub(crate) fn check(_: &OwnedFd, _: usize) -> Result<(), Refusal> {
        Err(Refusal { call: "fcntl(F_GET_SEALS)", errno: Errno::NOSYS })
    }

    /// Always `ENOSYS`.
    ///
    /// # Safety
    /// The range belongs to the caller.
    pub(crate) unsafe fn map(_: &OwnedFd, _: usize, _: usize, _: usize, _: Access) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    /// Always `ENOSYS`.
    ///
    /// # Safety
    /// The range belongs to the caller.
    pub(crate) unsafe fn map_piece(_: &OwnedFd, _: usize, _: usize, _: usize, _: Access) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    /// Always `ENOSYS`.
    ///
    /// # Safety
    /// The range belongs to the caller.
    pub(crate) unsafe fn keep_out(_: usize, _: usize) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    /// Always `ENOSYS`.
    ///
    /// # Safety
    /// The range belongs to the caller.
    pub(crate) unsafe fn set_access(_: usize, _: usize, _: Access) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    /// Always `ENOSYS`.
    ///
    /// # Safety
    /// The range belongs to the caller.
    pub(crate) unsafe fn fill_tables(_: usize, _: usize) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    /// Always `ENOSYS`.
    ///
    /// # Safety
    /// The range belongs to the caller.
    pub(crate) unsafe fn collapse(_: usize, _: usize) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }
}
