//! Copies of files, which are complete or not there.

use std::fs::File;
use std::path::PathBuf;

use eagre::copy::{Copier, CopyError, check_apart, target};
use eagre::file::Output;
use pyo3::prelude::*;

use crate::count::size_of_file;
use crate::error;
use crate::watch::watched;

/// Copies a file. Returns how many bytes it has, how many of them were copied as data, and how they were copied.
#[pyfunction]
pub(crate) fn copy(
    py: Python<'_>,
    source: PathBuf,
    to: PathBuf,
    verify: bool,
    preserve: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(u64, u64, String)> {
    let total = size_of_file(&source);
    let copied = watched(py, usize::MAX, progress, |watch| {
        let to = target(&source, &to);
        let from = File::open(&source).map_err(CopyError::Source)?;
        check_apart(&from, &to)?;
        let output = Output::create(&to).map_err(CopyError::Target)?;
        // A copy cannot be stopped: a signal is delivered when it has ended.
        let report = |done| {
            let _ = watch.go_on(done, total);
        };
        Copier::new().verify(verify).preserve(preserve).run(from, output, report)
    })?;
    match copied {
        Ok(copied) => Ok((copied.bytes, copied.data, copied.method.to_string())),
        Err(CopyError::Source(failed)) => Err(error::of_system(&failed, "read", &source)),
        Err(CopyError::Target(failed)) => Err(error::of_system(&failed, "write", &to)),
        Err(failed @ CopyError::Mismatch(_)) => Err(error::of_system(&std::io::Error::other(failed), "verify", &to)),
        Err(failed) => Err(error::value_error(format_args!("copy: {}: {failed}", to.display()))),
    }
}
