//! Addresses without memory ([`reservation`]), memory on a budget ([`pool`]), what joins them (rewiring), and files in
//! memory ([`mapping`]).
//!
//! To *rewire* is to make a physical block appear at another address without copying it. A [`Block`] is a block that
//! somebody owns, at home in its pool. A [`Region`] is a reservation cut into slots, each empty or holding a block;
//! it maps, unmaps, swaps and shuffles them. A [`RewiredVec`] is a vector on such slots that grows by another block
//! and never copies. The blocks of a [`GrowingBuffer`] come when a plain pointer touches them. The blocks of a [`VanishingArray`]
//! come as it is written and go as it is read; many such arrays share a [`StreamPool`].
//!
//! ```text
//!   pool          region
//!  ┌───┬───┐     ┌───┬───┬───┬───┐
//!  │   │ b │     │ c │   │ a │   │     a block is at home in the pool, or in one slot of one region
//!  └───┴───┘     └───┴───┴───┴───┘
//! ```
//!
//! *Home* is the address of a block in its pool. While the block is away its home is empty: there it goes back to, and there is
//! the spare room that a swap needs: three moves, and no memory beyond the blocks.
//!
//! # Safety
//! Memory is reached by address only through who owns it: a block at home through its [`Block`], a block in a slot
//! through the [`slots::Slots`] that holds it. What streams do with their ranges is decided by the streams above. A
//! mapping lends its bytes itself.

pub(crate) mod block;
pub(crate) mod error;
pub(crate) mod fixed;
pub(crate) mod growing;
pub(crate) mod homes;
pub(crate) mod mapping;
pub(crate) mod mapping_budget;
pub(crate) mod pool;
pub(crate) mod raw;
pub(crate) mod region;
pub(crate) mod reservation;
pub(crate) mod shared;
pub(crate) mod slot;
pub(crate) mod slots;
pub(crate) mod snapshot;
pub(crate) mod vanishing;
pub(crate) mod vector;
pub(crate) mod view;
mod watched_range;

pub use block::Block;
pub use error::{NotMapped, RewireError, RewireErrorKind};
pub use fixed::FixedMemory;
pub use growing::GrowingBuffer;
pub use mapping_budget::Mappings;
pub use raw::RawBlock;
pub use region::Region;
pub use snapshot::{Snapshot, SnapshotArray, SnapshotOptions, SnapshotStats};
pub use vanishing::{Plain, StreamPool, VanishingArray};
pub use vector::{Appender, NotAppended, Rejected, RewiredIntoIter, RewiredVec};
pub use view::{Draft, View, ViewArray, ViewOptions, ViewStats};

use std::ops::{Bound, Range, RangeBounds};

/// A range as an index of something of that length.
///
/// # Panics
/// If it is not inside.
#[track_caller]
fn inside(range: impl RangeBounds<usize>, len: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before + 1,
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last + 1,
        Bound::Excluded(&end) => end,
        Bound::Unbounded => len,
    };
    assert!(start <= end && end <= len, "{start}..{end} of {len}");
    start..end
}
