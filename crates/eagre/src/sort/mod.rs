//! Sorting in memory, in place.
//!
//! The sort is a radix sort from the most significant bits on, with few passes over memory. It splits a range in place
//! into buckets that fit the second-level cache, and these into base cases that fit the first-level cache. A base case
//! is split once more, and sorting networks finish it. Ranges in order are detected and left alone. Skewed keys are
//! split by splitters from a sample (as in samplesort), and few distinct keys are counted.
//!
//! The result is that of [`slice::sort`]. Floating-point numbers are in their total order ([`f64::total_cmp`]), pairs
//! are ordered by their first part, then by their second.
//!
//! ```
//! let mut numbers = vec![3.0, -1.0, 2.0];
//! eagre::sort::sort(&mut numbers);
//! assert_eq!(numbers, [-1.0, 2.0, 3.0]);
//!
//! let mut pairs = vec![(3u64, 7u64), (1, 8), (3, 6)];
//! eagre::sort::Sorter::new().threads(1).slack(1 << 20).sort(&mut pairs)?;
//! assert_eq!(pairs, [(1, 8), (3, 6), (3, 7)]);
//! # Ok::<(), eagre::sort::SortError>(())
//! ```
//!
//! The free function cannot fail. The methods of [`Sorter`] take options, and return errors.

mod base_case;
mod bounds;
mod by_key;
mod compare;
mod counting;
mod error;
#[allow(unsafe_code, reason = "SIMD, and loops whose bounds are proved once and not per word")]
mod kernels;
mod key;
mod order;
mod partial;
mod parts;
#[cfg(test)]
#[path = "../../tests/sort/patterns.rs"]
mod patterns;
mod progress;
mod range;
mod sample;
mod slice;
mod sorter;
#[cfg(test)]
mod stop_tests;
mod strategy;
pub(crate) mod team;
#[cfg(test)]
mod ways_tests;
mod worker;

pub use error::SortError;
pub use key::Key;
pub use progress::Progress;
pub use slice::SliceSort;
pub use sorter::Sorter;

pub(crate) use kernels::{Level, Word};
pub(crate) use order::SortOrder;

/// Sorts in ascending order, on as many threads as the process may use. See [`Sorter::sort`].
///
/// This function cannot fail. If the system refuses memory, it sorts in place by comparing, which is slower. It ignores
/// `EAGRE_SIMD` if that has a value that cannot be had.
pub fn sort<K: Key>(keys: &mut [K]) {
    if Sorter::lenient().sort(keys).is_err() {
        keys.sort_unstable_by_key(|key| key.key());
    }
}
