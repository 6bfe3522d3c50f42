//! How a file is read or written: through the page cache, past it, or in sequence from its position.

use std::fs::File;
use std::io;

use super::cache::{self, Warmth};
use eagre_mem::transfer::{Blocking, Device, Engine, Uring, set_direct};
use eagre_mem::{BlockSize, options};
use rustix::fs::OFlags;

/// Whether the page cache is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Caching {
    /// Past the page cache if the file is large and not in the cache, through the cache otherwise.
    #[default]
    Auto,
    /// Through the page cache. Cached parts are not read from the disk again, and parts that were read stay in the
    /// cache.
    Cached,
    /// Past the page cache, directly between the disk and the stream, where the file system can.
    Unbuffered,
}

/// A file opened for the chosen access.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) file: File,
    pub(super) access: Access,
}

/// How a file can be accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// In sequence from its position: a pipe, a terminal, a file of `/proc` or `/sys`.
    Sequential,
    /// Transfers at any offset, through the page cache.
    Cached,
    /// Transfers past the page cache, of multiples of this many bytes.
    Unbuffered(usize),
}

/// The size of a request when several are in flight at once. Larger requests cost less processor time, and smaller ones
/// finish more evenly. From 256 KiB to 2 MiB the difference is small.
const PIECE: usize = 512 << 10;
/// The most requests in flight. The default windows of a stream leave two blocks of 2 MiB to the file, which is eight
/// requests.
const DEPTH: usize = 32;

impl Opened {
    /// Opens `file` for reading in the best way, given its `size` in bytes (0 if unknown) and the offset `from` at
    /// which reading starts.
    pub(super) fn to_read(file: File, caching: Caching, from: u64, size: u64) -> Opened {
        if size == 0 {
            return Opened { file, access: Access::Sequential };
        }
        let left = size.saturating_sub(from);
        let past = match caching {
            Caching::Unbuffered => true,
            Caching::Cached => false,
            Caching::Auto => {
                left >= cache::LEAST_TO_STREAM
                    && matches!(cache::warmth(&file, from, left), None | Some(Warmth::Cold(_)))
            }
        };
        if let Some(alignment) =
            cache::alignment(&file).filter(|&alignment| past && from.is_multiple_of(alignment as u64))
            && let Ok(file) = cache::reopen_past(&file, OFlags::RDONLY)
        {
            return Opened { file, access: Access::Unbuffered(alignment) };
        }
        let _ = rustix::fs::fadvise(&file, from, None, rustix::fs::Advice::Sequential);
        Opened { file, access: Access::Cached }
    }

    /// Opens `file`, which must be empty and ours alone, for writing in the best way.
    pub(super) fn to_write(file: File, caching: Caching) -> Opened {
        let access = match cache::alignment(&file) {
            Some(alignment) if caching != Caching::Cached && set_direct(&file, true).is_ok() => {
                Access::Unbuffered(alignment)
            }
            _ => Access::Cached,
        };
        Opened { file, access }
    }

    /// The device for the file, and the size of requests to it. Must be called by the thread that will use the device.
    pub(super) fn device(
        self,
        engine: Option<Engine>,
        piece: Option<usize>,
        block: BlockSize,
    ) -> io::Result<(Box<dyn Device>, usize)> {
        let whole = piece.unwrap_or(block.bytes());
        #[cfg(test)]
        if let Access::Cached | Access::Unbuffered(_) = self.access {
            let alignment = if let Access::Unbuffered(alignment) = self.access { alignment } else { 1 };
            if let Some(faulty) = super::faulty::planned(&self.file, alignment) {
                return Ok((Box::new(faulty), whole));
            }
        }
        let alignment = match self.access {
            Access::Sequential => return Ok((Box::new(Blocking::sequential(self.file)), whole)),
            // These are copies out of memory: several at a time would not be faster.
            Access::Cached => return Ok((Box::new(Blocking::new(self.file, 1)), whole)),
            Access::Unbuffered(alignment) => alignment,
        };
        let forced = engine.or(options::io().map_err(io::Error::other)?);
        if forced != Some(Engine::Blocking) {
            match Uring::new(self.file.try_clone()?, DEPTH, alignment) {
                Ok(ring) => return Ok((Box::new(ring), piece.unwrap_or(PIECE))),
                Err(error) if forced == Some(Engine::Uring) => return Err(error),
                Err(_) => {}
            }
        }
        Ok((Box::new(Blocking::new(self.file, alignment)), whole))
    }
}
