//! Merges two sorted runs, a block of some registers at a time.
//!
//! Of what was read, a block of the largest keys is held in registers. Each turn reads the next block of the run whose next
//! key is smaller, and merges both blocks: compared with the other in reverse, the smaller halves are one block and the
//! larger ones another, and each is bitonic. The smaller keys are written. At most one block was read of keys that are
//! larger than the next ones, so whatever is yet to be read is not smaller than what is written.
//!
//! The same goes from the end, with the largest first. What is left of a run is filled up in a block beside it.

use std::mem::MaybeUninit;

use super::super::uninit::UninitSlice;
use super::lane::{Lane, Number};
use super::registers::clean_row;
use super::{Vector, array};

/// The rows of a block: enough for steps that do not wait for each other.
const ROWS: usize = 4;
/// The most words of a block.
const MOST: usize = ROWS * 16;

/// [`super::super::Word::merge`].
///
/// # Safety
/// The processor has such registers.
pub(in super::super) unsafe fn merge<T: Lane, V: Vector<Key = T::Key>>(
    words: &mut [T],
    middle: usize,
    room: &mut [MaybeUninit<T>],
) {
    let (front, back) = (middle, words.len() - middle);
    let from_the_end = back < front;
    let shorter = if from_the_end { &words[middle..] } else { &words[..middle] };
    if shorter.is_empty() {
        return;
    }
    let aside = room[..shorter.len()].copied(shorter);
    let aside = Run { start: aside.as_ptr(), len: aside.len() };
    // Both what is read and what is written there is reached through this pointer.
    let to = words.as_mut_ptr();
    let there =
        if from_the_end { Run { start: to, len: front } } else { Run { start: to.wrapping_add(front), len: back } };
    let merge = Merge { runs: [aside, there], left: front + back, to };
    // SAFETY: the places of the shorter one are free.
    unsafe {
        V::run(
            #[inline(always)]
            move || if from_the_end { merge.all::<V, true>() } else { merge.all::<V, false>() },
        );
    }
}

/// What is left of a sorted run. From its end if `BACK` says so, here and below: then the next words are its last ones.
struct Run<T> {
    start: *const T,
    len: usize,
}

impl<T: Lane> Run<T> {
    /// The next `n` words.
    ///
    /// # Safety
    /// There are so many.
    #[inline(always)]
    unsafe fn take<const BACK: bool>(&mut self, n: usize) -> *const T {
        let start = self.start;
        self.len -= n;
        // SAFETY: the caller's promise.
        unsafe {
            self.start = start.add(if BACK { 0 } else { n });
            start.add(if BACK { self.len } else { 0 })
        }
    }

    /// The key of the next word.
    ///
    /// # Safety
    /// There is one.
    #[inline(always)]
    unsafe fn head<const BACK: bool>(&self) -> T::Key {
        // SAFETY: the caller's promise.
        unsafe { (*self.start.add(if BACK { self.len - 1 } else { 0 })).lane() }
    }
}

/// A merge that is under way.
struct Merge<T> {
    /// One lies aside, the other at the end of the places that are left, or at their start if the largest come first.
    runs: [Run<T>; 2],
    /// So many places are left.
    left: usize,
    to: *mut T,
}

impl<T: Lane> Merge<T> {
    /// Merges both runs; none is empty.
    ///
    /// # Safety
    /// They are as said; inside of [`Vector::run`].
    #[inline(always)]
    unsafe fn all<V: Vector<Key = T::Key>, const BACK: bool>(mut self) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut held = self.next::<V, BACK>();
            while self.runs[0].len + self.runs[1].len > 0 && !self.is_done::<V, BACK>(held) {
                let (smaller, larger) = merged(held, self.next::<V, BACK>());
                let (out, kept) = if BACK { (larger, smaller) } else { (smaller, larger) };
                held = kept;
                self.write::<V, BACK>(out, self.left.min(const { ROWS * V::LANES }));
            }
            self.write::<V, BACK>(held, self.left - self.runs[1].len);
        }
    }

    /// The next block of the run whose next word comes first.
    ///
    /// # Safety
    /// Any is left; inside of [`Vector::run`].
    #[inline(always)]
    unsafe fn next<V: Vector<Key = T::Key>, const BACK: bool>(&mut self) -> [V; ROWS] {
        let block = const { ROWS * V::LANES };
        let [aside, there] = &self.runs;
        // SAFETY: words are read that are there.
        unsafe {
            let run = if aside.len == 0 || there.len == 0 {
                usize::from(aside.len == 0)
            } else {
                // A number, not a branch: nobody can predict it.
                usize::from((there.head::<BACK>() < aside.head::<BACK>()) != BACK)
            };
            let run = &mut self.runs[run];
            if run.len >= block {
                return load::<T, V>(run.take::<BACK>(block));
            }
            // The rest comes first, and then what is never written.
            let mut filled = [T::from_lane(if BACK { T::Key::new(0) } else { T::Key::LARGEST }); MOST];
            let n = run.len;
            let place = filled.as_mut_ptr().add(if BACK { block - n } else { 0 });
            place.copy_from_nonoverlapping(run.take::<BACK>(n), n);
            load::<T, V>(filled.as_ptr())
        }
    }

    /// Writes the first `n` words of a block, or the last ones.
    ///
    /// # Safety
    /// So many places are free; inside of [`Vector::run`].
    #[inline(always)]
    unsafe fn write<V: Vector<Key = T::Key>, const BACK: bool>(&mut self, rows: [V; ROWS], n: usize) {
        let block = const { ROWS * V::LANES };
        self.left -= n;
        // SAFETY: beside what is yet to be read, the runs have a block that is held, and at most one of them was filled up
        // by less than a block. So a block is free.
        unsafe {
            let place = self.to.add(if BACK { self.left } else { 0 });
            if n == block {
                store::<T, V>(rows, place);
            } else {
                let mut words = [T::from_lane(T::Key::LARGEST); MOST];
                store::<T, V>(rows, words.as_mut_ptr());
                place.copy_from_nonoverlapping(words.as_ptr().add(if BACK { block - n } else { 0 }), n);
            }
            self.to = self.to.add(if BACK { 0 } else { n });
        }
    }

    /// Whether all that is left to read comes after what is held, and is where it belongs.
    ///
    /// # Safety
    /// Inside of [`Vector::run`].
    #[inline(always)]
    unsafe fn is_done<V: Vector<Key = T::Key>, const BACK: bool>(&self, held: [V; ROWS]) -> bool {
        if self.runs[0].len > 0 {
            return false;
        }
        let block = const { ROWS * V::LANES };
        let n = self.left - self.runs[1].len;
        let mut words = [T::from_lane(T::Key::LARGEST); MOST];
        // SAFETY: there are words left.
        unsafe {
            store::<T, V>(held, words.as_mut_ptr());
            let last = words[if BACK { block - n } else { n - 1 }].lane();
            let head = self.runs[1].head::<BACK>();
            if BACK { head <= last } else { last <= head }
        }
    }
}

/// The keys of a block.
///
/// # Safety
/// They may be read; inside of [`Vector::run`].
#[inline(always)]
unsafe fn load<T: Lane, V: Vector<Key = T::Key>>(from: *const T) -> [V; ROWS] {
    // SAFETY: the caller's promise.
    unsafe { array!(V::largest(), |i| V::load(from.cast::<T::Key>().add(i * V::LANES)).keys(T::ORDER)) }
}

/// Writes the words of a block.
///
/// # Safety
/// They may be written; inside of [`Vector::run`].
#[inline(always)]
unsafe fn store<T: Lane, V: Vector<Key = T::Key>>(rows: [V; ROWS], to: *mut T) {
    let mut i = 0;
    while i < ROWS {
        // SAFETY: the caller's promise.
        unsafe { rows[i].words(T::ORDER).store(to.cast::<T::Key>().add(i * V::LANES)) };
        i += 1;
    }
}

/// Merges two blocks. A block's order goes along its first row, then along the second.
///
/// # Safety
/// Inside of [`Vector::run`].
#[inline(always)]
unsafe fn merged<V: Vector>(mut one: [V; ROWS], mut two: [V; ROWS]) -> ([V; ROWS], [V; ROWS]) {
    // SAFETY: the caller's promise.
    unsafe {
        two = array!(two[0], |i| two[ROWS - 1 - i].swapped(V::LANES - 1));
        let mut i = 0;
        while i < ROWS {
            (one[i], two[i]) = one[i].sort(two[i]);
            i += 1;
        }
        (cleaned(one), cleaned(two))
    }
}

/// Sorts a bitonic block.
///
/// # Safety
/// Inside of [`Vector::run`].
#[inline(always)]
unsafe fn cleaned<V: Vector>([a, b, c, d]: [V; ROWS]) -> [V; ROWS] {
    // SAFETY: the caller's promise.
    unsafe {
        let ((a, c), (b, d)) = (a.sort(c), b.sort(d));
        let ((a, b), (c, d)) = (a.sort(b), c.sort(d));
        [clean_row(a), clean_row(b), clean_row(c), clean_row(d)]
    }
}

#[cfg(test)]
mod tests {
    use super::super::{I64x4, U32x8, U32x16, U64x8, U128x8, has_avx2, has_avx512};
    use super::*;
    use std::fmt::Debug;

    /// Two runs of any length, of keys that are far apart, or few, or all of one before those of the other; and the keys
    /// that fill up blocks.
    fn any_two_runs<T: Lane + PartialEq + Debug, V: Vector<Key = T::Key>>(has_level: bool, make: impl Fn(u64) -> T) {
        if !has_level {
            return eprintln!("skipped: no such registers");
        }
        let mut random = fastrand::Rng::with_seed(7);
        let lengths = [0, 1, 2, 31, 32, 33, 64, 100, 127, 128, 129, 500];
        for (front, back) in lengths.iter().flat_map(|&front| lengths.map(|back| (front, back))) {
            for pattern in 0..6 {
                let mut key = |i: usize| match pattern {
                    0 => random.u64(..),
                    1 => random.u64(..3) << 62,
                    2 => i as u64,
                    3 => u64::from(i < front) << 60 | random.u64(..1 << 50),
                    4 => [0, u64::MAX, random.u64(..)][random.usize(..3)],
                    _ => (i as u64 % front.max(1) as u64) << 40,
                };
                let mut words: Vec<T> = (0..front + back).map(|i| make(key(i))).collect();
                words[..front].sort_by_key(|word| word.key());
                words[front..].sort_by_key(|word| word.key());
                let mut expected = words.clone();
                expected.sort_by_key(|word| word.key());
                let mut room = vec![MaybeUninit::uninit(); front.min(back)];
                // SAFETY: the processor has such registers.
                unsafe { merge::<T, V>(&mut words, front, &mut room) };
                assert!(words == expected, "{front} and {back}, pattern {pattern}");
            }
        }
    }

    #[test]
    fn two_runs_become_one() {
        any_two_runs::<u32, U32x8>(has_avx2(), |bits| (bits >> 32) as u32);
        any_two_runs::<f32, U32x8>(has_avx2(), |bits| (bits >> 32) as f32);
        any_two_runs::<i64, I64x4>(has_avx2(), |bits| bits as i64);
        any_two_runs::<(u32, u32), I64x4>(has_avx2(), |bits| ((bits >> 32) as u32, bits as u32));
        any_two_runs::<i32, U32x16>(has_avx512(), |bits| (bits >> 32) as i32);
        any_two_runs::<u64, U64x8>(has_avx512(), |bits| bits);
        any_two_runs::<f64, U64x8>(has_avx512(), |bits| bits as f64);
        any_two_runs::<(u64, u64), U128x8>(has_avx512(), |bits| (bits >> 32, bits));
    }
}
