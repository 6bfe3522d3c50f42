//! AVX2 for finding the ends of fields. The rows use the portable code, compiled for this processor.

use std::arch::x86_64::*;

use super::{Index, Rows, Table, index};

/// Proof that the processor has AVX2 and the bit manipulation instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx2(());

impl Avx2 {
    pub(super) fn new() -> Option<Avx2> {
        (is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt"))
        .then_some(Avx2(()))
    }

    pub(super) fn index(self, text: &[u8], delimiter: u8, index: &mut Index) {
        // SAFETY: `new` checked the instructions.
        unsafe { fill(text, delimiter, index) }
    }

    pub(super) fn add(self, rows: Rows<'_>, from: usize, table: &mut Table) -> usize {
        // SAFETY: `new` checked the instructions.
        unsafe { add(rows, from, table) }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn fill(text: &[u8], delimiter: u8, index: &mut Index) {
    let delimiters = _mm256_set1_epi8(delimiter as i8);
    let newlines = _mm256_set1_epi8(b'\n' as i8);
    for (number, word) in text.as_chunks::<64>().0.iter().enumerate() {
        // SAFETY: two loads of 32 bytes from 64.
        let (low, high) =
            unsafe { (_mm256_loadu_si256(word.as_ptr().cast()), _mm256_loadu_si256(word.as_ptr().add(32).cast())) };
        let mask = |with| {
            let low = _mm256_movemask_epi8(_mm256_cmpeq_epi8(low, with)) as u32;
            let high = _mm256_movemask_epi8(_mm256_cmpeq_epi8(high, with)) as u32;
            u64::from(low) | u64::from(high) << 32
        };
        let lines = mask(newlines);
        index.note(number * 64, mask(delimiters) | lines, lines);
    }
    index::rest(text, delimiter, index);
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn add(rows: Rows<'_>, from: usize, table: &mut Table) -> usize {
    rows.add(from, table)
}
