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

    /// Whether a process sent the signal; a fault does not come back by itself then.
    fn was_sent(&self) -> bool {
        // SAFETY: the kernel gave a valid siginfo.
        unsafe { (*self.info).si_code <= 0 }
    }
}

/// An action that was in force before ours.
#[derive(Clone, Copy)]
pub(crate) struct Previous(libc::sigaction);

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
        return Err(Errno(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL)));
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
    let action = previous.map(|previous| previous.0);
    let handler = action.map_or(libc::SIG_DFL, |action| action.sa_sigaction);
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
        // The kernel does not ignore a real fault either.
        // SAFETY: an all-zero sigaction is the default action.
        unsafe {
            let default: libc::sigaction = MaybeUninit::zeroed().assume_init();
            if handler == libc::SIG_IGN && fault.was_sent() {
                return;
            }
            libc::sigaction(fault.signal, &default, std::ptr::null_mut());
            if fault.was_sent() {
                libc::raise(fault.signal);
            }
        }
        return;
    }
    let wants_info = action.is_some_and(|action| action.sa_flags & libc::SA_SIGINFO != 0);
    // SAFETY: the value is the handler that was registered with the signature its flags tell, and the arguments are
    // the kernel's own.
    unsafe {
        if wants_info {
            let call: Handler = std::mem::transmute(handler);
            call(fault.signal, fault.info, fault.context);
        } else {
            let call: extern "C" fn(i32) = std::mem::transmute(handler);
            call(fault.signal);
        }
    }
}

/// Opens the fault signals in this thread for as long as it lives; puts the mask back on drop.
pub(crate) struct Unblocked(Option<libc::sigset_t>);

impl Unblocked {
    /// Unblocks the fault signals in the calling thread if they are blocked. A fault whose signal is blocked kills.
    pub(crate) fn new() -> Unblocked {
        // SAFETY: the sets are initialised by sigemptyset and pthread_sigmask before they are read.
        unsafe {
            let mut wanted = MaybeUninit::uninit();
            libc::sigemptyset(wanted.as_mut_ptr());
            let mut wanted = wanted.assume_init();
            for signal in FAULT_SIGNALS {
                libc::sigaddset(&mut wanted, signal);
            }
            let mut before = MaybeUninit::uninit();
            if libc::pthread_sigmask(libc::SIG_UNBLOCK, &wanted, before.as_mut_ptr()) != 0 {
                return Unblocked(None);
            }
            let before = before.assume_init();
            let blocked = FAULT_SIGNALS.iter().any(|&signal| libc::sigismember(&before, signal) == 1);
            Unblocked(blocked.then_some(before))
        }
    }
}

impl Drop for Unblocked {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // SAFETY: the set came from pthread_sigmask.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, std::ptr::null_mut()) };
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
