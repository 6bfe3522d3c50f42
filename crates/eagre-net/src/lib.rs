//! Streams between hosts: a program writes to a plain pointer here, another reads one there.
//!
//! ```
//! use eagre_net::{Connector, Listener, Options};
//! use std::io::{Read, Write};
//!
//! let listener = Listener::bind("127.0.0.1:0", Options::new())?; // the one host
//! let address = listener.local_address().to_string();
//! let other = std::thread::spawn(move || -> Result<(), eagre_net::NetError> {
//!     let mut writer = Connector::new(&address)?.writer("numbers")?; // the other host
//!     writer.write_all(b"1 2 3").expect("the stream works");
//!     writer.finish().map(drop)
//! });
//! let mut text = String::new();
//! listener.reader("numbers")?.read_to_string(&mut text)?;
//! assert_eq!(text, "1 2 3");
//! # other.join().unwrap()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The ends are those of an ordinary stream of [`eagre`]: a pointer, explicit calls, or [`Read`](std::io::Read) and
//! [`Write`](std::io::Write). A thread beside each carries blocks between the stream and a TCP connection. A connection that
//! breaks is made again, and the stream goes on where the other side has it. Every piece is checked (XXH3), and so is the
//! whole stream at its end (BLAKE3).
//!
//! Off loopback a connection is TLS 1.3, and both sides prove who they are: [`Security`].
//!
//! # Layers
//! | module | is | may import |
//! |---|---|---|
//! | `transfer` | files and directories between hosts | `listener`, `connector`, `ends`, `options`, `link`, `security`, `error` |
//! | `listener` | the side that waits for others | `ends`, `session`, `options`, `greeting`, `link`, `address`, `error` |
//! | `connector` | the side that calls | `ends`, `session`, `options`, `greeting`, `security`, `address`, `error` |
//! | `ends` | what a user holds: a stream's end, and the thread beside it | `sending`, `receiving`, `session`, `greeting`, `error` |
//! | `receiving` | the thread that fills a stream from connections | `sending`, `ring`, `rdma`, `stop`, `digest`, `session`, `greeting`, `link`, `frame`, `error` |
//! | `sending` | the thread that empties a stream into connections | `ring`, `rdma`, `stop`, `digest`, `pace`, `session`, `greeting`, `link`, `frame`, `error` |
//! | `session` | one stream's life over several connections | `cancel`, `options`, `greeting`, `link`, `address`, `error` |
//! | `options` | the settings of a stream | `cancel`, `pace`, `rdma`, `greeting`, `security`, `error` |
//! | `ring` | how blocks find a way beside a connection, through `eagre-fabric` | `stop`, `session`, `greeting`, `link`, `rdma`, `frame`, `error` |
//! | `stop` | why work on one connection ends | `link`, `error` |
//! | `greeting` | the first messages on a connection | `rdma`, `link`, `error` |
//! | `link` | one connection, plain or TLS | `frame`, `security`, `error` |
//! | `pace` | a limit of bytes a second | `link` |
//! | `digest` | the digest of a whole stream | `frame` |
//! | `frame` | messages on a connection | none |
//! | `rdma` | how blocks travel by RDMA | `error` |
//! | `security` | keys, and who is trusted | `error` |
//! | `address` | host and port | `error` |
//! | `cancel` | giving up the opening of a stream | none |
//! | `error` | why it did not work | none |
//!
//! Tests may import more.
#![forbid(unsafe_code)]

mod address;
mod cancel;
mod connector;
mod digest;
mod ends;
mod error;
mod frame;
mod greeting;
mod link;
mod listener;
mod options;
mod pace;
mod rdma;
mod receiving;
mod ring;
pub mod security;
mod sending;
mod session;
mod stop;
#[cfg(feature = "transfer")]
pub mod transfer;

pub use address::DEFAULT_PORT;
pub use cancel::Cancel;
pub use connector::Connector;
pub use ends::{NetworkReader, NetworkWriter, Summary, Transfer};
pub use error::{NetError, NetErrorKind};
pub use listener::{Listener, Offer};
pub use options::Options;
pub use rdma::{Libfabric, Rdma, RdmaAlgorithm, RdmaCosts, RdmaDevice, RdmaProvider};
pub use security::{Fingerprint, Identity, Security};

/// The code of the page for users compiles, and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/network.md")]
struct Page;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/rdma.md")]
struct RdmaPage;
