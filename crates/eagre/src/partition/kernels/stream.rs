//! Writes whole lines of memory past the caches.
//!
//! An ordinary store reads the line from memory before it changes it, and evicts another line from the cache. For lines
//! that are written as a whole and not needed soon, both can be avoided.

/// What the caches hold together.
pub(crate) const LINE: usize = 64;

/// Copies whole lines. They are in memory for other threads, and for the kernel that moves pages, after a [`fence`].
///
/// # Safety
/// `from` may be read and `to` written for `bytes` bytes; both are aligned to a line, and `bytes` is a multiple of it.
#[inline(always)]
pub(super) unsafe fn lines(from: *const u8, to: *mut u8, bytes: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for at in (0..bytes).step_by(LINE) {
        // Not intrinsics: bytes between the fields of an item have no value that a vector type may hold.
        // SAFETY: the caller's promise; nothing else is read or written. Every x86-64 processor has SSE.
        unsafe {
            std::arch::asm!(
                "movaps {a}, [{from}]",
                "movaps {b}, [{from} + 16]",
                "movaps {c}, [{from} + 32]",
                "movaps {d}, [{from} + 48]",
                "movntps [{to}], {a}",
                "movntps [{to} + 16], {b}",
                "movntps [{to} + 32], {c}",
                "movntps [{to} + 48], {d}",
                from = in(reg) from.add(at),
                to = in(reg) to.add(at),
                a = out(xmm_reg) _,
                b = out(xmm_reg) _,
                c = out(xmm_reg) _,
                d = out(xmm_reg) _,
                options(nostack, preserves_flags),
            );
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    // SAFETY: the caller's promise.
    unsafe {
        to.copy_from_nonoverlapping(from, bytes);
    }
}

/// What was written around the caches is there for everybody.
#[inline(always)]
pub(super) fn fence() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 processor has it.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Asks the processor for a line of memory; any address may be asked for.
#[inline(always)]
pub(super) fn prefetch(at: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint; it does not fault.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}
