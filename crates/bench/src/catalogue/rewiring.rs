//! What is done to blocks that are wired in random order, and how they come to their addresses.

use crate::memory::Pages;

/// What is done to blocks of so many bytes that are wired into consecutive addresses, in random order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rewiring {
    /// The size of a block.
    pub block: u64,
    /// What of it is timed.
    pub timed: Timed,
}

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timed {
    /// Wiring.
    Wiring,
    /// Writing one word of each page of 4 KiB, in order, after so many passes that were not timed.
    Pass { before: u32 },
    /// Reading all of it in order, once every page has been touched.
    Scan,
    /// Reading one word of each cache line in random order, likewise. `dependent`: no address is known before the load
    /// ahead of it has ended.
    Random { dependent: bool },
}

/// What blocks are made of, and how they come to their addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wiring {
    /// Anonymous memory; blocks are copied into other such memory that is there. Not rewired: the peer.
    Copied(Pages),
    /// Anonymous memory that nobody has touched. Not rewired, and no block ever was in it.
    Fresh(Pages),
    /// Anonymous memory, and a directory: the address of each block, looked up with every access.
    Directory,
    /// Anonymous memory, moved by `mremap`.
    Mremap(Pages),
    /// Anonymous memory, moved by `UFFDIO_MOVE`.
    UffdioMove(Pages),
    /// Blocks of an Eagre pool, mapped into an Eagre region.
    Eagre,
    /// A file in memory, mapped block by block, as in the paper.
    File { pages: FilePages, fill: Fill },
}

/// The pages of a file in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilePages {
    /// `memfd`, 4 KiB.
    Small,
    /// `memfd`, collapsed into 2 MiB with `MADV_COLLAPSE`.
    Collapsed,
    /// `memfd` of reserved huge pages (`MFD_HUGETLB`).
    Hugetlb,
}

/// When page tables are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// By the fault of the first touch.
    Lazily,
    /// By the call that maps (`MAP_POPULATE`).
    AtOnce,
}
