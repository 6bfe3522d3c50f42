//! Who owns an address: a table of fixed size that a handler reads without locks.
//!
//! A slot is published by storing its start address last and withdrawn by clearing it first. A reader counts itself
//! in before it looks again: if the start is still there, the owner cannot be freed until the reader has counted
//! itself out. Whoever withdraws a range therefore waits until nobody is inside. Only then may the owner be freed, and may
//! the slot get a new one.
//!
//! A forked child inherits the table but none of the ranges. There the table is empty: nothing is found in it, and the
//! first stream that the child opens clears it.

use super::{End, Resolve};
use crate::heap::Shared;
use crate::sys::process;
use std::ops::Range;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering::*};
use std::sync::{Mutex, PoisonError};

/// How many ranges (two a stream) may be registered at once.
pub(crate) const CAPACITY: usize = 8192;
/// A fault this close to a range may have been meant for it, in bytes.
const NEAR: usize = 1 << 30;

/// Whom to ask about a range.
pub(crate) struct Target {
    resolver: *const dyn Resolve,
    end: End,
}

// SAFETY: the resolver is `Sync`, and whoever registers a target keeps it alive while it may be reached.
unsafe impl Send for Target {}
// SAFETY: as above.
unsafe impl Sync for Target {}

impl Target {
    pub(crate) fn new(resolver: *const dyn Resolve, end: End) -> Target {
        Target { resolver, end }
    }
}

struct Slot {
    start: AtomicUsize,
    len: AtomicUsize,
    target: AtomicPtr<Target>,
    inside: AtomicU32,
}

static SLOTS: [Slot; CAPACITY] = [const {
    Slot {
        start: AtomicUsize::new(0),
        len: AtomicUsize::new(0),
        target: AtomicPtr::new(std::ptr::null_mut()),
        inside: AtomicU32::new(0),
    }
}; CAPACITY];
/// Slots at and above this number were never used.
static USED: AtomicUsize = AtomicUsize::new(0);
/// The process whose ranges these are; 0 before the first.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// Free slots below `USED`. Slow paths only.
static FREE: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// The slots in use, in this process.
fn slots() -> &'static [Slot] {
    if PROCESS.load(Relaxed) != process::id() { &[] } else { &SLOTS[..USED.load(Acquire)] }
}

/// Makes the table this process's own. Called with `FREE` held.
fn adopt(free: &mut Vec<usize>) {
    if PROCESS.load(Relaxed) == process::id() {
        return;
    }
    free.clear();
    for slot in &SLOTS[..USED.swap(0, SeqCst)] {
        slot.start.store(0, SeqCst);
        // Those who were inside are threads of the parent.
        slot.inside.store(0, SeqCst);
    }
    PROCESS.store(process::id(), SeqCst);
}

/// An entry of the table.
#[derive(Debug)]
pub(crate) struct Entry(usize);

/// Registers several ranges, all or none: where there is no room for one, nobody can have entered another.
///
/// Returns `None` if the table is full, or there is no memory.
///
/// # Safety
/// Each target, and the resolver it names, live until its entry has been [withdrawn](withdraw).
pub(crate) unsafe fn register_all<const N: usize>(ranges: [(Range<usize>, *const Target); N]) -> Option<[Entry; N]> {
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    adopt(&mut free);
    // Each entry that is taken can be given back: it has room here.
    let more = CAPACITY.saturating_sub(free.len());
    free.try_reserve_exact(more).ok()?;
    let mut taken = [0; N];
    for index in 0..N {
        let Some(at) = take(&mut free) else {
            free.extend_from_slice(&taken[..index]);
            return None;
        };
        taken[index] = at;
    }
    for (at, (range, target)) in taken.into_iter().zip(ranges) {
        SLOTS[at].len.store(range.len(), SeqCst);
        SLOTS[at].target.store(target.cast_mut(), SeqCst);
        SLOTS[at].start.store(range.start, SeqCst);
    }
    Some(taken.map(Entry))
}

/// A slot that nobody is inside of.
fn take(free: &mut Vec<usize>) -> Option<usize> {
    let quiet = free.iter().rposition(|&at| SLOTS[at].inside.load(SeqCst) == 0);
    match quiet {
        Some(found) => Some(free.swap_remove(found)),
        None if USED.load(Relaxed) < CAPACITY => Some(USED.fetch_add(1, SeqCst)),
        None => None,
    }
}

/// Makes a registered range smaller. A touch that comes at this moment may find no owner.
pub(crate) fn shrink(entry: &Entry, range: Range<usize>) {
    let slot = &SLOTS[entry.0];
    slot.len.store(0, SeqCst);
    slot.start.store(range.start, SeqCst);
    slot.len.store(range.len(), SeqCst);
}

/// Withdraws ranges, and returns when no handler is inside their owners. No touch finds the ranges from now on. A fault that is
/// being resolved at this moment must not wait for anyone.
pub(crate) fn withdraw(entries: &[Entry]) {
    entries.iter().for_each(|entry| SLOTS[entry.0].start.store(0, SeqCst));
    while !entries.iter().all(is_quiet) {
        std::thread::yield_now();
    }
    // Only now: a slot that is free gets a new owner, whose handlers count themselves in as well.
    FREE.lock().unwrap_or_else(PoisonError::into_inner).extend(entries.iter().map(|entry| entry.0));
}

/// Whether no handler is inside the range's owner.
pub(crate) fn is_quiet(entry: &Entry) -> bool {
    SLOTS[entry.0].inside.load(SeqCst) == 0
}

/// A range in the table, until this is dropped.
pub(crate) struct Registration {
    entry: Entry,
    /// What the table points to. Shared, since to move a `Box` asserts that nobody else points into it.
    _target: Shared<Target>,
    /// A forked child's table is its own, and never knew of this entry.
    process: u32,
}

impl Registration {
    /// Registers a range. `None` if the table is full, or there is no memory.
    ///
    /// # Safety
    /// The resolver lives, and stays where it is, until the registration has been dropped.
    pub(crate) unsafe fn new(range: Range<usize>, resolver: *const dyn Resolve, end: End) -> Option<Registration> {
        let target = Shared::new(Target::new(resolver, end)).ok()?;
        // SAFETY: the caller's contract; `drop` withdraws the entry, and the target goes after that.
        let [entry] = unsafe { register_all([(range, &raw const *target)]) }?;
        Some(Registration { entry, _target: target, process: process::id() })
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if self.process == process::id() {
            withdraw(std::slice::from_ref(&self.entry));
        }
    }
}

/// The owner of an address, which stays alive as long as this does.
pub(crate) struct Owner {
    slot: &'static Slot,
    target: *const Target,
}

impl Owner {
    pub(crate) fn resolver(&self) -> &dyn Resolve {
        // SAFETY: we are counted in, so the target and its resolver are alive.
        unsafe { &*(*self.target).resolver }
    }

    pub(crate) fn end(&self) -> End {
        // SAFETY: we are counted in, so the target is alive.
        unsafe { (*self.target).end }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.slot.inside.fetch_sub(1, SeqCst);
    }
}

fn enter(slot: &'static Slot, start: usize) -> Option<Owner> {
    slot.inside.fetch_add(1, SeqCst);
    // Counted in: if the range is still registered, its owner now stays.
    if start != 0 && slot.start.load(SeqCst) == start {
        return Some(Owner { slot, target: slot.target.load(SeqCst) });
    }
    slot.inside.fetch_sub(1, SeqCst);
    None
}

/// Finds the owner of `address`.
pub(crate) fn owner(address: usize) -> Option<Owner> {
    slots().iter().find_map(|slot| {
        let start = slot.start.load(Acquire);
        let hit = start != 0 && address.wrapping_sub(start) < slot.len.load(Acquire);
        if hit { enter(slot, start) } else { None }
    })
}

/// The owner of the range that `address` misses by the fewest bytes, if these are few.
pub(crate) fn neighbour(address: usize) -> Option<Owner> {
    let distance = |slot: &Slot| match slot.start.load(Acquire) {
        0 => None,
        start if address < start => Some(start - address),
        start => Some(address.saturating_sub(start + slot.len.load(Acquire))),
    };
    let near = slots().iter().filter_map(|slot| Some((distance(slot)?, slot))).filter(|&(far, _)| far <= NEAR);
    let (_, slot) = near.min_by_key(|&(far, _)| far)?;
    enter(slot, slot.start.load(Acquire))
}

/// Every owner, one after the other.
pub(crate) fn owners() -> impl Iterator<Item = Owner> {
    slots().iter().filter_map(|slot| match slot.start.load(Acquire) {
        0 => None,
        start => enter(slot, start),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trap::Answer;

    struct Nobody;
    // SAFETY: does nothing.
    unsafe impl Resolve for Nobody {
        fn touch(&self, _: End, _: usize) -> Answer {
            Answer::Fatal
        }
        fn touch_from_pager(&self, _: End, _: usize) -> Answer {
            Answer::Fatal
        }
    }
    static NOBODY: Nobody = Nobody;

    /// Addresses that no process has.
    fn range(number: usize) -> Range<usize> {
        let start = (usize::MAX >> 1) + (number << 12);
        start..start + 1
    }

    #[test]
    fn several_ranges_are_registered_all_or_none() {
        process::remember();
        let target = Target::new(&raw const NOBODY, End::Writer);
        let more_than_there_is_room_for: [_; CAPACITY + 1] =
            std::array::from_fn(|number| (range(number), &raw const target));
        // SAFETY: the target is there until the end of this test, and so is its resolver.
        assert!(unsafe { register_all(more_than_there_is_room_for) }.is_none());
        assert!(owner(range(0).start).is_none());
        // SAFETY: as above.
        let entries = unsafe { register_all([0, 1].map(|number| (range(number), &raw const target))) }.unwrap();
        for (number, entry) in entries.iter().enumerate() {
            assert_eq!(owner(range(number).start).map(|owner| owner.end()), Some(End::Writer));
            withdraw(std::slice::from_ref(entry));
            assert!(owner(range(number).start).is_none() && is_quiet(entry));
        }
    }

    #[test]
    fn a_slot_is_free_when_everybody_has_left_it() {
        process::remember();
        let target = Target::new(&raw const NOBODY, End::Writer);
        let start = range(CAPACITY + 2).start;
        // SAFETY: the target is there until the end of this test, and so is its resolver.
        let entries = unsafe { register_all([(range(CAPACITY + 2), &raw const target)]) }.unwrap();
        let at = entries[0].0;
        let is_free = || FREE.lock().unwrap_or_else(PoisonError::into_inner).contains(&at);
        let inside = owner(start).unwrap();
        std::thread::scope(|scope| {
            let leaving = scope.spawn(|| withdraw(&entries));
            while owner(start).is_some() {
                std::thread::yield_now();
            }
            let too_early = (0..1000).any(|_| {
                std::thread::yield_now();
                is_free()
            });
            drop(inside);
            leaving.join().unwrap();
            assert!(!too_early, "handlers of a new owner would be counted with those of the old one");
        });
        assert!(is_quiet(&entries[0]));
    }
}
