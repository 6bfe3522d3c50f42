//! Files as streams, and files that appear complete or not at all.
//!
//! [`open`] reads a file through an ordinary stream: the [`Reader`] has a pointer, `fill`/`consume`,
//! `Read` and `BufRead`, as any other. [`create`] is the same for writing. Large files go straight between the disk and
//! the blocks of the stream, past the page cache, several requests at a time ([`Caching`]).
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
#[cfg(feature = "gensort")]
pub(crate) mod computed;
pub(crate) mod failure;
#[cfg(test)]
mod faulty;
pub mod name;
#[cfg_attr(not(feature = "copy"), allow(dead_code, reason = "some of it is for copies"))]
pub(crate) mod naming;
#[cfg_attr(not(feature = "copy"), allow(dead_code, reason = "some of it is for copies"))]
pub(crate) mod output;
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

/// Opens a file as a stream. [`ReadOptions`] has the choices.
///
/// # Errors
/// As [`ReadOptions::open`].
pub fn open(path: impl AsRef<Path>) -> io::Result<Reader> {
    ReadOptions::new().open(path)
}

/// Makes a file from a stream: it appears, complete, when [`FileWriter::finish`] returns. [`WriteOptions`] has the
/// choices.
///
/// # Errors
/// As [`WriteOptions::create`].
pub fn create(path: impl AsRef<Path>) -> io::Result<FileWriter> {
    WriteOptions::new().create(path)
}
