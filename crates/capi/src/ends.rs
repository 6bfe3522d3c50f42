//! Ends, blocks and controls of streams whose other end is in this process, or in another one. Both have the same calls.

use crate::status::{EagreStatus, Fault};
use eagre::{Control, ReadBlock, Reader, StreamError, StreamStats, WriteBlock, Writer, process};
use std::io::{self, BufRead, Read};
use std::ptr::NonNull;

/// Something of a stream of either kind.
#[derive(Clone, PartialEq)]
pub(crate) enum Either<Here, Process> {
    Here(Here),
    Process(Process),
}

pub(crate) type AnyWriter<'a> = Either<&'a mut Writer, &'a mut process::Writer>;
pub(crate) type AnyReader<'a> = Either<&'a mut Reader, &'a mut process::Reader>;
pub(crate) type AnyWriteBlock = Either<WriteBlock, process::WriteBlock>;
pub(crate) type AnyReadBlock = Either<ReadBlock, process::ReadBlock>;
pub(crate) type AnyControl = Either<Control, process::Control>;

/// The same call on either.
macro_rules! either {
    ($either:expr, $it:ident => $call:expr) => {
        match $either {
            Either::Here($it) => $call,
            Either::Process($it) => $call,
        }
    };
}
pub(crate) use either;

impl<'a> AnyWriter<'a> {
    pub(crate) fn pointer(self) -> Result<NonNull<u8>, StreamError> {
        either!(self, writer => writer.as_mut_ptr())
    }

    pub(crate) fn scope<T>(self, write: impl FnOnce(*mut u8) -> T) -> Result<T, StreamError> {
        either!(self, writer => writer.scope(write))
    }

    pub(crate) fn reserve(self, bytes: usize) -> Result<&'a mut [u8], StreamError> {
        either!(self, writer => writer.reserve(bytes))
    }

    pub(crate) fn commit(self, bytes: usize) {
        either!(self, writer => writer.commit(bytes));
    }

    pub(crate) fn copy_in(self, data: &[u8]) -> Result<(), StreamError> {
        either!(self, writer => writer.copy_in(data))
    }

    pub(crate) fn position(&self) -> u64 {
        either!(self, writer => writer.position())
    }

    pub(crate) fn advance_to(self, offset: u64) -> Result<(), StreamError> {
        either!(self, writer => writer.advance_to(offset))
    }

    pub(crate) fn finish_at(self, length: u64) -> Result<(), StreamError> {
        either!(self, writer => writer.finish_at(length))
    }

    pub(crate) fn fail(self, message: &str) {
        either!(self, writer => writer.fail(message));
    }

    pub(crate) fn take(self) -> Result<AnyWriteBlock, StreamError> {
        match self {
            Either::Here(writer) => writer.take().map(Either::Here),
            Either::Process(writer) => writer.take().map(Either::Process),
        }
    }

    pub(crate) fn is_last_taken(&self, block: &AnyWriteBlock) -> bool {
        match (self, block) {
            (Either::Here(writer), Either::Here(block)) => writer.is_last_taken(block),
            (Either::Process(writer), Either::Process(block)) => writer.is_last_taken(block),
            _ => false,
        }
    }

    /// The block was taken from this stream.
    pub(crate) fn put_back(self, block: AnyWriteBlock) {
        match (self, block) {
            (Either::Here(writer), Either::Here(block)) => writer.put_back(block),
            (Either::Process(writer), Either::Process(block)) => writer.put_back(block),
            _ => {}
        }
    }

    /// The block was taken from this stream.
    pub(crate) fn complete(self, block: AnyWriteBlock) {
        match (self, block) {
            (Either::Here(writer), Either::Here(block)) => writer.complete(block),
            (Either::Process(writer), Either::Process(block)) => writer.complete(block),
            _ => {}
        }
    }
}

impl<'a> AnyReader<'a> {
    pub(crate) fn pointer(self) -> Result<NonNull<u8>, StreamError> {
        either!(self, reader => reader.as_ptr())
    }

    pub(crate) fn scope<T>(self, read: impl FnOnce(*const u8) -> T) -> Result<T, StreamError> {
        either!(self, reader => reader.scope(read))
    }

    pub(crate) fn fill(self, bytes: usize) -> Result<&'a [u8], StreamError> {
        either!(self, reader => reader.fill(bytes))
    }

    pub(crate) fn consume(self, bytes: usize) {
        either!(self, reader => reader.consume(bytes));
    }

    pub(crate) fn copy_out(self, data: &mut [u8]) -> Result<usize, StreamError> {
        either!(self, reader => reader.copy_out(data))
    }

    pub(crate) fn position(&self) -> u64 {
        either!(self, reader => reader.position())
    }

    pub(crate) fn advance_to(self, offset: u64) -> Result<(), StreamError> {
        either!(self, reader => reader.advance_to(offset))
    }

    pub(crate) fn fail(self, message: &str) {
        either!(self, reader => reader.fail(message));
    }

    pub(crate) fn take(self) -> Result<Option<AnyReadBlock>, StreamError> {
        match self {
            Either::Here(reader) => Ok(reader.take()?.map(Either::Here)),
            Either::Process(reader) => Ok(reader.take()?.map(Either::Process)),
        }
    }

    /// The block was taken from this stream.
    pub(crate) fn release_block(self, block: AnyReadBlock) {
        match (self, block) {
            (Either::Here(reader), Either::Here(block)) => reader.release_block(block),
            (Either::Process(reader), Either::Process(block)) => reader.release_block(block),
            _ => {}
        }
    }
}

impl Read for AnyReader<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        either!(self, reader => reader.read(bytes))
    }
}

impl BufRead for AnyReader<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        either!(self, reader => reader.fill_buf())
    }

    fn consume(&mut self, bytes: usize) {
        either!(self, reader => BufRead::consume(*reader, bytes));
    }
}

impl AnyControl {
    pub(crate) fn cancel(&self) {
        either!(self, control => control.cancel());
    }

    /// Why the stream failed, if it did and the end that could tell is still there.
    pub(crate) fn failure(&self) -> Option<StreamError> {
        either!(self, control => control.failure())
    }

    pub(crate) fn stats(&self) -> Result<StreamStats, Fault> {
        match self {
            Either::Here(control) => Ok(control.stats()),
            Either::Process(control) => control.stats().ok_or_else(gone),
        }
    }

    /// Fails if nothing can be known any more: between processes, when this one's end is closed.
    pub(crate) fn check_open(&self) -> Result<(), Fault> {
        match self {
            Either::Process(control) if !control.is_open() => Err(gone()),
            _ => Ok(()),
        }
    }
}

fn gone() -> Fault {
    Fault::new(EagreStatus::EagreClosed, "this process's end of the stream is closed; ask before you close it")
}
