//! Sorted runs in files without a name, which nothing can leave behind.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use eagre_mem::transfer::set_direct;

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
}

impl Temporary {
    /// Without a directory: `TMPDIR`, else `/var/tmp`: a disk, where `/tmp` may be memory.
    pub(super) fn new(directories: &[PathBuf]) -> Temporary {
        let mut directories = directories.to_vec();
        if directories.is_empty() {
            directories.push(std::env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from));
        }
        Temporary { directories, next: 0 }
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
        let writer = WriteOptions::new().explicit().stream(stream).write(output, &name)?;
        let stride = 256 << 10;
        Ok(RunWriter { writer, name, bytes: 0, samples: Vec::new(), stride, scratch: Vec::new() })
    }

    /// # Errors
    /// One line, if a directory has less room than its share of `bytes`, and of the bytes of an output beside them, if that is
    /// on the same device.
    pub(super) fn check_room(&self, bytes: u64, beside: Option<(&Output, u64)>) -> io::Result<()> {
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
        let RunWriter { name, bytes, samples, stride, .. } = self;
        Ok(Run { file, name, bytes, longest, samples, stride })
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
}

impl Run {
    /// Reads it in pieces of a block. Its room on the disk is free when it and all its readers are dropped.
    pub(super) fn open(&self, block: BlockSize) -> io::Result<RunReader> {
        self.open_range(block, 0, self.bytes)
    }

    /// Reads the bytes from `start` to `end`, where records begin.
    pub(super) fn open_range(&self, block: BlockSize, start: u64, end: u64) -> io::Result<RunReader> {
        // Reads past the page cache begin at whole sectors.
        let from = start / cache::ALIGN as u64 * cache::ALIGN as u64;
        let stream = Pipe::builder().block_size(block).lookback(0).explicit();
        // What was just written past the page cache is not in it.
        let options = ReadOptions::new().explicit().caching(Caching::Unbuffered).from(from).length(end - from);
        let reader = options.stream(stream).read(self.file.try_clone()?, &self.name)?;
        let mut reader = RunReader::new(reader, block.bytes());
        reader.lead = (start - from) as usize;
        Ok(reader)
    }

    /// The bytes of the run.
    pub(super) fn stream(self, block: BlockSize) -> io::Result<Reader> {
        let stream = Pipe::builder().block_size(block).lookback(0).explicit();
        let options = ReadOptions::new().explicit().caching(Caching::Unbuffered).from(0).length(self.bytes);
        options.stream(stream).read(self.file, &self.name)
    }
}

/// The records of a run.
pub(super) struct RunReader {
    reader: Reader,
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
    /// Reads records from a stream, `size` bytes at a time.
    pub(super) fn new(reader: Reader, size: usize) -> RunReader {
        RunReader { reader, buffer: Vec::new(), start: 0, end: 0, size, lead: 0, terminator: None }
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
        let mut read = self.reader.copy_out(&mut self.buffer[self.end..])?;
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
