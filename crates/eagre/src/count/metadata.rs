//! The shortcut for counting bytes: the metadata of a file.

use std::fs::File;
use std::io::{Seek, SeekFrom};

/// What the metadata of a file says about the bytes from its position on.
#[derive(Default)]
pub(super) struct Skip {
    /// The number of bytes that need not be read.
    pub(super) bytes: u64,
    /// Whether nothing is left to read.
    pub(super) complete: bool,
}

/// Finds out from the metadata of a regular file how many bytes are left in it. If the size can be trusted, nothing has
/// to be read. Otherwise the position moves near the end, and the caller reads the rest. This never fails: if anything
/// is unusual, nothing is skipped and the caller reads everything.
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
            // The position may be past the end already: a shell can open a file like that.
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

/// The read size that the file system prefers.
fn block_size(metadata: &std::fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    metadata.blksize().max(512)
}
