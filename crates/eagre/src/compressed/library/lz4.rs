//! lz4, by `LZ4F_decompress` of the reference library.
//!
//! What it touches: input forward; a block that has a checksum is read once for that and once more to be decoded. Output
//! forward, and back to the beginning of a block for its checksum; the last 64 KiB of a call are kept.

use std::ffi::CStr;

use lz4_sys::{
    LZ4F_VERSION, LZ4F_createDecompressionContext, LZ4F_decompress, LZ4F_freeDecompressionContext, LZ4F_getErrorName,
    LZ4F_isError, LZ4FDecompressionContext,
};

use super::super::format::LZ4_LEGACY;
use super::{Damage, Library, Turn};

pub(super) struct Lz4 {
    context: LZ4FDecompressionContext,
    /// Nothing has been read.
    fresh: bool,
    /// Nothing is left of the last frame.
    whole: bool,
}

impl Lz4 {
    pub(super) fn new() -> Result<Lz4, String> {
        let mut context = LZ4FDecompressionContext(std::ptr::null_mut());
        // SAFETY: makes a new one, or says why not.
        check(unsafe { LZ4F_createDecompressionContext(&mut context, LZ4F_VERSION) })?;
        Ok(Lz4 { context, fresh: true, whole: false })
    }
}

fn check(answer: usize) -> Result<usize, String> {
    // SAFETY: these look at a number, and return a string constant.
    unsafe {
        if LZ4F_isError(answer) == 0 {
            return Ok(answer);
        }
        let name = CStr::from_ptr(LZ4F_getErrorName(answer)).to_string_lossy();
        Err(match name.as_ref() {
            "ERROR_frameType_unknown" => "what comes here is not lz4".into(),
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
            // Asked without anything to read, it would begin to wait for the next frame.
            return Ok(Turn { read: 0, written: 0, whole: true });
        }
        if self.fresh && input_len >= 4 {
            // SAFETY: the caller's promise.
            let magic = unsafe { input.cast::<[u8; 4]>().read() };
            if magic == LZ4_LEGACY.to_le_bytes() {
                return Err("this is the old format of lz4; unpack it with 'lz4 -d'".into());
            }
        }
        let (mut read, mut written) = (input_len, output_len);
        // SAFETY: a context that has reported no error; the stretches are the caller's promise; no options.
        let left =
            check(unsafe { LZ4F_decompress(self.context, output, &mut written, input, &mut read, std::ptr::null()) })?;
        self.fresh &= read == 0;
        self.whole = left == 0;
        Ok(Turn { read, written, whole: self.whole })
    }
}

impl Drop for Lz4 {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and never used again.
        unsafe { LZ4F_freeDecompressionContext(self.context) };
    }
}
