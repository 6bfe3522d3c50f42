//! Drafts: new contents of some blocks, on memory of their own, which the array shows all at once (RUMA, section 6: differential
//! updates).
//!
//! ```text
//!   array      │ 0 │ 1 │ 2 │ 3 │          │ 0 │ 1'│ 2 │ 3'│
//!   draft          │ 1'│ 3'│       apply ──────┘───────┘
//! ```

use super::places::Places;
use super::run::{Run, no_memory};
use super::{ViewArray, elements};
use crate::heap::{self, Shared};
use crate::memory::Plain;
use crate::memory::error::RewireError;
#[allow(unused_imports, reason = "named in documentation")]
use crate::memory::error::RewireErrorKind;
use crate::sys::shared::Access;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};
use std::{ptr, slice};

/// Copies of some blocks of an array, to be changed, and then [applied](ViewArray::apply). Made by [`ViewArray::draft`].
///
/// It dereferences to the elements of all of its blocks, in the order in which they were named. The array, and its views, show nothing of
/// it before it is applied. Dropped, it is forgotten.
pub struct Draft<T> {
    run: Run,
    /// Which block of the array each is a draft of.
    blocks: Vec<usize>,
    elements: PhantomData<T>,
}

impl<T: Plain> Draft<T> {
    /// Which blocks of the array it is a draft of.
    pub fn blocks(&self) -> &[usize] {
        &self.blocks
    }

    /// The slots that follow each other both here and in the array: where here.
    fn stretches(&self) -> impl Iterator<Item = Range<usize>> {
        let mut start = 0;
        self.blocks.chunk_by(|one, next| one + 1 == *next).map(move |stretch| {
            let slots = start..start + stretch.len();
            start = slots.end;
            slots
        })
    }
}

impl<T: Plain> Deref for Draft<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        elements(&self.run)
    }
}

impl<T: Plain> DerefMut for Draft<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let start = ptr::with_exposed_provenance_mut::<T>(self.run.start());
        // SAFETY: the draft's own memory, which no other slot shows before it is applied, borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(start, self.run.bytes() / size_of::<T>()) }
    }
}

impl<T> fmt::Debug for Draft<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Draft").field("blocks", &self.blocks).finish_non_exhaustive()
    }
}

impl<T: Plain> ViewArray<T> {
    /// Copies of some blocks, to be changed apart and then [applied](Self::apply) at once. Meanwhile the array can be read, views can be
    /// made of it, and other drafts.
    ///
    /// ```
    /// # use eagre_mem::ViewArray;
    /// let mut table = ViewArray::<u64>::new(4)?;
    /// let each = table.block_len();
    /// let mut draft = table.draft(&[3, 1])?;
    /// draft[0] = 30;
    /// draft[each] = 10;
    /// assert_eq!((table[3 * each], table[each]), (0, 0));
    /// table.apply(draft)?;
    /// assert_eq!((table[3 * each], table[each]), (30, 10));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](RewireErrorKind::OutOfMemory): there is none for the copies. Others as [`ViewArray::view`].
    ///
    /// # Panics
    /// If there is no such block, or one is named twice.
    pub fn draft(&self, blocks: &[usize]) -> Result<Draft<T>, RewireError> {
        let memory = &self.run.memory;
        memory.check_here()?;
        let blocks = heap::copied(blocks)?;
        let mut sorted = heap::copied(&blocks)?;
        sorted.sort_unstable();
        assert!(sorted.windows(2).all(|pair| pair[0] != pair[1]), "a draft has each block once");
        assert!(sorted.last().is_none_or(|&last| last < self.blocks()), "a draft is of blocks of the array");
        let mut run = Run::new(memory.clone(), blocks.len(), Access::ReadWrite)?;
        let mut places = Taken { memory, places: heap::list(blocks.len())? };
        for &block in &blocks {
            let copied = memory.take(block).and_then(|place| {
                places.places.push(place);
                // SAFETY: a slot of the array, which is borrowed; the place is new.
                unsafe { memory.copy(place, self.run.start() + block * memory.block, 1) }
            });
            copied.map_err(|refusal| no_memory(blocks.len() * memory.block, refusal))?;
        }
        run.append(&places.places)?;
        drop(places);
        Ok(Draft { run, blocks, elements: PhantomData })
    }

    /// Shows what a draft holds, instead of the blocks that it was made of: a mapping for each run of neighbours, and no copy.
    ///
    /// What was written to those blocks since the draft was made is lost. A view that shows the old blocks keeps them.
    ///
    /// # Errors
    /// [`OutOfMappings`](RewireErrorKind::OutOfMappings): a block lies elsewhere afterwards, and its neighbours are cut off.
    /// [`OutOfMemory`](RewireErrorKind::OutOfMemory), [`System`](RewireErrorKind::System), [`Forked`](RewireErrorKind::Forked). The
    /// elements are what they were, and the draft is gone.
    ///
    /// # Panics
    /// If the draft is of another array.
    pub fn apply(&mut self, draft: Draft<T>) -> Result<(), RewireError> {
        let memory = self.run.memory.clone();
        memory.check_here()?;
        assert!(ptr::eq(&raw const *memory, &raw const *draft.run.memory), "the draft is of another array");
        let old = heap::copied(self.run.places())?;
        let mut new = heap::copied(&old)?;
        draft.blocks.iter().zip(draft.run.places()).for_each(|(&block, &place)| new[block] = place);
        self.run.check_mappings(&new)?;
        // Kept until all is well, or to go back to.
        let before = Taken::share(&memory, draft.blocks.iter().map(|&block| old[block]))?;
        let mut stretches = draft.stretches();
        let failed =
            stretches.find_map(|stretch| self.show(&draft, &stretch, &new).err().map(|error| (stretch.end, error)));
        if let Some((until, error)) = failed {
            for stretch in draft.stretches().take_while(|stretch| stretch.end < until) {
                // The kernel has the mappings for it: it has had them a moment ago.
                let _ = self.show(&draft, &stretch, &old);
            }
            return Err(error);
        }
        drop(before);
        Ok(())
    }

    /// Shows the places that `table` has for the blocks of a stretch of a draft.
    fn show(&mut self, draft: &Draft<T>, stretch: &Range<usize>, table: &[usize]) -> Result<(), RewireError> {
        let first = draft.blocks[stretch.start];
        let slots = first..first + stretch.len();
        let mut places = heap::copied(&table[slots.clone()])?;
        self.run.memory.share(&places);
        self.run.rewire(slots, &mut places).map(drop)
    }
}

/// Places that are used, until this is dropped.
struct Taken<'m> {
    memory: &'m Shared<Places>,
    places: Vec<usize>,
}

impl<'m> Taken<'m> {
    fn share(
        memory: &'m Shared<Places>,
        places: impl ExactSizeIterator<Item = usize>,
    ) -> Result<Taken<'m>, RewireError> {
        let mut all = heap::list(places.len())?;
        all.extend(places);
        memory.share(&all);
        Ok(Taken { memory, places: all })
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.memory.release(&self.places);
    }
}
