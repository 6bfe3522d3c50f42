//! Questions about whole records in memory: their keys, their checksum, how many have one key.

use eagre::records::{self, Format, Malformed};
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::array::Plain;
use crate::error;
use crate::records::{Records, with_format};

fn bytes_of<'a>(function: &str, data: &'a Bound<'_, PyUntypedArray>) -> PyResult<&'a [u8]> {
    let plain = Plain::to_read(data);
    Ok(plain.ok_or_else(|| error::type_error(format_args!("{function}: data: no contiguous bytes")))?.items::<u8>())
}

fn malformed(function: &str, bytes: &[u8], why: Malformed) -> PyErr {
    let at = bytes.len() as u64 - why.bytes();
    error::value_error(format_args!("{function}: at byte {at}: {why}"))
}

/// Calls `each` with the whole records at the front of `bytes`, until it says that it has enough.
fn walk<F: Format>(format: &F, bytes: &[u8], mut each: impl FnMut(&[u8]) -> bool) -> Result<(), Malformed> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let (record, behind) = rest.split_at(format.length(rest, true)?.unwrap_or(rest.len()));
        if !each(record) {
            break;
        }
        rest = behind;
    }
    Ok(())
}

/// The keys of records, in the form that is compared byte by byte.
#[pyfunction]
pub(crate) fn record_keys<'py>(
    py: Python<'py>,
    data: &Bound<'_, PyUntypedArray>,
    records: Records,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let function = "eagre.record_keys";
    let (bytes, chosen) = (bytes_of(function, data)?, records.chosen(function, false, false)?);
    let (mut keys, mut scratch) = (Vec::new(), Vec::new());
    let walked = with_format!(&chosen, format, _descending => walk(format, bytes, |record| {
        keys.push(PyBytes::new(py, format.key(record, &mut scratch)));
        true
    }));
    walked.map(|()| keys).map_err(|why| malformed(function, bytes, why))
}

/// How many records there are, and a sum over them that does not depend on their order.
#[pyfunction]
pub(crate) fn checksum(py: Python<'_>, data: &Bound<'_, PyUntypedArray>, records: Records) -> PyResult<(u64, u128)> {
    let function = "eagre.checksum";
    let (bytes, chosen) = (bytes_of(function, data)?, records.chosen(function, false, false)?);
    let sum = py.detach(|| with_format!(&chosen, format, _descending => records::checksum(format, bytes)));
    sum.map(|sum| (sum.records, sum.sum)).map_err(|why| malformed(function, bytes, why))
}

/// How many bytes the records at the front of `data` have whose key is `key`. No record is counted behind the first `most`
/// bytes.
#[pyfunction]
pub(crate) fn tied(
    py: Python<'_>,
    data: &Bound<'_, PyUntypedArray>,
    key: &[u8],
    most: usize,
    records: Records,
) -> PyResult<usize> {
    let function = "eagre.tied";
    let (bytes, chosen) = (bytes_of(function, data)?, records.chosen(function, false, false)?);
    let (mut done, mut scratch) = (0, Vec::new());
    let walked = py.detach(|| {
        with_format!(&chosen, format, _descending => walk(format, bytes, |record| {
            let counts = done + record.len() <= most && format.key(record, &mut scratch) == key;
            done += if counts { record.len() } else { 0 };
            counts
        }))
    });
    walked.map(|()| done).map_err(|why| malformed(function, bytes, why))
}
