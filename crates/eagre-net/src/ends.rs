//! What a user holds: the end of a stream, and the thread beside it that carries blocks to or from the other host.

use std::ops::{Deref, DerefMut};
use std::thread::{Builder, JoinHandle};

use eagre::{Reader, StreamError, Writer};

use crate::error::{NetError, NetErrorKind};
use crate::greeting::State;
use crate::receiving::Receiving;
use crate::sending::Sending;
pub use crate::sending::Summary;
use crate::session::Session;

/// The thread that carries a stream.
#[derive(Debug)]
pub struct Transfer(JoinHandle<Result<Summary, NetError>>);

impl Transfer {
    fn start(work: impl FnOnce() -> Result<Summary, NetError> + Send + 'static) -> Result<Transfer, NetError> {
        let thread = Builder::new().name("eagre-net".into()).spawn(work);
        thread.map(Transfer).map_err(|error| NetError::no_thread("a stream", &error))
    }

    pub(crate) fn sending(reader: Reader, session: Session, own: State) -> Result<Transfer, NetError> {
        check_beginning(&session, reader.position())?;
        Transfer::start(move || Sending::new(reader, session, own).run())
    }

    pub(crate) fn receiving(writer: Writer, session: Session, own: State) -> Result<Transfer, NetError> {
        check_beginning(&session, writer.position())?;
        Transfer::start(move || Receiving::new(writer, session, own).run())
    }

    /// Waits until the stream has been carried to its end and both sides know it.
    ///
    /// # Errors
    /// Why it has not been.
    pub fn join(self) -> Result<Summary, NetError> {
        let panicked =
            |_| Err(NetError::new(NetErrorKind::Stream, "the thread of a stream panicked; please report this"));
        self.0.join().unwrap_or_else(panicked)
    }
}

fn check_beginning(session: &Session, position: u64) -> Result<(), NetError> {
    if position == 0 {
        return Ok(());
    }
    let text =
        format_args!("{}: this stream is at byte {position} already; attach it before it is used", session.place());
    Err(NetError::new(NetErrorKind::Setting, text))
}

/// The error of a stream's end: what the thread says if the thread ended it, or else what the end says.
fn ended(transfer: Option<Transfer>, end: Result<(), StreamError>) -> Result<Summary, NetError> {
    let carried =
        transfer.map_or_else(|| Err(NetError::new(NetErrorKind::Stream, "the stream has ended")), Transfer::join);
    match (carried, end) {
        (Err(error), _) => Err(error),
        (Ok(_), Err(error)) => Err(error.into()),
        (Ok(summary), Ok(())) => Ok(summary),
    }
}

/// The writing end of a stream that is read on another host: all of [`Writer`], and a `finish` that waits for the other side.
///
/// Dropped before, the reader there gets an error, and not a short stream.
#[derive(Debug)]
pub struct NetworkWriter {
    writer: Writer,
    transfer: Option<Transfer>,
}

impl NetworkWriter {
    pub(crate) fn start(
        writer: Writer,
        reader: Reader,
        session: Session,
        own: State,
    ) -> Result<NetworkWriter, NetError> {
        Ok(NetworkWriter { writer, transfer: Some(Transfer::sending(reader, session, own)?) })
    }

    /// Ends the stream at the position, and waits until the other side has all of it and has compared its digest.
    ///
    /// # Errors
    /// Why the stream has not arrived. [`NetErrorKind::Lost`]: or whether it has is not known.
    pub fn finish(mut self) -> Result<Summary, NetError> {
        let finished = self.writer.finish();
        self.end(finished)
    }

    /// Ends the stream at `length` bytes, for a writer on a pointer, and waits as [`NetworkWriter::finish`] does.
    ///
    /// # Errors
    /// As [`NetworkWriter::finish`].
    pub fn finish_at(mut self, length: u64) -> Result<Summary, NetError> {
        let finished = self.writer.finish_at(length);
        self.end(finished)
    }

    /// Ends several streams before it waits for the first of them.
    #[cfg(feature = "transfer")]
    pub(crate) fn finish_all(streams: Vec<NetworkWriter>) -> Vec<Result<Summary, NetError>> {
        let finish = |mut stream: NetworkWriter| {
            let finished = stream.writer.finish();
            (stream, finished)
        };
        let ended: Vec<_> = streams.into_iter().map(finish).collect();
        ended.into_iter().map(|(stream, finished)| stream.end(finished)).collect()
    }

    fn end(self, finished: Result<(), StreamError>) -> Result<Summary, NetError> {
        let NetworkWriter { mut writer, transfer } = self;
        if let Err(error) = &finished {
            // Blocks may still be out, say: the other side would wait for more.
            writer.fail(&error.to_string());
        }
        drop(writer);
        ended(transfer, finished)
    }
}

impl Deref for NetworkWriter {
    type Target = Writer;
    fn deref(&self) -> &Writer {
        &self.writer
    }
}

impl DerefMut for NetworkWriter {
    fn deref_mut(&mut self) -> &mut Writer {
        &mut self.writer
    }
}

impl std::io::Write for NetworkWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.writer.write(bytes)
    }

    /// Does nothing: bytes travel in whole blocks, the last ones when the stream is finished.
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The reading end of a stream that is written on another host: all of [`Reader`], and a `finish` that waits for the other side.
///
/// Dropped before the stream's end, the writer there gets an error.
#[derive(Debug)]
pub struct NetworkReader {
    reader: Reader,
    transfer: Option<Transfer>,
}

impl NetworkReader {
    pub(crate) fn start(
        writer: Writer,
        reader: Reader,
        session: Session,
        own: State,
    ) -> Result<NetworkReader, NetError> {
        Ok(NetworkReader { reader, transfer: Some(Transfer::receiving(writer, session, own)?) })
    }

    /// The end alone, for what takes a [`Reader`]. Nobody is left to wait with [`NetworkReader::finish`]: the thread beside it goes on
    /// alone.
    pub fn into_reader(self) -> Reader {
        self.reader
    }

    /// Waits until the other side knows that everything has arrived, after all has been read. A program that ends without it may
    /// leave the other side in doubt.
    ///
    /// # Errors
    /// Why the stream has not arrived.
    pub fn finish(self) -> Result<Summary, NetError> {
        let NetworkReader { reader, transfer } = self;
        drop(reader);
        ended(transfer, Ok(()))
    }
}

impl Deref for NetworkReader {
    type Target = Reader;
    fn deref(&self) -> &Reader {
        &self.reader
    }
}

impl DerefMut for NetworkReader {
    fn deref_mut(&mut self) -> &mut Reader {
        &mut self.reader
    }
}

impl std::io::Read for NetworkReader {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        self.reader.read(bytes)
    }
}

impl std::io::BufRead for NetworkReader {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.reader.consume(bytes);
    }
}
