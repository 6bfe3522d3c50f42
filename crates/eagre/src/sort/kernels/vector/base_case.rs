//! The base case in vector registers: a step into small buckets, which are then sorted as columns, one bucket in each
//! lane.

use super::super::base_case::{CAPACITY, MEAN, Table, buckets, overflow_capacity, table_len};
use super::super::classifier::{BATCH, Radix};
use super::super::extremes::extremes;
use super::super::probe::{PROBE, Probe, SURELY_EVEN, hits};
use super::super::{Level, prefetch};
use super::lane::{self, Lane, Number, Order};
use super::network::{columns_of_8, columns_of_16};
use super::scale::{Digits, Magnitude, Scale, Value, magnitudes, values};
use super::{Vector, array};
use crate::sort::bounds::Bounds;

/// The mean size of buckets by magnitude: some buckets are fuller than others.
const MEAN_OF_MAGNITUDES: usize = 8;
/// The same by value: normally distributed values, which seem even too, are three times as dense in the middle.
const MEAN_OF_VALUES: usize = 4;

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

/// About how many buckets a table of such a length has room for, in whole groups.
fn most_buckets<V: Vector>(table: usize) -> usize {
    let key = size_of::<V::Key>();
    // The smallest overflow area, and what each bucket takes: slots, sizes, and a share of the overflow area.
    let (least, each) = (overflow_capacity(0) * key, CAPACITY * key + size_of::<u64>() + key.div_ceil(4));
    (table * size_of::<u64>()).saturating_sub(least) / each / V::LANES * V::LANES
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
            || run::<T, V, _>(words, n, Digits::new(&radix), table),
        )
    }
}

/// [`super::super::Word::base_case_on_a_scale`].
///
/// # Safety
/// See there; and the processor has such registers.
pub(in super::super) unsafe fn on_a_scale<T, V>(level: Level, words: &mut [T], probe: &Probe, table: &mut Table) -> bool
where
    T: Lane,
    V: Vector<Key = T::Key>,
{
    // SAFETY: the caller's promise.
    let (even_values, even_magnitudes) = unsafe {
        V::run(
            #[inline(always)]
            || {
                let even = |numbers: [u64; PROBE]| hits::<32>(&numbers) >= SURELY_EVEN;
                let values = matches!(T::ORDER, Order::Float) && even(values::<T::Key>(probe.keys));
                (values, !values && even(magnitudes(probe.keys)))
            },
        )
    };
    if !even_values && !even_magnitudes {
        return false;
    }
    let known = extremes(level, words, 1);
    let (n, words) = (words.len(), words.as_mut_ptr());
    let mean = if even_values { MEAN_OF_VALUES } else { MEAN_OF_MAGNITUDES };
    let fan = n.div_ceil(mean).min(most_buckets::<V>(table.len()));
    if fan < 2 {
        return false;
    }
    debug_assert!(table_len::<V::Key>(fan.next_multiple_of(V::LANES)) <= table.len());
    if known.high - known.low < n as u128 {
        // SAFETY: the caller's promise.
        return known.low == known.high || unsafe { base_case::<T, V>(words, n, known, table) };
    }
    // SAFETY: the caller's promise.
    unsafe {
        if even_values {
            Value::new::<T::Key>(known, fan).is_some_and(|scale| {
                V::run(
                    #[inline(always)]
                    || run::<T, V, _>(words, n, scale, table),
                )
            })
        } else {
            let scale = Magnitude::new(known, fan);
            V::run(
                #[inline(always)]
                || run::<T, V, _>(words, n, scale, table),
            )
        }
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
            let word = lane::words(V::splat(T::Key::new(known.low + i as u128)), T::ORDER);
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

    /// Puts a word into its bucket or into the overflow area. Each of the first `single` buckets has one key only.
    /// Returns false if there is no room.
    ///
    /// # Safety
    /// There is such a bucket.
    #[inline(always)]
    unsafe fn put(&mut self, word: K, bucket: usize, single: usize) -> bool {
        // SAFETY: the caller's promise; the slot is within the bucket's capacity.
        unsafe {
            let size = self.sizes.get_unchecked_mut(bucket);
            let count = *size as usize;
            *size += 1;
            // A bucket with a single key overwrites its last slot: no branch that depends on the count.
            if (count < CAPACITY) | (bucket < single) {
                let slot = self.slots.add(bucket * CAPACITY + count.min(CAPACITY - 1));
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
unsafe fn run<T, V, S>(words: *mut T, n: usize, scale: S, table: &mut Table) -> bool
where
    T: Lane,
    V: Vector<Key = T::Key>,
    S: Scale<T::Key>,
{
    // Whole groups of buckets; the last ones may be empty.
    let fan = scale.fan().next_multiple_of(V::LANES);
    let mut places = Places::<T::Key>::new(table, fan);
    // SAFETY: of the n words.
    let key = |i| unsafe { *words.add(i) }.lane();
    if S::TOGETHER {
        let mut found = [0; BATCH];
        for start in (0..n).step_by(BATCH) {
            let count = BATCH.min(n - start);
            for (i, bucket) in found[..count].iter_mut().enumerate() {
                *bucket = scale.bucket(key(start + i)) as u32;
            }
            for (i, &bucket) in found[..count].iter().enumerate() {
                // SAFETY: a bucket of these.
                if !unsafe { places.put(key(start + i), bucket as usize, scale.single()) } {
                    return false;
                }
            }
        }
    } else {
        for i in 0..n {
            // SAFETY: as above.
            if !unsafe { places.put(key(i), scale.bucket(key(i)), scale.single()) } {
                return false;
            }
        }
    }
    let mut at = 0;
    for (group, counts) in places.sizes.chunks_exact(V::LANES).enumerate() {
        // SAFETY: the group's slots are inside the table; the counts add up to n.
        unsafe { at = finish::<T, V>(places.slots.add(group * V::LANES * CAPACITY), counts, words, at, n) };
    }
    let mut at = 0;
    for &size in &places.sizes[..scale.single().min(fan)] {
        let size = size as usize;
        if size > CAPACITY {
            // SAFETY: the bucket's place, and the first of its words, which are all the same.
            unsafe { std::slice::from_raw_parts_mut(words.add(at), size).fill(*words.add(at)) };
        }
        at += size;
    }
    if places.overflowed > 0 {
        // SAFETY: there are n words but for the places that the words set aside are for.
        unsafe { insert(words, places, scale) };
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
            let sorted = array!(rows[0], |i| lane::words(rows[i], T::ORDER));
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
        let lower = V::columns(array!(rows[0], |i| lane::words(rows[i], T::ORDER)));
        let upper = V::columns(array!(rows[0], |i| lane::words(rows[8 + i], T::ORDER)));
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
unsafe fn insert<T: Lane>(to: *mut T, places: Places<T::Key>, scale: impl Scale<T::Key>) {
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
            let bucket = scale.bucket(word);
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
