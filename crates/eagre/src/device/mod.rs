//! What the file system of a directory can do, measured: a [`Profile`].
//!
//! The best way to sort a file depends on its device. On a disk, random reads of small records are a hundred times slower
//! than sequential ones; in the page cache, on tmpfs and on byte-addressable storage they are not. On some devices writes
//! are faster than reads, on others slower; on some, reads and writes slow each other down. WiscSort (Banakar et al.,
//! PVLDB 16, 2023) names five such properties BRAID: **b**yte addressability, fast **r**andom reads, **a**symmetric cost
//! of reads and writes, read-write **i**nterference, and a limited scaling of **d**evice concurrency. A profile has a
//! number for each.
//!
//! ```text
//! Profile::measure ─┐                        ┌─> cost::predict ─> seconds of each plan
//! Profile::probe   ─┼─> Profile ─> rate(..) ─┤
//! Profile::load    ─┘     ^                  └─> eagre doctor DIR
//!                         └── Emulated::profile: the same device with delays added
//! ```
//!
//! A profile is a list of measurements: an access pattern, a request size, a number of requests in flight, and the bytes
//! per second. [`Profile::rate`] interpolates between them. [`Profile::measure`] takes up to half a minute,
//! [`Profile::probe`] up to half a second. [`Profile::save`] keeps a profile in the user's cache directory, where
//! [`Profile::load`] finds it for a month.
//!
//! Requests in flight are counted in threads, each of which waits for one request at a time. So the column of a table that
//! says 4 is both queue depth 4 and four threads.
//!
//! ```no_run
//! use std::path::Path;
//! use std::time::Duration;
//! use eagre::device::{Access, Profile};
//!
//! let directory = Path::new("/var/tmp");
//! let profile = match Profile::load(directory)? {
//!     Some(profile) => profile,
//!     None => Profile::probe(directory)?,
//! };
//! println!("4 KiB random reads: {:.0} B/s", profile.rate(Access::RandomRead, 4096, 16));
//! # std::io::Result::Ok(())
//! ```

mod bench;
mod cached;
pub mod cost;
#[cfg(test)]
mod cost_tests;
mod emulated;
mod identity;
mod measure;
mod profile;
mod rates;
mod scratch;
#[cfg(test)]
mod tests;
mod text;

pub use cached::LIFETIME;
pub use emulated::{Emulated, Held, Model, Pattern, UnknownModel};
pub use identity::Identity;
pub use measure::Step;
pub use profile::{Access, Measured, Profile, Thoroughness};
