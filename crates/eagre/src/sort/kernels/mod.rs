//! The loops in which sorting spends its time, and all of its unsafe code.
//!
//! | kernel | memory | what it does |
//! |---|---|---|
//! | [`presorted`], [`extremes`] | one read | is it sorted already; the smallest and the largest key |
//! | [`probe`] | a few words | are keys evenly distributed |
//! | [`dominant`] | one read | sorts words that nearly all equal a dominant one |
//! | [`two`] | one read, one write | sorts two distinct words by counting them |
//! | [`mod@merge`] | two reads, two writes | merges two sorted parts |
//! | [`tally`] | one read, one write | the same for few distinct words |
//! | [`narrow`] | two reads, two writes | packs keys that differ in few bits into numbers half as wide |
//! | [`blocks`] | two passes, in place | splits a range of any size |
//! | [`mod@base_case`] | in the cache | sorts up to about 2800 words, or some ten thousands if that saves a split |
//!
//! A [`classifier`] says how to split: by the digits of a radix step, or by splitters in a search [`tree`] or a
//! [`lookup`] table.
//!
//! Each loop is written once for all words. [`Level`] says which vector instructions it may use.

pub(super) mod base_case;
pub(super) mod blocks;
pub(super) mod classifier;
pub(super) mod dominant;
pub(super) mod extremes;
pub(super) mod filter;
pub(super) mod first;
mod key_index;
pub(super) mod lookup;
mod merge;
pub(super) mod narrow;
pub(super) mod presorted;
pub(super) mod probe;
pub(super) mod scratch;
pub(super) mod tally;
pub(super) mod tree;
pub(super) mod two;
mod uninit;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod vector;
mod word;

use std::mem::MaybeUninit;
use std::sync::OnceLock;

use crate::scan::kernels::{Kernels, Simd};

pub(crate) use word::{Word, by_key};

/// The vector instructions in use, the most capable level last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Only what the compiler takes for granted.
    Portable,
    /// AVX2: 256-bit registers, for words of 32 and 64 bits.
    Avx2,
    /// AVX-512 F, BW, DQ and VL.
    Avx512,
}

impl Level {
    /// The best level of this processor, or the one that `EAGRE_SIMD` asks for. Determined once.
    ///
    /// # Errors
    /// As [`Kernels::chosen`].
    pub(crate) fn chosen() -> Result<Level, &'static str> {
        static CHOSEN: OnceLock<Result<Level, String>> = OnceLock::new();
        let choose = || {
            Kernels::check()?;
            let asked = eagre_mem::options::simd(|text| text.parse::<Simd>().ok())?;
            Ok(asked.map_or_else(Level::best, Level::up_to))
        };
        CHOSEN.get_or_init(choose).as_ref().copied().map_err(String::as_str)
    }

    /// The best level of this processor.
    pub(super) fn best() -> Level {
        Level::up_to(Simd::Avx512)
    }

    /// The best level of this processor that needs no more than these instructions. There is no level for NEON.
    pub(super) fn up_to(simd: Simd) -> Level {
        match simd {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Simd::Avx512 if vector::has_avx512() => Level::Avx512,
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Simd::Avx512 | Simd::Avx2 if vector::has_avx2() => Level::Avx2,
            _ => Level::Portable,
        }
    }

    /// Runs a loop compiled for this level. Plain code gains from the newer scalar instructions, too.
    #[inline(always)]
    pub(super) fn run<R>(self, work: impl FnOnce() -> R) -> R {
        match self {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: the level is only there if the processor has it.
            Level::Avx512 => unsafe { vector::run_avx512(work) },
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: as above.
            Level::Avx2 => unsafe { vector::run_avx2(work) },
            _ => work(),
        }
    }
}

/// Prefetches a line of memory. Any address is allowed.
#[inline(always)]
fn prefetch(at: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint; it does not fault.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}

/// A cache line's bytes, whatever they are.
type Line = [MaybeUninit<u64>; 8];

/// Copies a block. Calling the C library for each block would take twice as long.
///
/// # Safety
/// `n` words can be read at one place and written at the other, and these do not overlap.
#[inline(always)]
unsafe fn copy_block<W>(from: *const W, to: *mut W, n: usize) {
    let bytes = n * size_of::<W>();
    if bytes.is_multiple_of(64) {
        let (from, to) = (from.cast::<u8>(), to.cast::<u8>());
        for at in (0..bytes).step_by(64) {
            // SAFETY: the caller's promise; aligned or not.
            unsafe { to.add(at).cast::<Line>().write_unaligned(from.add(at).cast::<Line>().read_unaligned()) };
        }
    } else {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(from, to, n) };
    }
}

/// The words of a block of at most so many bytes: a power of two, at least one.
const fn words_in<W>(bytes: usize) -> usize {
    if bytes < size_of::<W>() { 1 } else { 1 << (bytes / size_of::<W>()).ilog2() }
}
