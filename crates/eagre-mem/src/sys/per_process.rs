//! What a forked child must make anew.

#![forbid(unsafe_code)]

use super::process;
use std::sync::{Mutex, PoisonError};

/// A value made once in each process and kept for its life. A forked child inherits a copy that is of no use to it: a
/// descriptor that names the parent's memory, a thread that is not there. It makes its own, and leaves the copy alone.
pub(crate) struct PerProcess<T: 'static>(Mutex<Option<(u32, &'static T)>>);

impl<T> PerProcess<T> {
    pub(crate) const fn new() -> PerProcess<T> {
        PerProcess(Mutex::new(None))
    }

    /// The value, made by `make` at the first call in this process. An error is not remembered.
    pub(crate) fn get_or_make<E>(&self, make: impl FnOnce() -> Result<&'static T, E>) -> Result<&'static T, E> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let process = process::id();
        match *known {
            Some((by, value)) if by == process => Ok(value),
            _ => {
                let value = make()?;
                *known = Some((process, value));
                Ok(value)
            }
        }
    }
}
