//! Files as streams.

use crate::arguments::{self, Place};
use crate::options::EagreOptions;
use crate::reader::EagreReader;
use crate::status::{EagreStatus, Fault, status};
use crate::writer::EagreWriter;
use eagre::file::{ReadOptions, WriteOptions};
use std::ffi::c_char;

/// Opens a file as a stream, and gives out its reading end: large files come straight from the disk, past the page
/// cache, several requests at a time; files that are in the cache, pipes and the like as they are.
///
/// options may be null. Of a stream for a file, rewrite + 1 blocks are on their way from the disk at a time, and length
/// is how many bytes to read: a file with fewer is an error. Without it, the file is read to its end.
///
/// Fails with EAGRE_SYSTEM if the file cannot be opened, or as eagre_open. If it cannot be read later, the stream fails
/// with EAGRE_SYSTEM, and eagre_last_error names the file and the byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_open_file(
    path: *const c_char,
    options: *const EagreOptions,
    reader: *mut *mut EagreReader,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (place, path) = unsafe { (Place::new(reader, "reader")?, arguments::path(path)?) };
        let mut read = ReadOptions::new();
        if !options.is_null() {
            // SAFETY: the caller's promise.
            let (builder, length) = unsafe { (EagreOptions::builder(options)?, EagreOptions::length(options)?) };
            read = read.stream(builder);
            if let Some(length) = length {
                read = read.length(length);
            }
        }
        place.put(EagreReader::new(read.open(path).map_err(Fault::from)?));
        Ok(())
    })
}

/// Makes a file from a stream, and gives out its writing end. eagre_writer_finish and eagre_writer_finish_at wait until
/// all of it is on the disk; then the file appears under its name, complete, in the place of the one that was there. A
/// writer that is closed before leaves nothing. Pipes and devices are written as they are.
///
/// options may be null. Of a stream for a file, lookback + 1 blocks are on their way to the disk at a time, and length
/// is how long the file will be: a disk without room for it is an error at once.
///
/// Fails with EAGRE_SYSTEM if the file cannot be made, or as eagre_open. If it cannot be written later, the stream fails
/// with EAGRE_SYSTEM, and eagre_last_error names the file and the byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_create_file(
    path: *const c_char,
    options: *const EagreOptions,
    writer: *mut *mut EagreWriter,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (place, path) = unsafe { (Place::new(writer, "writer")?, arguments::path(path)?) };
        let mut write = WriteOptions::new();
        if !options.is_null() {
            // SAFETY: the caller's promise.
            let (builder, length) = unsafe { (EagreOptions::builder(options)?, EagreOptions::length(options)?) };
            write = write.stream(builder);
            if let Some(length) = length {
                write = write.length(length);
            }
        }
        place.put(EagreWriter::with_file(write.create(path).map_err(Fault::from)?));
        Ok(())
    })
}
