//! Few words, sorted without leaving the registers.

use std::arch::x86_64::*;

use super::network::{columns_of_8, columns_of_16, network, transpose};

/// How many words [`few`] takes.
pub(in super::super) const FEW: usize = 128;

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
pub(super) fn first(n: usize, most: usize) -> u8 {
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
