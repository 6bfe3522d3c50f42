//! The two streams of a decoder, and whether it goes by their pointers.
//!
//! A pointer needs an address for each byte of the content, and nobody knows beforehand how long that is. But no format packs
//! better than it can, so there is a most that may come out of a file. Where there are addresses for that, the decoder takes
//! pointers. Otherwise (`ulimit -v`, files so large that they might unpack to more than a TiB, pipes) both streams are for explicit
//! calls, take no addresses, and carry anything.

use std::io;

use rustix::process::{Resource, getrlimit};

use super::Format;
use super::decode::{LOOKBACK, REWRITE};
use crate::file::stream::SMALL_BLOCK;
use crate::{BlockSize, OpenError, Pipe};

/// The most addresses taken for a content.
const MOST: u64 = 1 << 40;

/// How the content will be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// Through explicit calls.
    Explicit,
    /// By pointer perhaps, by whoever called us.
    Pointers,
}

/// The two streams.
pub(super) struct Streams {
    pub(super) packed: Pipe,
    pub(super) content: Pipe,
}

/// Opens both. `length` is that of the compressed file.
///
/// # Errors
/// No memory for them, or settings of the environment that cannot be read.
pub(super) fn open(format: Format, name: &str, length: Option<u64>, ends: Ends) -> io::Result<Streams> {
    let most = length.map_or(u64::MAX, |length| format.most(length));
    let pointers = match ends {
        Ends::Explicit => most <= MOST && getrlimit(Resource::As).current.is_none(),
        // Whoever reads may want a pointer; only where addresses are too short for an ordinary stream there is none.
        Ends::Pointers => true,
    };
    if pointers {
        match with_pointers(name, length, most.min(MOST)) {
            Ok(Some(streams)) => return Ok(streams),
            // No addresses for pointers, or no trap that gives them: explicit calls need neither.
            Ok(None) | Err(OpenError::Resources(_) | OpenError::Unavailable(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // Small blocks are slower, but take an eighth of the memory.
    explicit(name, length, BlockSize::DEFAULT).or_else(|_| explicit(name, length, SMALL_BLOCK))
}

/// `None`: addresses are so short that an ordinary stream carries less than `most`, or the compressed file is longer than any.
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
        // One more than can come: the decoder takes a stream that is full for one that is too short.
        most => content.capacity(most + 1),
    };
    let content = content.open()?;
    match content.capacity() < most {
        true => Ok(None),
        false => Ok(Some(Streams { packed: packed.open()?, content })),
    }
}

/// Both get their memory at once: one without the other would be of no use.
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
