//! gzip, by `inflate` of zlib (the C interface of zlib-rs, the fastest zlib there is that needs no C compiler).
//!
//! What it touches: input forward, once. Output forward; at the end of a call it goes over all it has written in it for the
//! checksum, and keeps the last 32 KiB, so that the next call need not find them where they were.

use std::ffi::{CStr, c_int};

use libz_rs_sys::{
    Z_BUF_ERROR, Z_DATA_ERROR, Z_MEM_ERROR, Z_NO_FLUSH, Z_OK, Z_STREAM_END, inflate, inflateEnd, inflateInit2_,
    inflateReset, z_stream, zlibVersion,
};

use super::{Damage, Library, Turn};

/// The largest window deflate knows, and a gzip header and trailer around it.
const GZIP_ONLY: c_int = 15 + 16;

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The first member.
    First,
    /// More of a member.
    Within,
    /// Another member, or padding, or nothing.
    Another,
    /// Padding, or nothing.
    Padding,
}

pub(super) struct Gzip {
    /// In a box: the library remembers where it is.
    stream: Box<z_stream>,
    next: Next,
}

impl Gzip {
    pub(super) fn new() -> Result<Gzip, String> {
        let mut stream = Box::new(z_stream::default());
        // SAFETY: a stream of zeros asks for the library's own allocator; version and size are those it was made for.
        let answer = unsafe { inflateInit2_(&mut *stream, GZIP_ONLY, zlibVersion(), size_of::<z_stream>() as c_int) };
        match answer {
            Z_OK => Ok(Gzip { stream, next: Next::First }),
            _ => Err("no memory for zlib".into()),
        }
    }

    fn why(&self, answer: c_int) -> String {
        match answer {
            Z_MEM_ERROR => "no memory for zlib".into(),
            Z_DATA_ERROR if !self.stream.msg.is_null() => {
                // SAFETY: the library sets it to a string constant, or to nothing.
                let why = unsafe { CStr::from_ptr(self.stream.msg) };
                why.to_string_lossy().into_owned()
            }
            _ => format!("zlib returned {answer}"),
        }
    }
}

impl Library for Gzip {
    unsafe fn turn(
        &mut self,
        input: *const u8,
        input_len: usize,
        output: *mut u8,
        output_len: usize,
    ) -> Result<Turn, Damage> {
        if matches!(self.next, Next::Another | Next::Padding) {
            if input_len == 0 {
                return Ok(Turn { read: 0, written: 0, whole: true });
            }
            // SAFETY: the caller's promise.
            let ahead = unsafe { std::slice::from_raw_parts(input, input_len) };
            // Tapes and some downloads are padded with zeros.
            let zeros = ahead.iter().take_while(|&&byte| byte == 0).count();
            if zeros > 0 {
                self.next = Next::Padding;
                return Ok(Turn { read: zeros, written: 0, whole: true });
            }
            if self.next == Next::Padding || ahead[0] != 0x1f {
                return Err("trailing garbage: what follows the last member is not gzip".into());
            }
        }
        let [avail_in, avail_out] = [input_len, output_len].map(|len| u32::try_from(len).unwrap_or(u32::MAX));
        self.stream.next_in = input;
        self.stream.avail_in = avail_in;
        self.stream.next_out = output;
        self.stream.avail_out = avail_out;
        // SAFETY: initialised in `new`; the stretches are the caller's promise.
        let answer = unsafe { inflate(&mut *self.stream, Z_NO_FLUSH) };
        let (read, written) =
            ((avail_in - self.stream.avail_in) as usize, (avail_out - self.stream.avail_out) as usize);
        match answer {
            // Without any input it can do nothing, which is no error yet.
            Z_OK | Z_BUF_ERROR => {
                if read > 0 {
                    self.next = Next::Within;
                }
                Ok(Turn { read, written, whole: false })
            }
            Z_STREAM_END => {
                // SAFETY: initialised in `new`.
                match unsafe { inflateReset(&mut *self.stream) } {
                    Z_OK => self.next = Next::Another,
                    answer => return Err(self.why(answer).into()),
                }
                Ok(Turn { read, written, whole: true })
            }
            answer => Err(Damage { read, why: self.why(answer) }),
        }
    }
}

impl Drop for Gzip {
    fn drop(&mut self) {
        // SAFETY: initialised in `new`, and never used again.
        unsafe { inflateEnd(&mut *self.stream) };
    }
}
