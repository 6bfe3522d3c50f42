//! A file that is written through a mapping, and appears when it is committed.

use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use eagre::file::Output;
use pyo3::prelude::*;

use crate::error;

/// A file without a name, yet.
#[pyclass(frozen, module = "eagre._eagre")]
pub(crate) struct Hidden {
    output: Mutex<Option<Output>>,
    path: PathBuf,
}

impl Hidden {
    fn output(&self) -> MutexGuard<'_, Option<Output>> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Hidden {
    /// Makes a file that will have so many bytes. What cannot be replaced, such as a device, cannot be mapped either.
    #[new]
    fn new(py: Python<'_>, path: PathBuf, bytes: u64) -> PyResult<Hidden> {
        let output = py.detach(|| {
            let output = Output::create(&path)?;
            output.check_room(bytes)?;
            Ok(output)
        });
        let output = output.map_err(|failed| error::of_system(&failed, "write", &path))?;
        if output.is_direct() {
            return Err(error::value_error(format_args!("write: {}: no regular file; use write()", path.display())));
        }
        Ok(Hidden { output: Mutex::new(Some(output)), path })
    }

    /// The descriptor, or `None` once it was committed.
    fn fileno(&self) -> Option<i32> {
        self.output().as_ref().map(|output| output.file().as_raw_fd())
    }

    /// Makes the file durable, and visible.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let commit = || self.output().take().map_or(Ok(()), Output::commit);
        py.detach(commit).map_err(|failed| error::of_system(&failed, "write", &self.path))
    }

    /// Forgets the file.
    fn discard(&self, py: Python<'_>) {
        py.detach(|| *self.output() = None);
    }
}
