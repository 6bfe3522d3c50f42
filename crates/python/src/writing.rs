//! Streams as Python writes them, into a file or to a reader.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use eagre::file::{FileWriter, WriteOptions};
use eagre::{Control, StreamError, WriteBlock, Writer};
use eagre_net::{NetError, NetworkWriter};
use numpy::PyUntypedArray;
use pyo3::prelude::*;

use crate::array::Plain;
use crate::error;
use crate::watch::{for_a_moment, leaving, waiting};

/// The writing end of a stream.
#[pyclass(frozen, module = "eagre._eagre")]
pub(crate) struct Sink {
    end: Mutex<Option<End>>,
    control: Control,
}

struct End {
    target: Target,
    /// The block that is being filled, and how much of it has been.
    current: Option<(WriteBlock, usize)>,
    written: u64,
}

enum Target {
    /// A file, which appears when it is finished.
    File(Box<FileWriter>),
    Pipe(Writer),
    Network(NetworkWriter),
}

impl Target {
    fn writer(&mut self) -> &mut Writer {
        match self {
            Target::File(file) => file,
            Target::Pipe(writer) => writer,
            Target::Network(writer) => writer,
        }
    }
}

impl End {
    fn new(target: Target) -> Mutex<Option<End>> {
        Mutex::new(Some(End { target, current: None, written: 0 }))
    }

    /// Copies what fits, and returns how much that was. Waits for a disk, but for nobody else.
    fn copy_now(&mut self, from: &[u8]) -> Result<usize, StreamError> {
        match self.target {
            Target::File(_) => self.copy_or_wait(from),
            Target::Pipe(_) | Target::Network(_) => self.copy(from, Writer::try_take),
        }
    }

    /// As [`End::copy_now`], but at least one byte.
    fn copy_or_wait(&mut self, from: &[u8]) -> Result<usize, StreamError> {
        self.copy(from, |writer| writer.take().map(Some))
    }

    /// Copies what fits into the blocks that `next` gives, and returns how much that was. Only the first may wait.
    fn copy(
        &mut self,
        from: &[u8],
        next: impl Fn(&mut Writer) -> Result<Option<WriteBlock>, StreamError>,
    ) -> Result<usize, StreamError> {
        let (mut done, writer) = (0, self.target.writer());
        while done < from.len() {
            let Some((block, at)) = &mut self.current else {
                let more = if done == 0 { next(writer)? } else { writer.try_take()? };
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
                writer.complete(block);
            }
        }
        self.written += done as u64;
        Ok(done)
    }

    fn finish(mut self) -> Result<(), Unfinished> {
        if let Some((block, _)) = self.current.take() {
            // Its bytes stay where they are, and are the last ones.
            self.target.writer().put_back(block);
        }
        match self.target {
            Target::File(file) => file.finish_at(self.written).map_err(Unfinished::Here),
            Target::Pipe(mut writer) => {
                writer.finish_at(self.written).map_err(|failed| Unfinished::Here(failed.into()))
            }
            Target::Network(writer) => writer.finish_at(self.written).map(drop).map_err(Unfinished::Network),
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
    pub(crate) fn between_hosts(writer: NetworkWriter) -> Sink {
        Sink { control: writer.control(), end: End::new(Target::Network(writer)) }
    }

    pub(crate) fn new(writer: Writer) -> Sink {
        Sink { control: writer.control(), end: End::new(Target::Pipe(writer)) }
    }

    fn end(&self) -> MutexGuard<'_, Option<End>> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Sink {
    /// Begins to write a file.
    #[staticmethod]
    fn create(py: Python<'_>, path: PathBuf) -> PyResult<Sink> {
        let file = py.detach(|| WriteOptions::new().explicit().create(path));
        let file = file.map_err(|failed| error::of_file(&failed))?;
        Ok(Sink { control: file.control(), end: End::new(Target::File(Box::new(file))) })
    }

    /// Writes all of an array of bytes.
    fn write(&self, py: Python<'_>, bytes: &Bound<'_, PyUntypedArray>) -> PyResult<()> {
        let plain = Plain::to_read(bytes);
        let bytes = plain.ok_or_else(|| error::type_error("write: no array of bytes"))?.items::<u8>();
        let mut from = bytes;
        while !from.is_empty() {
            // What fits is copied at once; only who waits for a reader in Python needs a thread.
            let mut done = py.detach(|| self.end().as_mut().map(|end| end.copy_now(from))).ok_or_else(closed)?;
            if let Ok(0) = done {
                let wait = || self.end().as_mut().map(|end| end.copy_or_wait(from));
                done = waiting(py, &|| self.control.cancel(), wait)?.ok_or_else(closed)?;
            }
            from = &from[done.map_err(error::of_stream)?..];
        }
        Ok(())
    }

    /// Ends the stream here. A file has appeared, complete and on the disk, when this returns.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let Some(end) = py.detach(|| self.end().take()) else { return Ok(()) };
        let stop = || self.control.cancel();
        let finished = match end.target {
            // Whether all has arrived when a signal comes first is not known.
            Target::Network(_) => leaving(py, &stop, || end.finish()),
            Target::File(_) | Target::Pipe(_) => waiting(py, &stop, || end.finish()),
        };
        Ok(finished??)
    }

    /// Gives up: no file appears, and a reader gets an error with this message.
    fn fail(&self, py: Python<'_>, message: &str) {
        py.detach(|| {
            let Some(mut end) = self.end().take() else { return };
            end.target.writer().fail(message);
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
