//! Waiting for a word of memory to change, and waking those who wait.

use rustix::thread::futex::{self, Flags, Timespec};
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Sleeps while `word` is `value`, for at most `limit`. May return early: check and call again.
#[inline]
pub(crate) fn wait(word: &AtomicU32, value: u32, limit: Option<Duration>) {
    let limit = limit.map(|limit| Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos() as _ });
    let _ = futex::wait(word, Flags::PRIVATE, value, limit.as_ref());
}

/// Wakes every thread that sleeps on `word`.
#[inline]
pub(crate) fn wake(word: &AtomicU32) {
    let _ = futex::wake(word, Flags::PRIVATE, i32::MAX as u32);
}

/// Nanoseconds of the monotonic clock.
///
/// The C library's: `rustix` looks for the kernel's fast clock at its first call, which may come in a handler, and
/// opens files on the way.
#[inline]
pub(crate) fn now() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills the structure; the call is safe in handlers and cannot fail with this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The number of the calling thread, unique in the system.
#[inline]
pub(crate) fn thread_id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

/// Whether there is a thread of this number.
pub(crate) fn is_thread(number: u32) -> bool {
    let thread = rustix::process::Pid::from_raw(number as i32);
    thread.is_some_and(|thread| rustix::process::test_kill_process(thread) != Err(rustix::io::Errno::SRCH))
}
