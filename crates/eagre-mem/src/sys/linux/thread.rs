//! Threads as the C library makes them: one that it has no memory for is refused, where the standard library ends the
//! process.

use super::Errno;
use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;

/// A thread that runs, to be joined.
pub(crate) struct Thread(libc::pthread_t);

fn check(answer: c_int) -> Result<(), Errno> {
    if answer == 0 { Ok(()) } else { Err(Errno(answer)) }
}

/// Runs `main(argument)` on a thread of its own, with a stack of `stack` bytes.
///
/// # Errors
/// `EAGAIN` or `ENOMEM`: there are too many threads, or there is no memory for one more.
///
/// # Safety
/// `main` may be called with `argument` on another thread, until the thread is joined.
pub(crate) unsafe fn start(
    stack: usize,
    main: extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> Result<Thread, Errno> {
    let (mut attributes, mut thread) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: attributes are made before they are used, and destroyed once. The thread's number is written if there is
    // one.
    unsafe {
        check(libc::pthread_attr_init(attributes.as_mut_ptr()))?;
        let started = check(libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), stack))
            .and_then(|()| check(libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), main, argument)));
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        started.map(|()| Thread(thread.assume_init()))
    }
}

impl Thread {
    /// Waits until it has ended.
    pub(crate) fn join(self) {
        // SAFETY: it runs, and is joined once.
        unsafe { libc::pthread_join(self.0, ptr::null_mut()) };
    }
}

/// Names this thread, for debuggers and `top`; the kernel keeps 15 bytes.
pub(crate) fn name(name: &CStr) {
    // SAFETY: a C string, and this thread.
    unsafe { libc::pthread_setname_np(libc::pthread_self(), name.as_ptr()) };
}
