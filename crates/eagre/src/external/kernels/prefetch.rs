//! Bytes that will be needed soon.

/// The most lines of a record that are fetched: the processor finds the others.
const LINES: usize = 4;

/// Asks the processor to bring the cache line at `at` and the one behind it. Does nothing where `bytes` end before.
#[inline]
pub(crate) fn prefetch(bytes: &[u8], at: usize) {
    line(bytes, at);
    line(bytes, at + 64);
}

/// Asks it to bring the record at `at`, of `size` bytes if that is known.
#[inline]
pub(crate) fn prefetch_record(bytes: &[u8], at: usize, size: Option<usize>) {
    let Some(size) = size else { return prefetch(bytes, at) };
    for number in 0..size.div_ceil(64).min(LINES) {
        line(bytes, at + 64 * number);
    }
    line(bytes, at + size - 1);
}

#[inline]
#[allow(unused_unsafe, reason = "from Rust 1.97 on a prefetch is safe")]
fn line(bytes: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if at < bytes.len() {
        let line = bytes.as_ptr().wrapping_add(at);
        // SAFETY: a prefetch accepts any address, and does nothing where there is no memory.
        unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, at);
}
