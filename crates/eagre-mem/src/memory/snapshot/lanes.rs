//! Where blocks are kept for snapshots: memory as long as the array, several times over.
//!
//! ```text
//!   block      0   1   2   3
//!   lane 0   │ a │   │ c │   │      a block is kept at its own offset, in the first lane that is free there
//!   lane 1   │   │   │ e │   │
//! ```
//!
//! So neighbours that are kept lie side by side and take one mapping, and nothing has to be searched. At most one lane is needed for
//! each snapshot: a block that is about to be kept is kept for one of them at least, and each of the others uses one place.
//!
//! A lane is addresses of a file; memory is in it where a block is kept. A *reserved* lane has its memory from the start and keeps
//! it, and is mapped, so that a copy is no system call.

use super::copying;
use super::geometry::Geometry;
use crate::heap;
use crate::memory::reservation::Reservation;
use crate::sys::shared::{self, Access};
use crate::sys::{Errno, Refusal, process};
use crate::units::HUGE_PAGE;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::*};

/// The most lanes, and snapshots at once.
pub(super) const MOST: usize = 250;

pub(super) struct Lanes {
    geometry: Geometry,
    fd: OwnedFd,
    lanes: Vec<OnceLock<Lane>>,
    /// Blocks that are kept.
    kept: AtomicU64,
}

struct Lane {
    /// How many snapshots see each place.
    users: Vec<AtomicU8>,
    /// Where a reserved lane is mapped.
    mapped: Option<Mapped>,
}

/// Addresses that go with this, in the process that made them.
struct Mapped {
    range: Reservation,
    process: u32,
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if self.process == process::id() {
            // SAFETY: nobody else knows of them.
            unsafe { self.range.unmap() };
        }
    }
}

impl Lanes {
    /// With `reserved` lanes that have their memory.
    pub(super) fn new(geometry: Geometry, reserved: usize) -> Result<Lanes, Refusal> {
        let lanes = heap::several(MOST, || Ok::<_, Refusal>(OnceLock::new()))?;
        let lanes = Lanes { geometry, fd: shared::create_sparse()?, lanes, kept: AtomicU64::new(0) };
        for number in 0..reserved {
            lanes.add(number, true)?;
        }
        Ok(lanes)
    }

    /// Makes sure that there are `count` lanes. One call at a time.
    pub(super) fn ensure(&self, count: usize) -> Result<(), Refusal> {
        (0..count).filter(|&number| self.lanes[number].get().is_none()).try_for_each(|number| self.add(number, false))
    }

    fn add(&self, number: usize, reserved: bool) -> Result<(), Refusal> {
        let users = heap::several(self.geometry.blocks(), || Ok::<_, Refusal>(AtomicU8::new(0)))?;
        let too_long = Refusal { call: "ftruncate", errno: Errno::NOMEM };
        let end =
            (number + 1).checked_mul(self.geometry.len).filter(|&end| i64::try_from(end).is_ok()).ok_or(too_long)?;
        shared::grow(&self.fd, end)?;
        let mapped = if reserved { Some(self.map_whole(number)?) } else { None };
        let _ = self.lanes[number].set(Lane { users, mapped });
        Ok(())
    }

    /// Maps a lane for copies, with all its memory.
    fn map_whole(&self, number: usize) -> Result<Mapped, Refusal> {
        let len = self.geometry.len;
        shared::add_room(&self.fd, number * len..(number + 1) * len)?;
        let mapped = Mapped { range: Reservation::aligned(len, HUGE_PAGE)?, process: process::id() };
        let start = mapped.range.start();
        // SAFETY: a range of our own, which nobody has seen.
        unsafe {
            shared::map(&self.fd, number * len, start, len, Access::ReadWrite).map_err(Refusal::of("mmap"))?;
            if self.geometry.group == HUGE_PAGE {
                // Faster where the kernel has huge pages to give.
                let _ = shared::collapse(start, len);
            }
        }
        Ok(mapped)
    }

    fn lane(&self, number: usize) -> Option<&Lane> {
        self.lanes.get(number)?.get()
    }

    /// The first lane that is free at a block.
    pub(super) fn free_at(&self, block: usize) -> Option<usize> {
        let lanes = self.lanes.iter().map_while(OnceLock::get);
        lanes.enumerate().find(|(_, lane)| lane.users[block].load(Acquire) == 0).map(|(number, _)| number)
    }

    /// Where a block of a lane lies in the file.
    fn offset(&self, lane: usize, block: usize) -> usize {
        lane * self.geometry.len + block * self.geometry.block
    }

    /// Keeps what lies at `address`: puts a copy into places of a lane that are free. Safe in handlers.
    ///
    /// # Errors
    /// There is no memory for it.
    ///
    /// # Safety
    /// The blocks lie at `address`, and nobody changes them meanwhile or takes the places.
    pub(super) unsafe fn copy(&self, lane: usize, blocks: &Range<usize>, address: usize) -> Result<(), Refusal> {
        let bytes = self.geometry.bytes(blocks);
        match self.lane(lane).and_then(|lane| lane.mapped.as_ref()) {
            Some(mapped) => {
                let to: *mut u8 = ptr::with_exposed_provenance_mut(mapped.range.start() + bytes.start);
                let from: *const u8 = ptr::with_exposed_provenance(address);
                // SAFETY: the lane is mapped there, all of it has memory, and nobody sees these places; see above.
                unsafe { copying::copy(to, from, bytes.len()) };
                Ok(())
            }
            // SAFETY: the caller's contract.
            None => unsafe { shared::write(&self.fd, self.offset(lane, blocks.start), address, bytes.len()) }
                .map_err(Refusal::of("pwrite")),
        }
    }

    /// Maps kept blocks for reading at `address`, one of many pieces. Safe in handlers.
    ///
    /// # Safety
    /// The range belongs to the caller, who gives up its contents.
    pub(super) unsafe fn map(&self, lane: usize, blocks: &Range<usize>, address: usize) -> Result<(), Errno> {
        let len = self.geometry.bytes(blocks).len();
        // SAFETY: the caller's contract.
        unsafe { shared::map_piece(&self.fd, self.offset(lane, blocks.start), address, len, Access::Read) }
    }

    /// One more snapshot sees these places.
    pub(super) fn add_user(&self, lane: usize, blocks: &Range<usize>) {
        let Some(lane) = self.lane(lane) else { return };
        for users in &lane.users[blocks.clone()] {
            if users.fetch_add(1, Release) == 0 {
                self.kept.fetch_add(1, Relaxed);
            }
        }
    }

    /// A snapshot has gone, which saw `lane_of` each block. Gives back what nobody else sees.
    pub(super) fn release(&self, lane_of: impl Fn(usize) -> Option<usize>) {
        let mut block = 0;
        while block < self.geometry.blocks() {
            let first = block;
            block += 1;
            let Some(number) = lane_of(first) else { continue };
            let Some(lane) = self.lane(number) else { continue };
            // Ours alone: no other snapshot comes to see a place that is in use.
            let last_user = |block: usize| lane.users[block].load(Acquire) == 1;
            if !last_user(first) {
                lane.users[first].fetch_sub(1, Release);
                continue;
            }
            while block < self.geometry.blocks() && lane_of(block) == Some(number) && last_user(block) {
                block += 1;
            }
            let len = (block - first) * self.geometry.block;
            if lane.mapped.is_none() {
                let _ = shared::punch(&self.fd, self.offset(number, first), len);
            }
            // Only now may others take the places.
            lane.users[first..block].iter().for_each(|users| users.store(0, Release));
            self.kept.fetch_sub((block - first) as u64, Relaxed);
        }
    }

    /// Blocks that are kept.
    pub(super) fn kept(&self) -> u64 {
        self.kept.load(Relaxed)
    }
}
