//! The life of a stream: from open to the moment its last user is gone.
//!
//! Ends, and blocks taken from them, are *users*. When the last one goes, the stream is shut: its blocks go back to the
//! pool, its ranges are withdrawn from the registry, its addresses go back to the system. The pager, or a handler, may
//! still be on its way out of the stream's last fault: neither waits for anyone any more, so that is waited for.
//!
//! A raw pointer may outlive both ends of a stream that failed, with a thread stopped in it. Then only the blocks go
//! back at once. The stream is retired: it stays a range of throw-away pages while the thread leaves and repeats its
//! instruction, which nobody can watch, and is shut some time later, when any stream opens or closes.

use super::core::{Core, Registered};
use super::error::{ErrorKind, OpenError};
use crate::trap::registry::{self, Target};
use crate::trap::{End, Resolve};
use std::sync::atomic::Ordering::*;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// All open streams, for reports. Slow paths only.
static OPEN: Mutex<Vec<Weak<Core>>> = Mutex::new(Vec::new());
/// Streams without users whose addresses may still be in use, and since when.
static RETIRED: Mutex<Vec<(Instant, Arc<Core>)>> = Mutex::new(Vec::new());
/// How long a retired stream stays, at least.
const GRACE: Duration = Duration::from_secs(2);

/// Registers a stream that is about to be used.
pub(crate) fn open(core: Arc<Core>) -> Result<Arc<Core>, OpenError> {
    sweep(GRACE);
    if let Some(ranges) = &core.ranges {
        let resolver = Arc::as_ptr(&core) as *const dyn Resolve;
        let targets = Arc::new(End::BOTH.map(|end| Target::new(resolver, end)));
        let register = |end: End| {
            let range = &ranges.of[end as usize];
            // SAFETY: the targets live in the core beside the places, and the core lives until `shut` has withdrawn
            // them and found them quiet.
            unsafe { registry::register(range.start(), range.len(), &raw const targets[end as usize]) }
        };
        let places = match (register(End::Writer), register(End::Reader)) {
            (Some(writer), Some(reader)) => [writer, reader],
            (first, second) => {
                first.iter().chain(&second).for_each(registry::withdraw);
                unmap(&core);
                let most = registry::CAPACITY / 2;
                return Err(OpenError::Resources(format!("{most} streams with pointers are open; close some first")));
            }
        };
        *core.registered.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Registered { places, _targets: targets });
    }
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|core| core.strong_count() > 0);
    open.push(Arc::downgrade(&core));
    Ok(core)
}

/// Calls `visit` with every stream that has users.
pub(crate) fn for_each_open(mut visit: impl FnMut(&Core)) {
    let open: Vec<_> = OPEN.lock().unwrap_or_else(PoisonError::into_inner).iter().filter_map(Weak::upgrade).collect();
    open.iter().filter(|core| core.is_at_home() && core.users.load(SeqCst) > 0).for_each(|core| visit(core));
}

/// A share in a stream's life.
pub(crate) struct User(pub(crate) Arc<Core>);

impl User {
    pub(crate) fn of(core: &Arc<Core>) -> User {
        core.users.fetch_add(1, SeqCst);
        User(core.clone())
    }
}

impl std::ops::Deref for User {
    type Target = Core;
    #[inline]
    fn deref(&self) -> &Core {
        &self.0
    }
}

impl Drop for User {
    fn drop(&mut self) {
        // Of a forked child's copy there is nothing to give back: the addresses are the child's own by now.
        if self.0.users.fetch_sub(1, SeqCst) == 1 && self.0.is_at_home() {
            let pointer_may_live = self.0.raw.load(SeqCst) && self.0.status.failure().is_some();
            // Whoever is still parked in a fault gets throw-away pages from here on.
            self.0.fail((ErrorKind::Closed, End::Writer).into());
            if !settle(&self.0) || pointer_may_live || !shut(&self.0) {
                let mut retired = RETIRED.lock().unwrap_or_else(PoisonError::into_inner);
                retired.push((Instant::now(), self.0.clone()));
            }
            sweep(GRACE);
        }
    }
}

/// Shuts the retired streams whose last thread has left `grace` ago.
pub(crate) fn sweep(grace: Duration) {
    let mut retired = std::mem::take(&mut *RETIRED.lock().unwrap_or_else(PoisonError::into_inner));
    retired.retain(|(since, core)| since.elapsed() < grace || !settle(core) || !shut(core));
    RETIRED.lock().unwrap_or_else(PoisonError::into_inner).append(&mut retired);
}

/// Waits until no fault of a failed stream is being resolved, and gives its blocks back. False if that takes long.
fn settle(core: &Core) -> bool {
    if !core.is_at_home() {
        return true;
    }
    let busy = || {
        let registered = core.registered.lock().unwrap_or_else(PoisonError::into_inner);
        let inside =
            registered.iter().flat_map(|registered| &registered.places).any(|place| !registry::is_quiet(place));
        inside || End::BOTH.iter().any(|&end| core.side(end).parked.load(SeqCst) != 0)
    };
    for round in 0..1000 {
        if !busy() {
            core.send_all_home();
            return true;
        }
        if round < 50 { std::thread::yield_now() } else { std::thread::sleep(Duration::from_millis(1)) }
    }
    false
}

/// Gives back the addresses of a stream that has settled. False if a thread is inside one of its faults.
fn shut(core: &Core) -> bool {
    if !core.is_at_home() {
        return true;
    }
    let mut registered = core.registered.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(Registered { places, .. }) = &*registered {
        // Looked at before withdrawing: a touch that comes now must still find the stream and be drained.
        if !places.iter().all(registry::is_quiet) {
            return false;
        }
        places.iter().for_each(registry::withdraw);
        // One may have slipped in between. It is not waiting for anyone: the stream has failed.
        while !places.iter().all(registry::is_quiet) {
            std::thread::yield_now();
        }
    }
    *registered = None;
    unmap(core);
    true
}

fn unmap(core: &Core) {
    let Some(ranges) = &core.ranges else { return };
    for range in &ranges.of {
        // SAFETY: withdrawn, and no user is left; `shut` succeeds once.
        unsafe { range.unmap() };
        if let Some(uffd) = core.context.uffd() {
            uffd.wake(range.start(), range.len());
        }
    }
}
