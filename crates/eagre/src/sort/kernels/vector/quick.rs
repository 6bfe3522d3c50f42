//! Quicksort, for words that are few or too uneven for a base case.
//!
//! A pass reads keys in one buffer and writes them to another: keys below the pivot from the front on, the others from
//! the back on. Then the buffers change roles, so that nothing is copied back, and no pass has a branch that depends on
//! keys. Few keys are sorted in registers, and written to the buffer where they belong.
//!
//! If the median of a sample occurs there more than once, keys that equal it are not moved, only counted, and written
//! where they belong.

use std::marker::PhantomData;

use super::super::base_case::Table;
use super::super::word::by_key;
use super::in_place::aside;
use super::lane::{Lane, Number};
use super::network::columns_of_8;
use super::registers::{few, few_most, sort_row};
use super::{Reals, Vector, array, first};

/// How large the other buffer is at most, in bytes: both are in the first-level cache then.
const BUFFER: usize = 16 << 10;
/// How many rows are read at once.
const GROUP: usize = 4;

/// Whether all words fit a register for floating-point numbers.
///
/// # Safety
/// The processor has such registers.
pub(in super::super) unsafe fn are_real<T: Lane, V: Reals + Vector<Key = T::Key>>(words: &[T]) -> bool {
    // SAFETY: there are so many words, as long as keys.
    unsafe {
        V::run(
            #[inline(always)]
            || V::fits(words.as_ptr().cast(), words.len()),
        )
    }
}

/// [`super::super::Word::by_comparison`].
///
/// # Safety
/// The processor has such registers.
pub(in super::super) unsafe fn by_comparison<T: Lane, V: Vector<Key = T::Key>>(words: &mut [T], table: &mut Table) {
    let (n, home, other) = (words.len(), words.as_mut_ptr(), table.as_mut_ptr().cast::<T::Key>());
    if n <= few_most::<V>() {
        // SAFETY: there are n words.
        return unsafe { few::<T, V, false>(home.cast(), home, n) };
    }
    let room = (size_of_val(table).min(BUFFER) / size_of::<T>()).max(few_most::<V>());
    // Checked before words become keys: a panic later would leave keys in their place.
    assert!(n.min(room.max(aside::<V>())) * size_of::<T>() <= size_of_val(table) && other.is_aligned());
    // SAFETY: there are n words, as long as keys, and the table has room for as many, or for what is needed in place.
    unsafe {
        V::run(
            #[inline(always)]
            move || to_keys::<T, V>(home, n),
        );
        Quick::<T, V> { home, other, of: PhantomData }.sort_in_place(0, n, room, 2 * n.ilog2(), &mut 1);
    }
}

/// Keys take the place of the words meanwhile.
///
/// # Safety
/// There are n words; inside of [`Vector::run`].
#[inline(always)]
pub(super) unsafe fn to_keys<T: Lane, V: Vector<Key = T::Key>>(words: *mut T, n: usize) {
    if V::are_keys(T::ORDER) {
        return;
    }
    let keys = words.cast::<T::Key>();
    // SAFETY: nothing is read or written from n on.
    unsafe {
        for at in (0..n).step_by(V::LANES) {
            V::load_some(keys.add(at), n - at, V::largest()).keys(T::ORDER).store_some(keys.add(at), n - at);
        }
    }
}

/// The buffer of the words, and another of the same length.
pub(super) struct Quick<T: Lane, V> {
    pub(super) home: *mut T,
    pub(super) other: *mut T::Key,
    pub(super) of: PhantomData<V>,
}

impl<T: Lane, V: Vector<Key = T::Key>> Quick<T, V> {
    /// Sorts the keys from `start` to `end`, which are in one of the buffers, and writes the words to theirs.
    ///
    /// # Safety
    /// Both places may be read and written there; the processor has such registers.
    pub(super) unsafe fn sort(
        &self,
        mut start: usize,
        mut end: usize,
        mut at_home: bool,
        mut depth: u32,
        random: &mut u64,
    ) {
        // SAFETY: ranges are within the caller's.
        unsafe {
            while end - start > few_most::<V>() {
                let (home, other) = (self.home.cast::<T::Key>().add(start), self.other.add(start));
                let (from, to, n) = if at_home { (home, other, end - start) } else { (other, home, end - start) };
                if depth == 0 {
                    return self.slowly(start, end, at_home);
                }
                depth -= 1;
                let (lower, upper) = V::run(
                    #[inline(always)]
                    || match median::<V>(from, n, random) {
                        Pivot::Once(key) => match part::<V, false>(from, to, n, V::splat(key), as_they_are) {
                            // No key is below the smallest.
                            0 => part_in_three::<T, V>(from, to, self.home.add(start), n, key),
                            lower => (lower, lower),
                        },
                        Pivot::Often(key) | Pivot::Nearly(key) => {
                            part_in_three::<T, V>(from, to, self.home.add(start), n, key)
                        }
                    },
                );
                at_home = !at_home;
                let (lower, upper) = (start + lower, start + upper);
                // The smaller part first, which bounds the depth of the recursion.
                if lower - start < end - upper {
                    self.sort(start, lower, at_home, depth, random);
                    start = upper;
                } else {
                    self.sort(upper, end, at_home, depth, random);
                    end = lower;
                }
            }
            let from = if at_home { self.home.cast::<T::Key>() } else { self.other };
            few::<T, V, true>(from.add(start), self.home.add(start), end - start);
        }
    }

    /// [`Quick::sort`] without pivots, after too many bad ones.
    ///
    /// # Safety
    /// As there.
    #[cold]
    pub(super) unsafe fn slowly(&self, start: usize, end: usize, at_home: bool) {
        // SAFETY: the caller's promise; words have the length of keys.
        unsafe {
            let (home, other, n) = (self.home.add(start), self.other.add(start), end - start);
            if !at_home {
                // As bytes: words may be less aligned than their keys.
                home.cast::<u8>().copy_from_nonoverlapping(other.cast::<u8>(), n * size_of::<T>());
            }
            V::run(
                #[inline(always)]
                || to_words::<T, V>(home, n),
            );
            by_key(std::slice::from_raw_parts_mut(home, n));
        }
    }
}

/// Words take the place of their keys.
///
/// # Safety
/// There are n keys; inside of [`Vector::run`].
#[inline(always)]
unsafe fn to_words<T: Lane, V: Vector<Key = T::Key>>(words: *mut T, n: usize) {
    let keys = words.cast::<T::Key>();
    // SAFETY: nothing is read or written from n on.
    unsafe {
        for at in (0..n).step_by(V::LANES) {
            V::load_some(keys.add(at), n - at, V::largest()).words(T::ORDER).store_some(keys.add(at), n - at);
        }
    }
}

/// A pivot.
pub(super) enum Pivot<K> {
    Once(K),
    /// It occurs in the sample more than once.
    Often(K),
    /// Nearly all keys may equal it: so do all medians.
    Nearly(K),
}

/// Chooses a pivot for `n` keys: in each lane the median of three or eight vectors, and of these the median. The vectors
/// come from all parts of the range, each from a place that no pattern of keys can foresee.
///
/// # Safety
/// There are so many keys, at least eight vectors; inside of [`Vector::run`].
#[inline(always)]
pub(super) unsafe fn median<V: Vector>(from: *const V::Key, n: usize, random: &mut u64) -> Pivot<V::Key> {
    let mut lanes = [V::Key::LARGEST; 16];
    *random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(n as u64 | 1);
    let mut bits = *random >> 32;
    let parts = if n < 1 << 11 { 3 } else { 8 };
    let part = n / parts;
    let mut next = |i: usize| {
        bits = bits.wrapping_mul(0x9e37_79b9) >> 3;
        let place = i * part + (((bits & 0xffff) * (part - V::LANES) as u64) >> 16) as usize;
        // SAFETY: the vector ends within its part.
        unsafe { V::load(from.add(place)) }
    };
    // SAFETY: there are at most 16 lanes.
    unsafe {
        let medians = if parts == 3 {
            let (smaller, larger) = next(0).sort(next(2));
            smaller.sort(next(1).sort(larger).0).1
        } else {
            let rows = array!(next(0), |i| next(i));
            // The two in the middle take turns.
            let rows = columns_of_8(rows);
            rows[3].blend(rows[4], 1)
        };
        sort_row(medians).store(lanes.as_mut_ptr());
    }
    let middle = lanes[V::LANES / 2];
    if lanes[0] == lanes[V::LANES - 1] {
        Pivot::Nearly(middle)
    } else if lanes[V::LANES / 2 - 1] == middle || lanes[V::LANES / 2 + 1] == middle {
        Pivot::Often(middle)
    } else {
        Pivot::Once(middle)
    }
}

/// Moves those of `n` rows to the front whose keys are below the pivot, also those that equal it if `OR_EQUAL` says so, and
/// the others to the back. Returns how many are in front.
///
/// # Safety
/// Two places for n keys; inside of [`Vector::run`].
#[inline(always)]
pub(super) unsafe fn part<V: Vector, const OR_EQUAL: bool>(
    from: *const V::Key,
    to: *mut V::Key,
    n: usize,
    pivots: V,
    as_keys: impl Fn(V) -> V + Copy,
) -> usize {
    // SAFETY: `lower` keys have been stored in front of what is free, `at - lower` behind: as much is free as is yet to
    // be read. A whole vector is stored only where two are free; what it holds too much is overwritten.
    unsafe {
        let (mut at, mut lower) = (0, 0);
        // Several are read at once: a load need not wait for the stores before it.
        while n - at >= (GROUP + 1) * V::LANES {
            let rows: [V; GROUP] = array!(pivots, |i| V::load(from.add(at + i * V::LANES)));
            let mut i = 0;
            while i < GROUP {
                let end = n - (at - lower);
                lower += write::<V, OR_EQUAL>(rows[i], pivots, to.add(lower), to.add(end), as_keys);
                at += V::LANES;
                i += 1;
            }
        }
        while n - at >= 2 * V::LANES {
            let end = n - (at - lower);
            lower += write::<V, OR_EQUAL>(V::load(from.add(at)), pivots, to.add(lower), to.add(end), as_keys);
            at += V::LANES;
        }
        while at < n {
            let some = (n - at).min(V::LANES);
            let keys = V::load_some(from.add(at), some, V::largest());
            let below = belongs::<V, OR_EQUAL>(as_keys(keys), pivots) & first(some, V::LANES);
            let above = !below & first(some, V::LANES);
            let (few, many) = (below.count_ones() as usize, above.count_ones() as usize);
            let end = n - (at - lower);
            keys.compress(below).store_some(to.add(lower), few);
            keys.compress(above).store_some(to.add(end - many), many);
            lower += few;
            at += some;
        }
        lower
    }
}

/// Writes the keys of a row that belong to the front from there on, and the others before `end`. A whole row is written on
/// either side. Returns how many belong to the front.
///
/// # Safety
/// A row may be written on either side; inside of [`Vector::run`].
#[inline(always)]
pub(super) unsafe fn write<V: Vector, const OR_EQUAL: bool>(
    row: V,
    pivots: V,
    front: *mut V::Key,
    end: *mut V::Key,
    as_keys: impl Fn(V) -> V,
) -> usize {
    // SAFETY: the caller's promise.
    unsafe {
        let below = belongs::<V, OR_EQUAL>(as_keys(row), pivots);
        let (few, many) = row.split(below);
        few.store(front);
        many.store(end.sub(V::LANES));
        below.count_ones() as usize
    }
}

/// Keys that need not become any.
#[inline(always)]
pub(super) fn as_they_are<V>(keys: V) -> V {
    keys
}

/// A bit for each key that is below the pivot, or equals it if `OR_EQUAL` says so.
///
/// # Safety
/// Inside of [`Vector::run`].
#[inline(always)]
unsafe fn belongs<V: Vector, const OR_EQUAL: bool>(keys: V, pivots: V) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { if OR_EQUAL { first(V::LANES, V::LANES) & !pivots.below(keys) } else { keys.below(pivots) } }
}

/// Partitions into three parts: keys that equal the pivot are not moved but written to `home`, where they belong.
/// `home` may be either buffer. Returns how many keys are below the pivot, and how many are not above it.
///
/// # Safety
/// As for [`part`], and `home` is one of the two places.
#[inline(always)]
unsafe fn part_in_three<T: Lane, V: Vector<Key = T::Key>>(
    from: *const V::Key,
    to: *mut V::Key,
    home: *mut T,
    n: usize,
    pivot: V::Key,
) -> (usize, usize) {
    // SAFETY: as in `part`, with more that is free. When keys are written to `home`, all have been read, and those
    // moved lie before and after.
    unsafe {
        let pivots = V::splat(pivot);
        let (mut at, mut lower, mut end) = (0, 0, n);
        while n - at >= 2 * V::LANES {
            let keys = V::load(from.add(at));
            let (below, above) = (keys.below(pivots), pivots.below(keys));
            at += V::LANES;
            // If nearly all keys equal the pivot, hardly a vector has another key.
            if below | above == 0 {
                while n - at >= 4 * V::LANES && all_are(from.add(at), pivots) {
                    at += 4 * V::LANES;
                }
                continue;
            }
            keys.compress(below).store(to.add(lower));
            keys.split(!above).1.store(to.add(end - V::LANES));
            lower += below.count_ones() as usize;
            end -= above.count_ones() as usize;
        }
        while at < n {
            let some = (n - at).min(V::LANES);
            let keys = V::load_some(from.add(at), some, pivots);
            let below = keys.below(pivots) & first(some, V::LANES);
            let above = pivots.below(keys) & first(some, V::LANES);
            let (few, many) = (below.count_ones() as usize, above.count_ones() as usize);
            keys.compress(below).store_some(to.add(lower), few);
            keys.compress(above).store_some(to.add(end - many), many);
            lower += few;
            end -= many;
            at += some;
        }
        fill::<T, V>(home, lower, end, pivots);
        (lower, end)
    }
}

/// Writes the word with this key to the places from `start` to `end`.
///
/// # Safety
/// They may be written; inside of [`Vector::run`].
#[inline(always)]
pub(super) unsafe fn fill<T: Lane, V: Vector<Key = T::Key>>(home: *mut T, start: usize, end: usize, keys: V) {
    // SAFETY: the caller's promise.
    unsafe {
        let (mut at, words) = (start, keys.words(T::ORDER));
        while end - at >= V::LANES {
            words.store(home.cast::<T::Key>().add(at));
            at += V::LANES;
        }
        words.store_some(home.cast::<T::Key>().add(at), end - at);
    }
}

/// Whether each lane of four vectors equals that of `keys`.
///
/// # Safety
/// Four vectors may be read; inside of [`Vector::run`].
#[inline(always)]
pub(super) unsafe fn all_are<V: Vector>(from: *const V::Key, keys: V) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let [a, b, c, d]: [u32; 4] = array!(0, |i| V::load(from.add(i * V::LANES)).same(keys));
        a & b & c & d == first(V::LANES, V::LANES)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{U64x8, U128x8, has_avx512};
    use super::*;
    use std::mem::MaybeUninit;

    /// Without pivots, from either buffer, with words that are less aligned than their keys.
    fn without_pivots<T: Lane + Default + PartialEq + std::fmt::Debug, V: Vector<Key = T::Key>>(
        make: impl Fn(u64) -> T,
    ) {
        if !has_avx512() {
            return eprintln!("skipped: no AVX-512");
        }
        const N: usize = 300;
        for at_home in [true, false] {
            for start in 0..2 {
                let mut words = [T::default(); N + 1];
                let words = &mut words[start..][..N];
                for (i, word) in words.iter_mut().enumerate() {
                    *word = make((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40);
                }
                let mut expected = words.to_vec();
                expected.sort_by_key(|word| word.key());
                let mut other = [const { MaybeUninit::<T::Key>::uninit() }; N];
                let (home, other) = (words.as_mut_ptr(), other.as_mut_ptr().cast::<T::Key>());
                // SAFETY: both places have room for N keys, as long as words; they are copied as bytes.
                unsafe {
                    V::run(
                        #[inline(always)]
                        || to_keys::<T, V>(home, N),
                    );
                    if !at_home {
                        other.cast::<u8>().copy_from_nonoverlapping(home.cast(), N * size_of::<T>());
                    }
                    Quick::<T, V> { home, other, of: PhantomData }.sort(0, N, at_home, 0, &mut 1);
                }
                assert_eq!(words, expected, "{at_home}, {start}");
            }
        }
    }

    #[test]
    fn words_aligned_less_than_their_keys() {
        without_pivots::<(u64, u64), U128x8>(|i| (i % 100, i));
        without_pivots::<(u32, u32), U64x8>(|i| (i as u32 % 100, i as u32));
    }
}
