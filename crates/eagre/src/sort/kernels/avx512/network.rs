//! Columns: eight buckets are sorted at once, one in each lane.
//!
//! Words are loaded as rows, transposed, run through a network of vertical minima and maxima, and transposed back.
//! Nothing moves between lanes inside the network, so it costs two instructions a comparator and eight buckets.

use std::arch::x86_64::*;

/// Rows become columns.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn transpose(rows: [__m512i; 8]) -> [__m512i; 8] {
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

pub(super) use network;

/// Sorts each of eight columns of eight: 19 comparators.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn columns_of_8(mut rows: [__m512i; 8]) -> [__m512i; 8] {
    network!(rows: (0 2)(1 3)(4 6)(5 7) (0 4)(1 5)(2 6)(3 7) (0 1)(2 3)(4 5)(6 7) (2 4)(3 5) (1 4)(3 6) (1 2)(3 4)(5 6));
    rows
}

/// Sorts each of eight columns of sixteen: 60 comparators.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn columns_of_16(mut rows: [__m512i; 16]) -> [__m512i; 16] {
    network!(rows:
        (0 13)(1 12)(2 15)(3 14)(4 8)(5 6)(7 11)(9 10) (0 5)(1 7)(2 9)(3 4)(6 13)(8 14)(10 15)(11 12)
        (0 1)(2 3)(4 5)(6 8)(7 9)(10 11)(12 13)(14 15) (0 2)(1 3)(4 10)(5 11)(6 7)(8 9)(12 14)(13 15)
        (1 2)(3 12)(4 6)(5 7)(8 10)(9 11)(13 14) (1 4)(2 6)(5 8)(7 10)(9 13)(11 14) (2 4)(3 6)(9 12)(11 13)
        (3 5)(6 8)(7 9)(10 12) (3 4)(5 6)(7 8)(9 10)(11 12) (6 7)(8 9));
    rows
}
