//! Which way to sort: descending, and where NaN goes.
//!
//! Keys are sorted in their total order, and what is asked for is made of that. Of a slice of keys, NaN are moved to the end
//! before, where they disturb nobody, and the others are reversed afterwards. Where equal keys belong to different items,
//! whose order counts, the keys themselves are changed before: a complement sorts the other way.

use super::Key;
use super::kernels::Level;
use super::kernels::presorted::reverse;

/// What [`Sorter::descending`](super::Sorter::descending) and [`Sorter::nan_last`](super::Sorter::nan_last) say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SortOrder {
    pub(crate) descending: bool,
    pub(crate) nan_last: bool,
}

/// A key whose order can be changed.
pub(crate) trait Ordered: Copy {
    /// Whether it can be NaN.
    const REAL: bool = false;

    /// The key whose place from the end is the place of this one from the front.
    fn complement(self) -> Self;

    /// Whether it is NaN.
    fn is_nan(self) -> bool {
        false
    }

    /// The same for all keys that are neither smaller nor larger than this one: for all NaN one that comes last, and for
    /// both zeros.
    fn canonical(self) -> Self {
        self
    }
}

macro_rules! integers {
    ($($type:ty)*) => { $(
        impl Ordered for $type {
            fn complement(self) -> Self {
                !self
            }
        }
    )* };
}

integers!(u8 i8 u16 i16 u32 i32 u64 i64 usize isize u128 i128);

macro_rules! reals {
    ($($type:ty)*) => { $(
        impl Ordered for $type {
            const REAL: bool = true;

            fn complement(self) -> Self {
                -self
            }

            fn is_nan(self) -> bool {
                <$type>::is_nan(self)
            }

            fn canonical(self) -> Self {
                if self.is_nan() { <$type>::NAN.copysign(1.0) } else { self + 0.0 }
            }
        }
    )* };
}

reals!(f32 f64);

macro_rules! pairs {
    ($($type:ty)*) => { $(
        impl Ordered for $type {
            fn complement(self) -> Self {
                (!self.0, !self.1)
            }
        }
    )* };
}

pairs!((u32, u32)(u64, u64));

impl SortOrder {
    /// The key to sort by in the total order, if equal keys are not to be told apart.
    #[inline(always)]
    pub(crate) fn key<K: Ordered>(self, key: K) -> K {
        match self {
            SortOrder { descending: false, nan_last: false } => key,
            SortOrder { descending: true, nan_last: false } => key.complement(),
            SortOrder { descending: false, nan_last: true } => key.canonical(),
            SortOrder { descending: true, nan_last: true } if key.is_nan() => key.canonical(),
            SortOrder { descending: true, nan_last: true } => key.canonical().complement(),
        }
    }

    /// Whether the keys of `K` are not sorted by their own bits, but by those of other keys.
    pub(super) fn merges<K: Ordered>(self) -> bool {
        self.nan_last && K::REAL
    }

    /// Moves what comes last, whatever the order of the rest, to the end. Returns how many keys are yet to be sorted.
    pub(super) fn begin<K: Ordered>(self, level: Level, keys: &mut [K]) -> usize {
        if self.merges::<K>() { level.run(|| move_nan(keys)) } else { keys.len() }
    }

    /// Puts keys into this order that are in their total order.
    pub(super) fn finish<K: Key>(self, keys: &mut [K], threads: usize) {
        if self.descending {
            reverse(keys, threads);
        }
    }
}

/// How many keys are looked at together.
const GROUP: usize = 16;

/// Moves all NaN to the end, and returns how many other keys there are. Both are in any order then; what is in order already, with
/// all NaN at its end, stays as it is.
#[inline(always)]
fn move_nan<K: Ordered>(keys: &mut [K]) -> usize {
    let has_nan = |group: &[K]| group.iter().fold(false, |found, key| found | key.is_nan());
    let (mut at, mut end) = (0, keys.len());
    while at < end {
        let group = &keys[at..end.min(at + GROUP)];
        if !has_nan(group) {
            at += group.len();
            continue;
        }
        at += group.iter().position(|key| key.is_nan()).unwrap_or(0);
        // The last key that is a number takes its place.
        let Some(last) = keys[at + 1..end].iter().rposition(|key| !key.is_nan()) else { return at };
        end = at + 1 + last;
        keys.swap(at, end);
        at += 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wherever they are, and however many: the same bits, and none before the end that is told.
    #[test]
    fn nan_move_to_the_end() {
        let mut random = fastrand::Rng::with_seed(1);
        for len in [0, 1, 2, 15, 16, 17, 31, 100, 1000] {
            for one_in in [1, 2, 3, 20, 200, usize::MAX] {
                let key = |i| match random.usize(..one_in) {
                    0 => f64::from_bits(0x7ff0_0000_0000_0001 | (i as u64) << 1 | random.u64(..) & 1 << 63),
                    _ => i as f64,
                };
                let keys: Vec<f64> = (0..len).map(key).collect();
                let mut moved = keys.clone();
                let numbers = move_nan(&mut moved);
                assert!(
                    moved[..numbers].iter().all(|key| !key.is_nan()) && moved[numbers..].iter().all(|key| key.is_nan())
                );
                let bits = |keys: &[f64]| {
                    let mut bits: Vec<u64> = keys.iter().map(|key| key.to_bits()).collect();
                    bits.sort_unstable();
                    bits
                };
                assert_eq!(bits(&moved), bits(&keys), "{len}, one in {one_in}");
                let mut again = moved.clone();
                assert_eq!(move_nan(&mut again), numbers);
                assert!(again.iter().zip(&moved).all(|(one, other)| one.to_bits() == other.to_bits()));
            }
        }
    }
}
