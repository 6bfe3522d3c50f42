//! What can be sorted.

use std::fmt::Debug;

use super::kernels::Word;
use super::order::Ordered;
use super::{SortError, Sorter};

/// A key that [`Sorter`] can sort: a number, or a pair of them.
///
/// | type | order |
/// |---|---|
/// | `u8`, `u16`, `u32`, `u64`, `u128`, `usize` | ascending |
/// | `i8`, `i16`, `i32`, `i64`, `i128`, `isize` | ascending |
/// | `f32`, `f64` | the total order: [`f64::total_cmp`] |
/// | `(u32, u32)`, `(u64, u64)` | by the first part, then by the second |
///
/// Nobody else can implement this trait. Records of other types are sorted by a key with [`Sorter::sort_by_key`] or
/// [`Sorter::sort_by_cached_key`]. What a key is made of is private, too:
///
/// ```compile_fail
/// fn bits(key: impl eagre::keys::Key) -> u128 {
///     key.key()
/// }
/// ```
#[expect(private_bounds, reason = "what a key consists of is not for others")]
pub trait Key: Sealed + Copy + PartialEq + Debug + Send + Sync + 'static {}

/// The part of [`Key`] that is private.
pub(crate) trait Sealed: Word + Ordered {
    /// See [`Sorter::sort_by_first`].
    fn sort_by_first(sorter: &Sorter<'_>, keys: &mut [Self]) -> Result<(), SortError>
    where
        Self: Key,
    {
        sorter.sort(keys)
    }
}

macro_rules! numbers {
    ($($type:ty)*) => { $(
        impl Key for $type {}
        impl Sealed for $type {}
    )* };
}

numbers!(u8 i8 u16 i16 u32 i32 f32 u64 i64 f64 usize isize u128 i128);

macro_rules! pairs {
    ($($type:ty)*) => { $(
        impl Key for $type {}
        impl Sealed for $type {
            fn sort_by_first(sorter: &Sorter<'_>, pairs: &mut [$type]) -> Result<(), SortError> {
                sorter.sort_pairs(pairs)
            }
        }
    )* };
}

pairs!((u32, u32)(u64, u64));

impl Sorter<'_> {
    /// Sorts pairs by their first part: those with equal first parts stay in the order they are in. Sorts numbers as
    /// [`Sorter::sort`] does.
    ///
    /// # Errors
    /// Those of [`Sorter::sort`].
    pub fn sort_by_first<K: Key>(&self, keys: &mut [K]) -> Result<(), SortError> {
        K::sort_by_first(self, keys)
    }
}
