//! The rewired vector: it grows by another block and never copies (RUMA, section 5.1).
//!
//! An ordinary vector that is full takes twice the memory, copies itself there, and every pointer into it dangles. This
//! one reserves addresses beforehand, which cost nothing, and rewires blocks from a pool into them as it grows: a page
//! table entry a block. It shrinks by giving the last blocks back.
//!
//! ```text
//!   addresses   │▓▓▓▓▓▓▓│▓▓▓▓▓▓▓│▓▓▓····│       │       │       │
//!               start              len  capacity                limit
//! ```
//!
//! The layers below know slots and blocks. This one knows elements: they are aligned, they are dropped, and they may panic when
//! they are cloned or dropped. While there is room, `push` looks at `start`, `len` and `capacity` only, which lie beside each
//! other.
//!
//! # Safety
//! Elements `0..len` are initialised; `capacity` elements lie in mapped blocks. Before foreign code runs (`clone`,
//! `drop`, an iterator's `next`), `len` covers no element that would be left half alive if that code panics.

mod appender;
mod calls;
mod pieces;
mod traits;

pub use appender::Appender;
pub use pieces::NotAppended;
pub use traits::RewiredIntoIter;

use super::error::RewireError;
use super::pool::Pool;
use super::slots::{BoxedSlots, Slots, one_more};
use crate::units::BlockSize;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// A vector that grows by rewiring blocks of a [`Pool`] into its reservation: elements never move, growing copies
/// nothing, and what it gives up goes back to the pool.
///
/// It behaves as [`Vec`] where it has the same methods, and dereferences to a slice. Pointers to its elements stay valid
/// while it grows, up to its [`limit`](RewiredVec::limit). Memory comes in whole blocks (2 MiB unless the pool says
/// otherwise): it is for few large vectors, not for many small ones. The pool keeps what comes back for the next who
/// asks; [`Pool::trim`] gives it to the system.
///
/// ```
/// use eagre_mem::RewiredVec;
///
/// let mut squares: RewiredVec<u64> = RewiredVec::new()?;
/// let first = squares.as_ptr();
/// for n in 0..1_000_000 {
///     squares.push(n * n);
/// }
/// assert_eq!(squares.as_ptr(), first);
/// assert_eq!(squares.iter().rev().take(2).collect::<Vec<_>>(), [&999_998_000_001, &999_996_000_004]);
/// squares.truncate(10);
/// squares.shrink_to_fit();
/// assert_eq!(squares.capacity() * size_of::<u64>(), squares.block_size().bytes());
/// # Ok::<(), eagre_mem::RewireError>(())
/// ```
///
/// A forked child has no part in it. Its elements are not there, growing is an error, and dropping it does nothing.
///
/// # Errors
/// Calls whose name begins with `try_` return the error; those without panic with it, as `Vec` does.
pub struct RewiredVec<T> {
    start: NonNull<T>,
    len: usize,
    /// Elements that have memory.
    capacity: usize,
    slots: BoxedSlots,
    owns: PhantomData<T>,
}

// SAFETY: it owns its elements and their memory, as a `Vec` does.
unsafe impl<T: Send> Send for RewiredVec<T> {}
// SAFETY: `&RewiredVec<T>` gives out `&T` and nothing else.
unsafe impl<T: Sync> Sync for RewiredVec<T> {}

/// An element for which there was no room, handed back.
pub struct Rejected<T> {
    /// The element.
    pub value: T,
    /// Why there was no room.
    pub error: RewireError,
}

impl<T> fmt::Debug for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rejected").field("error", &self.error).finish_non_exhaustive()
    }
}

impl<T> fmt::Display for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<T> std::error::Error for Rejected<T> {}

impl<T> RewiredVec<T> {
    /// An empty vector that takes its memory from `pool`, and can grow until that is empty.
    ///
    /// # Errors
    /// As [`RewiredVec::new`], and [`Forked`](crate::RewireErrorKind::Forked).
    pub fn in_pool(pool: &Pool) -> Result<RewiredVec<T>, RewireError> {
        RewiredVec::reserve_bytes(pool, Slots::default_bytes(pool))
    }

    /// An empty vector that takes its memory from `pool` and has addresses for `limit` elements (rounded up to whole
    /// blocks). They cost no memory.
    ///
    /// # Errors
    /// As [`RewiredVec::in_pool`].
    pub fn with_limit(pool: &Pool, limit: usize) -> Result<RewiredVec<T>, RewireError> {
        RewiredVec::reserve_bytes(pool, (limit as u64).saturating_mul(size_of::<T>() as u64))
    }

    fn reserve_bytes(pool: &Pool, bytes: u64) -> Result<RewiredVec<T>, RewireError> {
        let slots = BoxedSlots::new(Slots::new(pool, bytes, align_of::<T>())?)?;
        // SAFETY: nothing is mapped at address 0.
        let start = unsafe { NonNull::new_unchecked(ptr::with_exposed_provenance_mut(slots.start())) };
        let capacity = if size_of::<T>() == 0 { usize::MAX } else { 0 };
        Ok(RewiredVec { start, len: 0, capacity, slots, owns: PhantomData })
    }

    /// The most elements it can ever hold.
    pub fn limit(&self) -> usize {
        Self::elements(self.slots.count() * self.slots.block())
    }

    /// How many elements fit in `bytes` bytes.
    fn elements(bytes: usize) -> usize {
        bytes.checked_div(size_of::<T>()).unwrap_or(usize::MAX)
    }

    /// How many elements the memory it holds now has room for.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The pool its memory comes from.
    pub fn pool(&self) -> Pool {
        Pool(self.slots.pool().clone())
    }

    /// The unit in which it grows and shrinks.
    pub fn block_size(&self) -> BlockSize {
        self.slots.pool().block
    }

    /// Takes as many blocks as `additional` more elements need.
    ///
    /// # Errors
    /// [`Full`](crate::RewireErrorKind::Full) beyond the limit, [`OutOfBlocks`](crate::RewireErrorKind::OutOfBlocks),
    /// [`OutOfMemory`](crate::RewireErrorKind::OutOfMemory), [`OutOfMappings`](crate::RewireErrorKind::OutOfMappings),
    /// [`Forked`](crate::RewireErrorKind::Forked). The blocks it got until then stay.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), RewireError> {
        if additional <= self.capacity - self.len {
            return Ok(());
        }
        let bytes = self.len.checked_add(additional).and_then(|wanted| wanted.checked_mul(size_of::<T>()));
        let filled = self.slots.fill_up_to(bytes.unwrap_or(usize::MAX));
        self.capacity = Self::elements(self.slots.used() * self.slots.block());
        filled
    }

    /// Makes room for at least one more element. False if there is none; then [`RewiredVec::why_full`] says why.
    ///
    /// The only call in it is that of a cold function, which sees neither `self` nor anything that changes with each element. So a
    /// loop of pushes keeps length and capacity in registers.
    #[inline]
    fn grow(&mut self) -> bool {
        let capacity = one_more(&mut self.slots, size_of::<T>());
        if capacity != 0 {
            self.capacity = capacity;
        }
        capacity != 0
    }

    /// Why [`RewiredVec::grow`] has failed.
    #[inline]
    fn why_full(&mut self) -> RewireError {
        self.slots.take_failure()
    }

    /// How many blocks `elements` elements take. An element may be larger than a block, or lie in two of them.
    fn blocks(elements: usize, block: usize) -> usize {
        (elements * size_of::<T>()).div_ceil(block)
    }

    /// The first element that has no byte in the first `blocks` blocks.
    fn first_beyond(&self, blocks: usize) -> usize {
        match size_of::<T>() {
            0 => usize::MAX,
            size => (blocks * self.slots.block()).div_ceil(size),
        }
    }

    /// Gives back every block that `len` elements and room for up to `least` in all do not need.
    fn shrink(&mut self, least: usize) {
        if !self.is_here() {
            return;
        }
        let block = self.slots.block();
        let kept = Self::blocks(self.len.max(least.min(self.capacity)), block);
        for slot in (kept..self.slots.used()).rev() {
            // SAFETY: beyond the elements, so nobody borrows it, and it holds no elements.
            unsafe { self.slots.give_back(slot) };
        }
        self.capacity = self.capacity.min(Self::elements(kept * block));
    }

    /// Whether its elements are there: not in a forked child.
    fn is_here(&self) -> bool {
        self.slots.is_here()
    }
}

impl<T> Drop for RewiredVec<T> {
    fn drop(&mut self) {
        if std::mem::needs_drop::<T>() && self.is_here() {
            // SAFETY: the elements are initialised and nobody uses them any more. If one panics, the others are
            // dropped all the same, and the slots after them.
            unsafe { ptr::slice_from_raw_parts_mut(self.start.as_ptr(), self.len).drop_in_place() };
        }
    }
}
