//! A name or an address at which others call: a process, or another host.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::arguments::seconds;
use crate::error;
use crate::watch::waiting;

/// A listener of the library, until it is closed, and what Python calls its class.
pub(crate) struct Listening<L> {
    listener: Mutex<Option<Arc<L>>>,
    class: &'static str,
}

impl<L: Send + Sync> Listening<L> {
    pub(crate) fn new(listener: L, class: &'static str) -> Listening<L> {
        Listening { listener: Mutex::new(Some(Arc::new(listener))), class }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<L>>> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits without the GIL until `within` brings something, which it gets a limit for, but not longer than `timeout` seconds. `late` says
    /// then what has not come.
    pub(crate) fn wait<T: Send>(
        &self,
        py: Python<'_>,
        timeout: Option<f64>,
        late: &str,
        within: impl Fn(&L, Duration) -> PyResult<Option<T>> + Sync,
    ) -> PyResult<T> {
        let limit = timeout.map(|timeout| seconds(timeout, self.class, "timeout")).transpose()?;
        let piece = |started: Instant, tick: Duration| {
            let closed = || error::value_error(format_args!("{}: it is closed", self.class));
            let left = limit.map(|limit| limit.saturating_sub(started.elapsed()));
            let waited = self
                .lock()
                .clone()
                .ok_or_else(closed)
                .and_then(|listener| within(&listener, left.map_or(tick, |left| left.min(tick))));
            match waited {
                Ok(None) if left.is_some_and(|left| left.is_zero()) => Some(Err(error::timeout(late))),
                waited => waited.transpose(),
            }
        };
        waiting(py, &|| {}, piece)?
    }

    /// Listens no more. Who waits in another thread gets an error.
    pub(crate) fn close(&self, py: Python<'_>) {
        py.detach(|| self.lock().take());
    }
}
