//! How we learn that a pointer was touched.
//!
//! A *trap* turns the touch of an absent page into a call of the stream that owns the address. There are two with
//! faults, `signal` and `pager`, and one without, `off`. This module knows nothing of streams: it finds the owner of
//! an address in the [`registry`] and asks it through [`Resolve`].
//!
//! # Safety
//! `signal.rs` and `pager.rs` run while user code is stopped at an arbitrary instruction, perhaps inside the
//! allocator. Everything they reach, [`Resolve`] included, obeys these rules: no allocation, no lock that user code
//! may hold, no logging, no thread-local storage that allocates, raw system calls only, less than 1 KiB of stack,
//! and the decision is made by address, never by `si_code`.

pub(crate) mod claim;
pub(crate) mod registry;

#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) mod pager;
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) mod signal;

use crate::sys::Errno;
use crate::sys::uffd::Uffd;
use crate::units::PAGE;
use std::fmt;
use std::str::FromStr;

/// How we learn of a touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Trap {
    /// Privileged userfaultfd: faults of user code and of copying system calls, resolved by one pager thread.
    Pager,
    /// SIGSEGV and SIGBUS: faults of user code, resolved by the faulting thread. System calls on absent pages get
    /// `EFAULT`.
    Signal,
    /// No faults: the explicit interface only.
    Off,
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Trap::Pager => "pager",
            Trap::Signal => "signal",
            Trap::Off => "off",
        })
    }
}

impl FromStr for Trap {
    type Err = ();
    fn from_str(name: &str) -> Result<Trap, ()> {
        match name {
            "pager" => Ok(Trap::Pager),
            "signal" => Ok(Trap::Signal),
            "off" => Ok(Trap::Off),
            _ => Err(()),
        }
    }
}

/// One end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum End {
    /// The producing end.
    Writer,
    /// The consuming end.
    Reader,
}

impl End {
    /// Both ends, for loops.
    pub(crate) const BOTH: [End; 2] = [End::Writer, End::Reader];

    /// The other one.
    pub(crate) fn peer(self) -> End {
        match self {
            End::Writer => End::Reader,
            End::Reader => End::Writer,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            End::Writer => "writer",
            End::Reader => "reader",
        })
    }
}

/// What the owner of an address says of a touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Memory is there now: run the instruction again.
    Resolved,
    /// Pager only: nothing yet; the thread stays parked until `retry` resolves it.
    Parked,
    /// Pager only: parked, and worth asking again in a moment (a time limit, a pinned page).
    ParkedBriefly,
    /// The touch is an error and has been reported: the default action follows.
    Fatal,
}

/// The owner of a range of addresses.
///
/// # Safety
/// Implementations obey the rules of handler code at the top of this module.
pub(crate) unsafe trait Resolve: Sync {
    /// A thread stopped at `address` of `end`, and this is that thread: may wait for the other end.
    fn touch(&self, end: End, address: usize) -> Answer;

    /// A thread stopped at `address` of `end`, and this is the pager: must not wait.
    fn touch_from_pager(&self, end: End, address: usize) -> Answer;

    /// A thread stopped at `address`, which is near the range of `end` but not in it, and the fault goes on to others:
    /// may say so.
    fn report_near(&self, _end: End, _address: usize) {}

    /// Pager: something changed; tries again for the threads parked at `end`. `None` if there are none.
    fn retry_from_pager(&self, _end: End) -> Option<Answer> {
        None
    }

    /// Pager: whether its own tries have changed something for a parked thread since it asked last.
    fn take_news(&self) -> bool {
        false
    }
}

/// A trap in force, and the descriptor through which its pages move.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Context {
    /// The pager and its userfaultfd.
    #[cfg(all(target_os = "linux", not(miri)))]
    Pager(&'static pager::Pager),
    /// Signals, with a userfaultfd where the kernel can move pages.
    Signal(Option<&'static Uffd>),
    /// Nothing.
    Off,
}

impl Context {
    /// The descriptor that ranges are registered with.
    pub(crate) fn uffd(self) -> Option<&'static Uffd> {
        match self {
            #[cfg(all(target_os = "linux", not(miri)))]
            Context::Pager(pager) => Some(pager.uffd()),
            Context::Signal(uffd) => uffd,
            Context::Off => None,
        }
    }

    /// Pager: lets threads that touched a page go on, into a signal if the answer is that it cannot be had.
    ///
    /// # Safety
    /// The page belongs to the caller and is registered with [`Context::uffd`].
    pub(crate) unsafe fn wake(self, address: usize, answer: Answer) {
        let Some(uffd) = self.uffd() else { return };
        let page = address & !(PAGE - 1);
        if answer == Answer::Fatal {
            // SAFETY: the caller's promise. What is there already cannot be poisoned, and need not be.
            let _ = unsafe { uffd.poison(page, PAGE) };
        }
        uffd.wake(page, PAGE);
    }

    /// Makes the pager look at its parked threads again.
    #[inline]
    pub(crate) fn ring(self) {
        #[cfg(all(target_os = "linux", not(miri)))]
        if let Context::Pager(pager) = self {
            pager.ring();
        }
    }
}

/// Makes sure that the handler is in force, for ranges that need nothing else.
///
/// # Errors
/// Those of `sigaction(2)`.
pub(crate) fn install_handler() -> Result<(), Errno> {
    #[cfg(all(target_os = "linux", not(miri)))]
    return signal::ensure_installed();
    #[cfg(any(not(target_os = "linux"), miri))]
    return Err(Errno::NOSYS);
}

/// Puts the handler in force, on top of any that was installed since, if faults of this context may come to it.
///
/// # Errors
/// Those of `sigaction(2)`.
pub(crate) fn reinstall_handler(context: Context) -> Result<(), Errno> {
    match context {
        Context::Off => Ok(()),
        _ => install_handler(),
    }
}

/// Whether the handler is in force, for the touch of a page that a file does not have.
pub(crate) fn handler_is_installed() -> bool {
    #[cfg(all(target_os = "linux", not(miri)))]
    return signal::is_in_force();
    #[cfg(any(not(target_os = "linux"), miri))]
    return false;
}

/// While this lives, the fault signals are open in this thread: one that is blocked kills.
pub(crate) struct OpenSignals {
    #[cfg(all(target_os = "linux", not(miri)))]
    _unblocked: crate::sys::signal::Unblocked,
}

impl OpenSignals {
    /// Opens them.
    pub(crate) fn new() -> OpenSignals {
        OpenSignals {
            #[cfg(all(target_os = "linux", not(miri)))]
            _unblocked: crate::sys::signal::Unblocked::new(),
        }
    }
}

/// The descriptor for addresses that no trap watches: that of the signal trap, whatever trap the pool is for. A stray touch of a
/// missing page there is a signal. With the pager's descriptor it would be a fault that the pager knows no owner of, and the thread
/// would repeat it for ever.
pub(crate) fn unwatched_uffd() -> Result<Option<&'static Uffd>, Errno> {
    #[cfg(all(target_os = "linux", not(miri)))]
    return signal::context().map(Context::uffd);
    #[cfg(any(not(target_os = "linux"), miri))]
    return Ok(None);
}

/// The context in which pages move through `uffd`, or by `mremap`: the pager's if the descriptor is its.
pub(crate) fn context_of(uffd: Option<&'static Uffd>) -> Result<Context, Errno> {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let same = |context: &Context| context.uffd().map(std::ptr::from_ref) == uffd.map(std::ptr::from_ref);
        let signal = signal::context()?;
        match uffd {
            None => Ok(Context::Signal(None)),
            Some(_) if same(&signal) => Ok(signal),
            Some(_) => pager::context(),
        }
    }
    #[cfg(any(not(target_os = "linux"), miri))]
    {
        let _ = uffd;
        Err(Errno::NOSYS)
    }
}

/// A thread that is about to touch pointers of a context.
pub(crate) struct Ready {
    #[cfg(all(target_os = "linux", not(miri)))]
    _signals: Option<(crate::sys::signal::Unblocked, crate::sys::alternate_stack::AlternateStack)>,
}

impl Ready {
    /// Makes the calling thread ready: our handler in force, its signals unblocked, room for its frame.
    pub(crate) fn new(context: Context) -> Result<Ready, Errno> {
        #[cfg(all(target_os = "linux", not(miri)))]
        {
            let signals = matches!(context, Context::Signal(_));
            let ready = signals
                .then(|| (crate::sys::signal::Unblocked::new(), crate::sys::alternate_stack::AlternateStack::new()));
            reinstall_handler(context)?;
            Ok(Ready { _signals: ready })
        }
        #[cfg(any(not(target_os = "linux"), miri))]
        {
            let _ = context;
            Ok(Ready {})
        }
    }
}
