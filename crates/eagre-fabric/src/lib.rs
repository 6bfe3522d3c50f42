//! Blocks between hosts by RDMA: libfabric, opened at run time, and memory that is registered once.
//!
//! Nothing here is needed to build: `libfabric.so.1` is looked for when [`Fabric::open`] is called, and what is missing is an
//! error. The few structures that are used are declared in `abi`; a test compares them with the headers where those are at hand.
//!
//! The side that receives registers its memory ([`Waiting`]) and hands its [`Offer`] to the other side over a connection that both
//! trust. The other side takes it ([`Calling`]), and both are connected: an [`Inlet`] grants places, and an [`Outlet`] writes pieces
//! straight into them. What the pieces mean, and whether they are right, is for those who use this to say.
//!
//! # Layers
//! | module | is | may import |
//! |---|---|---|
//! | `inlet` | the side whose memory is written | `outlet`, `names`, `listening`, `end`, `card`, `memory`, `library`, `offer`, `provider`, `random`, `abi`, `error` |
//! | `outlet` | the side that writes | `names`, `end`, `card`, `memory`, `library`, `offer`, `abi`, `error` |
//! | `listening` | waiting for the one who has the offer | `end`, `card`, `library`, `offer`, `provider`, `abi`, `error` |
//! | `end` | one end of a connection: what it writes, says and hears | `names`, `card`, `memory`, `library`, `provider`, `abi`, `error` |
//! | `card` | what the library opens for a connection, and registered memory | `memory`, `library`, `provider`, `random`, `abi`, `error` |
//! | `library` | the library, opened, and what it has | `provider`, `abi`, `error` |
//! | `names` | ends that know each other by name | `error` |
//! | `memory` | memory that stays where it is | `error` |
//! | `offer` | what the sender has to know | `provider`, `error` |
//! | `random` | numbers that nobody can guess | `error` |
//! | `provider` | which of libfabric's ways | none |
//! | `abi` | libfabric's structures | none |
//! | `error` | why it did not work | none |
//!
//! Tests may import more.
//!
//! Unsafe code is in the modules that allow it below.
#![deny(unsafe_code)]

mod abi;
#[allow(unsafe_code)]
mod card;
#[allow(unsafe_code)]
mod end;
mod error;
mod inlet;
#[allow(unsafe_code)]
mod library;
#[allow(unsafe_code)]
mod listening;
#[allow(unsafe_code)]
mod memory;
mod names;
mod offer;
mod outlet;
mod provider;
mod random;

pub use error::{FabricError, FabricErrorKind};
pub use inlet::{Arrival, Inlet, Waiting};
pub use library::{Device, Fabric};
pub use memory::Memory;
pub use offer::{Offer, Registering};
pub use outlet::{Calling, Outlet};
pub use provider::Provider;
