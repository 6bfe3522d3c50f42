//! Sorting files of any size.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use eagre::external::{FileSorter, Input, Report};
use eagre::file::{Output, name};
use eagre::records::{Format, take_first};
use pyo3::prelude::*;

use crate::error;
use crate::records::{Records, with_format};
use crate::watch::{Watch, watched};

/// How to sort.
#[derive(FromPyObject)]
pub(crate) struct Options {
    #[pyo3(item)]
    memory: Option<u64>,
    #[pyo3(item)]
    threads: usize,
    #[pyo3(item)]
    temporary: Option<PathBuf>,
    #[pyo3(item)]
    descending: bool,
    #[pyo3(item)]
    unique: bool,
    #[pyo3(item)]
    header: usize,
}

/// What a sort did: plan, records, bytes, runs, bytes of temporary files.
type Done = (String, u64, u64, u64, u64);

/// Sorts a file into another one, or into itself.
#[pyfunction]
pub(crate) fn sort_file(
    py: Python<'_>,
    source: PathBuf,
    to: PathBuf,
    records: Records,
    options: Options,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Done> {
    let chosen = records.chosen("eagre.sort_file", options.descending, options.unique)?;
    let sorted = watched(
        py,
        usize::MAX,
        progress,
        |watch| with_format!(&chosen, format, descending => sort(format, *descending, &source, &to, &options, watch)),
    )?;
    let Report { plan, records, bytes, runs, temporary, .. } = sorted.map_err(|failed| error::of_file(&failed))?;
    Ok((plan.to_string(), records, bytes, runs, temporary))
}

fn sort<F: Format>(
    format: &F,
    descending: bool,
    source: &Path,
    to: &Path,
    options: &Options,
    watch: &Watch,
) -> io::Result<Report> {
    let about = |what: &str, path: &Path, failed: &io::Error| {
        io::Error::new(failed.kind(), format!("{what}: {}: {failed}", path.display()))
    };
    let mut file = File::open(source).map_err(|failed| about("read", source, &failed))?;
    let header = take_first(format, &mut file, options.header);
    let header = header.map_err(|failed| about("read", source, &failed))?;
    let output = Output::create(to).map_err(|failed| about("write", to, &failed))?;
    let hook = |now: eagre::external::Progress| watch.go_on(now.done, now.total.unwrap_or(0));
    let mut sorter = FileSorter::new().threads(options.threads).descending(descending).unique(options.unique);
    if let Some(bytes) = options.memory {
        sorter = sorter.memory(bytes);
    }
    if let Some(folder) = &options.temporary {
        sorter = sorter.temporary(folder);
    }
    let named = Input::new(name::shown(source.as_os_str().as_encoded_bytes()), file);
    sorter.progress(&hook).header(&header).sort(format, vec![named], output, to)
}
