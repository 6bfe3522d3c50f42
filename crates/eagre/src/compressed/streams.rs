//! The two streams of a decoder, and whether it uses their pointers.
//!
//! A pointer needs an address for each byte of the content, whose length is not known in advance. But each format has a
//! largest ratio, which limits the content of a file. If there are enough addresses for that limit, the decoder uses
//! pointers. Otherwise both streams are for explicit calls, which take no addresses and have no limit. That is the case
//! under `ulimit -v`, for files that might unpack to more than 1 TiB, and for pipes.

use std::io;

use rustix::process::{Resource, getrlimit};

use super::Format;
use super::decode::{LOOKBACK, REWRITE};
use crate::file::stream::SMALL_BLOCK;
use crate::{BlockSize, OpenError, Pipe};

/// The most addresses reserved for a content.
const MOST: u64 = 1 << 40;

/// How the content is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// Only through explicit calls.
    Explicit,
    /// Possibly through a pointer, by the user.
    Pointers,
}

/// The two streams.
pub(super) struct Streams {
    pub(super) packed: Pipe,
    pub(super) content: Pipe,
}

/// Opens both streams. `length` is the length of the compressed file.
///
/// # Errors
/// Memory is refused, or a setting in the environment is invalid.
pub(super) fn open(format: Format, name: &str, length: Option<u64>, ends: Ends) -> io::Result<Streams> {
    let most = length.map_or(u64::MAX, |length| format.most(length));
    let pointers = match ends {
        Ends::Explicit => most <= MOST && getrlimit(Resource::As).current.is_none(),
        // The user may want a pointer. Only if the address space is too small for an ordinary stream, there is none.
        Ends::Pointers => true,
    };
    if pointers {
        match with_pointers(name, length, most.min(MOST)) {
            Ok(Some(streams)) => return Ok(streams),
            // There are no addresses for pointers, or no trap. Explicit calls need neither.
            Ok(None) | Err(OpenError::Resources(_) | OpenError::Unavailable(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // Small blocks are slower, but need an eighth of the memory.
    explicit(name, length, BlockSize::DEFAULT).or_else(|_| explicit(name, length, SMALL_BLOCK))
}

/// `None` if the address space is so small that an ordinary stream carries less than `most`, or if the compressed file
/// is longer than any stream.
fn with_pointers(name: &str, length: Option<u64>, most: u64) -> Result<Option<Streams>, OpenError> {
    if length.is_some_and(|length| length > MOST) {
        return Ok(None);
    }
    let packed = Pipe::builder().name(&packed_name(name)).rewrite(0).lookback(LOOKBACK).read_ahead(1);
    let packed = match length {
        Some(length) => packed.length(length),
        None => packed,
    };
    let content = Pipe::builder().name(name).rewrite(REWRITE);
    let content = match most {
        MOST => content,
        // One byte more than the limit, because the decoder treats a full stream as one that is too short.
        most => content.capacity(most + 1),
    };
    let content = content.open()?;
    match content.capacity() < most {
        true => Ok(None),
        false => Ok(Some(Streams { packed: packed.open()?, content })),
    }
}

/// Allocates the memory of both streams at once. One without the other would be useless.
fn explicit(name: &str, length: Option<u64>, block: BlockSize) -> io::Result<Streams> {
    let packed = Pipe::builder().name(&packed_name(name)).block_size(block).rewrite(0).lookback(0).read_ahead(1);
    let packed = match length {
        Some(length) => packed.length(length),
        None => packed,
    };
    let content = Pipe::builder().name(name).block_size(block).rewrite(0);
    let mut streams = Streams { packed: packed.explicit().open()?, content: content.explicit().open()? };
    streams.packed.writer().reserve(0)?;
    streams.content.writer().reserve(0)?;
    Ok(streams)
}

fn packed_name(name: &str) -> String {
    format!("{name}, packed")
}
