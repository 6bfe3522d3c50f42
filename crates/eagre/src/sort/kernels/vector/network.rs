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

/// Sorts each column of eight: 19 comparators.
///
/// # Safety
/// See [`Vector`].
#[inline(always)]
pub(super) unsafe fn columns_of_8<V: Vector>(mut rows: [V; 8]) -> [V; 8] {
    network!(rows: (0 2)(1 3)(4 6)(5 7) (0 4)(1 5)(2 6)(3 7) (0 1)(2 3)(4 5)(6 7) (2 4)(3 5) (1 4)(3 6) (1 2)(3 4)(5 6));
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
