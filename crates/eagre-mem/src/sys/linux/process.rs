//! Which process this is, for memory that a forked child does not inherit.

use rustix::mm::{self, Advice, MapFlags, ProtFlags};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};

/// A page that reads as zero in a forked child (`MADV_WIPEONFORK`, kernel 4.14), with our number in it.
static PAGE: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());

/// The number of this process. One load, once `remember` has been called; safe in handlers.
#[inline]
pub(crate) fn id() -> u32 {
    let page = PAGE.load(Acquire);
    // SAFETY: the page, once there, stays for the life of the process, and lives on, wiped, in its children.
    let known = if page.is_null() { 0 } else { unsafe { (*page).load(Relaxed) } };
    if known != 0 { known } else { ask() }
}

#[cold]
fn ask() -> u32 {
    let id = rustix::process::getpid().as_raw_nonzero().get() as u32;
    let page = PAGE.load(Acquire);
    if !page.is_null() {
        // SAFETY: as above.
        unsafe { (*page).store(id, Relaxed) };
    }
    id
}

/// Makes `id` cheap. Without the page, which a kernel may refuse, it asks the kernel each time.
pub(crate) fn remember() {
    if !PAGE.load(Acquire).is_null() {
        return;
    }
    let flags = MapFlags::PRIVATE;
    let len = crate::units::PAGE;
    // SAFETY: a new mapping at an address of the kernel's choosing, given up again only while nobody has seen it.
    unsafe {
        let Ok(page) = mm::mmap_anonymous(ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, flags) else {
            return;
        };
        let wiped = mm::madvise(page, len, Advice::LinuxWipeOnFork).is_ok();
        if !wiped || PAGE.compare_exchange(ptr::null_mut(), page.cast(), AcqRel, Acquire).is_err() {
            let _ = mm::munmap(page, len);
        }
    }
}

/// Ends the process: nothing is run or dropped.
pub(crate) fn end(code: i32) -> ! {
    // SAFETY: it takes any number, from any thread.
    unsafe { libc::_exit(code) }
}

/// How many page faults this thread has had.
pub(crate) fn faults() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the structure is ours to fill; all zeros are a value of it should the call fail.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    (usage.ru_minflt + usage.ru_majflt) as u64
}
