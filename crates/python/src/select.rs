//! The few smallest or largest elements of an array.

use eagre::sort::{Progress, Sorter};
use numpy::PyUntypedArray;
use pyo3::prelude::*;

use crate::array::Plain;
use crate::dtype::{unsupported, with_kind};
use crate::element::Kind;
use crate::error;
use crate::watch::watched;

/// Brings the first `k` elements of each row of a plain array, the last axis, to its front, in order.
#[pyfunction]
#[pyo3(signature = (rows, k, descending, threads, progress, function))]
pub(crate) fn select_rows(
    rows: &Bound<'_, PyUntypedArray>,
    k: usize,
    descending: bool,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
    function: &str,
) -> PyResult<()> {
    let mut plain = Plain::to_write(rows).ok_or_else(|| unsupported(function, rows))?;
    let (row, sorter) = (plain.row().max(1), Sorter::new().threads(threads.unwrap_or(0)));
    let (number, size) = plain.kind();
    let done = with_kind!(number, size, K => {
        let items = plain.items_mut::<<K as Kind>::Item>();
        watched(rows.py(), size_of_val(items), progress, |watch| {
            let hook = |now: Progress| watch.go_on(now.done, now.total);
            let sorter = sorter.progress(&hook);
            items.chunks_mut(row).try_for_each(|row| K::select(&sorter, row, k, descending))
        })?
    }, else return Err(unsupported(function, rows)));
    done.map_err(|failed| error::of_sort(function, failed))
}
