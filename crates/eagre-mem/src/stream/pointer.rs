//! What both ends share of pointers: scopes, and making a stretch of blocks contiguous.

#![forbid(unsafe_code)]

use super::core::{Core, Touching};
use super::error::{StreamError, StreamErrorKind};
use super::wait::Missed;
use crate::sys::Errno;
use crate::trap::{self, End, Ready};

/// Puts our handler on top of any that was installed since.
pub(crate) fn check_handler(core: &Core) -> Result<(), StreamError> {
    trap::reinstall_handler(core.context).map_err(|errno| refused(core, errno))
}

fn refused(core: &Core, errno: Errno) -> StreamError {
    StreamError::new(StreamErrorKind::System, &core.config.name, Some(errno.to_string()))
}

/// While a closure runs on a pointer.
pub(crate) struct Scope<'c> {
    core: &'c Core,
    _ready: Ready,
}

impl<'c> Scope<'c> {
    /// Prepares this thread for faults.
    pub(crate) fn enter(core: &'c Core) -> Result<Scope<'c>, StreamError> {
        let ready = Ready::new(core.context).map_err(|errno| refused(core, errno))?;
        let scope = Scope { core, _ready: ready };
        scope.check().map(|()| scope)
    }

    /// The stream's failure, if it failed while the closure ran.
    pub(crate) fn leave(self) -> Result<(), StreamError> {
        self.check()
    }

    fn check(&self) -> Result<(), StreamError> {
        self.core.notice_fork();
        match self.core.status.failure() {
            Some(failure) => Err(self.core.error(failure)),
            None => Ok(()),
        }
    }
}

impl Core {
    /// Makes the memory of blocks `first` to `last`, which `end` holds, one contiguous stretch by moving them to the
    /// end's own range. False if the stream has no ranges and the blocks do not happen to be contiguous.
    pub(crate) fn make_contiguous(&self, end: End, first: u64, last: u64) -> Result<bool, Missed> {
        let len = self.config.block.bytes();
        if (first..last).all(|block| self.address(block) + len == self.address(block + 1)) {
            return Ok(true);
        }
        if self.ranges.is_none() {
            return Ok(false);
        }
        for block in first..=last {
            self.bring(Touching { own: true, ..Touching::explicit(end, block) })?;
        }
        Ok(true)
    }
}
