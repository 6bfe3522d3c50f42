//! A pool's memory at addresses where it stays, for devices that are told addresses once.
//!
//! A card that reads and writes memory by itself (RDMA) knows pages, not addresses: memory whose pages are moved away is memory that
//! the card still writes. The blocks of a pool for the mover `map` never leave home. Streams show them at other addresses besides, so
//! a card that knows their homes need not hear of that.

#![forbid(unsafe_code)]

use super::error::{RewireError, RewireErrorKind};
use super::pool::{self, Pool};
use super::slot::Shortage;
use std::fmt;

/// All the memory of a [`Pool`], at one address where it stays as long as this or the pool lives.
#[derive(Clone)]
pub struct FixedMemory(Pool);

impl Pool {
    /// Puts memory behind each block of the pool, for good, and tells where that is. Of the streams of such a pool, explicit calls give
    /// blocks at these addresses; a pointer reaches the same memory elsewhere.
    ///
    /// From now on [`Pool::trim`] leaves the pool as it is, and streams with [`recycle(false)`](crate::stream::PipeBuilder::recycle)
    /// get zeroed blocks instead of new memory.
    ///
    /// # Errors
    /// [`Moves`](RewireErrorKind::Moves) if blocks of this pool move, or it is the one that all streams share;
    /// [`OutOfMemory`](RewireErrorKind::OutOfMemory); [`Forked`](RewireErrorKind::Forked).
    pub fn fixed(&self) -> Result<FixedMemory, RewireError> {
        let blocks = &self.0;
        if !blocks.is_here() {
            return Err(RewireError::new(RewireErrorKind::Forked, &**blocks));
        }
        if !blocks.engine().maps() || pool::is_shared(blocks) {
            return Err(RewireError::new(RewireErrorKind::Moves, &**blocks));
        }
        blocks.back_all().map_err(|errno| blocks.error(Shortage::of_backing(errno)))?;
        // Now, since it changes pages.
        blocks.homes().make_all_huge();
        Ok(FixedMemory(self.clone()))
    }
}

impl FixedMemory {
    /// Where the memory begins.
    pub fn start(&self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.0.0.home(0))
    }

    /// How many bytes there are.
    #[allow(clippy::len_without_is_empty, reason = "a pool has at least one block")]
    pub fn len(&self) -> usize {
        self.0.0.budget() as usize * self.0.block_size().bytes()
    }

    /// How far from the beginning an address is; none if it is elsewhere.
    pub fn offset(&self, address: *const u8) -> Option<usize> {
        address.addr().checked_sub(self.start().addr()).filter(|&offset| offset < self.len())
    }
}

impl fmt::Debug for FixedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FixedMemory").field(&self.0).finish()
    }
}
