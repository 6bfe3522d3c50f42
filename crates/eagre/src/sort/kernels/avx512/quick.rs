//! Quicksort, for words that are few or too unevenly spread for a leaf.

use std::arch::x86_64::*;

use super::super::leaf::Table;
use super::lanes::{Lane, store_some};
use super::registers::{FEW, few, first};

/// [`super::super::Word::by_comparison`]: keys are sorted as numbers, in place or, for words of half a lane, on the stack or by the
/// standard library.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2")]
pub(in super::super) fn by_comparison<T: Lane>(words: &mut [T], table: &mut Table) {
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

/// The median of so many words is a pivot.
const SAMPLE: usize = 64;

/// Quicksort for up to as many numbers as a leaf takes, whatever they are like.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2")]
fn quick(mut words: &mut [u64], table: &mut Table, mut depth: u32) {
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
