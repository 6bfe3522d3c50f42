//! Streams as Python writes them, into a file or to a reader.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use eagre::file::WriteOptions;
use eagre::{StreamError, Writer, process};
use eagre_net::{NetError, NetworkWriter};
use numpy::PyUntypedArray;
use pyo3::prelude::*;

use crate::array::Plain;
use crate::ends::{AnyControl, AnyWriteBlock, Target};
use crate::error;
use crate::watch::{for_a_moment, leaving, waiting, working};

/// The writing end of a stream.
#[pyclass(frozen, module = "eagre._eagre")]
pub(crate) struct Sink {
    end: Mutex<Option<End>>,
    control: AnyControl,
}

struct End {
    target: Target,
    /// The block that is being filled, and how much of it has been.
    current: Option<(AnyWriteBlock, usize)>,
    written: u64,
}

impl End {
    /// Copies what fits, and returns how much that was. Waits for a disk, but for nobody else.
    fn copy(&mut self, from: &[u8]) -> Result<usize, StreamError> {
        let next: fn(&mut Target) -> Result<Option<AnyWriteBlock>, StreamError> = match self.target {
            Target::File(_) => |target| target.take().map(Some),
            _ => Target::try_take,
        };
        let (mut done, target) = (0, &mut self.target);
        while done < from.len() {
            let Some((block, at)) = &mut self.current else {
                let more = if done == 0 { next(target)? } else { target.try_take()? };
                let Some(block) = more else { break };
                self.current = Some((block, 0));
                continue;
            };
            let room = &mut block.as_mut_slice()[*at..];
            let now = room.len().min(from.len() - done);
            room[..now].copy_from_slice(&from[done..done + now]);
            (*at, done) = (*at + now, done + now);
            if now == room.len()
                && let Some((block, _)) = self.current.take()
            {
                target.complete(block);
            }
        }
        self.written += done as u64;
        Ok(done)
    }

    fn finish(mut self) -> Result<(), Unfinished> {
        if let Some((block, _)) = self.current.take() {
            // Its bytes stay where they are, and are the last ones.
            self.target.put_back(block);
        }
        match self.target {
            Target::File(file) => file.finish_at(self.written).map_err(Unfinished::Here),
            Target::Pipe(mut writer) => {
                writer.finish_at(self.written).map_err(|failed| Unfinished::Here(failed.into()))
            }
            Target::Network(writer) => writer.finish_at(self.written).map(drop).map_err(Unfinished::Network),
            Target::Process(mut writer) => {
                writer.finish_at(self.written).map_err(|failed| Unfinished::Here(failed.into()))
            }
        }
    }
}

/// Why a stream did not reach its end.
enum Unfinished {
    Here(io::Error),
    Network(NetError),
}

impl From<Unfinished> for PyErr {
    fn from(unfinished: Unfinished) -> PyErr {
        match unfinished {
            Unfinished::Here(failed) => error::of_file(&failed),
            Unfinished::Network(failed) => error::of_network(&failed),
        }
    }
}

impl Sink {
    fn with(mut target: Target) -> Sink {
        Sink { control: target.control(), end: Mutex::new(Some(End { target, current: None, written: 0 })) }
    }

    pub(crate) fn between_hosts(writer: NetworkWriter) -> Sink {
        Sink::with(Target::Network(writer))
    }

    pub(crate) fn between_processes(writer: process::Writer) -> Sink {
        Sink::with(Target::Process(writer))
    }

    pub(crate) fn new(writer: Writer) -> Sink {
        Sink::with(Target::Pipe(writer))
    }

    /// The end of a pipe into which nothing was written. `None` if it is none, or closed.
    pub(crate) fn take(&self) -> Option<Writer> {
        let mut end = self.end();
        match end.take()? {
            End { target: Target::Pipe(writer), current: None, written: 0 } => Some(writer),
            other => {
                *end = Some(other);
                None
            }
        }
    }

    fn end(&self) -> MutexGuard<'_, Option<End>> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the open end.
    fn with_end<T>(&self, act: impl FnOnce(&mut End) -> T) -> PyResult<T> {
        self.end().as_mut().map(act).ok_or_else(closed)
    }
}

#[pymethods]
impl Sink {
    /// Begins to write a file.
    #[staticmethod]
    fn create(py: Python<'_>, path: PathBuf) -> PyResult<Sink> {
        let file = py.detach(|| WriteOptions::new().explicit().create(path));
        let file = file.map_err(|failed| error::of_file(&failed))?;
        Ok(Sink::with(Target::File(Box::new(file))))
    }

    /// Writes all of an array of bytes.
    fn write(&self, py: Python<'_>, bytes: &Bound<'_, PyUntypedArray>) -> PyResult<()> {
        let plain = Plain::to_read(bytes);
        let bytes = plain.ok_or_else(|| error::type_error("write: no array of bytes"))?.items::<u8>();
        let mut from = bytes;
        while !from.is_empty() {
            let try_copy = |end: &mut End| Some(end.copy(from)).filter(|done| !matches!(done, Ok(0)));
            let piece = |started, limit| {
                let wait = |end: &mut End| end.target.wait(started, limit).then(|| end.copy(from));
                self.with_end(|end| try_copy(end).or_else(|| wait(end))).transpose()
            };
            let done = waiting(py, &|| self.control.cancel(), piece)??;
            from = &from[done.map_err(error::of_stream)?..];
        }
        Ok(())
    }

    /// Ends the stream here. A file has appeared, complete and on the disk, when this returns.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let Some(mut end) = py.detach(|| self.end().take()) else { return Ok(()) };
        let stop = || self.control.cancel();
        let finished = match end.target {
            // Whether all has arrived when a signal comes first is not known.
            Target::Network(_) => leaving(py, &stop, || end.finish())?,
            // A disk takes its time.
            Target::File(_) => working(py, &stop, || end.finish())?,
            Target::Pipe(_) | Target::Process(_) => {
                // The end of the stream needs a block: the one that is being filled, or another.
                if end.current.is_none() {
                    waiting(py, &stop, |started, limit| end.target.wait(started, limit).then_some(()))?;
                }
                py.detach(|| end.finish())
            }
        };
        Ok(finished?)
    }

    /// Gives up: no file appears, and a reader gets an error with this message.
    fn fail(&self, py: Python<'_>, message: &str) {
        py.detach(|| {
            let Some(mut end) = self.end().take() else { return };
            end.target.fail(message);
            if let Target::Network(writer) = end.target {
                // The other host shall hear it, even if this program ends now. Blocks that are out are dropped first.
                drop(end.current);
                for_a_moment(|| drop(writer.finish()));
            }
        });
    }
}

fn closed() -> PyErr {
    error::value_error("I/O operation on closed file")
}
