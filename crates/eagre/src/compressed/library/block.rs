//! Blocks of lz4 without a frame around them, for files that nobody else reads.

use lz4_sys::{LZ4_compress_default, LZ4_compressBound, LZ4_decompress_safe};

/// The most bytes that a block of `raw` bytes can become.
pub(crate) fn bound(raw: usize) -> usize {
    let raw = i32::try_from(raw).unwrap_or(0);
    // SAFETY: a calculation.
    usize::try_from(unsafe { LZ4_compressBound(raw) }).unwrap_or(0)
}

/// Packs a block, and returns how many bytes it takes in `packed`. `None` if it does not fit there.
pub(crate) fn pack(raw: &[u8], packed: &mut [u8]) -> Option<usize> {
    let (size, room) = (i32::try_from(raw.len()).ok()?, i32::try_from(packed.len()).ok()?);
    // SAFETY: the stretches are two slices.
    let packed = unsafe { LZ4_compress_default(raw.as_ptr().cast(), packed.as_mut_ptr().cast(), size, room) };
    usize::try_from(packed).ok().filter(|&packed| packed > 0)
}

/// Unpacks a block, whatever it is, and returns how many bytes it takes in `raw`. `None` if it is none that fits there.
pub(crate) fn unpack(packed: &[u8], raw: &mut [u8]) -> Option<usize> {
    let (size, room) = (i32::try_from(packed.len()).ok()?, i32::try_from(raw.len()).ok()?);
    // SAFETY: the stretches are two slices; the function checks all that it reads.
    let raw = unsafe { LZ4_decompress_safe(packed.as_ptr().cast(), raw.as_mut_ptr().cast(), size, room) };
    usize::try_from(raw).ok()
}
