//! Scratch memory. Small pieces go on from one sort to the next, at most four of a MiB in a process.

use std::alloc::{Layout, alloc, dealloc};
use std::mem::{MaybeUninit, swap};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Mutex;

use eagre_mem::heap;
use rustix::mm::{Advice, madvise};

use super::uninit::UninitSlice;

/// Room for so many words. Large ones are on huge pages if the system has any: fresh memory costs a fault for each
/// page.
pub(crate) struct Scratch<W> {
    start: NonNull<MaybeUninit<W>>,
    len: usize,
    /// None if it is empty.
    piece: Option<Piece>,
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

/// Pieces of at most so many bytes are kept for the next sort.
const KEPT_MOST: usize = 1 << 20;

/// What is kept. A sort of a few thousand words touches as much memory again: where that is fresh each time, because the
/// allocator has given it back, the faults take three times as long as the sort.
static KEPT: Mutex<[Option<Piece>; 4]> = Mutex::new([const { None }; 4]);

/// Memory with its layout.
struct Piece {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: plain owned memory.
unsafe impl Send for Piece {}

impl Piece {
    /// A piece with that layout, or a larger one that was kept. Returns `None` if there is no memory.
    fn new(layout: Layout) -> Option<Piece> {
        let enough = |piece: &mut Piece| piece.layout.size() >= layout.size();
        if layout.size() <= KEPT_MOST
            && let Ok(mut kept) = KEPT.try_lock()
            && let Some(piece) = kept.iter_mut().find_map(|place| place.take_if(enough))
        {
            return Some(piece);
        }
        // SAFETY: the layout is not empty.
        Some(Piece { start: NonNull::new(unsafe { alloc(layout) })?, layout })
    }

    /// Keeps it, or what it finds a place of, or frees it.
    fn give_back(mut self) {
        if self.layout.size() <= KEPT_MOST
            && let Ok(mut kept) = KEPT.try_lock()
        {
            for place in kept.iter_mut() {
                match place {
                    None => return *place = Some(self),
                    // The larger one is of more use.
                    Some(other) if other.layout.size() < self.layout.size() => swap(other, &mut self),
                    Some(_) => {}
                }
            }
        }
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

impl<W> Scratch<W> {
    /// Returns `None` if there is no memory.
    pub(crate) fn new(len: usize) -> Option<Scratch<W>> {
        let layout = layout::<W>(len)?;
        if layout.size() == 0 {
            return Some(Scratch { start: NonNull::dangling(), len, piece: None });
        }
        let piece = Piece::new(layout)?;
        if layout.align() == HUGE {
            // SAFETY: whole pages of ours; advice changes no contents.
            let _ = unsafe { madvise(piece.start.as_ptr().cast(), layout.size() & !(HUGE - 1), Advice::LinuxHugepage) };
        }
        Some(Scratch { start: piece.start.cast(), len, piece: Some(piece) })
    }
}

fn layout<W>(len: usize) -> Option<Layout> {
    let layout = Layout::array::<W>(len).ok()?;
    layout.align_to(if layout.size() >= HUGE { HUGE } else { LINE }).ok()
}

/// Counters in scratch memory, zero at first.
pub(crate) struct Counters(Scratch<usize>);

impl Counters {
    /// Returns `None` if there is no memory.
    pub(crate) fn new(len: usize) -> Option<Counters> {
        let mut room = Scratch::new(len)?;
        room.fill(MaybeUninit::new(0));
        Some(Counters(room))
    }
}

impl Deref for Counters {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        // SAFETY: written when they were made.
        unsafe { self.0.written() }
    }
}

impl DerefMut for Counters {
    fn deref_mut(&mut self) -> &mut [usize] {
        // SAFETY: as above.
        unsafe { self.0.written_mut() }
    }
}

impl<W> Drop for Scratch<W> {
    fn drop(&mut self) {
        if let Some(piece) = self.piece.take() {
            piece.give_back();
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
