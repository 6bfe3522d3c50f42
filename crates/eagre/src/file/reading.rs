//! A file as a stream: a helper thread fills the blocks of an ordinary stream from it.
//!
//! The thread keeps as many blocks on their way as the writing window allows (`L + 1`), so that the disk always has
//! something to do, and completes them in order. Full blocks go to the reader at once; the block in which the file ends
//! is held back until it is sure that this is the end.

use std::fs::File;
use std::io::{self, ErrorKind as Io, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use eagre_mem::transfer::{Engine, Transfer, TransferError, Transferred};

use super::caching::{Access, Caching, Opened};
use super::failure::Task;
use crate::{BlockSize, OpenError, PipeBuilder, Reader, StreamError, StreamErrorKind, WriteBlock, Writer};

/// How a file is to be read.
///
/// Without any call: the whole of it, to where it ends when the reader gets there, past the page cache if it is large
/// and not in the cache, through io_uring where that works, in ten MiB of memory.
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

    /// Whether the page cache is used.
    pub fn caching(mut self, caching: Caching) -> ReadOptions {
        self.caching = caching;
        self
    }

    /// How unbuffered requests reach the system. Default: `EAGRE_IO`, or io_uring where it works.
    pub fn engine(mut self, engine: Engine) -> ReadOptions {
        self.engine = Some(engine);
        self
    }

    /// The most bytes of one request. Default: 512 KiB with io_uring, a block otherwise.
    pub fn request_size(mut self, bytes: usize) -> ReadOptions {
        self.piece = Some(bytes);
        self
    }

    /// Where in the file the stream begins, in bytes. Default: at its beginning, or where an open file stands. Offsets
    /// that the disk cannot start at (multiples of 512 or 4096 bytes are usual) are read through the page cache.
    pub fn from(mut self, offset: u64) -> ReadOptions {
        self.from = Some(offset);
        self
    }

    /// Reads exactly this many bytes, however long the file is or becomes; a file that has fewer is an error. The
    /// reader knows its length from the beginning.
    pub fn length(mut self, bytes: u64) -> ReadOptions {
        self.length = Some(bytes);
        self
    }

    /// The stream that carries the bytes: its windows, trap, pool. The writing window is the file's: `L + 1` blocks are
    /// on their way from the disk at a time.
    pub fn stream(mut self, stream: PipeBuilder) -> ReadOptions {
        self.stream = Some(stream);
        self
    }

    /// The reader is used through explicit calls only (`fill`/`consume`, `BufRead`), not by pointer: then the stream takes no
    /// addresses, and the file may be of any size however short they are (`ulimit -v`). Where addresses are too short for a
    /// pointer, the stream is one for explicit calls in any case. See [`PipeBuilder::explicit`], also for pools.
    pub fn explicit(mut self) -> ReadOptions {
        self.explicit = true;
        self
    }

    /// Opens the file at `path` and begins to read it.
    ///
    /// # Errors
    /// The system's, a directory at `path`, or a stream that cannot be opened. What goes wrong later, the reader
    /// gets: as an [`StreamErrorKind::Io`] that names the file and the byte.
    pub fn open(self, path: impl AsRef<Path>) -> io::Result<Reader> {
        let task = Task::read(path.as_ref());
        let file = File::open(path).map_err(|error| task.error(&error))?;
        self.begin(file, task)
    }

    /// Begins to read `file`, called `name` in messages, from where it stands. Its position does not move, unless it
    /// has none to speak of (a pipe).
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

    /// What there is to read, and how; and how many bytes will come at least, by what its size says.
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
            // Where nothing is stored, the size is a guess (/sys says 4096), or all of it is a hole.
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
        // It may be all of it a hole.
        let claimed = if kind.is_file() { metadata.len() } else { size };
        Ok((opened, extent, claimed.saturating_sub(from)))
    }
}

/// What is to be read of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// Where it begins in the file.
    pub(super) from: u64,
    /// How long it is to be; if not given, to the end of the file.
    pub(super) exactly: Option<u64>,
    /// How many bytes the file had when it was opened.
    pub(super) expected: u64,
}

/// Small files make do with small blocks.
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
    /// The stream has failed: the reader is gone, or cancelled it, and knows.
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

/// Fills the stream from the file, to the end of either.
pub(super) fn pump(mut writer: Writer, mut transfer: Transfer<WriteBlock>, extent: &Extent, task: &Task) {
    // Blocks that are dropped fail the stream as well; the reason comes first.
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
        // Beyond what the file is known to have, one block at a time.
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

/// A block to fill. `None` if there is none at the moment and waiting would keep blocks that are on their way.
fn next_block(writer: &mut Writer, wait: bool) -> Result<Option<WriteBlock>, StreamError> {
    if wait {
        return writer.take().map(Some);
    }
    match writer.try_take() {
        Err(full) if full.kind() == StreamErrorKind::Busy => Ok(None),
        other => other,
    }
}

/// The block in `held` is not full: is this the end? Then all blocks are back with the writer, and the length of the
/// stream is known. If not (the file has grown between two requests), all of them are on their way once more.
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
    // The last one taken comes back first; the stream's last bytes are where they belong.
    held.drain(..).rev().for_each(|unused| writer.put_back(unused.block));
    Ok(Some(length))
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;
