//! Sorted runs in files without a name, which nothing can leave behind.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use eagre_mem::transfer::set_direct;

use super::kernels::Source;
use crate::file::{FileWriter, Output, ReadOptions, WriteOptions};
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
        Ok(RunWriter { writer, name, bytes: 0 })
    }

    /// # Errors
    /// One line, if a directory has less room than its share of `bytes`, and of the bytes `written` to `target` if that is
    /// on the same device.
    pub(super) fn check_room(&self, bytes: u64, target: &Output, written: u64) -> io::Result<()> {
        let mut devices = Vec::new();
        for directory in &self.directories {
            let output = Output::nameless(directory).map_err(|error| about(directory, &error))?;
            let device = output.file().metadata()?.dev();
            devices.push((output, device, directory));
        }
        for (output, device, directory) in &devices {
            // Several directories may be on one device, and the output too, which is written while the runs are there.
            let here = devices.iter().filter(|(_, other, _)| other == device).count() as u64;
            let beside = if target.file().metadata().is_ok_and(|target| target.dev() == *device) { written } else { 0 };
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
}

impl RunWriter {
    pub(super) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        Ok(self.writer.copy_in(bytes)?)
    }

    pub(super) fn finish(self, longest: usize) -> io::Result<Run> {
        let output = self.writer.finish_unseen()?;
        // It was written past the page cache. How it is read is decided then.
        let _ = set_direct(output.file(), false);
        Ok(Run { file: output.file().try_clone()?, name: self.name, bytes: self.bytes, longest })
    }
}

/// A sorted run.
pub(super) struct Run {
    file: File,
    name: PathBuf,
    pub(super) bytes: u64,
    /// The size of its longest record.
    pub(super) longest: usize,
}

impl Run {
    /// Reads it from its beginning, in pieces of a block. Its room on the disk is free when the source is dropped.
    pub(super) fn open(self, block: BlockSize) -> io::Result<RunReader> {
        let stream = Pipe::builder().block_size(block).lookback(0).explicit();
        let reader =
            ReadOptions::new().explicit().from(0).length(self.bytes).stream(stream).read(self.file, &self.name)?;
        Ok(RunReader { longest: self.longest, ..RunReader::new(reader, block.bytes()) }
            .named(self.name.to_string_lossy()))
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
    /// The size of its longest record, if it is known.
    longest: usize,
    /// Its name in messages.
    name: String,
    /// What ends the last record if it is missing.
    terminator: Option<u8>,
}

impl RunReader {
    /// Reads records from a stream, `size` bytes at a time.
    pub(super) fn new(reader: Reader, size: usize) -> RunReader {
        RunReader {
            reader,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            size,
            longest: 0,
            name: String::new(),
            terminator: None,
        }
    }

    /// Gives it a name for messages.
    pub(super) fn named(mut self, name: impl Into<String>) -> RunReader {
        self.name = name.into();
        self
    }

    pub(super) fn name(&self) -> &str {
        &self.name
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
        let known = self.size.max(self.longest);
        let size = if self.end < known { known } else { 2 * self.end + 1 };
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
        Ok(read > 0)
    }
}
