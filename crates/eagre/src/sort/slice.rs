//! The sort as a method of slices.

use super::progress::{Monitor, WHOLE};
use super::{Key, Sorter, compare, sort};

/// Sorts as methods, beside those of the standard library. They use as many threads as the process may use and cannot fail:
/// see [`sort`]. [`Sorter`] has the options.
///
/// ```
/// use eagre::sort::SliceSort;
///
/// let mut numbers = vec![3.0, -1.0, 2.0];
/// numbers.eagre_sort();
/// assert_eq!(numbers, [-1.0, 2.0, 3.0]);
///
/// let mut words = ["theseus", "of", "ship"];
/// words.eagre_sort_by_key(|word| word.len());
/// assert_eq!(words, ["of", "ship", "theseus"]);
/// ```
pub trait SliceSort<T> {
    /// Sorts in ascending order.
    fn eagre_sort(&mut self)
    where
        T: Key;

    /// Sorts by a key that is cheap to compute. Elements with equal keys keep their order. See [`Sorter::sort_by_key`]; if
    /// the system refuses memory, it sorts without, which is slower.
    ///
    /// # Panics
    /// If `key` does.
    fn eagre_sort_by_key<K: Key>(&mut self, key: impl FnMut(&T) -> K);
}

impl<T> SliceSort<T> for [T] {
    fn eagre_sort(&mut self)
    where
        T: Key,
    {
        sort(self);
    }

    fn eagre_sort_by_key<K: Key>(&mut self, mut key: impl FnMut(&T) -> K) {
        if Sorter::lenient().sort_by_key(self, &mut key).is_err() {
            // A sort that fails moves no element past an equal one.
            let silence = Monitor::new(None, self.len(), size_of::<T>(), WHOLE);
            compare::stable(self, &mut key, silence.reporter(WHOLE));
        }
    }
}
