//! Blocks between hosts by RDMA: libfabric, opened at run time, and a ring of blocks that is registered once.
//!
//! Nothing here is needed to build: `libfabric.so.1` is looked for when [`Fabric::open`] is called, and what is missing is an
//! error. The few structures that are used are declared in `abi`; a test compares them with the headers where those are at hand.
//!
//! The side that receives makes a [`Ring`] and hands its [`Offer`] to the other side over a connection that both trust. The
//! other side makes a [`Sender`] of it and writes blocks straight into the ring.
//!
//! # Layers
//! | module | is | may import |
//! |---|---|---|
//! | `receiver` | the side whose memory is written | `endpoint`, `memory`, `library`, `offer`, `error` |
//! | `sender` | the side that writes | `endpoint`, `memory`, `library`, `offer`, `error` |
//! | `endpoint` | connections, registrations and completions | `memory`, `library`, `abi`, `error` |
//! | `library` | the library, opened, and what it has | `abi`, `error` |
//! | `memory` | memory that stays where it is | `error` |
//! | `offer` | what the sender has to know | `error` |
//! | `abi` | libfabric's structures | none |
//! | `error` | why it did not work | none |
//!
//! Tests may import more.
//!
//! Unsafe code is in the modules that allow it below.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![deny(unsafe_code)]

mod abi;
#[allow(unsafe_code)]
mod endpoint;
mod error;
#[allow(unsafe_code)]
mod library;
#[allow(unsafe_code)]
mod memory;
mod offer;
mod receiver;
mod sender;

pub use error::{FabricError, FabricErrorKind};
pub use library::{Fabric, Provider};
pub use offer::Offer;
pub use receiver::{Receiver, Ring};
pub use sender::Sender;
