//! Sorting arrays in place.
//!
//! Arrays of one axis that are plain go straight to the library. All others go by way of `eagre._sorting`, which copies them
//! into plain ones, and back.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle, available_parallelism};

use eagre::sort::{SortError, Sorter};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::array::Plain;
use crate::dtype::{unsupported, with_kind};
use crate::element::Kind;
use crate::error;
use crate::watch::{Watch, watched};

/// Up to so many bytes are sorted faster than the GIL is given away and taken again.
const WITH_GIL: usize = 16 << 10;

/// A row of so many bytes is worth several threads.
const LONG: usize = 2 << 20;
/// Threads take short rows by so many bytes.
const GROUP: usize = 256 << 10;

/// Sorts an array in place.
///
/// The result is that of `numpy.sort`: NaN and NaT come last, in a descending order too. Equal elements have no order among
/// themselves. Nobody else may touch the array meanwhile.
///
/// Args:
///     a: an array of any shape and layout. One that is contiguous along the last axis, aligned and in this machine's byte
///         order is sorted where it is; others are copied, sorted, and copied back.
///     axis: along which to sort.
///     descending: the largest first.
///     threads: at most so many; None for as many as the process may use.
///     order: of structures, the field or fields to sort by first.
///     progress: called with what is done and what there is to do, some times a second; what it raises ends the sort. Or a bar of
///         tqdm, or another object with update(n) and total.
///
/// The dtypes are bool, integers of 8 to 64 bits, float16 to float64, complex64 and complex128 (by the real, then by the
/// imaginary part), datetime64, timedelta64, bytes of fixed width (S1 to S16), and structures of them.
///
/// Raises:
///     TypeError: a is no array, or masked, or of another dtype.
///     ValueError: the array is read-only, or order does not fit.
///     AxisError: there is no such axis.
///     KeyboardInterrupt: the array has its elements, in some order.
///     MemoryError: the system refused memory.
#[pyfunction]
#[pyo3(
    signature = (a, axis=-1, descending=false, threads=None, *, order=None, progress=None),
    text_signature = "(a, axis=-1, descending=False, threads=None, *, order=None, progress=None)"
)]
pub(crate) fn sort(
    a: &Bound<'_, PyAny>,
    axis: isize,
    descending: bool,
    threads: Option<usize>,
    order: Option<&Bound<'_, PyAny>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let py = a.py();
    // Subclasses may give their elements another meaning: masked arrays do.
    if let Ok(array) = a.cast_exact::<PyUntypedArray>()
        && array.ndim() == 1
        && matches!(axis, -1 | 0)
        && order.is_none()
        && let Some(mut plain) = Plain::to_write(array)
    {
        let (number, size) = plain.kind();
        with_kind!(number, size, K => return sort_plain::<K>(py, &mut plain, descending, threads, progress), else {});
    }
    static BY_LAYOUT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let by_layout = BY_LAYOUT.import(py, "eagre._sorting", "sort_in_place")?;
    by_layout.call1((a, axis, descending, threads, order, progress)).map(drop)
}

/// Sorts each row of a plain array, the last axis, in place.
#[pyfunction]
#[pyo3(signature = (rows, descending, threads, progress=None))]
pub(crate) fn sort_rows(
    rows: &Bound<'_, PyUntypedArray>,
    descending: bool,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let mut plain = Plain::to_write(rows).ok_or_else(|| unsupported("eagre.sort", rows))?;
    let (number, size) = plain.kind();
    with_kind!(number, size, K => sort_plain::<K>(rows.py(), &mut plain, descending, threads, progress),
        else Err(unsupported("eagre.sort", rows)))
}

fn sort_plain<K: Kind>(
    py: Python<'_>,
    array: &mut Plain<'_, '_>,
    descending: bool,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let row = array.row();
    let items = array.items_mut::<K::Item>();
    let threads = threads.unwrap_or(0);
    let sorter = Sorter::new().threads(threads);
    let one = row == items.len() || row == 0;
    let bytes = size_of_val(items);
    if bytes <= WITH_GIL && one && progress.is_none() {
        return K::sort(&sorter, items, descending).map_err(|failed| error::of_sort("eagre.sort", failed));
    }
    let sorted = watched(py, bytes, progress, |watch| match one {
        true => {
            let hook = |now: eagre::sort::Progress| watch.go_on(now.done, now.total);
            // Without a hook, keys that are in order but for a few are sorted faster.
            let sorter = if watch.listens() { sorter.progress(&hook) } else { sorter };
            K::sort(&sorter, items, descending)
        }
        false => rows::<K>(&sorter, items, row, threads, descending, watch),
    })?;
    sorted.map_err(|failed| error::of_sort("eagre.sort", failed))
}

/// Sorts rows: long ones one after the other, each by all threads; short ones several at a time, each by one thread.
fn rows<K: Kind>(
    sorter: &Sorter<'_>,
    items: &mut [K::Item],
    row: usize,
    threads: usize,
    descending: bool,
    watch: &Watch,
) -> Result<(), SortError> {
    let (total, done) = (items.len() as u64, AtomicU64::new(0));
    let go_on =
        |sorted: usize| watch.go_on(done.fetch_add(sorted as u64, Relaxed) + sorted as u64, total).is_continue();
    if row * size_of::<K::Item>() >= LONG {
        let hook = |_: eagre::sort::Progress| watch.go_on(done.load(Relaxed), total);
        return items.chunks_mut(row).try_for_each(|row| {
            K::sort(&sorter.progress(&hook), row, descending)?;
            if go_on(row.len()) { Ok(()) } else { Err(SortError::Cancelled) }
        });
    }
    let threads = if threads == 0 { available_parallelism().map_or(1, NonZero::get) } else { threads };
    let groups = items.chunks_mut(row * (GROUP / (row * size_of::<K::Item>())).max(1));
    let threads = threads.min(groups.len());
    let groups = Mutex::new(groups);
    let next = || groups.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some(group) = next() {
            group.chunks_mut(row).try_for_each(|row| K::sort(&sorter.threads(1), row, descending))?;
            if !go_on(group.len()) {
                return Err(SortError::Cancelled);
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let helper = |_| thread::Builder::new().spawn_scoped(scope, work);
        // What the system refuses, the others do.
        let helpers: Vec<_> = (1..threads).map_while(|number| helper(number).ok()).collect();
        let own = work();
        let join = |helper: ScopedJoinHandle<'_, _>| helper.join().unwrap_or_else(|panic| resume_unwind(panic));
        helpers.into_iter().map(join).fold(own, Result::and)
    })
}
