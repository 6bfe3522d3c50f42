//! Sorting things by a key, stable: pairs, records of any kind, and the order of keys that stay where they are.
//!
//! Things that are more than a key are not sorted themselves. Their keys are computed, each with its place, and
//! sorted; then each thing goes where it belongs.

use super::kernels::first::by_first;
use super::{Key, SortError, Sorter};

/// Larger pairs are moved only once.
const LARGEST: usize = 64;

/// A key and where it was.
type Placed<K> = (K, usize);

impl Sorter<'_> {
    /// Sorts pairs by their first part; those with equal first parts stay in the order they were in.
    ///
    /// # Errors
    /// Those of [`Sorter::sort`].
    ///
    /// ```
    /// let mut pairs = [(2u64, 'a'), (1, 'b'), (2, 'c'), (1, 'd')];
    /// eagre::sort::Sorter::new().sort_pairs(&mut pairs)?;
    /// assert_eq!(pairs, [(1, 'b'), (1, 'd'), (2, 'a'), (2, 'c')]);
    /// # Ok::<(), eagre::sort::SortError>(())
    /// ```
    pub fn sort_pairs<K: Key, V: Copy + Send + Sync + 'static>(&self, pairs: &mut [(K, V)]) -> Result<(), SortError> {
        if size_of::<(K, V)>() <= LARGEST && align_of::<(K, V)>() <= LARGEST {
            self.sort_words(by_first(pairs))
        } else {
            self.sort_by_cached_key(pairs, |pair| pair.0)
        }
    }

    /// Sorts by a key that is cheap to compute; elements with equal keys stay in the order they were in.
    ///
    /// # Errors
    /// Those of [`Sorter::sort`].
    ///
    /// # Panics
    /// If `key` does.
    ///
    /// ```
    /// let mut words = ["ship", "of", "theseus", "the", "old"];
    /// eagre::sort::Sorter::new().sort_by_key(&mut words, |word| word.len() as u32)?;
    /// assert_eq!(words, ["of", "the", "old", "ship", "theseus"]);
    /// # Ok::<(), eagre::sort::SortError>(())
    /// ```
    pub fn sort_by_key<T, K: Key>(&self, items: &mut [T], mut key: impl FnMut(&T) -> K) -> Result<(), SortError> {
        items.sort_by_key(|item| key(item).key());
        Ok(())
    }

    /// Sorts by a key that is computed once for each element; elements with equal keys stay in the order they were in.
    ///
    /// # Errors
    /// Those of [`Sorter::sort`].
    ///
    /// # Panics
    /// If `key` does; then no element has moved.
    ///
    /// ```
    /// let mut texts = vec![String::from("0x20"), String::from("0x3"), String::from("0x1f")];
    /// let number = |text: &String| u64::from_str_radix(&text[2..], 16).unwrap_or(u64::MAX);
    /// eagre::sort::Sorter::new().sort_by_cached_key(&mut texts, number)?;
    /// assert_eq!(texts, ["0x3", "0x1f", "0x20"]);
    /// # Ok::<(), eagre::sort::SortError>(())
    /// ```
    pub fn sort_by_cached_key<T, K: Key>(&self, items: &mut [T], key: impl FnMut(&T) -> K) -> Result<(), SortError> {
        let mut placed = placed(items.iter().map(key))?;
        self.sort_pairs(&mut placed)?;
        permute(items, placed);
        Ok(())
    }

    /// The places of the keys in ascending order; equal keys in the order they are in. The keys stay where they are.
    ///
    /// # Errors
    /// Those of [`Sorter::sort`].
    ///
    /// ```
    /// let places = eagre::sort::Sorter::new().argsort(&[0.5, -1.0, 0.25])?;
    /// assert_eq!(places, [1, 2, 0]);
    /// # Ok::<(), eagre::sort::SortError>(())
    /// ```
    pub fn argsort<K: Key>(&self, keys: &[K]) -> Result<Vec<usize>, SortError> {
        let mut placed = placed(keys.iter().copied())?;
        self.sort_pairs(&mut placed)?;
        Ok(placed.into_iter().map(|(_, place)| place).collect())
    }
}

/// Each key with its place.
fn placed<K: Key>(keys: impl ExactSizeIterator<Item = K>) -> Result<Vec<Placed<K>>, SortError> {
    let mut placed = Vec::new();
    let bytes = keys.len().saturating_mul(size_of::<Placed<K>>());
    placed.try_reserve_exact(keys.len()).map_err(|_| SortError::Memory { bytes })?;
    placed.extend(keys.enumerate().map(|(place, key)| (key, place)));
    Ok(placed)
}

/// Brings each item to the place of its number in `placed`, along the cycles of that permutation.
fn permute<T, K: Copy>(items: &mut [T], mut placed: Vec<Placed<K>>) {
    for first in 0..items.len() {
        let mut hole = first;
        loop {
            let source = std::mem::replace(&mut placed[hole].1, hole);
            if source == first {
                placed[hole].1 = hole;
                break;
            }
            items.swap(hole, source);
            hole = source;
        }
    }
}
