//! Searching one pattern with AVX-512: first two rare bytes, then the whole pattern.
//!
//! ```text
//! pattern         e a g r e            the two rarest bytes by a table of frequencies: g and r, at 2 and 3
//! 64 places       load 64 bytes at distance 2: which are g?
//!                 load 64 bytes at distance 3: which of those are r?
//! candidates      compare the whole pattern, 64 bytes at a time
//! ```
//!
//! Four such steps share one branch, which is rarely taken, so the loop runs as fast as memory delivers bytes. In a
//! case-insensitive search, bit 5 of a byte is set before it is compared, but only for letters of the pattern. No other
//! byte becomes a letter that way.
//!
//! # Limits
//! If the pattern is known, a text can be made in which both bytes are everywhere and the whole pattern nowhere. So the
//! kernel counts failed comparisons. When there are more than the number of bytes justifies, it stops and leaves the
//! rest to another algorithm.
//!
//! # Safety
//! The only unsafe operations are loads through pointers and the call of a function that needs AVX-512. A [`Kernel`]
//! exists only if the processor has AVX-512. Each load stays inside the slice, as noted at the load. Loads that would
//! not are masked, and the processor does not touch masked bytes.

use std::arch::x86_64::*;
use std::ops::ControlFlow;

use memchr::arch::all::packedpair::Pair;

/// Bytes per vector.
const LANES: usize = 64;
/// Vectors per branch.
const STEPS: usize = 4;
/// The distance of the prefetch, in bytes. Without it the processor requests memory later, and single threads lose a
/// fifth of their speed.
const AHEAD: usize = 4096;
/// How many failed comparisons (of one vector each) are always allowed, and for how many bytes one more is.
const FREE_FAILURES: usize = 1024;
const BYTES_PER_FAILURE: usize = 8;

/// A pattern to be searched with AVX-512.
#[derive(Debug)]
pub(super) struct Kernel {
    /// The pattern, in lower case if the search is case-insensitive.
    pattern: Box<[u8]>,
    /// The bits set in each byte before it is compared: `0x20` for a letter in a case-insensitive search, otherwise 0.
    fold: Box<[u8]>,
    any_case: bool,
    /// The positions of two rare bytes in the pattern.
    rare: [usize; 2],
}

/// How far a kernel came.
pub(super) enum Outcome {
    /// The search is complete, or `found` broke it off.
    Done,
    /// The search was given up: the next match begins at `next` or later.
    Futile { next: usize },
}

impl Kernel {
    /// `None` if the processor does not have AVX-512 with byte operations.
    pub(super) fn new(pattern: &[u8], any_case: bool) -> Option<Kernel> {
        if !is_x86_feature_detected!("avx512bw") {
            return None;
        }
        let pattern: Box<[u8]> = if any_case { pattern.to_ascii_lowercase().into() } else { pattern.into() };
        let fold = pattern.iter().map(|byte| if any_case && byte.is_ascii_alphabetic() { 0x20 } else { 0 }).collect();
        let rare = Pair::new(&pattern).map_or([0, 0], |pair| [pair.index1().into(), pair.index2().into()]);
        Some(Kernel { pattern, fold, any_case, rare })
    }

    /// Calls `found` with each match from `from` on, greedily, until `found` breaks.
    pub(super) fn each(&self, bytes: &[u8], from: usize, found: &mut impl FnMut(usize) -> ControlFlow<()>) -> Outcome {
        // SAFETY: a kernel exists, so the processor has AVX-512 with byte operations.
        unsafe {
            match self.any_case {
                false => self.each_avx512::<false>(bytes, from, found),
                true => self.each_avx512::<true>(bytes, from, found),
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    fn each_avx512<const FOLD: bool>(
        &self,
        bytes: &[u8],
        from: usize,
        found: &mut impl FnMut(usize) -> ControlFlow<()>,
    ) -> Outcome {
        let Some(ends) = (bytes.len() + 1).checked_sub(self.pattern.len()) else { return Outcome::Done };
        let [first, second] = self.rare.map(|place| Rare::new(bytes, place, self.pattern[place], self.fold[place]));
        let whole = Whole::<FOLD>::new(bytes, &self.pattern, &self.fold);
        // The next place to look at, and the first place where the next match may begin.
        let (mut at, mut next) = (from, from);
        let mut failures = 0;
        while at < ends {
            let mut masks = [0; STEPS];
            // One short step aligns the loads of the first byte, and with it all that follow.
            let places = (LANES - first.misaligned(at)).min(ends - at);
            let step = if places == LANES && ends - at >= STEPS * LANES {
                // SAFETY: four vectors of places lie between `at` and `ends`.
                (at, masks) = unsafe { skim::<FOLD>(&first, &second, at, ends) };
                STEPS * LANES
            } else {
                // SAFETY: `at + places <= ends`, the number of places where a match may begin.
                masks[0] = unsafe { few_candidates::<FOLD>(&first, &second, at, places) };
                places
            };
            for (step, mask) in masks.into_iter().enumerate() {
                let vector = at + step * LANES;
                let mut mask = mask & from_lane(next.saturating_sub(vector));
                while mask != 0 {
                    let place = vector + mask.trailing_zeros() as usize;
                    mask &= mask - 1;
                    // SAFETY: a candidate is a place below `ends`.
                    match unsafe { whole.is_at(place) } {
                        Ok(()) => {
                            if found(place).is_break() {
                                return Outcome::Done;
                            }
                            next = place + self.pattern.len();
                            mask &= from_lane(next - vector);
                        }
                        Err(compared) => failures += compared,
                    }
                }
            }
            at += step;
            if failures > FREE_FAILURES + (at - from) / BYTES_PER_FAILURE {
                return Outcome::Futile { next: next.max(at) };
            }
            // Skips what a long match covers, in steps that keep the alignment.
            at += next.saturating_sub(at) / LANES * LANES;
        }
        Outcome::Done
    }
}

/// A mask of the lanes from this one on. Empty if `lane` is beyond the last.
fn from_lane(lane: usize) -> u64 {
    if lane < LANES { u64::MAX << lane } else { 0 }
}

/// Advances from `at` to the first group of four vectors with a candidate, or to the last group. Returns where the
/// group begins and the candidates in it. This hot loop is a function of its own so that everything it needs stays in
/// registers.
///
/// # Safety
/// A match may begin at each place below `ends` without leaving the slice, and at least four vectors of places follow
/// `at`.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn skim<const FOLD: bool>(first: &Rare, second: &Rare, mut at: usize, ends: usize) -> (usize, [u64; STEPS]) {
    loop {
        let mut masks = [0; STEPS];
        for (step, mask) in masks.iter_mut().enumerate() {
            let place = at + step * LANES;
            // SAFETY: a prefetch of any address is harmless, and no longer unsafe from Rust 1.94 on.
            #[allow(unused_unsafe, reason = "older compilers want it")]
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(first.from.wrapping_add(place + AHEAD).cast());
            }
            // SAFETY: `place + LANES <= ends`.
            *mask = unsafe { candidates::<FOLD>(first, second, place) };
        }
        if masks.iter().fold(0, |any, mask| any | mask) != 0 || ends - at < 2 * STEPS * LANES {
            return (at, masks);
        }
        at += STEPS * LANES;
    }
}

/// One of the two bytes that are compared at all places.
struct Rare {
    /// The address of this byte for a match at the start of the slice.
    from: *const u8,
    byte: __m512i,
    fold: __m512i,
}

impl Rare {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn new(bytes: &[u8], place: usize, byte: u8, fold: u8) -> Rare {
        Rare {
            from: bytes.as_ptr().wrapping_add(place),
            byte: _mm512_set1_epi8(byte as i8),
            fold: _mm512_set1_epi8(fold as i8),
        }
    }

    /// The offset of this byte, for a match at `at`, from an aligned vector address.
    fn misaligned(&self, at: usize) -> usize {
        self.from.wrapping_add(at).addr() % LANES
    }
}

/// The places, of the 64 from `at` on, at which both bytes match.
///
/// # Safety
/// A match may begin at each of these places without leaving the slice.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn candidates<const FOLD: bool>(first: &Rare, second: &Rare, at: usize) -> u64 {
    // SAFETY: the last of these bytes belongs to a match at `at + 63`, which is inside the slice.
    let (a, b) =
        unsafe { (_mm512_loadu_epi8(first.from.add(at).cast()), _mm512_loadu_epi8(second.from.add(at).cast())) };
    let (a, b) = if FOLD { (_mm512_or_si512(a, first.fold), _mm512_or_si512(b, second.fold)) } else { (a, b) };
    _mm512_mask_cmpeq_epi8_mask(_mm512_cmpeq_epi8_mask(a, first.byte), b, second.byte)
}

/// The same for up to 64 places.
///
/// # Safety
/// A match may begin at each of these places without leaving the slice.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn few_candidates<const FOLD: bool>(first: &Rare, second: &Rare, at: usize, places: usize) -> u64 {
    let mask = u64::MAX >> (LANES - places);
    // SAFETY: the last byte not masked out belongs to a match at `at + places - 1`, which is inside the slice.
    let (a, b) = unsafe {
        (
            _mm512_maskz_loadu_epi8(mask, first.from.add(at).cast()),
            _mm512_maskz_loadu_epi8(mask, second.from.add(at).cast()),
        )
    };
    let (a, b) = if FOLD { (_mm512_or_si512(a, first.fold), _mm512_or_si512(b, second.fold)) } else { (a, b) };
    _mm512_mask_cmpeq_epi8_mask(_mm512_mask_cmpeq_epi8_mask(mask, a, first.byte), b, second.byte)
}

/// The whole pattern, as full vectors from its start and one vector at its end.
struct Whole<'a, const FOLD: bool> {
    bytes: *const u8,
    pattern: &'a [u8],
    fold: &'a [u8],
    /// The last vector: 1 to 64 bytes. It is compared first, stays in registers, and decides alone for most patterns.
    last: __m512i,
    last_fold: __m512i,
    last_mask: u64,
    last_place: usize,
}

impl<'a, const FOLD: bool> Whole<'a, FOLD> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn new(bytes: &[u8], pattern: &'a [u8], fold: &'a [u8]) -> Self {
        let length = pattern.len().min(LANES);
        let last_place = pattern.len() - length;
        let last_mask = u64::MAX >> (LANES - length);
        // SAFETY: what is not masked out are the last `length` bytes of two slices of equal length.
        let (last, last_fold) = unsafe {
            (
                _mm512_maskz_loadu_epi8(last_mask, pattern[last_place..].as_ptr().cast()),
                _mm512_maskz_loadu_epi8(last_mask, fold[last_place..].as_ptr().cast()),
            )
        };
        Whole { bytes: bytes.as_ptr(), pattern, fold, last, last_fold, last_mask, last_place }
    }

    /// Whether the pattern is at `place`. If not, the number of vectors that were compared to find out.
    ///
    /// # Safety
    /// As many bytes as the pattern has follow `place` in the slice.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn is_at(&self, place: usize) -> Result<(), usize> {
        // SAFETY: inside the slice, by the caller's contract.
        let here = unsafe { self.bytes.add(place) };
        // SAFETY: what is not masked out are the last bytes of the pattern's length from `place`.
        let bytes = unsafe { _mm512_maskz_loadu_epi8(self.last_mask, here.add(self.last_place).cast()) };
        let bytes = if FOLD { _mm512_or_si512(bytes, self.last_fold) } else { bytes };
        if _mm512_cmpneq_epi8_mask(bytes, self.last) != 0 {
            return Err(1);
        }
        for at in (0..self.last_place).step_by(LANES) {
            // The last of these vectors may overlap `last`.
            // SAFETY: `at < last_place`, and 64 bytes follow `last_place`, in the pattern, its folds and at `place`.
            let (bytes, pattern, fold) = unsafe {
                (
                    _mm512_loadu_epi8(here.add(at).cast()),
                    _mm512_loadu_epi8(self.pattern.as_ptr().add(at).cast()),
                    _mm512_loadu_epi8(self.fold.as_ptr().add(at).cast()),
                )
            };
            let bytes = if FOLD { _mm512_or_si512(bytes, fold) } else { bytes };
            if _mm512_cmpneq_epi8_mask(bytes, pattern) != 0 {
                return Err(2 + at / LANES);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect};

    #[test]
    fn no_byte_beyond_the_end_is_touched() {
        let page = rustix::param::page_size();
        // SAFETY: a mapping of our own, of which the second half is closed before anything points into it.
        let room = unsafe {
            let room =
                mmap_anonymous(std::ptr::null_mut(), 2 * page, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
                    .unwrap();
            mprotect(room.add(page), page, MprotectFlags::empty()).unwrap();
            std::slice::from_raw_parts_mut(room.cast::<u8>(), page)
        };
        room.fill(b'a');
        for length in [1, 2, 3, 16, 63, 64, 65, 130] {
            let pattern = vec![b'a'; length];
            for any_case in [false, true] {
                let Some(kernel) = Kernel::new(&pattern, any_case) else {
                    eprintln!("skipped: no AVX-512 here");
                    return;
                };
                for size in (0..600).chain([page]) {
                    let mut count = 0;
                    kernel.each(&room[page - size..], 0, &mut |_| {
                        count += 1;
                        ControlFlow::Continue(())
                    });
                    assert_eq!(count, size / length);
                }
            }
        }
    }
}
