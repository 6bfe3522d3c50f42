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

impl Options {
    pub(crate) fn descending(&self) -> bool {
        self.descending
    }

    pub(crate) fn unique(&self) -> bool {
        self.unique
    }

    /// A sorter of what a format and these options say. The format knows the direction.
    pub(crate) fn sorter(&self, descending: bool) -> FileSorter<'static> {
        let sorter = FileSorter::new().threads(self.threads).descending(descending).unique(self.unique);
        let sorter = self.memory.into_iter().fold(sorter, FileSorter::memory);
        self.temporary.iter().fold(sorter, FileSorter::temporary)
    }
}

/// What a sort did: plan, records, bytes, runs, bytes of temporary files.
pub(crate) type Done = (String, u64, u64, u64, u64);

pub(crate) fn done(report: Report) -> Done {
    let Report { plan, records, bytes, runs, temporary, .. } = report;
    (plan.to_string(), records, bytes, runs, temporary)
}

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
    Job { source, to, options, index: false }.run(py, "eagre.sort_file", &records, progress)
}

/// Writes the sorted index of a file: the keys, and where their records are.
#[pyfunction]
pub(crate) fn index_file(
    py: Python<'_>,
    source: PathBuf,
    to: PathBuf,
    records: Records,
    options: Options,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Done> {
    Job { source, to, options, index: true }.run(py, "eagre.index_file", &records, progress)
}

/// One file to sort into another one.
struct Job {
    source: PathBuf,
    to: PathBuf,
    options: Options,
    /// Whether the other one is an index, and not the records.
    index: bool,
}

impl Job {
    fn run(
        &self,
        py: Python<'_>,
        function: &str,
        records: &Records,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Done> {
        let chosen = records.chosen(function, self.options.descending, self.options.unique)?;
        let sorted = watched(
            py,
            usize::MAX,
            progress,
            |watch| with_format!(&chosen, format, descending => self.sort(format, *descending, watch)),
        )?;
        sorted.map(done).map_err(|failed| error::of_file(&failed))
    }

    fn sort<F: Format>(&self, format: &F, descending: bool, watch: &Watch) -> io::Result<Report> {
        let about = |what: &str, path: &Path, failed: &io::Error| {
            io::Error::new(failed.kind(), format!("{what}: {}: {failed}", path.display()))
        };
        let Job { source, to, options, index } = self;
        let mut file = File::open(source).map_err(|failed| about("read", source, &failed))?;
        let header = take_first(format, &mut file, options.header);
        let header = header.map_err(|failed| about("read", source, &failed))?;
        let output = Output::create(to).map_err(|failed| about("write", to, &failed))?;
        let hook = |now: eagre::external::Progress| watch.go_on(now.done, now.total.unwrap_or(0));
        let sorter = options.sorter(descending);
        let sorter = sorter.progress(&hook).header(&header);
        let named = Input::new(name::shown(source.as_os_str().as_encoded_bytes()), file);
        match index {
            true => sorter.index(format, named, output, to),
            false => sorter.sort(format, vec![named], output, to),
        }
    }
}
