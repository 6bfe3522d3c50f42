//! The lifecycle of a stream: from open to the moment its last user is gone.
//!
//! Ends, and blocks taken from them, are *users*. When the last one goes, the stream is shut: its blocks go back to the
//! pool, its ranges are withdrawn from the registry, its addresses go back to the system. The pager, or a handler, may
//! still be on its way out of the stream's last fault: neither waits for anyone any more, so that is waited for.
//!
//! A raw pointer may outlive both ends, with a thread stopped in it. That thread is let go with a throw-away page, and
//! nobody can watch it repeat its instruction. So such a stream is *retired*: only the addresses that were within reach of
//! its pointers stay for a while, and a new touch of them is reported. Retired streams cost nothing: they do not
//! count against the addresses of others, there are few of them, and where addresses, mappings or entries in the table
//! of ranges are short, all of them are shut at once.

use super::core::{Core, Registered};
use super::error::{OpenError, StreamErrorKind};
use crate::heap::{self, Refused, Shared, Weak};
use crate::memory::reservation;
use crate::trap::registry::{self, Target};
use crate::trap::{End, Resolve};
use std::ops::Range;
use std::sync::atomic::Ordering::*;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// All open streams, for reports. Slow paths only.
static OPEN: Mutex<Vec<Weak<Core>>> = Mutex::new(Vec::new());
/// A stream without users whose addresses may still be in use, and since when.
type Retired = (Instant, Shared<Core>);
/// All of them.
static RETIRED: Mutex<Vec<Retired>> = Mutex::new(Vec::new());
/// How long a retired stream stays, unless something is short.
const GRACE: Duration = Duration::from_secs(2);
/// How many retired streams there are at most, but for those in which a thread is still stopped.
const MOST_RETIRED: usize = 16;

/// Registers a stream that is about to be used.
pub(crate) fn open(core: Shared<Core>) -> Result<Shared<Core>, OpenError> {
    reservation::when_short(|| sweep(Duration::ZERO));
    sweep(GRACE);
    // Before the ranges are registered: from then on a handler may be inside the stream.
    if let Err(refused) = remember(&core) {
        unmap(&core);
        return Err(refused.into());
    }
    if core.ranges.is_some() {
        let registered = register(&core).or_else(|| {
            sweep(Duration::ZERO);
            register(&core)
        });
        let Some(registered) = registered else {
            unmap(&core);
            let most = registry::CAPACITY / 2;
            let why = format_args!("{most} streams with pointers are open, or there is no memory; close some first");
            return Err(OpenError::Resources(heap::text(why)));
        };
        *core.registered.lock().unwrap_or_else(PoisonError::into_inner) = Some(registered);
    }
    Ok(core)
}

/// Puts a stream on the list for reports, which show it once it has users. When it is gone, the next one takes it off.
fn remember(core: &Shared<Core>) -> Result<(), Refused> {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(Weak::is_alive);
    heap::push(&mut open, core.downgrade())
}

/// Puts both ranges of a stream into the table. `None` if it has no room for both, or there is no memory.
fn register(core: &Shared<Core>) -> Option<Registered> {
    let ranges = core.ranges.as_ref()?;
    let resolver = &raw const **core as *const dyn Resolve;
    let targets = Shared::new(End::BOTH.map(|end| Target::new(resolver, end))).ok()?;
    let both = End::BOTH.map(|end| (ranges.of[end as usize].addresses(), &raw const targets[end as usize]));
    // SAFETY: the targets live in the core beside the entries, and the core lives until `shut` has withdrawn them.
    let entries = unsafe { registry::register_all(both) }?;
    Some(Registered { entries, _targets: targets })
}

/// Calls `visit` with every stream that has users.
pub(crate) fn for_each_open(mut visit: impl FnMut(&Core)) {
    let open: Vec<_> = OPEN.lock().unwrap_or_else(PoisonError::into_inner).iter().filter_map(Weak::upgrade).collect();
    open.iter().filter(|core| core.is_here() && core.users.load(SeqCst) > 0).for_each(|core| visit(core));
}

/// A share in a stream's life.
pub(crate) struct User(pub(crate) Shared<Core>);

impl User {
    pub(crate) fn of(core: &Shared<Core>) -> User {
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
        if self.0.users.fetch_sub(1, SeqCst) == 1 && self.0.is_here() {
            // A touch that comes from here on is an error. Whoever is still parked in a fault is let go.
            self.0.closed.store(true, SeqCst);
            self.0.fail((StreamErrorKind::Closed, End::Writer).into());
            let settled = settle(&self.0);
            let pointer_in_use = self.0.raw.load(SeqCst) && self.0.stragglers.load(SeqCst);
            if settled && pointer_in_use {
                shrink(&self.0);
            }
            if !settled || pointer_in_use || !shut_soon(&self.0) {
                let mut retired = RETIRED.lock().unwrap_or_else(PoisonError::into_inner);
                keep(&mut retired, (Instant::now(), self.0.clone()));
            }
            sweep(GRACE);
        }
    }
}

/// Adds to the retired streams. One that there is no memory to remember stays for good.
fn keep(retired: &mut Vec<Retired>, one: Retired) {
    match retired.try_reserve(1) {
        Ok(()) => retired.push(one),
        Err(_) => std::mem::forget(one),
    }
}

/// Gives back all addresses of a settled stream but those that a thread may be about to touch again.
fn shrink(core: &Core) {
    let registered = core.registered.lock().unwrap_or_else(PoisonError::into_inner);
    let (Some(ranges), Some(Registered { entries, .. })) = (&core.ranges, &*registered) else { return };
    for (end, entry) in End::BOTH.into_iter().zip(entries) {
        let range = &ranges.of[end as usize];
        let kept = range.addresses_of(core.within_reach(end));
        // In this order: others may get the addresses at once.
        registry::shrink(entry, kept.clone());
        // SAFETY: all blocks have gone home, and no pointer may touch what is not within reach.
        unsafe { range.shrink(kept) };
    }
}

/// Shuts the retired streams whose last thread has left `grace` ago, and the oldest of too many.
pub(crate) fn sweep(grace: Duration) {
    let mut retired = std::mem::take(&mut *RETIRED.lock().unwrap_or_else(PoisonError::into_inner));
    let mut too_many = retired.len().saturating_sub(MOST_RETIRED);
    retired.retain(|(since, core)| {
        let stays = too_many == 0 && since.elapsed() < grace;
        too_many = too_many.saturating_sub(1);
        stays || !settle(core) || !shut(core)
    });
    // The list that has room for them stays.
    let mut meanwhile = RETIRED.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::swap(&mut *meanwhile, &mut retired);
    retired.into_iter().for_each(|one| keep(&mut meanwhile, one));
}

impl Core {
    /// The bytes of a range that its pointers may touch without going back, from the window to the furthest touch.
    fn within_reach(&self, end: End) -> Range<usize> {
        let (flow, windows, side) = (self.flow.load(), self.flow.windows(), self.side(end));
        let (next, behind) = match end {
            End::Writer => (flow.taken, windows.rewrite),
            End::Reader => (flow.seen, windows.lookback),
        };
        let drained = side.drained.iter().map(|chunk| chunk.load(SeqCst)).filter(|&chunk| chunk != 0);
        let first = drained.clone().map(|chunk| chunk - 1).min().unwrap_or(u64::MAX);
        let first = first.min(next.saturating_sub(u64::from(behind) + 1));
        let end = drained.max().unwrap_or(0).max(next).max(side.touched.load(SeqCst));
        self.config.block.start_of(first) as usize..self.config.block.start_of(end) as usize
    }
}

/// Waits until no fault of a failed stream is being resolved, and gives its blocks back. False if that takes long.
fn settle(core: &Core) -> bool {
    if !core.is_here() {
        return true;
    }
    let busy = || {
        let registered = core.registered.lock().unwrap_or_else(PoisonError::into_inner);
        let inside =
            registered.iter().flat_map(|registered| &registered.entries).any(|entry| !registry::is_quiet(entry));
        inside || End::BOTH.iter().any(|&end| core.side(end).parked.load(SeqCst) != 0)
    };
    for round in 0..1000 {
        if !busy() {
            core.give_all_back();
            return true;
        }
        if round < 50 { std::thread::yield_now() } else { std::thread::sleep(Duration::from_millis(1)) }
    }
    false
}

/// Gives back the addresses of a stream that has settled. False if a thread is inside one of its faults.
fn shut(core: &Core) -> bool {
    if !core.is_here() {
        return true;
    }
    let mut registered = core.registered.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(Registered { entries, .. }) = &*registered {
        // Looked at before withdrawing: a touch that comes now must still find the stream and be drained.
        if !entries.iter().all(registry::is_quiet) {
            return false;
        }
        // One may slip in meanwhile. It does not wait for anyone: the stream has failed.
        registry::withdraw(entries);
    }
    *registered = None;
    unmap(core);
    true
}

/// Shuts a stream that has settled. On a busy machine the pager may come back once more, for a fault that nobody waits in: that is
/// waited for, too.
fn shut_soon(core: &Core) -> bool {
    for _ in 0..10 {
        if shut(core) {
            return true;
        }
        if !settle(core) {
            return false;
        }
    }
    false
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
