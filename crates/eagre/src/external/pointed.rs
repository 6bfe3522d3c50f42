//! An input whose records are looked at where they are: in a mapping, or by reading them one by one.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use eagre_mem::{LookError, Mapping, heap};

use super::inputs::Inputs;
use super::kernels::{Fetch, Piece};
use super::trouble;
use crate::file::cache;
use crate::records::Format;

/// A mapped input.
pub(super) struct Pointed<'a> {
    pub(super) file: &'a File,
    pub(super) mapping: &'a Mapping,
    pub(super) bytes: &'a [u8],
    /// Whether the file lives in memory.
    pub(super) in_memory: bool,
    /// The name in messages.
    pub(super) name: &'a str,
    /// What the file was when it was begun.
    watched: &'a Inputs,
}

impl Pointed<'_> {
    /// Maps the first `length` bytes of a file, which is `watched`, while `work` looks at them.
    pub(super) fn with<T>(
        file: &File,
        watched: &Inputs,
        name: &str,
        length: u64,
        work: impl FnOnce(&Pointed<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        let size = usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
        // An empty file has no pointers to it, and would not be here.
        if size == 0 {
            return Err(io::Error::other(format!("read: {name}: it was changed while it was sorted")));
        }
        let in_memory = cache::alignment(file).is_none();
        let mapping = Mapping::new(file, 0, size).map_err(|error| {
            let why = crate::file::failure::Task::of("read", Path::new(name)).error(&error);
            io::Error::new(error.kind(), format!("{why}; use --plan classic"))
        })?;
        let done =
            mapping.look(0..size, |bytes| work(&Pointed { file, mapping: &mapping, bytes, in_memory, name, watched }));
        match done {
            // What a file seems to hold that was changed is not what is wrong with it.
            Ok(Err(error)) => watched.check_unchanged().and(Err(error)),
            Ok(done) => done,
            Err(LookError::Gone { offset }) => {
                let text =
                    format!("read: {name}: it was cut shorter while it was used, or cannot be read at byte {offset}");
                Err(io::Error::other(text))
            }
            Err(error) => Err(io::Error::other(format!("read: {name}: {error}"))),
        }
    }

    /// # Errors
    /// The file was changed. To ask often is cheap, and better than to work on for hours, or to fill a disk, with what means
    /// nothing.
    pub(super) fn check_unchanged(&self) -> io::Result<()> {
        self.watched.check_unchanged()
    }
}

/// Records that are read from a file one by one.
pub(super) struct ByReading<'a, F> {
    pub(super) format: &'a F,
    pub(super) file: &'a File,
    /// How many bytes are read of a record of unknown size.
    pub(super) guess: usize,
    /// No record is longer.
    pub(super) longest: usize,
    /// Those that no thread uses.
    pub(super) buffers: Mutex<Vec<Vec<u8>>>,
}

impl<F: Format> ByReading<'_, F> {
    /// Reads the record at `position` into `buffer`.
    pub(super) fn read(&self, position: usize, buffer: &mut Vec<u8>) -> io::Result<()> {
        let mut size = self.format.record_size().unwrap_or(self.guess.min(self.longest));
        loop {
            if buffer.len() < size {
                let more = size - buffer.len();
                heap::reserve(buffer, more).map_err(trouble)?;
            }
            buffer.resize(size, 0);
            let mut read = 0;
            while read < size {
                match self.file.read_at(&mut buffer[read..size], (position + read) as u64)? {
                    0 => break,
                    more => read += more,
                }
            }
            let length = self.format.length(&buffer[..read], read < size || size == self.longest);
            match length.map_err(|why| io::Error::other(why.to_string()))? {
                Some(length) => {
                    buffer.truncate(length);
                    return Ok(());
                }
                None => size = size.saturating_mul(4).min(self.longest),
            }
        }
    }
}

impl<F: Format> Fetch for ByReading<'_, F> {
    fn announce(&self, _: usize) {}

    fn fetch(&self, position: usize, out: &mut Piece<'_, '_>) -> io::Result<()> {
        let lock = || self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut buffer: Vec<u8> = lock().pop().unwrap_or_default();
        self.read(position, &mut buffer)?;
        out.push(&buffer)?;
        lock().push(buffer);
        Ok(())
    }
}
