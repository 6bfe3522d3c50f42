//! Columns: a bucket in each lane, all sorted at once.
//!
//! Words are loaded as rows, transposed, run through a network of vertical comparators, and transposed back.
//! Nothing moves between lanes inside the network, so it costs two instructions a comparator and register.

use super::Vector;

/// Runs each column through a network of comparators, given as pairs of rows.
macro_rules! network {
    ($rows:ident: $(($i:literal $j:literal))*) => {
        // SAFETY: the caller's promise.
        unsafe { $( ($rows[$i], $rows[$j]) = $rows[$i].sort($rows[$j]); )* }
    };
}

/// Sorts each column of four: 5 comparators.
///
/// # Safety
/// See [`Vector`].
#[inline(always)]
pub(super) unsafe fn columns_of_4<V: Vector>(mut rows: [V; 4]) -> [V; 4] {
    network!(rows: (0 1)(2 3)(0 2)(1 3)(1 2));
    rows
}

/// Sorts each column of six: 12 comparators.
///
/// # Safety
/// See [`Vector`].
#[inline(always)]
pub(super) unsafe fn columns_of_6<V: Vector>(mut rows: [V; 6]) -> [V; 6] {
    network!(rows: (0 5)(1 3)(2 4) (1 2)(3 4) (0 3)(2 5) (0 1)(2 3)(4 5) (1 2)(3 4));
    rows
}

/// Sorts each column of eight: 19 comparators.
///
/// # Safety
/// See [`Vector`].
#[inline(always)]
pub(super) unsafe fn columns_of_8<V: Vector>(mut rows: [V; 8]) -> [V; 8] {
    network!(rows: (0 2)(1 3)(4 6)(5 7) (0 4)(1 5)(2 6)(3 7) (0 1)(2 3)(4 5)(6 7) (2 4)(3 5) (1 4)(3 6) (1 2)(3 4)(5 6));
    rows
}

/// Sorts each column of twelve: 39 comparators.
///
/// # Safety
/// See [`Vector`].
#[inline(always)]
pub(super) unsafe fn columns_of_12<V: Vector>(mut rows: [V; 12]) -> [V; 12] {
    network!(rows:
        (0 8)(1 7)(2 6)(3 11)(4 10)(5 9) (0 1)(2 5)(3 4)(6 9)(7 8)(10 11) (0 2)(1 6)(5 10)(9 11)
        (0 3)(1 2)(4 6)(5 7)(8 11)(9 10) (1 4)(3 5)(6 8)(7 10) (1 3)(2 5)(6 9)(8 10) (2 3)(4 5)(6 7)(8 9)
        (4 6)(5 7) (3 4)(5 6)(7 8));
    rows
}

/// Sorts each column of sixteen: 60 comparators.
///
/// # Safety
/// See [`Vector`].
#[inline(always)]
pub(super) unsafe fn columns_of_16<V: Vector>(mut rows: [V; 16]) -> [V; 16] {
    network!(rows:
        (0 13)(1 12)(2 15)(3 14)(4 8)(5 6)(7 11)(9 10) (0 5)(1 7)(2 9)(3 4)(6 13)(8 14)(10 15)(11 12)
        (0 1)(2 3)(4 5)(6 8)(7 9)(10 11)(12 13)(14 15) (0 2)(1 3)(4 10)(5 11)(6 7)(8 9)(12 14)(13 15)
        (1 2)(3 12)(4 6)(5 7)(8 10)(9 11)(13 14) (1 4)(2 6)(5 8)(7 10)(9 13)(11 14) (2 4)(3 6)(9 12)(11 13)
        (3 5)(6 8)(7 9)(10 12) (3 4)(5 6)(7 8)(9 10)(11 12) (6 7)(8 9));
    rows
}

#[cfg(test)]
mod tests {
    use super::super::{U32x8, has_avx2};
    use super::*;

    /// A network that sorts every sequence of zeros and ones sorts every sequence (Knuth, volume 3, 5.3.4).
    fn sorts_zeros_and_ones<const R: usize>(network: impl Fn([U32x8; R]) -> [U32x8; R]) {
        for inputs in (0..1u32 << R).step_by(U32x8::LANES) {
            let bits = |row: usize| std::array::from_fn(|lane| (inputs + lane as u32) >> row & 1);
            let mut sorted = [[0u32; 8]; R];
            // SAFETY: the processor has such registers.
            unsafe {
                let rows = network(std::array::from_fn(|row| {
                    let bits: [u32; 8] = bits(row);
                    U32x8::load(bits.as_ptr())
                }));
                rows.into_iter().zip(&mut sorted).for_each(|(row, to)| row.store(to.as_mut_ptr()));
            }
            (0..U32x8::LANES).for_each(|lane| {
                let input = inputs + lane as u32;
                let ones = (input & ((1u32 << R) - 1)).count_ones() as usize;
                assert!((0..R).all(|row| sorted[row][lane] == u32::from(row >= R - ones)), "{R} rows: {input:b}");
            });
        }
    }

    #[test]
    fn networks_sort() {
        if !has_avx2() {
            return eprintln!("skipped: no AVX2");
        }
        // SAFETY: the processor has such registers.
        unsafe {
            sorts_zeros_and_ones(|rows: [_; 4]| U32x8::run(|| columns_of_4(rows)));
            sorts_zeros_and_ones(|rows: [_; 6]| U32x8::run(|| columns_of_6(rows)));
            sorts_zeros_and_ones(|rows: [_; 8]| U32x8::run(|| columns_of_8(rows)));
            sorts_zeros_and_ones(|rows: [_; 12]| U32x8::run(|| columns_of_12(rows)));
            sorts_zeros_and_ones(|rows: [_; 16]| U32x8::run(|| columns_of_16(rows)));
        }
    }
}
