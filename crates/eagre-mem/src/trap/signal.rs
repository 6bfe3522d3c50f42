//! The SIGSEGV and SIGBUS handler.
//!
//! # Rules
//! Everything reached from [`on_fault`] obeys the rules of handler code (see the parent module). In order:
//!
//! 1. Is this our process? A forked child has none of our ranges; its allocator may use their addresses at once.
//! 2. Is the address ours? Then its owner resolves it, waiting if it must, and the instruction runs again.
//! 3. Otherwise the fault goes on as if we were not there: to the handler that was in force before, or to the
//!    default action, with the core dump of the right instruction.
//!
//! # Handlers that come and go
//! A handler installed after ours is found when a stream opens or a scope begins; we go on top of it again. It may in
//! turn pass what it does not know to *its* predecessor, which is us: the same fault comes round a second time. A
//! small table of the threads that are forwarding tells such an inner call, which then goes one handler further down.

use super::{Answer, Context, registry};
use crate::sys::signal::{FAULT_SIGNALS, Fault, Previous, fault_handler, forward, install};
use crate::sys::uffd::{Mode, Uffd};
use crate::sys::{Errno, futex};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Mutex, OnceLock, PoisonError};

/// How many handlers, one over the other, are remembered for each signal.
const DEPTH: usize = 8;

/// The actions that were in force before ours, oldest first.
struct Predecessors {
    count: AtomicUsize,
    actions: UnsafeCell<[Option<Previous>; DEPTH]>,
}

// SAFETY: an action is written before `count` covers it and never changed afterwards.
unsafe impl Sync for Predecessors {}

impl Predecessors {
    const fn none() -> Predecessors {
        Predecessors { count: AtomicUsize::new(0), actions: UnsafeCell::new([None; DEPTH]) }
    }

    /// Remembers one more. Called with `INSTALL` held.
    fn push(&self, action: Previous) {
        let count = self.count.load(Acquire);
        if count < DEPTH {
            // SAFETY: beyond `count`, so no handler reads it, and `INSTALL` keeps other writers out.
            unsafe { (*self.actions.get())[count] = Some(action) };
            self.count.store(count + 1, Release);
        }
    }

    /// The action `level` handlers below ours.
    fn below(&self, level: usize) -> Option<&Previous> {
        let at = self.count.load(Acquire).checked_sub(level + 1)?;
        // SAFETY: below `count`, so written and never changed again.
        unsafe { (*self.actions.get())[at].as_ref() }
    }
}

static PREDECESSORS: [Predecessors; 2] = [const { Predecessors::none() }; 2];
static INSTALL: Mutex<()> = Mutex::new(());
/// The process whose ranges these are; 0 before the handler is installed.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Makes sure that our handler is the one in force for both signals.
pub(crate) fn ensure_installed() -> Result<(), Errno> {
    let _one_at_a_time = INSTALL.lock().unwrap_or_else(PoisonError::into_inner);
    PROCESS.store(futex::process_id(), SeqCst);
    for (predecessors, signal) in PREDECESSORS.iter().zip(FAULT_SIGNALS) {
        if let Some(previous) = install(signal, handle)? {
            predecessors.push(previous);
        }
    }
    Ok(())
}

/// The context of the signal trap: the handler and, where the kernel has it, the userfaultfd that moves pages.
pub(crate) fn context() -> Result<Context, Errno> {
    static UFFD: OnceLock<Option<Uffd>> = OnceLock::new();
    ensure_installed()?;
    Ok(Context::Signal(UFFD.get_or_init(|| Uffd::open(Mode::Signal).ok()).as_ref()))
}

fault_handler!(handle, on_fault);

fn on_fault(fault: Fault) {
    if PROCESS.load(Relaxed) == futex::process_id() {
        let address = fault.address();
        if let Some(owner) = registry::owner(address)
            && owner.resolver().touch(owner.end(), address) != Answer::Fatal
        {
            return;
        }
    }
    let which = FAULT_SIGNALS.iter().position(|&signal| signal == fault.signal).unwrap_or(0);
    let inner = Forwarding::enter();
    forward(fault, PREDECESSORS[which].below(inner.level));
}

/// The threads that are forwarding a fault at this moment: the thread's number above, how deep its stack was below.
static FORWARDING: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

/// One thread passing one fault on.
struct Forwarding {
    place: Option<&'static AtomicU64>,
    /// How many calls further out are passing on the same fault.
    level: usize,
}

impl Forwarding {
    fn enter() -> Forwarding {
        let here = 0u8;
        // Stacks grow down: a call further in has the lower address. An entry at our own depth or below was left by
        // a handler that jumped away and never came back.
        let depth = (&raw const here as usize as u64 >> 4) & 0xFFFF_FFFF;
        let thread = u64::from(futex::thread_id()) << 32;
        let (mut place, mut level) = (None, 0);
        for entry in &FORWARDING {
            let seen = entry.load(Relaxed);
            if seen & !0xFFFF_FFFF == thread && seen != 0 {
                if seen & 0xFFFF_FFFF > depth {
                    level += 1;
                } else {
                    entry.store(0, Relaxed);
                }
            }
            if place.is_none() && entry.compare_exchange(0, thread | depth, Relaxed, Relaxed).is_ok() {
                place = Some(entry);
            }
        }
        Forwarding { place, level }
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            place.store(0, Relaxed);
        }
    }
}
