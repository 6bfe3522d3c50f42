//! Which groups are stored to all over after each snapshot, so that they had better be copied at once.
//!
//! Copying a group in single blocks and then the rest costs up to twice as much as copying it at the first store. Copying it at
//! the first store where one block would have done costs many times as much. So a group is believed to be dense when all of it was
//! copied after two snapshots running, and for a few snapshots only: then single blocks are tried again.

#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicU8, Ordering::*};

/// For how many snapshots a group is believed to be dense.
const BELIEVED: u8 = 8;
/// All of it was copied after the snapshot in which it was stored to last.
const LAST: u8 = 1 << 6;
/// And after the one before that.
const BEFORE: u8 = 1 << 7;

/// What is known of a group. Its claim is held in each call.
#[derive(Debug, Default)]
pub(super) struct Density(AtomicU8);

impl Density {
    /// The first store since a snapshot: whether to copy all of the group.
    pub(super) fn is_dense(&self) -> bool {
        let known = self.0.load(Relaxed);
        let dense = known & !(LAST | BEFORE) > 0;
        let last = if known & LAST != 0 { BEFORE } else { 0 };
        self.0.store(if dense { known - 1 } else { last }, Relaxed);
        dense
    }

    /// So many single blocks were stored to that all of the group is copied.
    pub(super) fn has_filled(&self) {
        let again = self.0.load(Relaxed) & BEFORE != 0;
        self.0.store(if again { LAST | BELIEVED } else { LAST }, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_dense_after_it_was_filled_twice_running() {
        let group = Density::default();
        for _ in 0..3 {
            // Filled, then not.
            assert!(!group.is_dense());
            group.has_filled();
            assert!(!group.is_dense());
        }
        assert!(!group.is_dense());
        group.has_filled();
        for _ in 0..3 {
            assert!(!group.is_dense());
            group.has_filled();
            assert!((0..BELIEVED).all(|_| group.is_dense()));
        }
    }
}
