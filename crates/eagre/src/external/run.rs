//! Sorted runs in files without a name, which nothing can leave behind.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use eagre_mem::transfer::set_direct;

#[cfg(feature = "compressed")]
use super::blocks::{self, Places, Unpacker};
use super::kernels::Source;
use crate::file::{Caching, FileWriter, Output, ReadOptions, WriteOptions, cache};
use crate::keys::{self, FileKey};
use crate::records::Format;
use crate::{BlockSize, Pipe, Reader};

/// Where runs go: directories in turn.
#[derive(Debug)]
pub(super) struct Temporary {
    directories: Vec<PathBuf>,
    next: usize,
    /// How many threads compress runs, if these are compressed.
    #[cfg(feature = "compressed")]
    packing: Option<usize>,
    /// How many bytes all runs had in their files.
    stored: Arc<AtomicU64>,
}

impl Temporary {
    /// Without a directory: `TMPDIR`, else `/var/tmp`: a disk, where `/tmp` may be memory.
    pub(super) fn new(directories: &[PathBuf]) -> Temporary {
        let mut directories = directories.to_vec();
        if directories.is_empty() {
            directories.push(std::env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from));
        }
        Temporary {
            directories,
            next: 0,
            #[cfg(feature = "compressed")]
            packing: None,
            stored: Arc::default(),
        }
    }

    /// The same, but `threads` threads compress each run.
    #[cfg(feature = "compressed")]
    pub(super) fn packed_by(self, threads: usize) -> Temporary {
        Temporary { packing: Some(threads), ..self }
    }

    /// How many bytes all runs that are finished had in their files.
    pub(super) fn stored(&self) -> u64 {
        self.stored.load(Relaxed)
    }

    /// The first of them.
    pub(super) fn first(&self) -> &Path {
        &self.directories[0]
    }

    /// Begins a run.
    pub(super) fn create(&mut self, block: BlockSize) -> io::Result<RunWriter> {
        let directory = &self.directories[self.next % self.directories.len()];
        self.next += 1;
        let name = directory.join("temporary file");
        let output = Output::nameless(directory).map_err(|error| about(directory, &error))?;
        let stream = Pipe::builder().block_size(block).explicit();
        let options = WriteOptions::new().explicit().stream(stream);
        #[cfg(feature = "compressed")]
        let (writer, blocks) = match self.packing {
            Some(threads) => {
                let (packing, blocks) = blocks::packing(threads)?;
                (options.write_packed(output, &name, packing)?, Some(blocks))
            }
            None => (options.write(output, &name)?, None),
        };
        #[cfg(not(feature = "compressed"))]
        let writer = options.write(output, &name)?;
        Ok(RunWriter {
            writer,
            name,
            bytes: 0,
            samples: Vec::new(),
            stride: 256 << 10,
            scratch: Vec::new(),
            #[cfg(feature = "compressed")]
            blocks,
            stored: self.stored.clone(),
        })
    }

    /// # Errors
    /// One line, if a directory has less room than its share of `bytes`, and of the bytes of an output beside them, if that is
    /// on the same device. How much room runs take that are compressed is not known.
    pub(super) fn check_room(&self, bytes: u64, beside: Option<(&Output, u64)>) -> io::Result<()> {
        #[cfg(feature = "compressed")]
        if self.packing.is_some() {
            return Ok(());
        }
        let mut devices = Vec::new();
        for directory in &self.directories {
            let output = Output::nameless(directory).map_err(|error| about(directory, &error))?;
            let device = output.file().metadata()?.dev();
            devices.push((output, device, directory));
        }
        for (output, device, directory) in &devices {
            // Several directories may be on one device, and the output too, which is written while the runs are there.
            let here = devices.iter().filter(|(_, other, _)| other == device).count() as u64;
            let same = |output: &Output| output.file().metadata().is_ok_and(|output| output.dev() == *device);
            let beside = beside.filter(|(output, _)| same(output)).map_or(0, |(_, bytes)| bytes);
            let share = (bytes / self.directories.len() as u64 * here).saturating_add(beside);
            output.check_room(share).map_err(|error| {
                let text = format!("sort: {}: there is no room for {share} bytes of temporary files and output; name another directory with --temp", directory.display());
                io::Error::new(error.kind(), text)
            })?;
        }
        Ok(())
    }
}

fn about(directory: &Path, error: &io::Error) -> io::Error {
    let why = crate::file::failure::Task::of("sort", directory).error(error);
    io::Error::new(error.kind(), format!("{why}; temporary files go there, name another directory with --temp"))
}

/// A run being written.
pub(super) struct RunWriter {
    pub(super) writer: FileWriter,
    name: PathBuf,
    bytes: u64,
    samples: Vec<(u64, Box<[u8]>)>,
    stride: u64,
    scratch: Vec<u8>,
    #[cfg(feature = "compressed")]
    blocks: Option<blocks::Written>,
    stored: Arc<AtomicU64>,
}

/// The most samples of a run, and the longest beginning of a key in one.
const MOST_SAMPLES: usize = 1024;
const SAMPLE: usize = 64;

impl RunWriter {
    /// Appends whole records.
    pub(super) fn put<F: Format>(&mut self, format: &F, bytes: &[u8]) -> io::Result<()> {
        if self.samples.last().is_none_or(|last| self.bytes - last.0 >= self.stride)
            && let Ok(Some(length)) = format.length(bytes, true)
        {
            if self.samples.len() == MOST_SAMPLES {
                let mut odd = false;
                self.samples.retain(|_| {
                    odd = !odd;
                    odd
                });
                self.stride *= 2;
            }
            let key = format.key(&bytes[..length], &mut self.scratch);
            self.samples.push((self.bytes, key[..key.len().min(SAMPLE)].into()));
        }
        self.put_bytes(bytes)
    }

    pub(super) fn put_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        Ok(self.writer.copy_in(bytes)?)
    }

    pub(super) fn put_keys<K: FileKey>(&mut self, keys: &[K]) -> io::Result<()> {
        self.bytes += size_of_val(keys) as u64;
        Ok(keys::put(keys, &mut self.writer)?)
    }

    pub(super) fn finish(self, longest: usize) -> io::Result<Run> {
        let output = self.writer.finish_unseen()?;
        // It was written past the page cache. How it is read is decided then.
        let _ = set_direct(output.file(), false);
        let file = output.file().try_clone()?;
        self.stored.fetch_add(file.metadata()?.len(), Relaxed);
        let RunWriter { name, bytes, samples, stride, .. } = self;
        Ok(Run {
            file,
            name,
            bytes,
            longest,
            samples,
            stride,
            #[cfg(feature = "compressed")]
            blocks: self.blocks.map(blocks::Written::places),
        })
    }
}

/// A sorted run.
pub(super) struct Run {
    file: File,
    name: PathBuf,
    pub(super) bytes: u64,
    /// The size of its longest record.
    pub(super) longest: usize,
    /// Where some of its records begin, and the first bytes of their keys.
    pub(super) samples: Vec<(u64, Box<[u8]>)>,
    /// About how many bytes there are from one sample to the next.
    pub(super) stride: u64,
    /// Where its blocks are, if it is compressed.
    #[cfg(feature = "compressed")]
    blocks: Option<Places>,
}

impl Run {
    /// Reads it in pieces of a block. Its room on the disk is free when it and all its readers are dropped.
    pub(super) fn open(&self, block: BlockSize) -> io::Result<RunReader> {
        self.open_range(block, 0, self.bytes)
    }

    /// Reads the bytes from `start` to `end`, where records begin.
    pub(super) fn open_range(&self, block: BlockSize, start: u64, end: u64) -> io::Result<RunReader> {
        let (content, from) = self.content(block, start, end)?;
        let mut reader = RunReader::new(content, block.bytes());
        reader.lead = (start - from) as usize;
        Ok(reader)
    }

    /// The bytes of the run.
    pub(super) fn stream(&self, block: BlockSize) -> io::Result<Content> {
        Ok(self.content(block, 0, self.bytes)?.0)
    }

    /// The bytes up to `end`, and the first of them, which is `start` or before.
    fn content(&self, block: BlockSize, start: u64, end: u64) -> io::Result<(Content, u64)> {
        #[cfg(feature = "compressed")]
        if let Some(places) = &self.blocks {
            let (at, place) = places.before(start);
            let (reader, skipped) = self.read(block, place, places.behind(end))?;
            let name = crate::file::name::shown(self.name.as_os_str().as_encoded_bytes());
            let unpacker = Unpacker::new(reader, name, (at, end), skipped)?;
            return Ok((Content::Packed(Box::new(unpacker)), at));
        }
        let (reader, skipped) = self.read(block, start, end)?;
        Ok((reader.into(), start - skipped as u64))
    }

    /// The bytes of the file up to `end`, and by how many these begin before `start`.
    fn read(&self, block: BlockSize, start: u64, end: u64) -> io::Result<(Reader, usize)> {
        // Reads past the page cache begin at whole sectors.
        let from = start / cache::ALIGN as u64 * cache::ALIGN as u64;
        let stream = Pipe::builder().block_size(block).lookback(0).explicit();
        // What was just written past the page cache is not in it.
        let options = ReadOptions::new().explicit().caching(Caching::Unbuffered).from(from).length(end - from);
        let reader = options.stream(stream).read(self.file.try_clone()?, &self.name)?;
        Ok((reader, (start - from) as usize))
    }
}

/// The bytes of a run, or of an input that is sorted.
pub(super) enum Content {
    Plain(Reader),
    #[cfg(feature = "compressed")]
    Packed(Box<Unpacker>),
}

impl From<Reader> for Content {
    fn from(reader: Reader) -> Content {
        Content::Plain(reader)
    }
}

impl Content {
    /// The next bytes: whole keys of `width` bytes, if these are all that there is. None at the end.
    pub(super) fn fill(&mut self, width: usize) -> io::Result<&[u8]> {
        match self {
            Content::Plain(reader) => Ok(reader.fill(width)?),
            #[cfg(feature = "compressed")]
            Content::Packed(unpacker) => unpacker.fill(),
        }
    }

    /// The first `bytes` of them are done with.
    pub(super) fn consume(&mut self, bytes: usize) {
        match self {
            Content::Plain(reader) => reader.consume(bytes),
            #[cfg(feature = "compressed")]
            Content::Packed(unpacker) => unpacker.consume(bytes),
        }
    }

    /// Copies the next bytes out. Fewer than asked for only at the end.
    fn copy_out(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < bytes.len() {
            let there = self.fill(0)?;
            let now = there.len().min(bytes.len() - done);
            if now == 0 {
                break;
            }
            bytes[done..done + now].copy_from_slice(&there[..now]);
            self.consume(now);
            done += now;
        }
        Ok(done)
    }
}

/// The records of a run.
pub(super) struct RunReader {
    content: Content,
    /// Bytes that were read and not consumed are in `start..end`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    size: usize,
    /// How many bytes at the beginning do not count.
    lead: usize,
    /// What ends the last record if it is missing.
    terminator: Option<u8>,
}

impl RunReader {
    /// Reads records of it, `size` bytes at a time.
    pub(super) fn new(content: impl Into<Content>, size: usize) -> RunReader {
        RunReader { content: content.into(), buffer: Vec::new(), start: 0, end: 0, size, lead: 0, terminator: None }
    }

    /// A last record that lacks this byte gets it.
    pub(super) fn ended_by(mut self, terminator: Option<u8>) -> RunReader {
        self.terminator = terminator;
        self
    }
}

impl Source for RunReader {
    type Error = io::Error;

    #[inline]
    fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    #[inline]
    fn consume(&mut self, bytes: usize) {
        self.start += bytes;
    }

    fn refill(&mut self) -> io::Result<bool> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        // A record longer than the buffer lets it grow.
        let size = self.size.max(self.end + self.end / 2 + 1);
        if self.buffer.len() < size {
            self.buffer.try_reserve_exact(size - self.buffer.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
            self.buffer.resize(size, 0);
        }
        let mut read = self.content.copy_out(&mut self.buffer[self.end..])?;
        if let (0, Some(end)) = (read, self.terminator)
            && self.end > 0
            && self.buffer[self.end - 1] != end
        {
            self.buffer[self.end] = end;
            read = 1;
        }
        self.end += read;
        let skipped = self.lead.min(self.end - self.start);
        self.start += skipped;
        self.lead -= skipped;
        Ok(read > 0)
    }
}
