//! The snapshots of an array that somebody holds, and who may look at the list.

use super::lanes::MOST;
use super::view::View;
use crate::heap::{self, Refused, Shared};
use crate::trap::claim::{Claim, Claimed};
use std::cell::UnsafeCell;

/// Claims of groups: one stands for every `CLAIMS`th group.
const CLAIMS: usize = 16;

/// The snapshots, oldest first.
///
/// A store holds the claim of its group, and looks. Whoever changes the list holds all claims. So stores to different groups are
/// seen to at the same time.
pub(super) struct Live {
    claims: [Claim; CLAIMS],
    views: UnsafeCell<Vec<Shared<View>>>,
}

// SAFETY: the list is read with a claim held, and changed with all of them.
unsafe impl Sync for Live {}

/// The right to look at the snapshots on behalf of a group.
pub(super) struct InGroup<'l> {
    live: &'l Live,
    _claimed: Claimed<'l>,
}

/// The right to change the list.
pub(super) struct InAll<'l> {
    live: &'l Live,
    _claimed: [Claimed<'l>; CLAIMS],
}

impl Live {
    pub(super) fn new() -> Result<Live, Refused> {
        // The list never grows.
        Ok(Live { claims: [const { Claim::new() }; CLAIMS], views: UnsafeCell::new(heap::list(MOST)?) })
    }

    /// Waits for the claim of a group. Safe in handlers.
    pub(super) fn group(&self, group: usize) -> InGroup<'_> {
        InGroup { live: self, _claimed: self.claims[group % CLAIMS].take() }
    }

    /// Waits for all claims.
    pub(super) fn all(&self) -> InAll<'_> {
        // Always in this order.
        InAll { live: self, _claimed: std::array::from_fn(|number| self.claims[number].take()) }
    }
}

impl InGroup<'_> {
    /// Oldest first.
    pub(super) fn views(&self) -> &[Shared<View>] {
        // SAFETY: a claim is held, so nobody changes the list.
        unsafe { &*self.live.views.get() }
    }
}

impl InAll<'_> {
    pub(super) fn views(&mut self) -> &mut Vec<Shared<View>> {
        // SAFETY: all claims are held, so nobody else looks at the list.
        unsafe { &mut *self.live.views.get() }
    }
}
