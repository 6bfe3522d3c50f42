//! Streams whose other end is a callback: a user's own kind of stream.
//!
//! The callback runs on a helper thread, never in a handler, so it may do whatever it likes: allocate, lock, wait. The
//! thread uses the explicit interface; the user's end is as usual. A source asked for only on demand is stream A of the
//! Vortex paper: the reader's touch of a new block is what calls the callback.

#![forbid(unsafe_code)]

use super::error::{OpenError, StreamError, StreamErrorKind};
use super::pipe::Pipe;
use super::reader::Reader;
use super::writer::Writer;
use crate::trap::End;
use std::io;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::*;
use std::thread::JoinHandle;

/// Where the bytes of a stream come from.
pub trait Source: Send + 'static {
    /// Puts the bytes of the stream that start at `offset` into `block`, as many as it likes but at least one.
    /// 0 means that the stream ends here.
    ///
    /// # Errors
    /// Fails the stream: the reader gets the error's message.
    fn fill(&mut self, offset: u64, block: &mut [u8]) -> io::Result<usize>;
}

impl<F: FnMut(u64, &mut [u8]) -> io::Result<usize> + Send + 'static> Source for F {
    fn fill(&mut self, offset: u64, block: &mut [u8]) -> io::Result<usize> {
        self(offset, block)
    }
}

/// Where the bytes of a stream go.
pub trait Sink: Send + 'static {
    /// Takes the bytes of the stream that start at `offset`: all of them.
    ///
    /// # Errors
    /// Fails the stream: the writer gets the error's message.
    fn empty(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// The stream has ended at `length` bytes.
    ///
    /// # Errors
    /// [`SinkWriter::finish`] returns it.
    fn finish(&mut self, length: u64) -> io::Result<()> {
        let _ = length;
        Ok(())
    }
}

impl<F: FnMut(u64, &[u8]) -> io::Result<()> + Send + 'static> Sink for F {
    fn empty(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self(offset, bytes)
    }
}

fn helper<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>, OpenError> {
    let spawned = std::thread::Builder::new().name("eagre-callback".into()).spawn(run);
    spawned.map_err(|error| OpenError::no_thread(&error))
}

impl Pipe {
    /// Lets `source` fill this stream, and returns its reading end: [`PipeBuilder::source`](super::PipeBuilder::source) in two steps.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn filled_by(self, source: impl Source) -> Result<Reader, OpenError> {
        fill_from(self, source, false)
    }
}

/// Lets `source` fill a stream; `on_demand`: only the blocks that the reader has touched.
pub(crate) fn fill_from(pipe: Pipe, source: impl Source, on_demand: bool) -> Result<Reader, OpenError> {
    let (writer, reader) = pipe.split();
    helper(move || pump_in(writer, source, on_demand))?;
    Ok(reader)
}

/// Lets `sink` empty a stream.
pub(crate) fn empty_into(pipe: Pipe, sink: impl Sink) -> Result<SinkWriter, OpenError> {
    let (writer, reader) = pipe.split();
    let helper = helper(move || pump_out(reader, sink))?;
    Ok(SinkWriter { writer, helper: Some(helper) })
}

/// Calls a callback. A panic becomes an error.
fn guarded<T>(call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| Err(io::Error::other("the callback panicked")))
}

fn pump_in(mut writer: Writer, mut source: impl Source, on_demand: bool) {
    loop {
        let offset = writer.position();
        if on_demand && !wait_for_demand(&writer, offset) {
            return;
        }
        // The reader has failed the stream and knows it. Nobody here needs to be told.
        let Ok(room) = writer.reserve(0) else { return };
        match guarded(|| source.fill(offset, room)) {
            Ok(0) => return drop(writer.finish()),
            Ok(bytes) if bytes <= room.len() => writer.commit(bytes),
            Ok(_) => return writer.fail("the callback says it filled more than there was room for"),
            Err(error) => return writer.fail(&error.to_string()),
        }
    }
}

/// Waits until the reader has asked for the block at `offset`. False if the stream has failed.
fn wait_for_demand(writer: &Writer, offset: u64) -> bool {
    let core = writer.core();
    let block = core.config.block.block_of(offset);
    let failed = || core.status.failure().is_some();
    while core.demand.load(SeqCst) <= block && !failed() {
        core.side(End::Writer).gate.wait(None, || core.demand.load(SeqCst) > block || failed());
    }
    !failed()
}

fn pump_out(mut reader: Reader, mut sink: impl Sink) -> io::Result<()> {
    loop {
        let offset = reader.position();
        let bytes = reader.fill(0)?;
        let len = bytes.len();
        let called = match len {
            0 => return guarded(|| sink.finish(offset)),
            _ => guarded(|| sink.empty(offset, bytes)),
        };
        if let Err(error) = called {
            reader.fail(&error.to_string());
            return Err(error);
        }
        reader.consume(len);
    }
}

/// The writing end of a stream that a [`Sink`] empties. All of [`Writer`] is there; finishing waits for the sink.
#[derive(Debug)]
pub struct SinkWriter {
    writer: Writer,
    helper: Option<JoinHandle<io::Result<()>>>,
}

impl SinkWriter {
    /// Ends the stream at the position and waits until the sink has taken all of it.
    ///
    /// # Errors
    /// The stream's failure, or the sink's.
    pub fn finish(mut self) -> io::Result<()> {
        let finished = self.writer.finish();
        self.join(finished)
    }

    /// Ends the stream at `length` bytes, for a writer on a pointer, and waits until the sink has taken all of it.
    ///
    /// # Errors
    /// The stream's failure, or the sink's.
    pub fn finish_at(mut self, length: u64) -> io::Result<()> {
        let finished = self.writer.finish_at(length);
        self.join(finished)
    }

    fn join(&mut self, finished: Result<(), StreamError>) -> io::Result<()> {
        if finished.is_err() && !self.writer.is_finished() {
            // Perhaps not failed either (a block is still out, say): the sink would wait for more for ever.
            self.writer.core().fail((StreamErrorKind::WriterGone, End::Writer).into());
        }
        let panicked = || Err(io::Error::other("the helper thread panicked"));
        let emptied = self.helper.take().map_or(Ok(()), |helper| helper.join().unwrap_or_else(|_| panicked()));
        // The stream's error carries the sink's message; the sink's own error has its kind.
        emptied.and(finished.map_err(io::Error::from))
    }
}

impl Deref for SinkWriter {
    type Target = Writer;
    fn deref(&self) -> &Writer {
        &self.writer
    }
}

impl DerefMut for SinkWriter {
    fn deref_mut(&mut self) -> &mut Writer {
        &mut self.writer
    }
}
