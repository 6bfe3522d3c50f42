//! Zstandard, by `ZSTD_decompressStream` of the reference library.
//!
//! What it touches: input forward, but at the start of a frame whose content would fit the output it first walks over all
//! the input it is given, to see whether the frame is complete (it can then decode without its own buffer). Output: forward,
//! out of a buffer of its own; a complete frame is decoded in place, and so goes back as far as the stretch reaches.

use std::ffi::CStr;
use std::ptr::NonNull;

use zstd_sys::{
    ZSTD_DCtx_setParameter, ZSTD_DStream, ZSTD_ErrorCode, ZSTD_createDStream, ZSTD_dParameter, ZSTD_decompressStream,
    ZSTD_freeDStream, ZSTD_getErrorCode, ZSTD_getErrorName, ZSTD_inBuffer, ZSTD_isError, ZSTD_outBuffer,
};

use super::{Damage, Library, Turn};

/// The largest window accepted, as a power of two: 128 MiB of memory, as the `zstd` command does without being told.
const WINDOW_LOG: i32 = 27;

pub(super) struct Zstd {
    stream: NonNull<ZSTD_DStream>,
    /// Nothing is left of the last frame.
    whole: bool,
}

impl Zstd {
    pub(super) fn new() -> Result<Zstd, String> {
        // SAFETY: makes a new one, or returns nothing.
        let stream = NonNull::new(unsafe { ZSTD_createDStream() }).ok_or("no memory for zstd")?;
        let made = Zstd { stream, whole: false };
        // SAFETY: a decoder just made.
        let answer =
            unsafe { ZSTD_DCtx_setParameter(stream.as_ptr(), ZSTD_dParameter::ZSTD_d_windowLogMax, WINDOW_LOG) };
        check(answer).map(|_| made)
    }
}

fn check(answer: usize) -> Result<usize, String> {
    // SAFETY: these look at a number, and return a string constant.
    unsafe {
        if ZSTD_isError(answer) == 0 {
            return Ok(answer);
        }
        Err(match ZSTD_getErrorCode(answer) {
            ZSTD_ErrorCode::ZSTD_error_frameParameter_windowTooLarge => {
                "made with a window of more than 128 MiB; unpack it with 'zstd -d --long=31'".into()
            }
            ZSTD_ErrorCode::ZSTD_error_prefix_unknown => "what comes here is not zstd".into(),
            _ => CStr::from_ptr(ZSTD_getErrorName(answer)).to_string_lossy().into_owned(),
        })
    }
}

impl Library for Zstd {
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
        let mut from = ZSTD_inBuffer { src: input.cast(), size: input_len, pos: 0 };
        let mut to = ZSTD_outBuffer { dst: output.cast(), size: output_len, pos: 0 };
        // SAFETY: a decoder that has reported no error; the stretches are the caller's promise.
        let left = check(unsafe { ZSTD_decompressStream(self.stream.as_ptr(), &mut to, &mut from) })?;
        self.whole = left == 0;
        Ok(Turn { read: from.pos, written: to.pos, whole: self.whole })
    }
}

impl Drop for Zstd {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and never used again.
        unsafe { ZSTD_freeDStream(self.stream.as_ptr()) };
    }
}
