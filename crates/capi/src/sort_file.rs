//! Sorting files.

use crate::arguments;
use crate::format::{EagreFormat, with_records};
use crate::options::EAGRE_UNKNOWN;
use crate::status::{EagreStatus, Fault, status};
use crate::versioned::{self, Versioned};
use eagre::external::{FileSorter, Plan, Progress, Report};
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
    /// EAGRE_UNIQUE and EAGRE_VERIFY, added up. Default 0.
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
    };
}

impl EagreFileSortOptions {
    /// The sorter that these options ask for, without the progress function.
    ///
    /// # Safety
    /// `temporary` is null or points to so many C strings.
    pub(crate) unsafe fn sorter(&self, descending: bool) -> Result<FileSorter<'static>, Fault> {
        let unknown = self.flags & !(EAGRE_UNIQUE | EAGRE_VERIFY);
        if unknown != 0 {
            return Err(Fault::invalid(format_args!("sort: unknown flags {unknown:#x}")));
        }
        let plan = PLANS.iter().find(|(plan, _)| *plan as i32 == self.plan).ok_or_else(|| {
            Fault::invalid(format_args!("sort: plan is {}: it must be an EagrePlan, 0 to 4", self.plan))
        })?;
        let sorter = FileSorter::new().threads(self.threads as usize).descending(descending).plan(plan.1);
        let sorter = sorter.unique(self.flags & EAGRE_UNIQUE != 0).verify(self.flags & EAGRE_VERIFY != 0);
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

    pub(crate) fn hook(&self) -> Option<Hook> {
        self.progress.map(|call| Hook { call, context: self.context })
    }
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

/// What a sort did. Fields a library does not know are zero.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EagreSortReport {
    /// The size of this struct in bytes, as the caller has it.
    pub size: u32,
    /// The EagrePlan by which it was done.
    pub plan: i32,
    /// The records of the input.
    pub records: u64,
    /// The bytes of the input.
    pub bytes: u64,
    /// The bytes of the output.
    pub written: u64,
    /// The runs in temporary files.
    pub runs: u64,
    /// How often they were merged.
    pub merges: u64,
}

/// The size of the struct in the first version that had it. Never changes.
const SMALLEST_REPORT: usize = offset_of!(EagreSortReport, merges) + size_of::<u64>();

/// Where a report goes, unless that is null.
pub(crate) struct ReportPlace<'a>(Option<&'a mut [u8]>);

impl<'a> ReportPlace<'a> {
    /// # Safety
    /// `report` is null or a place of `size` bytes for as long as this lives.
    pub(crate) unsafe fn new(report: *mut EagreSortReport, size: usize) -> Result<ReportPlace<'a>, Fault> {
        if report.is_null() {
            return Ok(ReportPlace(None));
        }
        if !(SMALLEST_REPORT..=4096).contains(&size) {
            let text = format_args!("{size} bytes is not the size of an EagreSortReport; pass sizeof report");
            return Err(Fault::new(EagreStatus::EagreWrongVersion, text));
        }
        // SAFETY: the caller's promise.
        let to = unsafe { arguments::bytes_mut(report.cast(), size)? };
        to.fill(0);
        Ok(ReportPlace(Some(to)))
    }

    pub(crate) fn put(self, report: &Report) {
        let Some(to) = self.0 else { return };
        let plan = PLANS.iter().find(|(_, plan)| *plan == report.plan).map_or(EagrePlan::Auto, |(plan, _)| *plan);
        let now = EagreSortReport {
            size: to.len() as u32,
            plan: plan as i32,
            records: report.records,
            bytes: report.bytes,
            written: report.written,
            runs: report.runs,
            merges: report.merges,
        };
        let known = to.len().min(size_of::<EagreSortReport>());
        // SAFETY: both are at least `known` bytes long, and the struct has no padding.
        unsafe { (&raw const now).cast::<u8>().copy_to_nonoverlapping(to.as_mut_ptr(), known) };
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

/// Sorts the file at from into one at to, which may be the same. The output appears when all of it is on the disk, and never
/// if anything fails. What does not fit into memory goes to temporary files.
///
/// format and options may be null: lines, and all defaults. Puts what was done into report, which has room for report_size
/// bytes, unless it is null: eagre_sort_file(from, to, NULL, NULL, &report, sizeof report).
///
/// Fails with EAGRE_SYSTEM if a file cannot be read or written, EAGRE_MALFORMED if the input ends inside a record (the message
/// says where) or the output does not verify, EAGRE_CANCELLED if progress said so, EAGRE_RESOURCES if memory is refused,
/// EAGRE_INVALID if options ask for what cannot be, or EAGRE_WRONG_VERSION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_sort_file(
    from: *const c_char,
    to: *const c_char,
    format: *const EagreFormat,
    options: *const EagreFileSortOptions,
    report: *mut EagreSortReport,
    report_size: usize,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (from, to, place) =
            unsafe { (arguments::path(from)?, arguments::path(to)?, ReportPlace::new(report, report_size)?) };
        // SAFETY: the caller's promise.
        let ((records, order), options) = unsafe { (EagreFormat::read(format)?, versioned::read(options)?) };
        // SAFETY: the caller's promise.
        let mut sorter: FileSorter<'_> = unsafe { options.sorter(order.descending)? };
        let hook = options.hook();
        let ask = |progress| hook.as_ref().map_or(ControlFlow::Continue(()), |hook| hook.ask(progress));
        if hook.is_some() {
            sorter = sorter.progress(&ask);
        }
        let sorted = with_records!(&records, format => sorter.sort_file(format, from, to));
        place.put(&sorted.map_err(|error| Fault::of_sort(&error))?);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_version_keeps_its_size() {
        // 64-bit systems. If this fails, old programs stop working.
        assert_eq!(EagreFileSortOptions::SMALLEST, 64);
        assert_eq!(SMALLEST_REPORT, size_of::<EagreSortReport>());
        assert_eq!(SMALLEST_REPORT, 2 * 4 + 5 * 8);
    }
}
