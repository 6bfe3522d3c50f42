//! A run of addresses cut into slots, each of which shows a place.

use super::places::{Places, pieces};
use crate::heap::{self, Shared};
use crate::memory::error::{RewireError, RewireErrorKind};
use crate::memory::mapping_budget::{Mappings, SetAside};
use crate::memory::reservation::Reservation;
use crate::sys::shared::{self, Access};
use crate::sys::{Refusal, map};
use crate::units::HUGE_PAGE;
use std::ops::Range;

/// Addresses of an array or a view. What its slots show is theirs in part: each counts as a user of its place.
pub(super) struct Run {
    pub(super) memory: Shared<Places>,
    range: Reservation,
    /// What each slot shows.
    places: Vec<usize>,
    /// Bytes of all slots: how long the slice is.
    bytes: usize,
    access: Access,
    /// The pieces, and one for addresses without a slot.
    mappings: SetAside,
}

impl Run {
    /// Addresses for `room` slots, at least one, of which there are none yet.
    pub(super) fn new(memory: Shared<Places>, room: usize, access: Access) -> Result<Run, RewireError> {
        let len = room.max(1).checked_mul(memory.block).filter(|&len| len <= isize::MAX as usize).ok_or_else(|| {
            let detail = format_args!("{room} blocks are more than there are addresses");
            RewireError::new(RewireErrorKind::OutOfAddresses, detail)
        })?;
        let mappings = SetAside::new(1)?;
        let range = Reservation::aligned(len, HUGE_PAGE.min(len.next_power_of_two()))
            .map_err(|refusal| RewireError::from_addresses(len as u64, refusal))?;
        Ok(Run { memory, range, places: Vec::new(), bytes: 0, access, mappings })
    }

    #[inline]
    pub(super) fn start(&self) -> usize {
        self.range.start()
    }

    /// How many slots there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// How many there can be.
    pub(super) fn room(&self) -> usize {
        self.range.len() / self.memory.block
    }

    /// What each slot shows.
    pub(super) fn places(&self) -> &[usize] {
        &self.places
    }

    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn address(&self, slot: usize) -> usize {
        self.start() + slot * self.memory.block
    }

    /// Sets aside the mappings that `places` may take, and one more for what they cut in two.
    fn set_aside(&mut self, places: &[usize]) -> Result<(), RewireError> {
        let count = pieces(places).count() as u64;
        self.mappings.more(count + 1).map_err(|_| too_many(count))
    }

    /// Whether the process may have the mappings that the slots would take if they showed these places.
    pub(super) fn check_mappings(&self, places: &[usize]) -> Result<(), RewireError> {
        let more = (pieces(places).count() as u64 + 2).saturating_sub(self.mappings.count());
        SetAside::new(more).map(drop).map_err(|_| too_many(more))
    }

    /// More slots at the end, which show these places from now on. There is room for them.
    pub(super) fn append(&mut self, places: &[usize]) -> Result<(), RewireError> {
        let (first, counted) = (self.len(), self.mappings.count());
        heap::reserve(&mut self.places, places.len())?;
        self.set_aside(places)?;
        self.memory.share(places);
        // SAFETY: addresses of our own, without slots until now.
        if let Err(refusal) = unsafe { self.map(first, places) } {
            // SAFETY: as above. The kernel has a mapping for it: it has just lost one.
            unsafe {
                let _ = map::close(self.address(first), places.len() * self.memory.block);
            }
            self.memory.release(places);
            self.mappings.keep(counted);
            return Err(self.refused(places.len(), refusal));
        }
        let joined = first > 0 && places.first().is_some_and(|&place| self.places[first - 1] + 1 == place);
        self.mappings.keep(counted + pieces(places).count() as u64 - u64::from(joined));
        self.places.extend_from_slice(places);
        self.bytes = self.len() * self.memory.block;
        Ok(())
    }

    /// Shows other places in some slots. It takes over the use of them, whatever happens, and gives up that of the old ones if all
    /// goes well: so many of them nobody shows any more. `places` is spoilt.
    pub(super) fn rewire(&mut self, slots: Range<usize>, places: &mut [usize]) -> Result<usize, RewireError> {
        let counted = self.mappings.count();
        if let Err(error) = self.set_aside(places) {
            self.memory.release(places);
            return Err(error);
        }
        // SAFETY: addresses of our own; what is shown there are the bytes that were there, as callers see to, and nobody has borrowed
        // them.
        if let Err(refusal) = unsafe { self.map(slots.start, places) } {
            // SAFETY: as above.
            unsafe {
                let _ = self.map(slots.start, &self.places[slots]);
            }
            self.memory.release(places);
            self.mappings.keep(counted);
            return Err(self.refused(places.len(), refusal));
        }
        let around = slots.start.saturating_sub(1)..(slots.end + 1).min(self.len());
        let before = pieces(&self.places[around.clone()]).count() as u64;
        self.places[slots].swap_with_slice(places);
        let freed = self.memory.release(places);
        let after = pieces(&self.places[around]).count() as u64;
        self.mappings.keep(counted + after - before);
        Ok(freed)
    }

    /// Maps places from a slot on.
    ///
    /// # Safety
    /// The slots' contents are given up.
    unsafe fn map(&self, slot: usize, places: &[usize]) -> Result<(), Refusal> {
        for piece in pieces(places) {
            let address = self.address(slot + piece.start);
            // SAFETY: addresses of our own, and the caller's contract.
            unsafe { self.memory.map(places[piece.start], piece.len(), address, self.access)? };
        }
        if places.is_empty() {
            return Ok(());
        }
        // SAFETY: addresses of our own.
        unsafe { shared::keep_out(self.address(slot), places.len() * self.memory.block) }
            .map_err(Refusal::of("madvise"))
    }

    fn refused(&self, blocks: usize, refusal: Refusal) -> RewireError {
        no_memory(blocks * self.memory.block, refusal)
    }

    /// Makes sure that no other slot shows what these do: each that is shared gets a copy.
    pub(super) fn own(&mut self, slots: Range<usize>) -> Result<(), RewireError> {
        let Range { mut start, end } = slots;
        while start < end {
            let (shared, count) = self.memory.alike(&self.places[start..end]);
            if shared {
                self.copy(start..start + count)?;
            }
            start += count;
        }
        Ok(())
    }

    /// Shows copies in some slots.
    fn copy(&mut self, slots: Range<usize>) -> Result<(), RewireError> {
        let mut places = heap::list(slots.len())?;
        let copied = slots.clone().try_for_each(|slot| self.memory.take(slot).map(|place| places.push(place)));
        let copied = copied.and_then(|()| {
            pieces(&places).try_for_each(|piece| {
                let address = self.address(slots.start + piece.start);
                // SAFETY: slots of ours, whose bytes do not change while somebody else shows them; the places are new.
                unsafe { self.memory.copy(places[piece.start], address, piece.len()) }
            })
        });
        if let Err(refusal) = copied {
            self.memory.release(&places);
            return Err(self.refused(slots.len(), refusal));
        }
        self.rewire(slots, &mut places).map(drop)
    }

    /// Makes what the slots show of huge pages. False where the kernel cannot.
    pub(super) fn collapse(&self) -> bool {
        let len = self.bytes() / HUGE_PAGE * HUGE_PAGE;
        // SAFETY: addresses of our own, all of them mapped.
        len > 0 && unsafe { shared::collapse(self.start(), len) }.is_ok()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if self.memory.is_here() {
            // SAFETY: nobody borrows anything of it any more.
            unsafe { self.range.unmap() };
            self.memory.release(&self.places);
        }
    }
}

pub(super) fn no_memory(bytes: usize, refusal: Refusal) -> RewireError {
    RewireError::from_memory("for blocks that views share", bytes as u64, refusal)
}

/// So many pieces more would be more than there may be.
fn too_many(count: u64) -> RewireError {
    let Mappings { used, budget, .. } = Mappings::now();
    let detail = format_args!("{count} more pieces, and {used} of {budget} are in use");
    RewireError::new(RewireErrorKind::OutOfMappings, detail)
        .cured_by("drop views, raise vm.max_map_count, or use larger blocks (ViewOptions::block)")
}
