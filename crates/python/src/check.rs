//! Whether files are in order, and have the same records.

use std::path::PathBuf;

use eagre::records::{Checked, Checker};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::count::{hook, size_of_file};
use crate::error;
use crate::records::{Records, with_format};
use crate::watch::watched;

/// What was found: records, bytes, sum of the records, duplicates, records out of order, the first one of these, and the first
/// and the last key.
type Found<'py> = (u64, u64, u128, u64, u64, Option<u64>, Option<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>);

/// Checks the order of a file.
#[pyfunction]
pub(crate) fn check_file<'py>(
    py: Python<'py>,
    path: PathBuf,
    records: Records,
    descending: bool,
    threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Found<'py>> {
    let chosen = records.chosen("eagre.check_file", descending, false)?;
    let total = size_of_file(&path);
    let checked = watched(py, usize::MAX, progress, |watch| {
        let hook = hook(watch, total);
        with_format!(&chosen, format, descending => {
            Checker::new(format).descending(*descending).threads(threads).progress(&hook).file(&path)
        })
    })?;
    let checked = checked.map_err(|failed| error::of_file(&failed))?;
    let ends = checked.ends().map(|(first, last)| (PyBytes::new(py, first), PyBytes::new(py, last)));
    let Checked { checksum, bytes, duplicates, unordered, first_unordered, .. } = checked;
    let first = first_unordered.map(|place| place.record);
    Ok((checksum.records, bytes, checksum.sum, duplicates, unordered, first, ends))
}
