//! How a contender does the work.

use eagre_net::{RdmaAlgorithm, RdmaProvider};
use serde::{Deserialize, Serialize};

use super::{By, Kernel, Sorter, Wiring};
use crate::memory::Pages;

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
    /// Through TCP on loopback.
    Network(Network),
    /// From another process.
    Between(Carrier),
    /// The same, with a publisher and a subscriber of the crate iceoryx2.
    Iceoryx2,
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
    /// One moment of an array, kept in such a way.
    Moment(Keep),
    /// A hash table with such a directory.
    Hash(Directory),
    /// A file over TCP.
    Send(Courier),
    /// A file job by code of this program, in a process of its own.
    Own(Method),
    /// A file job by another program.
    Program(Program),
    /// Sorting, in a process of its own.
    Sort(By),
    /// Sorting a file, in a process of its own.
    FileSort(Sorter),
    /// Records sorted or merged in memory.
    Kernel(Kernel),
    /// Records of the sort benchmark, made or checked by the library.
    Gensort,
}

/// What carries bytes over TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    /// `write` and `read` of a buffer. `checks`: with the digests that Eagre computes. `cold`: of memory that no cache holds.
    Sockets { checks: bool, cold: bool },
    /// The same through rustls, with the digests.
    Rustls,
    /// A stream of Eagre between two hosts.
    Eagre { tls: bool, pointers: bool },
    /// A stream of Eagre whose blocks travel by RDMA. `touched`: it is filled and summed, and checked on its way.
    Rdma { provider: RdmaProvider, algorithm: RdmaAlgorithm, end: RdmaEnd },
    /// The C program `peers/rdma_bare.c`, built when it is asked for: nobody touches what is written.
    RdmaBare { provider: RdmaProvider },
    /// A stream of Eagre between two hosts, with explicit calls.
    Linked { wire: Wire, tls: bool },
    /// A QUIC stream with the crate quinn.
    Quinn,
    /// iperf3 between the same hosts.
    Iperf(Wire),
}

/// What the ends of a stream over RDMA do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RdmaEnd {
    /// Explicit calls that hand blocks on as they are; no checks.
    Untouched,
    /// Explicit calls that fill and sum; no checks.
    Unchecked,
    /// Explicit calls that fill and sum; checks and a digest, as over TCP.
    Calls,
    /// The same on plain pointers.
    Pointers,
}

/// What is between two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wire {
    /// Mbit/s in each direction.
    pub megabits: u32,
    /// Milliseconds, or 0 for a short cable.
    pub round_trip: u32,
    /// On a long way, one of so many packets is lost.
    pub lost_one_in: u32,
}

/// What is between two processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Carrier {
    /// A ring of shared blocks.
    Ring,
    /// `pipe(2)`.
    OsPipe,
    /// A Unix stream socket.
    Socket,
    /// A stream of Eagre, with explicit calls.
    Explicit,
    /// The same with plain pointers.
    Pointer,
}

/// What sends files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Courier {
    /// `eagre send` and `eagre receive`, with a token or plain, over so many streams.
    Eagre { tls: bool, streams: u8 },
    /// `rsync` to its daemon, plain.
    Rsync,
    /// `mbuffer`, plain and without checks.
    Mbuffer,
    /// `rclone` to its WebDAV server, plain.
    Rclone,
    /// `croc` without a relay.
    Croc,
    /// `scp`.
    Scp,
}

/// How code of this program does a file job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Method {
    /// The library; if it has two interfaces, the one without pointers.
    Eagre,
    /// The library, through plain pointers.
    EagrePointer,
    /// `BufReader` or `BufWriter` of the standard library.
    Buffered,
    /// The best known kernel for the task on the mapped file.
    Mapped,
    /// `pread` or `pwrite` of one aligned 2 MiB buffer past the page cache.
    Direct,
    /// An upper bound instead of the task: sums the mapped file with as many threads.
    MappedSum,
    /// `read(2)` of 1 MiB at a time, and such a loop over it.
    Loop(Loop),
}

/// How newlines are counted in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Loop {
    /// Line by line, each copied into a vector.
    Lines,
    /// Byte by byte, one comparison each.
    Bytes,
    /// Byte by byte, which the compiler makes vectors of.
    Compiled,
    /// From one newline to the next, by the `memchr` crate.
    Memchr,
    /// By the `bytecount` crate.
    Bytecount,
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
    /// Whether it is one of Eagre's.
    pub(crate) const fn is_ours(self) -> bool {
        matches!(
            self,
            Way::Stream(_)
                | Way::StreamRead(_)
                | Way::Network(Network::Eagre { .. } | Network::Rdma { .. } | Network::Linked { .. })
                | Way::Between(Carrier::Explicit | Carrier::Pointer)
                | Way::Send(Courier::Eagre { .. })
                | Way::Grow(Growth::Rewired | Growth::RewiredAppender | Growth::RewiredExtend | Growth::RewiredFresh)
                | Way::Partition(Buckets::Eagre | Buckets::EagreDense | Buckets::EagreVanishing)
                | Way::Wired(Wiring::Eagre | Wiring::View)
                | Way::Array(Behind::Vanishing(_))
                | Way::Moment(Keep::Eagre { .. })
                | Way::Hash(Directory::Eagre { .. })
                | Way::Own(Method::Eagre | Method::EagrePointer)
                | Way::Program(Program::Eagre)
                | Way::Sort(By::Eagre(_))
                | Way::FileSort(Sorter::Eagre(_) | Sorter::EagreOnePass(_))
                | Way::Kernel(Kernel::Eagre)
                | Way::Gensort
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
    /// SIGSEGV and blocks of shared memory that are mapped; plain pointers.
    SignalMap,
    /// As `SignalMove`, and each block is zeroed before the writer gets it.
    SignalMoveSparse,
    /// No faults: `reserve`, `commit`, `fill`, `consume`.
    Explicit,
    /// As `Explicit`, without windows: as many blocks as the queue has.
    ExplicitNarrow,
}

/// How a vector grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Growth {
    /// It does not: all its memory is preallocated.
    Plain,
    /// By rewired blocks that the pool already has; one `push` per word.
    Rewired,
    /// As `Rewired`, through an `Appender` on a vector behind a reference.
    RewiredAppender,
    /// As `Rewired`, through `Extend`.
    RewiredExtend,
    /// By rewired blocks that the system must make first.
    RewiredFresh,
    /// As `Vec` does; one `push` per word.
    Vec,
    /// It does not: `Vec::with_capacity`, whose memory was not touched before.
    VecReserved,
    /// A mapping on huge pages doubles with `mremap`.
    Mremap,
    /// Memory of the C library doubles with `realloc`.
    Realloc,
    /// By the next of a list of preallocated 2 MiB blocks.
    Chain,
}

/// How keys are partitioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Buckets {
    /// Into buckets of known size with software write-combining: the upper bound.
    Preallocated,
    /// By Eagre; the input stays.
    Eagre,
    /// By Eagre, into one array.
    EagreDense,
    /// By Eagre, from a vector that vanishes as it is read.
    EagreVanishing,
    /// In two passes: count, then write.
    TwoPass,
    /// In two passes with software write-combining.
    TwoPassCombining,
    /// Into 64 KiB chunks from the allocator with software write-combining.
    Chunks,
    /// Into a `Vec` per bucket, with one `push` per key.
    Vecs,
}

/// The memory behind a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// Ordinary memory.
    Plain,
    /// A vanishing array, with this trap and mover.
    Vanishing(Setting),
}

/// How one moment of an array is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// An Eagre snapshot, with blocks of so many bytes; if `reserved`, with memory for all its copies.
    Eagre { block: u64, reserved: bool },
    /// The memory of a forked child.
    Fork(Pages),
    /// A copy, made at once, in memory that is there.
    Copy,
    /// A file in memory, whose private mapping (`MAP_PRIVATE`) is stored to; at the end, what was stored is written back.
    Private,
}

/// The directory of an extendible hash table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Directory {
    /// An Eagre array with blocks of so many bytes; it doubles by another mapping.
    Eagre { block: u64 },
    /// A `Vec`; it doubles by copying.
    Vec,
}
