//! Merging what is sorted: into a file, or into a stream that Python reads.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::thread;

use eagre::external::kernels::{MOST_SOURCES, Merge, MergeError, Order};
use eagre::external::{FileSorter, Input, Progress};
use eagre::file::{Output, name};
use eagre::records::Format;
use eagre::{Pipe, Writer};
use numpy::PyUntypedArray;
use pyo3::prelude::*;

use crate::array::Kept;
use crate::error;
use crate::reading::Stream;
use crate::records::{Records, with_format};
use crate::sort_file::{Done, Options, done};
use crate::watch::watched;

/// How many bytes of the result are collected for the stream.
const BATCH: usize = 64 << 10;

/// What Python gives as a source.
#[derive(FromPyObject)]
pub(crate) enum Given<'py> {
    Bytes(Bound<'py, PyUntypedArray>),
    Stream(Bound<'py, Stream>),
    Path(PathBuf),
}

/// A source of sorted records.
enum Source {
    Bytes(Kept),
    Input(Input),
}

impl Source {
    fn new(number: usize, given: Given<'_>) -> PyResult<Source> {
        let name = format!("source {number}");
        Ok(match given {
            Given::Bytes(array) => Source::Bytes(
                Kept::new(&array)
                    .ok_or_else(|| error::type_error(format_args!("eagre.merge: {name}: no contiguous bytes")))?,
            ),
            Given::Stream(stream) => {
                let reader = stream.get().take();
                Source::Input(Input::new(
                    name,
                    reader.ok_or_else(|| error::value_error("eagre.merge: a closed stream"))?,
                ))
            }
            Given::Path(path) => {
                let file = File::open(&path).map_err(|failed| error::of_system(&failed, "read", &path))?;
                Source::Input(Input::new(name::shown(path.as_os_str().as_encoded_bytes()), file))
            }
        })
    }

    fn input(self, number: usize) -> io::Result<Input> {
        let kept = match self {
            Source::Bytes(kept) => kept,
            Source::Input(input) => return Ok(input),
        };
        let stream = Pipe::builder().explicit().source(move |offset: u64, block: &mut [u8]| {
            let rest = kept.bytes().get(offset as usize..).unwrap_or_default();
            let count = rest.len().min(block.len());
            block[..count].copy_from_slice(&rest[..count]);
            Ok(count)
        })?;
        Ok(Input::new(format!("source {number}"), stream))
    }
}

fn sources(given: Vec<Given<'_>>) -> PyResult<Vec<Source>> {
    given.into_iter().enumerate().map(|(number, given)| Source::new(number, given)).collect()
}

fn inputs(sources: Vec<Source>) -> io::Result<Vec<Input>> {
    sources.into_iter().enumerate().map(|(number, source)| source.input(number)).collect()
}

/// Merges sources into a file.
#[pyfunction]
pub(crate) fn merge_file(
    py: Python<'_>,
    given: Vec<Given<'_>>,
    to: PathBuf,
    records: Records,
    options: Options,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Done> {
    let chosen = records.chosen("eagre.merge", options.descending(), options.unique())?;
    let sources = sources(given)?;
    let merged = watched(py, usize::MAX, progress, |watch| {
        let hook = |now: Progress| watch.go_on(now.done, now.total.unwrap_or(0));
        let output = Output::create(&to);
        let output =
            output.map_err(|failed| io::Error::new(failed.kind(), format!("write: {}: {failed}", to.display())))?;
        with_format!(&chosen, format, descending => {
            options.sorter(*descending).progress(&hook).merge(format, inputs(sources)?, output, &to)
        })
    })?;
    merged.map(done).map_err(|failed| error::of_file(&failed))
}

/// Merges sources into a stream. A thread merges; it ends when the stream is closed.
#[pyfunction]
pub(crate) fn merge_stream(given: Vec<Given<'_>>, records: Records, options: Options) -> PyResult<Stream> {
    let chosen = records.chosen("eagre.merge", options.descending(), options.unique())?;
    let sources = sources(given)?;
    let pipe = Pipe::builder().name("eagre.merge").explicit().open();
    let (writer, reader) = pipe.map_err(|failed| error::of_file(&failed.into()))?.split();
    let work = move || {
        with_format!(&chosen, format, descending => {
            into_stream(format, *descending, sources, &options, writer);
        });
    };
    let thread = thread::Builder::new().name("eagre-merge".into()).spawn(work);
    thread.map_err(|failed| error::memory(format_args!("eagre.merge: no thread: {failed}")))?;
    Ok(Stream::new(reader, false))
}

/// What goes wrong is told to the reader.
fn into_stream<F: Format>(format: &F, descending: bool, sources: Vec<Source>, options: &Options, mut writer: Writer) {
    let kept = sources.iter().map(|source| match source {
        Source::Bytes(kept) => Some(kept.bytes()),
        Source::Input(_) => None,
    });
    let merged = match kept.collect::<Option<Vec<_>>>() {
        // All of it is in memory.
        Some(bytes) if sources.len() <= MOST_SOURCES => {
            merge_bytes(format, bytes, Order::new(descending), options.unique(), &mut writer)
        }
        _ => inputs(sources).and_then(|inputs| {
            let sorter: FileSorter<'_> = options.sorter(descending);
            sorter.merge_into(format, inputs, &mut writer).map(drop)
        }),
    };
    if let Err(failed) = merged {
        writer.fail(&failed.to_string());
    }
}

fn merge_bytes<F: Format>(
    format: &F,
    sources: Vec<&[u8]>,
    order: Order,
    unique: bool,
    writer: &mut Writer,
) -> io::Result<()> {
    let failed = |why: MergeError<std::convert::Infallible>| match why {
        MergeError::Memory(refused) => io::Error::new(io::ErrorKind::OutOfMemory, format!("eagre.merge: {refused}")),
        why => io::Error::new(io::ErrorKind::InvalidData, format!("eagre.merge: {why}")),
    };
    let mut merge = Merge::new(format, sources, order).map_err(failed)?;
    let (mut batch, mut scratch, mut last) = (Vec::with_capacity(2 * BATCH), Vec::new(), None::<Vec<u8>>);
    while let Some(record) = merge.record() {
        let repeated = unique && {
            let key = format.key(record, &mut scratch);
            let repeated = last.as_deref() == Some(key);
            if !repeated {
                last = Some(key.to_vec());
            }
            repeated
        };
        if !repeated {
            batch.extend_from_slice(record);
            // The last line of a source may lack its end.
            batch.extend(format.terminator().filter(|end| record.last() != Some(end)));
        }
        if batch.len() >= BATCH {
            writer.copy_in(&batch)?;
            batch.clear();
        }
        merge.advance().map_err(failed)?;
    }
    writer.copy_in(&batch)?;
    writer.finish()?;
    Ok(())
}
