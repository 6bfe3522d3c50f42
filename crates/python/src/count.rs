//! Counting and finding in files.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use eagre::count::Counter;
use eagre::find::{Finder, FinderBuilder};
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::error;
use crate::watch::{Watch, watched};

/// What was counted: lines, words, bytes, columns of the longest line. `None` if it was not asked for.
type Counts = (Option<u64>, Option<u64>, u64, Option<u64>);

/// How large a file is, for the progress of what reads it. 0 if nobody knows.
pub(crate) fn size_of_file(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// The hook of a scan.
pub(crate) fn hook(watch: &Watch, total: u64) -> impl Fn(u64) -> ControlFlow<()> + Sync + '_ {
    move |done| watch.go_on(done, total)
}

#[pyfunction]
pub(crate) fn count(
    py: Python<'_>,
    path: PathBuf,
    what: (bool, bool, bool),
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Counts> {
    let ((lines, words, longest), total) = (what, size_of_file(&path));
    let counted = watched(py, usize::MAX, progress, |watch| {
        let hook = hook(watch, total);
        let counter = Counter::new().lines(lines).words(words).longest(longest);
        counter.threads(threads.unwrap_or(0)).progress(&hook).file(&path)
    })?;
    let counts = counted.map_err(|failed| error::of_file(&failed))?.counts;
    Ok((counts.lines, counts.words, counts.bytes, counts.longest))
}

/// A finder of patterns, which are bytes.
fn finder(patterns: &[Vec<u8>], ignore_case: bool) -> PyResult<Finder<'static>> {
    let builder = Finder::builder().case_insensitive(ignore_case);
    let built = patterns.iter().fold(builder, FinderBuilder::pattern).build();
    built.map_err(|failed| error::value_error(format_args!("eagre.find: {failed}")))
}

/// How often the patterns occur.
#[pyfunction]
pub(crate) fn find_count(
    py: Python<'_>,
    path: PathBuf,
    patterns: Vec<Vec<u8>>,
    ignore_case: bool,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<u64> {
    let (finder, total) = (finder(&patterns, ignore_case)?, size_of_file(&path));
    let found = watched(py, usize::MAX, progress, |watch| {
        let hook = hook(watch, total);
        finder.threads(threads.unwrap_or(0)).progress(&hook).file(&path)
    })?;
    found.map_err(|failed| error::of_file(&failed))
}

/// Arrays of numbers.
type Numbers<'py> = Bound<'py, PyArray1<u64>>;

/// Where the patterns occur: the offset, the length, and the number of the pattern of each occurrence.
#[pyfunction]
pub(crate) fn find_all<'py>(
    py: Python<'py>,
    path: PathBuf,
    patterns: Vec<Vec<u8>>,
    ignore_case: bool,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<[Numbers<'py>; 3]> {
    let (finder, total) = (finder(&patterns, ignore_case)?, size_of_file(&path));
    let found = watched(py, usize::MAX, progress, |watch| {
        let hook = hook(watch, total);
        let mut found = [Vec::new(), Vec::new(), Vec::new()];
        let mut finder = finder.threads(threads.unwrap_or(0)).progress(&hook);
        let searched = finder.each_in_file(&path, |one| {
            let numbers = [one.start, one.bytes.len() as u64, one.pattern as u64];
            found.iter_mut().zip(numbers).for_each(|(list, number)| list.push(number));
            ControlFlow::Continue(())
        });
        searched.map(|()| found)
    })?;
    Ok(found.map_err(|failed| error::of_file(&failed))?.map(|list| PyArray1::from_vec(py, list)))
}
