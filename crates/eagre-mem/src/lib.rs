//! Memory that flows: the layer of Eagre that holds its unsafe code.
//!
//! A program that wants streams uses the `eagre` crate, which re-exports what is public here.
//!
//! # Layers
//! | module | is | may import |
//! |---|---|---|
//! | `open` | streams, pools and vectors with a trap and a mover that work here | `probe`, `transfer`, `stream`, `memory`, `trap`, `mover`, `options`, `heap`, `units` |
//! | `probe` | which traps and movers work here, tried with real faults | `stream`, `trap`, `mover`, `sys`, `options`, `heap`, `units` |
//! | `transfer` | blocks of a stream on their way from or to a file | `stream`, `sys` |
//! | `process` | streams between two processes | `stream`, `memory`, `mover`, `trap`, `sys`, `options`, `heap`, `units` |
//! | `stream` | the protocol, and the ends that drive it | `memory`, `trap`, `mover`, `sys`, `options`, `heap`, `units` |
//! | `memory` | reservations, pools, what joins them, and mapped files | `trap`, `mover`, `sys`, `options`, `heap`, `units` |
//! | `trap` | how a touch is noticed | `sys`, `heap`, `units` |
//! | `mover` | how a block changes its address | `sys` |
//! | `threads` | threads for the length of a call, which may be refused | `sys` |
//! | `cache` | what the kernel keeps of a file | `sys` |
//! | `fatal` | the heap of a command, which has a line for the case that memory is refused | `sys` |
//! | `sys` | every system call, with a portable twin | `heap`, `units` |
//! | `options` | what the environment may say | none |
//! | `heap` | pieces of the heap that may be refused | none |
//! | `units` | block sizes and bytes as types | none |
//!
//! Tests may import more.
//!
//! Unsafe code is in the modules that allow it below. A file of theirs that holds none forbids it.

// Outside of these modules there is no unsafe code.
#![deny(unsafe_code)]

pub mod cache;
#[allow(unsafe_code)]
pub mod fatal;
#[allow(unsafe_code)]
pub mod heap;
#[allow(unsafe_code)]
pub(crate) mod memory;
#[allow(unsafe_code)]
pub(crate) mod mover;
mod open;
pub mod options;
#[allow(unsafe_code)]
pub mod probe;
#[cfg(all(target_os = "linux", not(miri)))]
#[allow(unsafe_code)]
pub mod process;
#[allow(unsafe_code)]
pub mod stream;
#[allow(unsafe_code)]
pub(crate) mod sys;
#[allow(unsafe_code)]
pub mod threads;
#[allow(unsafe_code)]
pub mod transfer;
#[allow(unsafe_code)]
pub(crate) mod trap;
mod units;

pub use memory::mapping::{LookError, Mapping};
pub use memory::pool::{Pool, PoolStats};
pub use memory::{
    Appender, Block, Draft, FixedMemory, GrowingBuffer, Mappings, NotAppended, NotMapped, Plain, RawBlock, Region,
    Rejected, RewireError, RewireErrorKind, RewiredIntoIter, RewiredVec, Snapshot, SnapshotArray, SnapshotOptions,
    SnapshotStats, StreamPool, VanishingArray, View, ViewArray, ViewOptions, ViewStats,
};
pub use mover::Mover;
pub use open::check_environment;
pub use trap::{End, Trap};
pub use units::BlockSize;
