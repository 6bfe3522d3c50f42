//! The libraries, behind one interface: a turn gets a stretch of memory on either side and moves forward in both.
//!
//! # Safety
//! All unsafe code of [`super`] is here: calls of foreign functions on pointers. The pointers are made from slices, or
//! come from the scopes of two streams. A turn accesses only the two stretches it is given, but may go back within
//! them.

#[cfg_attr(not(feature = "external"), allow(dead_code, reason = "some of it is for files of a sort"))]
pub mod block;
#[cfg(feature = "external")]
pub(super) mod encode;
mod gzip;
mod lz4;
mod zstd;

use super::Format;
use crate::{Reader, StreamError, Writer};

/// A decoder in the course of its work.
pub(super) trait Library {
    /// Decodes from `input` to `output` until one of them is used up or a member ends.
    ///
    /// # Errors
    /// The input is damaged. The library must not be used after that.
    ///
    /// # Safety
    /// `input` must be valid for reads of `input_len` bytes, and `output` for writes of `output_len` bytes, until the
    /// call returns. They must not overlap. Stream pointers are valid as long as the stretch fits into the window.
    unsafe fn turn(
        &mut self,
        input: *const u8,
        input_len: usize,
        output: *mut u8,
        output_len: usize,
    ) -> Result<Turn, Damage>;
}

/// The result of a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// The number of bytes it read, and the number it wrote.
    pub(super) read: usize,
    pub(super) written: usize,
    /// Whether the file may end here: everything read so far consists of complete members.
    pub(super) whole: bool,
}

/// The input is damaged.
#[derive(Debug)]
pub(super) struct Damage {
    /// How many bytes of this turn were valid, as far as the library tells.
    pub(super) read: usize,
    /// The reason, in the words of the library.
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

/// Makes a decoder for a format.
///
/// # Errors
/// Memory is refused.
pub(super) fn new(format: Format) -> Result<Box<dyn Library>, String> {
    Ok(match format {
        Format::Gzip => Box::new(gzip::Gzip::new()?),
        Format::Zstd => Box::new(zstd::Zstd::new()?),
        Format::Lz4 => Box::new(lz4::Lz4::new()?),
    })
}

/// One turn on blocks.
pub(super) fn on_slices(library: &mut dyn Library, input: &[u8], output: &mut [u8]) -> Result<Turn, Damage> {
    // SAFETY: these are two slices, of which one is exclusive.
    unsafe { library.turn(input.as_ptr(), input.len(), output.as_mut_ptr(), output.len()) }
}

/// Calls `turns`, which takes turns over two streams by their pointers. It gets a function for one turn: from an offset
/// and a length in the one stream to an offset and a length in the other.
///
/// # Errors
/// Why a stream failed, and which one: the error of the input is the inner error.
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
                // SAFETY: `decode::by_pointer` takes turns that go forward, stay inside the input's length and the
                // output's capacity, and are no longer than the windows of the two streams. A stream that has failed
                // has throw-away pages there.
                unsafe { library.turn(input, input_len, output, output_len) }
            })
        })
    })
}
