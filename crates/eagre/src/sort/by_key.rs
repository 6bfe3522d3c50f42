//! Sorting things by a key, stable: pairs, records of any kind, and the order of keys that stay where they are.
//!
//! Pairs are words whose key is their first part. Other things are not moved while they are sorted: their keys are
//! computed, each with the thing's place, and sorted as pairs; then each thing goes where it belongs. What is too much
//! for the memory allowed is sorted piece by piece, and the pieces are merged in place.

use eagre_mem::heap;

use super::kernels::first::by_first;
use super::progress::{Monitor, Reporter, WHOLE};
use super::{Key, SortError, Sorter, compare};

/// So few are not worth asking for memory.
const FEW: usize = 16;
/// So many things are moved between two reports.
const PIECE: usize = 1 << 16;
/// What moving a thing is worth; sorting its key is worth a [`WHOLE`].
const MOVED: u64 = WHOLE / 2;

/// Where a thing is among others.
trait Place: Copy + Send + Sync + 'static {
    fn new(place: usize) -> Self;
    fn get(self) -> usize;
}

macro_rules! places {
    ($($type:ty)*) => { $(
        impl Place for $type {
            fn new(place: usize) -> $type {
                place as $type
            }

            fn get(self) -> usize {
                self as usize
            }
        }
    )* };
}

places!(u32 usize);

/// So many things have a place that is a `u32`.
const MOST: usize = u32::MAX as usize;

impl Sorter<'_> {
    /// Sorts pairs by their first part; those with equal first parts stay in the order they are in.
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
            Some(words) => self.sort_words(words),
            None => self.sort_by_cached_key(pairs, |pair| pair.0),
        }
    }

    /// Sorts by a key that is cheap to compute; elements with equal keys stay in the order they are in.
    ///
    /// All memory is within [`Sorter::slack`]. Half of it is for keys: an element takes its key and 4 bytes, rounded to
    /// the key's alignment. Where that does not suffice for all elements, they are sorted in pieces, and `key` is
    /// called often to merge these.
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
        let slack = self.slack_for(size_of_val(items)) / 2;
        let most = (slack / size_of::<(K, u32)>()).clamp(FEW, MOST);
        let sorter = self.slack(slack);
        let monitor = Monitor::new(self.hook, items.len(), size_of::<T>(), WHOLE + MOVED);
        compare::in_pieces(items, most, &mut key, monitor.reporter(0), &mut |items, key| match items.len() <= FEW {
            true => {
                compare::insertion(items, key);
                Ok(())
            }
            false => sorter.sort_placed::<T, K, u32>(items, key, &monitor),
        })?;
        monitor.check()?;
        monitor.end()
    }

    /// Sorts by a key that is computed once for each element; elements with equal keys stay in the order they are in.
    ///
    /// Beside what [`Sorter::sort_pairs`] takes for them, there is memory for the keys: an element takes its key and 4
    /// bytes, or 8 from 2^32 elements on, rounded to the key's alignment.
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
        let monitor = Monitor::new(self.hook, items.len(), size_of::<T>(), WHOLE + MOVED);
        match items.len() <= MOST {
            true => self.sort_placed::<T, K, u32>(items, &mut key, &monitor)?,
            false => self.sort_placed::<T, K, usize>(items, &mut key, &monitor)?,
        }
        monitor.end()
    }

    /// The places of the keys in ascending order; those of equal keys in the order they are in. The keys stay where
    /// they are.
    ///
    /// Memory is as with [`Sorter::sort_by_cached_key`], and for the result.
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
        let mut places = heap::list(keys.len())?;
        match keys.len() <= MOST {
            true => self.places::<K, u32>(keys, |place| places.push(place.get()))?,
            false => self.places::<K, usize>(keys, |place| places.push(place))?,
        }
        Ok(places)
    }

    /// The same into a buffer, with half of the memory.
    ///
    /// # Errors
    /// Those of [`Sorter::sort`]; then the buffer is as it was.
    ///
    /// # Panics
    /// If the buffer is not as long as `keys`, or that is 2^32 or more.
    ///
    /// ```
    /// let mut places = [0; 3];
    /// eagre::sort::Sorter::new().argsort_into(&[0.5, -1.0, 0.25], &mut places)?;
    /// assert_eq!(places, [1, 2, 0]);
    /// # Ok::<(), eagre::sort::SortError>(())
    /// ```
    pub fn argsort_into<K: Key>(&self, keys: &[K], places: &mut [u32]) -> Result<(), SortError> {
        assert!(keys.len() == places.len(), "a buffer for {} places of {} keys", places.len(), keys.len());
        assert!(keys.len() <= MOST, "{} keys have places beyond 32 bits", keys.len());
        let mut buffer = places.iter_mut();
        self.places::<K, u32>(keys, |place| {
            if let Some(to) = buffer.next() {
                *to = place;
            }
        })
    }

    /// Calls `each` with the places of the keys in ascending order.
    fn places<K: Key, P: Place>(&self, keys: &[K], each: impl FnMut(P)) -> Result<(), SortError> {
        let monitor = Monitor::new(self.hook, keys.len(), size_of::<(K, P)>(), WHOLE);
        let placed = self.placed(keys, &mut |&key: &K| key, &monitor)?;
        placed.into_iter().map(|(_, place)| place).for_each(each);
        monitor.end()
    }

    /// Sorts by keys that are computed once.
    fn sort_placed<T, K: Key, P: Place>(
        &self,
        items: &mut [T],
        key: &mut impl FnMut(&T) -> K,
        monitor: &Monitor<'_>,
    ) -> Result<(), SortError> {
        let placed = self.placed::<T, K, P>(items, key, monitor)?;
        move_to_places(items, placed, monitor.reporter(MOVED));
        monitor.check()
    }

    /// The keys in ascending order, each with the place of its item.
    fn placed<T, K: Key, P: Place>(
        &self,
        items: &[T],
        key: &mut impl FnMut(&T) -> K,
        monitor: &Monitor<'_>,
    ) -> Result<Vec<(K, P)>, SortError> {
        let mut placed = heap::list(items.len())?;
        for items in items.chunks(PIECE) {
            let start = placed.len();
            placed.extend(items.iter().enumerate().map(|(i, item)| (key(item), P::new(start + i))));
            if !monitor.reporter(0).report(items.len()) {
                break;
            }
        }
        monitor.check()?;
        match by_first(&mut placed) {
            Some(words) => self.sort_monitored(words, monitor)?,
            // No key is so large.
            None => compare::stable(&mut placed, &mut |pair| pair.0, monitor.reporter(WHOLE)),
        }
        Ok(placed)
    }
}

/// Brings each item to the place of its number in `placed`, along the cycles of that permutation, or stops in between.
fn move_to_places<T, K: Copy, P: Place>(items: &mut [T], mut placed: Vec<(K, P)>, progress: Reporter<'_>) {
    let mut moved = 0;
    for first in 0..items.len() {
        let mut to = first;
        loop {
            let from = std::mem::replace(&mut placed[to].1, P::new(to)).get();
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
