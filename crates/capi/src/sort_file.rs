//! Sorting files, and making their indexes.

use crate::arguments;
use crate::file_sort_options::{EagreFileSortOptions, concurrency_of, plan_of};
use crate::format::{EagreFormat, Records, with_records};
use crate::status::{EagreStatus, Fault, status};
use crate::versioned;
use eagre::external::{FileSorter, Input, Report};
use eagre::file::{Output, name};
use eagre::records::{Format, take_first};
use std::ffi::c_char;
use std::fs::File;
use std::io;
use std::mem::{offset_of, size_of};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

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
    /// The bytes of the output, before it was compressed.
    pub written: u64,
    /// The runs in temporary files.
    pub runs: u64,
    /// How often they were merged.
    pub merges: u64,
    /// The bytes of all temporary files, as they were written: compressed if they were.
    pub temporary: u64,
    /// The EagreConcurrency by which it was done.
    pub concurrency: i32,
    /// 0.
    pub reserved: u32,
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
        let now = EagreSortReport {
            size: to.len() as u32,
            plan: plan_of(report.plan) as i32,
            records: report.records,
            bytes: report.bytes,
            written: report.written,
            runs: report.runs,
            merges: report.merges,
            temporary: report.temporary,
            concurrency: concurrency_of(report.concurrency) as i32,
            reserved: 0,
        };
        let known = to.len().min(size_of::<EagreSortReport>());
        // SAFETY: both are at least `known` bytes long, and the struct has no padding.
        unsafe { (&raw const now).cast::<u8>().copy_to_nonoverlapping(to.as_mut_ptr(), known) };
    }
}

/// A file to read, and its name in messages.
fn opened(path: &Path) -> Result<(File, String), Fault> {
    let file = File::open(path).map_err(|error| Fault::about("read", path, &error))?;
    Ok((file, name::shown(path.as_os_str().as_bytes())))
}

fn created(path: &Path) -> Result<Output, Fault> {
    Output::create(path).map_err(|error| Fault::about("write", path, &error))
}

/// Sorts all but the first `header` records of a file, which stay at its beginning.
fn sort_below<F: Format>(
    sorter: FileSorter<'_>,
    format: &F,
    header: u64,
    from: &Path,
    to: &Path,
) -> Result<io::Result<Report>, Fault> {
    let (mut file, name) = opened(from)?;
    let count = usize::try_from(header).unwrap_or(usize::MAX);
    let first = take_first(format, &mut file, count).map_err(|error| {
        let text = format!("sort: {name}: {error}, in its header");
        Fault::of_sort(&io::Error::new(error.kind(), text))
    })?;
    Ok(sorter.header(&first).sort(format, vec![Input::new(name, file)], created(to)?, to))
}

/// What a sort or an index does with files.
type Work = fn(&Records, FileSorter<'_>, &EagreFileSortOptions, &Path, &Path) -> Result<io::Result<Report>, Fault>;

/// Reads what C passes, and does the work.
///
/// # Safety
/// As the header says of eagre_sort_file.
unsafe fn from_file_to_file(
    (from, to): (*const c_char, *const c_char),
    format: *const EagreFormat,
    options: *const EagreFileSortOptions,
    (report, report_size): (*mut EagreSortReport, usize),
    work: Work,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (from, to, place) =
            unsafe { (arguments::path(from)?, arguments::path(to)?, ReportPlace::new(report, report_size)?) };
        // SAFETY: the caller's promise.
        let options: EagreFileSortOptions = unsafe { versioned::read(options)? };
        // SAFETY: the caller's promise.
        let (records, order) = unsafe { EagreFormat::read(format, options.is_unique())? };
        // SAFETY: the caller's promise.
        let mut sorter: FileSorter<'_> = unsafe { options.sorter(order.descending)? };
        let hook = options.hook();
        let ask = |progress| hook.as_ref().map_or(ControlFlow::Continue(()), |hook| hook.ask(progress));
        if hook.is_some() {
            sorter = sorter.progress(&ask);
        }
        let done = work(&records, sorter, &options, from, to)?;
        place.put(&done.map_err(|error| Fault::of_sort(&error))?);
        Ok(())
    })
}

/// Sorts the file at from into one at to, which may be the same. The output appears when all of it is on the disk, and never
/// if anything fails. What does not fit into memory goes to temporary files.
///
/// format and options may be null: lines, and all defaults. Puts what was done into report, which has room for report_size
/// bytes, unless it is null: eagre_sort_file(from, to, NULL, NULL, &report, sizeof report).
///
/// Fails with EAGRE_SYSTEM if a file cannot be read or written, EAGRE_MALFORMED if the input ends inside a record (the message
/// says where) or the output does not verify, EAGRE_CANCELLED if progress said so, EAGRE_RESOURCES if memory is refused,
/// EAGRE_INVALID if options ask for what cannot be, EAGRE_UNAVAILABLE if they ask for compression and the library was built
/// without, or EAGRE_WRONG_VERSION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_sort_file(
    from: *const c_char,
    to: *const c_char,
    format: *const EagreFormat,
    options: *const EagreFileSortOptions,
    report: *mut EagreSortReport,
    report_size: usize,
) -> EagreStatus {
    let work: Work = |records, sorter, options, from, to| {
        with_records!(records, format => match options.header {
            0 => Ok(sorter.sort_file(format, from, to)),
            header => sort_below(sorter, format, header, from, to),
        })
    };
    // SAFETY: the caller's promise.
    unsafe { from_file_to_file((from, to), format, options, (report, report_size), work) }
}

/// Writes the sorted index of the file at from to one at to: the keys in order, and where their records are, but not the records.
/// eagre_gather_file makes records of it. The file must be a regular one, and must stay as it is as long as the index is used.
/// docs/sorting-files.md has the format of an index.
///
/// All else is as with eagre_sort_file, but EAGRE_VERIFY reads the index back. The plan may be EAGRE_PLAN_ONE_PASS or
/// EAGRE_PLAN_MERGE_PASS.
///
/// Fails as eagre_sort_file, and with EAGRE_INVALID if options have a header or a compression, if the file is not a regular one,
/// or if to is the file itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_index_file(
    from: *const c_char,
    to: *const c_char,
    format: *const EagreFormat,
    options: *const EagreFileSortOptions,
    report: *mut EagreSortReport,
    report_size: usize,
) -> EagreStatus {
    let work: Work = |records, sorter, options, from, to| {
        options.check_plain("an index")?;
        let (file, name) = opened(from)?;
        let (input, output) = (Input::new(name, file), created(to)?);
        Ok(with_records!(records, format => sorter.index(format, input, output, to)))
    };
    // SAFETY: the caller's promise.
    unsafe { from_file_to_file((from, to), format, options, (report, report_size), work) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_version_keeps_its_size() {
        // 64-bit systems. If this fails, old programs stop working.
        assert_eq!(SMALLEST_REPORT, 2 * 4 + 5 * 8);
        // No padding: all of it is copied.
        assert_eq!(size_of::<EagreSortReport>(), SMALLEST_REPORT + 8 + 2 * 4);
    }
}
