//! How a copy was made, and its description in words.

use std::fmt;

/// How a copy was made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// The file system shares the blocks of the source between both files.
    Reflink,
    /// From front to back, in one thread.
    Front,
    /// Piece by piece.
    #[non_exhaustive]
    Pieces {
        /// The number of threads.
        threads: usize,
        /// The size of a piece in bytes.
        piece: usize,
        /// Whether parts that were not in the page cache were read past it.
        direct_read: bool,
        /// Whether the pieces were written past the page cache.
        direct_write: bool,
        /// Whether written pieces were read back, past the page cache, while other pieces were copied.
        read_back: bool,
    },
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Method::Reflink => f.write_str("the file system shares the blocks (reflink), so no bytes were copied"),
            Method::Front => f.write_str("from front to back: an end is not a regular file, or its length is unknown"),
            Method::Pieces { threads, piece, direct_read, direct_write, read_back } => {
                let plural = if threads == 1 { "" } else { "s" };
                write!(f, "{threads} thread{plural} with pieces of {} KiB; read from the page cache", piece >> 10)?;
                f.write_str(if direct_read { ", the rest past it; " } else { "; " })?;
                f.write_str(if direct_write {
                    "written past the page cache"
                } else {
                    "written through the page cache"
                })?;
                f.write_str(if read_back { ", and read back past it meanwhile" } else { "" })
            }
        }
    }
}
