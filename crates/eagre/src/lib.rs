//! One plain pointer to data larger than memory.
//!
//! A producer writes to the pointer, a consumer reads it; page faults move a handful of physical blocks along
//! underneath. No blocks, no iterators, no copies, and unmodified code works on it.
//!
//! On top of streams stand the things people do with them: [files](mod@file) read and written past the page cache, [`count`],
//! [`find`], [`stats`], [`copy`](mod@copy), [`compressed`] input; beside them [`partition`] and [`sort`](mod@sort). [`doctor`] tells what this machine can do, and the
//! cure for what it cannot.
//!
//! # Features
//! | feature | modules | crates it needs |
//! |---|---|---|
//! | `compressed` | [`compressed`] | zstd and lz4, in C; zlib-rs |
//! | `copy` | [`copy`](mod@copy) | xxhash-rust |
//! | `count` | [`count`] | memchr |
//! | `external` | [`records`], [`device`] | memchr, xxhash-rust |
//! | `find` | [`find`] | memchr, aho-corasick |
//! | `gensort` | [`gensort`] | crc32fast |
//! | `sort` | [`sort`](mod@sort), [`partition`], [`keys`] | none, but half of the code |
//! | `stats` | [`stats`] | memchr |
//!
//! All of them are on by default. Streams, rewired memory, [files](mod@file), [`scan`] and [`doctor`] are always there; with
//! `default-features = false` nothing is built in C.
//!
//! # Layers
//! A module uses only modules on lines below its own:
//!
//! ```text
//! external
//! copy · compressed · count · find · gensort · stats · partition
//! keys
//! sort · records · device
//! scan
//! file · doctor
//! ```
//!
//! `sort` uses the choice of vector instructions in `scan`. All of them use `eagre_mem`.
//!
//! # Unsafe code
//! Two kinds of modules hold some, each allowed by name at its `mod` line: the kernels of scanning, finding, statistics,
//! sorting and partitioning, and the calls of foreign decoders on stream pointers.
#![deny(unsafe_code)]
// On docs.rs, each item names the feature it needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "compressed")]
pub mod compressed;
#[cfg(feature = "copy")]
pub mod copy;
#[cfg(feature = "count")]
pub mod count;
#[cfg(feature = "external")]
pub mod device;
pub mod doctor;
#[cfg(feature = "external")]
pub mod external;
pub mod file;
#[cfg(feature = "find")]
pub mod find;
#[cfg(feature = "gensort")]
pub mod gensort;
#[cfg(feature = "sort")]
pub mod keys;
#[cfg(feature = "sort")]
pub mod partition;
#[cfg(feature = "external")]
pub mod records;
pub mod scan;
#[cfg(feature = "sort")]
pub mod sort;
#[cfg(feature = "stats")]
pub mod stats;

/// The code on the pages is compiled and run as it stands.
#[cfg(all(
    doctest,
    feature = "compressed",
    feature = "copy",
    feature = "count",
    feature = "external",
    feature = "find",
    feature = "gensort",
    feature = "sort",
    feature = "stats"
))]
mod pages {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/streams.md")]
    struct Streams;
    #[doc = include_str!("../../../docs/files.md")]
    struct Files;
    #[doc = include_str!("../../../docs/counting.md")]
    struct Counting;
    #[doc = include_str!("../../../docs/records.md")]
    struct Records;
    #[doc = include_str!("../../../docs/lines.md")]
    struct Lines;
    #[doc = include_str!("../../../docs/device.md")]
    struct Device;
    #[doc = include_str!("../../../docs/memory.md")]
    struct Memory;
    #[doc = include_str!("../../../docs/snapshots.md")]
    struct Snapshots;
    #[doc = include_str!("../../../docs/views.md")]
    struct Views;
    #[doc = include_str!("../../../docs/partition.md")]
    struct Partition;
    #[cfg(target_os = "linux")]
    #[doc = include_str!("../../../docs/process.md")]
    struct Process;
    #[doc = include_str!("../../../docs/sorting-files.md")]
    struct SortingFiles;
    #[doc = include_str!("../../../docs/sorting.md")]
    struct Sorting;
}

/// Whether every environment variable that Eagre reads ([`options::SETTINGS`]) holds a value that it takes, and that this
/// processor has. Calls find that out too, but only those that need the variable.
///
/// # Errors
/// A message of one line, with the values that it takes.
pub fn check_environment() -> Result<(), String> {
    eagre_mem::check_environment()?;
    scan::check_environment()
}

#[doc(hidden)]
pub use eagre_mem::heap;
#[cfg(all(target_os = "linux", not(miri)))]
pub use eagre_mem::process;
pub use eagre_mem::stream::{
    Control, EndStats, OnFailure, OpenError, Pipe, PipeBuilder, ReadBlock, Reader, Sink, SinkWriter, Source,
    StreamError, StreamErrorKind, StreamStats, Wait, WriteBlock, Writer, wait_report,
};
pub use eagre_mem::{
    Appender, Block, BlockSize, Draft, End, FixedMemory, GrowingBuffer, Mappings, Mover, NotAppended, NotMapped, Plain,
    Pool, PoolStats, RawBlock, Region, Rejected, RewireError, RewireErrorKind, RewiredIntoIter, RewiredVec, Snapshot,
    SnapshotArray, SnapshotOptions, SnapshotStats, StreamPool, Trap, VanishingArray, View, ViewArray, ViewOptions,
    ViewStats, options, probe,
};
