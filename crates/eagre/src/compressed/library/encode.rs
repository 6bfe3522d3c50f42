//! The other direction: a piece of memory becomes a whole member or frame, so a file of them can be made by several threads.
//!
//! Memory access: each call reads `raw` and writes `packed`, and nothing else that it does not own.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use libz_rs_sys::{
    Z_DEFAULT_STRATEGY, Z_DEFLATED, Z_FINISH, Z_OK, Z_STREAM_END, deflate, deflateBound, deflateEnd, deflateInit2_,
    deflateReset, z_stream, zlibVersion,
};
use lz4_sys::{
    BlockChecksum, BlockMode, BlockSize, ContentChecksum, FrameType, LZ4F_VERSION, LZ4F_compressBegin,
    LZ4F_compressBound, LZ4F_compressEnd, LZ4F_compressUpdate, LZ4F_createCompressionContext,
    LZ4F_freeCompressionContext, LZ4FCompressionContext, LZ4FFrameInfo, LZ4FPreferences,
};
use zstd_sys::{
    ZSTD_CCtx, ZSTD_CCtx_setParameter, ZSTD_cParameter, ZSTD_compress2, ZSTD_compressBound, ZSTD_createCCtx,
    ZSTD_freeCCtx,
};

use super::super::Format;
use super::gzip::GZIP_ONLY;
use super::{lz4, zstd};
use crate::file::packing::Pack;

/// Makes an encoder, at the level that the command of the format has by default.
///
/// # Errors
/// Memory is refused.
pub(in super::super) fn encoder(format: Format) -> Result<Box<dyn Pack>, String> {
    Ok(match format {
        Format::Gzip => Box::new(Gzip::new()?),
        Format::Zstd => Box::new(Zstd::new()?),
        Format::Lz4 => Box::new(Lz4::new()?),
    })
}

struct Gzip {
    /// In a box, because the library stores the address.
    stream: Box<z_stream>,
}

// SAFETY: the library has no state of a thread; all that the pointers lead to belongs to the stream.
unsafe impl Send for Gzip {}

impl Gzip {
    fn new() -> Result<Gzip, String> {
        const LEVEL: c_int = 6;
        const MEMORY: c_int = 8;
        let mut stream = Box::new(z_stream::default());
        let (version, size) = (zlibVersion(), size_of::<z_stream>() as c_int);
        // SAFETY: a zeroed stream requests the library's own allocator. Version and size are those of this build.
        let answer = unsafe {
            deflateInit2_(&mut *stream, LEVEL, Z_DEFLATED, GZIP_ONLY, MEMORY, Z_DEFAULT_STRATEGY, version, size)
        };
        if answer == Z_OK {
            Ok(Gzip { stream })
        } else {
            Err("no memory for zlib; raise `ulimit -v`, or use fewer threads".into())
        }
    }
}

impl Pack for Gzip {
    fn bound(&mut self, raw: usize) -> usize {
        // SAFETY: the stream was initialised in `new`.
        unsafe { deflateBound(&mut *self.stream, raw as _) as usize }
    }

    fn pack(&mut self, _: u64, raw: &[u8], packed: &mut [u8]) -> Result<usize, String> {
        let size = |len| u32::try_from(len).map_err(|_| "a piece is too large for zlib".to_owned());
        let avail_out = size(packed.len())?;
        self.stream.next_in = raw.as_ptr();
        self.stream.avail_in = size(raw.len())?;
        self.stream.next_out = packed.as_mut_ptr();
        self.stream.avail_out = avail_out;
        // SAFETY: the stream was initialised in `new`; its stretches are two slices.
        let answer = unsafe { deflate(&mut *self.stream, Z_FINISH) };
        let written = (avail_out - self.stream.avail_out) as usize;
        // SAFETY: the stream was initialised in `new`.
        let again = unsafe { deflateReset(&mut *self.stream) };
        match (answer, again) {
            (Z_STREAM_END, Z_OK) => Ok(written),
            _ => Err(format!("zlib returned {answer}")),
        }
    }
}

impl Drop for Gzip {
    fn drop(&mut self) {
        // SAFETY: the stream was initialised in `new`, and is not used again.
        unsafe { deflateEnd(&mut *self.stream) };
    }
}

struct Zstd(NonNull<ZSTD_CCtx>);

// SAFETY: the library has no state of a thread; the context belongs to this encoder alone.
unsafe impl Send for Zstd {}

impl Zstd {
    fn new() -> Result<Zstd, String> {
        // SAFETY: the call creates a context, or returns null.
        let context = NonNull::new(unsafe { ZSTD_createCCtx() })
            .ok_or("no memory for zstd; raise `ulimit -v`, or use fewer threads")?;
        let made = Zstd(context);
        for (what, value) in [(ZSTD_cParameter::ZSTD_c_compressionLevel, 3), (ZSTD_cParameter::ZSTD_c_checksumFlag, 1)]
        {
            // SAFETY: the context was just made.
            zstd::check(unsafe { ZSTD_CCtx_setParameter(context.as_ptr(), what, value) })?;
        }
        Ok(made)
    }
}

impl Pack for Zstd {
    fn bound(&mut self, raw: usize) -> usize {
        // SAFETY: a calculation.
        unsafe { ZSTD_compressBound(raw) }
    }

    fn pack(&mut self, _: u64, raw: &[u8], packed: &mut [u8]) -> Result<usize, String> {
        let (from, to) = (raw.as_ptr().cast::<c_void>(), packed.as_mut_ptr().cast::<c_void>());
        // SAFETY: the context belongs to this encoder; the stretches are two slices.
        zstd::check(unsafe { ZSTD_compress2(self.0.as_ptr(), to, packed.len(), from, raw.len()) })
    }
}

impl Drop for Zstd {
    fn drop(&mut self) {
        // SAFETY: the context was made by `new`, and is not used again.
        unsafe { ZSTD_freeCCtx(self.0.as_ptr()) };
    }
}

struct Lz4(LZ4FCompressionContext);

/// The largest header of a frame.
const HEADER: usize = 19;

impl Lz4 {
    fn new() -> Result<Lz4, String> {
        let mut context = LZ4FCompressionContext(std::ptr::null_mut());
        // SAFETY: the call creates a context, or returns an error.
        lz4::check(unsafe { LZ4F_createCompressionContext(&mut context, LZ4F_VERSION) })?;
        Ok(Lz4(context))
    }

    /// Blocks are independent and complete, so that the library keeps no copy of them.
    fn preferences(content_size: u64) -> LZ4FPreferences {
        LZ4FPreferences {
            frame_info: LZ4FFrameInfo {
                block_size_id: BlockSize::Max1MB,
                block_mode: BlockMode::Independent,
                content_checksum_flag: ContentChecksum::ChecksumEnabled,
                frame_type: FrameType::Frame,
                content_size,
                dict_id: 0,
                block_checksum_flag: BlockChecksum::NoBlockChecksum,
            },
            compression_level: 0,
            auto_flush: 1,
            favor_dec_speed: 0,
            reserved: [0; 3],
        }
    }
}

impl Pack for Lz4 {
    fn bound(&mut self, raw: usize) -> usize {
        // SAFETY: a calculation.
        HEADER + unsafe { LZ4F_compressBound(raw, &Lz4::preferences(raw as u64)) }
    }

    fn pack(&mut self, _: u64, raw: &[u8], packed: &mut [u8]) -> Result<usize, String> {
        let preferences = Lz4::preferences(raw.len() as u64);
        let mut done = 0;
        // SAFETY: the context belongs to this encoder, the stretches are two slices, and there are no options.
        unsafe {
            done += lz4::check(LZ4F_compressBegin(self.0, packed.as_mut_ptr(), packed.len(), &preferences))?;
            let (to, left) = (packed.as_mut_ptr().add(done), packed.len() - done);
            done += lz4::check(LZ4F_compressUpdate(self.0, to, left, raw.as_ptr(), raw.len(), std::ptr::null()))?;
            let (to, left) = (packed.as_mut_ptr().add(done), packed.len() - done);
            done += lz4::check(LZ4F_compressEnd(self.0, to, left, std::ptr::null()))?;
        }
        Ok(done)
    }
}

impl Drop for Lz4 {
    fn drop(&mut self) {
        // SAFETY: the context was made by `new`, and is not used again.
        unsafe { LZ4F_freeCompressionContext(self.0) };
    }
}
