//! How bytes travel, in words.

use std::fmt;

/// How a copy was made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// The file system lets both files share the blocks.
    Reflink,
    /// From front to back.
    Front,
    /// Piece by piece.
    #[non_exhaustive]
    Pieces {
        /// How many threads carried them.
        threads: usize,
        /// The bytes of a piece.
        piece: usize,
        /// Whether what was not in the page cache was read past it.
        direct_read: bool,
        /// Whether they were written past the page cache.
        direct_write: bool,
        /// Whether they were read back past the page cache while others were still on their way.
        read_back: bool,
    },
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Method::Reflink => f.write_str("blocks shared by the file system, nothing moved"),
            Method::Front => f.write_str("from front to back: an end is no regular file, or nobody knows its length"),
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
