//! A larger alternate signal stack, for handlers that wait.
//!
//! A thread that waits in a fault sits in our handler, on its alternate stack, below what the kernel saved there. If
//! another signal arrives meanwhile, the kernel saves as much again (3.4 KiB with AVX-512, 11 KiB with AMX), and that
//! signal's handler runs below. The customary 8 KiB, which Rust gives its threads, end there, and so does the process.

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Mutex, PoisonError};

const PAGE: usize = crate::units::PAGE;
/// How many stacks are kept for the next who needs one.
const KEPT: usize = 16;
static SPARE: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// A larger alternate stack for the calling thread, for as long as this lives.
pub(crate) struct AlternateStack {
    /// What was there before, if that was too small.
    before: Option<libc::stack_t>,
    start: usize,
}

impl AlternateStack {
    /// Makes sure that the calling thread's alternate stack, if it has one, holds several signals. If there is no
    /// memory for that, all stays as it is.
    pub(crate) fn new() -> AlternateStack {
        let nothing = AlternateStack { before: None, start: 0 };
        let before = current();
        // Without one, handlers run on the thread's own stack, which is larger; on it, it cannot be changed.
        if before.ss_flags & (libc::SS_DISABLE | libc::SS_ONSTACK) != 0 || before.ss_size >= size() / 2 {
            return nothing;
        }
        let spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Some(start) = spare.or_else(make) else { return nothing };
        let stack = libc::stack_t { ss_sp: ptr::with_exposed_provenance_mut(start), ss_flags: 0, ss_size: size() };
        // SAFETY: memory of our own, of that size, given back only when it is in force no more.
        if unsafe { libc::sigaltstack(&stack, ptr::null_mut()) } != 0 {
            keep(start);
            return nothing;
        }
        AlternateStack { before: Some(before), start }
    }
}

impl Drop for AlternateStack {
    fn drop(&mut self) {
        let Some(before) = &self.before else { return };
        // Somebody has put another one in force meanwhile: it stays, and so does ours, which they may put back.
        if current().ss_sp.expose_provenance() != self.start {
            return;
        }
        // SAFETY: what was in force before.
        if unsafe { libc::sigaltstack(before, ptr::null_mut()) } == 0 {
            keep(self.start);
        }
    }
}

fn current() -> libc::stack_t {
    let mut now = MaybeUninit::uninit();
    // SAFETY: a query, which cannot fail with a valid pointer, and fills the structure.
    unsafe {
        libc::sigaltstack(ptr::null(), now.as_mut_ptr());
        now.assume_init()
    }
}

fn size() -> usize {
    // SAFETY: asks for a number.
    let frame = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
    (8 * frame).max(64 << 10).next_multiple_of(PAGE)
}

fn make() -> Option<usize> {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping; its lowest page is closed, so that an overflow is a fault and not somebody's memory.
    unsafe {
        let start = libc::mmap(ptr::null_mut(), size() + PAGE, protection, flags, -1, 0);
        if start == libc::MAP_FAILED {
            return None;
        }
        libc::mprotect(start, PAGE, libc::PROT_NONE);
        Some(start.expose_provenance() + PAGE)
    }
}

fn keep(start: usize) {
    let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
    if spare.len() < KEPT {
        spare.push(start);
    } else {
        // SAFETY: made by `make`, and in force in no thread.
        unsafe { libc::munmap(ptr::with_exposed_provenance_mut(start - PAGE), size() + PAGE) };
    }
}
