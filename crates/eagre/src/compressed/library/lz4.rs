//! lz4, by `LZ4F_decompress` of the reference library.
//!
//! Memory access: the input is read forward. A block with a checksum is read once for the checksum and once for
//! decoding. The output is written forward, and read again from the beginning of a block for its checksum. The last 64
//! KiB of a call are kept.

use std::ffi::CStr;

use lz4_sys::{
    LZ4F_VERSION, LZ4F_createDecompressionContext, LZ4F_decompress, LZ4F_freeDecompressionContext, LZ4F_getErrorName,
    LZ4F_isError, LZ4FDecompressionContext,
};

use super::super::format::LZ4_LEGACY;
use super::{Damage, Library, Turn};

pub(super) struct Lz4 {
    context: LZ4FDecompressionContext,
    /// Whether nothing has been read yet.
    fresh: bool,
    /// Whether the last frame is complete.
    whole: bool,
}

impl Lz4 {
    pub(super) fn new() -> Result<Lz4, String> {
        let mut context = LZ4FDecompressionContext(std::ptr::null_mut());
        // SAFETY: the call creates a context, or returns an error.
        check(unsafe { LZ4F_createDecompressionContext(&mut context, LZ4F_VERSION) })?;
        Ok(Lz4 { context, fresh: true, whole: false })
    }
}

pub(super) fn check(answer: usize) -> Result<usize, String> {
    // SAFETY: these functions inspect a number, and return a string constant.
    unsafe {
        if LZ4F_isError(answer) == 0 {
            return Ok(answer);
        }
        let name = CStr::from_ptr(LZ4F_getErrorName(answer)).to_string_lossy();
        Err(match name.as_ref() {
            "ERROR_frameType_unknown" => "the data here is not lz4".into(),
            name => name.trim_start_matches("ERROR_").to_owned(),
        })
    }
}

impl Library for Lz4 {
    unsafe fn turn(
        &mut self,
        input: *const u8,
        input_len: usize,
        output: *mut u8,
        output_len: usize,
    ) -> Result<Turn, Damage> {
        if input_len == 0 && self.whole {
            // Without input, the library would start to wait for the next frame.
            return Ok(Turn { read: 0, written: 0, whole: true });
        }
        if self.fresh && input_len >= 4 {
            // SAFETY: the caller's contract.
            let magic = unsafe { input.cast::<[u8; 4]>().read() };
            if magic == LZ4_LEGACY.to_le_bytes() {
                return Err("this is the legacy format of lz4; unpack it with 'lz4 -d'".into());
            }
        }
        let (mut read, mut written) = (input_len, output_len);
        // SAFETY: the context has reported no error; the stretches are the caller's contract; there are no options.
        let left =
            check(unsafe { LZ4F_decompress(self.context, output, &mut written, input, &mut read, std::ptr::null()) })?;
        self.fresh &= read == 0;
        self.whole = left == 0;
        Ok(Turn { read, written, whole: self.whole })
    }
}

impl Drop for Lz4 {
    fn drop(&mut self) {
        // SAFETY: the context was made by `new`, and is not used again.
        unsafe { LZ4F_freeDecompressionContext(self.context) };
    }
}
