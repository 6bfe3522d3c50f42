//! The minimal cost of a fault and a move, as a lower bound for Eagre's streams with the signal trap.
//!
//! A touch of the next block, behind `PROT_NONE`, raises SIGSEGV; the handler opens the block with `mprotect`, brings
//! its pages with `UFFDIO_MOVE`, and returns. It has no windows, no other end and no registry: every resolver of faults in a
//! signal handler does at least this.

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::contenders::primitive::{Load, Mover, Primitive, UffdioMove};
use crate::contenders::{Contender, Trouble};
use crate::memory::Region;

/// Moving by touching.
pub(crate) fn fault_and_move(load: Load) -> Result<Box<dyn Contender>, Trouble> {
    let uffd = UffdioMove::open()?;
    Ok(Box::new(Mover { load, primitive: FaultAndMove { uffd, installed: None } }))
}

struct FaultAndMove {
    uffd: UffdioMove,
    installed: Option<Installed>,
}

/// The next block, for the handler.
struct Scene {
    uffd: AtomicUsize,
    to: AtomicUsize,
    from: AtomicUsize,
    len: AtomicUsize,
    failed: AtomicBool,
}

static SCENE: Scene = Scene {
    uffd: AtomicUsize::new(0),
    to: AtomicUsize::new(0),
    from: AtomicUsize::new(0),
    len: AtomicUsize::new(0),
    failed: AtomicBool::new(false),
};

impl Primitive for FaultAndMove {
    fn prepare(&mut self, region: &Region) -> io::Result<()> {
        if self.installed.is_none() {
            self.installed = Some(Installed::new()?);
        }
        SCENE.failed.store(false, Ordering::Relaxed);
        self.uffd.prepare(region)
    }

    fn begin_pass(&mut self, to: &Region) -> io::Result<()> {
        // SAFETY: the region belongs to the run, nothing is in it, and nobody holds a reference into it.
        match unsafe { libc::mprotect(to.base().cast(), to.len(), libc::PROT_NONE) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    unsafe fn transfer(&mut self, to: *mut u8, from: *mut u8, len: usize) -> io::Result<()> {
        SCENE.uffd.store(ptr::from_ref(&self.uffd) as usize, Ordering::Relaxed);
        SCENE.to.store(to as usize, Ordering::Relaxed);
        SCENE.from.store(from as usize, Ordering::Relaxed);
        SCENE.len.store(len, Ordering::Relaxed);
        // SAFETY: readable as soon as the handler has returned: it brings the block or puts an empty one there.
        unsafe { to.read_volatile() };
        if SCENE.failed.load(Ordering::Relaxed) { Err(io::Error::other("the handler could not move")) } else { Ok(()) }
    }

    fn finish(&mut self) {
        SCENE.len.store(0, Ordering::Relaxed);
        self.installed = None;
    }
}

/// Our handler in force, and whose place it took.
struct Installed(libc::sigaction);

impl Installed {
    fn new() -> io::Result<Installed> {
        // SAFETY: zeroes are a valid `sigaction`, which is then filled in; the handler obeys the rules of handlers, and
        // the previous one is kept, to be put back.
        unsafe {
            let mut ours: libc::sigaction = std::mem::zeroed();
            ours.sa_sigaction = on_fault as *const () as usize;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&mut ours.sa_mask);
            let mut previous: libc::sigaction = std::mem::zeroed();
            match libc::sigaction(libc::SIGSEGV, &ours, &mut previous) {
                0 => Ok(Installed(previous)),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        // SAFETY: puts back what the kernel gave us.
        unsafe { libc::sigaction(libc::SIGSEGV, &self.0, ptr::null_mut()) };
    }
}

/// Brings the block that was touched. Any other fault is none of ours: the default action follows.
extern "C" fn on_fault(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid `siginfo_t` for SIGSEGV.
    let address = unsafe { (*info).si_addr() } as usize;
    let (to, from) = (SCENE.to.load(Ordering::Relaxed), SCENE.from.load(Ordering::Relaxed));
    let len = SCENE.len.load(Ordering::Relaxed);
    if address.wrapping_sub(to) >= len {
        // SAFETY: resetting a signal to its default action is always allowed.
        unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
        return;
    }
    let uffd = SCENE.uffd.load(Ordering::Relaxed) as *mut UffdioMove;
    // SAFETY: `transfer` stored all four and is stopped in its read; both blocks are the run's own. If the move fails,
    // fresh memory stands in: the read goes on, and `transfer` tells.
    unsafe {
        let (to, from) = (to as *mut u8, from as *mut u8);
        let opened = libc::mprotect(to.cast(), len, libc::PROT_READ | libc::PROT_WRITE) == 0;
        if !opened || (*uffd).transfer(to, from, len).is_err() {
            SCENE.failed.store(true, Ordering::Relaxed);
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
            libc::mmap(to.cast(), len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        }
    }
}
