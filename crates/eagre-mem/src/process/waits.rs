//! Who waits for another process, for reports.

#![forbid(unsafe_code)]

use super::core::{Core, User};
use crate::heap::{self, Refused, Weak};
use crate::stream::Wait;
use crate::stream::report;
use crate::sys::futex;
use crate::trap::End;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// All ends of this process. Slow paths only.
static OPEN: Mutex<Vec<Weak<Core>>> = Mutex::new(Vec::new());

/// What an end waits for, and since when. Stored in handlers.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// One past the block, or 0.
    block: AtomicU64,
    since: AtomicU64,
}

impl Waiting {
    pub(super) fn begin(&self, block: u64, now: u64) {
        self.since.store(now, Relaxed);
        self.block.store(block + 1, Relaxed);
    }

    pub(super) fn end(&self) {
        self.block.store(0, Relaxed);
    }
}

/// Puts a new end on the list for reports. When it is gone, the next one takes it off.
///
/// # Errors
/// [`Refused`].
pub(super) fn remember(core: &User) -> Result<(), Refused> {
    report::ask_also(add_waits);
    report::start_watching();
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(Weak::is_alive);
    heap::push(&mut open, core.downgrade())
}

fn add_waits(waits: &mut Vec<Wait>) {
    let open: Vec<_> = OPEN.lock().unwrap_or_else(PoisonError::into_inner).iter().filter_map(Weak::upgrade).collect();
    let now = futex::now();
    for core in open.iter().filter(|core| core.is_here()) {
        let Some(block) = core.waiting.block.load(Relaxed).checked_sub(1) else { continue };
        waits.push(Wait {
            stream: core.config.name.clone(),
            waiting: core.end,
            // The writer waits for the block that must come back, the reader for the one it will read.
            block: if core.end == End::Writer { block.saturating_sub(core.count()) } else { block },
            since: Duration::from_nanos(now.saturating_sub(core.waiting.since.load(Relaxed))),
            other_waits: core.other_half().waiting.load(Relaxed) != 0,
        });
    }
}
