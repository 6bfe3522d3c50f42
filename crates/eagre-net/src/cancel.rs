//! Giving up the opening of a stream from another thread.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Ends calls that open streams: [`Options::cancel`](crate::Options::cancel). Streams that are open go on.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    cancelled: bool,
    /// Connections that wait for an answer.
    calls: Vec<Weak<TcpStream>>,
}

impl Cancel {
    /// One that has not been used.
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Every call that waits with these options ends with an error, soon; so does every later one.
    pub fn cancel(&self) {
        let mut state = self.lock();
        state.cancelled = true;
        for call in state.calls.drain(..).filter_map(|call| call.upgrade()) {
            let _ = call.shutdown(Shutdown::Both);
        }
    }

    /// Whether it has been cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.lock().cancelled
    }

    /// A connection to cut when it is cancelled, as long as what this returns lives.
    pub(crate) fn watch(&self, socket: &TcpStream) -> io::Result<Arc<TcpStream>> {
        let call = Arc::new(socket.try_clone()?);
        let mut state = self.lock();
        if state.cancelled {
            call.shutdown(Shutdown::Both)?;
        }
        state.calls.retain(|call| call.strong_count() > 0);
        state.calls.push(Arc::downgrade(&call));
        Ok(call)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
