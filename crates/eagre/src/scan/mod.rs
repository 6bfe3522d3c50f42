//! Questions about the bytes of a file that are answered piece by piece.
//!
//! How many lines, where is this word, what is the mean per key: the answer for a file can be put together from
//! answers for its pieces, as long as neighbours know how to join. So a question is a [`Scan`]: it looks at one piece
//! at a time and returns a *part*, and the parts come back to the caller in the order of the file. Everything else is
//! the business of the [`Scanner`], the same for all questions: whether the file is mapped, read or streamed past the
//! page cache, how large the pieces are, and how many threads look at them.
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
    not(any(feature = "count", feature = "find", feature = "stats")),
    allow(unused_imports, reason = "for questions")
)]
pub(crate) use settings::{about, setting_methods};

/// A question about the bytes of a file whose answer can be put together from parts.
///
/// Several threads look at different pieces at once, each with a worker's state of its own: a place for buffers, and
/// for sums that do not depend on the order (a table of keys).
pub trait Scan: Sync {
    /// What one thread keeps between pieces.
    type Worker: Send;
    /// What one piece says, and what its neighbours need to know of it.
    type Part: Send;

    /// The state of one more thread.
    fn worker(&self) -> Self::Worker;

    /// Looks at one piece: `bytes`, never empty, which begin at `offset` of the input. Pieces follow one another
    /// without gap or overlap; where they are cut has no meaning.
    fn piece(&self, worker: &mut Self::Worker, offset: u64, bytes: &[u8]) -> Self::Part;
}

/// Whether `EAGRE_PLAN` and `EAGRE_SIMD` hold values that can be had.
pub(crate) fn check_environment() -> Result<(), String> {
    plan::from_environment()?;
    kernels::Kernels::check()
}
