//! Files as streams, and files that appear complete or not at all.
//!
//! [`open`] reads a file through an ordinary stream. Its [`Reader`] offers a pointer, `fill`/`consume`, `Read` and
//! `BufRead` like any other. [`create`] writes a file through a stream in the same way. Large files bypass the page
//! cache: bytes move directly between the disk and the blocks of the stream, with several requests in flight
//! ([`Caching`]).
//!
//! ```no_run
//! use std::io::BufRead;
//!
//! let longest = eagre::file::open("access.log")?.lines().map_while(Result::ok).map(|line| line.len()).max();
//! # std::io::Result::Ok(())
//! ```

#[cfg_attr(not(feature = "copy"), allow(dead_code, reason = "some of it is for copies"))]
pub(crate) mod attributes;
pub(crate) mod cache;
mod caching;
#[cfg(any(feature = "external", feature = "gensort"))]
pub(crate) mod computed;
pub(crate) mod failure;
#[cfg(test)]
pub(crate) mod faulty;
pub mod name;
#[cfg_attr(not(feature = "copy"), allow(dead_code, reason = "some of it is for copies"))]
pub(crate) mod naming;
#[cfg_attr(not(feature = "copy"), allow(dead_code, reason = "some of it is for copies"))]
pub(crate) mod output;
#[cfg(all(feature = "compressed", feature = "external"))]
pub(crate) mod packing;
mod reading;
#[cfg_attr(not(feature = "copy"), allow(dead_code, reason = "some of it is for copies"))]
pub(crate) mod rights;
pub(crate) mod stream;
mod writing;

use std::io;
use std::path::Path;

use crate::Reader;
pub use attributes::Unkept;
pub use caching::Caching;
pub use eagre_mem::transfer::Engine;
pub use output::Output;
pub use reading::ReadOptions;
pub use writing::{FileWriter, WriteOptions};

/// Opens a file as a stream with default options. [`ReadOptions`] sets others.
///
/// # Errors
/// As [`ReadOptions::open`].
pub fn open(path: impl AsRef<Path>) -> io::Result<Reader> {
    ReadOptions::new().open(path)
}

/// Writes a file through a stream, with default options. The file appears, complete, when [`FileWriter::finish`]
/// returns. [`WriteOptions`] sets other options.
///
/// # Errors
/// As [`WriteOptions::create`].
pub fn create(path: impl AsRef<Path>) -> io::Result<FileWriter> {
    WriteOptions::new().create(path)
}
