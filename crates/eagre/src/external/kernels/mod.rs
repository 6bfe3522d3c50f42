//! Sorting and merging records in buffers of the caller, without files.
//!
//! | call | does |
//! |---|---|
//! | [`Index`] | puts the records of a buffer in order, and says where each is |
//! | [`sort_and_partition`] | writes the records of a buffer in order, cut at boundaries |
//! | [`sample_boundaries`] | chooses boundaries that cut records into parts of like size |
//! | [`Merge`] | merges sources of sorted records, which are refilled as they run dry |
//!
//! All work on any [`Format`](crate::records::Format), and on nothing else: a sort over several machines calls them, too.

mod boundaries;
mod gate;
mod gather;
mod index;
mod merge;
mod ordered;
mod pace;
mod phases;
#[allow(unsafe_code, reason = "prefetch instructions")]
mod prefetch;
mod seen;
mod ties;

pub use boundaries::{sample_boundaries, sort_and_partition};
pub(crate) use gather::{Work, gather, is_repeated, keep_first};
pub use index::{Index, IndexError};
pub use merge::{MOST_SOURCES, Merge, MergeError, Source};
pub(crate) use ordered::{Piece, in_order};
pub(crate) use pace::Pace;
pub(crate) use prefetch::prefetch;
pub(crate) use seen::{Seen, append_distinct};

/// How records are put in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Order {
    /// The largest key comes first. Records with equal keys stay in the order of the input.
    pub descending: bool,
}

impl Order {
    /// Ascending or descending.
    #[must_use]
    pub const fn new(descending: bool) -> Order {
        Order { descending }
    }

    /// A word of a key, turned so that words ascend.
    #[inline]
    pub(crate) fn turn(self, word: u128) -> u128 {
        if self.descending { !word } else { word }
    }

    #[inline]
    pub(super) fn of(self, ascending: std::cmp::Ordering) -> std::cmp::Ordering {
        if self.descending { ascending.reverse() } else { ascending }
    }
}

#[cfg(test)]
mod merge_tests;
