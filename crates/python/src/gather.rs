//! Records in the order of an index.

use std::path::PathBuf;

use eagre::external::{Gatherer, Progress};
use pyo3::prelude::*;

use crate::error;
use crate::watch::watched;

/// Writes the records of a file in the order of an index: those from rank `start` on, and before rank `stop`. Returns how many.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "those of the function in Python")]
pub(crate) fn gather(
    py: Python<'_>,
    index: PathBuf,
    data: PathBuf,
    to: PathBuf,
    start: u64,
    stop: Option<u64>,
    copied: bool,
    threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<u64> {
    let gathered = watched(py, usize::MAX, progress, |watch| {
        let hook = |now: Progress| watch.go_on(now.done, now.total.unwrap_or(0));
        let gatherer = Gatherer::new().threads(threads).range(start, stop).copied(copied);
        gatherer.progress(&hook).files(index, data, to)
    })?;
    gathered.map_err(|failed| error::of_file(&failed))
}
