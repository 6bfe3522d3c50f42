//! Snapshots: one moment of an array, for the price of a mapping (rewired copy-on-write: RUMA, section 5.3).
//!
//! The array lies in memory that may be mapped several times. A snapshot maps it once more and closes the array for stores. The
//! first store to a block is then a fault, or an explicit call, which puts a copy of the block under the snapshots and opens the
//! block. [`stores`] says how, [`lanes`] where copies lie, [`live`] who waits for whom.
//!
//! ```text
//!   array      │ 0 │ 1 │ 2 │ 3 │     stores go to the array's own memory, always
//!   memory       0   1   2   3
//!   snapshot   │ 0 │ c │ 2 │ 3 │     block 1 was stored to: the snapshot sees its copy
//! ```
//!
//! # Safety
//! The bytes of a snapshot never change: a block is closed at every address as long as a snapshot shows it, and copies are
//! written before they are shown.

mod backing;
mod copying;
mod density;
mod faults;
mod geometry;
mod lanes;
mod live;
mod options;
mod stores;
mod view;

pub use options::SnapshotOptions;

use super::Plain;
use super::error::{RewireError, RewireErrorKind};
use super::inside;
use crate::heap::Shared;
use crate::sys::Refusal;
use crate::trap;
use crate::trap::registry::Registration;
use backing::Backing;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, Range, RangeBounds};
use std::ptr;
use std::slice;
use view::View;

/// An array of which snapshots can be taken.
///
/// A [`Snapshot`] shows the array as it was at one moment, for as long as somebody holds it. It costs neither a copy nor, as a
/// fork does, page tables: the array is mapped once more. Each block is copied when it is stored to for the first time
/// afterwards.
///
/// ```
/// # use eagre_mem::SnapshotArray;
/// let mut balances = SnapshotArray::<u64>::new(1 << 20)?;
/// balances.as_mut_slice()?.fill(100);
///
/// let before = balances.snapshot()?;
/// // A store like any other; the first one to a block is a fault, which copies 64 KiB for the snapshot.
/// balances.as_mut_slice()?[7] -= 30;
/// // The same by a call, which needs no fault, and can say that memory has run out.
/// balances.write(8..9)?[0] += 30;
///
/// assert_eq!((balances[7], balances[8]), (70, 130));
/// assert_eq!((before[7], before[8]), (100, 100));
/// assert_eq!(before.iter().sum::<u64>(), 100 << 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Pointers
/// [`as_mut_ptr`](Self::as_mut_ptr) gives the address of the first element, which never changes. Threads may store through it while
/// others take and drop snapshots: each store comes before a snapshot's moment or after it, for all who can tell.
///
/// - A store for whose copy there is no memory ends the process, with a line that says so: a pointer cannot be told.
///   [`make_writable`](Self::make_writable) and [`write`](Self::write) return an error. [`SnapshotOptions::reserve`] takes the memory
///   beforehand.
/// - A system call that writes to a closed block (`read`, `recv`) is no fault: it gets `EFAULT`.
///   [`make_writable`](Self::make_writable) opens blocks beforehand, until the next snapshot. What a device or the kernel writes to pages it has pinned (`O_DIRECT`, io_uring) goes to the array and to every snapshot that
///   shares the page: none should be taken while that is under way.
/// - A thread that blocks SIGSEGV dies at its first fault, as it would at any other.
///
/// Dropped, an array leaves its memory to the snapshots that are left. A forked child has no part in either.
pub struct SnapshotArray<T> {
    backing: Shared<Backing>,
    /// `None` without a trap, and while this is being dropped.
    registration: Option<Registration>,
    len: usize,
    elements: PhantomData<T>,
}

// SAFETY: the memory is the array's own; the registration is only dropped.
unsafe impl<T: Send> Send for SnapshotArray<T> {}
// SAFETY: shared, it is read, and what is shared with snapshots is guarded by claims.
unsafe impl<T: Sync> Sync for SnapshotArray<T> {}

/// What an array takes, at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SnapshotStats {
    /// Snapshots that somebody holds.
    pub snapshots: usize,
    /// Bytes of the array's own memory.
    pub bytes: u64,
    /// Bytes of blocks that were copied for them.
    pub copied: u64,
    /// What a store copies, in bytes.
    pub block: usize,
    /// Whether the array's memory is made of huge pages. Where it is not, a snapshot takes longer.
    pub huge: bool,
}

impl<T: Plain> SnapshotArray<T> {
    /// An array of `len` zeros, with the options' defaults.
    ///
    /// # Errors
    /// As [`SnapshotOptions::array`].
    pub fn new(len: usize) -> Result<SnapshotArray<T>, RewireError> {
        SnapshotOptions::new().array(len)
    }

    /// Takes a snapshot. Threads that store at this moment wait, for some ten microseconds; where the array's memory is not of huge
    /// pages ([`SnapshotStats::huge`]), for some ten milliseconds a GiB.
    ///
    /// # Errors
    /// [`OutOfMappings`](RewireErrorKind::OutOfMappings): with one more snapshot, stores could come to need more mappings than the
    /// process may have. [`Full`](RewireErrorKind::Full): there are 250 already. [`OutOfMemory`](RewireErrorKind::OutOfMemory),
    /// [`System`](RewireErrorKind::System), [`Forked`](RewireErrorKind::Forked).
    pub fn snapshot(&self) -> Result<Snapshot<T>, RewireError> {
        let view = self.backing.take()?;
        Ok(Snapshot { backing: self.backing.clone(), view, len: self.len, elements: PhantomData })
    }

    /// All elements. The first store to a block since the last snapshot is a fault.
    ///
    /// # Errors
    /// [`NoTrap`](RewireErrorKind::NoTrap): the array was made without. [`Forked`](RewireErrorKind::Forked),
    /// [`System`](RewireErrorKind::System).
    pub fn as_mut_slice(&mut self) -> Result<&mut [T], RewireError> {
        let start = self.as_mut_ptr()?;
        // SAFETY: the array's own memory, borrowed exclusively. What is closed the trap opens.
        Ok(unsafe { slice::from_raw_parts_mut(start, self.len) })
    }

    /// The address of the first element, for threads that store while snapshots are taken.
    ///
    /// # Errors
    /// As [`SnapshotArray::as_mut_slice`].
    pub fn as_mut_ptr(&self) -> Result<*mut T, RewireError> {
        self.backing.check_here()?;
        if self.registration.is_none() {
            return Err(RewireError::new(RewireErrorKind::NoTrap, "the array was made for explicit calls"));
        }
        trap::install_handler().map_err(|errno| RewireError::new(RewireErrorKind::System, errno))?;
        Ok(self.start())
    }

    /// Some elements for writing, without a fault: what snapshots share of their blocks is copied now, and all at once.
    ///
    /// # Errors
    /// [`OutOfMemory`](RewireErrorKind::OutOfMemory): there is none for the copies. Snapshots and array are as they were.
    /// [`System`](RewireErrorKind::System), [`Forked`](RewireErrorKind::Forked).
    ///
    /// # Panics
    /// If the range is not inside the array.
    pub fn write(&mut self, range: impl RangeBounds<usize>) -> Result<&mut [T], RewireError> {
        let range = inside(range, self.len);
        self.make_writable(range.clone())?;
        // SAFETY: inside the array, open, and borrowed exclusively: no snapshot closes it meanwhile.
        Ok(unsafe { slice::from_raw_parts_mut(self.start().add(range.start), range.len()) })
    }

    /// The same for those who store through a pointer, or let a system call store: until the next snapshot, touches of these
    /// elements are no faults.
    ///
    /// # Errors
    /// As [`SnapshotArray::write`].
    ///
    /// # Panics
    /// If the range is not inside the array.
    pub fn make_writable(&self, range: impl RangeBounds<usize>) -> Result<(), RewireError> {
        self.backing.check_here()?;
        let Range { start, end } = inside(range, self.len);
        if start == end {
            return Ok(());
        }
        let block = self.backing.geometry.block;
        let blocks = start * size_of::<T>() / block..(end * size_of::<T>()).div_ceil(block);
        self.backing.open(blocks).map_err(|refusal: Refusal| {
            let kind = match refusal.errno {
                errno if errno.is_shortage() || errno == crate::sys::Errno::NOSPC => RewireErrorKind::OutOfMemory,
                _ => RewireErrorKind::System,
            };
            RewireError::new(kind, format_args!("the copy of a block for a snapshot was refused: {refusal}"))
        })
    }

    /// What it takes.
    pub fn stats(&self) -> SnapshotStats {
        let geometry = self.backing.geometry;
        SnapshotStats {
            snapshots: self.backing.snapshots(),
            bytes: geometry.len as u64,
            copied: self.backing.lanes.kept() * geometry.block as u64,
            block: geometry.block,
            huge: self.backing.huge,
        }
    }

    fn start(&self) -> *mut T {
        ptr::with_exposed_provenance_mut(self.backing.range.start())
    }
}

impl<T: Plain> Deref for SnapshotArray<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: the array's own memory, readable at any time.
        unsafe { slice::from_raw_parts(self.start(), self.len) }
    }
}

impl<T> fmt::Debug for SnapshotArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotArray").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<T> Drop for SnapshotArray<T> {
    fn drop(&mut self) {
        if !self.backing.is_here() {
            return;
        }
        self.registration = None;
        // SAFETY: withdrawn, and no borrow outlives the array.
        unsafe { self.backing.leave() };
    }
}

/// An array as it was when the snapshot was [taken](SnapshotArray::snapshot).
///
/// It may be read from any thread, by system calls too. Dropped, it gives back the copies that only it has seen.
pub struct Snapshot<T> {
    backing: Shared<Backing>,
    view: Shared<View>,
    len: usize,
    elements: PhantomData<T>,
}

impl<T: Plain> Snapshot<T> {
    /// All elements.
    ///
    /// # Errors
    /// The first call maps the blocks that were copied; the mappings were counted when the snapshot was taken, but the kernel may
    /// lack memory for them: [`OutOfMemory`](RewireErrorKind::OutOfMemory). [`Forked`](RewireErrorKind::Forked).
    pub fn as_slice(&self) -> Result<&[T], RewireError> {
        self.backing.read(&self.view)?;
        // SAFETY: the snapshot's own addresses, whose bytes never change.
        Ok(unsafe { slice::from_raw_parts(ptr::with_exposed_provenance(self.view.start()), self.len) })
    }
}

impl<T: Plain> Deref for Snapshot<T> {
    type Target = [T];

    /// As [`Snapshot::as_slice`].
    ///
    /// # Panics
    /// Where that returns an error.
    fn deref(&self) -> &[T] {
        match self.as_slice() {
            Ok(elements) => elements,
            Err(error) => panic!("{error}"),
        }
    }
}

impl<T> fmt::Debug for Snapshot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<T> Drop for Snapshot<T> {
    fn drop(&mut self) {
        self.backing.drop_view(&self.view);
    }
}
