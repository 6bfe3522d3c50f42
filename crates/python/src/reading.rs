//! Streams as Python reads them: copied into buffers, or block by block, without a copy.
//!
//! A wait happens without the GIL, in pieces (`watch`): a signal that raises cancels the stream and ends the wait. Blocks that Python has
//! dropped are given back at the next step or piece, by the thread that takes it, so that no drop waits for a lock.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use eagre::file::ReadOptions;
use eagre::{Pipe, Reader, StreamError, StreamErrorKind, process};
use eagre_net::NetworkReader;
use numpy::PyUntypedArray;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

use crate::array::Plain;
use crate::chunk::{Chunk, Dropped};
use crate::ends::{AnyControl, AnyReadBlock, Either, Source};
use crate::error;
use crate::watch::{for_a_moment, leaving, waiting};

/// For how many steps a chunk of a file may be kept.
pub(crate) const KEPT: u32 = 3;

/// The reading end of a stream.
#[pyclass(frozen, module = "eagre._eagre")]
pub(crate) struct Stream {
    end: Mutex<Option<End>>,
    dropped: Arc<Dropped>,
    control: AnyControl,
    name: String,
    /// For how many steps a chunk may be kept.
    kept: u32,
    /// Whether the other end is a file on a disk, which lets nobody wait for long.
    prompt: bool,
}

/// A call that brings the next block.
type Next = fn(&mut Source) -> Result<Option<AnyReadBlock>, StreamError>;

struct End {
    reader: Source,
    /// The block that is being copied out, and how much of it has been.
    current: Option<(AnyReadBlock, usize)>,
}

impl Stream {
    pub(crate) fn new(reader: Reader, prompt: bool) -> Stream {
        let name = reader.control().name().to_owned();
        Stream::with(Source::Here(reader), name, KEPT, prompt)
    }

    pub(crate) fn between_hosts(reader: NetworkReader) -> Stream {
        let name = reader.control().name().to_owned();
        Stream::with(Source::Network(reader), name, KEPT, false)
    }

    /// How long chunks may be kept is up to the process that made the stream.
    pub(crate) fn between_processes(reader: process::Reader) -> Stream {
        let (name, kept) = (reader.name().to_owned(), reader.lookback());
        Stream::with(Source::Process(reader), name, kept, false)
    }

    fn with(reader: Source, name: String, kept: u32, prompt: bool) -> Stream {
        let (control, dropped) = (reader.control(), Arc::default());
        Stream { end: Mutex::new(Some(End { reader, current: None })), dropped, control, name, kept, prompt }
    }

    /// The stream itself, of which nothing was read, for what reads it to its end. `None` if it is closed, or its other end is another
    /// process.
    pub(crate) fn take(&self) -> Option<Reader> {
        self.end().take().and_then(|end| match end.reader {
            Source::Here(reader) => Some(reader),
            Source::Network(reader) => Some(reader.into_reader()),
            Source::Process(_) => None,
        })
    }

    fn end(&self) -> MutexGuard<'_, Option<End>> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the open end. What Python has dropped is given back before.
    fn with_end<T>(&self, act: impl FnOnce(&mut End) -> T) -> PyResult<T> {
        let mut end = self.end();
        let end = end.as_mut().ok_or_else(closed)?;
        self.dropped.take().into_iter().for_each(|block| end.reader.release_block(block));
        Ok(act(end))
    }

    /// Runs a step on the open end, which gets its block by the call that it is given. `None` at the end of the stream.
    fn step<T: Send>(
        &self,
        py: Python<'_>,
        step: impl Fn(&mut End, Next) -> Result<Option<T>, StreamError> + Sync,
    ) -> PyResult<Option<T>> {
        let try_step = |end: &mut End| match self.prompt {
            true => Some(step(end, Source::take)),
            false => step(end, Source::try_take).transpose().map(|done| done.map(Some)),
        };
        // Nothing can mean the end: the call that may wait knows, and does not have to.
        let wait = |end: &mut End, started, limit| end.reader.wait(started, limit).then(|| step(end, Source::take));
        let piece =
            |started, limit| self.with_end(|end| try_step(end).or_else(|| wait(end, started, limit))).transpose();
        waiting(py, &|| self.control.cancel(), piece)??.map_err(|failed| self.failed(&failed))
    }

    fn failed(&self, failed: &StreamError) -> PyErr {
        match failed.kind() {
            StreamErrorKind::Busy => PyBufferError::new_err(format!(
                "chunks: {}: one is still referenced {} steps later; copy what is to be kept: chunk.copy()",
                self.name,
                self.kept + 1
            )),
            _ if matches!(self.control, Either::Process(_)) => error::of_process(failed),
            _ => error::of_stream(failed.clone()),
        }
    }
}

impl End {
    fn copy(&mut self, to: &mut [u8], next: Next) -> Result<Option<usize>, StreamError> {
        let mut done = 0;
        while done < to.len() {
            let Some((block, at)) = &mut self.current else {
                // What is there is handed out at once, and before a failure.
                let more = if done == 0 { next(&mut self.reader)? } else { self.reader.try_take().unwrap_or(None) };
                let Some(block) = more else { break };
                self.current = Some((block, 0));
                continue;
            };
            let bytes = &block.as_slice()[*at..];
            let now = bytes.len().min(to.len() - done);
            to[done..done + now].copy_from_slice(&bytes[..now]);
            (*at, done) = (*at + now, done + now);
            if now == bytes.len()
                && let Some((block, _)) = self.current.take()
            {
                self.reader.release_block(block);
            }
        }
        Ok((done > 0).then_some(done))
    }
}

fn closed() -> PyErr {
    error::value_error("I/O operation on closed file")
}

#[pymethods]
impl Stream {
    /// Begins to read a file at an offset.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, offset: u64) -> PyResult<Stream> {
        let pipe = Pipe::builder().lookback(KEPT);
        let options = ReadOptions::new().stream(pipe).explicit();
        // What has no offsets, such as a pipe, is read on from where it stands.
        let options = if offset > 0 { options.from(offset) } else { options };
        let prompt = path.is_file();
        let reader = py.detach(|| options.open(path));
        reader.map(|reader| Stream::new(reader, prompt)).map_err(|failed| error::of_file(&failed))
    }

    /// For how many steps a chunk may be kept.
    #[getter]
    fn kept(&self) -> u32 {
        self.kept
    }

    /// Fills an array of bytes from its front with the next ones. Returns how many there were: 0 at the end only.
    fn read_into(&self, py: Python<'_>, buffer: &Bound<'_, PyUntypedArray>) -> PyResult<usize> {
        let plain = Plain::to_write(buffer);
        let mut plain =
            plain.ok_or_else(|| error::type_error("read_into: the buffer is no array of bytes to write"))?;
        let to = Mutex::new(plain.items_mut::<u8>());
        let lock = || to.lock().unwrap_or_else(PoisonError::into_inner);
        if lock().is_empty() {
            return Ok(0);
        }
        let copied = self.step(py, |end, next| end.copy(&mut lock(), next))?;
        Ok(copied.unwrap_or(0))
    }

    /// The next bytes, as they lie in the stream, or `None` at its end.
    fn chunk(&self, py: Python<'_>) -> PyResult<Option<Chunk>> {
        let block = self.step(py, |end, next| next(&mut end.reader))?;
        Ok(block.map(|block| Chunk::new(block, &self.dropped)))
    }

    /// Lets go of the stream. Chunks stay as they are. Another host knows when this returns that all was read, or that it will not be.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Some(mut end) = py.detach(|| self.end().take()) else { return Ok(()) };
        let is_complete = end.reader.is_at_end() && end.current.is_none();
        py.detach(|| self.dropped.take().into_iter().for_each(|block| end.reader.release_block(block)));
        match end.reader {
            Source::Network(reader) if is_complete => {
                let finish = || reader.finish();
                leaving(py, &|| self.control.cancel(), finish)?.map_err(|failed| error::of_network(&failed))?;
            }
            Source::Network(reader) => py.detach(|| {
                drop(end.current);
                for_a_moment(|| drop(reader.finish()));
            }),
            reader => py.detach(|| drop((end.current, reader))),
        }
        Ok(())
    }
}
