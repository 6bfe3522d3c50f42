//! How an array that views can be made of is made.

#![forbid(unsafe_code)]

use super::ViewArray;
use super::places::Places;
use super::run::{Run, no_memory};
use crate::heap::{self, Shared};
use crate::memory::Plain;
use crate::memory::error::{RewireError, RewireErrorKind};
use crate::sys::shared::Access;
use crate::sys::{facts, process};
use crate::units::{Bytes, HUGE_PAGE, PAGE};
use std::marker::PhantomData;

/// How a [`ViewArray`] is made.
///
/// ```
/// # use eagre_mem::ViewOptions;
/// let mut directory = ViewOptions::new().block(4096).limit(1 << 10).array::<u64>(1)?;
/// directory.write(..)?.fill(7);
/// // Twice as long, for the price of a mapping.
/// directory.extend_from_within(..)?;
/// assert_eq!((directory.blocks(), directory[600], directory.stats().bytes), (2, 7, 4096));
/// # Ok::<(), eagre_mem::RewireError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ViewOptions {
    block: usize,
    limit: usize,
}

impl Default for ViewOptions {
    fn default() -> Self {
        ViewOptions { block: ViewOptions::BLOCK, limit: 0 }
    }
}

impl ViewOptions {
    /// The default block, in bytes.
    pub const BLOCK: usize = HUGE_PAGE;

    /// The defaults.
    pub fn new() -> ViewOptions {
        ViewOptions::default()
    }

    /// What views are made of, in bytes: a power of two from 4 KiB to 2 MiB. Smaller blocks share more and copy less; larger ones take
    /// fewer mappings and, from 2 MiB on, are read through huge pages.
    pub fn block(mut self, bytes: usize) -> ViewOptions {
        self.block = bytes;
        self
    }

    /// So many blocks the array may come to have ([`ViewArray::extend_from_within`]). The addresses for them are taken now, and 8 bytes
    /// of heap for each. Otherwise it has as many as it is made with.
    pub fn limit(mut self, blocks: usize) -> ViewOptions {
        self.limit = blocks;
        self
    }

    /// Makes an array of `blocks` blocks of zeros. Their memory is taken now, and made of huge pages where the kernel can (Linux 6.1).
    ///
    /// # Errors
    /// [`OutOfMemory`](RewireErrorKind::OutOfMemory), [`OutOfAddresses`](RewireErrorKind::OutOfAddresses),
    /// [`OutOfMappings`](RewireErrorKind::OutOfMappings), [`System`](RewireErrorKind::System), also for a block that is none.
    pub fn array<T: Plain>(self, blocks: usize) -> Result<ViewArray<T>, RewireError> {
        let () = ViewArray::<T>::DIVIDES_BLOCKS;
        process::remember();
        if !self.block.is_power_of_two() || !(PAGE..=HUGE_PAGE).contains(&self.block) {
            let detail = format_args!("a block of {} bytes is no power of two from 4096 to 2097152", self.block);
            return Err(RewireError::new(RewireErrorKind::System, detail));
        }
        let (memory, bytes) = (facts::memory(), blocks.saturating_mul(self.block));
        if bytes as u64 > memory {
            let detail = format_args!("{} of {} that there are", Bytes(bytes as u64), Bytes(memory));
            return Err(RewireError::new(RewireErrorKind::OutOfMemory, detail));
        }
        let limit = self.limit.max(blocks).max(1);
        let places = Places::new(self.block, limit, blocks).map_err(|refusal| no_memory(bytes, refusal))?;
        let mut run = Run::new(Shared::new(places)?, limit, Access::ReadWrite)?;
        let mut first = heap::list(blocks)?;
        first.extend(0..blocks);
        run.append(&first)?;
        let huge = run.collapse();
        Ok(ViewArray { run, huge, elements: PhantomData })
    }
}
