//! The work every stream contender does: fill a range with a known sequence, and add it up again.
//!
//! Word `i` of a stream is `(i + 1) * STEP` with an odd `STEP`: no word is zero, no two words of a
//! stream are equal, and the sum has a closed form. The loops are one SIMD store, or one load and
//! one addition, per vector, so what limits them is memory and whatever moves the blocks. The
//! widest instruction set is chosen at run time; on AVX-512 an 8 MiB range is filled and summed at
//! the speed of the cache.
//!
//! A sum alone would not see two blocks that changed places, so [`Tally`] also compares the first
//! and the last word of every piece with the closed form.

use std::sync::OnceLock;

/// The difference between neighbouring words. Odd, so that words repeat only after 2^64 of them.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Word `index` of every stream.
pub(crate) const fn word(index: u64) -> u64 {
    index.wrapping_add(1).wrapping_mul(STEP)
}

/// The sum of the first `words` words: `STEP * n (n + 1) / 2`, modulo 2^64.
pub(crate) const fn expected_sum(words: u64) -> u64 {
    let n = words as u128;
    ((n * (n + 1) / 2) as u64).wrapping_mul(STEP)
}

/// The instruction sets the loops exist for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// 64-byte vectors.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// 32-byte vectors.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Whatever the compiler makes of a plain loop.
    Portable,
}

impl Level {
    /// The widest one this machine has; detected once.
    pub(crate) fn best() -> Level {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| {
            #[cfg(target_arch = "x86_64")]
            {
                if is_x86_feature_detected!("avx512f") {
                    return Level::Avx512;
                }
                if is_x86_feature_detected!("avx2") {
                    return Level::Avx2;
                }
            }
            Level::Portable
        })
    }
}

/// Writes words `first..` into `out`.
pub(crate) fn fill(out: &mut [u64], first: u64) {
    // SAFETY: a slice is valid for writes over its whole length.
    unsafe { fill_at(out.as_mut_ptr(), out.len(), first) }
}

/// The sum of `words`.
pub(crate) fn sum(words: &[u64]) -> u64 {
    // SAFETY: a slice is valid for reads over its whole length.
    unsafe { sum_at(words.as_ptr(), words.len()) }
}

/// Writes words `first..first + words` from `out` on, in address order.
///
/// # Safety
///
/// `out` must be valid for writes of `words` words, or be a stream pointer on which such writes are
/// legal in ascending order, one vector at a time.
pub(crate) unsafe fn fill_at(out: *mut u64, words: usize, first: u64) {
    match Level::best() {
        // SAFETY: the level says the feature is there; the range is the caller's promise.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { x86::fill_avx512(out, words, first) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { x86::fill_avx2(out, words, first) },
        // SAFETY: the caller's promise.
        Level::Portable => unsafe { fill_tail(out, 0, words, first) },
    }
}

/// The sum of `words` words from `from` on, read in address order.
///
/// # Safety
///
/// `from` must be valid for reads of `words` words, or be a stream pointer on which such reads are
/// legal in ascending order, a few vectors at a time.
pub(crate) unsafe fn sum_at(from: *const u64, words: usize) -> u64 {
    match Level::best() {
        // SAFETY: the level says the feature is there; the range is the caller's promise.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { x86::sum_avx512(from, words) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { x86::sum_avx2(from, words) },
        // SAFETY: the caller's promise.
        Level::Portable => unsafe { sum_tail(from, 0, words) },
    }
}

/// Words `from..words` of the fill, one at a time.
///
/// # Safety
///
/// As [`fill_at`].
#[inline]
unsafe fn fill_tail(out: *mut u64, from: usize, words: usize, first: u64) {
    let mut value = word(first.wrapping_add(from as u64));
    for i in from..words {
        // SAFETY: `i < words`, the length the caller promised.
        unsafe { out.add(i).write(value) };
        value = value.wrapping_add(STEP);
    }
}

/// Words `from..words` of the sum, one at a time.
///
/// # Safety
///
/// As [`sum_at`].
#[inline]
unsafe fn sum_tail(start: *const u64, from: usize, words: usize) -> u64 {
    let mut total = 0u64;
    for i in from..words {
        // SAFETY: `i < words`, the length the caller promised.
        total = total.wrapping_add(unsafe { start.add(i).read() });
    }
    total
}

/// Words per item of the vector iterator: 64 bytes.
pub(crate) const LANES: usize = 8;

/// Hands the stream's first `items` vectors to `push`, one at a time.
pub(crate) fn fill_items(items: u64, push: impl FnMut([u64; LANES])) {
    match Level::best() {
        // SAFETY: the level says the feature is there.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { x86::fill_items_avx512(items, push) },
        // SAFETY: the level says the feature is there.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { x86::fill_items_avx2(items, push) },
        Level::Portable => fill_items_plain(items, push),
    }
}

/// The sum of all words of all `items`.
pub(crate) fn sum_items(items: impl Iterator<Item = [u64; LANES]>) -> u64 {
    match Level::best() {
        // SAFETY: the level says the feature is there.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { x86::sum_items_avx512(items) },
        // SAFETY: the level says the feature is there.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { x86::sum_items_avx2(items) },
        Level::Portable => sum_items_plain(items),
    }
}

/// The item loop; inlined into one function per instruction set, where it becomes vector code.
#[inline(always)]
fn fill_items_plain(items: u64, mut push: impl FnMut([u64; LANES])) {
    let mut item: [u64; LANES] = std::array::from_fn(|i| word(i as u64));
    for _ in 0..items {
        push(item);
        item = item.map(|value| value.wrapping_add(STEP.wrapping_mul(LANES as u64)));
    }
}

/// The other item loop, likewise.
#[inline(always)]
fn sum_items_plain(items: impl Iterator<Item = [u64; LANES]>) -> u64 {
    let mut totals = [0u64; LANES];
    for item in items {
        for (total, value) in totals.iter_mut().zip(item) {
            *total = total.wrapping_add(value);
        }
    }
    totals.iter().fold(0, |a, b| a.wrapping_add(*b))
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! The same two loops, in vectors of 64 and of 32 bytes, four vectors a turn.

    use std::arch::x86_64::*;

    use super::{LANES, STEP, fill_items_plain, fill_tail, sum_items_plain, sum_tail, word};

    /// [`super::fill_items`], compiled for AVX-512F.
    #[target_feature(enable = "avx512f")]
    pub(super) fn fill_items_avx512(items: u64, push: impl FnMut([u64; LANES])) {
        fill_items_plain(items, push);
    }

    /// [`super::fill_items`], compiled for AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) fn fill_items_avx2(items: u64, push: impl FnMut([u64; LANES])) {
        fill_items_plain(items, push);
    }

    /// [`super::sum_items`], compiled for AVX-512F.
    #[target_feature(enable = "avx512f")]
    pub(super) fn sum_items_avx512(items: impl Iterator<Item = [u64; LANES]>) -> u64 {
        sum_items_plain(items)
    }

    /// [`super::sum_items`], compiled for AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) fn sum_items_avx2(items: impl Iterator<Item = [u64; LANES]>) -> u64 {
        sum_items_plain(items)
    }

    /// # Safety
    ///
    /// As [`super::fill_at`], and the machine has AVX-512F.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn fill_avx512(out: *mut u64, words: usize, first: u64) {
        let lanes: [u64; 8] = std::array::from_fn(|i| word(first.wrapping_add(i as u64)));
        // SAFETY: `lanes` holds 64 bytes.
        let mut value = unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) };
        let step = _mm512_set1_epi64(STEP.wrapping_mul(8) as i64);
        let whole = words / 32 * 32;
        let mut i = 0;
        while i < whole {
            for k in 0..4 {
                // SAFETY: `i + 8 k + 8 <= whole <= words`.
                unsafe { _mm512_storeu_si512(out.add(i + 8 * k).cast(), value) };
                value = _mm512_add_epi64(value, step);
            }
            i += 32;
        }
        // SAFETY: the rest of the caller's range.
        unsafe { fill_tail(out, whole, words, first) }
    }

    /// # Safety
    ///
    /// As [`super::sum_at`], and the machine has AVX-512F.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn sum_avx512(from: *const u64, words: usize) -> u64 {
        let mut totals = [_mm512_setzero_si512(); 4];
        let whole = words / 32 * 32;
        let mut i = 0;
        while i < whole {
            for (k, total) in totals.iter_mut().enumerate() {
                // SAFETY: `i + 8 k + 8 <= whole <= words`.
                let vector = unsafe { _mm512_loadu_si512(from.add(i + 8 * k).cast()) };
                *total = _mm512_add_epi64(*total, vector);
            }
            i += 32;
        }
        let vector = _mm512_add_epi64(_mm512_add_epi64(totals[0], totals[1]), _mm512_add_epi64(totals[2], totals[3]));
        // SAFETY: the rest of the caller's range.
        (_mm512_reduce_add_epi64(vector) as u64).wrapping_add(unsafe { sum_tail(from, whole, words) })
    }

    /// # Safety
    ///
    /// As [`super::fill_at`], and the machine has AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn fill_avx2(out: *mut u64, words: usize, first: u64) {
        let lanes: [u64; 4] = std::array::from_fn(|i| word(first.wrapping_add(i as u64)));
        // SAFETY: `lanes` holds 32 bytes.
        let mut value = unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) };
        let step = _mm256_set1_epi64x(STEP.wrapping_mul(4) as i64);
        let whole = words / 16 * 16;
        let mut i = 0;
        while i < whole {
            for k in 0..4 {
                // SAFETY: `i + 4 k + 4 <= whole <= words`.
                unsafe { _mm256_storeu_si256(out.add(i + 4 * k).cast(), value) };
                value = _mm256_add_epi64(value, step);
            }
            i += 16;
        }
        // SAFETY: the rest of the caller's range.
        unsafe { fill_tail(out, whole, words, first) }
    }

    /// # Safety
    ///
    /// As [`super::sum_at`], and the machine has AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn sum_avx2(from: *const u64, words: usize) -> u64 {
        let mut totals = [_mm256_setzero_si256(); 4];
        let whole = words / 16 * 16;
        let mut i = 0;
        while i < whole {
            for (k, total) in totals.iter_mut().enumerate() {
                // SAFETY: `i + 4 k + 4 <= whole <= words`.
                let vector = unsafe { _mm256_loadu_si256(from.add(i + 4 * k).cast()) };
                *total = _mm256_add_epi64(*total, vector);
            }
            i += 16;
        }
        let vector = _mm256_add_epi64(_mm256_add_epi64(totals[0], totals[1]), _mm256_add_epi64(totals[2], totals[3]));
        let mut lanes = [0u64; 4];
        // SAFETY: `lanes` holds 32 bytes; the tail is the rest of the caller's range.
        unsafe {
            _mm256_storeu_si256(lanes.as_mut_ptr().cast(), vector);
            lanes.iter().fold(sum_tail(from, whole, words), |a, b| a.wrapping_add(*b))
        }
    }
}

/// The reading end's answer: the sum, and whether every piece was in its place.
#[derive(Default)]
pub(crate) struct Tally {
    /// How many words have been seen.
    words: u64,
    /// Their sum.
    total: u64,
    /// The index of the first word found out of place.
    misplaced: Option<u64>,
}

impl Tally {
    /// Adds the next piece of the stream.
    pub(crate) fn add(&mut self, piece: &[u64]) {
        let (Some(first), Some(last)) = (piece.first(), piece.last()) else {
            return;
        };
        self.place(*first, *last, piece.len() as u64, sum(piece));
    }

    /// Adds the next `words` words, read through a stream pointer.
    ///
    /// # Safety
    ///
    /// As [`sum_at`]; the first word is read once before and the last one once after.
    pub(crate) unsafe fn add_at(&mut self, from: *const u64, words: usize) {
        if words == 0 {
            return;
        }
        // SAFETY: the caller's promise; `words` is not zero.
        unsafe {
            let first = from.read();
            let total = sum_at(from, words);
            let last = from.add(words - 1).read();
            self.place(first, last, words as u64, total);
        }
    }

    /// Adds words whose sum was formed elsewhere, in an order nobody checked.
    pub(crate) fn add_sum(&mut self, words: u64, total: u64) {
        self.words += words;
        self.total = self.total.wrapping_add(total);
    }

    fn place(&mut self, first: u64, last: u64, words: u64, total: u64) {
        let in_place = first == word(self.words) && last == word(self.words + words - 1);
        if !in_place && self.misplaced.is_none() {
            self.misplaced = Some(self.words);
        }
        self.add_sum(words, total);
    }

    /// The sum, or why it cannot be right.
    pub(crate) fn answer(self) -> Result<u64, crate::contenders::Trouble> {
        match self.misplaced {
            None => Ok(self.total),
            Some(index) => Err(crate::contenders::Trouble::Wrong(format!(
                "the piece at word {index} is not the one that belongs there"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernels compute, said in the slowest and plainest way.
    fn naive(first: u64, words: u64) -> Vec<u64> {
        (first..first + words).map(|i| STEP.wrapping_mul(i + 1)).collect()
    }

    #[test]
    fn fill_and_sum_agree_with_the_plain_loop_at_every_length_and_offset() {
        for words in (0..130).chain([4096, 4099]) {
            for offset in 0..9 {
                let mut buffer = vec![7u64; offset + words + 3];
                fill(&mut buffer[offset..offset + words], 11);
                let want = naive(11, words as u64);
                assert_eq!(&buffer[offset..offset + words], want.as_slice());
                assert!(buffer[..offset].iter().all(|w| *w == 7));
                assert!(buffer[offset + words..].iter().all(|w| *w == 7));
                let total = want.iter().fold(0u64, |a, b| a.wrapping_add(*b));
                assert_eq!(sum(&buffer[offset..offset + words]), total);
            }
        }
    }

    #[test]
    fn every_level_the_machine_has_does_the_same() {
        let want = naive(5, 1000);
        let total = want.iter().fold(0u64, |a, b| a.wrapping_add(*b));
        let mut got = vec![0u64; 1000];
        // SAFETY: the ranges are the vector's own.
        unsafe {
            fill_tail(got.as_mut_ptr(), 0, 1000, 5);
            assert_eq!(got, want);
            assert_eq!(sum_tail(got.as_ptr(), 0, 1000), total);
        }
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            got.fill(0);
            // SAFETY: the feature is there and the ranges are the vector's own.
            unsafe {
                x86::fill_avx2(got.as_mut_ptr(), 1000, 5);
                assert_eq!(got, want);
                assert_eq!(x86::sum_avx2(got.as_ptr(), 1000), total);
            }
        }
    }

    #[test]
    fn items_carry_the_same_sequence() {
        let mut items = Vec::new();
        fill_items(100, |item| items.push(item));
        assert!(items.as_flattened().iter().eq(&naive(0, 800)));
        assert_eq!(sum_items(items.into_iter()), expected_sum(800));
    }

    #[test]
    fn the_closed_form_is_the_sum() {
        for words in [0, 1, 2, 3, 1000, 65_536] {
            let total = naive(0, words).iter().fold(0u64, |a, b| a.wrapping_add(*b));
            assert_eq!(expected_sum(words), total);
        }
    }

    #[test]
    fn a_tally_sees_pieces_that_changed_places() {
        let words = naive(0, 512);
        let mut right = Tally::default();
        words.chunks(64).for_each(|piece| right.add(piece));
        assert_eq!(right.answer().ok(), Some(expected_sum(512)));

        let mut swapped = Tally::default();
        swapped.add(&words[256..]);
        swapped.add(&words[..256]);
        assert!(swapped.answer().is_err());
    }
}
