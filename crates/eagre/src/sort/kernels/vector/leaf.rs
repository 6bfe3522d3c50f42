//! A leaf: a radix step into small buckets that are then sorted as columns, one bucket a lane.

use super::super::classifier::Radix;
use super::super::leaf::{CAPACITY, MEAN, Table, aside, buckets, table_len};
use super::super::prefetch;
use super::lane::{self, Lane, Number};
use super::network::{columns_of_8, columns_of_16};
use super::{Vector, array};
use crate::sort::bounds::Bounds;

/// How many words a leaf takes in a table of such a length.
pub(in super::super) fn most<V: Vector>(table: usize) -> usize {
    // The largest power of two whose table is not longer.
    let bucket = size_of::<V::Key>() * CAPACITY;
    let mut buckets = (table * size_of::<u64>() / bucket).checked_ilog2().map_or(0, |bits| 1 << bits);
    if table_len::<V::Key>(buckets) > table {
        buckets /= 2;
    }
    // The sort of a group of buckets needs them all; and nobody asks for fewer than eight.
    if buckets < V::LANES.max(8) { 0 } else { buckets * MEAN }
}

/// [`super::super::Word::leaf`].
///
/// # Safety
/// See there; and the processor has such registers.
pub(in super::super) unsafe fn leaf<T, V>(words: *mut T, n: usize, known: Bounds, table: &mut Table) -> bool
where
    T: Lane,
    V: Vector<Key = T::Key>,
{
    if known.high - known.low < n as u128 {
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
            || run::<T, V>(words, n, &radix, table),
        )
    }
}

/// [`leaf`] for at least as many words as there can be keys: they are counted and written anew.
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
    // Two counters for each key: one that was just written is waited for.
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
            let word = lane::words(V::splat(T::Key::new(known.low + i as u128)), T::ORDER);
            // What a vector has too much is overwritten: whatever a key's count, one is stored.
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

/// The places of a leaf in its table.
struct Places<'a, K> {
    /// The keys of each bucket, [`CAPACITY`] for each.
    slots: *mut K,
    /// How many words each bucket has, whether they are in its slots or not.
    sizes: &'a mut [u32],
    /// As many.
    gaps: *mut u32,
    /// Keys that do not fit their bucket.
    waiting: *mut K,
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
            let waiting = slots.add(buckets * CAPACITY);
            let sizes = waiting.add(aside(buckets)).cast::<u32>();
            sizes.write_bytes(0, buckets);
            let gaps = sizes.add(buckets);
            Places { slots, sizes: std::slice::from_raw_parts_mut(sizes, buckets), gaps, waiting }
        }
    }
}

/// [`leaf`], inside of [`Vector::run`].
#[inline(always)]
unsafe fn run<T, V>(words: *mut T, n: usize, radix: &Radix, table: &mut Table) -> bool
where
    T: Lane,
    V: Vector<Key = T::Key>,
{
    let (shift, low, mask) = radix.steps();
    // Whole groups of buckets; the last ones may be empty.
    let fan = (mask + 1).max(V::LANES);
    let places = Places::<T::Key>::new(table, fan);
    let most_aside = aside(fan);
    let mut waits = 0;
    for i in 0..n {
        // SAFETY: i < n; a bucket is less than the fan-out; the slot is within the bucket's capacity.
        unsafe {
            let word = (*words.add(i)).lane();
            let bucket = word.digit(shift).wrapping_sub(low) & mask;
            let size = places.sizes.get_unchecked_mut(bucket);
            let count = *size as usize;
            *size += 1;
            if count < CAPACITY {
                let slot = places.slots.add(bucket * CAPACITY + count);
                slot.write(word);
                // The next word's line, before a store waits for it.
                prefetch(slot.wrapping_add(1).cast());
            } else if waits < most_aside {
                places.waiting.add(waits).write(word);
                waits += 1;
            } else {
                return false;
            }
        }
    }
    let mut at = 0;
    for (group, counts) in places.sizes.chunks_exact(V::LANES).enumerate() {
        // SAFETY: the group's slots are inside the table; the counts add up to n.
        unsafe { at = finish::<T, V>(places.slots.add(group * V::LANES * CAPACITY), counts, words, at, n) };
    }
    if waits > 0 {
        // SAFETY: there are n words but for the places that the words set aside are for; so many are.
        unsafe { insert(words, places, radix, waits) };
    }
    true
}

/// Sorts neighbouring buckets, one for each lane, and appends them at `to + at`; what follows them may be overwritten
/// up to `to + n`. Returns where they end. A bucket with more words than fit its slots leaves a gap.
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
            let sorted = array!(rows[0], |i| lane::words(rows[i], T::ORDER));
            for (&words, &count) in V::columns(sorted).as_ref().iter().zip(counts) {
                // A whole one fits, or only the bucket's words are stored.
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
        let lower = V::columns(array!(rows[0], |i| lane::words(rows[i], T::ORDER)));
        let upper = V::columns(array!(rows[0], |i| lane::words(rows[8 + i], T::ORDER)));
        for ((&lower, &upper), &count) in lower.as_ref().iter().zip(upper.as_ref()).zip(counts) {
            let (to, count) = (to.wrapping_add(at), count as usize);
            // Two whole ones fit, or only the bucket's words are stored.
            if at + 16 <= n {
                V::store_eight(lower, to);
                V::store_eight(upper, to.add(8));
            } else {
                V::store_some_of_eight(lower, to, count);
                // Where no word is left for the second, its place may be beyond the range.
                V::store_some_of_eight(upper, to.wrapping_add(8), count.saturating_sub(8));
            }
            at += count;
        }
    }
    at
}

/// Puts the words set aside where their buckets have left gaps.
///
/// # Safety
/// `to` holds the words of the buckets, each bucket's gap at its end, and so many `waits` are those that are missing.
#[cold]
unsafe fn insert<T: Lane>(to: *mut T, places: Places<T::Key>, radix: &Radix, waits: usize) {
    let (shift, low, mask) = radix.steps();
    // From here on sizes are beginnings.
    let mut end = 0;
    for (bucket, size) in places.sizes.iter_mut().enumerate() {
        // SAFETY: as many as there are buckets.
        unsafe { places.gaps.add(bucket).write(end + (*size).min(CAPACITY as u32)) };
        end += std::mem::replace(size, end);
    }
    for i in 0..waits {
        // SAFETY: so many were written; there are as many gaps as buckets; places between the bucket's first and its
        // first missing word.
        unsafe {
            let word = places.waiting.add(i).read();
            let bucket = word.digit(shift).wrapping_sub(low) & mask;
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
