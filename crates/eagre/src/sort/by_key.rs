//! Stable sorts by a key: of pairs, of records of any kind, and argsort.
//!
//! Pairs are sorted as words whose key is their first part. Other items are not moved while they are sorted: their keys
//! are computed, each with the item's index, and sorted as pairs; then each item moves to its place. If all keys take
//! more memory than allowed, items are sorted in pieces, and the pieces are merged in place.

use eagre_mem::heap;

use super::kernels::first::by_first;
use super::progress::{Monitor, Reporter, WHOLE};
use super::{Key, SortError, Sorter, compare};

/// Up to so many items are not worth asking for memory.
const FEW: usize = 16;
/// How many items are moved between two reports.
const PIECE: usize = 1 << 16;
/// The progress that moving an item is worth. Sorting its key is worth a [`WHOLE`].
const MOVED: u64 = WHOLE / 2;

/// The index of an item.
trait Index: Copy + Send + Sync + 'static {
    fn new(index: usize) -> Self;
    fn get(self) -> usize;
}

macro_rules! indices {
    ($($type:ty)*) => { $(
        impl Index for $type {
            fn new(index: usize) -> $type {
                index as $type
            }

            fn get(self) -> usize {
                self as usize
            }
        }
    )* };
}

indices!(u32 usize);

/// The most items whose indices are `u32`.
const MOST: usize = u32::MAX as usize;

/// How keys are sorted with indices. Who has more than 2^32 items waits long enough not to mind that all keys are widened, and the
/// compiler makes two sorts of them, and not one for each type of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Indices {
    Short,
    /// Keys are 64 bits.
    Long,
    /// Keys are 128 bits.
    LongWithWideKeys,
}

impl Indices {
    fn of<K: Key>(items: usize) -> Indices {
        match K::KEY_BITS {
            _ if items <= MOST => Indices::Short,
            ..=64 => Indices::Long,
            _ => Indices::LongWithWideKeys,
        }
    }
}

/// Pairs with the complements of their keys, which have their own again when it goes: also when the hook panics.
struct Complemented<'a, K: Key, V>(&'a mut [(K, V)]);

impl<'a, K: Key, V> Complemented<'a, K, V> {
    fn new(pairs: &'a mut [(K, V)]) -> Self {
        pairs.iter_mut().for_each(|pair| pair.0 = pair.0.complement());
        Complemented(pairs)
    }
}

impl<K: Key, V> Drop for Complemented<'_, K, V> {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(|pair| pair.0 = pair.0.complement());
    }
}

impl Sorter<'_> {
    /// Sorts pairs by their first part. Pairs with equal first parts keep their order.
    ///
    /// Pairs of more than 64 bytes are sorted as by [`Sorter::sort_by_cached_key`].
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
        match by_first(pairs) {
            // These keys are not sorted by their own bits.
            _ if self.order.merges::<K>() => self.sort_by_cached_key(pairs, |pair| pair.0),
            None => self.sort_by_cached_key(pairs, |pair| pair.0),
            Some(words) if !self.order.descending => self.sort_words(words),
            Some(_) => self.descending(false).sort_pairs(Complemented::new(pairs).0),
        }
    }

    /// Sorts by a key that is cheap to compute. Elements with equal keys keep their order.
    ///
    /// All memory is within [`Sorter::slack`]. Half of it is for keys: each element takes its key and 4 bytes, rounded
    /// up to the alignment of the key. If that does not suffice for all elements, they are sorted in pieces, and
    /// merging the pieces calls `key` often.
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
        let mut key = |item: &T| self.order.key(key(item));
        let slack = self.slack_for(size_of_val(items)) / 2;
        let most = (slack / size_of::<(K, u32)>()).clamp(FEW, MOST);
        let sorter = self.slack(slack);
        let monitor = Monitor::new(self.hook, items.len(), size_of::<T>(), WHOLE + MOVED);
        compare::in_pieces(items, most, &mut key, monitor.reporter(0), &mut |items, key| match items.len() <= FEW {
            true => {
                compare::insertion(items, key);
                Ok(())
            }
            false => sorter.sort_indexed::<T, K, u32>(items, key, &monitor),
        })?;
        monitor.check()?;
        monitor.end()
    }

    /// Sorts by a key that is computed once for each element. Elements with equal keys keep their order.
    ///
    /// The keys take memory beside that of [`Sorter::sort_pairs`]: each element takes its key and 4 bytes, or 8 bytes
    /// from 2^32 elements on, rounded up to the alignment of the key.
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
    pub fn sort_by_cached_key<T, K: Key>(
        &self,
        items: &mut [T],
        mut key: impl FnMut(&T) -> K,
    ) -> Result<(), SortError> {
        let mut key = |item: &T| self.order.key(key(item));
        let monitor = Monitor::new(self.hook, items.len(), size_of::<T>(), WHOLE + MOVED);
        match Indices::of::<K>(items.len()) {
            Indices::Short => self.sort_indexed::<T, K, u32>(items, &mut key, &monitor)?,
            Indices::Long => self.sort_indexed::<T, u64, usize>(items, &mut |item| key(item).key() as u64, &monitor)?,
            Indices::LongWithWideKeys => {
                self.sort_indexed::<T, u128, usize>(items, &mut |item| key(item).key(), &monitor)?;
            }
        }
        monitor.end()
    }

    /// Returns the indices of the keys in ascending order of the keys. Indices of equal keys are in ascending order.
    /// The keys stay where they are.
    ///
    /// It takes as much memory as [`Sorter::sort_by_cached_key`], and the result.
    ///
    /// # Errors
    /// Those of [`Sorter::sort`].
    ///
    /// ```
    /// let indices = eagre::sort::Sorter::new().argsort(&[0.5, -1.0, 0.25])?;
    /// assert_eq!(indices, [1, 2, 0]);
    /// # Ok::<(), eagre::sort::SortError>(())
    /// ```
    pub fn argsort<K: Key>(&self, keys: &[K]) -> Result<Vec<usize>, SortError> {
        let mut indices = heap::list(keys.len())?;
        let key = |&key: &K| self.order.key(key);
        match Indices::of::<K>(keys.len()) {
            Indices::Short => self.indices::<K, K, u32>(keys, key, |index| indices.push(index.get()))?,
            Indices::Long => self.indices::<K, u64, usize>(keys, |item| key(item).key() as u64, |i| indices.push(i))?,
            Indices::LongWithWideKeys => {
                self.indices::<K, u128, usize>(keys, |item| key(item).key(), |index| indices.push(index))?;
            }
        }
        Ok(indices)
    }

    /// Writes the indices of the keys in ascending order of the keys to a buffer. It takes half as much memory as
    /// [`Sorter::argsort`].
    ///
    /// # Errors
    /// Those of [`Sorter::sort`]. The buffer is unchanged then.
    ///
    /// # Panics
    /// If the buffer is not as long as `keys`, or if there are 2^32 keys or more.
    ///
    /// ```
    /// let mut indices = [0; 3];
    /// eagre::sort::Sorter::new().argsort_into(&[0.5, -1.0, 0.25], &mut indices)?;
    /// assert_eq!(indices, [1, 2, 0]);
    /// # Ok::<(), eagre::sort::SortError>(())
    /// ```
    pub fn argsort_into<K: Key>(&self, keys: &[K], indices: &mut [u32]) -> Result<(), SortError> {
        assert!(keys.len() == indices.len(), "a buffer for {} indices of {} keys", indices.len(), keys.len());
        assert!(keys.len() <= MOST, "{} keys have indices beyond 32 bits", keys.len());
        let mut buffer = indices.iter_mut();
        self.indices::<K, K, u32>(
            keys,
            |&key| self.order.key(key),
            |index| {
                if let Some(to) = buffer.next() {
                    *to = index;
                }
            },
        )
    }

    /// Calls `each` with the indices of the items in ascending order of their keys.
    fn indices<T, K: Key, P: Index>(
        &self,
        items: &[T],
        mut key: impl FnMut(&T) -> K,
        each: impl FnMut(P),
    ) -> Result<(), SortError> {
        let monitor = Monitor::new(self.hook, items.len(), size_of::<(K, P)>(), WHOLE);
        let indexed = self.indexed(items, &mut key, &monitor)?;
        indexed.into_iter().map(|(_, index)| index).for_each(each);
        monitor.end()
    }

    /// Sorts by keys that are computed once.
    fn sort_indexed<T, K: Key, P: Index>(
        &self,
        items: &mut [T],
        key: &mut impl FnMut(&T) -> K,
        monitor: &Monitor<'_>,
    ) -> Result<(), SortError> {
        let indexed = self.indexed::<T, K, P>(items, key, monitor)?;
        permute(items, indexed, monitor.reporter(MOVED));
        monitor.check()
    }

    /// The keys in ascending order, each with the index of its item.
    fn indexed<T, K: Key, P: Index>(
        &self,
        items: &[T],
        key: &mut impl FnMut(&T) -> K,
        monitor: &Monitor<'_>,
    ) -> Result<Vec<(K, P)>, SortError> {
        let mut indexed = heap::list(items.len())?;
        for items in items.chunks(PIECE) {
            let start = indexed.len();
            indexed.extend(items.iter().enumerate().map(|(i, item)| (key(item), P::new(start + i))));
            if !monitor.reporter(0).report(items.len()) {
                break;
            }
        }
        monitor.check()?;
        match by_first(&mut indexed) {
            Some(words) => self.sort_monitored(words, monitor)?,
            // A pair of a key and an index is never too large for that.
            None => compare::stable(&mut indexed, &mut |pair| pair.0, monitor.reporter(WHOLE)),
        }
        Ok(indexed)
    }
}

/// Moves each item to its place along the cycles of the permutation, or ends early.
fn permute<T, K: Copy, P: Index>(items: &mut [T], mut indexed: Vec<(K, P)>, progress: Reporter<'_>) {
    let mut moved = 0;
    for first in 0..items.len() {
        let mut to = first;
        loop {
            let from = std::mem::replace(&mut indexed[to].1, P::new(to)).get();
            moved += 1;
            if from == first || from == to {
                break;
            }
            items.swap(to, from);
            to = from;
        }
        if moved >= PIECE && !progress.report(std::mem::take(&mut moved)) {
            return;
        }
    }
    let _ = progress.report(moved);
}

#[cfg(test)]
mod tests {
    use super::super::kernels::Word;
    use super::*;

    /// What is done with more keys than there is memory for here, done with few: all keys are widened.
    #[test]
    fn long_indices() {
        assert_eq!(Indices::of::<f64>(MOST), Indices::Short);
        assert_eq!(Indices::of::<f64>(MOST + 1), Indices::Long);
        assert_eq!(Indices::of::<(u64, u64)>(MOST + 1), Indices::LongWithWideKeys);
        let mut random = fastrand::Rng::with_seed(1);
        let keys: Vec<f64> = (0..1000).map(|_| f64::from_bits(random.u64(..))).collect();
        let mut wanted: Vec<usize> = (0..keys.len()).collect();
        wanted.sort_by(|&a, &b| keys[a].total_cmp(&keys[b]));
        for descending in [false, true] {
            let sorter = Sorter::new().descending(descending);
            let (mut long, mut wide) = (Vec::new(), Vec::new());
            let key = |&key: &f64| sorter.order.key(key);
            sorter.indices::<_, u64, usize>(&keys, |item| key(item).key() as u64, |index| long.push(index)).unwrap();
            sorter.indices::<_, u128, usize>(&keys, |item| key(item).key(), |index| wide.push(index)).unwrap();
            assert!(long == wanted && wide == wanted, "{descending}");
            wanted.reverse();
        }
    }
}
