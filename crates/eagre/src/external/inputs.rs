//! The bytes of all inputs, one after the other.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

use crate::file::ReadOptions;
use crate::keys::ReadError;
use crate::scan;
use crate::{BlockSize, Pipe, Reader};

/// An input of a sort: a file or a stream, and its name in messages.
#[derive(Debug)]
pub struct Input {
    pub(super) name: String,
    pub(super) from: scan::Input,
}

impl Input {
    /// An input, called `name` in messages.
    pub fn new(name: impl Into<String>, from: impl Into<scan::Input>) -> Input {
        Input { name: name.into(), from: from.into() }
    }

    /// The number of bytes, if it is known: those of a regular file from its position on.
    pub(super) fn bytes(&self) -> Option<u64> {
        match &self.from {
            scan::Input::File(file) => {
                let metadata = file.metadata().ok().filter(|metadata| metadata.is_file() && metadata.blocks() > 0)?;
                let behind = rustix::fs::tell(file).unwrap_or(0);
                Some(metadata.len().saturating_sub(behind))
            }
            scan::Input::Stream(reader) => reader.length(),
        }
    }
}

/// What changes when a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp(u64, i64, i64, i64, i64);

impl Stamp {
    fn of(file: &File) -> io::Result<Option<Stamp>> {
        let data = file.metadata()?;
        let stamp = Stamp(data.len(), data.mtime(), data.mtime_nsec(), data.ctime(), data.ctime_nsec());
        Ok(data.is_file().then_some(stamp))
    }
}

/// The inputs that are still to be read.
pub(super) struct Inputs {
    waiting: std::vec::IntoIter<Input>,
    current: Option<Current>,
    /// All files that have been begun, as they were then.
    seen: Vec<(String, File, Stamp)>,
    block: BlockSize,
    /// The bytes of all inputs, if they are known.
    pub(super) total: Option<u64>,
    /// How many bytes were read.
    pub(super) done: u64,
}

struct Current {
    name: String,
    reader: Reader,
    /// How many bytes of it were read.
    done: u64,
    last: Option<u8>,
}

/// What [`Inputs::read`] found.
pub(super) enum Found {
    /// More bytes.
    Bytes,
    /// The end of an input, which is the end of a record. The byte is the last one, if there are any.
    EndOfInput(Option<u8>),
    /// The end of all inputs.
    End,
}

impl Inputs {
    pub(super) fn new(inputs: Vec<Input>, block: BlockSize) -> Inputs {
        let total = inputs.iter().try_fold(0_u64, |sum, input| sum.checked_add(input.bytes()?));
        Inputs { waiting: inputs.into_iter(), current: None, seen: Vec::new(), block, total, done: 0 }
    }

    /// Hands up to `most` bytes to `take`.
    pub(super) fn read(&mut self, most: usize, take: impl FnOnce(&[u8]) -> io::Result<()>) -> io::Result<Found> {
        self.read_whole(1, most, take)
    }

    /// As [`read`](Self::read), but only whole keys of `width` bytes.
    pub(super) fn read_whole(
        &mut self,
        width: usize,
        most: usize,
        take: impl FnOnce(&[u8]) -> io::Result<()>,
    ) -> io::Result<Found> {
        let Some(current) = &mut self.current else {
            let Some(input) = self.waiting.next() else { return Ok(Found::End) };
            self.current = Some(self.begin(input)?);
            return self.read_whole(width, most, take);
        };
        let bytes = current.reader.fill(width)?;
        if !bytes.is_empty() && bytes.len() < width {
            let why = ReadError::Remainder { bytes: current.done + bytes.len() as u64, width };
            let text = format!("sort: {}: {why}; name the right --keys", current.name);
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let bytes = &bytes[..bytes.len().min(most) / width * width];
        if bytes.is_empty() {
            let last = current.last;
            self.current = None;
            return Ok(Found::EndOfInput(last));
        }
        current.last = bytes.last().copied();
        let count = bytes.len();
        take(bytes)?;
        current.reader.consume(count);
        current.done += count as u64;
        self.done += count as u64;
        Ok(Found::Bytes)
    }

    /// Whether all bytes of all inputs were read.
    pub(super) fn is_at_end(&mut self) -> io::Result<bool> {
        loop {
            let Some(current) = &mut self.current else {
                let Some(input) = self.waiting.next() else { return Ok(true) };
                self.current = Some(self.begin(input)?);
                continue;
            };
            if !current.reader.fill(1)?.is_empty() {
                return Ok(false);
            }
            self.current = None;
        }
    }

    fn begin(&mut self, input: Input) -> io::Result<Current> {
        let Input { name, from } = input;
        let reader = match from {
            scan::Input::Stream(reader) => reader,
            scan::Input::File(file) => {
                self.watch(&name, &file)?;
                let stream = Pipe::builder().block_size(self.block).explicit();
                ReadOptions::new().explicit().stream(stream).read(file, &name)?
            }
        };
        Ok(Current { name, reader, done: 0, last: None })
    }

    /// Notes what a file is now.
    pub(super) fn watch(&mut self, name: &str, file: &File) -> io::Result<()> {
        if let Some(stamp) = Stamp::of(file)? {
            self.seen.push((name.to_owned(), file.try_clone()?, stamp));
        }
        Ok(())
    }

    /// Nothing more will be read: who still writes to a stream is told why.
    pub(super) fn fail(&mut self, error: &io::Error) {
        let why = error.to_string();
        if let Some(current) = &mut self.current {
            current.reader.fail(&why);
        }
        for input in self.waiting.by_ref() {
            if let scan::Input::Stream(mut reader) = input.from {
                reader.fail(&why);
            }
        }
    }

    /// The name of the input being read, and how many bytes of it were.
    pub(super) fn place(&self) -> (String, u64) {
        self.current.as_ref().map_or_else(Default::default, |current| (current.name.clone(), current.done))
    }

    /// # Errors
    /// One of the files is no longer what it was when it was begun.
    pub(super) fn check_unchanged(&self) -> io::Result<()> {
        for (name, file, then) in &self.seen {
            if Stamp::of(file)? != Some(*then) {
                return Err(io::Error::other(format!("read: {name}: it was changed while it was sorted")));
            }
        }
        Ok(())
    }
}
