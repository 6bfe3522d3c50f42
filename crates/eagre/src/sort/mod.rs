//! Sorting in memory, in place.
//!
//! Numbers are sorted by their bits, the highest first, in few passes over memory: a range is split in place into
//! buckets that fit the cache, these through a little spare memory into leaves that fit the first-level cache, and
//! those by one more step and sorting networks on their way back. What is in order already is seen and left alone.
//!
//! ```
//! let mut numbers = vec![3, 1, 2];
//! eagre::sort::sort(&mut numbers);
//! assert_eq!(numbers, [1, 2, 3]);
//! ```

#[allow(unsafe_code, reason = "SIMD, and loops whose bounds are proved once and not per word")]
mod kernels;
mod range;
#[cfg(test)]
mod tests;

use kernels::Level;
use range::Sorting;

/// Sorts numbers in ascending order.
///
/// Takes up to 16 MiB of memory beside them, for the time of the call.
///
/// # Panics
/// If there is no memory; the numbers are as they were.
pub fn sort(numbers: &mut [u64]) {
    let level = Level::detect();
    if range::small(level, numbers) {
        return;
    }
    let mut sorting = Sorting::new(level, numbers.len()).expect("memory to sort in");
    sorting.sort(numbers, u64::BITS);
}
