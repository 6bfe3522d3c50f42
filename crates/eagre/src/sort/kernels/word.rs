//! What is sorted, as the kernels see it: words ordered by the bits of their key.

use super::Level;
use super::leaf::{self, Table};

/// A fixed-size piece of memory that carries a key of up to 128 bits, compared as an unsigned number.
///
/// Every public key type is turned into one of these words in place, sorted, and turned back.
///
/// # Safety
/// Every bit pattern is valid, there is no padding, and `key` depends on the bits only.
pub(crate) unsafe trait Word: Copy + Send + Sync + 'static {
    /// How many bits a key has.
    const KEY_BITS: u32;

    /// The key.
    fn key(self) -> u128;

    /// The low 32 bits of the key shifted right by `shift`, which is less than [`Word::KEY_BITS`].
    fn digit(self, shift: u32) -> u32;

    /// Sorts up to [`Word::leaf_most`] words that agree on all key bits from `high` up, from `from` into `to`, which
    /// is the same place or a wholly different one. False, with `to` no longer of use, if the keys are too unevenly
    /// spread; then `from` is unchanged, even where it is `to`.
    ///
    /// # Safety
    /// `from` may be read and `to` be written for `n` words; the processor has `level`.
    unsafe fn leaf(level: Level, from: *const Self, to: *mut Self, n: usize, high: u32, table: &mut Table) -> bool {
        let _ = level;
        // SAFETY: the caller's promise.
        unsafe { leaf::scalar(from, to, n, high, table) }
    }

    /// How many words a leaf takes in a table of such a length.
    fn leaf_most(level: Level, table: usize) -> usize {
        let _ = level;
        leaf::scalar_most::<Self>(table)
    }

    /// Up to so many words are sorted by comparing.
    fn few(level: Level) -> usize {
        let _ = level;
        32
    }

    /// Sorts up to [`Word::leaf_most`] words by comparing, in place: when they are few, or too unevenly spread.
    fn by_comparison(level: Level, words: &mut [Self], table: &mut Table) {
        let _ = (level, table);
        words.sort_unstable_by_key(|word| word.key());
    }
}

// SAFETY: a number.
unsafe impl Word for u64 {
    const KEY_BITS: u32 = u64::BITS;

    #[inline(always)]
    fn key(self) -> u128 {
        self.into()
    }

    #[inline(always)]
    fn digit(self, shift: u32) -> u32 {
        (self >> shift) as u32
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    unsafe fn leaf(level: Level, from: *const u64, to: *mut u64, n: usize, high: u32, table: &mut Table) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            match level {
                Level::Avx512 => super::avx512::leaf(from, to, n, high, table),
                Level::Portable => leaf::scalar(from, to, n, high, table),
            }
        }
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    fn leaf_most(level: Level, table: usize) -> usize {
        match level {
            Level::Avx512 => leaf::vector_most(table),
            Level::Portable => leaf::scalar_most::<u64>(table),
        }
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    fn few(level: Level) -> usize {
        match level {
            Level::Avx512 => super::avx512::FEW,
            Level::Portable => 32,
        }
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    fn by_comparison(level: Level, words: &mut [u64], table: &mut Table) {
        match level {
            // SAFETY: the level is only there if the processor has it.
            Level::Avx512 => unsafe { super::avx512::quick(words, table, 2 * usize::BITS) },
            Level::Portable => words.sort_unstable(),
        }
    }
}
