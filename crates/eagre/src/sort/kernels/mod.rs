//! The loops that sorting spends its time in, and all of its unsafe code.
//!
//! | kernel | memory | what it does |
//! |---|---|---|
//! | [`survey`] | one read | is it sorted already; the least and the largest key |
//! | [`tally`] | one read, one write | sorts few distinct words by counting them |
//! | [`blocks`] | two passes, in place | splits a range of any size |
//! | [`spread`] | two reads, one write | splits a range into another that fits the cache |
//! | [`leaf`] | in the first-level cache | sorts up to some 2800 words |
//!
//! How to split is a [`classifier`]'s business: by digits, or by borders in a search [`tree`].
//!
//! Each is written once for all words; [`Level`] picks the processor's vector instructions where they help.

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx512;
pub(super) mod blocks;
pub(super) mod classifier;
pub(super) mod leaf;
pub(super) mod scratch;
pub(super) mod spread;
pub(super) mod survey;
pub(super) mod tally;
pub(super) mod tree;
mod word;

use std::sync::OnceLock;

pub(super) use word::Word;

/// The vector instructions in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// None beyond what the compiler takes for granted.
    Portable,
    /// AVX-512 F, BW, DQ and VL.
    Avx512,
}

impl Level {
    /// The best this processor has, or what `EAGRE_SIMD` asks for if the processor has it.
    pub(super) fn detect() -> Level {
        static LEVEL: OnceLock<Level> = OnceLock::new();
        *LEVEL.get_or_init(|| match std::env::var("EAGRE_SIMD").as_deref() {
            Ok("off" | "portable" | "avx2") => Level::Portable,
            _ => Level::best(),
        })
    }

    /// The best this processor has.
    pub(super) fn best() -> Level {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if avx512::available() {
            return Level::Avx512;
        }
        Level::Portable
    }

    /// Runs a loop compiled for this level: plain code gains from the newer scalar instructions, too.
    #[inline(always)]
    fn run<R>(self, work: impl FnOnce() -> R) -> R {
        match self {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: the level is only there if the processor has it.
            Level::Avx512 => unsafe { avx512::run(work) },
            _ => work(),
        }
    }
}

/// Asks the processor for a line of memory; any address may be asked for.
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
