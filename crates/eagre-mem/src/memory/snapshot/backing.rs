//! The memory of an array, and its snapshots.

use super::density::Density;
use super::geometry::Geometry;
use super::lanes::{Lanes, MOST};
use super::live::Live;
use super::view::View;
use crate::heap::{self, Shared};
use crate::memory::error::{RewireError, RewireErrorKind};
use crate::memory::mapping_budget::{self, SetAside};
use crate::memory::reservation::Reservation;
use crate::sys::shared::{self, Access};
use crate::sys::{Refusal, facts, process};
use crate::units::{BlockSize, Bytes, HUGE_PAGE};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::sync::{Mutex, PoisonError};

/// The memory of an array, and its snapshots. Snapshots keep it when the array is gone.
pub(super) struct Backing {
    pub(super) geometry: Geometry,
    /// The array's addresses, with guards.
    pub(super) range: Reservation,
    pub(super) array: OwnedFd,
    pub(super) lanes: Lanes,
    pub(super) live: Live,
    /// Counts the snapshots that were taken, from 1.
    pub(super) moment: AtomicU64,
    /// For each block the moment in which it was opened.
    pub(super) opened: Vec<AtomicU64>,
    /// For each group.
    pub(super) density: Vec<Density>,
    /// The array's memory is made of huge pages.
    pub(super) huge: bool,
    /// Held while a snapshot is taken or dropped; how many there are.
    snapshots: Mutex<usize>,
    /// The array has gone.
    gone: AtomicBool,
    /// A touch outside has been reported.
    pub(super) reported: AtomicBool,
    /// Mappings that were set aside for the array and reserved lanes.
    _mappings: SetAside,
    process: u32,
}

impl Backing {
    /// Memory of zeros, with room for the copies of `reserved` snapshots.
    pub(super) fn new(geometry: Geometry, reserved: usize) -> Result<Backing, RewireError> {
        let bytes = geometry.len as u64 * (reserved as u64 + 1);
        let memory = facts::memory();
        if bytes > memory {
            let detail = format_args!("{} of {} that there are", Bytes(bytes), Bytes(memory));
            return Err(RewireError::new(RewireErrorKind::OutOfMemory, detail));
        }
        let refused = |refusal| no_memory(bytes, refusal);
        // The guards are one more.
        let mappings = SetAside::new(reserved as u64 + 2)?;
        let array = shared::create(geometry.len).map_err(refused)?;
        let lanes = Lanes::new(geometry, reserved).map_err(refused)?;
        let mut backing = Backing {
            geometry,
            range: Reservation::guarded(geometry.len, BlockSize::DEFAULT)
                .map_err(|refusal| RewireError::from_addresses(geometry.len as u64, refusal))?,
            array,
            lanes,
            live: Live::new()?,
            moment: AtomicU64::new(1),
            opened: heap::several(geometry.blocks(), || Ok::<_, RewireError>(AtomicU64::new(0)))?,
            density: heap::several(geometry.groups(), || Ok::<_, RewireError>(Density::default()))?,
            huge: false,
            snapshots: Mutex::new(0),
            gone: AtomicBool::new(false),
            reported: AtomicBool::new(false),
            _mappings: mappings,
            process: process::id(),
        };
        // SAFETY: nobody has seen the range. Its guard behind stays closed.
        unsafe {
            backing.map_open(0..geometry.len).map_err(refused)?;
            backing.huge = geometry.group == HUGE_PAGE && shared::collapse(backing.range.start(), geometry.len).is_ok();
        }
        Ok(backing)
    }

    /// Maps the array at its addresses, open.
    ///
    /// # Safety
    /// No snapshot shares these bytes.
    pub(super) unsafe fn map_open(&self, bytes: std::ops::Range<usize>) -> Result<(), Refusal> {
        let (address, len) = (self.range.start() + bytes.start, bytes.len());
        // SAFETY: our own addresses, and always the same memory behind each: those who use them notice nothing.
        unsafe { shared::map(&self.array, bytes.start, address, len, Access::ReadWrite) }.map_err(Refusal::of("mmap"))
    }

    pub(super) fn is_here(&self) -> bool {
        self.process == process::id()
    }

    pub(super) fn check_here(&self) -> Result<(), RewireError> {
        match self.is_here() {
            true => Ok(()),
            false => Err(RewireError::new(RewireErrorKind::Forked, "the array is its parent's")),
        }
    }

    /// How many snapshots somebody holds.
    pub(super) fn snapshots(&self) -> usize {
        *self.snapshots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a snapshot.
    pub(super) fn take(&self) -> Result<Shared<View>, RewireError> {
        self.check_here()?;
        let mut snapshots = self.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        if *snapshots == MOST {
            return Err(RewireError::new(RewireErrorKind::Full, format_args!("{MOST} snapshots of one array"))
                .cured_by("drop one first"));
        }
        let age = *snapshots as u64 + 1;
        let (own, writers) = (self.geometry.most_mappings(age), self.mappings_of_array(*snapshots));
        mapping_budget::claim(own + writers).map_err(|error| {
            error.cured_by("drop snapshots, raise vm.max_map_count, or use larger blocks (SnapshotOptions::block)")
        })?;
        let taken = self.take_counted(*snapshots, own).inspect_err(|_| mapping_budget::release(own + writers))?;
        *snapshots += 1;
        Ok(taken)
    }

    /// What the array's own addresses come to when there are snapshots: set aside with the first, given back with the last.
    fn mappings_of_array(&self, others: usize) -> u64 {
        if others == 0 { self.geometry.most_mappings(1) } else { 0 }
    }

    fn take_counted(&self, others: usize, mappings: u64) -> Result<Shared<View>, RewireError> {
        let refused = |refusal| no_memory(self.geometry.len as u64, refusal);
        self.lanes.ensure(others + 1).map_err(refused)?;
        let room = heap::Room::new()?;
        let view = room.put(View::new(self.geometry, &self.array, mappings).map_err(refused)?);
        let mut all = self.live.all();
        // From here on no block counts as open, whatever the next call does: a store to one that is asks again.
        self.moment.fetch_add(1, SeqCst);
        // SAFETY: our own addresses. A store either comes before this call closes its page, and then the snapshot sees it, or it
        // is a fault, and waits for our claims.
        let closed = unsafe { shared::set_access(self.range.start(), self.geometry.len, Access::Read) };
        if let Err(errno) = closed {
            drop(all);
            // SAFETY: nobody has seen it.
            unsafe { view.unmap() };
            return Err(refused(Refusal { call: "mprotect", errno }));
        }
        all.views().push(view.clone());
        Ok(view)
    }

    /// Makes sure that a snapshot can be read.
    pub(super) fn read(&self, view: &View) -> Result<(), RewireError> {
        if view.is_read() {
            return Ok(());
        }
        self.check_here()?;
        let all = self.live.all();
        // Another reader may have come first.
        if !view.is_read() {
            // SAFETY: all claims are held, and nobody reads before this.
            unsafe { view.begin_reading(&self.lanes) }
                .map_err(|refusal| no_memory(self.geometry.len as u64, refusal))?;
        }
        drop(all);
        Ok(())
    }

    /// Drops a snapshot.
    pub(super) fn drop_view(&self, view: &Shared<View>) {
        if !self.is_here() {
            return;
        }
        let mut snapshots = self.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        self.live.all().views().retain(|live| !Shared::is_same(live, view));
        // SAFETY: nobody borrows the snapshot any more, and no store looks at it.
        unsafe { view.unmap() };
        self.lanes.release(|block| view.lane_of(block));
        *snapshots -= 1;
        if *snapshots == 0 {
            self.open_all();
        }
        mapping_budget::release(view.mappings + self.mappings_of_array(*snapshots));
    }

    /// Opens the array: nobody shares it.
    fn open_all(&self) {
        let all = self.live.all();
        if self.gone.load(SeqCst) {
            return;
        }
        // Where pages are huge, mapping anew brings back the large entries of the page tables.
        // SAFETY: there are no snapshots. What stays closed is opened by the store to it.
        unsafe {
            if !self.huge || self.map_open(0..self.geometry.len).is_err() {
                let _ = shared::set_access(self.range.start(), self.geometry.len, Access::ReadWrite);
            }
        }
        drop(all);
    }

    /// The array goes; its snapshots may stay.
    ///
    /// # Safety
    /// Nobody uses its addresses, and no touch comes to us any more.
    pub(super) unsafe fn leave(&self) {
        let _one = self.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        self.gone.store(true, SeqCst);
        // SAFETY: the caller's contract.
        unsafe { self.range.unmap() };
    }
}

impl Drop for Backing {
    fn drop(&mut self) {
        if self.is_here() && !self.gone.load(SeqCst) {
            // SAFETY: nobody has it.
            unsafe { self.range.unmap() };
        }
    }
}

fn no_memory(bytes: u64, refusal: Refusal) -> RewireError {
    RewireError::from_memory("for an array with snapshots", bytes, refusal)
}
