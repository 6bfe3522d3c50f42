//! The memory of an array and its views: places for blocks, and how many slots show each.
//!
//! ```text
//!   slot       0   1   2   3
//!   lane 0   │ a │ b │ c │ d │     a block lies in the first lane that was free at its slot
//!   lane 1   │   │ e │ f │   │     e and f were written while a view showed b and c
//! ```
//!
//! So neighbours lie side by side in the end, in whatever order they are written, and take one mapping. A lane is addresses of a file;
//! memory is in it where a block is.

use crate::heap;
use crate::memory::error::{RewireError, RewireErrorKind};
use crate::sys::shared::{self, Access};
use crate::sys::{Errno, Refusal, process};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(super) struct Places {
    fd: OwnedFd,
    /// Bytes of a block.
    pub(super) block: usize,
    /// Places in a lane.
    lane: usize,
    users: Mutex<Users>,
    process: u32,
}

struct Users {
    /// How many slots, of the array and of views, show each place.
    of: Vec<u64>,
    /// Places that are shown.
    shown: usize,
}

impl Places {
    /// Lanes of `lane` places; the first `blocks` of the first lane have their memory.
    ///
    /// # Errors
    /// The call that was refused.
    pub(super) fn new(block: usize, lane: usize, blocks: usize) -> Result<Places, Refusal> {
        let users = Mutex::new(Users { of: Vec::new(), shown: 0 });
        let places = Places { fd: shared::create_sparse()?, block, lane, users, process: process::id() };
        places.add_lane(&mut places.lock())?;
        shared::add_room(&places.fd, 0..blocks * block)?;
        Ok(places)
    }

    fn lock(&self) -> MutexGuard<'_, Users> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add_lane(&self, users: &mut Users) -> Result<(), Refusal> {
        let too_long = Refusal { call: "ftruncate", errno: Errno::NOMEM };
        let places = users.of.len() + self.lane;
        let end = places.checked_mul(self.block).filter(|&end| i64::try_from(end).is_ok()).ok_or(too_long)?;
        heap::reserve(&mut users.of, self.lane)?;
        shared::grow(&self.fd, end)?;
        users.of.resize(places, 0);
        Ok(())
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

    /// Places that are shown.
    pub(super) fn shown(&self) -> usize {
        self.lock().shown
    }

    /// Takes a place for what a slot is going to show, as its only user. It has no memory yet.
    ///
    /// # Errors
    /// The call that was refused.
    pub(super) fn take(&self, slot: usize) -> Result<usize, Refusal> {
        let mut users = self.lock();
        let free = (slot..users.of.len()).step_by(self.lane).find(|&place| users.of[place] == 0);
        let place = match free {
            Some(place) => place,
            None => {
                self.add_lane(&mut users)?;
                users.of.len() - self.lane + slot
            }
        };
        users.of[place] = 1;
        users.shown += 1;
        Ok(place)
    }

    /// One more slot shows each of these places.
    pub(super) fn share(&self, places: &[usize]) {
        let mut users = self.lock();
        for &place in places {
            users.of[place] += 1;
            users.shown += usize::from(users.of[place] == 1);
        }
    }

    /// Slots that have shown these places do not any more. Gives back the memory of those that no slot shows: so many.
    pub(super) fn release(&self, places: &[usize]) -> usize {
        let (mut users, mut freed) = (self.lock(), 0);
        let punch = |hole: &Range<usize>| match hole.is_empty() {
            true => {}
            false => {
                // What the kernel refuses stays.
                let _ = shared::punch(&self.fd, hole.start * self.block, hole.len() * self.block);
            }
        };
        let mut hole = 0..0;
        for &place in places {
            users.of[place] -= 1;
            if users.of[place] > 0 {
                continue;
            }
            freed += 1;
            if hole.end != place {
                punch(&hole);
                hole = place..place;
            }
            hole.end += 1;
        }
        punch(&hole);
        users.shown -= freed;
        freed
    }

    /// How many places at the start of a list follow each other, and are all shown by other slots as well, or all are not: which of
    /// the two, and how many.
    pub(super) fn alike(&self, places: &[usize]) -> (bool, usize) {
        let users = self.lock();
        let is_shared = |place: usize| users.of[place] > 1;
        let (first, shared) = (places[0], is_shared(places[0]));
        let alike = |(place, expected): &(&usize, usize)| **place == *expected && is_shared(**place) == shared;
        (shared, places.iter().zip(first..).take_while(alike).count())
    }

    /// Copies `count` blocks at `address` to places that follow each other, which get the memory for them.
    ///
    /// # Errors
    /// There is no memory.
    ///
    /// # Safety
    /// The blocks are there, and nobody changes them meanwhile, or shows the places.
    pub(super) unsafe fn copy(&self, place: usize, address: usize, count: usize) -> Result<(), Refusal> {
        // SAFETY: the caller's contract.
        unsafe { shared::write(&self.fd, place * self.block, address, count * self.block) }
            .map_err(Refusal::of("pwrite"))
    }

    /// Maps places that follow each other at `address`, one of many pieces.
    ///
    /// # Safety
    /// The range belongs to the caller, who gives up its contents.
    pub(super) unsafe fn map(&self, place: usize, count: usize, address: usize, access: Access) -> Result<(), Refusal> {
        // SAFETY: the caller's contract.
        unsafe { shared::map_piece(&self.fd, place * self.block, address, count * self.block, access) }
            .map_err(Refusal::of("mmap"))
    }
}

/// A list of places in pieces that follow each other: the indices of each.
pub(super) fn pieces(places: &[usize]) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    places.chunk_by(|one, next| one + 1 == *next).map(move |piece| {
        let indices = start..start + piece.len();
        start = indices.end;
        indices
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_as_long_as_can_be() {
        let cut = |places: &[usize]| pieces(places).collect::<Vec<_>>();
        assert_eq!(cut(&[]), []);
        assert_eq!(cut(&[4, 5, 6, 6, 7, 2, 3, 1]), [0..3, 3..5, 5..7, 7..8]);
    }
}
