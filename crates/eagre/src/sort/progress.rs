//! How far a sort is, and a way to stop it.
//!
//! The loops count the words they have worked on, between pieces of work so large that the counting costs nothing.
//! Every few MiB of work the caller's hook is asked whether to go on. Once it says no, every loop ends at its next
//! piece, and base cases its range with the words that were in it. A hook that panics says no as well; the panic goes on
//! when all is tidied up.

use std::any::Any;
use std::fmt;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use super::SortError;

/// How far a sort is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// So many elements are done; those on their way count in part. It never decreases.
    pub done: u64,
    /// Of so many.
    pub total: u64,
}

/// Whom to ask, and after how many bytes of work.
#[derive(Clone, Copy)]
pub(super) struct Hook<'a> {
    pub(super) call: &'a (dyn Fn(Progress) -> ControlFlow<()> + Sync),
    pub(super) step: u64,
}

impl fmt::Debug for Hook<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook").field("step", &self.step).finish_non_exhaustive()
    }
}

/// A hook is called after so many bytes of work.
pub(super) const STEP: u64 = 4 << 20;
/// What a word that is sorted is worth. Until then it counts for some of these.
pub(super) const WHOLE: u64 = 4;

/// The state of one sort, for all its threads.
pub(super) struct Monitor<'a> {
    hook: Option<Hook<'a>>,
    total: u64,
    /// What an element is worth when all is done.
    worth: u64,
    /// After so much work the hook is called.
    step: u64,
    /// Words worked on, each as often as that was done.
    work: AtomicU64,
    /// What that has been worth.
    done: AtomicU64,
    stopped: AtomicBool,
    calls: Mutex<Calls>,
}

/// Of a hook: one call at a time.
#[derive(Default)]
struct Calls {
    /// The work done at the last call.
    work: u64,
    panic: Option<Box<dyn Any + Send>>,
}

/// A [`Monitor`] for one kind of work.
#[derive(Clone, Copy)]
pub(super) struct Reporter<'a> {
    monitor: &'a Monitor<'a>,
    /// What that work is worth for a word.
    worth: u64,
}

impl<'a> Monitor<'a> {
    /// For so many words of `size` bytes; each is worth so much when all is done: [`WHOLE`] if it has to be sorted.
    pub(super) fn new(hook: Option<Hook<'a>>, total: usize, size: usize, worth: u64) -> Monitor<'a> {
        Monitor {
            hook,
            total: total as u64,
            worth,
            step: hook.map_or(0, |hook| hook.step / size.max(1) as u64),
            work: AtomicU64::new(0),
            done: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            calls: Mutex::new(Calls::default()),
        }
    }

    /// Counts work that is worth so much for a word.
    pub(super) fn reporter(&'a self, worth: u64) -> Reporter<'a> {
        Reporter { monitor: self, worth }
    }

    /// Whether nobody asked to stop.
    pub(super) fn goes_on(&self) -> bool {
        !self.stopped.load(Ordering::Relaxed)
    }

    /// Whether nobody asked to stop, for the thread that began the sort.
    ///
    /// # Panics
    /// As the hook did.
    pub(super) fn check(&self) -> Result<(), SortError> {
        if self.goes_on() {
            return Ok(());
        }
        match self.calls().panic.take() {
            Some(panic) => resume_unwind(panic),
            None => Err(SortError::Cancelled),
        }
    }

    /// The same at the end. The hook is told that all is done; a no is too late then.
    ///
    /// # Panics
    /// As the hook did, or does.
    pub(super) fn end(self) -> Result<(), SortError> {
        self.check()?;
        if let Some(hook) = self.hook {
            let _ = (hook.call)(Progress { done: self.total, total: self.total });
        }
        Ok(())
    }

    fn progress(&self) -> Progress {
        let done = self.done.load(Ordering::Relaxed) / self.worth;
        Progress { done: done.min(self.total), total: self.total }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Asks the hook, if enough has been done since it was asked last.
    #[cold]
    fn ask(&self, hook: Hook<'_>) {
        let mut calls = self.calls();
        let work = self.work.load(Ordering::Relaxed);
        if work - calls.work < self.step || !self.goes_on() {
            return;
        }
        calls.work = work;
        let stop = match catch_unwind(AssertUnwindSafe(|| (hook.call)(self.progress()))) {
            Ok(answer) => answer.is_break(),
            Err(panic) => {
                calls.panic = Some(panic);
                true
            }
        };
        self.stopped.store(stop, Ordering::Relaxed);
    }
}

impl Reporter<'_> {
    /// Whether there is a hook.
    pub(super) fn has_hook(self) -> bool {
        self.monitor.hook.is_some()
    }

    /// The same for work that brings no word closer to its place.
    pub(super) fn without_worth(self) -> Self {
        Reporter { worth: 0, ..self }
    }

    /// Counts work on so many words. Whether to go on; if not, the caller ends as soon as its range is whole.
    #[must_use]
    pub(super) fn report(self, words: usize) -> bool {
        let monitor = self.monitor;
        let Some(hook) = monitor.hook else { return true };
        monitor.done.fetch_add(words as u64 * self.worth, Ordering::Relaxed);
        monitor.work.fetch_add(words as u64, Ordering::Relaxed);
        monitor.ask(hook);
        monitor.goes_on()
    }
}
