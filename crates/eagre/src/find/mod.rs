//! Finding byte strings in files, streams and slices.
//!
//! A [`Finder`] knows one pattern or several and finds their occurrences as `grep -F -o` does: from left to right, the
//! longest pattern where several begin at one byte, and none that overlaps the one before. So `aa` is twice in
//! `aaaaa`, at 0 and 2. Patterns are bytes, newlines and zeros included; a file is bytes, not lines.
//!
//! # Pieces
//! Which occurrences count depends on everything before them: one byte more in front of a million `a`s moves every
//! match of `aa`. And yet threads look at different pieces of a file at once and the answer is exact. The idea is
//! that a piece decides what it can decide alone, and hands back the rest as bytes:
//!
//! ```text
//! piece   |- - - lead - - -|---------------- decided ----------------|- tail -|
//!         ^                ^                                          ^
//!         what goes on     a quiet point: no occurrence,              the longest pattern, less one byte:
//!         before reaches   counted or not, reaches over it            may begin here and end in the next piece
//!         in here
//! ```
//!
//! Behind a *quiet point* it makes no difference what was matched before, so a piece looks for its first one, which
//! in nearly all data is right behind the reach of a match that came in from the left. The [`Join`] then searches only
//! the few bytes of each seam, `tail` and `lead`, one after another. A piece without a quiet point (`aa` in a million
//! `a`s), or one too short to have any, is handed back whole: no thread is saved, the answer is the same, and at no
//! time is more kept than the pieces themselves. Matches travel as gaps of one to five bytes, so a list of them is
//! never longer than its piece times the few bytes of a pattern's number.
//!
//! # One pattern
//! is found by comparing its two rarest bytes, at their distance, with 64 places at a time, and the whole pattern where
//! both are right (`kernel.rs`, AVX-512). Where that fails too often, and on other machines, [`memchr::memmem`] goes
//! on, whose time is linear whatever the data. Several patterns, and capital and small letters without AVX-512, are the
//! business of the `aho-corasick` crate.
//!
//! # Example
//! ```
//! use eagre::find::Finder;
//!
//! let finder = Finder::several(["ear", "eagre", "wave"])?;
//! let found: Vec<_> = finder.iter(b"an eagre is a wave, hear").map(|found| (found.start, found.pattern)).collect();
//! assert_eq!(found, [(3, 1), (14, 2), (21, 0)]);
//! # Ok::<(), eagre::find::PatternError>(())
//! ```

mod engine;
mod finder;
mod found;
mod join;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "AVX-512 loads")]
mod kernel;
#[cfg(not(target_arch = "x86_64"))]
#[path = "kernel_none.rs"]
mod kernel;
mod patterns;
mod search;

pub use finder::{Finder, Match};
pub use join::Join;
pub use patterns::{FinderBuilder, PatternError};
pub use search::{Part, Search};

use std::io;
use std::path::Path;
/// How often `pattern` occurs in a file, with all threads this process may use.
///
/// # Errors
/// Those of opening and reading the file, with its name; [`InvalidInput`](io::ErrorKind::InvalidInput) for an empty pattern.
///
/// # Example
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("notes");
/// std::fs::write(&path, "to be or not to be")?;
/// assert_eq!(eagre::find::file(&path, "be")?, 2);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn file(path: impl AsRef<Path>, pattern: impl AsRef<[u8]>) -> io::Result<u64> {
    Finder::new(pattern).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?.file(path)
}
