//! A file mapped for reading, guarded: bytes that have gone are an error and not a signal.
//!
//! Another process may cut a mapped file shorter at any time, and its disk may fail. A touch of such a page raises
//! SIGBUS, which kills. Here the handler of our traps knows the range: it puts pages of zeros in the place of all that
//! follows the touched page, notes where, and lets the touch go on. The caller works on meaningless zeros to the end
//! of its piece, is told then, and throws its result away.
//!
//! ```text
//! look at a piece ──> SIGBUS ──> zeros from this page on, `gone` = its offset ──> the look ends ──> Err(Gone)
//! ```

use crate::heap::Shared;
use crate::sys::{Errno, map, process};
use crate::trap::registry::Registration;
use crate::trap::{self, Answer, End, Resolve};
use crate::units::PAGE;
use std::fs::File;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::{fmt, io};

/// `gone` while nothing is.
const NOTHING: usize = usize::MAX;

/// A part of a file, mapped for reading.
///
/// Several may exist at once, beside streams, and several threads may look at one.
pub struct Mapping {
    /// The registration points to it. Shared, since to move a `Box` asserts that nobody else points into it.
    guard: Shared<Guard>,
    /// `None` once the mapping is being dropped.
    registration: Option<Registration>,
    /// The process that made it; a forked child has the addresses but not the guard.
    process: u32,
}

/// Why a look at a mapping has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LookError {
    /// From about this offset of the mapping on, the file has no bytes any more, or they could not be read from its
    /// disk. Trying to read them with a system call tells which.
    Gone {
        /// The first page that was missing.
        offset: usize,
    },
    /// Nobody would catch the signal: another handler has taken the place of ours, or this is a forked child and the
    /// mapping its parent's. Nothing was touched; the bytes can be read instead.
    Unguarded,
}

impl fmt::Display for LookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LookError::Gone { offset } => write!(f, "the mapped file has no bytes any more at offset {offset}"),
            LookError::Unguarded => f.write_str("another signal handler is in force"),
        }
    }
}

impl std::error::Error for LookError {}

impl Mapping {
    /// Where mappings must begin in a file: multiples of this.
    pub const ALIGN: u64 = PAGE as u64;

    /// Maps `length` bytes of `file` from `offset`, a multiple of [`Mapping::ALIGN`], and installs the handler if it is
    /// not in force.
    ///
    /// # Errors
    /// Those of `mmap(2)` and `sigaction(2)`; `Unsupported` where there are no signals; `InvalidInput` for a wrong
    /// offset or no length.
    pub fn new(file: &File, offset: u64, length: usize) -> io::Result<Mapping> {
        if !offset.is_multiple_of(Mapping::ALIGN) || length == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        process::remember();
        trap::install_handler().map_err(Errno::to_io)?;
        let start = map::file(file, offset, length).map_err(Errno::to_io)?;
        let registered = || {
            let guard = Shared::new(Guard { start, length, gone: AtomicUsize::new(NOTHING) }).ok()?;
            let (range, resolver) = (start..start + guard.whole_pages(), &raw const *guard as *const dyn Resolve);
            // SAFETY: `drop` ends the registration before it frees the guard.
            let registration = unsafe { Registration::new(range, resolver, End::Reader) }?;
            Some(Mapping { guard, registration: Some(registration), process: process::id() })
        };
        registered().ok_or_else(|| {
            // SAFETY: mapped above, and nobody knows of it.
            let _ = unsafe { map::unmap(start, length.next_multiple_of(PAGE), PAGE) };
            Errno::NOMEM.to_io()
        })
    }

    /// How many bytes are mapped.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a mapping is never empty")]
    pub fn len(&self) -> usize {
        self.guard.length
    }

    /// Looks at some of the bytes.
    ///
    /// Another process may change the file while `look` runs; only a caller that has the file to itself may rely on seeing the
    /// same value twice. So `look` should take each byte once, and must not let memory safety depend on what it reads.
    ///
    /// # Errors
    /// [`LookError`]: what `look` returned means nothing, and is dropped. Pages that went away earlier are an error too.
    ///
    /// # Panics
    /// If the range is not inside the mapping.
    pub fn look<T>(&self, range: Range<usize>, look: impl FnOnce(&[u8]) -> T) -> Result<T, LookError> {
        assert!(range.start <= range.end && range.end <= self.guard.length, "{range:?} of {}", self.guard.length);
        if self.process != process::id() || !trap::handler_is_installed() {
            return Err(LookError::Unguarded);
        }
        let _open = trap::OpenSignals::new();
        // SAFETY: the range is inside our mapping, which lives as long as `self`; pages that are missing are replaced by
        // the handler. That the bytes of a shared file may change is passed on to the caller above.
        let bytes = unsafe {
            std::slice::from_raw_parts(
                std::ptr::with_exposed_provenance::<u8>(self.guard.start + range.start),
                range.end - range.start,
            )
        };
        let seen = look(bytes);
        match self.guard.gone.load(SeqCst) {
            offset if offset < range.end => Err(LookError::Gone { offset }),
            _ => Ok(seen),
        }
    }

    /// Maps the pages of a range now, and reads those that are not in memory: cheaper than waiting for the touches.
    /// Pages that are missing are found by the look that follows.
    ///
    /// Returns how many page faults that took. Few of them mean that the kernel keeps the file in large pieces.
    pub fn populate(&self, range: Range<usize>) -> u64 {
        let start = range.start / PAGE * PAGE;
        let end = range.end.min(self.guard.length);
        if start >= end || self.process != process::id() {
            return 0;
        }
        let before = process::faults();
        // SAFETY: inside our mapping; contents do not change.
        unsafe { map::populate_read(self.guard.start + start, end - start) };
        process::faults() - before
    }

    /// Unmaps the pages of a range again, whole pages only: they stay in the page cache, and a later look finds them there. So
    /// what has been looked at does not count as memory of this process.
    pub fn release(&self, range: Range<usize>) {
        let start = range.start.next_multiple_of(PAGE);
        let end = range.end.min(self.guard.length) / PAGE * PAGE;
        if start < end && self.process == process::id() {
            // SAFETY: inside our mapping, which nobody writes to: a page that is dropped comes back as the file has it, and one
            // that took the place of a missing page as zeros.
            let _ = unsafe { map::discard(self.guard.start + start, end - start) };
        }
    }
}

impl fmt::Debug for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mapping").field("len", &self.guard.length).finish_non_exhaustive()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // First: a handler may look at the guard on its search for another address.
        self.registration = None;
        // SAFETY: ours; every look borrowed `self` and is over.
        let _ = unsafe { map::unmap(self.guard.start, self.guard.whole_pages(), PAGE) };
    }
}

/// What the handler needs to know.
struct Guard {
    start: usize,
    length: usize,
    /// The offset of the first page that was replaced, or `NOTHING`.
    gone: AtomicUsize,
}

impl Guard {
    fn whole_pages(&self) -> usize {
        self.length.next_multiple_of(PAGE)
    }
}

// SAFETY: one system call and one atomic: nothing is allocated, locked or logged.
unsafe impl Resolve for Guard {
    fn touch(&self, _: End, address: usize) -> Answer {
        let offset = (address - self.start) / PAGE * PAGE;
        // Noted first: whoever finds zeros there must find the note as well. Several threads may come here with the
        // same page, or one further on; replacing zeros by zeros once more does no harm.
        self.gone.fetch_min(offset, SeqCst);
        // SAFETY: from a page of our own mapping to its end. Open for writing, so that a stray write, a mistake,
        // does not come back here for ever.
        match unsafe { map::open_fresh(self.start + offset, self.whole_pages() - offset) } {
            Ok(()) => Answer::Resolved,
            Err(_) => Answer::Fatal,
        }
    }

    fn touch_from_pager(&self, _: End, _: usize) -> Answer {
        // Never registered with the pager's userfaultfd.
        Answer::Resolved
    }
}
