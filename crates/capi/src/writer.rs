//! The writing end.

use crate::arguments::{Place, bytes, exclusive, shared, take, text};
use crate::blocks::EagreWriteBlock;
use crate::control::EagreControl;
use crate::ends::{AnyControl, AnyWriter, Either};
use crate::hosts::NetworkWriter;
use crate::status::{EagreStatus, Fault, status, value};
use eagre::file::FileWriter;
use eagre::{SinkWriter, Writer, process};
use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

/// The writing end of a stream. One thread at a time uses it; it may be handed from thread to thread.
pub struct EagreWriter {
    end: End,
    control: AnyControl,
    /// What may be committed.
    reserved: usize,
}

enum End {
    Pipe(Writer),
    /// `None` once finished: the sink has had it all.
    Sink(Option<SinkWriter>),
    /// `None` once finished: the file has appeared, or never will.
    File(Option<Box<FileWriter>>),
    /// `None` once finished: the other host has had it all, or never will.
    Network(Option<NetworkWriter>),
    Process(process::Writer),
}

impl EagreWriter {
    pub(crate) fn new(writer: Writer) -> EagreWriter {
        EagreWriter { control: Either::Here(writer.control()), end: End::Pipe(writer), reserved: 0 }
    }

    pub(crate) fn with_sink(writer: SinkWriter) -> EagreWriter {
        EagreWriter { control: Either::Here(writer.control()), end: End::Sink(Some(writer)), reserved: 0 }
    }

    pub(crate) fn with_file(writer: FileWriter) -> EagreWriter {
        EagreWriter { control: Either::Here(writer.control()), end: End::File(Some(Box::new(writer))), reserved: 0 }
    }

    pub(crate) fn between_hosts(writer: NetworkWriter) -> EagreWriter {
        EagreWriter { control: Either::Here(writer.control()), end: End::Network(Some(writer)), reserved: 0 }
    }

    pub(crate) fn between_processes(writer: process::Writer) -> EagreWriter {
        EagreWriter { control: Either::Process(writer.control()), end: End::Process(writer), reserved: 0 }
    }

    /// The end of a stream within this process, which a thread of the library is to write.
    ///
    /// # Safety
    /// `writer` is null or came from the library and is not used any more.
    pub(crate) unsafe fn to_attach(writer: *mut EagreWriter) -> Result<Writer, Fault> {
        // SAFETY: the caller's promise.
        match unsafe { take(writer) }.ok_or_else(|| Fault::invalid("writer is a null pointer"))?.end {
            End::Pipe(writer) => Ok(writer),
            _ => Err(Fault::invalid("only the writer of a pipe can be attached to a connection")),
        }
    }

    fn writer(&mut self) -> Result<AnyWriter<'_>, Fault> {
        match &mut self.end {
            End::Pipe(writer) => Ok(Either::Here(writer)),
            End::Sink(Some(writer)) => Ok(Either::Here(writer)),
            End::File(Some(writer)) => Ok(Either::Here(writer)),
            End::Network(Some(writer)) => Ok(Either::Here(writer)),
            End::Process(writer) => Ok(Either::Process(writer)),
            End::Sink(None) | End::File(None) | End::Network(None) => {
                Err(Fault::new(EagreStatus::EagreInvalidLength, "the stream is finished already"))
            }
        }
    }

    fn finish(&mut self, length: Option<u64>) -> Result<(), Fault> {
        self.reserved = 0;
        if let End::Sink(sink) = &mut self.end
            && let Some(writer) = sink.take()
        {
            let length = length.unwrap_or(writer.position());
            return writer.finish_at(length).map_err(Fault::from);
        }
        if let End::File(file) = &mut self.end
            && let Some(writer) = file.take()
        {
            let length = length.unwrap_or(writer.position());
            return writer.finish_at(length).map_err(Fault::from);
        }
        if let End::Network(network) = &mut self.end
            && let Some(writer) = network.take()
        {
            let length = length.unwrap_or(writer.position());
            return writer.finish_at(length);
        }
        let writer = self.writer()?;
        let length = length.unwrap_or(writer.position());
        writer.finish_at(length).map_err(Fault::from)
    }
}

/// Code that writes to a stream pointer.
pub type EagreWriteScope = Option<unsafe extern "C" fn(stream: *mut c_void, context: *mut c_void)>;

/// The pointer to byte 0 of the stream. Writing through it produces the stream. Null on failure: EAGRE_NO_POINTER.
///
/// Valid until this end is closed. A write may touch the furthest block written so far, the L blocks before it, and
/// anything after it up to the capacity; a write further back ends the process with a message, as the block has been
/// given to the reader. When all is written, call eagre_writer_finish_at: it also tells whether the stream failed
/// meanwhile.
///
/// memcpy, memset and the like may store the last bytes of a piece first. So write pieces of at most L blocks (2 MiB
/// by default), or use eagre_writer_copy_in, which takes any length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_writer_pointer(writer: *mut EagreWriter) -> *mut c_void {
    value(null_mut(), || {
        // SAFETY: the caller's promise.
        Ok(unsafe { exclusive(writer, "writer")? }.writer()?.pointer()?.as_ptr().cast())
    })
}

/// Calls write(stream, context) with the pointer to byte 0 of the stream, and tells whether the stream failed meanwhile.
///
/// Prefer it to eagre_writer_pointer where signals may be blocked: under the signal trap the fault signals are
/// unblocked in this thread for as long as it runs. write must return: no longjmp, no exception.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_writer_scope(
    writer: *mut EagreWriter,
    write: EagreWriteScope,
    context: *mut c_void,
) -> EagreStatus {
    status(|| {
        let write = write.ok_or_else(|| Fault::invalid("write is a null pointer"))?;
        // SAFETY: the caller's promise.
        let writer = unsafe { exclusive(writer, "writer")? }.writer()?;
        // SAFETY: the caller's function, with the arguments it was promised.
        Ok(writer.scope(|stream| unsafe { write(stream.cast(), context) })?)
    })
}

/// Room for at least bytes contiguous bytes (0 counts as 1) at the position. Waits for the reader. No faults.
///
/// Puts how many bytes there are, perhaps more than asked for, into *room (unless room is null). What they hold has no
/// meaning. Valid until the next call with this writer; eagre_writer_commit says how many of them are the stream's.
///
/// Null on failure: the stream's, or EAGRE_TOO_LARGE if the bytes would span more than L + 1 blocks, or if a
/// pointer has written ahead and the window has left the position behind: say how far with eagre_writer_advance_to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_writer_reserve(writer: *mut EagreWriter, bytes: usize, room: *mut usize) -> *mut c_void {
    value(null_mut(), || {
        // SAFETY: the caller's promise.
        let (writer, room) = unsafe { (exclusive(writer, "writer")?, room.as_mut()) };
        writer.reserved = 0;
        let slice = writer.writer()?.reserve(bytes)?;
        let (start, len) = (slice.as_mut_ptr(), slice.len());
        writer.reserved = len;
        if let Some(room) = room {
            *room = len;
        }
        Ok(start.cast())
    })
}

/// The first bytes bytes of what eagre_writer_reserve gave are the stream's now. Full blocks go to the reader.
///
/// Fails with EAGRE_INVALID if that is more than was reserved.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_writer_commit(writer: *mut EagreWriter, bytes: usize) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let writer = unsafe { exclusive(writer, "writer")? };
        if bytes > writer.reserved {
            return Err(Fault::invalid(format_args!("commit of {bytes} bytes, {} reserved", writer.reserved)));
        }
        writer.reserved = 0;
        writer.writer()?.commit(bytes);
        Ok(())
    })
}

/// Appends size bytes from data, however many they are. Waits for the reader. No faults.
///
/// On failure some of the bytes may have been appended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_writer_copy_in(
    writer: *mut EagreWriter,
    data: *const c_void,
    size: usize,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (writer, data) = unsafe { (exclusive(writer, "writer")?, bytes(data.cast(), size)?) };
        writer.reserved = 0;
        Ok(writer.writer()?.copy_in(data)?)
    })
}

/// How many bytes have been committed, or declared written by eagre_writer_advance_to. EAGRE_UNKNOWN if writer is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_writer_position(writer: *const EagreWriter) -> u64 {
    // SAFETY: the caller's promise.
    value(u64::MAX, || Ok(unsafe { shared(writer, "writer")? }.control.stats()?.writer.position))
}

/// Declares that a pointer has written everything before offset: reserve, copy_in and finish go on from there.
///
/// Fails with EAGRE_INVALID_LENGTH if offset lies before what the reader already has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_writer_advance_to(writer: *mut EagreWriter, offset: u64) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let writer = unsafe { exclusive(writer, "writer")? };
        writer.reserved = 0;
        Ok(writer.writer()?.advance_to(offset)?)
    })
}

/// Ends the stream at the position. Then only eagre_writer_close is left to do. See eagre_writer_finish_at.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_writer_finish(writer: *mut EagreWriter) -> EagreStatus {
    // SAFETY: the caller's promise.
    status(|| unsafe { exclusive(writer, "writer")? }.finish(None))
}

/// Ends the stream at length bytes, for a writer on a pointer. The rest of the last block reads as zero, at least one
/// byte of it. May wait for the reader; with a sink, waits until it has taken everything; with a file, until all is on the
/// disk and the file has appeared; between hosts, until the other side has everything.
///
/// Fails with the stream's failure; with EAGRE_INVALID_LENGTH if the reader already has more, another length was
/// announced at open, or the stream is finished already; with EAGRE_BUSY if blocks taken are still out. Between hosts, EAGRE_NETWORK
/// is also that the connection was lost before it is known whether everything has arrived, and a failure is the end of the stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_writer_finish_at(writer: *mut EagreWriter, length: u64) -> EagreStatus {
    // SAFETY: the caller's promise.
    status(|| unsafe { exclusive(writer, "writer")? }.finish(Some(length)))
}

/// Fails the stream: the reader gets EAGRE_WRITER_FAILED with this message, which may be null and is copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_writer_fail(writer: *mut EagreWriter, message: *const c_char) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (writer, message) = unsafe { (exclusive(writer, "writer")?, text(message)) };
        writer.writer()?.fail(message.as_deref().unwrap_or("no reason given"));
        Ok(())
    })
}

/// Whether the stream has failed, and how. For code on a pointer, which is not told.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_writer_check(writer: *const EagreWriter) -> EagreStatus {
    // SAFETY: the caller's promise.
    status(|| match unsafe { shared(writer, "writer")? }.control.failure() {
        Some(failure) => Err(failure.into()),
        None => Ok(()),
    })
}

/// A handle to watch and cancel the stream from any thread. Close it with eagre_control_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_writer_control(
    writer: *const EagreWriter,
    control: *mut *mut EagreControl,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (place, writer) = unsafe { (Place::new(control, "control")?, shared(writer, "writer")?) };
        place.put(EagreControl(writer.control.clone()));
        Ok(())
    })
}

/// Takes the next block, to be filled while others are being filled: up to L + 1 at a time, completed in any order.
/// The position must be at the start of a block. Waits for the reader.
///
/// Give the block back with eagre_writer_complete. Fails with the stream's failure, or with EAGRE_BUSY if L + 1 blocks
/// are out or the position is inside a block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_writer_take(writer: *mut EagreWriter, block: *mut *mut EagreWriteBlock) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (place, writer) = unsafe { (Place::new(block, "block")?, exclusive(writer, "writer")?) };
        writer.reserved = 0;
        let (stream, block) = (writer.control.clone(), writer.writer()?.take()?);
        place.put(EagreWriteBlock { stream, block });
        Ok(())
    })
}

/// A block taken is not full, and will not be: it comes back with what it holds, and is not to be used any more. The block
/// taken last comes back first. If the bytes in it are the stream's last, eagre_writer_finish_at says how many they are.
///
/// Fails with EAGRE_INVALID, and leaves the block alone, if it was taken from another stream; with EAGRE_BUSY if a block
/// taken later is still out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_writer_put_back(writer: *mut EagreWriter, block: *mut EagreWriteBlock) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (writer, taken) = unsafe { (exclusive(writer, "writer")?, shared(block, "block")?) };
        if taken.stream != writer.control {
            return Err(Fault::invalid("the block was taken from another stream"));
        }
        let writer = writer.writer()?;
        if !writer.is_last_taken(&taken.block) {
            return Err(Fault::new(
                EagreStatus::EagreBusy,
                "a block taken later is still out; give that one back first",
            ));
        }
        // SAFETY: not null, and the caller's promise.
        if let Some(taken) = unsafe { take(block) } {
            writer.put_back(taken.block);
        }
        Ok(())
    })
}

/// A block taken is full; it is not to be used any more. Blocks go to the reader in order, whatever the order of
/// completion.
///
/// Fails with EAGRE_INVALID, and leaves the block alone, if it was taken from another stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_writer_complete(writer: *mut EagreWriter, block: *mut EagreWriteBlock) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (writer, taken) = unsafe { (exclusive(writer, "writer")?, shared(block, "block")?) };
        if taken.stream != writer.control {
            return Err(Fault::invalid("the block was taken from another stream"));
        }
        let writer = writer.writer()?;
        // SAFETY: not null, and the caller's promise.
        if let Some(taken) = unsafe { take(block) } {
            writer.complete(taken.block);
        }
        Ok(())
    })
}

/// Closes this end and frees the handle. Null is nothing.
///
/// Closed before it was finished, the reader gets EAGRE_WRITER_GONE (on another host, EAGRE_SYSTEM), and not a short stream. With a
/// sink, closing does not wait for it; finishing does. Pointers of this end are not to be used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_writer_close(writer: *mut EagreWriter) {
    status(|| {
        // SAFETY: the caller's promise.
        drop(unsafe { take(writer) });
        Ok(())
    });
}
