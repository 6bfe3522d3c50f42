//! The order of the elements of an array, as indices.
//!
//! Canonical keys are sorted, each with its index. So the order is NumPy's stable one: equal elements in the order they are in.

use eagre::sort::{Key, Progress, SortError, Sorter};
use numpy::PyUntypedArray;
use pyo3::prelude::*;

use crate::array::Plain;
use crate::dtype::{unsupported, with_kind};
use crate::element::Kind;
use crate::error;
use crate::watch::{Watch, watched};

/// Writes the order of each row of a plain array, the last axis, to an array of indices.
#[pyfunction]
#[pyo3(signature = (rows, indices, descending, threads, progress, function))]
pub(crate) fn argsort_rows(
    rows: &Bound<'_, PyUntypedArray>,
    indices: &Bound<'_, PyUntypedArray>,
    descending: bool,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
    function: &str,
) -> PyResult<()> {
    let (py, wrong) = (rows.py(), || unsupported(function, rows));
    let keys = Plain::to_read(rows).ok_or_else(wrong)?;
    let mut indices = Plain::to_write(indices).filter(|indices| indices.len() == keys.len()).ok_or_else(wrong)?;
    let (indices, row) = (indices.items_mut::<i64>(), keys.row().max(1));
    if u32::try_from(row).is_err() {
        return Err(error::value_error(format_args!(
            "{function}: {row} elements: 4294967295 at most; order parts of them"
        )));
    }
    let sorter = Sorter::new().threads(threads.unwrap_or(0));
    let (number, size) = keys.kind();
    let done = with_kind!(number, size, K => {
        let items = keys.items::<<K as Kind>::Item>();
        watched(py, size_of_val(items), progress, |watch| {
            let mut rows = items.chunks(row).zip(indices.chunks_mut(row));
            rows.try_for_each(|(items, indices)| argsort::<K>(&sorter, items, indices, descending, watch))
        })?
    }, else return Err(wrong()));
    done.map_err(|failed| error::of_sort(function, failed))
}

/// So many elements are worked on between two looks whether to stop.
const PIECE: usize = 1 << 18;

fn go_on(watch: &Watch) -> Result<(), SortError> {
    if watch.is_stopped() { Err(SortError::Cancelled) } else { Ok(()) }
}

fn argsort<K: Kind>(
    sorter: &Sorter<'_>,
    items: &[K::Item],
    indices: &mut [i64],
    descending: bool,
    watch: &Watch,
) -> Result<(), SortError> {
    let mut pairs = list::<K::Key>(items.len())?;
    for items in items.chunks(PIECE) {
        let start = pairs.len();
        pairs.extend(items.iter().enumerate().map(|(at, &item)| (K::key(item, descending), (start + at) as u32)));
        go_on(watch)?;
    }
    let hook = |now: Progress| watch.go_on(now.done, now.total);
    if watch.listens() { sorter.progress(&hook) } else { *sorter }.sort_pairs(&mut pairs)?;
    for (pairs, indices) in pairs.chunks(PIECE).zip(indices.chunks_mut(PIECE)) {
        pairs.iter().zip(indices).for_each(|(pair, index)| *index = i64::from(pair.1));
        go_on(watch)?;
    }
    Ok(())
}

/// Room for so many pairs, which the system may refuse.
fn list<K: Key>(len: usize) -> Result<Vec<(K, u32)>, SortError> {
    let mut list = Vec::new();
    list.try_reserve_exact(len).map_err(|_| SortError::Memory { bytes: len.saturating_mul(size_of::<(K, u32)>()) })?;
    Ok(list)
}
