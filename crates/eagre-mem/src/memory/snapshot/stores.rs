//! The first store to a block since a snapshot was taken.
//!
//! A block that snapshots share with the array is closed for everybody. Whoever wants to store to it
//!
//! 1. takes the claim of its group;
//! 2. copies the block into a lane: nobody can change it, for it is closed;
//! 3. maps the copy at the addresses of every snapshot that shared the block: their readers find the bytes that were there;
//! 4. opens the block at the array's address.
//!
//! The paper (RUMA, section 5.3) gives the *writer* the new page. Here it is the snapshots, so the array's addresses always show the same
//! memory in the same order: one mapping again once the snapshots are gone, however scattered the stores were, and so is the next
//! snapshot. And the page that is stored to is in the page tables already.
//!
//! Two threads that store to a block at once both fault. The second waits for the claim and finds the block open. A store
//! cannot be lost: before step 4 there is none, and after it all go to the one memory of the block.

use super::backing::Backing;
use super::geometry::SINGLES;
use super::live::InGroup;
use super::view::View;
use crate::heap::Shared;
use crate::sys::shared::{self, Access};
use crate::sys::{Errno, Refusal};
use std::ops::Range;
use std::sync::atomic::Ordering::*;

impl Backing {
    /// Makes sure that stores to some blocks change no snapshot, and are no fault. Safe in handlers.
    ///
    /// # Errors
    /// There is no memory for copies. Then the blocks from some on are still closed.
    pub(super) fn open(&self, blocks: Range<usize>) -> Result<(), Refusal> {
        let mut from = blocks.start;
        while from < blocks.end {
            let group = self.geometry.group_of(from);
            let until = blocks.end.min(self.geometry.blocks_of(group).end);
            self.open_in(&self.live.group(group), group, from..until)?;
            from = until;
        }
        Ok(())
    }

    fn is_open(&self, block: usize) -> bool {
        self.opened[block].load(Acquire) == self.moment.load(Acquire)
    }

    fn open_in(&self, claim: &InGroup<'_>, group: usize, run: Range<usize>) -> Result<(), Refusal> {
        if run.clone().all(|block| self.is_open(block)) {
            return Ok(());
        }
        let views = claim.views();
        let all = self.geometry.blocks_of(group);
        let Some(newest) = views.last() else { return self.unlock(all) };
        // Who shares a block is newer than who does not.
        let oldest = run.clone().filter_map(|block| views.iter().position(|view| view.shares(block))).min();
        let Some(oldest) = oldest else {
            // Snapshots that shared it have gone. With its neighbours, if they are free as well: fewer mappings.
            let from = (all.start..run.start).rev().take_while(|&block| !newest.shares(block)).last();
            let until = (run.end..all.end).take_while(|&block| !newest.shares(block)).last();
            return self.unlock(from.unwrap_or(run.start)..until.map_or(run.end, |last| last + 1));
        };
        let sharing = &views[oldest..];
        let run = if self.takes_all(group, sharing) { all.clone() } else { run };
        if run != all {
            sharing.iter().for_each(|view| view.count_single(group));
        }
        self.keep(claim, run.clone())?;
        self.unlock(run)
    }

    /// Whether a store to a block that these snapshots share, oldest first, should copy all of its group.
    fn takes_all(&self, group: usize, sharing: &[Shared<View>]) -> bool {
        let density = &self.density[group];
        if sharing.iter().any(|view| view.singles(group) >= SINGLES) {
            density.has_filled();
            return true;
        }
        sharing.last().is_some_and(|newest| newest.singles(group) == 0) && density.is_dense()
    }

    /// Copies what snapshots share of a run, and lets them see the copies.
    fn keep(&self, claim: &InGroup<'_>, run: Range<usize>) -> Result<(), Refusal> {
        let views = claim.views();
        let oldest = |block: usize| views.iter().position(|view| view.shares(block));
        let mut at = run.start;
        while at < run.end {
            let Some(first) = oldest(at) else {
                at += 1;
                continue;
            };
            let no_lane = Refusal { call: "mmap", errno: Errno::NOMEM };
            let lane = self.lanes.free_at(at).ok_or(no_lane)?;
            let same = |&block: &usize| oldest(block) == Some(first) && self.lanes.free_at(block) == Some(lane);
            let end = at + (at..run.end).take_while(same).count();
            let blocks = at..end;
            let address = self.range.start() + self.geometry.bytes(&blocks).start;
            // SAFETY: the blocks are closed, since a snapshot shares them, and stay so: we have their claim. So are the places,
            // which are free.
            unsafe {
                self.lanes.copy(lane, &blocks, address)?;
                for view in &views[first..] {
                    view.see(&self.lanes, lane, &blocks)?;
                    self.lanes.add_user(lane, &blocks);
                }
            }
            at = end;
        }
        Ok(())
    }

    /// Opens blocks that no snapshot shares.
    fn unlock(&self, run: Range<usize>) -> Result<(), Refusal> {
        let bytes = self.geometry.bytes(&run);
        let scattered = self.huge && bytes.len() == self.geometry.group && run.clone().any(|block| self.is_open(block));
        // Opened in parts, the group has lost its large entry in the page tables; mapped anew it gets it back.
        // SAFETY: no snapshot shares these blocks.
        if !scattered || unsafe { self.map_open(bytes.clone()) }.is_err() {
            // SAFETY: our own addresses, and as above.
            unsafe { shared::set_access(self.range.start() + bytes.start, bytes.len(), Access::ReadWrite) }
                .map_err(Refusal::of("mprotect"))?;
        }
        let moment = self.moment.load(Acquire);
        self.opened[run].iter().for_each(|opened| opened.store(moment, Release));
        Ok(())
    }
}
