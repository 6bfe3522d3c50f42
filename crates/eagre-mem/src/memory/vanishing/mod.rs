//! Vanishing arrays: written through a plain pointer, then read through it, and their memory goes to other arrays as they are read.
//!
//! The touch of a block that is not there is a fault. When the writer comes to a block, the fault takes one from the pool. When
//! reading begins, the blocks are *set aside*: they move home to the pool with their contents. When the reader comes to a block, the
//! fault brings it back, shows where the reader is, and gives back the blocks that the reader has left behind. The next array that
//! is written takes those blocks while they are still in the cache. This is stream "S" of Vortex (Hanel, Arman, Xiao, Keech,
//! Loguinov, ASPLOS 2020): one range of addresses, one thread, blocks shared by many.
//!
//! # When a block goes back
//! A fault shows the *first* touch of a block only. Code that moves within blocks that are in place is not noticed. From this fact
//! follow two rules. They are derived here, not taken from the paper's text.
//!
//! 1. **The writer's window stays.** A reader that follows an unfinished writer arrives in the block that is being written. That
//!    block is in place, so the arrival is not noticed. Nor may the block be set aside: each store would bring it back, and each load
//!    after it find it gone. So reader and writer share the blocks of the writer's window, and no touch gives them back. When the
//!    writer moves on, the block that leaves its window is set aside, even if the reader may be in it. The reader's next touch
//!    brings it back and shows where the reader is. A reader that never falls behind the window is not found, and a reader at the end
//!    of the array still leaves the window in place: [`VanishingArray::discard`] or [`VanishingArray::reset`] says so.
//! 2. **A round begins in the block where the last one began.** [`VanishingArray::reset`] gives back everything but the first block,
//!    if that is in place. For an array that never left its first block, as most buckets of the last level of a recursion, a round
//!    then takes no fault, no move and no system call. The first block holds the last round's data, which is needed until `reset`. So
//!    the output of the next level never goes into the array that is its input: it goes into another array of the same pool. What
//!    was not read to its end goes back at `reset`, before the next round takes anything.
//!
//! [`lifecycle`] holds these rules and nothing else.
//!
//! # Safety
//! [`backing`] moves blocks behind addresses that only pointers reach, under the contract of [`VanishingArray`]. Slices borrow the
//! array, and so exclude every call that moves its blocks.

mod backing;
mod faults;
mod lifecycle;
mod plain;
mod pool;
mod table;
mod watched;

pub use plain::Plain;
pub use pool::StreamPool;

use super::error::{RewireError, RewireErrorKind};
use backing::Backing;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;
use table::Array;
use watched::Watched;

/// An array that is written once, from start to end, and then read once. Its memory goes back to the [`StreamPool`] as it is read.
///
/// A pass that reads one array and writes others then needs memory for the data once: the outputs grow on the blocks that the
/// input gives back. The addresses of an array never change.
///
/// ```
/// # use eagre_mem::{StreamPool, VanishingArray};
/// // A budget of 36 MiB, and 24 MiB of words to partition into two buckets. Ordinary arrays would need 48 MiB.
/// let pool = StreamPool::new(36 << 20)?;
/// let mut input = pool.array::<u64>(3 << 20)?;
/// let mut buckets = pool.buckets::<u64>(2, 3 << 20)?;
/// let to = input.writer()?;
/// // SAFETY: in order, within the limit, in the thread that owns the array.
/// (0..3 << 20).for_each(|at| unsafe { to.add(at).write(at as u64 * 77) });
/// input.finish(3 << 20);
///
/// let from = input.reader()?;
/// let starts: Vec<*mut u64> = buckets.iter_mut().map(|bucket| bucket.writer()).collect::<Result<_, _>>()?;
/// let mut ends = starts.clone();
/// for at in 0..3 << 20 {
///     // SAFETY: as above; each value is read once.
///     unsafe {
///         let value = from.add(at).read();
///         ends[(value & 1) as usize].write(value);
///         ends[(value & 1) as usize] = ends[(value & 1) as usize].add(1);
///     }
/// }
/// for ((bucket, start), end) in buckets.iter_mut().zip(starts).zip(ends) {
///     // SAFETY: both are of this bucket.
///     bucket.finish(unsafe { end.offset_from(start) } as usize);
/// }
/// let mut odd = 0;
/// while let values @ [_, ..] = buckets[1].fill()? {
///     odd += values.iter().filter(|&value| value % 2 == 1).count();
///     let read = values.len();
///     buckets[1].consume(read);
/// }
/// assert_eq!(odd, 3 << 19);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Pointers
/// [`writer`](Self::writer) and [`reader`](Self::reader) give the same address. Code on it is held to this:
///
/// - Until reading begins, any value below the limit may be written, in any order, and read back.
/// - `reader` begins reading. From then on the reader goes forward; it may jump ahead, and go back at most `lookback` blocks
///   ([`StreamPool::windows`]). What it has passed is gone. A writer who is not done goes on at most `rewrite` blocks behind the
///   furthest one it has written, and the reader stays behind it.
/// - The touch of what is gone, of what lies past the length given to [`finish`](Self::finish) in blocks of its own, or
///   of what is past the limit, is an error of the program; so is running out of blocks or memory, which pointers cannot be told
///   of. Each is one line on standard error and then the default action of the fault.
/// - Nobody touches the array through a pointer while a slice of it is borrowed, and nobody at all after it is dropped.
/// - A thread that blocks SIGSEGV or SIGBUS dies at its first fault under the trap `signal`, as it would at any other.
///
/// # Slices
/// [`reserve`](Self::reserve) and [`commit`](Self::commit), [`fill`](Self::fill) and [`consume`](Self::consume) do the same without
/// pointers or faults, in slices of at most a block, and return errors. They work with every trap and mover, `off` and `copy`
/// included.
///
/// A forked child has no part in it.
pub struct VanishingArray<T> {
    watched: Arc<Watched>,
    index: usize,
    limit: usize,
    /// Values written, as far as that is known.
    len: usize,
    /// Values read through slices.
    consumed: usize,
    /// Values of the slice that `reserve` has given last.
    reserved: usize,
    /// Values of the slice that `fill` has given last.
    filled: usize,
    finished: bool,
    _values: PhantomData<T>,
}

// SAFETY: the memory is the array's own, `T` is plain data, and faults are resolved in any thread.
unsafe impl<T: Plain> Send for VanishingArray<T> {}
// SAFETY: what `&VanishingArray` does is look at numbers.
unsafe impl<T: Plain> Sync for VanishingArray<T> {}

impl<T: Plain> VanishingArray<T> {
    const SIZE: usize = {
        let size = size_of::<T>();
        assert!(size.is_power_of_two() && size <= 4096, "a value must have a power of two of bytes, at most 4096");
        size
    };

    fn new(watched: Arc<Watched>, index: usize, limit: usize) -> VanishingArray<T> {
        let _ = Self::SIZE;
        let (len, consumed, reserved, filled) = (0, 0, 0, 0);
        VanishingArray { watched, index, limit, len, consumed, reserved, filled, finished: false, _values: PhantomData }
    }

    fn backing(&self) -> &Backing {
        &self.watched.backing
    }

    /// Runs `action` on the array, in the process that made it. In a forked child nothing happens: the child may have memory of its own
    /// at these addresses, and a claim that a thread held at the fork is never given up there.
    fn here<R: Default>(&self, action: impl FnOnce(&Backing, &mut Array) -> R) -> R {
        let backing = self.backing();
        match backing.pool.is_here() {
            true => backing.with(self.index, |array| action(backing, array)),
            false => R::default(),
        }
    }

    /// A pointer to value 0, to write through: see the type.
    ///
    /// # Errors
    /// [`NoTrap`](RewireErrorKind::NoTrap): the pool was made for the trap `off`. [`System`](RewireErrorKind::System): the handler
    /// could not be installed. [`Forked`](RewireErrorKind::Forked).
    pub fn writer(&mut self) -> Result<*mut T, RewireError> {
        self.watched.ready()?;
        Ok(self.start())
    }

    /// A pointer to value 0, to read through: see the type. The first call after a [`reset`](Self::reset) begins reading.
    ///
    /// It takes as long as moving the blocks that were written: a microsecond or some each.
    ///
    /// # Errors
    /// As [`writer`](Self::writer).
    pub fn reader(&mut self) -> Result<*const T, RewireError> {
        self.watched.ready()?;
        let backing = self.backing();
        backing.with(self.index, |array| {
            let slots = array.lifecycle.begin_reading();
            backing.set_aside(self.index, array, slots);
        });
        Ok(self.start().cast_const())
    }

    /// Declares the first `count` values read, for a reader on the pointer that no fault may have shown: it has followed the writer
    /// closely, or has come to the end. Whole blocks of them go back, except those that an unfinished writer may still touch.
    pub fn discard(&mut self, count: usize) {
        let slot = match count {
            0 => 0,
            _ if self.finished && count >= self.len => self.end_of(self.len),
            _ => self.slot_of(count.min(self.limit)),
        };
        self.here(|backing, array| {
            let passed = array.lifecycle.passed(slot);
            backing.give_back(self.index, array, passed);
        });
    }

    /// Declares the array complete with `len` values. What [`reserve`](Self::reserve) gave can no longer be committed. Values that
    /// were never written read as zeros in blocks that were left out as a whole, and elsewhere as what the block held before.
    ///
    /// # Panics
    /// If that is more than the limit.
    pub fn finish(&mut self, len: usize) {
        assert!(len <= self.limit, "{len} values, where {} are the limit", self.limit);
        (self.len, self.reserved, self.finished) = (len, 0, true);
        self.filled = self.filled.min(len.saturating_sub(self.consumed));
        let blocks = self.end_of(len);
        self.here(|_, array| array.lifecycle.finish(blocks));
    }

    /// Begins a new round: an empty array at the same address. Values that were not read are lost. The first block stays with the
    /// array, if it is in place. All others go back to the pool.
    pub fn reset(&mut self) {
        self.restart(true);
    }

    /// As [`reset`](Self::reset), but the first block goes back too.
    pub fn clear(&mut self) {
        self.restart(false);
    }

    fn restart(&mut self, keep_first: bool) {
        self.backing().reset(self.index, keep_first);
        (self.len, self.consumed, self.reserved, self.filled, self.finished) = (0, 0, 0, 0, false);
    }

    /// Room for at least one more value: the rest of a block. Their contents are unspecified. [`commit`](Self::commit) says how many
    /// of them were written.
    ///
    /// # Errors
    /// [`Full`](RewireErrorKind::Full): the limit is reached, or the array was finished.
    /// [`OutOfBlocks`](RewireErrorKind::OutOfBlocks), [`OutOfMemory`](RewireErrorKind::OutOfMemory),
    /// [`OutOfMappings`](RewireErrorKind::OutOfMappings), [`Pinned`](RewireErrorKind::Pinned),
    /// [`Forked`](RewireErrorKind::Forked).
    pub fn reserve(&mut self) -> Result<&mut [T], RewireError> {
        self.backing().pool.check_here()?;
        self.reserved = 0;
        if self.finished || self.len == self.limit {
            let what = if self.finished { "it was finished with" } else { "its limit is" };
            return Err(RewireError::new(RewireErrorKind::Full, format_args!("{what} {} values", self.len)));
        }
        self.arrive(self.len)?;
        self.reserved = self.left_in_block(self.len).min(self.limit - self.len);
        // SAFETY: the rest of a block that is in place, whose bytes the pool has zeroed or an earlier array written; any bytes
        // are values. The exclusive borrow keeps the block there.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.start().add(self.len), self.reserved) })
    }

    /// Appends the first `count` values of the slice that [`reserve`](Self::reserve) gave.
    ///
    /// # Panics
    /// If it gave fewer.
    pub fn commit(&mut self, count: usize) {
        assert!(count <= self.reserved, "{count} values, where {} were reserved", self.reserved);
        self.len += count;
        self.reserved -= count;
    }

    /// The next values that were committed, or that [`finish`](Self::finish) told of: at least one and at most a block, or none
    /// if all were consumed.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    pub fn fill(&mut self) -> Result<&[T], RewireError> {
        self.backing().pool.check_here()?;
        self.filled = 0;
        if self.consumed < self.len {
            self.arrive(self.consumed)?;
            self.filled = self.left_in_block(self.consumed).min(self.len - self.consumed);
        }
        // SAFETY: as in `reserve`; an empty slice may be anywhere.
        Ok(unsafe { std::slice::from_raw_parts(self.start().add(self.consumed), self.filled) })
    }

    /// Consumes the first `count` values of the slice that [`fill`](Self::fill) gave. Blocks before the next one go back to the
    /// pool.
    ///
    /// # Panics
    /// If it gave fewer.
    pub fn consume(&mut self, count: usize) {
        assert!(count <= self.filled, "{count} values, where {} were filled", self.filled);
        self.consumed += count;
        self.filled -= count;
        let all = self.finished && self.consumed == self.len;
        let slot = if all { self.end_of(self.len) } else { self.slot_of(self.consumed) };
        self.here(|backing, array| {
            let passed = array.lifecycle.consumed(slot);
            backing.give_back(self.index, array, passed);
        });
    }

    /// The values it has, as far as that is known: those committed, or the number given to [`finish`](Self::finish).
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none, as far as that is known.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The most values it can have.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The bytes of memory it holds now: whole blocks, in place or set aside. None in a forked child.
    pub fn held(&self) -> u64 {
        let blocks = self.here(|_, array| array.held);
        u64::from(blocks) * self.backing().block().bytes() as u64
    }

    fn start(&self) -> *mut T {
        let backing = self.backing();
        ptr::with_exposed_provenance_mut(backing.address(self.index, 0) + backing.skew(self.index))
    }

    /// The offset of a value from the array's first block.
    fn offset(&self, at: usize) -> u64 {
        (self.backing().skew(self.index) + at * Self::SIZE) as u64
    }

    fn slot_of(&self, at: usize) -> u32 {
        self.backing().block().block_of(self.offset(at)) as u32
    }

    /// The slots that `len` values lie in.
    fn end_of(&self, len: usize) -> u32 {
        len.checked_sub(1).map_or(0, |last| self.slot_of(last) + 1)
    }

    fn left_in_block(&self, at: usize) -> usize {
        let block = self.backing().block();
        (block.bytes() - block.within(self.offset(at))) / Self::SIZE
    }

    /// Makes sure that the block of a value is in place.
    fn arrive(&self, at: usize) -> Result<(), RewireError> {
        self.backing().arrive(self.index, self.slot_of(at)).map_err(|refusal| self.backing().error(refusal))
    }
}

impl<T> Drop for VanishingArray<T> {
    fn drop(&mut self) {
        self.watched.backing.reset(self.index, false);
    }
}

impl<T> fmt::Debug for VanishingArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VanishingArray")
            .field("index", &self.index)
            .field("len", &self.len)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
