//! How many mappings rewiring may use.
//!
//! The kernel gives a process so many mappings (`vm.max_map_count`, 65,530 by default) and then refuses every one, the
//! allocator's too. With `move` a whole reservation is one mapping. With `remap` each block that is away from home is a
//! mapping of its own, and leaves a hole in its pool: that counts as two. Rewiring stops at seven eighths of what the
//! kernel gives, with an error that says so; the rest is for everybody else.

#![forbid(unsafe_code)]

use super::error::{RewireError, RewireErrorKind};
use crate::sys::{facts, process};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::*};

static USED: AtomicU64 = AtomicU64::new(0);
/// Known since the first range was made.
static BUDGET: OnceLock<u64> = OnceLock::new();

/// What rewired memory takes of the mappings this process may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mappings {
    /// In use by rewired memory, counted as if no two of them ever merged.
    pub used: u64,
    /// The most it may use.
    pub budget: u64,
}

impl Mappings {
    /// As they are now.
    pub fn now() -> Mappings {
        let budget = *BUDGET.get_or_init(|| facts::most_mappings() / 8 * 7);
        Mappings { used: USED.load(Relaxed), budget }
    }
}

/// Sets `count` mappings aside for a new range. The first one makes the budget known to handlers.
pub(crate) fn claim(count: u64) -> Result<(), RewireError> {
    let Mappings { used, budget } = Mappings::now();
    let detail = || RewireError::new(RewireErrorKind::OutOfMappings, format_args!("{used} of {budget} are in use"));
    if try_claim(count) { Ok(()) } else { Err(detail()) }
}

/// Sets `count` mappings aside for what comes into a range. Safe in handlers.
pub(crate) fn try_claim(count: u64) -> bool {
    if count == 0 {
        return true;
    }
    let budget = BUDGET.get().copied().unwrap_or(0);
    let within = |used: u64| used.checked_add(count).filter(|&sum| sum <= budget);
    USED.fetch_update(Relaxed, Relaxed, within).is_ok()
}

/// Gives `count` mappings back.
pub(crate) fn release(count: u64) {
    if count != 0 {
        USED.fetch_sub(count, Relaxed);
    }
}

/// Mappings that are set aside, and given back with this, in the process that has set them aside.
pub(super) struct SetAside {
    count: u64,
    process: u32,
}

impl SetAside {
    /// # Errors
    /// [`RewireErrorKind::OutOfMappings`].
    pub(super) fn new(count: u64) -> Result<SetAside, RewireError> {
        claim(count)?;
        Ok(SetAside { count, process: process::id() })
    }

    /// Sets more aside.
    ///
    /// # Errors
    /// As [`SetAside::new`].
    pub(super) fn more(&mut self, count: u64) -> Result<(), RewireError> {
        claim(count)?;
        self.count += count;
        Ok(())
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Keeps `count` of them.
    pub(super) fn keep(&mut self, count: u64) {
        release(self.count.saturating_sub(count));
        self.count = self.count.min(count);
    }
}

impl Drop for SetAside {
    fn drop(&mut self) {
        if self.process == process::id() {
            release(self.count);
        }
    }
}
