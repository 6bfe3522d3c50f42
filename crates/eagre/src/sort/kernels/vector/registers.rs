//! Sorts few words without leaving the registers: first each column, then two, four and more columns are merged at a
//! time. A merge compares a run with the reversed next one; then both halves are bitonic. Until the end a run goes down
//! its first column, then down its second, so that most steps stay within columns. Twice as many words are sorted in
//! two halves, which are merged in the same way.

use super::lane::Lane;
use super::network::{columns_of_4, columns_of_6, columns_of_8, columns_of_12, columns_of_16};
use super::{Vector, array};

/// The rows that are sorted at once. With AVX2 there are as many registers, with AVX-512 twice as many, but a row of
/// wide keys takes two.
const ROWS: usize = 16;
/// There are numbers of rows between the powers of two, for less than three quarters of the next one.
const FEWER_ROWS: usize = 12;

/// The most words for [`few`].
pub(in super::super) const fn few_most<V: Vector>() -> usize {
    2 * ROWS * V::LANES
}

/// Sorts up to [`few_most`] words, or keys if they are `KEYS` already, into another place or the same.
///
/// # Safety
/// `from` may be read and `to` be written for `n` keys; the processor has such registers.
pub(super) unsafe fn few<T, V, const KEYS: bool>(from: *const T::Key, to: *mut T, n: usize)
where
    T: Lane,
    V: Vector<Key = T::Key>,
{
    // SAFETY: the caller's promise.
    unsafe {
        if n > 2 * FEWER_ROWS * V::LANES {
            return halves::<T, V, ROWS, KEYS>(from, to, n);
        }
        if n > ROWS * V::LANES {
            return halves::<T, V, FEWER_ROWS, KEYS>(from, to, n);
        }
        V::run(
            #[inline(always)]
            move || match n.div_ceil(V::LANES) {
                0..=1 => rows::<T, V, 1, KEYS>(from, to, n),
                2 => rows::<T, V, 2, KEYS>(from, to, n),
                3..=4 => rows::<T, V, 4, KEYS>(from, to, n),
                5..=6 => rows::<T, V, 6, KEYS>(from, to, n),
                7..=8 => rows::<T, V, 8, KEYS>(from, to, n),
                9..=FEWER_ROWS => rows::<T, V, FEWER_ROWS, KEYS>(from, to, n),
                _ => rows::<T, V, ROWS, KEYS>(from, to, n),
            },
        )
    }
}

/// Sorts up to [`Vector::LANES`] times `R` keys, and turns them into words.
///
/// # Safety
/// As for [`few`]; inside of [`Vector::run`].
#[inline(always)]
unsafe fn rows<T, V, const R: usize, const KEYS: bool>(from: *const T::Key, to: *mut T, n: usize)
where
    T: Lane,
    V: Vector<Key = T::Key>,
{
    // SAFETY: the caller's promise.
    unsafe {
        let mut rows = load::<T, V, R, KEYS>(from, n);
        match &mut rows[..] {
            [row] => *row = sort_row(*row),
            [one, two] => two_rows(one, two),
            _ => {
                columns(&mut rows);
                merge_columns(&mut rows);
                return store_columns(rows, to, n);
            }
        }
        for (i, row) in rows.into_iter().enumerate() {
            let at = V::LANES * i;
            row.words(T::ORDER).store_some(to.cast::<T::Key>().wrapping_add(at), n.saturating_sub(at));
        }
    }
}

/// Sorts more keys than [`ROWS`] registers hold and up to as many as twice `R` do, and turns them into words. A function of
/// its own: fewer keys do not need its room on the stack.
///
/// # Safety
/// As for [`few`].
#[inline(never)]
unsafe fn halves<T, V, const R: usize, const KEYS: bool>(from: *const T::Key, to: *mut T, n: usize)
where
    T: Lane,
    V: Vector<Key = T::Key>,
{
    // SAFETY: the caller's promise; all are read before the first is written.
    unsafe {
        V::run(
            #[inline(always)]
            move || {
                let half = R * V::LANES;
                let mut lower = load::<T, V, R, KEYS>(from, half);
                columns(&mut lower);
                merge_columns(&mut lower);
                let mut upper = load::<T, V, R, KEYS>(from.add(half), n - half);
                columns(&mut upper);
                merge_columns(&mut upper);
                for i in 0..R / 2 {
                    let last = R - 1 - i;
                    let (back, front) = (upper[i].swapped(V::LANES - 1), upper[last].swapped(V::LANES - 1));
                    (lower[i], upper[i]) = lower[i].sort(front);
                    (lower[last], upper[last]) = lower[last].sort(back);
                }
                clean(&mut lower, V::LANES / 2);
                store_columns(lower, to, half);
                clean(&mut upper, V::LANES / 2);
                store_columns(upper, to.add(half), n - half);
            },
        );
    }
}

/// The keys of the first `n` words, or keys, filled up with the largest key.
///
/// # Safety
/// They may be read; inside of [`Vector::run`].
#[inline(always)]
unsafe fn load<T, V, const R: usize, const KEYS: bool>(from: *const V::Key, n: usize) -> [V; R]
where
    T: Lane,
    V: Vector<Key = T::Key>,
{
    assert!(n <= V::LANES * R);
    // SAFETY: the caller's promise; nothing is read from `n` on.
    unsafe {
        let largest = V::largest();
        // What turns into the largest key, as words do.
        let rest = if KEYS { largest } else { largest.words(T::ORDER) };
        array!(largest, |i| {
            let at = V::LANES * i;
            let row = V::load_some(from.wrapping_add(at), n.saturating_sub(at), rest);
            if KEYS { row } else { row.keys(T::ORDER) }
        })
    }
}

/// Turns the first `n` keys into words, one column after the other, for four rows or more.
///
/// # Safety
/// So many may be written; inside of [`Vector::run`].
#[inline(always)]
unsafe fn store_columns<T: Lane, V: Vector<Key = T::Key>, const R: usize>(mut rows: [V; R], to: *mut T, n: usize) {
    debug_assert!(R >= 4);
    assert!(n <= V::LANES * R);
    let to = to.cast::<T::Key>();
    // SAFETY: the caller's promise; nothing is written from `n` on.
    unsafe {
        for row in &mut rows {
            *row = (*row).words(T::ORDER);
        }
        // From the last group on: what less than eight rows write too much is overwritten by the next column.
        for (i, group) in rows.chunks(8).enumerate().rev() {
            // With four rows, a column has the next one beneath it.
            let columns = V::columns(match R {
                4 => array!(group[0], |j| if j < 4 { group[j] } else { group[j - 4].swapped(1) }),
                _ => array!(group[0], |j| if j < group.len() { group[j] } else { group[0] }),
            });
            let most = if R == 4 { 8 } else { group.len() };
            for (lane, &column) in columns.as_ref().iter().enumerate() {
                if R == 4 && lane % 2 == 1 {
                    continue;
                }
                let place = lane * R + 8 * i;
                // Only words that exist are stored.
                if place + 8 <= n {
                    V::store_eight(column, to.add(place));
                } else {
                    V::store_some_of_eight(column, to.wrapping_add(place), n.saturating_sub(place).min(most));
                }
            }
        }
    }
}

/// Sorts each column.
///
/// # Safety
/// Inside of [`Vector::run`].
#[inline(always)]
unsafe fn columns<V: Vector, const R: usize>(rows: &mut [V; R]) {
    // SAFETY: the caller's promise.
    unsafe {
        if let Ok(rows) = <&mut [V; 4]>::try_from(rows.as_mut_slice()) {
            *rows = columns_of_4(*rows);
        } else if let Ok(rows) = <&mut [V; 6]>::try_from(rows.as_mut_slice()) {
            *rows = columns_of_6(*rows);
        } else if let Ok(rows) = <&mut [V; 8]>::try_from(rows.as_mut_slice()) {
            *rows = columns_of_8(*rows);
        } else if let Ok(rows) = <&mut [V; 12]>::try_from(rows.as_mut_slice()) {
            *rows = columns_of_12(*rows);
        } else if let Ok(rows) = <&mut [V; 16]>::try_from(rows.as_mut_slice()) {
            *rows = columns_of_16(*rows);
        }
    }
}

/// Sorts two registers. The order goes along the first, then along the second. By columns it would take as many steps,
/// and a transposition.
///
/// # Safety
/// Inside of [`Vector::run`].
#[inline(always)]
unsafe fn two_rows<V: Vector>(one: &mut V, two: &mut V) {
    // SAFETY: the caller's promise.
    unsafe {
        let (first, second) = (sort_row(*one), sort_row(*two));
        let (smaller, larger) = first.sort(second.swapped(V::LANES - 1));
        // Each register is bitonic now.
        (*one, *two) = (clean_row(smaller), clean_row(larger));
    }
}

/// Steps within a register. A step compares lanes whose numbers differ in the first bits; the one with the second bit keeps the
/// larger key. They are written out: in a loop, the compiler would compute masks and orders of lanes at run time.
macro_rules! steps {
    ($row:ident: $(($partner:literal $larger:literal))*) => {
        // SAFETY: the caller's promise.
        unsafe { $( $row = $row.keep_soon($row.swapped($partner), $larger); )* }
    };
}

/// Sorts one register.
///
/// # Safety
/// Inside of [`Vector::run`].
#[inline(always)]
pub(super) unsafe fn sort_row<V: Vector>(mut row: V) -> V {
    steps!(row: (1 1) (3 2)(1 1));
    if V::LANES >= 8 {
        steps!(row: (7 4)(2 2)(1 1));
    }
    if V::LANES >= 16 {
        steps!(row: (15 8)(4 4)(2 2)(1 1));
    }
    row
}

/// Sorts a bitonic register.
///
/// # Safety
/// Inside of [`Vector::run`].
#[inline(always)]
pub(super) unsafe fn clean_row<V: Vector>(mut row: V) -> V {
    if V::LANES >= 16 {
        steps!(row: (8 8));
    }
    if V::LANES >= 8 {
        steps!(row: (4 4));
    }
    steps!(row: (2 2)(1 1));
    row
}

/// Merges sorted columns. The order goes down the first column, then down the second.
///
/// # Safety
/// Inside of [`Vector::run`].
#[inline(always)]
unsafe fn merge_columns<V: Vector, const R: usize>(rows: &mut [V; R]) {
    // SAFETY: the caller's promise.
    unsafe {
        merge_runs::<V, R, 2>(rows);
        merge_runs::<V, R, 4>(rows);
        merge_runs::<V, R, 8>(rows);
        merge_runs::<V, R, 16>(rows);
    }
}

/// Merges runs of columns to runs of `RUN` columns, if there are so many. Numbers of columns are parameters of the type,
/// here and below: in a loop, the compiler would compute masks and orders of lanes at run time.
///
/// # Safety
/// Inside of [`Vector::run`].
#[inline(always)]
unsafe fn merge_runs<V: Vector, const R: usize, const RUN: usize>(rows: &mut [V; R]) {
    if RUN <= V::LANES {
        // SAFETY: the caller's promise.
        unsafe {
            // Each lane of a run is compared with the one at the same distance from the other end.
            merge(rows, RUN - 1, RUN / 2);
            clean(rows, RUN / 4);
        }
    }
}

/// Sorts bitonic runs of columns, twice as long as the first distance of compared lanes; single columns if that is 0.
///
/// # Safety
/// Inside of [`Vector::run`].
#[inline(always)]
unsafe fn clean<V: Vector, const R: usize>(rows: &mut [V; R], first: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        compare::<V, R, 8>(rows, first);
        compare::<V, R, 4>(rows, first);
        compare::<V, R, 2>(rows, first);
        compare::<V, R, 1>(rows, first);
        clean_rows(rows);
    }
}

/// Compares lanes at a distance, unless that is larger than the first one.
///
/// # Safety
/// Inside of [`Vector::run`].
#[inline(always)]
unsafe fn compare<V: Vector, const R: usize, const DISTANCE: usize>(rows: &mut [V; R], first: usize) {
    if DISTANCE <= first {
        for row in rows.iter_mut() {
            // SAFETY: the caller's promise.
            *row = unsafe { row.keep(row.swapped(DISTANCE), DISTANCE) };
        }
    }
}

/// Compares runs with the reversed next ones: rows from the end, lanes with their `partner`. Lanes with the bit
/// `larger` belong to second runs.
///
/// # Safety
/// Inside of [`Vector::run`].
#[inline(always)]
unsafe fn merge<V: Vector, const R: usize>(rows: &mut [V; R], partner: usize, larger: usize) {
    for i in 0..R / 2 {
        // SAFETY: the caller's promise.
        unsafe {
            let (smaller, most) = rows[i].sort(rows[R - 1 - i].swapped(partner));
            rows[i] = smaller.blend(most, larger);
            rows[R - 1 - i] = most.blend(smaller, larger).swapped(partner);
        }
    }
}

/// Sorts bitonic columns.
///
/// # Safety
/// Inside of [`Vector::run`].
#[inline(always)]
unsafe fn clean_rows<V: Vector, const R: usize>(rows: &mut [V; R]) {
    let mut distance = R;
    // SAFETY: the caller's promise.
    unsafe {
        while distance.is_multiple_of(2) {
            distance /= 2;
            for i in 0..R {
                if (i / distance).is_multiple_of(2) {
                    (rows[i], rows[i + distance]) = rows[i].sort(rows[i + distance]);
                }
            }
        }
        if distance == 3 {
            for i in (0..R).step_by(3) {
                (rows[i], rows[i + 1]) = rows[i].sort(rows[i + 1]);
                (rows[i + 1], rows[i + 2]) = rows[i + 1].sort(rows[i + 2]);
                (rows[i], rows[i + 1]) = rows[i].sort(rows[i + 1]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lane::Number;
    use super::super::{U32x8, U32x16, U64x4, U64x8, U128x8, has_avx2, has_avx512};
    use super::*;

    /// Any number of keys, in place and to another place, without a write before or after it.
    fn any_number<V: Vector>(has_level: bool)
    where
        V::Key: std::fmt::Debug,
    {
        if !has_level {
            return eprintln!("skipped: no such registers");
        }
        let random = |i: usize| ((i + 1) as u128).wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645);
        let patterns: [&dyn Fn(usize) -> u128; 4] = [
            &random,
            &|i| random(i) >> 100 & 1,
            // The key that fills up registers.
            &|i| if random(i) >> 120 & 1 == 1 { u128::MAX } else { random(i) },
            &|i| u128::MAX - i as u128,
        ];
        for n in 0..=few_most::<V>() {
            for (i, pattern) in patterns.iter().enumerate() {
                let mut keys: Vec<V::Key> = (0..n).map(|i| V::Key::new(pattern(i))).collect();
                let around = V::Key::new(0x5a);
                let mut other = vec![around; n + 2];
                // SAFETY: there are n keys, and n places after the first; the processor has such registers.
                unsafe { few::<V::Key, V, false>(keys.as_ptr(), other.as_mut_ptr().add(1), n) };
                let mut expected = keys.clone();
                expected.sort_unstable();
                assert_eq!(other[1..=n], expected, "{n}, pattern {i}");
                assert_eq!((other[0], other[n + 1]), (around, around), "{n}, pattern {i}");
                let place = keys.as_mut_ptr();
                // SAFETY: as above.
                unsafe { few::<V::Key, V, false>(place, place, n) };
                assert_eq!(keys, expected, "{n}, pattern {i}, in place");
            }
        }
    }

    #[test]
    fn any_number_of_keys() {
        any_number::<U32x8>(has_avx2());
        any_number::<U64x4>(has_avx2());
        any_number::<U32x16>(has_avx512());
        any_number::<U64x8>(has_avx512());
        any_number::<U128x8>(has_avx512());
    }
}
