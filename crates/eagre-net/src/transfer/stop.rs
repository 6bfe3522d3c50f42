//! Ending transfers from another thread.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use eagre::{Control, StreamError};

/// Ends transfers from another thread, such as one that waits for signals.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    stopped: bool,
    /// The streams of each transfer that is under way.
    streams: HashMap<u64, Vec<Control>>,
    next: u64,
}

impl Stop {
    /// Ends nothing yet.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Ends all transfers that were given this, now and later: they return an error soon, and before that the other side hears that
    /// they were cancelled. False if none is under way, so that nobody has to hear it.
    pub fn stop(&self) -> bool {
        let mut state = self.lock();
        state.stopped = true;
        state.streams.values().flatten().for_each(Control::cancel);
        !state.streams.is_empty()
    }

    /// Whether [`Stop::stop`] has been called.
    pub fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// A transfer begins.
    pub(super) fn begin(&self) -> UnderWay {
        let mut state = self.lock();
        state.next += 1;
        UnderWay { stop: self.clone(), number: state.next }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A transfer that can be stopped.
pub(super) struct UnderWay {
    stop: Stop,
    number: u64,
}

impl UnderWay {
    /// It has no streams any more.
    pub(super) fn has_none(&self) {
        self.stop.lock().streams.insert(self.number, Vec::new());
    }

    /// It has this stream, too.
    pub(super) fn has(&self, stream: Control) {
        let mut state = self.stop.lock();
        if state.stopped {
            stream.cancel();
        }
        state.streams.entry(self.number).or_default().push(stream);
    }

    /// Why one of its streams failed, if one did.
    pub(super) fn failure(&self) -> Option<StreamError> {
        self.stop.lock().streams.get(&self.number)?.iter().find_map(Control::failure)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.stop.lock().streams.remove(&self.number);
    }
}
