//! Views: contiguous addresses over any blocks in any order (RUMA, section 6).
//!
//! The blocks of an array lie in memory that may be mapped several times. A view maps some of them once more, read-only, one after
//! the other. Nothing is copied before it is written: then the array gets a block of its own, and whoever else shows the old one
//! keeps it.
//!
//! ```text
//!   array      │ 0 │ 1 │ 2 │ 3 │
//!   memory       0   1   2   3   w
//!   view       │ 3 │ 0 │ 1 │ 1 │       view(&[3, 0, 1, 1])
//!   array      │ 0 │ w │ 2 │ 3 │       write(1..2): the view still shows block 1
//! ```
//!
//! [`draft`] holds new contents of some blocks apart until they are shown at once. [`places`] says where blocks lie and who shows them, [`run`] what lies at which address.
//!
//! # Safety
//! Bytes are written through a slot that is the only one to show its place, behind an exclusive borrow of the array. A place that two
//! slots show never changes.

mod deduplicate;
mod draft;
mod options;
mod places;
mod run;

pub use draft::Draft;
pub use options::ViewOptions;

use super::Plain;
use super::error::{RewireError, RewireErrorKind};
use super::inside;
use crate::heap;
use crate::sys::shared::Access;
use run::Run;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, RangeBounds};
use std::ptr;
use std::slice;

/// An array of blocks, of which views can be made.
///
/// A [`View`] shows some of its blocks, in any order and any number of times, as one slice. It costs a mapping for each run of
/// neighbours, and no copy. Blocks are shared until they are written: [`write`](Self::write) gives the array a copy of a
/// block that somebody else shows.
///
/// ```
/// # use eagre_mem::ViewArray;
/// let mut table = ViewArray::<u64>::new(4)?;
/// for block in 0..4 {
///     table.write(block..block + 1)?.fill(block as u64);
/// }
///
/// let view = table.view(&[3, 0, 1, 1])?;
/// let each = table.block_len();
/// assert!(view.chunks(each).map(|block| block[0]).eq([3, 0, 1, 1]));
///
/// table.write(1..2)?[0] = 100;
/// assert_eq!((table[each], view[2 * each]), (100, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The array dereferences to all of its elements, at addresses that never change. A forked child has no part in it, or in its views.
pub struct ViewArray<T> {
    run: Run,
    huge: bool,
    elements: PhantomData<T>,
}

/// What an array and its views take, at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ViewStats {
    /// Bytes of memory behind the array and its views, each block counted once.
    pub bytes: u64,
    /// Bytes of a block.
    pub block: usize,
    /// Whether the array's memory is made of huge pages. Blocks that were copied since are not.
    pub huge: bool,
}

impl<T: Plain> ViewArray<T> {
    const DIVIDES_BLOCKS: () = {
        let size = size_of::<T>();
        assert!(size.is_power_of_two() && size <= 4096, "a value must have a power of two of bytes, at most 4096");
    };

    /// An array of `blocks` blocks of 2 MiB, all zeros.
    ///
    /// # Errors
    /// As [`ViewOptions::array`].
    pub fn new(blocks: usize) -> Result<ViewArray<T>, RewireError> {
        ViewOptions::new().array(blocks)
    }

    /// How many blocks it has.
    pub fn blocks(&self) -> usize {
        self.run.len()
    }

    /// How many elements a block has.
    pub fn block_len(&self) -> usize {
        self.run.memory.block / size_of::<T>()
    }

    /// Shows some blocks, in this order, one after the other. A block may come more than once.
    ///
    /// # Errors
    /// [`OutOfMappings`](RewireErrorKind::OutOfMappings): each block that does not follow the one before it, in memory, is a mapping of
    /// its own, and the process may not have so many. [`OutOfMemory`](RewireErrorKind::OutOfMemory),
    /// [`OutOfAddresses`](RewireErrorKind::OutOfAddresses), [`System`](RewireErrorKind::System),
    /// [`Forked`](RewireErrorKind::Forked).
    ///
    /// # Panics
    /// If there is no such block.
    pub fn view(&self, blocks: &[usize]) -> Result<View<T>, RewireError> {
        self.run.memory.check_here()?;
        let mut places = heap::list(blocks.len())?;
        places.extend(blocks.iter().map(|&block| self.run.places()[block]));
        let mut run = Run::new(self.run.memory.clone(), places.len(), Access::Read)?;
        run.append(&places)?;
        Ok(View { run, elements: PhantomData })
    }

    /// Some blocks for writing. What is shared is copied first, so that nobody else sees what is written.
    ///
    /// # Errors
    /// [`OutOfMemory`](RewireErrorKind::OutOfMemory): there is none for a copy. [`OutOfMappings`](RewireErrorKind::OutOfMappings): a
    /// copy lies elsewhere, and its neighbours are cut off. [`System`](RewireErrorKind::System),
    /// [`Forked`](RewireErrorKind::Forked). The elements are what they were.
    ///
    /// # Panics
    /// If the blocks are not the array's.
    pub fn write(&mut self, blocks: impl RangeBounds<usize>) -> Result<&mut [T], RewireError> {
        self.run.memory.check_here()?;
        let blocks = inside(blocks, self.blocks());
        self.run.own(blocks.clone())?;
        let (start, each) = (ptr::with_exposed_provenance_mut::<T>(self.run.start()), self.block_len());
        // SAFETY: the array's own memory, which no other slot shows, borrowed exclusively.
        Ok(unsafe { slice::from_raw_parts_mut(start.add(blocks.start * each), blocks.len() * each) })
    }

    /// Appends blocks that the array has already: a mapping, and no copy. Both places show the same memory until one is written.
    ///
    /// # Errors
    /// [`Full`](RewireErrorKind::Full): there are no addresses left ([`ViewOptions::limit`]). Others as [`ViewArray::view`]. The array
    /// is as it was.
    ///
    /// # Panics
    /// If the range is not inside the array.
    pub fn extend_from_within(&mut self, blocks: impl RangeBounds<usize>) -> Result<(), RewireError> {
        self.run.memory.check_here()?;
        let blocks = inside(blocks, self.blocks());
        let (has, limit) = (self.blocks(), self.run.room());
        if limit - has < blocks.len() {
            let detail = format_args!("{} more blocks than {has} with a limit of {limit}", blocks.len());
            return Err(RewireError::new(RewireErrorKind::Full, detail).cured_by("raise it (ViewOptions::limit)"));
        }
        let places = heap::copied(&self.run.places()[blocks])?;
        self.run.append(&places)
    }

    /// Finds equal blocks and keeps one of each, until they are written. Returns the bytes of memory that were given back; what a view
    /// shows is given back when the view is dropped.
    ///
    /// All of the array is read.
    ///
    /// # Errors
    /// [`OutOfMappings`](RewireErrorKind::OutOfMappings): what is not beside its neighbours is a mapping of its own, and there are too
    /// many. [`OutOfMemory`](RewireErrorKind::OutOfMemory), [`System`](RewireErrorKind::System),
    /// [`Forked`](RewireErrorKind::Forked). The elements are what they were.
    pub fn deduplicate(&mut self) -> Result<u64, RewireError> {
        self.run.memory.check_here()?;
        let equal = {
            let (bytes, each) = (self.run.bytes(), self.run.memory.block);
            // SAFETY: the array's own memory, readable at any time; plain elements are bytes.
            let all = unsafe { slice::from_raw_parts(ptr::with_exposed_provenance::<u8>(self.run.start()), bytes) };
            deduplicate::equal(self.run.places(), |slot| &all[slot * each..][..each])?
        };
        let instead = |place: usize| equal.binary_search_by_key(&place, |&(from, _)| from).map(|at| equal[at].1);
        let mut places = heap::copied(self.run.places())?;
        places.iter_mut().for_each(|place| *place = instead(*place).unwrap_or(*place));
        self.run.check_mappings(&places)?;
        let (mut slot, mut freed) = (0, 0);
        while slot < self.blocks() {
            let changed = |(old, new): &(&usize, &usize)| old != new;
            let count = self.run.places()[slot..].iter().zip(&places[slot..]).take_while(changed).count();
            if count > 0 {
                let slots = slot..slot + count;
                self.run.memory.share(&places[slots.clone()]);
                freed += self.run.rewire(slots.clone(), &mut places[slots])?;
            }
            slot += count.max(1);
        }
        Ok(freed as u64 * self.run.memory.block as u64)
    }

    /// What it takes.
    pub fn stats(&self) -> ViewStats {
        let block = self.run.memory.block;
        ViewStats { bytes: self.run.memory.shown() as u64 * block as u64, block, huge: self.huge }
    }
}

impl<T: Plain> Deref for ViewArray<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        elements(&self.run)
    }
}

impl<T> fmt::Debug for ViewArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewArray").field("blocks", &self.run.len()).finish_non_exhaustive()
    }
}

/// Blocks of an array, as one slice, as they were when the view was [made](ViewArray::view).
///
/// It may be read from any thread, by system calls too, and may outlive the array.
pub struct View<T> {
    run: Run,
    elements: PhantomData<T>,
}

impl<T: Plain> Deref for View<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        elements(&self.run)
    }
}

impl<T> fmt::Debug for View<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View").field("blocks", &self.run.len()).finish_non_exhaustive()
    }
}

/// What a run shows.
#[inline]
fn elements<T: Plain>(run: &Run) -> &[T] {
    let start = ptr::with_exposed_provenance(run.start());
    // SAFETY: mapped with the run, and written only behind an exclusive borrow of the array whose run it is.
    unsafe { slice::from_raw_parts(start, run.bytes() / size_of::<T>()) }
}
