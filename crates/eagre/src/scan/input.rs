//! What can be scanned.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::Reader;

/// An input to scan, from its present position to its end.
#[derive(Debug)]
#[non_exhaustive]
pub enum Input {
    /// A file of any kind: a regular file, a pipe, a terminal.
    File(File),
    /// The reading end of a stream, such as that of a decompressor.
    Stream(Reader),
}

impl Input {
    /// Opens a file, without decompressing it.
    ///
    /// # Errors
    /// Those of `open(2)`.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Input> {
        Ok(Input::File(File::open(path)?))
    }
}

impl From<File> for Input {
    fn from(file: File) -> Input {
        Input::File(file)
    }
}

impl From<Reader> for Input {
    fn from(reader: Reader) -> Input {
        Input::Stream(reader)
    }
}
