//! Integers that stand for no values, NaT and NaN of 16 bits: they come last, in either direction, as the library does it for
//! floating-point numbers.
//!
//! They are moved to the end before the others are sorted. Among those they would be far from all others, which costs a sort
//! more than this pass does.

use std::ops::RangeInclusive;

use eagre::sort::{Key, SortError, Sorter};

/// Sorts keys, those that are not within `values` last.
pub(crate) fn sort<K: Key + PartialOrd>(
    sorter: &Sorter<'_>,
    keys: &mut [K],
    values: RangeInclusive<K>,
    descending: bool,
) -> Result<(), SortError> {
    sorter.descending(descending).sort(only_values(keys, values))
}

/// Brings the first `k` keys to the front, in order. Those that are not within `values` come last of all, and the others
/// follow in any order.
pub(crate) fn select<K: Key + PartialOrd>(
    sorter: &Sorter<'_>,
    keys: &mut [K],
    values: RangeInclusive<K>,
    (k, descending): (usize, bool),
) -> Result<(), SortError> {
    let keys = only_values(keys, values);
    if descending { sorter.largest(keys, k) } else { sorter.smallest(keys, k) }
}

/// Moves all keys that are no values to the end, and returns the others.
fn only_values<K: Key + PartialOrd>(keys: &mut [K], values: RangeInclusive<K>) -> &mut [K] {
    let mut count = keys.len();
    while let Some(last) = count.checked_sub(1).filter(|&last| !values.contains(&keys[last])) {
        count = last;
    }
    let mut at = 0;
    while let Some(more) = keys[at..count].iter().position(|key| !values.contains(key)) {
        at += more;
        count -= 1;
        keys.swap(at, count);
    }
    &mut keys[..count]
}
