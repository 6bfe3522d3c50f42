//! The order of keys for which the library has none: integers of which some stand for NaN or NaT.
//!
//! They come last, as NaN does with [`Sorter::nan_last`]. The library sorts them by their values; those that are then at the
//! front are rotated to the end.

use std::ops::RangeInclusive;

use eagre::sort::{Key, SortError, Sorter};

/// Sorts keys, those that are not within `values` last.
pub(crate) fn sort<K: Key + PartialOrd>(
    sorter: &Sorter<'_>,
    keys: &mut [K],
    values: RangeInclusive<K>,
    descending: bool,
) -> Result<(), SortError> {
    sorter.sort(keys)?;
    let front = keys.partition_point(|key| key < values.start());
    keys.rotate_left(front);
    if descending {
        let count = keys.partition_point(|key| values.contains(key));
        keys[..count].reverse();
    }
    Ok(())
}

/// Brings the first `k` keys to the front, in order. Those that are not within `values` come last of all, and the others
/// follow in any order.
pub(crate) fn select<K: Key + PartialOrd>(
    sorter: &Sorter<'_>,
    keys: &mut [K],
    values: RangeInclusive<K>,
    (k, descending): (usize, bool),
) -> Result<(), SortError> {
    let (mut at, mut count) = (0, keys.len());
    while at < count {
        if values.contains(&keys[at]) {
            at += 1;
        } else {
            count -= 1;
            keys.swap(at, count);
        }
    }
    let keys = &mut keys[..count];
    if descending { sorter.largest(keys, k) } else { sorter.smallest(keys, k) }
}
