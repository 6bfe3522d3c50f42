//! Threads for the length of a call. One that is refused is missing, and nothing else.
//!
//! [`std::thread::scope`] takes several small pieces of the heap for each thread, and ends the process where one of them is
//! refused. Here a thread takes what the C library needs for it, which is refused with an error.

use crate::sys::processors;
use crate::sys::thread::{self, Thread};
use std::any::Any;
use std::ffi::{CStr, c_void};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// The stack of a thread, as large as the standard library makes them.
const STACK: usize = 2 << 20;

/// How many threads this process may run at once: by its processors, its affinity mask and its control groups' quota.
pub fn available() -> NonZeroUsize {
    NonZeroUsize::new(processors::count()).unwrap_or(NonZeroUsize::MIN)
}

/// What the helpers do.
struct Team<'a> {
    name: Option<&'a CStr>,
    work: &'a (dyn Fn() + Sync),
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// Calls `own` on this thread and `work` on up to `count` others, and returns what `own` does when all of them have
/// ended. Where the system has no more threads to give, fewer help.
///
/// # Panics
/// As `own` does, else as `work` does in one of the threads.
pub fn with_helpers<R>(name: Option<&CStr>, count: usize, work: &(dyn Fn() + Sync), own: impl FnOnce() -> R) -> R {
    let team = Team { name, work, panic: Mutex::new(None) };
    // Behind the team, so that it goes before, also when `own` panics.
    let mut helpers = Helpers(Vec::new());
    if helpers.0.try_reserve_exact(count).is_ok() {
        for _ in 0..count {
            // SAFETY: all that the team refers to is shared by threads, and outlives the helpers, which are joined first.
            match unsafe { thread::start(STACK, help, (&raw const team).cast_mut().cast()) } {
                Ok(helper) => helpers.0.push(helper),
                Err(_) => break,
            }
        }
    }
    let result = own();
    drop(helpers);
    match team.panic.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(panic) => resume_unwind(panic),
        None => result,
    }
}

/// A helper's life.
extern "C" fn help(team: *mut c_void) -> *mut c_void {
    // SAFETY: the team is there until this thread has ended.
    let team = unsafe { &*team.cast::<Team<'_>>() };
    if let Some(name) = team.name {
        thread::name(name);
    }
    if let Err(panic) = catch_unwind(AssertUnwindSafe(team.work)) {
        *team.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
    }
    ptr::null_mut()
}

/// Joins them when it goes.
struct Helpers(Vec<Thread>);

impl Drop for Helpers {
    fn drop(&mut self) {
        self.0.drain(..).for_each(Thread::join);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering::*};

    #[test]
    fn all_work_at_once_and_have_ended_afterwards() {
        let (together, ended) = (Barrier::new(4), AtomicUsize::new(0));
        let work = || {
            together.wait();
            ended.fetch_add(1, SeqCst);
        };
        let own = with_helpers(Some(c"eagre-test"), 3, &work, || {
            together.wait();
            7
        });
        assert_eq!((own, ended.into_inner()), (7, 3));
    }

    #[test]
    fn a_panic_goes_on_in_the_caller_when_all_have_ended() {
        let ended = AtomicUsize::new(0);
        let count = || {
            ended.fetch_add(1, SeqCst);
        };
        let of_helper = || with_helpers(None, 1, &|| panic!("of a helper"), count);
        let said = |panic: Box<dyn Any + Send>| *panic.downcast::<&str>().unwrap();
        assert_eq!(said(catch_unwind(AssertUnwindSafe(of_helper)).unwrap_err()), "of a helper");
        let own = || with_helpers(None, 2, &count, || panic!("our own"));
        assert_eq!(said(catch_unwind(AssertUnwindSafe(own)).unwrap_err()), "our own");
        assert_eq!(ended.into_inner(), 3);
    }
}
