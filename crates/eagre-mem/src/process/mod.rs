//! Streams between two processes.
//!
//! One process writes and one reads, through plain pointers or explicit calls, as with a [`Pipe`](crate::stream::Pipe). Their
//! blocks are memory that both have mapped, so nothing is copied on the way. A stream is opened on a [`Connection`]: one
//! process makes the stream, with [`Options::writer`] or [`Options::reader`], and the other joins it, with [`Writer::join`]
//! or [`Reader::join`].
//!
//! ```
//! use eagre_mem::process::{Connection, Options, Reader};
//!
//! // Both ends in one process, to fit on this page: `theirs` would go to another one.
//! let (ours, theirs) = Connection::pair()?;
//! let mut writer = Options::new().writer(ours)?;
//! let reading = std::thread::spawn(move || {
//!     let mut reader = Reader::join(theirs)?;
//!     let mut text = String::new();
//!     std::io::Read::read_to_string(&mut reader, &mut text)?;
//!     Ok::<_, std::io::Error>(text)
//! });
//! writer.copy_in(b"through memory that two processes share")?;
//! writer.finish()?;
//! assert_eq!(reading.join().unwrap()?, "through memory that two processes share");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! If the other process dies, an end that waits for it gets an error at once, and an end that does not when it needs it next. The
//! memory is given back when both ends are gone, however they go.
//!
//! # What the other process can do
//! Only processes of the same user connect by name, and whoever is passed a descriptor. The other process can write to the stream's
//! memory at any time. So it can spoil the bytes of the stream, and make it fail; it cannot make this process read or write
//! anywhere else, because no length and no index that it says is used before it has been checked. Bytes that are *lent*
//! ([`Reader::fill`], [`Reader::take`], a pointer) lie in that memory: a process that breaks the protocol can change
//! them while they are looked at. Code that must not be fooled by that copies them first: [`Reader::copy_out`] and [`Read`](std::io::Read).
//!
//! # Safety
//! The unsafe code here reads and writes blocks that the protocol says belong to the end that does it.

mod connection;
mod control;
mod core;
mod examine;
mod faults;
mod hello;
mod open;
mod page;
mod pointer;
mod reader;
mod wait;
mod waits;
mod writer;

pub use connection::{Connection, Listener};
pub use control::Control;
pub use examine::{Abilities, examine};
pub use open::Options;
pub use reader::{ReadBlock, Reader};
pub use writer::{WriteBlock, Writer};
