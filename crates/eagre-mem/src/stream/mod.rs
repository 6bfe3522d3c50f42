//! Streams: memory that flows from a writer to a reader.
//!
//! [`Pipe::builder`] opens one. Its ends can be used through plain pointers, whose page faults bring the right block to
//! the right place, or through explicit calls, which need no faults.
//!
//! # Safety
//! The unsafe code here reads and writes blocks that the `protocol` says belong to the end that does it.

mod callback;
mod control;
pub(crate) mod core;
mod drain;
pub(crate) mod error;
mod faults;
mod flow;
pub(crate) mod gate;
mod lifecycle;
mod mapping;
mod pipe;
mod pointer;
pub(crate) mod protocol;
mod reader;
pub(crate) mod report;
pub(crate) mod stats;
pub(crate) mod wait;
mod writer;

pub use self::callback::{Sink, SinkWriter, Source};
pub(crate) use self::callback::{empty_into, fill_from};
pub use self::control::Control;
pub use self::core::OnFailure;
pub use self::error::{OpenError, StreamError, StreamErrorKind};
pub use self::pipe::{Pipe, PipeBuilder};
pub use self::reader::{ReadBlock, Reader};
pub use self::report::{Wait, wait_report};
pub use self::stats::{EndStats, StreamStats};
pub use self::writer::{WriteBlock, Writer};
