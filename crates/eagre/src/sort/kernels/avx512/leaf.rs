//! A leaf: a radix step into small buckets that are then sorted as columns, eight at a time. Missing words are the
//! largest number.

use std::arch::x86_64::*;

use super::super::leaf::{CAPACITY, Table, aside, buckets, table_len};
use super::lanes::{Lane, store, store_some};
use super::network::{columns_of_8, columns_of_16, transpose};

/// [`super::super::Word::leaf`].
///
/// # Safety
/// See there; and the processor is [`super::available`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2")]
pub(in super::super) unsafe fn leaf<T: Lane>(
    from: *const T,
    to: *mut T,
    n: usize,
    high: u32,
    table: &mut Table,
) -> bool {
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
