//! Partial sorting: the smallest or largest few of many.

use super::{Key, SortError, Sorter};

impl Sorter<'_> {
    /// Brings the `k` smallest keys to the front, in ascending order. The others follow in any order. With fewer than
    /// `k` keys, sorts them all.
    ///
    /// # Errors
    /// Those of [`Sorter::sort`].
    ///
    /// ```
    /// let mut numbers = [5u64, 1, 4, 2, 3];
    /// eagre::sort::Sorter::new().smallest(&mut numbers, 2)?;
    /// assert_eq!(numbers[..2], [1, 2]);
    /// # Ok::<(), eagre::sort::SortError>(())
    /// ```
    pub fn smallest<K: Key>(&self, keys: &mut [K], k: usize) -> Result<(), SortError> {
        if k > 0 && k < keys.len() {
            keys.select_nth_unstable_by_key(k - 1, |key| key.key());
        }
        let k = k.min(keys.len());
        self.sort(&mut keys[..k])
    }

    /// Brings the `k` largest keys to the front, in descending order. The others follow in any order. With fewer than
    /// `k` keys, sorts them all.
    ///
    /// # Errors
    /// Those of [`Sorter::sort`].
    ///
    /// ```
    /// let mut numbers = [5u64, 1, 4, 2, 3];
    /// eagre::sort::Sorter::new().largest(&mut numbers, 2)?;
    /// assert_eq!(numbers[..2], [5, 4]);
    /// # Ok::<(), eagre::sort::SortError>(())
    /// ```
    pub fn largest<K: Key>(&self, keys: &mut [K], k: usize) -> Result<(), SortError> {
        if k > 0 && k < keys.len() {
            keys.select_nth_unstable_by(k - 1, |a, b| b.key().cmp(&a.key()));
        }
        let k = k.min(keys.len());
        self.sort(&mut keys[..k])?;
        keys[..k].reverse();
        Ok(())
    }
}
