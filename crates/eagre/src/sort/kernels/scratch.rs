//! Scratch memory.

use std::alloc::{Layout, alloc, dealloc};
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use eagre_mem::heap;
use rustix::mm::{Advice, madvise};

/// Room for so many words. Large ones are on huge pages if the system has any: fresh memory costs a fault for each
/// page.
pub(crate) struct Scratch<W> {
    start: NonNull<MaybeUninit<W>>,
    len: usize,
}

// SAFETY: plain owned memory.
unsafe impl<W: Send> Send for Scratch<W> {}

/// The same memory as room for other things, but for what is not aligned for them at the ends.
pub(crate) fn as_room<W, T>(room: &mut [MaybeUninit<W>]) -> &mut [MaybeUninit<T>] {
    // SAFETY: both may hold anything.
    unsafe { room.align_to_mut().1 }
}

/// Makes several things that take memory. Returns `None` if there is not enough.
pub(crate) fn several<T>(count: usize, mut make: impl FnMut() -> Option<T>) -> Option<Vec<T>> {
    heap::several(count, || make().ok_or(heap::Refused { bytes: 0 })).ok()
}

const HUGE: usize = 2 << 20;
const LINE: usize = 64;

impl<W> Scratch<W> {
    /// Returns `None` if there is no memory.
    pub(crate) fn new(len: usize) -> Option<Scratch<W>> {
        let layout = layout::<W>(len)?;
        if layout.size() == 0 {
            return Some(Scratch { start: NonNull::dangling(), len });
        }
        // SAFETY: the layout is not empty.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        if layout.align() == HUGE {
            // SAFETY: whole pages of ours; advice changes no contents.
            let _ = unsafe { madvise(start.as_ptr().cast(), layout.size() & !(HUGE - 1), Advice::LinuxHugepage) };
        }
        Some(Scratch { start: start.cast(), len })
    }
}

fn layout<W>(len: usize) -> Option<Layout> {
    let layout = Layout::array::<W>(len).ok()?;
    layout.align_to(if layout.size() >= HUGE { HUGE } else { LINE }).ok()
}

impl<W> Drop for Scratch<W> {
    fn drop(&mut self) {
        if let Some(layout) = layout::<W>(self.len).filter(|layout| layout.size() > 0) {
            // SAFETY: allocated with this layout.
            unsafe { dealloc(self.start.as_ptr().cast(), layout) };
        }
    }
}

impl<W> Deref for Scratch<W> {
    type Target = [MaybeUninit<W>];

    fn deref(&self) -> &[MaybeUninit<W>] {
        // SAFETY: room for `len` words.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<W> DerefMut for Scratch<W> {
    fn deref_mut(&mut self) -> &mut [MaybeUninit<W>] {
        // SAFETY: as above, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}
