//! Ends of streams and their blocks, whose other end is a thread, a file, a process or another host. All have the same calls.

use std::time::{Duration, Instant};

use eagre::file::FileWriter;
use eagre::{Control, ReadBlock, Reader, StreamError, WriteBlock, Writer, process};
use eagre_net::{NetworkReader, NetworkWriter};

/// Something of a stream whose other end is a process, or of any other one.
pub(crate) enum Either<Here, Process> {
    Here(Here),
    Process(Process),
}

pub(crate) type AnyReadBlock = Either<ReadBlock, process::ReadBlock>;
pub(crate) type AnyWriteBlock = Either<WriteBlock, process::WriteBlock>;

impl AnyReadBlock {
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Either::Here(block) => block.as_slice(),
            Either::Process(block) => block.as_slice(),
        }
    }
}

impl AnyWriteBlock {
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        match self {
            Either::Here(block) => block.as_mut_slice(),
            Either::Process(block) => block.as_mut_slice(),
        }
    }
}

/// Cancels a stream from another thread.
pub(crate) type AnyControl = Either<Control, process::Control>;

impl AnyControl {
    pub(crate) fn cancel(&self) {
        match self {
            Either::Here(control) => control.cancel(),
            Either::Process(control) => control.cancel(),
        }
    }
}

/// Where a stream comes from.
pub(crate) enum Source {
    /// The other end is in this process.
    Here(Reader),
    Network(NetworkReader),
    Process(process::Reader),
}

impl Source {
    /// The same reader, whose calls are of one type or the other.
    fn any(&mut self) -> Either<&mut Reader, &mut process::Reader> {
        match self {
            Source::Here(reader) => Either::Here(reader),
            Source::Network(reader) => Either::Here(reader),
            Source::Process(reader) => Either::Process(reader),
        }
    }

    pub(crate) fn take(&mut self) -> Result<Option<AnyReadBlock>, StreamError> {
        match self.any() {
            Either::Here(reader) => Ok(reader.take()?.map(Either::Here)),
            Either::Process(reader) => Ok(reader.take()?.map(Either::Process)),
        }
    }

    pub(crate) fn try_take(&mut self) -> Result<Option<AnyReadBlock>, StreamError> {
        match self.any() {
            Either::Here(reader) => Ok(reader.try_take()?.map(Either::Here)),
            Either::Process(reader) => Ok(reader.try_take()?.map(Either::Process)),
        }
    }

    /// Waits until `take` would not, but not longer than `limit`. It has waited since `started`. False if the time is up.
    pub(crate) fn wait(&mut self, started: Instant, limit: Duration) -> bool {
        match self.any() {
            Either::Here(reader) => reader.wait_since(started, limit),
            Either::Process(reader) => reader.wait_since(started, limit),
        }
    }

    /// The block was taken from this stream.
    pub(crate) fn release_block(&mut self, block: AnyReadBlock) {
        match (self.any(), block) {
            (Either::Here(reader), Either::Here(block)) => reader.release_block(block),
            (Either::Process(reader), Either::Process(block)) => reader.release_block(block),
            _ => {}
        }
    }

    /// Whether nothing is left to read: not only for now.
    pub(crate) fn is_at_end(&mut self) -> bool {
        let (length, position) = match self.any() {
            Either::Here(reader) => (reader.length(), reader.position()),
            Either::Process(reader) => (reader.length(), reader.position()),
        };
        length.is_some_and(|length| position >= length)
    }

    pub(crate) fn control(&self) -> AnyControl {
        match self {
            Source::Here(reader) => Either::Here(reader.control()),
            Source::Network(reader) => Either::Here(reader.control()),
            Source::Process(reader) => Either::Process(reader.control()),
        }
    }
}

/// Where a stream goes.
pub(crate) enum Target {
    /// A file, which appears when it is finished.
    File(Box<FileWriter>),
    Pipe(Writer),
    Network(NetworkWriter),
    Process(process::Writer),
}

impl Target {
    fn any(&mut self) -> Either<&mut Writer, &mut process::Writer> {
        match self {
            Target::File(file) => Either::Here(file),
            Target::Pipe(writer) => Either::Here(writer),
            Target::Network(writer) => Either::Here(writer),
            Target::Process(writer) => Either::Process(writer),
        }
    }

    pub(crate) fn take(&mut self) -> Result<AnyWriteBlock, StreamError> {
        match self.any() {
            Either::Here(writer) => writer.take().map(Either::Here),
            Either::Process(writer) => writer.take().map(Either::Process),
        }
    }

    pub(crate) fn try_take(&mut self) -> Result<Option<AnyWriteBlock>, StreamError> {
        match self.any() {
            Either::Here(writer) => Ok(writer.try_take()?.map(Either::Here)),
            Either::Process(writer) => Ok(writer.try_take()?.map(Either::Process)),
        }
    }

    /// Waits until `take` would not, but not longer than `limit`. It has waited since `started`. False if the time is up.
    pub(crate) fn wait(&mut self, started: Instant, limit: Duration) -> bool {
        match self.any() {
            Either::Here(writer) => writer.wait_since(started, limit),
            Either::Process(writer) => writer.wait_since(started, limit),
        }
    }

    /// The block was taken from this stream.
    pub(crate) fn complete(&mut self, block: AnyWriteBlock) {
        match (self.any(), block) {
            (Either::Here(writer), Either::Here(block)) => writer.complete(block),
            (Either::Process(writer), Either::Process(block)) => writer.complete(block),
            _ => {}
        }
    }

    /// The block was the last one taken from this stream.
    pub(crate) fn put_back(&mut self, block: AnyWriteBlock) {
        match (self.any(), block) {
            (Either::Here(writer), Either::Here(block)) => writer.put_back(block),
            (Either::Process(writer), Either::Process(block)) => writer.put_back(block),
            _ => {}
        }
    }

    pub(crate) fn fail(&mut self, message: &str) {
        match self.any() {
            Either::Here(writer) => writer.fail(message),
            Either::Process(writer) => writer.fail(message),
        }
    }

    pub(crate) fn control(&mut self) -> AnyControl {
        match self.any() {
            Either::Here(writer) => Either::Here(writer.control()),
            Either::Process(writer) => Either::Process(writer.control()),
        }
    }
}
