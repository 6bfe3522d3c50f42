//! One plain pointer to data larger than memory.
//!
//! A producer writes to the pointer, a consumer reads it; page faults move a handful of physical blocks along
//! underneath. No blocks, no iterators, no copies, and unmodified code works on it.
#![forbid(unsafe_code)]

pub use eagre_mem::stream::{
    Builder, Control, EndStats, ErrorKind, OnFailure, OpenError, Pipe, ReadBlock, Reader, Sink, SinkWriter, Source,
    Stats, StreamError, Wait, WriteBlock, Writer, wait_report,
};
pub use eagre_mem::{BlockSize, End, Mover, Pool, PoolStats, Trap, options, probe};
