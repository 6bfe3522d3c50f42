//! The loops in vectors of 64 and of 32 bytes, four vectors a turn.

use std::arch::x86_64::*;

use super::items::{LANES, fill_items_plain, sum_items_plain};
use super::{STEP, fill_tail, sum_tail, word};

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
