//! Few words, sorted without leaving the registers: each column first, then columns are merged, two, four and more at a
//! time. A merge compares a run with the next one backwards; then both halves are bitonic. Until the end a run goes down
//! its first column, then down its second, so that most steps stay within columns.

use super::lane::{self, Lane, Number};
use super::network::{columns_of_4, columns_of_8, columns_of_16};
use super::{Vector, array};

/// How many words [`few`] takes: as many as sixteen registers hold.
pub(super) const fn few_most<V: Vector>() -> usize {
    16 * V::LANES
}

/// Sorts up to [`few_most`] keys into another place or the same.
///
/// # Safety
/// `from` may be read and `to` be written for `n` keys; the processor has such registers.
pub(super) unsafe fn few<T: Lane, V: Vector<Key = T::Key>>(from: *const T::Key, to: *mut T, n: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        V::run(
            #[inline(always)]
            move || match n.div_ceil(V::LANES) {
                0..=1 => rows::<T, V, 1>(from, to, n),
                2 => rows::<T, V, 2>(from, to, n),
                3..=4 => rows::<T, V, 4>(from, to, n),
                5..=8 => rows::<T, V, 8>(from, to, n),
                _ => rows::<T, V, 16>(from, to, n),
            },
        )
    }
}

/// Sorts up to [`Vector::LANES`] times `R` keys, and makes words of them.
///
/// # Safety
/// As for [`few`]; inside of [`Vector::run`].
#[inline(always)]
unsafe fn rows<T: Lane, V: Vector<Key = T::Key>, const R: usize>(from: *const T::Key, to: *mut T, n: usize) {
    assert!(n <= V::LANES * R);
    let to = to.cast::<T::Key>();
    // SAFETY: the caller's promise; nothing is read or written from `n` on.
    unsafe {
        let mut rows: [V; R] = array!(V::splat(V::Key::LARGEST), |i| {
            let at = V::LANES * i;
            V::load_some(from.wrapping_add(at), n.saturating_sub(at))
        });
        match &mut rows[..] {
            [row] => *row = sort_row(*row),
            [one, two] => two_rows(one, two),
            _ => {
                columns(&mut rows);
                merge_columns(&mut rows);
            }
        }
        for row in &mut rows {
            *row = lane::words(*row, T::ORDER);
        }
        if R <= 2 {
            for (i, row) in rows.into_iter().enumerate() {
                let at = V::LANES * i;
                row.store_some(to.wrapping_add(at), n.saturating_sub(at));
            }
            return;
        }
        for (i, group) in rows.chunks(8).enumerate() {
            let columns = V::columns(array!(group[0], |j| group[j % group.len()]));
            for (lane, &column) in columns.as_ref().iter().enumerate() {
                let place = lane * R + 8 * i;
                // Where it holds too much, the next one is stored upon that.
                if place + 8 <= n {
                    V::store_eight(column, to.add(place));
                } else {
                    let here = n.saturating_sub(place).min(group.len());
                    V::store_some_of_eight(column, to.wrapping_add(place), here);
                }
            }
        }
    }
}

/// Sorts each column.
#[inline(always)]
unsafe fn columns<V: Vector, const R: usize>(rows: &mut [V; R]) {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(rows) = rows.as_mut_slice().as_mut_array() {
            *rows = columns_of_4(*rows);
        } else if let Some(rows) = rows.as_mut_slice().as_mut_array() {
            *rows = columns_of_8(*rows);
        } else if let Some(rows) = rows.as_mut_slice().as_mut_array() {
            *rows = columns_of_16(*rows);
        }
    }
}

/// Sorts two registers; the order goes along the first, then along the second. By columns it would take as many steps, and
/// the words would have to be transposed.
///
/// # Safety
/// Inside of [`Vector::run`].
#[inline(always)]
unsafe fn two_rows<V: Vector>(one: &mut V, two: &mut V) {
    // SAFETY: the caller's promise.
    unsafe {
        let (first, second) = (sort_row(*one), sort_row(*two));
        let (smaller, larger) = first.sort(second.swapped(V::LANES - 1));
        // Each is bitonic now.
        (*one, *two) = (clean_row(smaller), clean_row(larger));
    }
}

/// The steps that sort a register, each as who is compared with whom: lanes whose numbers differ in the bits `.0`; of
/// two, those that have the bit `.1` keep the larger. A table, since the compiler does not unroll loops within loops
/// for one register, and computes masks and orders of lanes then. Sixteen lanes take all steps, fewer the first ones.
const STEPS: [(usize, usize); 10] = [(1, 1), (3, 2), (1, 1), (7, 4), (2, 2), (1, 1), (15, 8), (4, 4), (2, 2), (1, 1)];
/// How far lanes are apart that are compared where a register is bitonic. Fewer lanes than sixteen take the last ones.
const BITONIC_STEPS: [usize; 4] = [8, 4, 2, 1];

/// Sorts one register.
///
/// # Safety
/// Inside of [`Vector::run`].
#[inline(always)]
pub(super) unsafe fn sort_row<V: Vector>(mut row: V) -> V {
    let bits = V::LANES.ilog2() as usize;
    for &(partner, larger) in &STEPS[..bits * (bits + 1) / 2] {
        // SAFETY: the caller's promise.
        row = unsafe { row.keep(row.swapped(partner), larger) };
    }
    row
}

/// Sorts a register that is bitonic.
///
/// # Safety
/// Inside of [`Vector::run`].
#[inline(always)]
unsafe fn clean_row<V: Vector>(mut row: V) -> V {
    for &distance in &BITONIC_STEPS[4 - V::LANES.ilog2() as usize..] {
        // SAFETY: the caller's promise.
        row = unsafe { row.keep(row.swapped(distance), distance) };
    }
    row
}

/// Sorts what has sorted columns; the order goes down the first column, then down the second.
///
/// # Safety
/// Inside of [`Vector::run`].
#[inline(always)]
unsafe fn merge_columns<V: Vector, const R: usize>(rows: &mut [V; R]) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut run = 2;
        while run <= V::LANES {
            // Each lane of a run with the one as far from the run's other end.
            merge(rows, run - 1, run / 2);
            let mut distance = run / 4;
            while distance > 0 {
                for row in rows.iter_mut() {
                    *row = row.keep(row.swapped(distance), distance);
                }
                distance /= 2;
            }
            clean_rows(rows);
            run *= 2;
        }
    }
}

/// Compares runs with the next ones backwards: rows from the end, lanes with their `partner`. Lanes that have the bit
/// `larger` are those of second runs.
#[inline(always)]
unsafe fn merge<V: Vector, const R: usize>(rows: &mut [V; R], partner: usize, larger: usize) {
    for i in 0..R.div_ceil(2) {
        let (upper, lower) = (rows[i], rows[R - 1 - i]);
        // SAFETY: the caller's promise.
        unsafe {
            rows[i] = upper.keep(lower.swapped(partner), larger);
            rows[R - 1 - i] = lower.keep(upper.swapped(partner), larger);
        }
    }
}

/// Sorts columns that are bitonic.
#[inline(always)]
unsafe fn clean_rows<V: Vector, const R: usize>(rows: &mut [V; R]) {
    let mut distance = R / 2;
    while distance > 0 {
        for i in 0..R {
            if i & distance == 0 {
                // SAFETY: the caller's promise.
                (rows[i], rows[i + distance]) = unsafe { rows[i].sort(rows[i + distance]) };
            }
        }
        distance /= 2;
    }
}
