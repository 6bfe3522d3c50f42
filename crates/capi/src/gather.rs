//! Making records of an index.

use crate::arguments;
use crate::file_sort_options::{EagreFileProgress, Hook};
use crate::options::EAGRE_UNKNOWN;
use crate::status::{EagreStatus, Fault, status};
use crate::versioned::{self, Versioned};
use eagre::external::Gatherer;
use std::ffi::{c_char, c_void};
use std::mem::{offset_of, size_of};
use std::ops::ControlFlow;

/// The version of EagreGatherOptions in this header.
pub const EAGRE_GATHER_OPTIONS_VERSION: u32 = 1;

/// EagreGatherOptions.flags: the data may be a copy of what was indexed. Then the time of their last change does not count,
/// only their size.
pub const EAGRE_COPIED: u32 = 1;

/// Which records of an index to write, and how. Fill it with eagre_gather_options_default, then change what should be different.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EagreGatherOptions {
    /// The size of this struct in bytes.
    pub size: u32,
    /// EAGRE_GATHER_OPTIONS_VERSION.
    pub version: u32,
    /// How many threads copy. 0, the default: as many as this process may run on.
    pub threads: u32,
    /// EAGRE_COPIED or 0, the default.
    pub flags: u32,
    /// The rank of the first record that is written. The first of all has rank 0, the default.
    pub start: u64,
    /// The rank before which to end. Default: EAGRE_UNKNOWN, after the last.
    pub end: u64,
    /// Called now and then, with the phase "gather" and how many of how many records there are, or null, the default. It must
    /// return: no longjmp, no exception.
    pub progress: EagreFileProgress,
    /// The first argument of progress.
    pub context: *mut c_void,
}

// SAFETY: numbers and pointers (a null function is one), with size and version first.
unsafe impl Versioned for EagreGatherOptions {
    const NAME: &'static str = "EagreGatherOptions";
    const FILLED_BY: &'static str = "eagre_gather_options_default";
    const VERSION: u32 = EAGRE_GATHER_OPTIONS_VERSION;
    const SMALLEST: usize = offset_of!(EagreGatherOptions, context) + size_of::<*mut c_void>();
    const DEFAULT: EagreGatherOptions = EagreGatherOptions {
        size: size_of::<EagreGatherOptions>() as u32,
        version: EAGRE_GATHER_OPTIONS_VERSION,
        threads: 0,
        flags: 0,
        start: 0,
        end: EAGRE_UNKNOWN,
        progress: None,
        context: std::ptr::null_mut(),
    };
}

impl EagreGatherOptions {
    fn gatherer(&self) -> Result<Gatherer<'static>, Fault> {
        let unknown = self.flags & !EAGRE_COPIED;
        if unknown != 0 {
            return Err(Fault::invalid(format_args!("gather: unknown flags {unknown:#x}: only EAGRE_COPIED is known")));
        }
        let end = Some(self.end).filter(|&end| end != EAGRE_UNKNOWN);
        let gatherer = Gatherer::new().threads(self.threads as usize).range(self.start, end);
        Ok(gatherer.copied(self.flags & EAGRE_COPIED != 0))
    }
}

/// Fills options with the defaults: all records. Call it as eagre_gather_options_default(&options, sizeof options).
///
/// Fails with EAGRE_INVALID if options is null, EAGRE_WRONG_VERSION if size is not that of an EagreGatherOptions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_gather_options_default(options: *mut EagreGatherOptions, size: usize) -> EagreStatus {
    // SAFETY: the caller's promise.
    status(|| unsafe { versioned::fill(options, size) })
}

/// Writes the records of the file at data to one at to, in the order of the index at index, which eagre_index_file has made: all,
/// or those of a range of ranks. to may be one of both files; it appears when all of it is on the disk, and never if anything
/// fails. options may be null: all records. Puts how many they are into *records, unless it is null.
///
/// Fails with EAGRE_SYSTEM if a file cannot be read or written; EAGRE_MALFORMED if the index is none or is damaged, or if the
/// data are not those that were indexed: they have another size, or were changed since, and flags have no EAGRE_COPIED;
/// EAGRE_INVALID if the index has no such ranks (the message says how many it has); EAGRE_CANCELLED if progress said so;
/// EAGRE_RESOURCES or EAGRE_WRONG_VERSION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_gather_file(
    index: *const c_char,
    data: *const c_char,
    to: *const c_char,
    options: *const EagreGatherOptions,
    records: *mut u64,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (index, data, to) = unsafe { (arguments::path(index)?, arguments::path(data)?, arguments::path(to)?) };
        // SAFETY: the caller's promise.
        let options: EagreGatherOptions = unsafe { versioned::read(options)? };
        let mut gatherer: Gatherer<'_> = options.gatherer()?;
        let hook = Hook::new(options.progress, options.context);
        let ask = |progress| hook.as_ref().map_or(ControlFlow::Continue(()), |hook| hook.ask(progress));
        if hook.is_some() {
            gatherer = gatherer.progress(&ask);
        }
        let count = gatherer.files(index, data, to).map_err(|error| Fault::of_sort(&error))?;
        // SAFETY: null, or a place for a number.
        if let Some(records) = unsafe { records.as_mut() } {
            *records = count;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_version_keeps_its_size() {
        // 64-bit systems. If this fails, old programs stop working.
        assert_eq!(EagreGatherOptions::SMALLEST, 48);
    }
}
