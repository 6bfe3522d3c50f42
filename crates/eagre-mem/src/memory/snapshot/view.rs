//! What a snapshot sees: addresses of its own, on the array's memory and on blocks that are kept.

use super::geometry::Geometry;
use super::lanes::Lanes;
use crate::heap;
use crate::memory::reservation::Reservation;
use crate::sys::Refusal;
use crate::sys::shared::{self, Access};
use crate::units::HUGE_PAGE;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU8, Ordering::*};

/// The addresses of a snapshot, and what lies there.
pub(super) struct View {
    range: Reservation,
    geometry: Geometry,
    /// For each block one more than its lane, or 0 while the snapshot shares it with the array.
    lanes: Vec<AtomicU8>,
    /// For each group how many blocks were kept by themselves.
    singles: Vec<AtomicU8>,
    /// Mappings that were set aside for it.
    pub(super) mappings: u64,
}

impl View {
    /// All of the array, read-only.
    pub(super) fn new(geometry: Geometry, array: &OwnedFd, mappings: u64) -> Result<View, Refusal> {
        let zeros = |count| heap::several(count, || Ok::<_, Refusal>(AtomicU8::new(0)));
        let (lanes, singles) = (zeros(geometry.blocks())?, zeros(geometry.groups())?);
        let range = Reservation::aligned(geometry.len, HUGE_PAGE)?;
        // SAFETY: a range of our own, which nobody has seen.
        if let Err(errno) = unsafe { shared::map(array, 0, range.start(), geometry.len, Access::Read) } {
            // SAFETY: as above.
            unsafe { range.unmap() };
            return Err(Refusal { call: "mmap", errno });
        }
        Ok(View { range, geometry, lanes, singles, mappings })
    }

    pub(super) fn start(&self) -> usize {
        self.range.start()
    }

    /// Whether the snapshot shares a block with the array: a store would change it.
    #[inline]
    pub(super) fn shares(&self, block: usize) -> bool {
        self.lanes[block].load(Acquire) == 0
    }

    /// The lane in which a block is kept.
    pub(super) fn lane_of(&self, block: usize) -> Option<usize> {
        self.lanes[block].load(Acquire).checked_sub(1).map(usize::from)
    }

    pub(super) fn singles(&self, group: usize) -> u8 {
        self.singles[group].load(Relaxed)
    }

    pub(super) fn count_single(&self, group: usize) {
        self.singles[group].fetch_add(1, Relaxed);
    }

    /// Sees some blocks in a lane from now on. Safe in handlers.
    ///
    /// # Safety
    /// The lane holds in these places what the array holds; the caller has the claim of their group.
    pub(super) unsafe fn see(&self, kept: &Lanes, lane: usize, blocks: &Range<usize>) -> Result<(), Refusal> {
        let address = self.range.start() + self.geometry.bytes(blocks).start;
        // SAFETY: addresses of our own. What is mapped there has the contents that were there: readers notice nothing.
        unsafe { kept.map(lane, blocks, address)? };
        self.lanes[blocks.clone()].iter().for_each(|entry| entry.store(lane as u8 + 1, Release));
        Ok(())
    }

    /// Gives the addresses back.
    ///
    /// # Safety
    /// Nobody reads them any more, and no store is being seen to.
    pub(super) unsafe fn unmap(&self) {
        // SAFETY: the caller's contract.
        unsafe { self.range.unmap() };
    }
}
