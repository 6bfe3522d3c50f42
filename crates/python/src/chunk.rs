//! A block of a stream as an array: NumPy reads it where it is.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::ends::AnyReadBlock;

/// Blocks that nobody in Python refers to any more.
#[derive(Default)]
pub(crate) struct Dropped(Mutex<Vec<AnyReadBlock>>);

impl Dropped {
    pub(crate) fn take(&self) -> Vec<AnyReadBlock> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Bytes of a stream, which stay where they are for as long as this object, or an array over it, lives.
#[pyclass(frozen, module = "eagre._eagre")]
pub(crate) struct Chunk {
    /// `None` only while it is being dropped.
    block: Option<AnyReadBlock>,
    dropped: Arc<Dropped>,
}

impl Chunk {
    pub(crate) fn new(block: AnyReadBlock, dropped: &Arc<Dropped>) -> Chunk {
        Chunk { block: Some(block), dropped: Arc::clone(dropped) }
    }
}

#[pymethods]
impl Chunk {
    /// How NumPy finds the bytes: `numpy.asarray(chunk)` refers to this object, and so keeps them.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let bytes = self.block.as_ref().map_or(&[][..], AnyReadBlock::as_slice);
        array_interface(py, bytes.as_ptr().addr(), bytes.len())
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let mut blocks = self.dropped.0.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.extend(self.block.take());
    }
}

/// Bytes at an address, to be read.
pub(crate) fn array_interface(py: Python<'_>, address: usize, length: usize) -> PyResult<Bound<'_, PyDict>> {
    let interface = PyDict::new(py);
    interface.set_item("version", 3)?;
    interface.set_item("typestr", "|u1")?;
    interface.set_item("shape", (length,))?;
    interface.set_item("data", (address, true))?;
    Ok(interface)
}
