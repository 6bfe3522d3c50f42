//! Records in memory, sorted and cut into parts: what a sort over several machines is made of.

use eagre::external::kernels::{self, IndexError, Order};
use eagre::sort::{Progress, Sorter};
use numpy::{PyArray1, PyUntypedArray};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::array::Plain;
use crate::error;
use crate::records::{Records, with_format};
use crate::watch::watched;

fn failure(function: &str, failed: IndexError) -> PyErr {
    match failed {
        IndexError::Memory(failed) => error::of_sort(function, failed),
        _ => error::value_error(format_args!("{function}: {failed}")),
    }
}

fn no_bytes(function: &str) -> PyErr {
    error::type_error(format_args!("{function}: records: no contiguous bytes"))
}

/// Keys that cut records like those of a sample into parts of like size.
#[pyfunction]
pub(crate) fn sample_boundaries<'py>(
    py: Python<'py>,
    sample: &Bound<'_, PyUntypedArray>,
    parts: usize,
    records: Records,
    descending: bool,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let function = "eagre.sample_boundaries";
    let sample = Plain::to_read(sample).ok_or_else(|| no_bytes(function))?.items::<u8>();
    let chosen = records.chosen(function, descending, false)?;
    let keys = py.detach(|| {
        with_format!(&chosen, format, descending => {
            kernels::sample_boundaries(format, sample, parts, Order::new(*descending))
        })
    });
    Ok(keys.map_err(|failed| failure(function, failed))?.iter().map(|key| PyBytes::new(py, key)).collect())
}

/// Writes records in order to `out`, and returns where each part ends there.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "those of the function in Python")]
pub(crate) fn sort_and_partition<'py>(
    py: Python<'py>,
    given: &Bound<'_, PyUntypedArray>,
    boundaries: Vec<Vec<u8>>,
    out: &Bound<'_, PyUntypedArray>,
    records: Records,
    descending: bool,
    threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let function = "eagre.sort_and_partition";
    let from = Plain::to_read(given).ok_or_else(|| no_bytes(function))?.items::<u8>();
    let mut out = Plain::to_write(out).ok_or_else(|| no_bytes(function))?;
    let out = out.items_mut::<u8>();
    if from.len() != out.len()
        || from.as_ptr_range().contains(&out.as_ptr())
        || out.as_ptr_range().contains(&from.as_ptr())
    {
        return Err(error::value_error(format_args!("{function}: out: not as long as the records, or over them")));
    }
    let chosen = records.chosen(function, descending, false)?;
    let ends = watched(py, from.len(), progress, |watch| {
        let hook = |now: Progress| watch.go_on(now.done, now.total);
        let sorter = Sorter::new().threads(threads).progress(&hook);
        with_format!(&chosen, format, descending => {
            kernels::sort_and_partition(format, from, &boundaries, Order::new(*descending), &sorter, out)
        })
    })?;
    let ends = ends.map_err(|failed| failure(function, failed))?;
    Ok(PyArray1::from_iter(py, ends.into_iter().map(|end| end as u64)))
}
