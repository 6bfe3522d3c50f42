//! Writing a file as a stream: a helper thread empties the blocks of an ordinary stream into the file.
//!
//! Blocks are written as the writer finishes them, as many at a time as the reading window allows (`M + 1`). Writes
//! past the page cache must be whole sectors. The last sector is filled with the zeros that follow the last byte of a
//! stream, and the file is truncated to its length at the end.

use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::thread::JoinHandle;

use eagre_mem::options;
use eagre_mem::transfer::{Engine, Transfer, TransferError};
use rustix::fs::FallocateFlags;

use super::caching::{Access, Caching, Opened};
use super::failure::Task;
use super::output::Output;
use crate::{BlockSize, OpenError, PipeBuilder, ReadBlock, Reader, StreamError, StreamErrorKind, Writer};

/// Options for writing a file.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct WriteOptions {
    caching: Caching,
    engine: Option<Engine>,
    piece: Option<usize>,
    length: Option<u64>,
    stream: Option<PipeBuilder>,
    rewrite: Option<u32>,
    explicit: bool,
}

impl WriteOptions {
    /// The defaults: past the page cache where the file system can, with 10 MiB of memory.
    pub fn new() -> WriteOptions {
        WriteOptions::default()
    }

    /// Whether the page cache is used. [`Caching::Auto`], the default, means [`Caching::Unbuffered`] here.
    pub fn caching(mut self, caching: Caching) -> WriteOptions {
        self.caching = caching;
        self
    }

    /// How unbuffered requests reach the kernel. Default: `EAGRE_IO`, or blocking calls of one block each.
    ///
    /// Several writes in flight (io_uring) are for disks that need them. Writes that extend a file wait for one another
    /// in the file system, so space is allocated ahead of them. File systems that track which part of this space is
    /// written (ext4, XFS) then spend more time than the disk saves.
    pub fn engine(mut self, engine: Engine) -> WriteOptions {
        self.engine = Some(engine);
        self
    }

    /// The most bytes of one request. Default: 512 KiB with io_uring, otherwise a block.
    pub fn request_size(mut self, bytes: usize) -> WriteOptions {
        self.piece = Some(bytes);
        self
    }

    /// The length that the file will have. A disk without room for it is an error at once. Finishing with another
    /// length is an error at the end.
    pub fn length(mut self, bytes: u64) -> WriteOptions {
        self.length = Some(bytes);
        self
    }

    /// The stream that carries the bytes: its windows, trap and pool. The reading window belongs to the file: `M + 1`
    /// blocks are in flight to the disk.
    pub fn stream(mut self, stream: PipeBuilder) -> WriteOptions {
        self.stream = Some(stream);
        self
    }

    /// How many blocks behind its furthest one the writer may still hold, of a stream that is not [given](Self::stream).
    #[cfg(any(feature = "external", feature = "gensort"))]
    pub(crate) fn rewrite(mut self, blocks: u32) -> WriteOptions {
        self.rewrite = Some(blocks);
        self
    }

    /// Promises that the writer is used through explicit calls only (`reserve`/`commit`, `Write`), not through a
    /// pointer. Then the stream reserves no addresses, so the file may be of any size even if the address space is
    /// limited (`ulimit -v`). If the address space is too small for a pointer, the stream is for explicit calls in any
    /// case. See [`PipeBuilder::explicit`], also about pools.
    pub fn explicit(mut self) -> WriteOptions {
        self.explicit = true;
        self
    }

    /// Begins to write the file at `path`, which appears when it is [finished](FileWriter::finish) (see [`Output`]).
    ///
    /// # Errors
    /// As [`Output::create`] and [`Output::check_room`]; the stream cannot be opened. Later errors reach the writer, as
    /// an [`StreamErrorKind::Io`] that names the file and the byte.
    pub fn create(self, path: impl AsRef<Path>) -> io::Result<FileWriter> {
        let task = Task::write(path.as_ref());
        let output = Output::create(path).map_err(|error| task.error(&error))?;
        self.begin(output, task)
    }

    /// Begins to write `output`, called `name` in messages.
    ///
    /// # Errors
    /// As [`WriteOptions::create`].
    pub fn write(self, output: Output, name: impl AsRef<Path>) -> io::Result<FileWriter> {
        let task = Task::write(name.as_ref());
        self.begin(output, task)
    }

    fn begin(self, output: Output, task: Task) -> io::Result<FileWriter> {
        if let Some(length) = self.length {
            output.check_room(length).map_err(|error| task.error(&error))?;
        }
        let Started { writer, helper } = self.start(&output, &task)?;
        Ok(FileWriter { writer, file: Some((helper, output)), task })
    }

    /// Begins to write `output` in the form that `packing` gives to what is put into the stream.
    ///
    /// # Errors
    /// As [`WriteOptions::write`].
    #[cfg(all(feature = "compressed", feature = "external"))]
    pub(crate) fn write_packed(
        self,
        output: Output,
        name: impl AsRef<Path>,
        packing: super::packing::Packing,
    ) -> io::Result<FileWriter> {
        let task = Task::write(name.as_ref());
        let stream = self.stream.clone();
        let packed = WriteOptions { length: None, ..self }.start(&output, &task)?;
        let content = super::stream::open(stream, BlockSize::DEFAULT, true, |stream| stream.name(&task.place));
        let (writer, reader) = content.map_err(|error| task.error(&error.into()))?.split();
        let told = task.clone();
        let helper = std::thread::Builder::new().name("eagre-pack".into());
        let started = helper.spawn(move || packing.pump(reader, packed, &told));
        let helper = started.map_err(|error| OpenError::no_thread(&error))?;
        Ok(FileWriter { writer, file: Some((helper, output)), task })
    }

    /// Starts the helper thread that empties a stream into the file of `output`.
    fn start(self, output: &Output, task: &Task) -> io::Result<Started> {
        let engine = match self.engine {
            Some(engine) => engine,
            None => options::io().map_err(io::Error::other)?.unwrap_or(Engine::Blocking),
        };
        let file = output.file().try_clone()?;
        let opened = match output.is_direct() {
            true => Opened { file, access: Access::Sequential },
            false => Opened::to_write(file, self.caching),
        };
        let several = engine == Engine::Uring && matches!(opened.access, Access::Unbuffered(_));
        let ahead = several.then(|| opened.file.try_clone()).transpose()?.map(Ahead::new);
        let pipe = super::stream::open(self.stream, BlockSize::DEFAULT, self.explicit, |stream| {
            let stream = stream.name(&task.place);
            let stream = match self.rewrite {
                Some(blocks) => stream.rewrite(blocks),
                None => stream,
            };
            match self.length {
                Some(length) => stream.length(length),
                None => stream,
            }
        });
        let (writer, reader) = pipe.map_err(|error| task.error(&error.into()))?.split();
        let piece = self.piece;
        let helper = std::thread::Builder::new().name("eagre-write".into());
        let told = task.clone();
        let started = helper.spawn(move || {
            let block = reader.control().block_size();
            match opened.device(Some(engine), piece, block) {
                Ok((device, piece)) => pump(reader, Transfer::new(device, piece), ahead, &told),
                Err(error) => Err(told.error(&error)),
            }
        });
        let helper = started.map_err(|error| OpenError::no_thread(&error))?;
        Ok(Started { writer, helper })
    }
}

/// A stream into a file, and the thread that empties it, which returns how many bytes that were.
pub(super) struct Started {
    pub(super) writer: Writer,
    pub(super) helper: JoinHandle<io::Result<u64>>,
}

#[cfg(all(feature = "compressed", feature = "external"))]
impl Started {
    /// Waits for the rest to be written. If the bytes have not `finished`, the file fails.
    pub(super) fn end(mut self, finished: Result<(), StreamError>) -> io::Result<u64> {
        if finished.is_err() {
            // The stream may not have failed (a block may still be out). The helper would then wait for more forever.
            self.writer.fail("not finished");
        }
        let written = self.helper.join().unwrap_or_else(|_| Err(io::Error::other("the helper thread panicked")));
        // The error of the file comes first: the error of the stream follows from it.
        let length = written?;
        finished?;
        Ok(length)
    }
}

/// The writing end of a stream into a file. It dereferences to [`Writer`]: pointer, `reserve`/`commit`, `Write`.
///
/// The file appears when [`FileWriter::finish`] returns. If the writer is dropped before that, no file appears.
#[derive(Debug)]
pub struct FileWriter {
    writer: Writer,
    file: Option<(JoinHandle<io::Result<u64>>, Output)>,
    task: Task,
}

impl FileWriter {
    /// Ends the file at the writer's position, waits until all of it is on the disk, and makes it visible.
    ///
    /// # Errors
    /// Those of the file and the stream. The file has not appeared then.
    pub fn finish(mut self) -> io::Result<()> {
        let finished = self.writer.finish();
        self.appear(finished)
    }

    /// Ends the file at `length` bytes, for a writer that uses a pointer. Otherwise as [`FileWriter::finish`].
    ///
    /// # Errors
    /// As [`FileWriter::finish`].
    pub fn finish_at(mut self, length: u64) -> io::Result<()> {
        let finished = self.writer.finish_at(length);
        self.appear(finished)
    }

    /// Ends the file at the writer's position and waits until all of it is written. The file appears when the returned
    /// [`Output`] is committed, so several files can appear together.
    ///
    /// # Errors
    /// As [`FileWriter::finish`].
    pub fn finish_unseen(mut self) -> io::Result<Output> {
        let finished = self.writer.finish();
        self.end(finished)
    }

    /// As [`FileWriter::finish_unseen`], but ends the file at `length` bytes.
    #[cfg(any(feature = "external", feature = "gensort"))]
    pub(crate) fn finish_unseen_at(mut self, length: u64) -> io::Result<Output> {
        let finished = self.writer.finish_at(length);
        self.end(finished)
    }

    /// As [`FileWriter::finish`], if `check` finds what was written to be right.
    #[cfg(feature = "external")]
    pub(crate) fn finish_checked(mut self, check: impl FnOnce(&Output) -> io::Result<()>) -> io::Result<()> {
        let finished = self.writer.finish();
        let output = self.end(finished)?;
        check(&output)?;
        output.commit().map_err(|error| self.task.error(&error))
    }

    fn appear(&mut self, finished: Result<(), StreamError>) -> io::Result<()> {
        self.end(finished)?.commit().map_err(|error| self.task.error(&error))
    }

    /// Waits for the helper thread to write the rest.
    fn end(&mut self, finished: Result<(), StreamError>) -> io::Result<Output> {
        if finished.is_err() {
            // As in `Started::end`.
            self.writer.fail("not finished");
        }
        let Some((helper, output)) = self.file.take() else { return Err(io::Error::other("finished twice")) };
        let written = helper.join().unwrap_or_else(|_| Err(io::Error::other("the helper thread panicked")));
        // The error of the file comes first: the error of the stream follows from it.
        let length = written?;
        finished?;
        if !output.is_direct() {
            output.file().set_len(length).map_err(|error| self.task.error(&error))?;
        }
        Ok(output)
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        if let Some((helper, output)) = self.file.take() {
            self.writer.fail("dropped before it was finished");
            // A direct output may wait for its reader forever, and there is no file of ours to remove.
            if !output.is_direct() {
                let _ = helper.join();
            }
        }
    }
}

impl Deref for FileWriter {
    type Target = Writer;
    fn deref(&self) -> &Writer {
        &self.writer
    }
}

impl DerefMut for FileWriter {
    fn deref_mut(&mut self) -> &mut Writer {
        &mut self.writer
    }
}

impl io::Write for FileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    /// Does nothing: see [`FileWriter::finish`].
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Allocates space on the disk ahead of several writes in flight. Writes that extend a file wait for one another;
/// writes into allocated space do not.
#[derive(Debug)]
pub(super) struct Ahead {
    file: Option<File>,
    until: u64,
    step: u64,
}

impl Ahead {
    const FIRST: u64 = 16 << 20;
    const MOST: u64 = 1 << 30;

    fn new(file: File) -> Ahead {
        Ahead { file: Some(file), until: 0, step: Ahead::FIRST }
    }

    /// Announces that the file will soon reach `offset`.
    fn reach(&mut self, offset: u64) {
        while self.until < offset {
            let Some(file) = &self.file else { return };
            // If allocation is not supported, or there is not enough room for a whole step, the writes will report it.
            if rustix::fs::fallocate(file, FallocateFlags::empty(), self.until, self.step).is_err() {
                self.file = None;
                return;
            }
            self.until += self.step;
            self.step = (2 * self.step).min(Ahead::MOST);
        }
    }
}

/// Empties the stream into the file, to its end. Returns the length.
pub(super) fn pump(
    mut reader: Reader,
    mut transfer: Transfer<ReadBlock>,
    ahead: Option<Ahead>,
    task: &Task,
) -> io::Result<u64> {
    empty(&mut reader, &mut transfer, ahead).map_err(|stop| match stop {
        Stop::Stream(error) => error.into(),
        Stop::File(TransferError { offset, error }) => {
            let message = task.message_at(offset, &error);
            reader.fail_io(&error, &message);
            io::Error::new(error.kind(), message)
        }
    })
}

/// Why writing stopped before the end.
enum Stop {
    Stream(StreamError),
    File(TransferError),
}

impl From<StreamError> for Stop {
    fn from(error: StreamError) -> Stop {
        Stop::Stream(error)
    }
}

impl From<TransferError> for Stop {
    fn from(error: TransferError) -> Stop {
        Stop::File(error)
    }
}

fn empty(reader: &mut Reader, transfer: &mut Transfer<ReadBlock>, mut ahead: Option<Ahead>) -> Result<u64, Stop> {
    let control = reader.control();
    loop {
        let block = match transfer.blocks() {
            0 => match reader.take()? {
                None => return Ok(reader.position()),
                block => block,
            },
            _ => next_block(reader)?,
        };
        if let Some(block) = block {
            let (offset, bytes) = (block.offset(), block.as_slice().len());
            if let Some(ahead) = &mut ahead {
                ahead.reach(offset + bytes as u64);
            }
            transfer.begin(block, offset, bytes);
        } else if let Some(written) = transfer.finish(|| control.failure().is_none())? {
            reader.release_block(written.block);
        } else if let Some(error) = control.failure() {
            return Err(error.into());
        }
    }
}

/// The next block to write. `None` if there is none yet or the window is full.
fn next_block(reader: &mut Reader) -> Result<Option<ReadBlock>, StreamError> {
    match reader.try_take() {
        Err(full) if full.kind() == StreamErrorKind::Busy => Ok(None),
        other => other,
    }
}

#[cfg(test)]
#[path = "writing_tests.rs"]
mod tests;
