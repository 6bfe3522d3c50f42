//! Zstandard, by `ZSTD_decompressStream` of the reference library.
//!
//! Memory access: the input is read forward. But at the start of a frame whose content would fit into the output, the
//! library first walks over all the input it is given, to check whether the frame is complete. (It can then decode
//! without its own buffer.) The output is written forward, from the library's own buffer. A complete frame is decoded
//! in place, which may go back as far as the stretch reaches.

use std::ffi::CStr;
use std::ptr::NonNull;

use zstd_sys::{
    ZSTD_DCtx_setParameter, ZSTD_DStream, ZSTD_ErrorCode, ZSTD_createDStream, ZSTD_dParameter, ZSTD_decompressStream,
    ZSTD_freeDStream, ZSTD_getErrorCode, ZSTD_getErrorName, ZSTD_inBuffer, ZSTD_isError, ZSTD_outBuffer,
};

use super::{Damage, Library, Turn};

/// The largest window that is accepted, as a power of two: 128 MiB of memory, the default of the `zstd` command.
const WINDOW_LOG: i32 = 27;

pub(super) struct Zstd {
    stream: NonNull<ZSTD_DStream>,
    /// Whether the last frame is complete.
    whole: bool,
}

impl Zstd {
    pub(super) fn new() -> Result<Zstd, String> {
        // SAFETY: the call creates a decoder, or returns null.
        let stream = NonNull::new(unsafe { ZSTD_createDStream() })
            .ok_or("no memory for zstd; raise `ulimit -v`, or use fewer threads")?;
        let made = Zstd { stream, whole: false };
        // SAFETY: the decoder was just made.
        let answer =
            unsafe { ZSTD_DCtx_setParameter(stream.as_ptr(), ZSTD_dParameter::ZSTD_d_windowLogMax, WINDOW_LOG) };
        check(answer).map(|_| made)
    }
}

pub(super) fn check(answer: usize) -> Result<usize, String> {
    // SAFETY: these functions inspect a number, and return a string constant.
    unsafe {
        if ZSTD_isError(answer) == 0 {
            return Ok(answer);
        }
        Err(match ZSTD_getErrorCode(answer) {
            ZSTD_ErrorCode::ZSTD_error_frameParameter_windowTooLarge => {
                "made with a window of more than 128 MiB; unpack it with 'zstd -d --long=31'".into()
            }
            ZSTD_ErrorCode::ZSTD_error_memory_allocation => {
                "no memory for zstd; raise `ulimit -v`, or use fewer threads".into()
            }
            ZSTD_ErrorCode::ZSTD_error_prefix_unknown => "the data here is not zstd".into(),
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
            // Without input, the library would start to wait for the next frame.
            return Ok(Turn { read: 0, written: 0, whole: true });
        }
        let mut from = ZSTD_inBuffer { src: input.cast(), size: input_len, pos: 0 };
        let mut to = ZSTD_outBuffer { dst: output.cast(), size: output_len, pos: 0 };
        // SAFETY: the decoder has reported no error; the stretches are the caller's contract.
        let left = check(unsafe { ZSTD_decompressStream(self.stream.as_ptr(), &mut to, &mut from) })?;
        self.whole = left == 0;
        Ok(Turn { read: from.pos, written: to.pos, whole: self.whole })
    }
}

impl Drop for Zstd {
    fn drop(&mut self) {
        // SAFETY: the decoder was made by `new`, and is not used again.
        unsafe { ZSTD_freeDStream(self.stream.as_ptr()) };
    }
}
