//! Records of the sort benchmark.

use std::path::PathBuf;

use eagre::gensort::{Generator, RECORD};
use numpy::PyUntypedArray;
use pyo3::prelude::*;

use crate::array::Plain;
use crate::count::hook;
use crate::error;
use crate::watch::watched;

/// Writes a file of records from number `first` on.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "those of the function in Python")]
pub(crate) fn generate(
    py: Python<'_>,
    path: PathBuf,
    records: u64,
    first: u128,
    ascii: bool,
    skew: bool,
    threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let total = records.saturating_mul(RECORD as u64);
    let generated = watched(py, usize::MAX, progress, |watch| {
        let hook = hook(watch, total);
        let generator = Generator::new().ascii(ascii).skewed(skew).threads(threads).progress(&hook);
        generator.file(path, first, records)
    })?;
    generated.map_err(|failed| error::of_file(&failed))
}

/// Fills an array of whole records, from number `first` on.
#[pyfunction]
pub(crate) fn generate_into(
    py: Python<'_>,
    out: &Bound<'_, PyUntypedArray>,
    first: u128,
    ascii: bool,
    skew: bool,
) -> PyResult<()> {
    let plain = Plain::to_write(out);
    let mut plain = plain.ok_or_else(|| error::type_error("eagre.generate: out: no contiguous bytes"))?;
    let out = plain.items_mut::<u8>();
    if !out.len().is_multiple_of(RECORD) {
        return Err(error::value_error(format_args!("eagre.generate: out: no whole records of {RECORD} bytes")));
    }
    py.detach(|| Generator::new().ascii(ascii).skewed(skew).fill(first, out));
    Ok(())
}
