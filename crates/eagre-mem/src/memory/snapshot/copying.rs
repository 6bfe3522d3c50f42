//! Copies of blocks that nobody is going to read soon.
//!
//! An ordinary copy reads each line of its target from memory before it overwrites it, and leaves it in the cache, where it takes
//! the place of something that is needed. Streaming stores do neither (`docs/lab/2026-11-26-snapshots.md`). Four pages at a time, so
//! that more reads are under way.

#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::units::PAGE;

/// Copies `len` bytes. Safe in handlers.
///
/// # Safety
/// Both are as long as that, begin at a page, and do not overlap. Nobody else uses the target, or changes the source.
pub(super) unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if len.is_multiple_of(4 * PAGE) {
        // SAFETY: the caller's contract.
        return unsafe { stream(to, from, len) };
    }
    // SAFETY: the caller's contract.
    unsafe { std::ptr::copy_nonoverlapping(from, to, len) };
}

/// The same for a multiple of four pages.
///
/// # Safety
/// As for `copy`.
#[cfg(all(target_arch = "x86_64", not(miri)))]
unsafe fn stream(to: *mut u8, from: *const u8, len: usize) {
    use std::arch::x86_64::{__m128i, _mm_load_si128, _mm_sfence, _mm_stream_si128};
    const LINE: usize = 64;
    for four in (0..len).step_by(4 * PAGE) {
        for line in (0..PAGE).step_by(LINE) {
            for page in 0..4 {
                let at = four + page * PAGE + line;
                // SAFETY: inside of both, and aligned, since they begin at pages.
                unsafe {
                    let (from, to) = (from.add(at).cast::<__m128i>(), to.add(at).cast::<__m128i>());
                    let words = [0, 1, 2, 3].map(|word| _mm_load_si128(from.add(word)));
                    for (word, value) in words.into_iter().enumerate() {
                        _mm_stream_si128(to.add(word), value);
                    }
                }
            }
        }
    }
    // Streaming stores come before what the program does next only with a fence.
    // SAFETY: every x86-64 has it.
    unsafe { _mm_sfence() };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_arrive() {
        #[repr(align(4096))]
        struct Pages([u8; 5 * 4096]);
        let from = Box::new(Pages(std::array::from_fn(|at| (at * 7 + at / 256) as u8)));
        for pages in [1, 3, 4] {
            let mut to = Box::new(Pages([0; 5 * 4096]));
            // SAFETY: both are longer than that.
            unsafe { copy(to.0.as_mut_ptr(), from.0.as_ptr(), pages * 4096) };
            assert_eq!(to.0[..pages * 4096], from.0[..pages * 4096]);
            assert!(to.0[pages * 4096..].iter().all(|&byte| byte == 0));
        }
    }
}
