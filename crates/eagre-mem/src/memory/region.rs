//! Places for blocks, in any order.

use super::block::Block;
use super::error::{NotMapped, RewireError, RewireErrorKind};
use super::places::Places;
use super::pool::Pool;
use crate::heap::{self, Shared};
use crate::units::BlockSize;
use std::fmt;
use std::ops::Range;
use std::ptr::{self, NonNull};

/// Contiguous addresses cut into places, each empty or holding one block of a pool.
///
/// Blocks are mapped at a place and unmapped from it, two places are swapped, many are shuffled: page-table entries
/// change, bytes are not copied (unless the mover is `copy`). The address of a place never changes. Nobody but the
/// owner of the region gets at its bytes, so all of it is safe: a slice borrows the region as long as it lives.
///
/// ```
/// # use eagre_mem::{BlockSize, Pool, Region};
/// let pool = Pool::new(BlockSize::DEFAULT, 8, None, None)?;
/// let mut region = Region::new(&pool, 4)?;
/// for (place, text) in [b"one", b"two"].into_iter().enumerate() {
///     let mut block = pool.take()?;
///     block[..3].copy_from_slice(text);
///     region.map(place, block)?;
/// }
/// region.swap(0, 1)?;
/// let size = pool.block_size().bytes();
/// let both = region.get(0..2).unwrap();
/// assert_eq!((&both[..3], &both[size..][..3]), (&b"two"[..], &b"one"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A forked child has no part in it: calls that rewire return [`Forked`](RewireErrorKind::Forked), and the bytes are not
/// there.
pub struct Region {
    places: Places,
}

// SAFETY: the addresses and blocks are the region's own, as a vector's buffer is; `&Region` only reads.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Reserves addresses for `places` blocks of `pool`. That takes no memory.
    ///
    /// # Errors
    /// [`OutOfAddresses`](RewireErrorKind::OutOfAddresses), [`OutOfMappings`](RewireErrorKind::OutOfMappings),
    /// [`NoPool`](RewireErrorKind::NoPool), [`Forked`](RewireErrorKind::Forked).
    pub fn new(pool: &Pool, places: usize) -> Result<Region, RewireError> {
        let bytes = (places as u64).saturating_mul(pool.block_size().bytes() as u64);
        Ok(Region { places: Places::new(pool, bytes, 1)? })
    }

    /// How many places there are; at least one.
    pub fn places(&self) -> usize {
        self.places.count()
    }

    /// The size of a place.
    pub fn block_size(&self) -> BlockSize {
        self.places.pool().block
    }

    /// The address of place 0. Place `i` begins `i` block sizes further on. An empty place must not be touched.
    pub fn as_ptr(&self) -> NonNull<u8> {
        let start = ptr::with_exposed_provenance_mut(self.places.start());
        // SAFETY: the kernel maps nothing at address 0, nor does an allocator.
        unsafe { NonNull::new_unchecked(start) }
    }

    /// The number of the block at a place, or `None` if it is empty.
    pub fn block_at(&self, place: usize) -> Option<u32> {
        self.places.at(place)
    }

    /// Maps a block at an empty place: its bytes are there now.
    ///
    /// # Errors
    /// The block comes back with the reason: [`Full`](RewireErrorKind::Full) (no such place),
    /// [`Occupied`](RewireErrorKind::Occupied), [`OtherPool`](RewireErrorKind::OtherPool),
    /// [`OutOfMappings`](RewireErrorKind::OutOfMappings), [`Pinned`](RewireErrorKind::Pinned),
    /// [`Forked`](RewireErrorKind::Forked).
    pub fn map(&mut self, place: usize, block: Block) -> Result<(), NotMapped> {
        if !Shared::is_same(block.pool(), self.places.pool()) {
            let detail = format_args!("blocks of {} there, of {} here", block.pool().block, self.block_size());
            return Err(NotMapped { error: RewireError::new(RewireErrorKind::OtherPool, detail), block });
        }
        if let Some(id) = self.places.at(place) {
            let detail = format_args!("block {id} at place {place}");
            return Err(NotMapped { error: RewireError::new(RewireErrorKind::Occupied, detail), block });
        }
        let id = block.into_id();
        // SAFETY: we owned the block, which is at home, and `self` is borrowed by nobody else.
        unsafe { self.places.put(place, id) }.map_err(|error| {
            // SAFETY: it is still at home, and ours.
            NotMapped { block: unsafe { Block::own(self.places.pool().clone(), id) }, error }
        })
    }

    /// Takes the block, with its bytes, from a place, which is empty then. `None` if it was.
    ///
    /// # Errors
    /// [`Pinned`](RewireErrorKind::Pinned), [`Forked`](RewireErrorKind::Forked): the block stays.
    pub fn unmap(&mut self, place: usize) -> Result<Option<Block>, RewireError> {
        // SAFETY: `self` is borrowed by nobody else.
        let id = unsafe { self.places.send_home(place)? };
        // SAFETY: at home again, with bytes that came from a `Block`.
        Ok(id.map(|id| unsafe { Block::own(self.places.pool().clone(), id) }))
    }

    /// Exchanges what two places hold, empty or not. Three moves.
    ///
    /// # Errors
    /// As [`Region::shuffle`].
    ///
    /// # Panics
    /// If there is no such place.
    pub fn swap(&mut self, a: usize, b: usize) -> Result<(), RewireError> {
        let count = self.places();
        assert!(a.max(b) < count, "{count} places, none is {}", a.max(b));
        if a == b {
            return Ok(());
        }
        // SAFETY: `self` is borrowed by nobody else.
        unsafe { self.places.rotate(&[a, b]) }
    }

    /// Gives place `i` what place `order[i]` holds, for every `i` below the length of `order`: a permutation of the
    /// numbers below that length. One move for each block whose place changes, and one more for each cycle.
    ///
    /// # Errors
    /// [`Pinned`](RewireErrorKind::Pinned), [`OutOfMappings`](RewireErrorKind::OutOfMappings): the region then holds
    /// the same blocks, in some order. [`Forked`](RewireErrorKind::Forked).
    ///
    /// # Panics
    /// If `order` is no permutation, or is longer than there are places.
    pub fn shuffle(&mut self, order: &[usize]) -> Result<(), RewireError> {
        assert!(order.len() <= self.places(), "{} places, not {}", self.places(), order.len());
        let mut seen = heap::filled(order.len(), false)?;
        for &from in order {
            assert!(from < order.len() && !std::mem::replace(&mut seen[from], true), "{from}: not a permutation");
        }
        let mut done = seen;
        done.fill(false);
        let mut cycle = heap::list(order.len())?;
        for first in 0..order.len() {
            cycle.clear();
            let mut place = first;
            while !std::mem::replace(&mut done[place], true) {
                cycle.push(place);
                place = order[place];
            }
            if cycle.len() > 1 {
                // SAFETY: `self` is borrowed by nobody else.
                unsafe { self.places.rotate(&cycle)? };
            }
        }
        Ok(())
    }

    /// The bytes of consecutive places, or `None` if one of them is empty or does not exist.
    pub fn get(&self, places: Range<usize>) -> Option<&[u8]> {
        let (start, len) = self.filled(places)?;
        // SAFETY: every place in it holds a block, whose bytes were written (they came from a `Block`), and which stays
        // as long as `self` is borrowed.
        Some(unsafe { std::slice::from_raw_parts(ptr::with_exposed_provenance(start), len) })
    }

    /// The bytes of consecutive places, to change, or `None` if one of them is empty or does not exist.
    pub fn get_mut(&mut self, places: Range<usize>) -> Option<&mut [u8]> {
        let (start, len) = self.filled(places)?;
        // SAFETY: as above, and `self` is borrowed by nobody else.
        Some(unsafe { std::slice::from_raw_parts_mut(ptr::with_exposed_provenance_mut(start), len) })
    }

    fn filled(&self, places: Range<usize>) -> Option<(usize, usize)> {
        let all = places.end <= self.places() && places.clone().all(|place| self.places.at(place).is_some());
        all.then(|| (self.places.address(places.start.min(self.places())), places.len() * self.places.block()))
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = (0..self.places()).filter(|&place| self.places.at(place).is_some()).count();
        f.debug_struct("Region")
            .field("start", &self.as_ptr())
            .field("block", &self.block_size())
            .field("places", &self.places())
            .field("held", &held)
            .finish()
    }
}
