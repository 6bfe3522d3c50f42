//! Sorting in memory, in place.
//!
//! Keys are sorted by their bits, the highest first, in few passes over memory: a range is split in place into
//! buckets that fit the cache, these through a little spare memory into leaves that fit the first-level cache, and
//! those by one more step and sorting networks on their way back. What is in order already is seen and left alone.
//!
//! The result is that of [`slice::sort`], with floating-point numbers in their total order ([`f64::total_cmp`]), and
//! pairs by their first part and then their second.
//!
//! ```
//! let mut numbers = vec![3.0, -1.0, 2.0];
//! eagre::sort::sort(&mut numbers);
//! assert_eq!(numbers, [-1.0, 2.0, 3.0]);
//!
//! let mut pairs = vec![(3u64, 7u64), (1, 8), (3, 6)];
//! eagre::sort::Sorter::new().threads(1).slack(1 << 20).sort(&mut pairs);
//! assert_eq!(pairs, [(1, 8), (3, 6), (3, 7)]);
//! ```

mod bounds;
#[allow(unsafe_code, reason = "SIMD, and loops whose bounds are proved once and not per word")]
mod kernels;
mod plan;
mod range;
mod sample;
mod team;
#[cfg(test)]
mod tests;

use kernels::{Level, Word};
use range::Sorting;

/// What can be sorted: `u32`, `i32`, `f32`, `u64`, `i64`, `f64`, `u128`, `i128`, `(u32, u32)` and `(u64, u64)`.
pub trait Key: Word {}

impl<W: Word> Key for W {}

/// Sorts in ascending order, on as many threads as the process may use. See [`Sorter::sort`].
pub fn sort<K: Key>(keys: &mut [K]) {
    Sorter::new().sort(keys);
}

/// How to sort.
#[derive(Clone, Copy, Debug)]
pub struct Sorter {
    level: Level,
    threads: Option<usize>,
    slack: Option<usize>,
}

impl Default for Sorter {
    fn default() -> Sorter {
        Sorter::new()
    }
}

impl Sorter {
    /// As many threads as the process may use; memory beside the keys as [`Sorter::slack`] says.
    pub fn new() -> Sorter {
        Sorter { level: Level::detect(), threads: None, slack: None }
    }

    /// Uses up to so many threads, at least one.
    pub fn threads(mut self, threads: usize) -> Sorter {
        self.threads = Some(threads.max(1));
        self
    }

    /// Takes at most so many bytes of memory beside the keys and 100 KiB of stack. By default an eighth of the keys'
    /// own memory, or 64 MiB if that is more; ten MiB a thread and a hundredth of the keys' memory are not exceeded
    /// whatever is allowed. With less than 1.2 MiB, and a hundredth of the keys' memory, they are sorted by comparing,
    /// which is slower; with too little for all threads, by fewer.
    pub fn slack(mut self, bytes: usize) -> Sorter {
        self.slack = Some(bytes);
        self
    }

    /// Sorts in ascending order, in place.
    ///
    /// If memory beside the keys is not to be had, the keys are sorted without, by comparing.
    pub fn sort<K: Key>(&self, keys: &mut [K]) {
        if range::small(self.level, keys) {
            return;
        }
        let slack = self.slack.unwrap_or((size_of_val(keys) / 8).max(64 << 20));
        let threads = self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let mut fewer = std::iter::successors(Some(threads), |&threads| (threads > 1).then_some(threads / 2));
        match fewer.find_map(|threads| Sorting::new(self.level, keys.len(), threads, slack)) {
            Some(mut sorting) => sorting.sort(keys),
            None => keys.sort_unstable_by_key(|key| key.key()),
        }
    }
}
