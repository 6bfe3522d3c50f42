//! Sorting networks and a leaf for words with keys of up to 64 bits, in 512-bit registers.
//!
//! **Columns.** Eight buckets are sorted at once, one in each lane: their words are loaded as rows, transposed, run
//! through a network of vertical minima and maxima, and transposed back. Nothing moves between lanes inside the
//! network, so it costs two instructions a comparator and eight buckets. Missing words are the largest number.

use std::arch::x86_64::*;

use super::Word;
use super::leaf::{CAPACITY, Table, aside, buckets, table_len};

/// Whether the processor has what this file needs.
pub(super) fn available() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

/// Compiles `work` for such a processor, and runs it.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn run<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// A word whose key fits a lane.
///
/// # Safety
/// `back` is the inverse of the key; a word has 8 bytes or 4.
pub(super) unsafe trait Lane: Word {
    /// The words' size: 8 bytes or 4.
    const HALF: bool = size_of::<Self>() == 4;

    /// From keys to the bits of the words.
    ///
    /// # Safety
    /// The processor is [`available`].
    unsafe fn back(keys: __m512i) -> __m512i;

    /// From a key to its word.
    fn from_lane(key: u64) -> Self;

    /// The key, as a lane holds it.
    #[inline(always)]
    fn lane(self) -> u64 {
        self.key() as u64
    }
}

macro_rules! lanes {
    ($($type:ty, $key:ident => $word:expr, $keys:ident => $back:expr;)*) => { $(
        // SAFETY: see the tests: each key comes back as its word.
        unsafe impl Lane for $type {
            #[inline(always)]
            #[allow(unused_unsafe, reason = "where the word is its key")]
            unsafe fn back($keys: __m512i) -> __m512i {
                // SAFETY: the caller's promise.
                unsafe { $back }
            }

            #[inline(always)]
            fn from_lane($key: u64) -> $type {
                $word
            }
        }
    )* };
}

lanes! {
    u64, key => key, keys => keys;
    i64, key => (key ^ 1 << 63) as i64, keys => _mm512_xor_si512(keys, _mm512_set1_epi64(i64::MIN));
    // All bits are turned over where the key's highest is 0, and the highest in any case.
    f64, key => f64::from_bits(key ^ ((!key as i64 >> 63) as u64 | 1 << 63)), keys => _mm512_xor_si512(keys, _mm512_or_si512(
        _mm512_srai_epi64::<63>(_mm512_xor_si512(keys, _mm512_set1_epi64(-1))), _mm512_set1_epi64(i64::MIN)));
    // The first field may lie in the lower half.
    (u32, u32), key => ((key >> 32) as u32, key as u32), keys => if std::mem::offset_of!((u32, u32), 0) == 0 { _mm512_rol_epi64::<32>(keys) } else { keys };
    u32, key => key as u32, keys => keys;
    i32, key => (key as u32 ^ 1 << 31) as i32, keys => _mm512_xor_si512(keys, _mm512_set1_epi64(1 << 31));
    f32, key => f32::from_bits(key as u32 ^ ((!key as i32 >> 31) as u32 | 1 << 31)), keys => _mm512_xor_si512(
        keys,
        _mm512_or_si512(
            _mm512_srai_epi32::<31>(_mm512_xor_si512(keys, _mm512_set1_epi64(-1))),
            _mm512_set1_epi64(1 << 31),
        ),
    );
}

/// Stores the words of those keys that `mask` names, which must not be a constant: of a constant mask with one bit LLVM 22
/// makes a scalar store of the whole key, although the word is half of it, and the next word in memory is lost
/// (llvm/llvm-project#179489).
///
/// # Safety
/// There is room for them.
#[target_feature(enable = "avx512f,avx512vl")]
#[inline]
unsafe fn store_some<T: Lane>(to: *mut T, mask: u8, keys: __m512i) {
    // SAFETY: the caller's promise; the processor has what this function is compiled for.
    unsafe {
        let words = T::back(keys);
        if T::HALF {
            _mm256_mask_storeu_epi32(to.cast(), mask, _mm512_cvtepi64_epi32(words));
        } else {
            _mm512_mask_storeu_epi64(to.cast(), mask, words);
        }
    }
}

/// Stores the words of eight keys.
///
/// # Safety
/// There is room for them.
#[target_feature(enable = "avx512f,avx512vl")]
#[inline]
unsafe fn store<T: Lane>(to: *mut T, keys: __m512i) {
    // SAFETY: the caller's promise; the processor has what this function is compiled for.
    unsafe {
        let words = T::back(keys);
        if T::HALF {
            _mm256_storeu_si256(to.cast(), _mm512_cvtepi64_epi32(words));
        } else {
            _mm512_storeu_si512(to.cast(), words);
        }
    }
}

/// Rows become columns.
#[target_feature(enable = "avx512f")]
#[inline]
fn transpose(rows: [__m512i; 8]) -> [__m512i; 8] {
    let pairs = |i: usize| (_mm512_unpacklo_epi64(rows[i], rows[i + 1]), _mm512_unpackhi_epi64(rows[i], rows[i + 1]));
    let [(a0, a1), (a2, a3), (a4, a5), (a6, a7)] = [pairs(0), pairs(2), pairs(4), pairs(6)];
    const EVEN: i32 = 0x88;
    const ODD: i32 = 0xdd;
    let b0 = _mm512_shuffle_i64x2::<EVEN>(a0, a2);
    let b1 = _mm512_shuffle_i64x2::<ODD>(a0, a2);
    let b2 = _mm512_shuffle_i64x2::<EVEN>(a4, a6);
    let b3 = _mm512_shuffle_i64x2::<ODD>(a4, a6);
    let b4 = _mm512_shuffle_i64x2::<EVEN>(a1, a3);
    let b5 = _mm512_shuffle_i64x2::<ODD>(a1, a3);
    let b6 = _mm512_shuffle_i64x2::<EVEN>(a5, a7);
    let b7 = _mm512_shuffle_i64x2::<ODD>(a5, a7);
    [
        _mm512_shuffle_i64x2::<EVEN>(b0, b2),
        _mm512_shuffle_i64x2::<EVEN>(b4, b6),
        _mm512_shuffle_i64x2::<EVEN>(b1, b3),
        _mm512_shuffle_i64x2::<EVEN>(b5, b7),
        _mm512_shuffle_i64x2::<ODD>(b0, b2),
        _mm512_shuffle_i64x2::<ODD>(b4, b6),
        _mm512_shuffle_i64x2::<ODD>(b1, b3),
        _mm512_shuffle_i64x2::<ODD>(b5, b7),
    ]
}

/// Runs each column through a network of comparators, given as pairs of rows.
macro_rules! network {
    ($rows:ident: $(($i:literal $j:literal))*) => {
        $( ($rows[$i], $rows[$j]) = (_mm512_min_epu64($rows[$i], $rows[$j]), _mm512_max_epu64($rows[$i], $rows[$j])); )*
    };
}

/// Sorts each of eight columns of eight: 19 comparators.
#[target_feature(enable = "avx512f")]
#[inline]
fn columns_of_8(mut rows: [__m512i; 8]) -> [__m512i; 8] {
    network!(rows: (0 2)(1 3)(4 6)(5 7) (0 4)(1 5)(2 6)(3 7) (0 1)(2 3)(4 5)(6 7) (2 4)(3 5) (1 4)(3 6) (1 2)(3 4)(5 6));
    rows
}

/// Sorts each of eight columns of sixteen: 60 comparators.
#[target_feature(enable = "avx512f")]
#[inline]
fn columns_of_16(mut rows: [__m512i; 16]) -> [__m512i; 16] {
    network!(rows:
        (0 13)(1 12)(2 15)(3 14)(4 8)(5 6)(7 11)(9 10) (0 5)(1 7)(2 9)(3 4)(6 13)(8 14)(10 15)(11 12)
        (0 1)(2 3)(4 5)(6 8)(7 9)(10 11)(12 13)(14 15) (0 2)(1 3)(4 10)(5 11)(6 7)(8 9)(12 14)(13 15)
        (1 2)(3 12)(4 6)(5 7)(8 10)(9 11)(13 14) (1 4)(2 6)(5 8)(7 10)(9 13)(11 14) (2 4)(3 6)(9 12)(11 13)
        (3 5)(6 8)(7 9)(10 12) (3 4)(5 6)(7 8)(9 10)(11 12) (6 7)(8 9));
    rows
}

/// [`Word::leaf`].
///
/// # Safety
/// See there; and the processor is [`available`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2")]
pub(super) unsafe fn leaf<T: Lane>(from: *const T, to: *mut T, n: usize, high: u32, table: &mut Table) -> bool {
    let bits = buckets(n).ilog2().min(high);
    let (shift, mask) = (high - bits, (1u64 << bits) - 1);
    // Whole groups of eight buckets; the last ones may be empty.
    let fan = (1usize << bits).max(8);
    debug_assert!(table.len() >= table_len(fan));
    let slots = table.as_mut_ptr().cast::<u64>();
    // SAFETY: the table is long enough for all of them.
    let (sizes, gaps, waiting) = unsafe {
        let sizes = slots.add(fan * CAPACITY).cast::<u32>();
        sizes.write_bytes(0, fan);
        (std::slice::from_raw_parts_mut(sizes, fan), sizes.add(fan), slots.add(fan * (CAPACITY + 1)))
    };
    let most_aside = aside(fan);
    let mut waits = 0;
    for i in 0..n {
        // SAFETY: i < n; a bucket is less than the fan-out; the slot is within the bucket's capacity.
        unsafe {
            let word = (*from.add(i)).lane();
            let bucket = ((word >> shift) & mask) as usize;
            let size = sizes.get_unchecked_mut(bucket);
            let count = *size as usize;
            *size += 1;
            if count < CAPACITY {
                *slots.add(bucket * CAPACITY + count) = word;
            } else if waits < most_aside {
                waiting.add(waits).write(word);
                waits += 1;
            } else {
                return false;
            }
        }
    }
    let mut at = 0;
    for (group, counts) in sizes.as_chunks::<8>().0.iter().enumerate() {
        // SAFETY: the group's slots are inside the table; the counts add up to n.
        unsafe { at = finish(slots.add(group * 8 * CAPACITY), counts, to, at, n) };
    }
    if waits > 0 {
        // SAFETY: `to` holds n words but for the places that the words set aside are for; so many are.
        unsafe { insert(to, shift, mask, sizes, gaps, std::slice::from_raw_parts(waiting, waits)) };
    }
    true
}

/// Sorts eight neighbouring buckets and appends them at `to + at`; what follows them may be overwritten up to
/// `to + n`. Returns where they end. A bucket with more words than fit its slots leaves a gap.
///
/// # Safety
/// `slots` are those of eight buckets, `counts` their words, `to` has room for `n`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2")]
#[inline]
unsafe fn finish<T: Lane>(slots: *const u64, counts: &[u32; 8], to: *mut T, mut at: usize, n: usize) -> usize {
    let missing = _mm512_set1_epi64(-1);
    // SAFETY: the caller's promise; what lies where no word was put does not count, it is padded over below.
    let row = |i: usize| unsafe { _mm512_loadu_si512(slots.add(i * 8).cast()) };
    // SAFETY: eight numbers.
    let sizes = _mm512_cvtepu32_epi64(unsafe { _mm256_loadu_si256(counts.as_ptr().cast()) });
    // Row i of the columns has a word where the bucket's size is above i.
    let pad = |row: __m512i, i: usize| {
        _mm512_mask_mov_epi64(missing, _mm512_cmpgt_epi64_mask(sizes, _mm512_set1_epi64(i as i64)), row)
    };
    let few = transpose([row(0), row(2), row(4), row(6), row(8), row(10), row(12), row(14)]);
    let few: [__m512i; 8] = std::array::from_fn(|i| pad(few[i], i));
    if _mm512_cmpgt_epi64_mask(sizes, _mm512_set1_epi64(8)) == 0 {
        let sorted = transpose(columns_of_8(few));
        for (&words, &count) in sorted.iter().zip(counts) {
            // SAFETY: a whole vector fits, or only the bucket's words are stored.
            unsafe {
                if at + 8 <= n {
                    store(to.add(at), words);
                } else {
                    store_some(to.add(at), ((1u32 << count) - 1) as u8, words);
                }
            }
            at += count as usize;
        }
        return at;
    }
    let more = transpose([row(1), row(3), row(5), row(7), row(9), row(11), row(13), row(15)]);
    let rows = std::array::from_fn(|i| if i < 8 { few[i] } else { pad(more[i - 8], i) });
    let rows = columns_of_16(rows);
    let lower = transpose(std::array::from_fn(|i| rows[i]));
    let upper = transpose(std::array::from_fn(|i| rows[i + 8]));
    for (i, &count) in counts.iter().enumerate() {
        // SAFETY: two whole vectors fit, or only the bucket's words are stored.
        unsafe {
            let to = to.add(at);
            if at + 16 <= n {
                store(to, lower[i]);
                store(to.add(8), upper[i]);
            } else {
                let mask = (1u32 << count.min(16)) - 1;
                store_some(to, mask as u8, lower[i]);
                // Where no word is left for the second vector, its place may be beyond the range.
                store_some(to.wrapping_add(8), (mask >> 8) as u8, upper[i]);
            }
        }
        at += count as usize;
    }
    at
}

/// Puts the words of the side list where their buckets have left gaps.
///
/// # Safety
/// `to` holds the words of buckets of these sizes, each bucket's gap at its end, and `waiting` are those that are
/// missing. There is room for as many `gaps` as there are `sizes`.
#[cold]
unsafe fn insert<T: Lane>(to: *mut T, shift: u32, mask: u64, sizes: &mut [u32], gaps: *mut u32, waiting: &[u64]) {
    // From here on `sizes` are beginnings.
    let mut end = 0;
    for (bucket, size) in sizes.iter_mut().enumerate() {
        // SAFETY: as many as there are buckets.
        unsafe { gaps.add(bucket).write(end + (*size).min(CAPACITY as u32)) };
        end += std::mem::replace(size, end);
    }
    for &word in waiting {
        let bucket = ((word >> shift) & mask) as usize;
        // SAFETY: written above.
        let gap = unsafe { &mut *gaps.add(bucket) };
        let (start, mut at) = (sizes[bucket] as usize, *gap as usize);
        *gap += 1;
        // SAFETY: places between the bucket's first and its first missing word; a word comes back from its key.
        unsafe {
            while at > start && (*to.add(at - 1)).lane() > word {
                *to.add(at) = *to.add(at - 1);
                at -= 1;
            }
            // Not by `store_some`: see there.
            to.add(at).write(T::from_lane(word));
        }
    }
}

/// [`Word::by_comparison`]: keys are sorted as numbers, in place or, for words of half a lane, on the stack or by the
/// standard library.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2")]
pub(super) fn by_comparison<T: Lane>(words: &mut [T], table: &mut Table) {
    let (n, at) = (words.len(), words.as_mut_ptr());
    if align_of::<T>() == align_of::<u64>() {
        // Keys take the words' place for a while.
        for i in 0..n {
            // SAFETY: i < n; a word of this alignment is as long as its key.
            unsafe { at.add(i).cast::<u64>().write((*at.add(i)).lane()) };
        }
        // SAFETY: n numbers are there now.
        quick(unsafe { std::slice::from_raw_parts_mut(at.cast::<u64>(), n) }, table, 2 * usize::BITS);
        for i in (0..n).step_by(8) {
            // SAFETY: only the words' places are read and written.
            unsafe {
                let keys = _mm512_maskz_loadu_epi64(first(n - i, 8), at.add(i).cast());
                store_some(at.add(i), first(n - i, 8), keys);
            }
        }
    } else if n <= FEW {
        let mut keys = [0; FEW];
        for (key, word) in keys.iter_mut().zip(&*words) {
            *key = word.lane();
        }
        few(&mut keys[..n]);
        for i in (0..n).step_by(8) {
            // SAFETY: eight keys; only the words' places are written.
            unsafe { store_some(at.add(i), first(n - i, 8), _mm512_loadu_si512(keys.as_ptr().add(i).cast())) };
        }
    } else {
        words.sort_unstable_by_key(|word| word.lane());
    }
}

/// How many words [`few`] takes.
pub(super) const FEW: usize = 128;

/// Sorts up to [`FEW`] numbers.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2")]
pub(super) fn few(words: &mut [u64]) {
    match words.len() {
        0..=1 => {}
        2..=8 => registers::<1>(words),
        9..=16 => registers::<2>(words),
        17..=32 => registers::<4>(words),
        33..=64 => registers::<8>(words),
        65..=128 => registers::<16>(words),
        _ => registers::<32>(words),
    }
}

/// Sorts up to `8 * R` numbers in `R` registers: each of the eight columns, then columns are merged, two, four and
/// eight at a time. A merge compares a run with the next one backwards; then both halves are bitonic. Until the end
/// a run goes down its first column, then down its second, so that most steps stay within columns.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2")]
#[inline]
fn registers<const R: usize>(words: &mut [u64]) {
    assert!(words.len() <= 8 * R);
    let n = words.len();
    let at = words.as_mut_ptr();
    let missing = _mm512_set1_epi64(-1);
    // SAFETY: the mask ends where the words do.
    let mut rows: [__m512i; R] = std::array::from_fn(|i| unsafe {
        _mm512_mask_loadu_epi64(missing, first(n.saturating_sub(8 * i), 8), at.wrapping_add(8 * i).cast())
    });
    columns(&mut rows);
    merge(&mut rows, [1, 0, 3, 2, 5, 4, 7, 6], 0b10101010);
    clean_rows(&mut rows);
    merge(&mut rows, [3, 2, 1, 0, 7, 6, 5, 4], 0b11001100);
    rows.iter_mut().for_each(|row| *row = exchange(*row, [1, 0, 3, 2, 5, 4, 7, 6], 0b10101010));
    clean_rows(&mut rows);
    merge(&mut rows, [7, 6, 5, 4, 3, 2, 1, 0], 0b11110000);
    for row in &mut rows {
        *row = exchange(*row, [2, 3, 0, 1, 6, 7, 4, 5], 0b11001100);
        *row = exchange(*row, [1, 0, 3, 2, 5, 4, 7, 6], 0b10101010);
    }
    clean_rows(&mut rows);
    if R == 1 {
        // SAFETY: the mask ends where the words do.
        return unsafe { _mm512_mask_storeu_epi64(at.cast(), first(n, 8), rows[0]) };
    }
    for (i, group) in rows.chunks(8).enumerate() {
        let columns = transpose(std::array::from_fn(|j| group[j % group.len()]));
        for (lane, column) in columns.into_iter().enumerate() {
            let place = lane * R + 8 * i;
            let mask = first(n.saturating_sub(place), group.len());
            // SAFETY: as above.
            unsafe { _mm512_mask_storeu_epi64(at.wrapping_add(place).cast(), mask, column) };
        }
    }
}

/// The mask of the first `n` lanes, at most `most`.
#[inline]
fn first(n: usize, most: usize) -> u8 {
    ((1u32 << n.min(most)) - 1) as u8
}

/// Sorts each of eight columns.
#[target_feature(enable = "avx512f")]
#[inline]
fn columns<const R: usize>(rows: &mut [__m512i; R]) {
    match R {
        2 => {
            network!(rows: (0 1));
        }
        4 => {
            network!(rows: (0 1)(2 3)(0 2)(1 3)(1 2));
        }
        8 => {
            let sorted = columns_of_8(std::array::from_fn(|i| rows[i]));
            rows.copy_from_slice(&sorted);
        }
        16 => {
            let sorted = columns_of_16(std::array::from_fn(|i| rows[i]));
            rows.copy_from_slice(&sorted);
        }
        32 => {
            let upper = columns_of_16(std::array::from_fn(|i| rows[i]));
            let lower = columns_of_16(std::array::from_fn(|i| rows[16 + i]));
            for i in 0..16 {
                rows[i] = _mm512_min_epu64(upper[i], lower[15 - i]);
                rows[16 + i] = _mm512_max_epu64(upper[i], lower[15 - i]);
            }
            // Both halves are bitonic; the step between them is done, and doing it again changes nothing.
            clean_rows(rows);
        }
        _ => {}
    }
}

/// Each lane keeps the smaller of its word and another's, those in `larger` the larger.
#[target_feature(enable = "avx512f")]
#[inline]
fn keep(own: __m512i, other: __m512i, larger: u8) -> __m512i {
    _mm512_mask_max_epu64(_mm512_min_epu64(own, other), larger, own, other)
}

/// The lanes in another order.
#[target_feature(enable = "avx512f")]
#[inline]
fn permuted(row: __m512i, order: [i64; 8]) -> __m512i {
    // SAFETY: eight numbers.
    _mm512_permutexvar_epi64(unsafe { _mm512_loadu_si512(order.as_ptr().cast()) }, row)
}

/// Compares each lane with the one that `partner` names; lanes in `larger` keep the larger word.
#[target_feature(enable = "avx512f")]
#[inline]
fn exchange(row: __m512i, partner: [i64; 8], larger: u8) -> __m512i {
    keep(row, permuted(row, partner), larger)
}

/// Compares runs with the next ones backwards: rows from the end, lanes in the order `backwards`. The second run's
/// lanes are `larger`.
#[target_feature(enable = "avx512f")]
#[inline]
fn merge<const R: usize>(rows: &mut [__m512i; R], backwards: [i64; 8], larger: u8) {
    for i in 0..R.div_ceil(2) {
        let (upper, lower) = (rows[i], rows[R - 1 - i]);
        rows[i] = keep(upper, permuted(lower, backwards), larger);
        rows[R - 1 - i] = keep(lower, permuted(upper, backwards), larger);
    }
}

/// Sorts columns that are bitonic.
#[target_feature(enable = "avx512f")]
#[inline]
fn clean_rows<const R: usize>(rows: &mut [__m512i; R]) {
    let mut distance = R / 2;
    while distance > 0 {
        for i in 0..R {
            if i & distance == 0 {
                let (upper, lower) = (rows[i], rows[i + distance]);
                (rows[i], rows[i + distance]) = (_mm512_min_epu64(upper, lower), _mm512_max_epu64(upper, lower));
            }
        }
        distance /= 2;
    }
}

/// The median of so many words is a pivot.
const SAMPLE: usize = 64;

/// Quicksort for up to [`super::leaf::LARGEST`] numbers, whatever they are like.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2")]
pub(super) fn quick(mut words: &mut [u64], table: &mut Table, mut depth: u32) {
    while words.len() > FEW {
        if depth == 0 {
            words.sort_unstable();
            return;
        }
        depth -= 1;
        let n = words.len();
        let mut sample: [u64; SAMPLE] = std::array::from_fn(|i| words[i * n / SAMPLE]);
        few(&mut sample);
        let pivot = sample[SAMPLE / 2];
        let mut left = part(words, pivot, false, table);
        if left == 0 {
            // The pivot is the smallest: what equals it is done.
            left = part(words, pivot, true, table);
            words = &mut words[left..];
            continue;
        }
        let (lower, upper) = words.split_at_mut(left);
        quick(lower, table, depth);
        words = upper;
    }
    few(words);
}

/// Brings what is below the pivot (or equal to it, if `equal`) to the front; returns how many that are.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2")]
fn part(words: &mut [u64], pivot: u64, equal: bool, table: &mut Table) -> usize {
    let n = words.len();
    assert!(n + 8 <= table.len());
    let (range, upper) = (words.as_mut_ptr(), table.as_mut_ptr().cast::<u64>());
    let pivots = _mm512_set1_epi64(pivot as i64);
    let (mut at, mut left, mut right) = (0, 0, 0);
    while at < n {
        let lanes = if n - at >= 8 { 0xff } else { (1u8 << (n - at)) - 1 };
        // SAFETY: loads end with the words. `left` is at most `at`, so that what is stored there has been loaded;
        // in the last step only the lower words are stored. `right` is at most `at`, and the table has room for n
        // words and a vector.
        unsafe {
            let some = _mm512_maskz_loadu_epi64(lanes, range.add(at).cast());
            let lower = match equal {
                false => _mm512_mask_cmplt_epu64_mask(lanes, some, pivots),
                true => _mm512_mask_cmple_epu64_mask(lanes, some, pivots),
            };
            let count = lower.count_ones();
            let low = _mm512_maskz_compress_epi64(lower, some);
            let high = _mm512_maskz_compress_epi64(!lower & lanes, some);
            if lanes == 0xff {
                _mm512_storeu_si512(range.add(left).cast(), low);
            } else {
                _mm512_mask_storeu_epi64(range.add(left).cast(), ((1u32 << count) - 1) as u8, low);
            }
            _mm512_storeu_si512(upper.add(right).cast(), high);
            left += count as usize;
            right += (lanes.count_ones() - count) as usize;
        }
        at += 8;
    }
    // SAFETY: so many have been stored, and the rest of the words is as many.
    unsafe { std::ptr::copy_nonoverlapping(upper, range.add(left), right) };
    left
}
