//! Blocks of lz4 without a frame around them, and of zstd, for files and streams that nobody else reads.

use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;

use lz4_sys::{LZ4_compress_default, LZ4_compressBound, LZ4_decompress_safe};
use zstd_sys::{
    ZSTD_CCtx, ZSTD_DCtx, ZSTD_compressCCtx, ZSTD_createCCtx, ZSTD_createDCtx, ZSTD_decompressDCtx, ZSTD_freeCCtx,
    ZSTD_freeDCtx, ZSTD_isError,
};

/// The most bytes that a block of `raw` bytes can become.
pub fn bound(raw: usize) -> usize {
    let raw = i32::try_from(raw).unwrap_or(0);
    // SAFETY: a calculation.
    usize::try_from(unsafe { LZ4_compressBound(raw) }).unwrap_or(0)
}

/// Packs a block, and returns how many bytes it takes in `packed`. `None` if it does not fit there.
pub fn pack(raw: &[u8], packed: &mut [u8]) -> Option<usize> {
    let (size, room) = (i32::try_from(raw.len()).ok()?, i32::try_from(packed.len()).ok()?);
    // SAFETY: the stretches are two slices.
    let packed = unsafe { LZ4_compress_default(raw.as_ptr().cast(), packed.as_mut_ptr().cast(), size, room) };
    usize::try_from(packed).ok().filter(|&packed| packed > 0)
}

/// Unpacks a block, whatever it is, and returns how many bytes it takes in `raw`. `None` if it is none that fits there.
pub fn unpack(packed: &[u8], raw: &mut [u8]) -> Option<usize> {
    let (size, room) = (i32::try_from(packed.len()).ok()?, i32::try_from(raw.len()).ok()?);
    // SAFETY: the stretches are two slices; the function checks all that it reads.
    let raw = unsafe { LZ4_decompress_safe(packed.as_ptr().cast(), raw.as_mut_ptr().cast(), size, room) };
    usize::try_from(raw).ok()
}

/// Packs and unpacks blocks of zstd.
pub struct Zstd {
    packer: NonNull<ZSTD_CCtx>,
    unpacker: NonNull<ZSTD_DCtx>,
}

// SAFETY: the library has no state of a thread; the contexts belong to this value alone.
unsafe impl Send for Zstd {}

impl fmt::Debug for Zstd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Zstd")
    }
}

impl Zstd {
    /// `None` if memory is refused.
    pub fn new() -> Option<Zstd> {
        // SAFETY: the calls create contexts, or return null. A null pointer is freed without effect.
        unsafe {
            let (packer, unpacker) = (ZSTD_createCCtx(), ZSTD_createDCtx());
            match (NonNull::new(packer), NonNull::new(unpacker)) {
                (Some(packer), Some(unpacker)) => Some(Zstd { packer, unpacker }),
                _ => {
                    ZSTD_freeCCtx(packer);
                    ZSTD_freeDCtx(unpacker);
                    None
                }
            }
        }
    }

    /// Packs a block at this level, and returns how many bytes it takes in `packed`. `None` if it does not fit there.
    pub fn pack(&mut self, level: i32, raw: &[u8], packed: &mut [u8]) -> Option<usize> {
        let (from, to) = (raw.as_ptr().cast::<c_void>(), packed.as_mut_ptr().cast::<c_void>());
        // SAFETY: the context was made by `new`; the stretches are two slices.
        fits(unsafe { ZSTD_compressCCtx(self.packer.as_ptr(), to, packed.len(), from, raw.len(), level) })
    }

    /// Unpacks a block, whatever it is, and returns how many bytes it takes in `raw`. `None` if it is none that fits there.
    pub fn unpack(&mut self, packed: &[u8], raw: &mut [u8]) -> Option<usize> {
        let (from, to) = (packed.as_ptr().cast::<c_void>(), raw.as_mut_ptr().cast::<c_void>());
        // SAFETY: the context was made by `new`; the stretches are two slices, and the library checks all that it reads.
        fits(unsafe { ZSTD_decompressDCtx(self.unpacker.as_ptr(), to, raw.len(), from, packed.len()) })
    }
}

impl Drop for Zstd {
    fn drop(&mut self) {
        // SAFETY: the contexts were made by `new`, and are not used again.
        unsafe {
            ZSTD_freeCCtx(self.packer.as_ptr());
            ZSTD_freeDCtx(self.unpacker.as_ptr());
        }
    }
}

fn fits(answer: usize) -> Option<usize> {
    // SAFETY: a calculation.
    (unsafe { ZSTD_isError(answer) } == 0).then_some(answer)
}
