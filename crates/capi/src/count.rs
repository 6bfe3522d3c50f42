//! Counting lines, words and bytes.

use crate::arguments::{self, exclusive};
use crate::reader::EagreReader;
use crate::status::{EagreStatus, Fault, status};
use eagre::count::{Counter, Counts};
use eagre::scan::Input;
use std::ffi::c_char;
use std::mem::size_of;

/// What to count: newlines.
pub const EAGRE_LINES: u32 = 1;

/// What to count: words, as wc counts them in the C locale: parted by white space, with a visible character of ASCII.
pub const EAGRE_WORDS: u32 = 2;

/// What to count: the columns of the longest line, as wc -L measures it in the C locale.
pub const EAGRE_LONGEST: u32 = 4;

/// What was counted. A number that was not asked for is 0; bytes always are counted.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EagreCounts {
    /// Newlines.
    pub lines: u64,
    /// Words.
    pub words: u64,
    /// Bytes.
    pub bytes: u64,
    /// Columns of the longest line.
    pub longest: u64,
}

impl From<Counts> for EagreCounts {
    fn from(counts: Counts) -> EagreCounts {
        let Counts { lines, words, bytes, longest, .. } = counts;
        let [lines, words, longest] = [lines, words, longest].map(Option::unwrap_or_default);
        EagreCounts { lines, words, bytes, longest }
    }
}

/// Where a result goes that C has `size` bytes of room for, and who counts it.
///
/// # Safety
/// As [`exclusive`].
unsafe fn prepare<'a>(
    what: u32,
    threads: u32,
    counts: *mut EagreCounts,
    size: usize,
) -> Result<(Counter<'static>, &'a mut EagreCounts), Fault> {
    if what & !(EAGRE_LINES | EAGRE_WORDS | EAGRE_LONGEST) != 0 {
        return Err(Fault::invalid(format_args!(
            "what is {what:#x}: only EAGRE_LINES, EAGRE_WORDS, EAGRE_LONGEST are known"
        )));
    }
    if size != size_of::<EagreCounts>() {
        let known = size_of::<EagreCounts>();
        return Err(Fault::new(
            EagreStatus::EagreWrongVersion,
            format_args!("EagreCounts has {known} bytes, not {size}"),
        ));
    }
    // SAFETY: the caller's promise.
    let counts = unsafe { exclusive(counts, "counts")? };
    let asked = |flag| what & flag != 0;
    let counter = Counter::new().lines(asked(EAGRE_LINES)).words(asked(EAGRE_WORDS)).longest(asked(EAGRE_LONGEST));
    Ok((counter.threads(threads as usize), counts))
}

/// Counts a file by the fastest way there is: mapped, read, or read past the page cache, whatever suits it.
///
/// what is the sum of EAGRE_LINES, EAGRE_WORDS and EAGRE_LONGEST. threads is how many may be used at most, the caller's
/// included; 0 for as many as this process may run on. size is sizeof(EagreCounts).
///
/// Fails with EAGRE_SYSTEM if the file cannot be read to its end, EAGRE_RESOURCES if memory is refused, EAGRE_INVALID or
/// EAGRE_WRONG_VERSION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_count_file(
    path: *const c_char,
    what: u32,
    threads: u32,
    counts: *mut EagreCounts,
    size: usize,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (path, (mut counter, counts)) = unsafe { (arguments::path(path)?, prepare(what, threads, counts, size)?) };
        let input = Input::open(path).map_err(|error| Fault::about("count", path, &error))?;
        let counted = counter.input(input).map_err(|error| Fault::about("count", path, &error.into()))?;
        *counts = counted.counts.into();
        Ok(())
    })
}

/// Counts what is left of a stream, and consumes it. Arguments as for eagre_count_file.
///
/// Fails with the stream's failure, EAGRE_INVALID or EAGRE_WRONG_VERSION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_count_stream(
    reader: *mut EagreReader,
    what: u32,
    counts: *mut EagreCounts,
    size: usize,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (reader, (mut counter, counts)) =
            unsafe { (exclusive(reader, "reader")?, prepare(what, 1, counts, size)?) };
        *counts = counter.read(reader.bytes()?).map_err(std::io::Error::from)?.into();
        Ok(())
    })
}
