//! How files and streams are sorted: the options, and who is told how far it is.

use crate::arguments;
use crate::options::EAGRE_UNKNOWN;
use crate::status::{EagreStatus, Fault, status};
use crate::versioned::{self, Versioned};
use eagre::external::{Concurrency, FileSorter, Plan, Progress};
use std::ffi::{c_char, c_int, c_void};
use std::mem::{offset_of, size_of};
use std::ops::ControlFlow;

/// The version of EagreFileSortOptions in this header.
pub const EAGRE_FILE_SORT_OPTIONS_VERSION: u32 = 1;

/// EagreFileSortOptions.flags: of records with equal keys, only the first is written.
pub const EAGRE_UNIQUE: u32 = 1;

/// EagreFileSortOptions.flags: the output is read back from the device before it appears, and compared with the input.
/// Not for streams.
pub const EAGRE_VERIFY: u32 = 2;

/// EagreFileSortOptions.flags: temporary files are compressed (lz4), so that they take less room, and less time on a slow disk.
/// Each block has a checksum. Whether there is room for them is not checked before.
pub const EAGRE_COMPRESS_RUNS: u32 = 4;

const FLAGS: u32 = EAGRE_UNIQUE | EAGRE_VERIFY | EAGRE_COMPRESS_RUNS;

/// cbindgen:rename-all=QualifiedScreamingSnakeCase
/// How to sort a file.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EagrePlan {
    /// What is expected to be the fastest.
    Auto = 0,
    /// All records are read into memory and sorted there.
    InMemory = 1,
    /// Keys and pointers are sorted in memory; then records are fetched from the input.
    OnePass = 2,
    /// Keys and pointers are sorted in runs, and these merged; then records are fetched from the input.
    MergePass = 3,
    /// Whole records are sorted in runs, and these merged.
    Classic = 4,
}

const PLANS: [(EagrePlan, Plan); 5] = [
    (EagrePlan::Auto, Plan::Auto),
    (EagrePlan::InMemory, Plan::InMemory),
    (EagrePlan::OnePass, Plan::OnePass),
    (EagrePlan::MergePass, Plan::MergePass),
    (EagrePlan::Classic, Plan::Classic),
];

/// cbindgen:rename-all=QualifiedScreamingSnakeCase
/// Who reads and who writes at the same time, while threads fetch records, or merge runs, and write. All but AUTO are for
/// devices that are slower if read and written at once, or by many threads, such as persistent memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EagreConcurrency {
    /// What suits the devices.
    Auto = 0,
    /// Threads read and write whenever they want.
    NoSync = 1,
    /// The same, but no more read, and no more write, than is best for the device.
    Overlap = 2,
    /// The same, and nobody reads while others write.
    Aware = 3,
}

const MODELS: [(EagreConcurrency, Concurrency); 4] = [
    (EagreConcurrency::Auto, Concurrency::Auto),
    (EagreConcurrency::NoSync, Concurrency::NoSync),
    (EagreConcurrency::Overlap, Concurrency::Overlap),
    (EagreConcurrency::Aware, Concurrency::Aware),
];

/// cbindgen:rename-all=QualifiedScreamingSnakeCase
/// How an output is compressed.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EagreCompression {
    /// Not at all.
    None = 0,
    /// As a gzip file of many members.
    Gzip = 1,
    /// As a Zstandard file of many frames.
    Zstd = 2,
    /// As an lz4 file of many frames.
    Lz4 = 3,
}

/// Told how far the sort of a file is: the name of the phase, and done of total bytes (EAGRE_UNKNOWN if that is not known).
/// Returns 0 to go on, anything else to end with EAGRE_CANCELLED. phase is valid during the call. Any thread of the sort may
/// call it, one at a time.
pub type EagreFileProgress =
    Option<unsafe extern "C" fn(context: *mut c_void, phase: *const c_char, done: u64, total: u64) -> c_int>;

/// How to sort files and streams. Fill it with eagre_file_sort_options_default, then change what should be different.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EagreFileSortOptions {
    /// The size of this struct in bytes.
    pub size: u32,
    /// EAGRE_FILE_SORT_OPTIONS_VERSION.
    pub version: u32,
    /// How many threads compute. 0, the default: as many as this process may run on.
    pub threads: u32,
    /// EAGRE_UNIQUE, EAGRE_VERIFY and EAGRE_COMPRESS_RUNS, added up. Default 0.
    pub flags: u32,
    /// An EagrePlan. Default: EAGRE_PLAN_AUTO.
    pub plan: i32,
    /// How many directories temporary names. Default 0.
    pub temporary_count: u32,
    /// The memory it may use, in bytes: 16 MiB at least. 0, the default: half of what is available to this process.
    pub memory: u64,
    /// How many records of the result are written. Default: EAGRE_UNKNOWN, all.
    pub head: u64,
    /// Directories for temporary files, used in turn; or null, the default: TMPDIR, or /var/tmp. Copied.
    pub temporary: *const *const c_char,
    /// Called a few times a second at most, or null, the default. It must return: no longjmp, no exception.
    pub progress: EagreFileProgress,
    /// The first argument of progress.
    pub context: *mut c_void,
    /// An EagreCompression: how the output is compressed, by all threads, whatever its name is. Not for streams and indexes. Whether
    /// there is room for it is not checked before. Default: EAGRE_COMPRESSION_NONE.
    pub compression: i32,
    /// An EagreConcurrency. Default: EAGRE_CONCURRENCY_AUTO.
    pub concurrency: i32,
    /// How many records at the beginning of the input, such as the names of columns, stay there. Not for streams and indexes.
    /// Default 0.
    pub header: u64,
}

// SAFETY: numbers and pointers (a null function is one), with size and version first.
unsafe impl Versioned for EagreFileSortOptions {
    const NAME: &'static str = "EagreFileSortOptions";
    const FILLED_BY: &'static str = "eagre_file_sort_options_default";
    const VERSION: u32 = EAGRE_FILE_SORT_OPTIONS_VERSION;
    const SMALLEST: usize = offset_of!(EagreFileSortOptions, context) + size_of::<*mut c_void>();
    const DEFAULT: EagreFileSortOptions = EagreFileSortOptions {
        size: size_of::<EagreFileSortOptions>() as u32,
        version: EAGRE_FILE_SORT_OPTIONS_VERSION,
        threads: 0,
        flags: 0,
        plan: EagrePlan::Auto as i32,
        temporary_count: 0,
        memory: 0,
        head: EAGRE_UNKNOWN,
        temporary: std::ptr::null(),
        progress: None,
        context: std::ptr::null_mut(),
        compression: EagreCompression::None as i32,
        concurrency: EagreConcurrency::Auto as i32,
        header: 0,
    };
}

impl EagreFileSortOptions {
    /// The sorter that these options ask for, without the progress function.
    ///
    /// # Safety
    /// `temporary` is null or points to so many C strings.
    pub(crate) unsafe fn sorter(&self, descending: bool) -> Result<FileSorter<'static>, Fault> {
        let unknown = self.flags & !FLAGS;
        if unknown != 0 {
            return Err(Fault::invalid(format_args!("sort: unknown flags {unknown:#x}")));
        }
        let plan = PLANS.iter().find(|(plan, _)| *plan as i32 == self.plan).ok_or_else(|| {
            Fault::invalid(format_args!("sort: plan is {}: it must be an EagrePlan, 0 to 4", self.plan))
        })?;
        let model = MODELS.iter().find(|(model, _)| *model as i32 == self.concurrency).ok_or_else(|| {
            let given = self.concurrency;
            Fault::invalid(format_args!("sort: concurrency is {given}: it must be an EagreConcurrency, 0 to 3"))
        })?;
        let sorter = FileSorter::new().threads(self.threads as usize).descending(descending).plan(plan.1);
        let sorter = sorter.unique(self.is_unique()).verify(self.flags & EAGRE_VERIFY != 0).concurrency(model.1);
        let sorter = self.compressing(sorter)?;
        let sorter = if self.memory == 0 { sorter } else { sorter.memory(self.memory) };
        let mut sorter = if self.head == EAGRE_UNKNOWN { sorter } else { sorter.head(self.head) };
        for index in 0..self.temporary_count as usize {
            // SAFETY: the caller's promise.
            let directory =
                unsafe { arguments::path(*arguments::shared(self.temporary.wrapping_add(index), "temporary")?)? };
            sorter = sorter.temporary(directory);
        }
        Ok(sorter)
    }

    /// Of records with equal keys, only the first is written.
    pub(crate) fn is_unique(&self) -> bool {
        self.flags & EAGRE_UNIQUE != 0
    }

    /// The sorter, which compresses what it is to compress.
    #[cfg(feature = "compressed")]
    fn compressing<'a>(&self, sorter: FileSorter<'a>) -> Result<FileSorter<'a>, Fault> {
        use eagre::compressed::Format;
        let sorter = sorter.compress_runs(self.flags & EAGRE_COMPRESS_RUNS != 0);
        Ok(match self.compression()? {
            EagreCompression::None => sorter,
            EagreCompression::Gzip => sorter.compress(Format::Gzip),
            EagreCompression::Zstd => sorter.compress(Format::Zstd),
            EagreCompression::Lz4 => sorter.compress(Format::Lz4),
        })
    }

    /// The sorter, which must compress nothing.
    #[cfg(not(feature = "compressed"))]
    fn compressing<'a>(&self, sorter: FileSorter<'a>) -> Result<FileSorter<'a>, Fault> {
        if self.compression()? == EagreCompression::None && self.flags & EAGRE_COMPRESS_RUNS == 0 {
            return Ok(sorter);
        }
        let text = "sort: this library was built without compression; build it with its feature 'compressed'";
        Err(Fault::new(EagreStatus::EagreUnavailable, text))
    }

    fn compression(&self) -> Result<EagreCompression, Fault> {
        use EagreCompression::{Gzip, Lz4, None, Zstd};
        let known = [None, Gzip, Zstd, Lz4].into_iter().find(|known| *known as i32 == self.compression);
        known.ok_or_else(|| {
            let given = self.compression;
            Fault::invalid(format_args!("sort: compression is {given}: it must be an EagreCompression, 0 to 3"))
        })
    }

    /// That nothing is asked for that `what` does not have: a compressed output, and a header.
    pub(crate) fn check_plain(&self, what: &str) -> Result<(), Fault> {
        if self.compression()? != EagreCompression::None {
            return Err(Fault::invalid(format_args!(
                "sort: compression is {}: {what} cannot be compressed; leave it EAGRE_COMPRESSION_NONE",
                self.compression
            )));
        }
        match self.header {
            0 => Ok(()),
            header => Err(Fault::invalid(format_args!("sort: header is {header}: {what} has none; leave it 0"))),
        }
    }

    pub(crate) fn hook(&self) -> Option<Hook> {
        Hook::new(self.progress, self.context)
    }
}

/// The EagrePlan of a plan.
pub(crate) fn plan_of(plan: Plan) -> EagrePlan {
    PLANS.iter().find(|(_, other)| *other == plan).map_or(EagrePlan::Auto, |(known, _)| *known)
}

/// The EagreConcurrency of a model.
pub(crate) fn concurrency_of(model: Concurrency) -> EagreConcurrency {
    MODELS.iter().find(|(_, other)| *other == model).map_or(EagreConcurrency::Auto, |(known, _)| *known)
}

/// The caller's progress function.
pub(crate) struct Hook {
    call: unsafe extern "C" fn(*mut c_void, *const c_char, u64, u64) -> c_int,
    context: *mut c_void,
}

// SAFETY: the header says that any thread of the sort may call it.
unsafe impl Send for Hook {}
// SAFETY: as above; one at a time.
unsafe impl Sync for Hook {}

impl Hook {
    pub(crate) fn new(progress: EagreFileProgress, context: *mut c_void) -> Option<Hook> {
        progress.map(|call| Hook { call, context })
    }

    pub(crate) fn ask(&self, progress: Progress) -> ControlFlow<()> {
        // A name of ours has no zero at its end.
        let mut phase = [0_u8; 32];
        let length = progress.phase.len().min(phase.len() - 1);
        phase[..length].copy_from_slice(&progress.phase.as_bytes()[..length]);
        let total = progress.total.unwrap_or(EAGRE_UNKNOWN);
        // SAFETY: the caller's function, with the arguments it was promised.
        match unsafe { (self.call)(self.context, phase.as_ptr().cast(), progress.done, total) } {
            0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }
}

/// Fills options with the defaults. Call it as eagre_file_sort_options_default(&options, sizeof options).
///
/// Fails with EAGRE_INVALID if options is null, EAGRE_WRONG_VERSION if size is not that of an EagreFileSortOptions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_file_sort_options_default(
    options: *mut EagreFileSortOptions,
    size: usize,
) -> EagreStatus {
    // SAFETY: the caller's promise.
    status(|| unsafe { versioned::fill(options, size) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_version_keeps_its_size() {
        // 64-bit systems. If this fails, old programs stop working.
        assert_eq!(EagreFileSortOptions::SMALLEST, 64);
        assert_eq!(size_of::<EagreFileSortOptions>(), 64 + 2 * 4 + 8);
    }
}
