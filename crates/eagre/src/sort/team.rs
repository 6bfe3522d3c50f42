//! Several threads for the length of one step.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Runs all jobs, on as many threads if the system has them to give, this one among them. Results are in the order of
/// the jobs.
pub(crate) fn run<R: Send, J: FnOnce() -> R + Send>(jobs: impl IntoIterator<Item = J>) -> Vec<R> {
    let slots: Vec<_> = jobs.into_iter().map(|job| Mutex::new((Some(job), None))).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(slot) = slots.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut slot = slot.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            slot.1 = slot.0.take().map(|job| job());
        }
    };
    match slots.len() {
        0 | 1 => work(),
        threads => thread::scope(|scope| {
            for _ in 1..threads {
                // A thread that cannot be had costs time only.
                let _ = thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        }),
    }
    let result = |slot: Mutex<(Option<J>, Option<R>)>| slot.into_inner().ok().and_then(|(_, result)| result);
    slots.into_iter().filter_map(result).collect()
}
