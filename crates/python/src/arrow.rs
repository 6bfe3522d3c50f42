//! Tables for whoever reads Arrow: the C stream of its PyCapsule interface, which needs no package beside this one.
//! <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, BinaryArray, Decimal128Array, RecordBatch, RecordBatchIterator, StringArray, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyCapsule;

use crate::error;

/// What the interface calls a capsule that holds a stream.
const STREAM: &CStr = c"arrow_array_stream";

/// The most digits of a decimal number.
const DIGITS: u8 = 38;

/// Groups of lines: keys, how many lines each has, and its numbers. The numbers come with their names and how many of the
/// digits are behind the point.
#[pyfunction]
pub(crate) fn arrow_groups<'py>(
    py: Python<'py>,
    keys: Vec<PyBackedBytes>,
    counts: Vec<u64>,
    numbers: Vec<(String, i8, Vec<i128>)>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let stream = py.detach(|| groups(&keys, counts, numbers));
    let stream = stream.map_err(|failed| error::value_error(format_args!("eagre.Stats: {failed}")))?;
    PyCapsule::new_with_value(py, stream, STREAM)
}

fn groups(
    keys: &[PyBackedBytes],
    counts: Vec<u64>,
    numbers: Vec<(String, i8, Vec<i128>)>,
) -> Result<FFI_ArrowArrayStream, ArrowError> {
    let texts: Result<Vec<&str>, _> = keys.iter().map(|key| std::str::from_utf8(key)).collect();
    let keys: ArrayRef = match texts {
        Ok(texts) => Arc::new(StringArray::from_iter_values(texts)),
        Err(_) => Arc::new(BinaryArray::from_iter_values(keys)),
    };
    let mut fields =
        vec![Field::new("key", keys.data_type().clone(), false), Field::new("count", DataType::UInt64, false)];
    let mut columns = vec![keys, Arc::new(UInt64Array::from(counts))];
    for (name, scale, column) in numbers {
        let column = Decimal128Array::from(column).with_precision_and_scale(DIGITS, scale)?;
        fields.push(Field::new(name, DataType::Decimal128(DIGITS, scale), false));
        columns.push(Arc::new(column));
    }
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(schema.clone(), columns)?;
    Ok(FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new([Ok(batch)], schema))))
}
