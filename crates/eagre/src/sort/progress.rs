//! How far a sort is, and a way to stop it.
//!
//! The loops report how many words they have worked on, after pieces of work so large that reports cost nothing. Every
//! few MiB of work the caller's hook is asked whether to go on. Once it says no, every loop ends at its next piece, and
//! leaves its range with the same words. If the hook panics, the sort ends as well, and the panic goes on in the
//! caller.

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
    /// How many elements are done. Unfinished elements count in part. It never decreases.
    pub done: u64,
    /// How many elements there are.
    pub total: u64,
}

/// The function to call, and after how many bytes of work.
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

/// After how many bytes of work the hook is called.
pub(super) const STEP: u64 = 4 << 20;
/// The progress that a sorted word is worth. Before that it counts for a part of it.
pub(super) const WHOLE: u64 = 4;

/// The state of one sort, shared by all its threads.
pub(super) struct Monitor<'a> {
    hook: Option<Hook<'a>>,
    total: u64,
    /// The progress that an element is worth when all is done.
    worth: u64,
    /// After how many words of work the hook is called.
    step: u64,
    /// How many words have been worked on. A word counts each time.
    work: AtomicU64,
    /// The progress made by that work.
    done: AtomicU64,
    stopped: AtomicBool,
    calls: Mutex<Calls>,
}

/// The calls of a hook: one at a time.
#[derive(Default)]
struct Calls {
    /// The work done at the last call.
    work: u64,
    panic: Option<Box<dyn Any + Send>>,
}

/// Reports one kind of work to a [`Monitor`].
#[derive(Clone, Copy)]
pub(super) struct Reporter<'a> {
    monitor: &'a Monitor<'a>,
    /// The progress that this work is worth for each word.
    worth: u64,
}

impl<'a> Monitor<'a> {
    /// For so many words of `size` bytes. Each is worth `worth` when all is done: [`WHOLE`] if it must be sorted.
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

    /// A reporter for work that is worth so much for each word.
    pub(super) fn reporter(&'a self, worth: u64) -> Reporter<'a> {
        Reporter { monitor: self, worth }
    }

    /// Whether anybody wants to know how far the sort is.
    pub(super) fn has_hook(&self) -> bool {
        self.hook.is_some()
    }

    /// Whether the sort should go on.
    pub(super) fn goes_on(&self) -> bool {
        !self.stopped.load(Ordering::Relaxed)
    }

    /// Whether the sort should go on. For the thread that began the sort.
    ///
    /// # Panics
    /// If the hook did.
    pub(super) fn check(&self) -> Result<(), SortError> {
        if self.goes_on() {
            return Ok(());
        }
        match self.calls().panic.take() {
            Some(panic) => resume_unwind(panic),
            None => Err(SortError::Cancelled),
        }
    }

    /// The same at the end. The hook is told that all is done, and its answer no longer matters.
    ///
    /// # Panics
    /// If the hook did, or does.
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

    /// Asks the hook, if enough has been done since the last call.
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
        self.monitor.has_hook()
    }

    /// The same reporter for work that brings no word closer to its place.
    pub(super) fn without_worth(self) -> Self {
        Reporter { worth: 0, ..self }
    }

    /// Reports work on so many words. Returns whether to go on. If not, the caller ends as soon as its range is whole.
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
