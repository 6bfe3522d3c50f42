//! Rewiring: how blocks get their addresses, and which access is timed.

use crate::memory::Pages;

/// Blocks are rewired to consecutive addresses in random order, then accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rewiring {
    /// The size of a block.
    pub block: u64,
    /// The part that is timed.
    pub timed: Timed,
}

/// The part that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timed {
    /// Rewiring.
    Wiring,
    /// Writing one word to each page of 4 KiB, in order, after `before` passes that are not timed.
    Pass { before: u32 },
    /// Reading everything in order, after each page was touched.
    Scan,
    /// Rewiring, and reading everything once in order.
    WiringAndScan,
    /// Reading one word of each cache line in random order, after each page was touched. If `dependent`, each address
    /// depends on the previous load.
    Random { dependent: bool },
}

/// The memory of the blocks, and how they get their addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wiring {
    /// Anonymous memory; blocks are copied into other mapped memory. Not rewired: the peer.
    Copied(Pages),
    /// Anonymous memory, not touched before. Not rewired.
    Fresh(Pages),
    /// Anonymous memory and a table of block addresses, looked up with each access. Not rewired.
    Directory,
    /// Anonymous memory, moved by `mremap`.
    Mremap(Pages),
    /// Anonymous memory, moved by `UFFDIO_MOVE`.
    UffdioMove(Pages),
    /// Blocks of an Eagre pool, mapped into an Eagre region.
    Eagre,
    /// Blocks of an Eagre array, shown by a view.
    View,
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

/// When the page table is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// By the fault of the first access.
    Lazily,
    /// By `mmap` (`MAP_POPULATE`).
    AtOnce,
}
