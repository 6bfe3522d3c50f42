//! Pairs as words whose key is their first part.

use super::base_case::Table;
use super::{Level, Word, key_index};
use crate::sort::bounds::Bounds;

/// A pair, ordered by its first part only. Sorting such words is stable.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct First<K, V>((K, V));

/// Larger pairs are not worth moving more than once.
const LARGEST: usize = 64;

/// Turns pairs into such words, unless they are too large.
pub(crate) fn by_first<K: Word, V: Copy + Send + Sync + 'static>(pairs: &mut [(K, V)]) -> Option<&mut [First<K, V>]> {
    if size_of::<(K, V)>() > LARGEST || align_of::<(K, V)>() > LARGEST {
        return None;
    }
    // SAFETY: the same layout.
    Some(unsafe { &mut *(std::ptr::from_mut(pairs) as *mut [First<K, V>]) })
}

// SAFETY: the key is that of a word, a part of this one.
unsafe impl<K: Word, V: Copy + Send + Sync + 'static> Word for First<K, V> {
    const KEY_BITS: u32 = K::KEY_BITS;
    const STABLE: bool = true;

    #[inline(always)]
    fn key(self) -> u128 {
        self.0.0.key()
    }

    #[inline(always)]
    fn digit(self, shift: u32) -> u32 {
        self.0.0.digit(shift)
    }

    unsafe fn base_case(level: Level, words: *mut Self, n: usize, known: Bounds, table: &mut Table) -> bool {
        // SAFETY: the caller's promise.
        unsafe { key_index::base_case(level, words, n, known.differing(), table) };
        true
    }

    fn base_case_table(n: usize) -> usize {
        key_index::table_for::<Self>(n)
    }

    fn base_case_most(level: Level, table: usize) -> usize {
        key_index::most::<Self>(level, table)
    }

    fn few(level: Level) -> usize {
        key_index::few(level)
    }

    fn by_comparison(level: Level, words: &mut [Self], table: &mut Table) {
        key_index::by_comparison(level, words, table);
    }
}
