//! Questions about the bytes of a file that are answered piece by piece.
//!
//! How many lines are there, where is this word, what is the mean per key: the answer for a file can be combined from
//! the answers for its pieces, if neighbouring pieces can be joined. So a question is a [`Scan`]: it looks at one piece
//! at a time and returns a *part*. The caller gets the parts in the order of the file. The [`Scanner`] does everything
//! else, in the same way for all questions. It decides whether the file is mapped, read, or streamed past the page
//! cache, how large the pieces are, and how many threads scan them.
//!
//! ```text
//! file    |----piece----|----piece----|----piece----|--
//! threads     scan            scan          scan            any order, several at once
//! parts       part ----------> part ------> part ------>    delivered in the order of the file
//! ```

mod crew;
mod driver;
mod input;
#[cfg_attr(
    not(all(feature = "count", feature = "find", feature = "stats")),
    allow(dead_code, reason = "each question uses some of it")
)]
#[allow(unsafe_code, reason = "vector instructions")]
pub(crate) mod kernels;
mod plan;
mod queue;
pub mod roofline;
#[cfg_attr(
    not(all(feature = "count", feature = "find", feature = "stats")),
    allow(dead_code, reason = "each question uses some of it")
)]
mod settings;
mod source;
mod unbuffered;

pub use driver::{ScanError, Scanned, Scanner};
pub use input::Input;
pub use kernels::Simd;
pub use plan::{Choice, Plan, Why};
pub use settings::Cancelled;
#[cfg_attr(
    not(any(feature = "count", feature = "external", feature = "find", feature = "gensort", feature = "stats")),
    allow(unused_imports, reason = "for questions")
)]
pub(crate) use settings::{about, setting_methods};

/// A question about the bytes of a file whose answer can be combined from parts.
///
/// Several threads look at different pieces at once. Each has its own worker state: for buffers, and for sums that do
/// not depend on the order, such as a table of keys.
pub trait Scan: Sync {
    /// The state that one thread keeps between pieces.
    type Worker: Send;
    /// The answer for one piece, with what is needed to join it to its neighbours.
    type Part: Send;

    /// Creates the worker state of a thread.
    fn worker(&self) -> Self::Worker;

    /// Looks at one piece: `bytes`, which are not empty and begin at `offset` of the input. Pieces follow one another
    /// without gaps or overlaps. Where they are cut has no meaning.
    fn piece(&self, worker: &mut Self::Worker, offset: u64, bytes: &[u8]) -> Self::Part;
}

/// Checks the values of `EAGRE_PLAN` and `EAGRE_SIMD`.
pub(crate) fn check_environment() -> Result<(), String> {
    plan::from_environment()?;
    kernels::Kernels::check()
}
