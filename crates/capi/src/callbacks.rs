//! Streams whose other end is a callback.

use crate::arguments::Place;
use crate::options::EagreOptions;
use crate::reader::EagreReader;
use crate::status::{EagreStatus, Fault, status};
use crate::writer::EagreWriter;
use eagre::{Sink, Source};
use std::ffi::c_void;
use std::io;

/// Fills a stream: puts its bytes that start at offset into bytes, at least one and at most size, and returns how many.
/// 0 means that the stream ends here. A negative number, best a negated errno, fails the stream with EAGRE_WRITER_FAILED.
pub type EagreSource =
    Option<unsafe extern "C" fn(context: *mut c_void, offset: u64, bytes: *mut c_void, size: usize) -> i64>;

/// Empties a stream: takes its size bytes that start at offset, all of them, and returns 0. Called with size 0 once when
/// the stream has ended at offset bytes. Anything but 0, best a negated errno, fails the stream with EAGRE_READER_GONE.
pub type EagreSink =
    Option<unsafe extern "C" fn(context: *mut c_void, offset: u64, bytes: *const c_void, size: usize) -> i64>;

/// Frees a callback's context when the callback will not be called any more. May be null.
pub type EagreFree = Option<unsafe extern "C" fn(context: *mut c_void)>;

/// A context and what frees it.
struct Context {
    pointer: *mut c_void,
    free: EagreFree,
}

// SAFETY: the header says that callbacks are called by a helper thread.
unsafe impl Send for Context {}

impl Drop for Context {
    fn drop(&mut self) {
        if let Some(free) = self.free {
            // SAFETY: the caller's function, with the argument it was promised, once.
            unsafe { free(self.pointer) }
        }
    }
}

/// What a negative answer means: an errno, if it can be one.
fn failure(answer: i64) -> io::Error {
    match i32::try_from(answer.unsigned_abs()) {
        Ok(errno @ 1..=4095) if answer < 0 => io::Error::from_raw_os_error(errno),
        _ => io::Error::other(format!("the callback returned {answer}")),
    }
}

struct CSource {
    fill: unsafe extern "C" fn(*mut c_void, u64, *mut c_void, usize) -> i64,
    context: Context,
}

impl Source for CSource {
    fn fill(&mut self, offset: u64, block: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the caller's function, with the arguments it was promised.
        let answer = unsafe { (self.fill)(self.context.pointer, offset, block.as_mut_ptr().cast(), block.len()) };
        usize::try_from(answer).map_err(|_| failure(answer))
    }
}

struct CSink {
    empty: unsafe extern "C" fn(*mut c_void, u64, *const c_void, usize) -> i64,
    context: Context,
}

impl Sink for CSink {
    fn empty(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        // SAFETY: the caller's function, with the arguments it was promised.
        match unsafe { (self.empty)(self.context.pointer, offset, bytes.as_ptr().cast(), bytes.len()) } {
            0 => Ok(()),
            answer => Err(failure(answer)),
        }
    }

    fn finish(&mut self, length: u64) -> io::Result<()> {
        self.empty(length, &[])
    }
}

/// Opens a stream that source fills, and gives out its reading end.
///
/// source is called by a helper thread with context, and may do whatever it likes, but must return: no longjmp, no
/// exception. That thread calls free_context(context) when it is done, perhaps some time after the reader was closed;
/// so it does if opening fails. Fails as eagre_open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_open_source(
    options: *const EagreOptions,
    source: EagreSource,
    context: *mut c_void,
    free_context: EagreFree,
    reader: *mut *mut EagreReader,
) -> EagreStatus {
    status(|| {
        let context = Context { pointer: context, free: free_context };
        let fill = source.ok_or_else(|| Fault::invalid("source is a null pointer"))?;
        // SAFETY: the caller's promise.
        let (place, builder) = unsafe { (Place::new(reader, "reader")?, EagreOptions::builder(options)?) };
        place.put(EagreReader::new(builder.source(CSource { fill, context })?));
        Ok(())
    })
}

/// Opens a stream that sink empties, and gives out its writing end. eagre_writer_finish waits for the sink.
///
/// sink is called by a helper thread with context, and may do whatever it likes, but must return: no longjmp, no
/// exception. That thread calls free_context(context) when it is done: before eagre_writer_finish returns, or some time
/// after a writer was closed that did not finish; so it does if opening fails. Fails as eagre_open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_open_sink(
    options: *const EagreOptions,
    sink: EagreSink,
    context: *mut c_void,
    free_context: EagreFree,
    writer: *mut *mut EagreWriter,
) -> EagreStatus {
    status(|| {
        let context = Context { pointer: context, free: free_context };
        let empty = sink.ok_or_else(|| Fault::invalid("sink is a null pointer"))?;
        // SAFETY: the caller's promise.
        let (place, builder) = unsafe { (Place::new(writer, "writer")?, EagreOptions::builder(options)?) };
        place.put(EagreWriter::with_sink(builder.sink(CSink { empty, context })?));
        Ok(())
    })
}
