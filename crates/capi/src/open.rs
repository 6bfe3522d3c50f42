//! Opening a stream.

use crate::arguments::Place;
use crate::options::EagreOptions;
use crate::reader::EagreReader;
use crate::status::{EagreStatus, status};
use crate::writer::EagreWriter;

/// Opens a stream and gives out its two ends, usually for two threads.
///
/// options may be null: all defaults. On failure both ends are null. Close them with eagre_writer_close and
/// eagre_reader_close.
///
/// Fails with EAGRE_INVALID, EAGRE_WRONG_VERSION, EAGRE_SETTING, EAGRE_UNAVAILABLE or EAGRE_RESOURCES.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_open(
    options: *const EagreOptions,
    writer: *mut *mut EagreWriter,
    reader: *mut *mut EagreReader,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (to_reader, to_writer) = unsafe { (Place::new(reader, "reader"), Place::new(writer, "writer")) };
        let (to_writer, to_reader) = (to_writer?, to_reader?);
        // SAFETY: the caller's promise.
        let (writer, reader) = unsafe { EagreOptions::builder(options)? }.open()?.split();
        to_writer.put(EagreWriter::new(writer));
        to_reader.put(EagreReader::new(reader));
        Ok(())
    })
}
