//! Files, directories and pipes between hosts: what `eagre send` and `eagre receive` do.
//!
//! ```no_run
//! use eagre_net::transfer::{Receiver, Sender};
//! use eagre_net::{Connector, Listener, Options};
//!
//! // The one host.
//! let listener = Listener::bind("127.0.0.1:7373", Options::new())?;
//! Receiver::into_directory("/backup")?.receive(&listener, &mut |_| ())?;
//!
//! // The other host.
//! let mut sender = Sender::new();
//! sender.add("photos")?;
//! sender.send(&Connector::new("127.0.0.1:7373")?, &mut |_| ())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A file that is received appears complete, checked (BLAKE3) and on the disk, or not at all. Who calls whom does not decide who
//! sends: each side takes a [`Connector`](crate::Connector) or a [`Listener`](crate::Listener).
//!
//! | module | holds |
//! |---|---|
//! | `sender`, `receiver` | the two sides |
//! | `talk` | the streams of a transfer |
//! | `walk` | the files of the side that sends |
//! | `folders`, `incoming`, `finishing` | the directories and files of the side that receives |
//! | `list`, `have`, `content`, `done` | what the two sides say to each other |
//! | `packing` | compression on the way |
//! | `name`, `wire` | checks of what the other side says |
//! | `event`, `failure` | what is told |
#![forbid(unsafe_code)]

mod content;
mod done;
mod event;
mod failure;
mod finishing;
mod folders;
mod have;
mod incoming;
mod list;
mod name;
mod packing;
mod receiver;
mod sender;
mod talk;
mod walk;
mod wire;

pub use event::{Event, Transferred, Watch};
pub use failure::TransferError;
pub use packing::Compression;
pub use receiver::Receiver;
pub use sender::Sender;
pub use talk::Peer;
