//! How a file is read or written: through the page cache, past it, or from where it stands.

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
    /// Past the page cache if the file is large and not in it yet, through it otherwise.
    #[default]
    Auto,
    /// Through the page cache: what is in it is not read from the disk again, and what was read stays in it.
    Cached,
    /// Past the page cache, straight between the disk and the stream, where the file system can.
    Unbuffered,
}

/// A file, opened as its plan asks for.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) file: File,
    pub(super) access: Access,
}

/// What a file lets us do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Read or write on from where it stands: a pipe, a terminal, a file of /proc or /sys.
    Sequential,
    /// Transfers at any offset, through the page cache.
    Cached,
    /// Transfers of multiples of this, past it.
    Unbuffered(usize),
}

/// The most bytes of a request when several are on their way at once. Larger ones cost less and smaller ones finish
/// more evenly; from 256 KiB to 2 MiB there is little between them.
const PIECE: usize = 512 << 10;
/// How many requests are on their way at most. The default windows of a stream, two blocks of 2 MiB at a file's end of
/// it, make eight.
const DEPTH: usize = 32;

impl Opened {
    /// How `file` of `size` bytes (0: not known), of which `from` on is to be read, is read best.
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

    /// How `file`, which is ours alone and empty, is written best.
    pub(super) fn to_write(file: File, caching: Caching) -> Opened {
        let access = match cache::alignment(&file) {
            Some(alignment) if caching != Caching::Cached && set_direct(&file, true).is_ok() => {
                Access::Unbuffered(alignment)
            }
            _ => Access::Cached,
        };
        Opened { file, access }
    }

    /// The device for it, and how large requests to it should be. To be called by the thread that will use it.
    pub(super) fn device(
        self,
        engine: Option<Engine>,
        piece: Option<usize>,
        block: BlockSize,
    ) -> io::Result<(Box<dyn Device>, usize)> {
        let whole = piece.unwrap_or(block.bytes());
        let alignment = match self.access {
            Access::Sequential => return Ok((Box::new(Blocking::sequential(self.file)), whole)),
            // Copies out of memory: one after the other is as fast as it gets.
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
