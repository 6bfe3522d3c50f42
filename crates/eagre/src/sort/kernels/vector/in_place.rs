//! Quicksort of more words than there is room for beside them: they are partitioned in place until they fit.
//!
//! The keys at both ends are put aside, which leaves free places there. Each turn reads a group of keys at that end where
//! fewer places are free, and writes keys below the pivot to the front and the others to the back. So a group is free at
//! either end whenever one is written. What was put aside comes last.

use super::lane::Lane;
use super::quick::{Pivot, Quick, as_they_are, belongs, fill, median, part};
use super::{Vector, array};
use std::mem::MaybeUninit;

/// How many vectors are read at once: which end they come from is a branch that nobody can predict.
const GROUP: usize = 8;
/// The most lanes of any register.
const MOST_LANES: usize = 16;

/// The keys that are put aside, and those that no group is left for.
pub(super) const fn aside<V: Vector>() -> usize {
    3 * GROUP * V::LANES
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

/// [`super::super::Word::move_to_front`].
///
/// # Safety
/// The processor has such registers.
pub(in super::super) unsafe fn move_to_front<T: Lane, V: Vector<Key = T::Key>>(words: &mut [T], last: T) -> usize {
    let mut other = [const { MaybeUninit::<V::Key>::uninit() }; 3 * GROUP * MOST_LANES];
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
    // SAFETY: places from `lower` to `front` and from `back` to `end` are free, and keys between `front` and `back` are yet
    // to be read. Together two groups are free; a third one is read where fewer are, so that there are a group's places at
    // either end, and a vector is stored where at least one is free.
    unsafe {
        let group = GROUP * V::LANES;
        if n < 2 * group {
            copy(keys, other, n);
            return part::<V, OR_EQUAL>(other, keys, n, pivots, as_keys);
        }
        let (mut front, mut back) = (group, n - group);
        copy(keys, other, group);
        copy(keys.add(back), other.add(group), group);
        let (mut lower, mut end) = (0, n);
        while back - front >= group {
            let from = if front - lower <= end - back {
                front += group;
                front - group
            } else {
                back -= group;
                back
            };
            let rows: [V; GROUP] = array!(pivots, |i| V::load(keys.add(from + i * V::LANES)));
            let mut i = 0;
            while i < GROUP {
                let row = rows[i];
                let below = belongs::<V, OR_EQUAL>(as_keys(row), pivots);
                let (few, many) = row.split(below);
                few.store(keys.add(lower));
                many.store(keys.add(end - V::LANES));
                let count = below.count_ones() as usize;
                lower += count;
                end -= V::LANES - count;
                i += 1;
            }
        }
        let rest = back - front;
        copy(keys.add(front), other.add(2 * group), rest);
        lower + part::<V, OR_EQUAL>(other, keys.add(lower), 2 * group + rest, pivots, as_keys)
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
    use super::super::quick::to_keys;
    use super::super::registers::few_most;
    use super::super::{I64x4, U32x8, U32x16, U64x8, has_avx2, has_avx512};
    use super::*;
    use std::fmt::Debug;
    use std::marker::PhantomData;

    /// Few places beside the words; keys of every kind, with pivots and, from some depth on, without.
    fn in_little_room<T: Lane + PartialEq + Debug, V: Vector<Key = T::Key>>(make: impl Fn(u64) -> T) {
        let random = |i: u64| fastrand::Rng::with_seed(fastrand::Rng::with_seed(i).u64(..)).u64(..);
        let patterns: [&dyn Fn(u64) -> u64; 6] =
            [&random, &|i| i, &|i| u64::MAX - i, &|i| (random(i) % 3) << 60, &|_| 7 << 50, &|i| {
                random(i) >> (random(i + 1) % 64)
            }];
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
            }
            false => eprintln!("skipped: no AVX-512"),
        }
    }
}
