//! What Python says of streams: sizes and times.

use std::time::Duration;

use eagre::BlockSize;
use pyo3::PyResult;

use crate::error;

/// The size of a block.
pub(crate) fn block_size(given: usize, function: &str) -> PyResult<BlockSize> {
    let size = BlockSize::new(given);
    size.ok_or_else(|| {
        error::value_error(format_args!("{function}: block is {given}; give a power of two from 65536 to 67108864"))
    })
}

/// A time that is called `what`.
pub(crate) fn seconds(given: f64, function: &str, what: &str) -> PyResult<Duration> {
    Duration::try_from_secs_f64(given)
        .map_err(|_| error::value_error(format_args!("{function}: {what} is {given}; give seconds, 0 or more")))
}
