//! A whole file as an array that may be read anywhere, any number of times: mapped, and guarded.
//!
//! A file that another process cuts, or whose disk fails, raises no signal: what is missing reads as zeros, and `check` tells.

use std::fs::File;
use std::path::PathBuf;

use eagre_mem::{LookError, Mapping};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::chunk::array_interface;
use crate::error;

/// A mapped file.
#[pyclass(frozen, module = "eagre._eagre")]
pub(crate) struct Mapped {
    mapping: Mapping,
    address: usize,
    path: PathBuf,
}

#[pymethods]
impl Mapped {
    /// Maps a file of at least one byte.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Mapped> {
        let map = || {
            let file = File::open(&path)?;
            let length = usize::try_from(file.metadata()?.len()).map_err(|_| std::io::ErrorKind::FileTooLarge)?;
            Mapping::new(&file, 0, length)
        };
        let mapping = py.detach(map).map_err(|failed| error::of_system(&failed, "map", &path))?;
        let address = mapping.look(0..mapping.len(), |bytes| bytes.as_ptr().addr());
        let address = address.map_err(|failed| error::of_look(failed, &path))?;
        Ok(Mapped { mapping, address, path })
    }

    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        array_interface(py, self.address, self.mapping.len())
    }

    /// Raises if bytes were missing when they were read.
    fn check(&self) -> PyResult<()> {
        match self.mapping.look(0..self.mapping.len(), |_| ()) {
            Err(gone @ LookError::Gone { .. }) => Err(error::of_look(gone, &self.path)),
            _ => Ok(()),
        }
    }
}
