//! Bytes that will be needed soon.

/// Asks the processor to bring the cache line at `at` and the one behind it. Does nothing where `bytes` end before.
#[inline]
#[allow(unused_unsafe, reason = "from Rust 1.97 on a prefetch is safe")]
pub(crate) fn prefetch(bytes: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if at < bytes.len() {
        let line = bytes.as_ptr().wrapping_add(at);
        // SAFETY: a prefetch accepts any address, and does nothing where there is no memory.
        unsafe {
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line.cast());
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line.wrapping_add(64).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, at);
}
