//! Long calls, which a signal ends.
//!
//! The GIL is free meanwhile. Every few milliseconds the calling thread takes it, for as long as Python needs to run its
//! signal handlers and the caller's progress function. Work that goes on runs in a thread of its own. If a handler or the progress function
//! raises, the work is asked to stop; the exception goes on when it has, since the work uses memory of the caller. A wait for the other end
//! of a stream needs no thread: it is done in pieces.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::error;

/// How often the calling thread looks for signals.
const TICK: Duration = Duration::from_millis(20);

/// For how long a program waits until another host has heard that a stream ends early.
const MOMENT: Duration = Duration::from_secs(2);

/// Work on fewer bytes ends before anybody misses a signal, and does without a thread: 0.1 s.
const UNWATCHED: usize = 16 << 20;

/// What the work and the calling thread tell each other.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Whether there is a calling thread that listens.
    listens: bool,
    stopped: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
}

impl Watch {
    /// Whether it may ask to stop, or wants to know how far the work is.
    pub(crate) fn listens(&self) -> bool {
        self.listens
    }

    /// Whether to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// Notes how far the work is, and says whether to go on.
    pub(crate) fn go_on(&self, done: u64, total: u64) -> std::ops::ControlFlow<()> {
        self.done.store(done, Relaxed);
        self.total.store(total, Relaxed);
        match self.is_stopped() {
            true => std::ops::ControlFlow::Break(()),
            false => std::ops::ControlFlow::Continue(()),
        }
    }
}

/// Runs `work`, which is on so many `bytes`, without the GIL; calls `progress(done, total)`, if there is one, now and then, or moves
/// it, if it is a bar.
///
/// # Errors
/// A `TypeError` for a `progress` that is neither; the work has not begun. What a signal handler or `progress` raised; the work has ended then, early if it asked its [`Watch`].
pub(crate) fn watched<R: Send>(
    py: Python<'_>,
    bytes: usize,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> R + Send,
) -> PyResult<R> {
    if bytes < UNWATCHED && progress.is_none() {
        return Ok(py.detach(|| work(&Watch::default())));
    }
    let progress = progress.map(|progress| function_of(py).and_then(|of| of.call1((progress,)))).transpose()?;
    let progress = progress.map(Bound::unbind);
    let watch = Watch { listens: true, ..Watch::default() };
    let report = |py: Python<'_>| match &progress {
        Some(progress) => progress.call1(py, (watch.done.load(Relaxed), watch.total.load(Relaxed))).map(drop),
        None => Ok(()),
    };
    let done = in_a_thread(py, &report, &|| watch.stopped.store(true, Relaxed), || work(&watch))?;
    // The last report, of all that was to do.
    report(py)?;
    Ok(done)
}

/// What makes a function of a `progress` that may be a bar.
fn function_of(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static FUNCTION_OF: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    FUNCTION_OF.import(py, "eagre._progress", "function_of")
}

/// Calls `piece` without the GIL, again and again, until it brings something: it gets the time since when it waits, and for how long it may.
/// It holds no lock when it returns: a signal handler may use the stream. `stop` is called before what a handler raises goes on.
///
/// # Errors
/// What a signal handler raised.
pub(crate) fn waiting<R: Send>(
    py: Python<'_>,
    stop: &(dyn Fn() + Sync),
    mut piece: impl FnMut(Instant, Duration) -> Option<R> + Send,
) -> PyResult<R> {
    py.detach(|| {
        let started = Instant::now();
        loop {
            if let Some(done) = piece(started, TICK) {
                return Ok(done);
            }
            if let Err(raised) = Python::attach(|py| py.check_signals()) {
                stop();
                return Err(raised);
            }
        }
    })
}

/// Runs `work`, which `stop` ends, in a thread and without the GIL.
///
/// # Errors
/// What a signal handler raised.
pub(crate) fn working<R: Send>(
    py: Python<'_>,
    stop: &(dyn Fn() + Sync),
    work: impl FnOnce() -> R + Send,
) -> PyResult<R> {
    in_a_thread(py, &|_| Ok(()), stop, work)
}

/// Runs `work`, which waits for another host, without the GIL. A signal that raises calls `stop` and leaves the work behind: it ends by
/// itself, and what it brings is dropped.
///
/// # Errors
/// What a signal handler raised; a `MemoryError` if there is no thread for the work.
pub(crate) fn leaving<R: Send + 'static>(
    py: Python<'_>,
    stop: &(dyn Fn() + Sync),
    work: impl FnOnce() -> R + Send + 'static,
) -> PyResult<R> {
    py.detach(|| {
        let (ended, end) = channel();
        let begin = move || {
            // Nobody listens any more if a signal came first.
            let _ = ended.send(catch_unwind(AssertUnwindSafe(work)));
        };
        let thread = thread::Builder::new().name("eagre-python".into()).spawn(begin);
        thread.map_err(|failed| error::memory(format_args!("no thread for the work: {failed}")))?;
        loop {
            match end.recv_timeout(TICK) {
                Ok(done) => return Ok(done.unwrap_or_else(|panic| resume_unwind(panic))),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(error::memory("the work was lost")),
            }
            if let Err(raised) = Python::attach(|py| py.check_signals()) {
                stop();
                return Err(raised);
            }
        }
    })
}

/// Runs `work`, which tells another host that a stream ends early, and waits for it, but not for long. The host shall hear it even if this
/// program ends now. Call it without the GIL.
pub(crate) fn for_a_moment(work: impl FnOnce() + Send + 'static) {
    let (ended, end) = channel::<()>();
    let begin = move || {
        // Dropped when the work ends, or panics.
        let _ended = ended;
        work();
    };
    if thread::Builder::new().name("eagre-python".into()).spawn(begin).is_ok() {
        let _ = end.recv_timeout(MOMENT);
    }
}

fn in_a_thread<R: Send>(
    py: Python<'_>,
    report: &(dyn Fn(Python<'_>) -> PyResult<()> + Sync),
    stop: &(dyn Fn() + Sync),
    work: impl FnOnce() -> R + Send,
) -> PyResult<R> {
    let work = Mutex::new(Some(work));
    let take = &|| work.lock().unwrap_or_else(PoisonError::into_inner).take();
    let done = py.detach(|| {
        thread::scope(|scope| {
            let (ended, end) = channel::<()>();
            let begin = move || {
                // Dropped when the work ends, or panics.
                let _ended = ended;
                take().map(|work| work())
            };
            let worker = thread::Builder::new().name("eagre-python".into()).spawn_scoped(scope, begin).ok()?;
            let mut raised = None;
            while let Err(RecvTimeoutError::Timeout) = end.recv_timeout(TICK) {
                if raised.is_none() {
                    raised = Python::attach(|py| py.check_signals().and_then(|()| report(py))).err();
                    if raised.is_some() {
                        stop();
                    }
                }
            }
            let done = worker.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            Some(raised.map_or(Ok(done), Err))
        })
    });
    done.unwrap_or_else(|| {
        // The system has no thread for us: nobody listens.
        let work = work.into_inner().unwrap_or_else(PoisonError::into_inner);
        work.map(|work| py.detach(work)).ok_or_else(|| error::memory("no thread for the work"))
    })
}
