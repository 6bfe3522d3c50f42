//! What a snapshot sees: addresses of its own, on the array's memory and on blocks that are kept.
//!
//! Until somebody reads the snapshot, only the list of its blocks is kept up to date, which costs stores nothing. The first reader
//! maps what lies in lanes, in as few pieces as it has; from then on each store that keeps a block maps it too.

use super::geometry::Geometry;
use super::lanes::Lanes;
use crate::heap;
use crate::memory::reservation::Reservation;
use crate::sys::shared::{self, Access};
use crate::sys::{Errno, Refusal};
use crate::units::HUGE_PAGE;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::*};

/// The addresses of a snapshot, and what lies there.
pub(super) struct View {
    range: Reservation,
    geometry: Geometry,
    /// For each block one more than its lane, or 0 while the snapshot shares it with the array.
    lanes: Vec<AtomicU8>,
    /// For each group how many blocks were kept by themselves.
    singles: Vec<AtomicU8>,
    /// Somebody reads it: what is kept must be mapped.
    read: AtomicBool,
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
        Ok(View { range, geometry, lanes, singles, read: AtomicBool::new(false), mappings })
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
        if self.is_read() {
            // SAFETY: addresses of our own. What is mapped there has the contents that were there: readers notice nothing.
            unsafe { self.map(kept, lane, blocks).and_then(|()| self.keep_out(blocks)) }
                .map_err(Refusal::of("mmap"))?;
        }
        self.lanes[blocks.clone()].iter().for_each(|entry| entry.store(lane as u8 + 1, Release));
        Ok(())
    }

    #[inline]
    pub(super) fn is_read(&self) -> bool {
        self.read.load(Acquire)
    }

    /// Maps all that is kept, for the first reader.
    ///
    /// # Safety
    /// The caller has all claims, and nobody reads the snapshot before.
    pub(super) unsafe fn begin_reading(&self, kept: &Lanes) -> Result<(), Refusal> {
        let mut at = 0;
        while at < self.geometry.blocks() {
            let lane = self.lane_of(at);
            let end = at + (at..self.geometry.blocks()).take_while(|&block| self.lane_of(block) == lane).count();
            if let Some(lane) = lane {
                let blocks = at..end;
                // SAFETY: addresses of our own, which nobody reads yet.
                unsafe { self.map(kept, lane, &blocks) }.map_err(Refusal::of("mmap"))?;
            }
            at = end;
        }
        // SAFETY: addresses of our own.
        unsafe { self.keep_out(&(0..self.geometry.blocks())) }.map_err(Refusal::of("madvise"))?;
        self.read.store(true, Release);
        Ok(())
    }

    /// # Safety
    /// The lane holds in these places what the snapshot shows there, or nobody reads it yet.
    unsafe fn map(&self, kept: &Lanes, lane: usize, blocks: &Range<usize>) -> Result<(), Errno> {
        // SAFETY: addresses of our own.
        unsafe { kept.map(lane, blocks, self.range.start() + self.geometry.bytes(blocks).start) }
    }

    /// # Safety
    /// Something is mapped all over these blocks.
    unsafe fn keep_out(&self, blocks: &Range<usize>) -> Result<(), Errno> {
        let bytes = self.geometry.bytes(blocks);
        // SAFETY: addresses of our own.
        unsafe { shared::keep_out(self.range.start() + bytes.start, bytes.len()) }
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
