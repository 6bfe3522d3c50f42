//! The SIGSEGV and SIGBUS handler.
//!
//! # Rules
//! Everything reached from [`on_fault`] obeys the rules of handler code (see the parent module). In order:
//!
//! 1. Is this our process? A forked child has none of our ranges; its allocator may use their addresses at once. (The
//!    registry answers this.)
//! 2. Is the address ours? Then its owner resolves it, waiting if it must, and the instruction runs again.
//! 3. Otherwise the fault goes on as if we were not there: to the handler that was in force before, or to the
//!    default action, with the core dump of the right instruction.
//!
//! # Handlers that come and go
//! A handler installed after ours is found when a stream opens or a scope begins; we go on top of it again. It may in
//! turn pass what it does not know to *its* predecessor, which is us: the same fault comes round a second time. A
//! small table of the threads that are forwarding tells such an inner call, which then goes one handler further down.

use super::{Answer, Context, registry};
use crate::sys::per_process::PerProcess;
use crate::sys::signal::{FAULT_SIGNALS, Fault, Previous, fault_handler, forward, install, is_installed};
use crate::sys::uffd::{Mode, Uffd};
use crate::sys::{Errno, futex};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::*};
use std::sync::{Mutex, PoisonError};

/// How many handlers, one over the other, are remembered for each signal.
const DEPTH: usize = 8;

/// The actions that were in force before ours, oldest first.
struct Predecessors {
    count: AtomicUsize,
    actions: UnsafeCell<[Option<Previous>; DEPTH]>,
    /// Those that run once (`SA_RESETHAND`) and have.
    spent: [AtomicBool; DEPTH],
}

// SAFETY: an action is written before `count` covers it and never changed afterwards.
unsafe impl Sync for Predecessors {}

impl Predecessors {
    const fn none() -> Predecessors {
        Predecessors {
            count: AtomicUsize::new(0),
            actions: UnsafeCell::new([None; DEPTH]),
            spent: [const { AtomicBool::new(false) }; DEPTH],
        }
    }

    /// Remembers one more, unless it is the newest already: some libraries put their handler back at each use. Called
    /// with `INSTALL` held.
    fn push(&self, action: Previous) {
        let count = self.count.load(Acquire);
        if let Some(newest) = count.checked_sub(1) {
            // SAFETY: below `count`, so written and never changed again.
            if unsafe { (*self.actions.get())[newest] }.is_some_and(|newest| newest.is_same(&action)) {
                self.spent[newest].store(false, Release);
                return;
            }
        }
        if count < DEPTH {
            // SAFETY: beyond `count`, so no handler reads it, and `INSTALL` keeps other writers out.
            unsafe { (*self.actions.get())[count] = Some(action) };
            self.count.store(count + 1, Release);
        }
    }

    /// The action `level` handlers below ours, or the oldest. `None`: the default action.
    fn below(&self, level: usize) -> Option<&Previous> {
        let at = self.count.load(Acquire).checked_sub(1)?.saturating_sub(level);
        // SAFETY: below `count`, so written and never changed again.
        let action = unsafe { (*self.actions.get())[at].as_ref() }?;
        let spent = action.is_for_one_shot() && self.spent[at].swap(true, AcqRel);
        (!spent).then_some(action)
    }
}

static PREDECESSORS: [Predecessors; 2] = [const { Predecessors::none() }; 2];
static INSTALL: Mutex<()> = Mutex::new(());

/// Makes sure that our handler is the one in force for both signals.
pub(crate) fn ensure_installed() -> Result<(), Errno> {
    let _one_at_a_time = INSTALL.lock().unwrap_or_else(PoisonError::into_inner);
    for (predecessors, signal) in PREDECESSORS.iter().zip(FAULT_SIGNALS) {
        if let Some(previous) = install(signal, handle)? {
            predecessors.push(previous);
        }
    }
    Ok(())
}

/// Whether a page missing from a mapped file would come to our handler.
pub(crate) fn is_in_force() -> bool {
    is_installed(libc::SIGBUS, handle)
}

/// The context of the signal trap: the handler and, where the kernel has it, the userfaultfd that moves pages.
pub(crate) fn context() -> Result<Context, Errno> {
    static UFFD: PerProcess<Option<Uffd>> = PerProcess::new();
    ensure_installed()?;
    let uffd = UFFD.get_or_make(|| Ok::<_, Errno>(Box::leak(Box::new(Uffd::open(Mode::Signal).ok()))))?;
    Ok(Context::Signal(uffd.as_ref()))
}

fault_handler!(handle, on_fault);

fn on_fault(fault: Fault) {
    let address = fault.address();
    let Some(owner) = registry::owner(address) else { return pass_on_foreign(fault) };
    if owner.resolver().touch(owner.end(), address) == Answer::Fatal {
        drop(owner);
        pass_on(fault);
    }
}

/// A fault at an address without an owner. If it is just outside of a range, the range's owner may report it.
#[cold]
#[inline(never)]
fn pass_on_foreign(fault: Fault) {
    if !fault.was_sent()
        && let Some(owner) = registry::neighbour(fault.address())
    {
        owner.resolver().report_near(owner.end(), fault.address());
    }
    pass_on(fault);
}

/// Kept apart: the frame of a handler that waits stays small.
#[cold]
#[inline(never)]
fn pass_on(fault: Fault) {
    let which = FAULT_SIGNALS.iter().position(|&signal| signal == fault.signal).unwrap_or(0);
    let inner = Forwarding::enter(fault.token());
    forward(fault, PREDECESSORS[which].below(inner.level));
}

/// A thread that is passing a fault on. Only the thread whose number it bears looks at the rest.
struct Passing {
    thread: AtomicU32,
    /// Where its stack was.
    depth: AtomicUsize,
    /// Which fault it was.
    token: AtomicUsize,
}

/// The threads that are passing a fault on at this moment.
static PASSING: [Passing; 64] =
    [const { Passing { thread: AtomicU32::new(0), depth: AtomicUsize::new(0), token: AtomicUsize::new(0) } }; 64];

/// One thread passing one fault on.
struct Forwarding {
    place: Option<&'static Passing>,
    depth: usize,
    /// How many calls further out are passing on the same fault.
    level: usize,
}

impl Forwarding {
    fn enter(token: usize) -> Forwarding {
        let here = 0u8;
        let depth = &raw const here as usize;
        let thread = futex::thread_id();
        let (mut place, mut level) = (None, 0);
        for entry in &PASSING {
            if entry.thread.load(Relaxed) == thread {
                // Stacks grow down: a call further in has the lower address. An entry at our own depth or below was
                // left by a handler that jumped away and never came back; so was one for another fault, or that fault
                // is still being handled further out, which makes no difference here.
                if entry.depth.load(Relaxed) <= depth {
                    entry.thread.store(0, Relaxed);
                } else if entry.token.load(Relaxed) == token {
                    level += 1;
                }
            }
            if place.is_none() && entry.thread.compare_exchange(0, thread, Relaxed, Relaxed).is_ok() {
                place = Some(entry);
            }
        }
        // All taken: by threads that jumped away and ended.
        let place = place.or_else(|| PASSING.iter().find(|entry| entry.take_from_the_dead(thread)));
        if let Some(entry) = place {
            entry.depth.store(depth, Relaxed);
            entry.token.store(token, Relaxed);
        }
        Forwarding { place, depth, level }
    }
}

impl Passing {
    fn take_from_the_dead(&self, thread: u32) -> bool {
        let owner = self.thread.load(Relaxed);
        !futex::is_thread(owner) && self.thread.compare_exchange(owner, thread, Relaxed, Relaxed).is_ok()
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        // Ours still, unless a call further in took it for a remnant.
        if let Some(entry) = self.place
            && entry.thread.load(Relaxed) == futex::thread_id()
            && entry.depth.load(Relaxed) == self.depth
        {
            entry.thread.store(0, Relaxed);
        }
    }
}
