//! Questions about whole records in memory: their keys, their checksum, how many have one key.

use eagre::records::{Checksum, Format, Malformed};
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
fn walk<'a, F: Format>(format: &F, bytes: &'a [u8], mut each: impl FnMut(&'a [u8]) -> bool) -> Result<(), Malformed> {
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

/// The keys of every `step`-th record, in the form that is compared byte by byte.
#[pyfunction]
pub(crate) fn record_keys<'py>(
    py: Python<'py>,
    data: &Bound<'_, PyUntypedArray>,
    step: usize,
    records: Records,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let function = "eagre.record_keys";
    let (bytes, chosen) = (bytes_of(function, data)?, records.chosen(function, false, false)?);
    let (mut keys, mut scratch, mut number) = (Vec::new(), Vec::new(), 0_usize);
    let walked = with_format!(&chosen, format, _descending => walk(format, bytes, |record| {
        if number.is_multiple_of(step.max(1)) {
            keys.push(PyBytes::new(py, format.key(record, &mut scratch)));
        }
        number += 1;
        true
    }));
    walked.map(|()| keys).map_err(|why| malformed(function, bytes, why))
}

/// Records, their sum, and the first and the last key.
type Summary<'py> = (u64, u128, Option<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>);

/// How many records there are, a sum over them that does not depend on their order, and the keys at both ends.
#[pyfunction]
pub(crate) fn checksum<'py>(
    py: Python<'py>,
    data: &Bound<'_, PyUntypedArray>,
    records: Records,
) -> PyResult<Summary<'py>> {
    let function = "eagre.checksum";
    let (bytes, chosen) = (bytes_of(function, data)?, records.chosen(function, false, false)?);
    let (mut sum, mut first, mut last, mut scratch) = (Checksum::default(), None, None, Vec::new());
    let walked = py.detach(|| {
        with_format!(&chosen, format, _descending => {
            let walked = walk(format, bytes, |record| {
                sum.include(format, record);
                first.get_or_insert(record);
                last = Some(record);
                true
            });
            let mut key = |record: Option<&[u8]>| record.map(|record| format.key(record, &mut scratch).to_vec());
            walked.map(|()| key(first).zip(key(last)))
        })
    });
    let ends = walked.map_err(|why| malformed(function, bytes, why))?;
    let ends = ends.map(|(first, last)| (PyBytes::new(py, &first), PyBytes::new(py, &last)));
    Ok((sum.records, sum.sum, ends))
}

/// Where the first bytes are that are no record, and why, if there are any.
#[pyfunction]
pub(crate) fn first_malformed(
    py: Python<'_>,
    data: &Bound<'_, PyUntypedArray>,
    records: Records,
) -> PyResult<Option<(usize, String)>> {
    let function = "eagre.first_malformed";
    let (bytes, chosen) = (bytes_of(function, data)?, records.chosen(function, false, false)?);
    let mut done = 0;
    let walked = py.detach(|| {
        with_format!(&chosen, format, _descending => walk(format, bytes, |record| {
            done += record.len();
            true
        }))
    });
    Ok(walked.err().map(|why| (done, why.to_string())))
}

/// Whether the largest key comes first. An r among the options of text turns the order, too.
#[pyfunction]
pub(crate) fn is_descending(records: Records, descending: bool) -> PyResult<bool> {
    let chosen = records.chosen("eagre.sort_file", descending, false)?;
    Ok(with_format!(&chosen, _format, descending => *descending))
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
