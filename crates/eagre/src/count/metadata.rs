//! The short cut through the metadata of a file.

use std::fs::File;
use std::io::{Seek, SeekFrom};

/// What a file's metadata says about the bytes that are left in it.
#[derive(Default)]
pub(super) struct Skip {
    /// Bytes that need not be read.
    pub(super) bytes: u64,
    /// Nothing is left to read.
    pub(super) complete: bool,
}

/// Asks the metadata of a regular file how much is left in it. Where the size can be trusted, that is all
/// there is to do; else the position is moved near the end, and the rest is to be read. Never fails: where
/// anything is odd, nothing is skipped and reading finds out.
pub(super) fn skip_by_size(file: &File) -> Skip {
    let mut handle = file;
    let (Ok(metadata), Ok(position)) = (file.metadata(), handle.stream_position()) else {
        return Skip::default();
    };
    if !metadata.is_file() {
        return Skip::default();
    }
    let size = metadata.len();
    if !size.is_multiple_of(rustix::param::page_size() as u64) {
        return Skip {
            // The position may be past the end already: a shell can open a file that way.
            bytes: size.saturating_sub(position),
            complete: true,
        };
    }
    let near_the_end = size - size % (block_size(&metadata) + 1);
    if position >= near_the_end || handle.seek(SeekFrom::Start(near_the_end)).is_err() {
        return Skip::default();
    }
    Skip { bytes: near_the_end - position, complete: false }
}

/// The size of read the file system prefers.
fn block_size(metadata: &std::fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    metadata.blksize().max(512)
}
