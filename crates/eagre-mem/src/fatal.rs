//! The heap of a command, which has a line for the case that memory is refused.
//!
//! What needs much memory asks for it with [`heap`](crate::heap) or `try_reserve`, and can say what it was for. Small pieces
//! are taken everywhere, in the standard library too, and there a refusal ends the process with several lines and a core
//! dump (`handle_alloc_error`). A command has an exit code and a line for every error, so for this one as well.

use crate::sys::process;
use crate::sys::report::Line;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// The system's allocator. Where it refuses a piece of at most [`FatalHeap::SMALL`] bytes, the process prints a line and
/// ends at once, with nothing run or dropped: as with `kill -9`, except for the line.
#[derive(Debug)]
pub struct FatalHeap {
    line: &'static str,
    code: i32,
    /// Whether a thread is ending the process.
    ends: AtomicBool,
}

impl FatalHeap {
    /// Larger pieces are refused with a null pointer, as by the system's allocator.
    pub const SMALL: usize = 32 << 10;

    /// A heap that ends the process with `line` on standard error and the exit code `code`.
    pub const fn new(line: &'static str, code: i32) -> FatalHeap {
        FatalHeap { line, code, ends: AtomicBool::new(false) }
    }

    /// Says the line and ends the process. If several threads do, the line is said once.
    pub fn end(&self) -> ! {
        while self.ends.swap(true, SeqCst) {
            // The other one is about to end this one, too.
            std::thread::yield_now();
        }
        Line::new().text(self.line).send();
        process::end(self.code)
    }

    /// One heap for all threads from now on, if the process may have so many addresses only (`ulimit -v`): glibc reserves 64 to
    /// 128 MiB of them for the heap of each thread otherwise, and a thread more or less decides about who gets none. For a
    /// process that has one thread yet.
    pub fn share_if_addresses_are_limited(&self) {
        #[cfg(target_env = "gnu")]
        if rustix::process::getrlimit(rustix::process::Resource::As).current.is_some() {
            // SAFETY: the call sets a number of the system's allocator, which does nothing else meanwhile: there is one thread.
            unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
        }
    }

    #[inline]
    fn checked(&self, piece: *mut u8, bytes: usize) -> *mut u8 {
        if piece.is_null() && bytes <= FatalHeap::SMALL {
            self.end();
        }
        piece
    }
}

// SAFETY: the system's allocator does it all, with the caller's layouts; a piece it refuses is refused, or the process ends.
unsafe impl GlobalAlloc for FatalHeap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        self.checked(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        self.checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        self.checked(unsafe { System.realloc(piece, layout, bytes) }, bytes)
    }

    #[inline]
    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(piece, layout) }
    }
}
