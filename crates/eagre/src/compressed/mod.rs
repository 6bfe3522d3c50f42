//! Compressed files as streams: `.gz`, `.zst` and `.lz4` are read as what is in them.
//!
//! The libraries that know the formats are used as they are, over plain pointers. The compressed file is one stream, its
//! content another; a thread calls the library with a pointer into each and lets it run:
//!
//! ```text
//! file ──read──▶ stream ──pointer──▶ inflate, ZSTD_decompressStream,  ──pointer──▶ stream ──▶ your Reader
//!                                    LZ4F_decompress
//! ```
//!
//! There is no buffer in between and nothing is copied but by the libraries themselves. A call of a library is a *turn*
//! of at most a few MiB a side, because each of them goes over the bytes of a call a second time: zlib for the checksum
//! of what it wrote, lz4 for that of what it read, and zstd to see first whether a frame is all there. A turn therefore
//! fits into the window of a stream, and after each one the decoder looks whether anybody still reads.
//! Where there are no faults (`EAGRE_TRAP=off`) or nobody knows how long the file is (a pipe), the same calls get explicit blocks.
//!
//! Memory is bounded whatever the file claims: the two streams, and the library's own (zstd: up to 128 MiB for files made
//! with `--long`, which is also the most that is accepted).
//!
//! Members (gzip) and frames (zstd, lz4) that follow one another are one content, as for `zcat`; zeros after the last gzip
//! member are padding. Anything else that follows is an error, but one that comes last.

mod decode;
mod format;
// SAFETY: calls of foreign libraries on pointers; each library file says what its library touches.
#[allow(unsafe_code, reason = "foreign libraries take pointers")]
mod library;
mod streams;

use std::fs::File;
use std::io::{self, Cursor, Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

pub use format::Format;

use crate::Reader;
use crate::file::name;
use crate::scan::Input;
use streams::Ends;

/// Opens a file to be scanned: decompressed if its name and its first bytes agree that it is compressed
/// ([`Format::of_name`], [`Format::of_bytes`]), else as it is. So a file called `.gz` that holds plain text is plain
/// text, and a file without the suffix is never unpacked behind anybody's back.
///
/// # Errors
/// Those of opening a file, and of reading its first bytes.
pub fn open(path: impl AsRef<Path>) -> io::Result<Input> {
    let (path, file) = (path.as_ref(), File::open(path.as_ref())?);
    let Some(format) = Format::of_name(path) else { return Ok(file.into()) };
    let peeked = Peeked::at(file)?;
    if peeked.format() != Some(format) {
        return peeked.plain();
    }
    Ok(decode::start(
        format,
        &name::shown(path.as_os_str().as_bytes()),
        peeked.length()?,
        peeked.whole(),
        Ends::Explicit,
    )?
    .into())
}

/// What is in an open file or a pipe, from its present position: decompressed if its first bytes say that it is
/// compressed, whatever it is called, else as it is. `name` is for messages.
///
/// # Errors
/// Those of reading the first bytes.
pub fn open_any(file: File, name: &str) -> io::Result<Input> {
    let peeked = Peeked::at(file)?;
    match peeked.format() {
        Some(format) => Ok(decode::start(format, name, peeked.length()?, peeked.whole(), Ends::Explicit)?.into()),
        None => peeked.plain(),
    }
}

/// The content of `source`, which is compressed in a format, as a stream. `length` is that of `source`, if it is known: a
/// source that then ends elsewhere is an error. `name` is for messages.
///
/// The reader's error, when the content is damaged, cut short, or cannot be read, holds name, format, place and reason. All
/// threads end soon after the reader is dropped.
///
/// # Errors
/// No memory or address space for the streams, or no thread.
pub fn decompress(
    format: Format,
    name: &str,
    length: Option<u64>,
    source: impl Read + Send + 'static,
) -> io::Result<Reader> {
    decode::start(format, name, length, source, Ends::Pointers)
}

/// A file whose first bytes have been looked at.
struct Peeked {
    file: File,
    first: Vec<u8>,
    /// Whether `first` is still in front of the file's position.
    taken: bool,
}

impl Peeked {
    fn at(mut file: File) -> io::Result<Peeked> {
        let mut first = [0; Format::MAGIC];
        // A regular file is looked at without moving its position, which others may share.
        if file.metadata()?.is_file() {
            let position = file.stream_position()?;
            let mut there = 0;
            while there < first.len() {
                match file.read_at(&mut first[there..], position + there as u64) {
                    Ok(0) => break,
                    Ok(n) => there += n,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            return Ok(Peeked { file, first: first[..there].to_vec(), taken: false });
        }
        let mut head = Vec::new();
        (&mut file).take(Format::MAGIC as u64).read_to_end(&mut head)?;
        Ok(Peeked { file, first: head, taken: true })
    }

    fn format(&self) -> Option<Format> {
        Format::of_bytes(&self.first)
    }

    /// How many bytes there are, where that can be known.
    fn length(&self) -> io::Result<Option<u64>> {
        let metadata = self.file.metadata()?;
        if !metadata.is_file() {
            return Ok(None);
        }
        let position = (&self.file).stream_position()?;
        // The files of /proc have no size, and are not empty.
        Ok(metadata.len().checked_sub(position).filter(|&length| length > 0))
    }

    fn whole(self) -> Box<dyn Read + Send> {
        match self.taken {
            true => Box::new(Cursor::new(self.first).chain(self.file)),
            false => Box::new(self.file),
        }
    }

    fn plain(self) -> io::Result<Input> {
        if !self.taken {
            return Ok(self.file.into());
        }
        let mut whole = self.whole();
        Ok(crate::Pipe::builder().explicit().source(move |_, block: &mut [u8]| decode::read(&mut whole, block))?.into())
    }
}
