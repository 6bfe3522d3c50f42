//! Where sorted records go: into a file that appears when it is complete, or into a stream.

use std::io;
use std::path::Path;

use super::budget::Budget;
use super::packing::Compression;
use crate::file::{FileWriter, Output, WriteOptions};
use crate::{Pipe, Writer};

/// Where the records will go.
#[expect(clippy::large_enum_variant, reason = "there is one of them")]
pub(super) enum Target<'w> {
    File(Output),
    /// The caller keeps the writer, so that it can tell the reader why a sort has failed.
    Stream(&'w mut Writer),
}

impl<'w> Target<'w> {
    /// The output, if it is a file.
    pub(super) fn file(&self) -> Option<&Output> {
        match self {
            Target::File(output) => Some(output),
            Target::Stream(_) => None,
        }
    }

    /// The file to which bytes go before it appears, and so beside the temporary files.
    pub(super) fn unseen(&self) -> Option<&Output> {
        self.file().filter(|output| !output.is_direct())
    }

    /// # Errors
    /// There is no room for so many bytes.
    pub(super) fn check_room(&self, name: &Path, bytes: u64) -> io::Result<()> {
        match self {
            Target::File(output) => check_room(output, name, bytes),
            Target::Stream(_) => Ok(()),
        }
    }

    /// # Errors
    /// What is written cannot be read back.
    pub(super) fn check_verifiable(&self, name: &Path) -> io::Result<()> {
        match self {
            Target::File(output) => check_verifiable(output, name),
            Target::Stream(_) => {
                let text = "verify: a stream cannot be read back; sort to a file, or do not verify";
                Err(io::Error::new(io::ErrorKind::InvalidInput, text))
            }
        }
    }

    /// Begins to write. `length`: how many bytes there will be, if that is known.
    pub(super) fn begin(
        self,
        compression: Compression,
        budget: &Budget,
        name: &Path,
        length: Option<u64>,
    ) -> io::Result<Sink<'w>> {
        match self {
            Target::File(output) => Ok(Sink::File(create(compression, budget, output, name, length)?)),
            Target::Stream(_) if compression.is_output() => {
                let text = "sort: a stream is not compressed; sort to a file, or do not compress";
                Err(io::Error::new(io::ErrorKind::InvalidInput, text))
            }
            Target::Stream(writer) => Ok(Sink::Stream(writer)),
        }
    }
}

/// Where the records go.
#[expect(clippy::large_enum_variant, reason = "there is one of them")]
pub(super) enum Sink<'w> {
    File(FileWriter),
    Stream(&'w mut Writer),
}

impl Sink<'_> {
    pub(super) fn copy_in(&mut self, bytes: &[u8]) -> io::Result<()> {
        let writer: &mut Writer = match self {
            Sink::File(writer) => writer,
            Sink::Stream(writer) => writer,
        };
        Ok(writer.copy_in(bytes)?)
    }

    /// Ends the output. A file appears.
    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Sink::File(writer) => writer.finish(),
            Sink::Stream(writer) => Ok(writer.finish()?),
        }
    }

    /// Ends the output if `check` finds what was written to be right. A stream cannot be [checked](Target::check_verifiable).
    pub(super) fn finish_checked(self, check: impl FnOnce(&Output) -> io::Result<()>) -> io::Result<()> {
        match self {
            Sink::File(writer) => writer.finish_checked(check),
            Sink::Stream(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// Begins to write a file.
pub(super) fn create(
    compression: Compression,
    budget: &Budget,
    output: Output,
    name: &Path,
    length: Option<u64>,
) -> io::Result<FileWriter> {
    let stream = Pipe::builder().block_size(budget.block).explicit();
    let options = WriteOptions::new().explicit().stream(stream);
    compression.write(options, budget, (output, name), length)
}

/// # Errors
/// What is written there cannot be read back.
pub(super) fn check_verifiable(output: &Output, name: &Path) -> io::Result<()> {
    if !output.is_direct() {
        return Ok(());
    }
    let place = crate::file::name::shown(name.as_os_str().as_encoded_bytes());
    let text = format!("verify: {place}: what is written there cannot be read back; name a regular file with -o");
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

/// # Errors
/// There is no room for so many bytes.
pub(super) fn check_room(output: &Output, name: &Path, bytes: u64) -> io::Result<()> {
    output.check_room(bytes).map_err(|error| crate::file::failure::Task::of("write", name).error(&error))
}
