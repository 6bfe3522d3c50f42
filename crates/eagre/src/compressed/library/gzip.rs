//! gzip, by `inflate` of zlib-rs through the C interface of zlib. It is the fastest zlib that needs no C compiler.
//!
//! Memory access: the input is read forward, once. The output is written forward. At the end of a call, the library
//! reads everything that the call wrote for the checksum. It keeps a copy of the last 32 KiB, so the next call does not
//! need them at their old address.

use std::ffi::{CStr, c_int};

use libz_rs_sys::{
    Z_BUF_ERROR, Z_DATA_ERROR, Z_MEM_ERROR, Z_NO_FLUSH, Z_OK, Z_STREAM_END, inflate, inflateEnd, inflateInit2_,
    inflateReset, z_stream, zlibVersion,
};

use super::{Damage, Library, Turn};

/// The largest window of deflate (15), and the flag for a gzip header and trailer (16).
pub(super) const GZIP_ONLY: c_int = 15 + 16;

/// What may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The first member.
    First,
    /// More of a member.
    Within,
    /// Another member, padding, or the end.
    Another,
    /// Padding, or the end.
    Padding,
}

pub(super) struct Gzip {
    /// In a box, because the library stores the address.
    stream: Box<z_stream>,
    next: Next,
}

impl Gzip {
    pub(super) fn new() -> Result<Gzip, String> {
        let mut stream = Box::new(z_stream::default());
        // SAFETY: a zeroed stream requests the library's own allocator. Version and size are those of this build.
        let answer = unsafe { inflateInit2_(&mut *stream, GZIP_ONLY, zlibVersion(), size_of::<z_stream>() as c_int) };
        match answer {
            Z_OK => Ok(Gzip { stream, next: Next::First }),
            _ => Err("no memory for zlib; raise `ulimit -v`, or use fewer threads".into()),
        }
    }

    fn why(&self, answer: c_int) -> String {
        match answer {
            Z_MEM_ERROR => "no memory for zlib; raise `ulimit -v`, or use fewer threads".into(),
            Z_DATA_ERROR if !self.stream.msg.is_null() => {
                // SAFETY: the library sets `msg` to a string constant or to null.
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
            // SAFETY: the caller's contract.
            let ahead = unsafe { std::slice::from_raw_parts(input, input_len) };
            // Tapes and some downloads are padded with zeros.
            let zeros = ahead.iter().take_while(|&&byte| byte == 0).count();
            if zeros > 0 {
                self.next = Next::Padding;
                return Ok(Turn { read: zeros, written: 0, whole: true });
            }
            if self.next == Next::Padding || ahead[0] != 0x1f {
                return Err("trailing garbage: the data after the last member is not gzip".into());
            }
        }
        let [avail_in, avail_out] = [input_len, output_len].map(|len| u32::try_from(len).unwrap_or(u32::MAX));
        self.stream.next_in = input;
        self.stream.avail_in = avail_in;
        self.stream.next_out = output;
        self.stream.avail_out = avail_out;
        // SAFETY: the stream was initialised in `new`; the stretches are the caller's contract.
        let answer = unsafe { inflate(&mut *self.stream, Z_NO_FLUSH) };
        let (read, written) =
            ((avail_in - self.stream.avail_in) as usize, (avail_out - self.stream.avail_out) as usize);
        match answer {
            // Without input it can do nothing, which is not an error yet.
            Z_OK | Z_BUF_ERROR => {
                if read > 0 {
                    self.next = Next::Within;
                }
                Ok(Turn { read, written, whole: false })
            }
            Z_STREAM_END => {
                // SAFETY: the stream was initialised in `new`.
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
        // SAFETY: the stream was initialised in `new`, and is not used again.
        unsafe { inflateEnd(&mut *self.stream) };
    }
}
