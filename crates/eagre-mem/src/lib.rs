//! Memory that flows: the layer of Eagre that holds its unsafe code.
//!
//! A program that wants streams uses the `eagre` crate, which re-exports what is public here.
//!
//! ```text
//! transfer blocks of a stream on their way from or to a file
//! stream   the protocol, and the ends that drive it
//! memory   reservations (addresses), pools (blocks), what joins them (regions, vectors), and mapped files
//! trap     how a touch is noticed          mover   how a block changes its address
//! sys      every system call, with a portable twin
//! heap, threads   what the standard library has only for those whom memory is never refused
//! ```
//! Each layer uses the ones below it and knows nothing of those above.

// Outside of these modules there is no unsafe code.
#![deny(unsafe_code)]

pub mod cache;
#[allow(unsafe_code)]
pub mod heap;
#[allow(unsafe_code)]
pub(crate) mod memory;
#[allow(unsafe_code)]
pub(crate) mod mover;
pub mod options;
mod pools;
#[allow(unsafe_code)]
pub mod probe;
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
    Appender, Block, GrowingBuffer, Mappings, NotAppended, NotMapped, Plain, RawBlock, Region, Rejected, RewireError,
    RewireErrorKind, RewiredIntoIter, RewiredVec, StreamPool, VanishingArray,
};
pub use mover::Mover;
pub use trap::{End, Trap};
pub use units::BlockSize;
