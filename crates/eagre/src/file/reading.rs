//! Reading a file as a stream: a helper thread fills the blocks of an ordinary stream.
//!
//! The thread keeps as many blocks in flight as the writing window allows (`L + 1`), so that the disk is always busy,
//! and completes them in order. Full blocks go to the reader at once. The last block is held back until it is certain
//! that the file ends there.

use std::fs::File;
use std::io::{self, ErrorKind as Io, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use eagre_mem::transfer::{Engine, Transfer, TransferError, Transferred};

use super::caching::{Access, Caching, Opened};
use super::failure::Task;
use crate::{BlockSize, OpenError, PipeBuilder, Reader, StreamError, StreamErrorKind, WriteBlock, Writer};

/// Options for reading a file.
///
/// The defaults: the whole file is read, to where it ends when the reader gets there. A large file that is not in the
/// page cache is read past it, through io_uring where that works. The stream takes 10 MiB of memory.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ReadOptions {
    caching: Caching,
    engine: Option<Engine>,
    piece: Option<usize>,
    from: Option<u64>,
    length: Option<u64>,
    stream: Option<PipeBuilder>,
    explicit: bool,
}

impl ReadOptions {
    /// All defaults.
    pub fn new() -> ReadOptions {
        ReadOptions::default()
    }

    /// Whether the page cache is used. Default: [`Caching::Auto`].
    pub fn caching(mut self, caching: Caching) -> ReadOptions {
        self.caching = caching;
        self
    }

    /// How unbuffered requests reach the kernel. Default: `EAGRE_IO`, or io_uring where it works.
    pub fn engine(mut self, engine: Engine) -> ReadOptions {
        self.engine = Some(engine);
        self
    }

    /// The most bytes of one request. Default: 512 KiB with io_uring, otherwise a block.
    pub fn request_size(mut self, bytes: usize) -> ReadOptions {
        self.piece = Some(bytes);
        self
    }

    /// The offset in the file at which the stream begins, in bytes. Default: the beginning of the file, or the position
    /// of an open file. The disk can start at multiples of its alignment (usually 512 or 4096 bytes); from other
    /// offsets, the file is read through the page cache.
    pub fn from(mut self, offset: u64) -> ReadOptions {
        self.from = Some(offset);
        self
    }

    /// Reads exactly this many bytes, however long the file is or becomes. A shorter file is an error. The reader knows
    /// its length from the beginning.
    pub fn length(mut self, bytes: u64) -> ReadOptions {
        self.length = Some(bytes);
        self
    }

    /// The stream that carries the bytes: its windows, trap and pool. The writing window belongs to the file: `L + 1`
    /// blocks are in flight from the disk.
    pub fn stream(mut self, stream: PipeBuilder) -> ReadOptions {
        self.stream = Some(stream);
        self
    }

    /// Promises that the reader is used through explicit calls only (`fill`/`consume`, `BufRead`), not through a
    /// pointer. Then the stream reserves no addresses, so the file may be of any size even if the address space is
    /// limited (`ulimit -v`). If the address space is too small for a pointer, the stream is for explicit calls in any
    /// case. See [`PipeBuilder::explicit`], also about pools.
    pub fn explicit(mut self) -> ReadOptions {
        self.explicit = true;
        self
    }

    /// Opens the file at `path` and begins to read it.
    ///
    /// # Errors
    /// Those of the system; `path` is a directory; the stream cannot be opened. Later errors reach the reader, as an
    /// [`StreamErrorKind::Io`] that names the file and the byte.
    pub fn open(self, path: impl AsRef<Path>) -> io::Result<Reader> {
        let task = Task::read(path.as_ref());
        let file = File::open(path).map_err(|error| task.error(&error))?;
        self.begin(file, task)
    }

    /// Begins to read `file`, called `name` in messages, from its position. The position does not move, unless the file
    /// has none (a pipe).
    ///
    /// # Errors
    /// As [`ReadOptions::open`].
    pub fn read(self, file: File, name: impl AsRef<Path>) -> io::Result<Reader> {
        let task = Task::read(name.as_ref());
        self.begin(file, task)
    }

    fn begin(self, file: File, task: Task) -> io::Result<Reader> {
        let (opened, extent, at_least) = self.look(file).map_err(|error| task.error(&error))?;
        let pipe = super::stream::open(self.stream, block_for(&extent), self.explicit, |stream| {
            let stream = stream.name(&task.place);
            match self.length {
                Some(length) => stream.length(length),
                None => stream.at_least(at_least),
            }
        });
        let (writer, reader) = pipe.map_err(|error| task.error(&error.into()))?.split();
        let (engine, piece) = (self.engine, self.piece);
        let helper = std::thread::Builder::new().name("eagre-read".into());
        let started = helper.spawn(move || {
            let block = writer.control().block_size();
            let device = opened.device(engine, piece, block);
            match device {
                Ok((device, piece)) => pump(writer, Transfer::new(device, piece), &extent, &task),
                Err(error) => { writer }.fail_io(&error, &task.error(&error).to_string()),
            }
        });
        started.map_err(|error| OpenError::no_thread(&error))?;
        Ok(reader)
    }

    /// Decides what is read and how, and estimates from the size of the file how many bytes come at least.
    fn look(&self, mut file: File) -> io::Result<(Opened, Extent, u64)> {
        let metadata = file.metadata()?;
        let kind = metadata.file_type();
        if kind.is_dir() {
            return Err(rustix::io::Errno::ISDIR.into());
        }
        let seekable = kind.is_file() || kind.is_block_device();
        let from = match self.from {
            Some(from) => from,
            None if seekable => file.stream_position()?,
            None => 0,
        };
        let size = match () {
            // No blocks are stored: either the size is a guess (`/sys` claims 4096), or the whole file is a hole.
            () if kind.is_file() && metadata.blocks() == 0 => 0,
            () if kind.is_file() => metadata.len(),
            () if kind.is_block_device() => {
                let here = file.stream_position()?;
                let size = file.seek(SeekFrom::End(0))?;
                file.seek(SeekFrom::Start(here))?;
                size
            }
            () => 0,
        };
        let opened = Opened::to_read(file, self.caching, from, size);
        if opened.access == Access::Sequential && self.from.is_some() {
            (&opened.file).seek(SeekFrom::Start(from))?;
        }
        let extent = Extent { from, exactly: self.length, expected: size.saturating_sub(from) };
        // The whole file may be a hole.
        let claimed = if kind.is_file() { metadata.len() } else { size };
        Ok((opened, extent, claimed.saturating_sub(from)))
    }
}

/// The range of a file that is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// Where the range begins.
    pub(super) from: u64,
    /// The required length. `None`: to the end of the file.
    pub(super) exactly: Option<u64>,
    /// How many bytes the file had when it was opened.
    pub(super) expected: u64,
}

/// The block size: smaller for small files.
fn block_for(extent: &Extent) -> BlockSize {
    let bytes = extent.exactly.unwrap_or(extent.expected);
    let small = usize::try_from(bytes).ok().and_then(|bytes| BlockSize::new(bytes.next_power_of_two()));
    match bytes {
        0 => BlockSize::DEFAULT,
        _ if bytes <= BlockSize::MIN.bytes() as u64 => BlockSize::MIN,
        _ => small.map_or(BlockSize::DEFAULT, |small| small.min(BlockSize::DEFAULT)),
    }
}

/// Why reading stopped before the end.
#[derive(Debug)]
enum Stop {
    /// The stream has failed: the reader has gone or cancelled it, and knows the reason.
    Stream,
    File(TransferError),
}

impl From<StreamError> for Stop {
    fn from(_: StreamError) -> Stop {
        Stop::Stream
    }
}

impl From<TransferError> for Stop {
    fn from(error: TransferError) -> Stop {
        Stop::File(error)
    }
}

/// Fills the stream from the file, until the file or the stream ends.
pub(super) fn pump(mut writer: Writer, mut transfer: Transfer<WriteBlock>, extent: &Extent, task: &Task) {
    // Dropped blocks fail the stream as well. So they are kept until the reason has been reported.
    let mut held = Vec::new();
    if let Err(Stop::File(TransferError { offset, error })) = fill(&mut writer, &mut transfer, &mut held, extent) {
        let message = match error.kind() {
            Io::UnexpectedEof => {
                let wanted = extent.from + extent.exactly.unwrap_or(extent.expected);
                task.message(format_args!("ends at byte {offset}, {wanted} were expected"))
            }
            _ => task.message_at(offset, &error),
        };
        writer.fail_io(&error, &message);
    }
}

fn fill(
    writer: &mut Writer,
    transfer: &mut Transfer<WriteBlock>,
    held: &mut Vec<Transferred<WriteBlock>>,
    extent: &Extent,
) -> Result<(), Stop> {
    let control = writer.control();
    let still_wanted = || control.failure().is_none();
    let size = control.block_size().bytes();
    let limit = extent.exactly.unwrap_or(u64::MAX);
    let mut begun = 0;
    loop {
        // Beyond the known size of the file, one block at a time.
        while begun < limit && (begun < extent.expected || transfer.blocks() == 0) {
            let Some(block) = next_block(writer, transfer.blocks() == 0)? else { break };
            let wanted = usize::try_from(limit - begun).map_or(size, |left| left.min(size));
            transfer.begin(block, extent.from.saturating_add(begun), wanted);
            begun += wanted as u64;
        }
        match transfer.finish(still_wanted)? {
            Some(full) if full.bytes == size => writer.complete(full.block),
            Some(short) => {
                held.push(short);
                if let Some(length) = last(writer, transfer, held, extent)? {
                    return Ok(writer.finish_at(length)?);
                }
            }
            None if transfer.blocks() == 0 => return Ok(writer.finish_at(begun)?),
            None => return Err(Stop::Stream),
        }
    }
}

/// A block to fill. `None` if there is none now and waiting would delay blocks that are in flight.
fn next_block(writer: &mut Writer, wait: bool) -> Result<Option<WriteBlock>, StreamError> {
    if wait {
        return writer.take().map(Some);
    }
    match writer.try_take() {
        Err(full) if full.kind() == StreamErrorKind::Busy => Ok(None),
        other => other,
    }
}

/// Called when the block in `held` is not full: is this the end of the file? If so, all blocks go back to the writer,
/// and the length of the stream is returned. If not (the file grew between two requests), all of them are requested
/// again.
fn last(
    writer: &mut Writer,
    transfer: &mut Transfer<WriteBlock>,
    held: &mut Vec<Transferred<WriteBlock>>,
    extent: &Extent,
) -> Result<Option<u64>, Stop> {
    while let Some(later) = transfer.finish(|| true)? {
        held.push(later);
    }
    let (end, complete) = (held[0].offset + held[0].bytes as u64, held[0].bytes == held[0].wanted);
    if !complete && held[1..].iter().any(|later| later.bytes > 0) {
        for Transferred { block, offset, wanted, .. } in held.drain(..) {
            transfer.begin(block, offset, wanted);
        }
        return Ok(None);
    }
    let length = end - extent.from;
    if length < extent.exactly.unwrap_or(extent.expected) {
        return Err(TransferError { offset: end, error: Io::UnexpectedEof.into() }.into());
    }
    // The last block taken must be put back first. The last bytes of the stream stay in their block.
    held.drain(..).rev().for_each(|unused| writer.put_back(unused.block));
    Ok(Some(length))
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;
