//! Compressed files as streams: `.gz`, `.zst` and `.lz4` files are read as their content.
//!
//! The standard libraries do the decompression, on plain pointers. The compressed file is one stream, and its content
//! is another. A thread calls the library with a pointer into each:
//!
//! ```text
//! file ──read──▶ stream ──pointer──▶ inflate, ZSTD_decompressStream,  ──pointer──▶ stream ──▶ your Reader
//!                                    LZ4F_decompress
//! ```
//!
//! There is no buffer in between, and only the libraries copy bytes. A call of a library is a *turn* of at most a few
//! MiB per side, because each library goes over the bytes of a call a second time. zlib does so for the checksum of its
//! output, lz4 for the checksum of its input, and zstd first checks whether the frame is complete. So a turn fits into
//! the window of a stream, and after each turn the decoder checks whether the reader is still there. If there are no
//! page faults (`EAGRE_TRAP=off`), or the length of the file is unknown (a pipe), the same calls use explicit blocks.
//!
//! Memory is bounded, whatever the file claims: by the two streams, and by the library's own memory. For zstd this is
//! up to 128 MiB for files made with `--long`, which is also the most that is accepted.
//!
//! Consecutive members (gzip) or frames (zstd, lz4) form one content, as with `zcat`. Zeros after the last gzip member
//! are padding. Anything else that follows is an error, which is reported at the end of the content.

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
#[doc(hidden)]
pub use library::block;

use crate::Reader;
use crate::file::name;
use crate::scan::Input;
use streams::Ends;

/// Opens a file for scanning. It is decompressed if both its name and its first bytes say that it is compressed
/// ([`Format::of_name`], [`Format::of_bytes`]). So a `.gz` file with plain text is read as plain text, and a file
/// without the suffix is never decompressed.
///
/// # Errors
/// Those of opening the file and of reading its first bytes.
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

/// Opens the content of an open file or a pipe, from its present position. It is decompressed if its first bytes say
/// that it is compressed, whatever its name is. `name` is used in messages.
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

/// The content of `source`, which is compressed in `format`, as a stream. `length` is the length of `source` in bytes,
/// if it is known. A source that ends elsewhere is then an error. `name` is used in messages.
///
/// If the content is damaged, truncated or cannot be read, the reader's error gives the name, the format, the place and
/// the reason. All threads end soon after the reader is dropped.
///
/// # Errors
/// Memory or address space for the streams, or a thread, is refused.
pub fn decompress(
    format: Format,
    name: &str,
    length: Option<u64>,
    source: impl Read + Send + 'static,
) -> io::Result<Reader> {
    decode::start(format, name, length, source, Ends::Pointers)
}

/// Makes an encoder: what it packs is a whole member or frame of a format, so a file can be made of many, by several threads.
///
/// # Errors
/// Memory is refused.
#[cfg(feature = "external")]
pub(crate) fn encoder(format: Format) -> io::Result<Box<dyn crate::file::packing::Pack>> {
    library::encode::encoder(format).map_err(|why| io::Error::new(io::ErrorKind::OutOfMemory, why))
}

/// A file whose first bytes were read in advance.
struct Peeked {
    file: File,
    first: Vec<u8>,
    /// Whether reading moved the position, so that `first` must be put in front of the rest.
    taken: bool,
}

impl Peeked {
    fn at(mut file: File) -> io::Result<Peeked> {
        let mut first = [0; Format::MAGIC];
        // A regular file is examined without moving its position, which other programs may share.
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

    /// The number of bytes from the position on, if it is known.
    fn length(&self) -> io::Result<Option<u64>> {
        let metadata = self.file.metadata()?;
        if !metadata.is_file() {
            return Ok(None);
        }
        let position = (&self.file).stream_position()?;
        // The files of `/proc` claim a size of zero but are not empty.
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
