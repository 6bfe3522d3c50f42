//! Cancelling a stream from outside of its ends.

#![forbid(unsafe_code)]

use super::core::{Core, User};
use crate::heap::Weak;
use crate::stream::StreamErrorKind;
use std::fmt;

/// A handle to an end that belongs to nobody in particular. It does not keep the stream open.
pub struct Control(Weak<Core>);

impl Control {
    pub(super) fn of(core: &User) -> Control {
        Control(core.downgrade())
    }

    /// Fails the stream: both ends get [`StreamErrorKind::Cancelled`] from their next call, or the one they wait in. Does nothing if
    /// this end is gone.
    pub fn cancel(&self) {
        if let Some(core) = self.0.upgrade() {
            core.fail((StreamErrorKind::Cancelled, core.end).into());
        }
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("open", &self.0.is_alive()).finish()
    }
}
