//! Eagre itself.

use crate::catalogue::Setting;
use crate::contenders::primitive::Load;
use crate::contenders::{Contender, Trouble};

/// One stream between two threads.
pub(crate) fn pipe(setting: Setting) -> Result<Box<dyn Contender>, Trouble> {
    Err(Trouble::Unavailable(format!(
        "{setting:?}: not written yet"
    )))
}

/// One block after the other through a stream, hardly touched.
pub(crate) fn moves(setting: Setting, _load: Load) -> Result<Box<dyn Contender>, Trouble> {
    pipe(setting)
}

/// One `read(2)` into a stream pointer.
pub(crate) fn read(setting: Setting) -> Result<Box<dyn Contender>, Trouble> {
    pipe(setting)
}
