//! The base case in vector registers: a step into small buckets, which are then sorted as columns, one bucket in each
//! lane.

use super::super::base_case::{CAPACITY, MEAN, Table, buckets, overflow_capacity, table_len};
use super::super::classifier::Radix;
use super::super::prefetch;
use super::lane::{Lane, Number};
use super::network::{columns_of_8, columns_of_16};
use super::{Vector, array};
use crate::sort::bounds::Bounds;

/// The most words of a base case in a table of such a length.
pub(in super::super) fn most<V: Vector>(table: usize) -> usize {
    // The largest power of two of buckets that the table has room for.
    let bucket = size_of::<V::Key>() * CAPACITY;
    let mut buckets = (table * size_of::<u64>() / bucket).checked_ilog2().map_or(0, |bits| 1 << bits);
    if table_len::<V::Key>(buckets) > table {
        buckets /= 2;
    }
    // A group of buckets is sorted together, and a base case has at least eight buckets.
    if buckets < V::LANES.max(8) { 0 } else { buckets * MEAN }
}

/// [`super::super::Word::base_case`].
///
/// # Safety
/// See there; and the processor has such registers.
pub(in super::super) unsafe fn base_case<T, V>(words: *mut T, n: usize, known: Bounds, table: &mut Table) -> bool
where
    T: Lane,
    V: Vector<Key = T::Key>,
{
    // The table has 64 bits for the counter of each key.
    if known.high - known.low < n.min(table.len()) as u128 {
        // SAFETY: the caller's promise.
        unsafe {
            V::run(
                #[inline(always)]
                || count::<T, V>(words, n, known, table),
            );
        }
        return true;
    }
    let mut radix = Radix::new(known, buckets(n).ilog2());
    // Keys just beyond a power of two leave half of the buckets empty.
    if radix.used() * MEAN < n && table_len::<V::Key>(2 * buckets(n).max(V::LANES)) <= table.len() {
        radix = Radix::new(known, buckets(n).ilog2() + 1);
    }
    // SAFETY: the caller's promise.
    unsafe {
        V::run(
            #[inline(always)]
            || run::<T, V>(words, n, Digits::new(&radix), table),
        )
    }
}

/// [`base_case`] for at least as many words as there are possible keys: they are counted and written anew.
///
/// # Safety
/// As there; inside of [`Vector::run`].
#[inline(always)]
unsafe fn count<T, V>(words: *mut T, n: usize, known: Bounds, table: &mut Table)
where
    T: Lane,
    V: Vector<Key = T::Key>,
{
    let keys = (known.high - known.low) as usize + 1;
    // Two counters for each key: incrementing the same counter twice in a row is slow.
    let (counts, _) = table.as_chunks_mut::<1>().0.split_at_mut(keys);
    for pair in counts.iter_mut() {
        pair[0].write(0);
    }
    let counts = counts.as_mut_ptr().cast::<[u32; 2]>();
    let low = T::Key::new(known.low).digit(0);
    // SAFETY: no key is counted beyond the last counter; the counts add up to n.
    unsafe {
        for i in 0..n {
            let key = (*words.add(i)).lane().digit(0).wrapping_sub(low).min(keys - 1);
            (*counts.add(key))[i % 2] += 1;
        }
        let to = words.cast::<T::Key>();
        let mut at = 0;
        for i in 0..keys {
            let [one, two] = *counts.add(i);
            let end = at + (one + two) as usize;
            let word = V::splat(T::Key::new(known.low + i as u128)).words(T::ORDER);
            // A whole vector is stored whatever the count; later stores overwrite what is too much.
            loop {
                match at + V::LANES <= n {
                    true => word.store(to.add(at)),
                    false => word.store_some(to.add(at), end.saturating_sub(at)),
                }
                at += V::LANES;
                if at >= end {
                    break;
                }
            }
            at = end;
        }
    }
}

/// Which bucket a key goes to: some bits of it say.
#[derive(Clone, Copy)]
struct Digits {
    shift: u32,
    low: usize,
    mask: usize,
}

impl Digits {
    #[inline(always)]
    fn new(radix: &Radix) -> Digits {
        let (shift, low, mask) = radix.steps();
        Digits { shift, low, mask }
    }

    /// The bucket, at most the mask.
    #[inline(always)]
    fn bucket<K: Number>(self, key: K) -> usize {
        Number::digit(key, self.shift).wrapping_sub(self.low) & self.mask
    }
}

/// The parts of a table.
struct Places<'a, K> {
    /// The slots of each bucket, [`CAPACITY`] for each.
    slots: *mut K,
    /// The size of each bucket, including words that overflowed.
    sizes: &'a mut [u32],
    /// Where the gap of each bucket begins.
    gaps: *mut u32,
    /// Keys that overflowed their bucket: where they are, how many, and the most.
    overflow: *mut K,
    overflowed: usize,
    most: usize,
}

impl<K: Number> Places<'_, K> {
    #[inline(always)]
    fn new(table: &mut Table, buckets: usize) -> Places<'_, K> {
        assert!(table_len::<K>(buckets) <= table.len());
        let slots = table.as_mut_ptr().cast::<K>();
        assert!(slots.is_aligned());
        // SAFETY: the table is long enough for all of them; numbers of 32 bits come after those that need more
        // alignment, an even number of them.
        unsafe {
            let overflow = slots.add(buckets * CAPACITY);
            let sizes = overflow.add(overflow_capacity(buckets)).cast::<u32>();
            sizes.write_bytes(0, buckets);
            let gaps = sizes.add(buckets);
            let sizes = std::slice::from_raw_parts_mut(sizes, buckets);
            Places { slots, sizes, gaps, overflow, overflowed: 0, most: overflow_capacity(buckets) }
        }
    }

    /// Puts a word into its bucket or into the overflow area. Returns false if there is no room.
    ///
    /// # Safety
    /// There is such a bucket.
    #[inline(always)]
    unsafe fn put(&mut self, word: K, bucket: usize) -> bool {
        // SAFETY: the caller's promise; the slot is within the bucket's capacity.
        unsafe {
            let size = self.sizes.get_unchecked_mut(bucket);
            let count = *size as usize;
            *size += 1;
            if count < CAPACITY {
                let slot = self.slots.add(bucket * CAPACITY + count);
                slot.write(word);
                // Prefetch the line of the next word, before a store waits for it.
                prefetch(slot.wrapping_add(1).cast());
            } else if self.overflowed < self.most {
                self.overflow.add(self.overflowed).write(word);
                self.overflowed += 1;
            } else {
                return false;
            }
        }
        true
    }
}

/// [`base_case`], inside of [`Vector::run`].
#[inline(always)]
unsafe fn run<T, V>(words: *mut T, n: usize, digits: Digits, table: &mut Table) -> bool
where
    T: Lane,
    V: Vector<Key = T::Key>,
{
    // Whole groups of buckets; the last ones may be empty.
    let fan = (digits.mask + 1).next_multiple_of(V::LANES);
    let mut places = Places::<T::Key>::new(table, fan);
    for i in 0..n {
        // SAFETY: of the n words; a bucket of these.
        let has_room = unsafe {
            let key = (*words.add(i)).lane();
            places.put(key, digits.bucket(key))
        };
        if !has_room {
            return false;
        }
    }
    let mut at = 0;
    for (group, counts) in places.sizes.chunks_exact(V::LANES).enumerate() {
        // SAFETY: the group's slots are inside the table; the counts add up to n.
        unsafe { at = finish::<T, V>(places.slots.add(group * V::LANES * CAPACITY), counts, words, at, n) };
    }
    if places.overflowed > 0 {
        // SAFETY: there are n words but for the places that the words set aside are for.
        unsafe { insert(words, places, digits) };
    }
    true
}

/// Sorts neighbouring buckets, one in each lane, and appends them at `to + at`. What follows them may be overwritten up
/// to `to + n`. Returns where they end. A bucket that overflowed leaves a gap.
///
/// # Safety
/// `slots` are those of the buckets, `counts` their words, `to` has room for `n`.
#[inline(always)]
unsafe fn finish<T, V>(slots: *const T::Key, counts: &[u32], to: *mut T, mut at: usize, n: usize) -> usize
where
    T: Lane,
    V: Vector<Key = T::Key>,
{
    let to = to.cast::<T::Key>();
    // SAFETY: the caller's promise. Rows have what was put into the slots only.
    unsafe {
        let lower = V::rows(slots, counts, 0);
        if counts.iter().fold(0, |most, &count| count.max(most)) <= 8 {
            let rows = columns_of_8(lower);
            let sorted = array!(rows[0], |i| rows[i].words(T::ORDER));
            for (&words, &count) in V::columns(sorted).as_ref().iter().zip(counts) {
                // Eight words fit, or only the words of the bucket are stored.
                if at + 8 <= n {
                    V::store_eight(words, to.add(at));
                } else {
                    V::store_some_of_eight(words, to.add(at), count as usize);
                }
                at += count as usize;
            }
            return at;
        }
        let upper = V::rows(slots, counts, 8);
        let rows = columns_of_16(array!(lower[0], |i| if i < 8 { lower[i] } else { upper[i - 8] }));
        let lower = V::columns(array!(rows[0], |i| rows[i].words(T::ORDER)));
        let upper = V::columns(array!(rows[0], |i| rows[8 + i].words(T::ORDER)));
        for ((&lower, &upper), &count) in lower.as_ref().iter().zip(upper.as_ref()).zip(counts) {
            let (to, count) = (to.wrapping_add(at), count as usize);
            // Sixteen words fit, or only the words of the bucket are stored.
            if at + 16 <= n {
                V::store_eight(lower, to);
                V::store_eight(upper, to.add(8));
            } else {
                V::store_some_of_eight(lower, to, count);
                // Without words for the second store, its place may be beyond the range.
                V::store_some_of_eight(upper, to.wrapping_add(8), count.saturating_sub(8));
            }
            at += count;
        }
    }
    at
}

/// Puts the words of the overflow area into the gaps of their buckets.
///
/// # Safety
/// `to` holds the words of the buckets, each bucket's gap at its end; those that are missing wait.
#[cold]
unsafe fn insert<T: Lane>(to: *mut T, places: Places<T::Key>, digits: Digits) {
    // From here on `sizes` are starts.
    let mut end = 0;
    for (bucket, size) in places.sizes.iter_mut().enumerate() {
        // SAFETY: as many as there are buckets.
        unsafe { places.gaps.add(bucket).write(end + (*size).min(CAPACITY as u32)) };
        end += std::mem::replace(size, end);
    }
    for i in 0..places.overflowed {
        // SAFETY: so many were written; there are as many gaps as buckets; places between the bucket's first and its
        // first missing word.
        unsafe {
            let word = places.overflow.add(i).read();
            let bucket = digits.bucket(word);
            let gap = &mut *places.gaps.add(bucket);
            let (start, mut at) = (places.sizes[bucket] as usize, *gap as usize);
            *gap += 1;
            while at > start && (*to.add(at - 1)).lane() > word {
                *to.add(at) = *to.add(at - 1);
                at -= 1;
            }
            to.add(at).write(T::from_lane(word));
        }
    }
}
