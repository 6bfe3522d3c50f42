//! Finding byte strings.

use crate::arguments::{self, Place, exclusive, shared, take};
use crate::reader::EagreReader;
use crate::status::{EagreStatus, Fault, status};
use eagre::find::{Finder, Match};
use eagre::scan::Input;
use std::ffi::{c_char, c_int, c_void};
use std::ops::ControlFlow;

/// Flags of eagre_finder_open: capital and small letters of ASCII are the same.
pub const EAGRE_IGNORE_CASE: u32 = 1;

/// What to find: size bytes, any bytes, at least one.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EagrePattern {
    /// The first of them.
    pub bytes: *const c_void,
    /// How many.
    pub size: usize,
}

/// Patterns, made ready for finding. Any number of threads may use one at once.
pub struct EagreFinder(Finder<'static>);

/// Gets an occurrence: the offset of its first byte, its size bytes, and the pattern's number, counted from 0. Returns 0
/// to go on, anything else to end the search.
pub type EagreFound = Option<
    unsafe extern "C" fn(context: *mut c_void, offset: u64, bytes: *const c_void, size: usize, pattern: usize) -> c_int,
>;

/// Makes a finder for count patterns, which are copied. Close it with eagre_finder_close.
///
/// Occurrences are those of grep -F -o: from left to right, the longest pattern where several begin at one byte, none
/// that overlaps the one before. flags is 0 or EAGRE_IGNORE_CASE. Fails with EAGRE_INVALID.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_finder_open(
    patterns: *const EagrePattern,
    count: usize,
    flags: u32,
    finder: *mut *mut EagreFinder,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let place = unsafe { Place::new(finder, "finder")? };
        if flags & !EAGRE_IGNORE_CASE != 0 {
            return Err(Fault::invalid(format_args!("flags is {flags:#x}: only EAGRE_IGNORE_CASE is known")));
        }
        if count == 0 {
            return Err(Fault::invalid("no pattern; give at least one"));
        }
        let mut builder = Finder::builder().case_insensitive(flags & EAGRE_IGNORE_CASE != 0);
        for index in 0..count {
            // SAFETY: the caller's promise: `count` patterns, each with as many bytes as it says.
            let pattern = unsafe {
                let pattern = shared(patterns.wrapping_add(index), "patterns")?;
                arguments::bytes(pattern.bytes.cast(), pattern.size)?
            };
            builder = builder.pattern(pattern);
        }
        place.put(EagreFinder(builder.build().map_err(Fault::invalid)?));
        Ok(())
    })
}

/// Counts the occurrences in a file. threads is how many may be used at most, the caller's included; 0 for as many as
/// this process may run on.
///
/// Fails with EAGRE_SYSTEM if the file cannot be read to its end, EAGRE_RESOURCES if memory is refused, or EAGRE_INVALID.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_finder_count_file(
    finder: *const EagreFinder,
    path: *const c_char,
    threads: u32,
    count: *mut u64,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (finder, path, count) =
            unsafe { (shared(finder, "finder")?, arguments::path(path)?, exclusive(count, "count")?) };
        let fault = |error| Fault::about("find", path, &error);
        let input = Input::open(path).map_err(fault)?;
        *count = finder.0.clone().threads(threads as usize).input(input).map_err(|error| fault(error.into()))?;
        Ok(())
    })
}

/// Calls found(context, …) for each occurrence in a file, in order, in the calling thread. threads as for
/// eagre_finder_count_file. found must return: no longjmp, no exception.
///
/// Fails with EAGRE_SYSTEM if the file cannot be read to its end, EAGRE_RESOURCES if memory is refused, or EAGRE_INVALID;
/// what lies before was reported.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_finder_scan_file(
    finder: *const EagreFinder,
    path: *const c_char,
    threads: u32,
    found: EagreFound,
    context: *mut c_void,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (finder, path) = unsafe { (shared(finder, "finder")?, arguments::path(path)?) };
        let report = reporter(found, context, 0)?;
        let fault = |error| Fault::about("find", path, &error);
        let input = Input::open(path).map_err(fault)?;
        let mut finder = finder.0.clone().threads(threads as usize);
        finder.each_in_input(input, report).map_err(|error| fault(error.into()))
    })
}

/// Calls found(context, …) for each occurrence in what is left of a stream, and consumes it. Offsets are the stream's.
/// found must return: no longjmp, no exception. If it ends the search, the reader stands somewhere behind the occurrence.
///
/// Fails with the stream's failure, or EAGRE_INVALID; what lies before was reported.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_finder_scan_stream(
    finder: *const EagreFinder,
    reader: *mut EagreReader,
    found: EagreFound,
    context: *mut c_void,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (finder, reader) = unsafe { (shared(finder, "finder")?, exclusive(reader, "reader")?) };
        let bytes = reader.bytes()?;
        let report = reporter(found, context, bytes.position())?;
        Ok(finder.0.each_in_read(bytes, report)?)
    })
}

/// Frees a finder, which nobody uses any more. Takes a null pointer too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_finder_close(finder: *mut EagreFinder) {
    // SAFETY: the caller's promise.
    drop(unsafe { take(finder) });
}

/// The caller's function as ours, for a search that begins at an offset.
fn reporter(
    found: EagreFound,
    context: *mut c_void,
    begin: u64,
) -> Result<impl FnMut(Match<'_>) -> ControlFlow<()>, Fault> {
    let found = found.ok_or_else(|| Fault::invalid("found is a null pointer"))?;
    Ok(move |one: Match<'_>| {
        // SAFETY: the caller's function, with the arguments it was promised.
        match unsafe { found(context, begin + one.start, one.bytes.as_ptr().cast(), one.bytes.len(), one.pattern) } {
            0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    })
}
