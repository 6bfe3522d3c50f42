//! SIGSEGV and SIGBUS handlers (sigaction(2)).

use super::Errno;
use std::ffi::c_void;
use std::mem::MaybeUninit;

/// The two signals a touch of memory can raise.
pub(crate) const FAULT_SIGNALS: [i32; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// What the kernel tells a handler, passed on untouched to a previous one.
#[derive(Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) signal: i32,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
}

impl Fault {
    /// The address that was touched.
    pub(crate) fn address(&self) -> usize {
        // SAFETY: the kernel gave a valid siginfo; for a signal sent by `kill` the field holds other bytes of the same
        // structure, which match no range of ours but by chance, and then resolve to nothing.
        unsafe { (*self.info).si_addr() as usize }
    }

    /// Tells this fault from another one that is under way: a handler that passes a fault on hands over what it got.
    pub(crate) fn token(&self) -> usize {
        self.context as usize
    }

    /// Whether a process sent the signal; a fault does not come back by itself then.
    pub(crate) fn was_sent(&self) -> bool {
        // SAFETY: the kernel gave a valid siginfo.
        unsafe { (*self.info).si_code <= 0 }
    }
}

/// An action that was in force before ours.
#[derive(Clone, Copy)]
pub(crate) struct Previous(libc::sigaction);

impl Previous {
    /// Whether the kernel would have put the default action in force before calling it.
    pub(crate) fn is_for_one_shot(&self) -> bool {
        self.0.sa_flags & libc::SA_RESETHAND != 0
    }

    /// Whether this is the same handler, asked for in the same way.
    pub(crate) fn is_same(&self, other: &Previous) -> bool {
        self.0.sa_sigaction == other.0.sa_sigaction && self.0.sa_flags == other.0.sa_flags
    }

    /// Blocks what the kernel blocks while it runs, and returns the mask before. A crash handler that crashes must
    /// die of it and not be called again.
    fn block(&self, signal: i32) -> libc::sigset_t {
        // SAFETY: `before` is filled by the call, which cannot fail with this first argument.
        unsafe {
            let mut mask = self.0.sa_mask;
            if self.0.sa_flags & libc::SA_NODEFER == 0 {
                libc::sigaddset(&mut mask, signal);
            }
            let mut before = MaybeUninit::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, &mask, before.as_mut_ptr());
            before.assume_init()
        }
    }
}

type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void);

/// Makes a handler of `resolve`. The function that the kernel calls must be known at compile time, hence the macro.
macro_rules! fault_handler {
    ($name:ident, $resolve:path) => {
        pub(crate) extern "C" fn $name(signal: i32, info: *mut libc::siginfo_t, context: *mut std::ffi::c_void) {
            $resolve($crate::sys::signal::Fault::new(signal, info, context))
        }
    };
}
pub(crate) use fault_handler;

impl Fault {
    pub(crate) fn new(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) -> Fault {
        Fault { signal, info, context }
    }
}

/// Puts `handler` in force for `signal` and returns what was there, or `None` if it already was in force.
///
/// The flags are what hosts with their own stacks and schedulers (Go, JVM) ask for: the alternate stack, nested
/// faults, restarted system calls.
pub(crate) fn install(signal: i32, handler: Handler) -> Result<Option<Previous>, Errno> {
    if is_installed(signal, handler) {
        return Ok(None);
    }
    // SAFETY: an all-zero sigaction is a valid value.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER | libc::SA_RESTART;
    let mut previous = MaybeUninit::uninit();
    // SAFETY: both point to sigaction structures; the handler follows the rules of handlers (trap/signal.rs).
    if unsafe { libc::sigaction(signal, &action, previous.as_mut_ptr()) } != 0 {
        return Err(Errno::last());
    }
    // SAFETY: the call succeeded and filled it.
    Ok(Some(Previous(unsafe { previous.assume_init() })))
}

/// Whether `handler` is the one in force for `signal`.
pub(crate) fn is_installed(signal: i32, handler: Handler) -> bool {
    let mut now = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: a query only; on success the structure is filled.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr()) == 0
            && now.assume_init().sa_sigaction == handler as *const () as usize
    }
}

/// Does with a fault what would have happened had the previous action been in force.
///
/// A previous handler is called. For the default action it is put back and the handler returns: the instruction
/// faults again and the kernel writes the core dump of the right place.
pub(crate) fn forward(fault: Fault, previous: Option<&Previous>) {
    let Some(previous) = previous else { return default_action(fault) };
    let handler = previous.0.sa_sigaction;
    match handler {
        libc::SIG_DFL => return default_action(fault),
        // The kernel does not ignore a real fault either.
        libc::SIG_IGN if fault.was_sent() => return,
        libc::SIG_IGN => return default_action(fault),
        _ => {}
    }
    let before = previous.block(fault.signal);
    // SAFETY: the value is the handler that was registered with the signature its flags tell, and the arguments are
    // the kernel's own.
    unsafe {
        if previous.0.sa_flags & libc::SA_SIGINFO != 0 {
            let call: Handler = std::mem::transmute(handler);
            call(fault.signal, fault.info, fault.context);
        } else {
            let call: extern "C" fn(i32) = std::mem::transmute(handler);
            call(fault.signal);
        }
    }
    // SAFETY: the mask that was in force a moment ago.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut()) };
}

fn default_action(fault: Fault) {
    // SAFETY: an all-zero sigaction is the default action.
    unsafe {
        let default: libc::sigaction = MaybeUninit::zeroed().assume_init();
        libc::sigaction(fault.signal, &default, std::ptr::null_mut());
        if fault.was_sent() {
            libc::raise(fault.signal);
        }
    }
}

/// Opens the fault signals in this thread for as long as it lives; blocks those again that were blocked, on drop.
pub(crate) struct Unblocked(Option<libc::sigset_t>);

impl Unblocked {
    /// Unblocks the fault signals in the calling thread if they are blocked. A fault whose signal is blocked kills.
    pub(crate) fn new() -> Unblocked {
        // SAFETY: the sets are initialised by sigemptyset and pthread_sigmask before they are read.
        unsafe {
            let mut before = MaybeUninit::uninit();
            if libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), before.as_mut_ptr()) != 0 {
                return Unblocked(None);
            }
            let before = before.assume_init();
            let mut blocked = MaybeUninit::uninit();
            libc::sigemptyset(blocked.as_mut_ptr());
            let mut blocked = blocked.assume_init();
            let mut any = false;
            for signal in FAULT_SIGNALS {
                if libc::sigismember(&before, signal) == 1 {
                    libc::sigaddset(&mut blocked, signal);
                    any = true;
                }
            }
            if any {
                libc::pthread_sigmask(libc::SIG_UNBLOCK, &blocked, std::ptr::null_mut());
            }
            Unblocked(any.then_some(blocked))
        }
    }
}

impl Drop for Unblocked {
    fn drop(&mut self) {
        if let Some(blocked) = &self.0 {
            // SAFETY: the set was initialised in `new`.
            unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, blocked, std::ptr::null_mut()) };
        }
    }
}

/// Blocks every signal in the calling thread, for threads of our own.
pub(crate) fn block_all() {
    // SAFETY: sigfillset initialises the set.
    unsafe {
        let mut all = MaybeUninit::uninit();
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), std::ptr::null_mut());
    }
}
