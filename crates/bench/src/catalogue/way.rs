//! How a contender does the work.

use serde::{Deserialize, Serialize};

use super::{By, Wiring};

/// How a contender does the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Blocks through our own queue of one producer and one consumer.
    Queue { block: u64, blocks: u32 },
    /// The same queue behind a `next()` per item of so many words.
    Iterator { vectors: bool },
    /// Blocks through a `crossbeam-channel`.
    Crossbeam,
    /// Blocks through `std::sync::mpsc`.
    StdMpsc,
    /// Words through the `rtrb` ring.
    Ring,
    /// Bytes through `pipe(2)`.
    OsPipe,
    /// Batches through a `timely` dataflow of two workers.
    Timely,
    /// Through an Eagre stream.
    Stream(Setting),
    /// Blocks moved by copying them: many in turn, or (`warm`) one to and fro in the cache.
    Memcpy { warm: bool },
    /// Blocks moved by `mremap`.
    Mremap,
    /// Blocks moved by `UFFDIO_MOVE`.
    UffdioMove,
    /// Blocks moved by `UFFDIO_MOVE` in a SIGSEGV handler.
    FaultAndMove,
    /// Fresh memory touched for the first time, block by block.
    FirstTouch,
    /// `read(2)` into plain memory that is there.
    PlainRead,
    /// `read(2)` of one block after the other into recycled memory.
    BlockRead,
    /// `read(2)` into an Eagre stream pointer.
    StreamRead(Setting),
    /// A vector that grows.
    Grow(Growth),
    /// Keys into buckets.
    Partition(Buckets),
    /// Blocks wired in such a way.
    Wired(Wiring),
    /// Arrays behind plain pointers.
    Array(Behind),
    /// A file job by code of this program, in a process of its own.
    Own(Method),
    /// A file job by another program.
    Program(Program),
    /// Sorting, in a process of its own.
    Sort(By),
}

/// How code of this program does a file job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Method {
    /// The library, as its users call it; where there are two forms, the one without pointers.
    Eagre,
    /// The library, code on plain pointers.
    EagrePointer,
    /// `BufReader` or `BufWriter` of the standard library.
    Buffered,
    /// The file mapped, the best known kernel of the task on it.
    Mapped,
    /// `pread` or `pwrite` of one aligned 2 MiB buffer past the page cache.
    Direct,
    /// Not the task but a bound for it: the mapped file added up by as many threads.
    MappedSum,
}

/// A program that does a file job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// The `eagre` command, built beside this program.
    Eagre,
    /// `wc -l`.
    Wc,
    /// `grep -F -o -b`.
    Grep,
    /// `rg -F -o -b`.
    Ripgrep,
    /// `cp`, then (`sync`) `sync` of the copy.
    Cp { sync: bool },
    /// `dd bs=2M`, past the page cache (`direct`) or through it, `fsync` at the end.
    Dd { direct: bool },
    /// `fio`, one `pread` at a time or eight requests through io_uring.
    Fio { uring: bool },
    /// The polars library from Python, clock started after the import.
    Polars,
    /// The duckdb library from Python, clock started after the import.
    Duckdb,
    /// A specialised C program, `peers/onebrc.c`, built when it is asked for.
    Onebrc,
}

impl Way {
    /// Whether it is Eagre's.
    pub(crate) const fn is_ours(self) -> bool {
        matches!(
            self,
            Way::Stream(_)
                | Way::StreamRead(_)
                | Way::Grow(Growth::Rewired | Growth::RewiredAppender | Growth::RewiredExtend | Growth::RewiredFresh)
                | Way::Partition(Buckets::Eagre | Buckets::EagreDense | Buckets::EagreVanishing)
                | Way::Wired(Wiring::Eagre)
                | Way::Array(Behind::Vanishing(_))
                | Way::Own(Method::Eagre | Method::EagrePointer)
                | Way::Program(Program::Eagre)
                | Way::Sort(By::Eagre(_))
        )
    }
}

/// Which trap and mover an Eagre stream is opened with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    /// SIGSEGV and `UFFDIO_MOVE`; plain pointers.
    SignalMove,
    /// SIGSEGV and `mremap`; plain pointers.
    SignalRemap,
    /// userfaultfd and `UFFDIO_MOVE`; plain pointers.
    PagerMove,
    /// As the first, with every block zeroed before the writer gets it.
    SignalMoveSparse,
    /// No faults: `reserve`, `commit`, `fill`, `consume`.
    Explicit,
    /// The same with as many blocks as the queue has: no windows behind the ends.
    ExplicitNarrow,
}

/// What a vector grows on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Growth {
    /// Memory for all of it, there beforehand: does not grow.
    Plain,
    /// Rewired blocks of a pool, there beforehand; a `push` a word.
    Rewired,
    /// The same through an `Appender` on a vector that belongs to somebody else.
    RewiredAppender,
    /// The same through `Extend`.
    RewiredExtend,
    /// Rewired blocks that the system must make first.
    RewiredFresh,
    /// `Vec`, a `push` a word.
    Vec,
    /// `Vec` with room for all of it, not touched yet.
    VecReserved,
    /// A mapping that doubles with `mremap`, huge pages asked for.
    Mremap,
    /// Memory that doubles with the C library's `realloc`.
    Realloc,
    /// A list of 2 MiB blocks, there beforehand.
    Chain,
}

/// How keys are partitioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Buckets {
    /// Buckets whose sizes are known, writes combined: the bound.
    Preallocated,
    /// Eagre, items that stay.
    Eagre,
    /// The same, and one array comes of it.
    EagreDense,
    /// A vector that vanishes.
    EagreVanishing,
    /// Counted, then written.
    TwoPass,
    /// The same, writes combined.
    TwoPassCombining,
    /// Chunks of 64 KiB from the allocator, writes combined.
    Chunks,
    /// A `Vec` a bucket, a `push` a key.
    Vecs,
}

/// What stands behind the pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// Memory.
    Plain,
    /// A vanishing array, with this trap and mover.
    Vanishing(Setting),
}
