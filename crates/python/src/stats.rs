//! Statistics of lines of a key and a number.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use eagre::stats::{Aggregator, StatsError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::count::{hook, size_of_file};
use crate::error;
use crate::watch::watched;

/// A key with what is known of its numbers: count, minimum, mean, maximum, sum. Decimal numbers are text, which is exact.
type Group<'py> = (Bound<'py, PyBytes>, u64, String, String, String, String);

#[pyfunction]
pub(crate) fn stats<'py>(
    py: Python<'py>,
    path: PathBuf,
    delimiter: u8,
    columns: (NonZeroUsize, NonZeroUsize),
    options: (bool, bool, bool),
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Vec<Group<'py>>, u64)> {
    let ((csv, header, skip_bad), total) = (options, size_of_file(&path));
    let asked = watched(py, usize::MAX, progress, |watch| {
        let hook = hook(watch, total);
        let all = Aggregator::new().delimiter(delimiter).columns(columns.0, columns.1);
        let all = all.csv(csv).header(header).skip_bad(skip_bad);
        let mut all = all.threads(threads.unwrap_or(0)).progress(&hook);
        let added = all.file(&path)?;
        Ok((all.finish()?, added.skipped))
    })?;
    let (table, skipped) = asked.map_err(|failed| failure(failed, &path))?;
    // As many as the library has at most.
    let (decimals, finer) = (table.decimals(), (table.decimals() + 1).min(18));
    let groups = table.iter().map(|group| {
        let [min, max] = [group.min, group.max].map(|one| one.to_text(decimals));
        let (mean, sum) = (group.mean(finer).to_text(finer), group.sum.to_text(decimals));
        (PyBytes::new(py, group.key), group.count, min, mean, max, sum)
    });
    Ok((groups.collect(), skipped))
}

fn failure(failed: StatsError, path: &Path) -> PyErr {
    match failed {
        StatsError::Io(failed) => error::of_file(&failed),
        StatsError::Memory { .. } => error::memory(format_args!("stats: {}: {failed}", path.display())),
        _ => error::value_error(format_args!("stats: {}: {failed}", path.display())),
    }
}
