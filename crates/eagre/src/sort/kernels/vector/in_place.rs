//! Quicksort of more words than there is room for beside them: they are partitioned in place until they fit.
//!
//! The keys at both ends are put aside, which leaves free places there. Each turn reads a group of keys at that end where
//! fewer places are free, and writes keys below the pivot to the front and the others to the back. Which end that is
//! depends on keys, so nobody can predict it; therefore it is decided a turn ahead, and the next group is read before this
//! one is written. What was put aside comes last.

use super::lane::Lane;
use super::quick::{Pivot, Quick, all_are, as_they_are, fill, median, part, write};
use super::{Vector, array, first};
use std::mem::MaybeUninit;

/// How many registers are read at once, if two such groups fit all that there are.
const GROUP: usize = 8;
/// The most lanes of any register.
const MOST_LANES: usize = 16;

/// Fewer of two groups fit the registers of AVX2, and of those that are two.
const SMALL_GROUP: usize = 4;

/// The keys of a group.
const fn group<V: Vector>() -> usize {
    if size_of::<V>() == 64 { GROUP * V::LANES } else { SMALL_GROUP * V::LANES }
}

/// The keys that are put aside: a group from each end, the last one that was read, and those that no group is left for.
pub(super) const fn aside<V: Vector>() -> usize {
    4 * group::<V>()
}

impl<T: Lane, V: Vector<Key = T::Key>> Quick<T, V> {
    /// Sorts the keys from `start` to `end`, which are at home, where the other buffer has room for `room` keys only, at
    /// least [`aside`]. Writes the words to their places.
    ///
    /// # Safety
    /// The places may be read and written; the processor has such registers.
    pub(super) unsafe fn sort_in_place(
        &self,
        mut start: usize,
        mut end: usize,
        room: usize,
        mut depth: u32,
        random: &mut u64,
    ) {
        // SAFETY: ranges are within the caller's; words are as long as keys.
        unsafe {
            while end - start > room {
                if depth == 0 {
                    return self.slowly(start, end, true);
                }
                depth -= 1;
                let (home, n) = (self.home.add(start), end - start);
                let (keys, other) = (home.cast::<T::Key>(), self.other);
                let (lower, upper) = V::run(
                    #[inline(always)]
                    || {
                        let (pivot, often) = match median::<V>(keys, n, random) {
                            Pivot::Once(key) => (key, false),
                            Pivot::Often(key) => (key, true),
                            Pivot::Nearly(key) => {
                                if let Some(parts) = without_others::<T, V>(home, n, other, room, key) {
                                    return parts;
                                }
                                (key, true)
                            }
                        };
                        let pivots = V::splat(pivot);
                        let lower = part_in_place::<V, false>(keys, n, other, pivots, as_they_are);
                        // No key is below the smallest.
                        if !often && lower > 0 {
                            return (lower, lower);
                        }
                        let upper =
                            lower + part_in_place::<V, true>(keys.add(lower), n - lower, other, pivots, as_they_are);
                        fill::<T, V>(home, lower, upper, pivots);
                        (lower, upper)
                    },
                );
                let (lower, upper) = (start + lower, start + upper);
                if lower - start < end - upper {
                    self.sort_in_place(start, lower, room, depth, random);
                    start = upper;
                } else {
                    self.sort_in_place(upper, end, room, depth, random);
                    end = lower;
                }
            }
            Quick { home: self.home.add(start), ..*self }.sort(0, end - start, true, depth, random);
        }
    }
}

/// Partitions keys that nearly all equal the pivot: the others are put aside, and it takes their places. Keys that equal it
/// become words. Returns how many are below the pivot, and how many not above it; `None`, with keys in another order, if there
/// is no room for the others.
///
/// # Safety
/// There are n keys, and room for so many others; inside of [`Vector::run`].
#[inline(always)]
unsafe fn without_others<T: Lane, V: Vector<Key = T::Key>>(
    home: *mut T,
    n: usize,
    other: *mut T::Key,
    room: usize,
    pivot: T::Key,
) -> Option<(usize, usize)> {
    let (keys, mut at, mut aside) = (home.cast::<T::Key>(), 0, 0);
    // SAFETY: there is room for a group of rows in each turn; fewer are aside than were read.
    unsafe {
        let pivots = V::splat(pivot);
        while at < n {
            let rows = n - at >= 4 * V::LANES;
            if !rows || !all_are(keys.add(at), pivots) {
                if room - aside < 4 * V::LANES {
                    copy(other, keys, aside);
                    return None;
                }
                let mut i = 0;
                while i < 4 {
                    let place = at + i * V::LANES;
                    let some = n.saturating_sub(place);
                    let row = V::load_some(keys.wrapping_add(place), some, pivots);
                    let others = !row.same(pivots) & first(V::LANES, V::LANES);
                    row.compress(others).store(other.add(aside));
                    pivots.store_some(keys.wrapping_add(place), some);
                    aside += others.count_ones() as usize;
                    i += 1;
                }
            }
            at += 4 * V::LANES;
        }
        let lower = part::<V, false>(other, keys, aside, pivots, as_they_are);
        let upper = n - (aside - lower);
        keys.add(upper).cast::<u8>().copy_from(keys.add(lower).cast(), (n - upper) * size_of::<T>());
        // Some have been overwritten; the others are keys yet.
        fill::<T, V>(home, lower, if V::are_keys(T::ORDER) { upper.min(aside) } else { upper }, pivots);
        Some((lower, upper))
    }
}

/// [`super::super::Word::move_to_front`].
///
/// # Safety
/// The processor has such registers.
pub(in super::super) unsafe fn move_to_front<T: Lane, V: Vector<Key = T::Key>>(words: &mut [T], last: T) -> usize {
    let mut other = [const { MaybeUninit::<V::Key>::uninit() }; 4 * GROUP * MOST_LANES];
    let other = other.as_mut_ptr().cast();
    // SAFETY: a word is as long as its key, and there is room for [`aside`] keys, that is, for words that are moved as keys.
    unsafe {
        let bits = (&raw const last).cast::<T::Key>().read_unaligned();
        V::run(
            #[inline(always)]
            || {
                let last = V::splat(bits).keys(T::ORDER);
                part_in_place::<V, true>(
                    words.as_mut_ptr().cast(),
                    words.len(),
                    other,
                    last,
                    #[inline(always)]
                    |row| row.keys(T::ORDER),
                )
            },
        )
    }
}

/// Moves those of `n` rows to the front whose keys are below the pivot, also those that equal it if `OR_EQUAL` says so, and
/// the others to the back. Returns how many are in front.
///
/// # Safety
/// There are n keys, or words that become keys, and room for [`aside`] others; inside of [`Vector::run`].
#[inline(always)]
unsafe fn part_in_place<V: Vector, const OR_EQUAL: bool>(
    keys: *mut V::Key,
    n: usize,
    other: *mut V::Key,
    pivots: V,
    as_keys: impl Fn(V) -> V + Copy,
) -> usize {
    // SAFETY: so many keys are in a group.
    unsafe {
        match size_of::<V>() {
            64 => part_in_groups::<V, GROUP, OR_EQUAL>(keys, n, other, pivots, as_keys),
            _ => part_in_groups::<V, SMALL_GROUP, OR_EQUAL>(keys, n, other, pivots, as_keys),
        }
    }
}

/// [`part_in_place`] with so many rows in a [`group`].
///
/// # Safety
/// As there.
#[inline(always)]
unsafe fn part_in_groups<V: Vector, const ROWS: usize, const OR_EQUAL: bool>(
    keys: *mut V::Key,
    n: usize,
    other: *mut V::Key,
    pivots: V,
    as_keys: impl Fn(V) -> V + Copy,
) -> usize {
    // Places from `lower` to `front` and from `back` to `end` are free, and keys between `front` and `back` are yet
    // to be read. With the two groups aside and one in registers, three groups are free. The next one is read where fewer
    // are, that is, at most one and a half; at least so many are free at the other end. So after it is read, a whole group
    // and a row may be written to either end, and after the write a row is free at either end as before.
    // SAFETY: so all reads and writes below are inside of both arrays, and none overtakes another.
    unsafe {
        let group = ROWS * V::LANES;
        if n < 3 * group {
            copy(keys, other, n);
            return part::<V, OR_EQUAL>(other, keys, n, pivots, as_keys);
        }
        let (mut front, mut back) = (2 * group, n - group);
        copy(keys, other, group);
        copy(keys.add(back), other.add(group), group);
        let (mut lower, mut end) = (0, n);
        let mut rows: [V; ROWS] = array!(pivots, |i| V::load(keys.add(group + i * V::LANES)));
        while back - front >= group {
            let at_front = front - lower <= end - back;
            let from = if at_front { front } else { back - group };
            front += if at_front { group } else { 0 };
            back -= if at_front { 0 } else { group };
            let next = array!(pivots, |i| V::load(keys.add(from + i * V::LANES)));
            let mut i = 0;
            while i < ROWS {
                let count = write::<V, OR_EQUAL>(rows[i], pivots, keys.add(lower), keys.add(end), as_keys);
                lower += count;
                end -= V::LANES - count;
                i += 1;
            }
            rows = next;
        }
        let mut i = 0;
        while i < ROWS {
            rows[i].store(other.add(2 * group + i * V::LANES));
            i += 1;
        }
        let rest = back - front;
        copy(keys.add(front), other.add(3 * group), rest);
        lower + part::<V, OR_EQUAL>(other, keys.add(lower), 3 * group + rest, pivots, as_keys)
    }
}

/// Copies keys as bytes: words may be less aligned than their keys.
///
/// # Safety
/// There are two places for n keys.
#[inline(always)]
unsafe fn copy<K>(from: *const K, to: *mut K, n: usize) {
    // SAFETY: the caller's promise.
    unsafe { to.cast::<u8>().copy_from_nonoverlapping(from.cast(), n * size_of::<K>()) }
}

#[cfg(test)]
mod tests {
    use super::super::avx512::F64x8;
    use super::super::quick::to_keys;
    use super::super::registers::few_most;
    use super::super::{I64x4, U32x8, U32x16, U64x8, U128x8, has_avx2, has_avx512};
    use super::*;
    use std::fmt::Debug;
    use std::marker::PhantomData;

    /// Few places beside the words; keys of every kind, with pivots and, from some depth on, without.
    fn in_little_room<T: Lane + PartialEq + Debug, V: Vector<Key = T::Key>>(make: impl Fn(u64) -> T) {
        let random = |i: u64| fastrand::Rng::with_seed(fastrand::Rng::with_seed(i).u64(..)).u64(..);
        let patterns: [&dyn Fn(u64) -> u64; 8] = [
            &random,
            &|i| i,
            &|i| u64::MAX - i,
            &|i| (random(i) % 3) << 60,
            &|_| 7 << 50,
            &|i| random(i) >> (random(i + 1) % 64),
            &|i| if random(i).is_multiple_of(50) { random(i + 1) } else { 9 << 50 },
            // More others than there is room for, at the end.
            &|i| if i > 9000 { random(i) } else { 1 << 63 },
        ];
        for n in [0, 1, 200, aside::<V>(), 900, 5000, 20_011] {
            for (pattern, depth) in patterns.iter().flat_map(|pattern| [(pattern, 60), (pattern, 2)]) {
                // The first is left out: words may be less aligned than their keys.
                let mut words: Vec<T> = (0..=n as u64).map(|i| make(pattern(i))).collect();
                let words = &mut words[1..];
                let mut expected = words.to_vec();
                expected.sort_by_key(|word| word.key());
                for room in [few_most::<V>(), 2000] {
                    let room = room.max(aside::<V>());
                    let mut other: Vec<T::Key> = Vec::with_capacity(room);
                    let (home, other) = (words.as_mut_ptr(), other.as_mut_ptr());
                    // SAFETY: there are n words, as long as keys, and the other buffer has room for so many.
                    unsafe {
                        V::run(
                            #[inline(always)]
                            || to_keys::<T, V>(home, n),
                        );
                        Quick::<T, V> { home, other, of: PhantomData }.sort_in_place(0, n, room, depth, &mut 1);
                    }
                    assert!(words == expected, "{n} in {room}");
                    words.reverse();
                }
                let last = expected.get(n / 3).copied();
                if let Some(last) = last {
                    // SAFETY: the processor has such registers.
                    let front = unsafe { move_to_front::<T, V>(words, last) };
                    assert!(words[..front].iter().all(|word| word.key() <= last.key()));
                    assert!(words[front..].iter().all(|word| word.key() > last.key()));
                    words.sort_by_key(|word| word.key());
                    assert!(words == expected, "{n}");
                }
            }
        }
    }

    #[test]
    fn words_are_sorted_in_little_room() {
        if has_avx2() {
            in_little_room::<u32, U32x8>(|bits| (bits >> 32) as u32);
            in_little_room::<f32, U32x8>(|bits| ((bits >> 32) as u32) as f32);
            in_little_room::<i64, I64x4>(|bits| bits as i64);
            in_little_room::<(u32, u32), I64x4>(|bits| ((bits >> 32) as u32, bits as u32));
        }
        match has_avx512() {
            true => {
                in_little_room::<i32, U32x16>(|bits| (bits >> 32) as i32);
                in_little_room::<u64, U64x8>(|bits| bits);
                in_little_room::<f64, F64x8>(|bits| bits as f64);
                in_little_room::<(u64, u64), U128x8>(|bits| (bits >> 32, bits));
            }
            false => eprintln!("skipped: no AVX-512"),
        }
    }
}
