//! The libraries, behind one face: a turn takes a stretch of memory on either side and moves on in both.
//!
//! # Safety
//! All unsafe code of [`super`] is here: calls of foreign functions on pointers that were made from slices, or that come
//! from the scopes of two streams. A turn is confined to the two stretches it is given; within them it may go back.

mod gzip;
mod lz4;
mod zstd;

use super::Format;
use crate::{Reader, StreamError, Writer};

/// One decoder in the middle of its work.
pub(super) trait Library {
    /// Decodes from `input` to `output` until one of them is used up, or a member has ended.
    ///
    /// # Errors
    /// The input is damaged. The library is not used after that.
    ///
    /// # Safety
    /// `input` is valid for reads of `input_len` bytes and `output` for writes of `output_len` bytes until it returns;
    /// they do not overlap. Stream pointers are, as long as the stretch fits into the window.
    unsafe fn turn(
        &mut self,
        input: *const u8,
        input_len: usize,
        output: *mut u8,
        output_len: usize,
    ) -> Result<Turn, Damage>;
}

/// What a turn did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// How many bytes it read and wrote.
    pub(super) read: usize,
    pub(super) written: usize,
    /// Whether the file may end here: everything read so far is whole members.
    pub(super) whole: bool,
}

/// The input is no good.
#[derive(Debug)]
pub(super) struct Damage {
    /// How many bytes of this turn were good, as far as the library tells.
    pub(super) read: usize,
    /// In the library's words.
    pub(super) why: String,
}

impl From<String> for Damage {
    fn from(why: String) -> Damage {
        Damage { read: 0, why }
    }
}

impl From<&str> for Damage {
    fn from(why: &str) -> Damage {
        why.to_owned().into()
    }
}

/// A decoder for a format.
///
/// # Errors
/// No memory.
pub(super) fn new(format: Format) -> Result<Box<dyn Library>, String> {
    Ok(match format {
        Format::Gzip => Box::new(gzip::Gzip::new()?),
        Format::Zstd => Box::new(zstd::Zstd::new()?),
        Format::Lz4 => Box::new(lz4::Lz4::new()?),
    })
}

/// One turn on blocks.
pub(super) fn on_slices(library: &mut dyn Library, input: &[u8], output: &mut [u8]) -> Result<Turn, Damage> {
    // SAFETY: two slices, one of them exclusive.
    unsafe { library.turn(input.as_ptr(), input.len(), output.as_mut_ptr(), output.len()) }
}

/// Lets `turns` take turns over two streams by their pointers: it gets a function that takes one, from an offset of the one
/// stream and so many bytes to an offset of the other and so many bytes.
///
/// # Errors
/// Why a stream failed, and which: the input's comes as the inner error.
pub(super) fn on_pointers<T>(
    library: &mut dyn Library,
    input: &mut Reader,
    output: &mut Writer,
    turns: impl FnOnce(&mut dyn FnMut([u64; 2], [usize; 2]) -> Result<Turn, Damage>) -> T,
) -> Result<Result<T, StreamError>, StreamError> {
    output.scope(|to| {
        input.scope(|from| {
            turns(&mut |[read, written], [input_len, output_len]| {
                let (input, output) = (from.wrapping_add(read as usize), to.wrapping_add(written as usize));
                // SAFETY: `decode::by_pointer` takes turns that go forward, inside of the input's length and the
                // output's capacity, and no longer than the windows of the two streams. A stream that has failed has
                // throw-away pages there.
                unsafe { library.turn(input, input_len, output, output_len) }
            })
        })
    })
}
