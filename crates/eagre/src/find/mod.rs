//! Finding byte strings in files, streams and slices.
//!
//! A [`Finder`] has one pattern or several. It finds their occurrences as `grep -F -o` does: from left to right, the
//! longest pattern where several begin at one byte, and none that overlaps the one before. So `aa` occurs twice in
//! `aaaaa`, at 0 and 2. Patterns are any bytes, including newlines and zeros. Files are searched as bytes, not as
//! lines.
//!
//! # Pieces
//! Which occurrences count as matches depends on everything before them: one more byte in front of a million `a`s moves
//! every match of `aa`. Still, several threads look at different pieces of a file at once, and the result is exact.
//! Each piece decides what it can decide alone, and hands back the rest as bytes:
//!
//! ```text
//! piece   |- - - lead - - -|---------------- decided ----------------|- tail -|
//!         ^                ^                                          ^
//!         a match from     a quiet point: no occurrence,              the longest pattern, less one byte: a match
//!         the piece before counted or not, extends over it            may begin here and end in the next piece
//!         may end in here
//! ```
//!
//! Behind a *quiet point*, earlier matches make no difference. So a piece looks for its first quiet point. In nearly
//! all data it is right behind the last byte that a match from the piece before can reach. The [`Join`] then searches
//! only the few bytes of each seam (`tail` and `lead`), one seam after another. A piece without a quiet point (`aa` in
//! a million `a`s), or one too short to have any, is handed back whole. Then no time is saved by threads, but the
//! result is the same, and never more than the pieces themselves is kept. Matches are stored as gaps of one to five
//! bytes, so the list of matches of a piece is limited to the size of the piece, times the few bytes of a pattern's
//! index.
//!
//! # The algorithm
//! For one pattern, `kernel.rs` uses AVX-512. It compares the two rarest bytes of the pattern, at their distance, at 64
//! places at a time, and the whole pattern where both match. If that fails too often, and on other machines,
//! [`memchr::memmem`] continues, whose time is linear on any data. Several patterns, and case-insensitive searches
//! without AVX-512, use the `aho-corasick` crate.
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
/// Counts the occurrences of `pattern` in a file with all threads that this process may use.
///
/// # Errors
/// Those of opening and reading the file, which name it. [`InvalidInput`](io::ErrorKind::InvalidInput) for an empty
/// pattern.
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
