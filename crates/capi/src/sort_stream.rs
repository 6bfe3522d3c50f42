//! Sorting a stream into a stream.

use crate::arguments::{Place, exclusive};
use crate::file_sort_options::EagreFileSortOptions;
use crate::format::{EagreFormat, with_records};
use crate::reader::EagreReader;
use crate::sort_file::{EagreSortReport, ReportPlace};
use crate::status::{EagreStatus, Fault, status};
use crate::versioned;
use crate::writer::EagreWriter;

/// Sorts a stream into a stream: what is written to input comes out of output in order. A thread of the library sorts. What
/// does not fit into memory goes to temporary files, so one thread may write everything, finish, and then read everything.
///
/// Every form of both ends but pointers works on them. The first byte comes out after eagre_writer_finish. The memory of both
/// streams is part of options.memory. format and options may be null. Close both ends, in any order: eagre_reader_close stops
/// the sort, and waits until it has ended. After that progress is not called any more.
///
/// Fails with EAGRE_INVALID if options ask for what cannot be (EAGRE_VERIFY, a plan with pointers, a compression of the output,
/// a header), EAGRE_UNAVAILABLE as eagre_sort_file, EAGRE_RESOURCES, or EAGRE_WRONG_VERSION. If the sort fails later, also because
/// input was closed before it finished, reading from output fails with EAGRE_WRITER_FAILED and the reason, and never ends as if
/// all were there. A writer that has not finished then, or whose reader was closed, gets EAGRE_READER_GONE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_sort_stream(
    format: *const EagreFormat,
    options: *const EagreFileSortOptions,
    input: *mut *mut EagreWriter,
    output: *mut *mut EagreReader,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (to_output, to_input) = unsafe { (Place::new(output, "output"), Place::new(input, "input")) };
        let (to_input, to_output) = (to_input?, to_output?);
        // SAFETY: the caller's promise.
        let options: EagreFileSortOptions = unsafe { versioned::read(options)? };
        // SAFETY: the caller's promise.
        let (records, order) = unsafe { EagreFormat::read(format, options.is_unique())? };
        options.check_plain("a stream")?;
        // SAFETY: the caller's promise.
        let sorter = unsafe { options.sorter(order.descending)? };
        let streams = with_records!(records, format => match options.hook() {
            Some(hook) => sorter.stream_with_progress(format, move |progress| hook.ask(progress)),
            None => sorter.stream(format),
        });
        let (writer, reader) = streams.map_err(|error| Fault::of_sort(&error))?;
        to_input.put(EagreWriter::new(writer));
        to_output.put(EagreReader::sorted(reader));
        Ok(())
    })
}

/// Puts what the sort did into report, when everything has been read from its output.
///
/// Fails as eagre_sort_file if the sort has failed; with EAGRE_INVALID if output is not that of eagre_sort_stream or has more
/// to read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_reader_sort_report(
    output: *mut EagreReader,
    report: *mut EagreSortReport,
    report_size: usize,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (reader, place) = unsafe { (exclusive(output, "output")?, ReportPlace::new(report, report_size)?) };
        let sorted = reader.as_sorted().ok_or_else(|| Fault::invalid("output is not a reader of eagre_sort_stream"))?;
        place.put(&sorted.report().map_err(|error| Fault::of_sort(&error))?);
        Ok(())
    })
}
