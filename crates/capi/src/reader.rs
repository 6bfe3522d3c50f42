//! The reading end.

use crate::arguments::{Place, bytes_mut, exclusive, shared, take, text};
use crate::blocks::EagreReadBlock;
use crate::control::EagreControl;
use crate::ends::{AnyControl, AnyReader, Either};
use crate::hosts::NetworkReader;
use crate::options::EAGRE_UNKNOWN;
use crate::status::{EagreStatus, Fault, status, value};
use eagre::external::SortedReader;
use eagre::{Reader, process};
use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

/// The reading end of a stream. One thread at a time uses it; it may be handed from thread to thread.
pub struct EagreReader {
    end: End,
    control: AnyControl,
    /// What may be consumed.
    filled: usize,
}

#[allow(clippy::large_enum_variant, reason = "a reader of any kind is on the heap")]
enum End {
    Pipe(Reader),
    /// Closing it ends the sort.
    Sorted(SortedReader),
    Network(NetworkReader),
    Process(process::Reader),
    /// It was read to its end, so many bytes, and the other host knows; or it failed.
    Finished(u64),
}

impl EagreReader {
    pub(crate) fn new(reader: Reader) -> EagreReader {
        EagreReader { control: Either::Here(reader.control()), end: End::Pipe(reader), filled: 0 }
    }

    pub(crate) fn sorted(reader: SortedReader) -> EagreReader {
        EagreReader { control: Either::Here(reader.control()), end: End::Sorted(reader), filled: 0 }
    }

    pub(crate) fn between_hosts(reader: NetworkReader) -> EagreReader {
        EagreReader { control: Either::Here(reader.control()), end: End::Network(reader), filled: 0 }
    }

    pub(crate) fn between_processes(reader: process::Reader) -> EagreReader {
        EagreReader { control: Either::Process(reader.control()), end: End::Process(reader), filled: 0 }
    }

    /// The end of a stream within this process, which a thread of the library is to read.
    ///
    /// # Safety
    /// `reader` is null or came from the library and is not used any more.
    pub(crate) unsafe fn to_attach(reader: *mut EagreReader) -> Result<Reader, Fault> {
        // SAFETY: the caller's promise.
        match unsafe { take(reader) }.ok_or_else(|| Fault::invalid("reader is a null pointer"))?.end {
            End::Pipe(reader) => Ok(reader),
            _ => Err(Fault::invalid("only the reader of a pipe or a file can be attached to a connection")),
        }
    }

    fn reader(&mut self) -> Result<AnyReader<'_>, Fault> {
        match &mut self.end {
            End::Pipe(reader) => Ok(Either::Here(reader)),
            End::Sorted(reader) => Ok(Either::Here(reader)),
            End::Network(reader) => Ok(Either::Here(reader)),
            End::Process(reader) => Ok(Either::Process(reader)),
            End::Finished(_) => Err(Fault::new(EagreStatus::EagreClosed, "the reader is finished already")),
        }
    }

    fn length(&self) -> Option<u64> {
        match &self.end {
            End::Pipe(reader) => reader.length(),
            End::Sorted(reader) => reader.length(),
            End::Network(reader) => reader.length(),
            End::Process(reader) => reader.length(),
            End::Finished(length) => Some(*length),
        }
    }

    fn position(&self) -> u64 {
        match &self.end {
            End::Pipe(reader) => reader.position(),
            End::Sorted(reader) => reader.position(),
            End::Network(reader) => reader.position(),
            End::Process(reader) => reader.position(),
            End::Finished(length) => *length,
        }
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.filled = 0;
        let control = self.control.clone();
        let reader = self.reader()?;
        let position = reader.position();
        // Waits until the writer has said where the end is.
        let failed = match reader.fill(0) {
            Ok([]) => None,
            Ok(_) => {
                return Err(Fault::invalid(format_args!(
                    "the stream has more than the {position} bytes that were read; read to its end, or say with \
                     eagre_reader_advance_to how far a pointer has read"
                )));
            }
            // What has failed is not the stream.
            Err(error) if control.failure().is_none() => return Err(error.into()),
            Err(error) => Some(error),
        };
        match std::mem::replace(&mut self.end, End::Finished(position)) {
            // The thread that carries the stream knows more of a failure.
            End::Network(reader) => reader.finish()?,
            other => self.end = other,
        }
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    /// The end of a sort, if it is one. What was filled and not consumed is still to be read.
    pub(crate) fn as_sorted(&mut self) -> Option<&mut SortedReader> {
        self.filled = 0;
        match &mut self.end {
            End::Sorted(reader) => Some(reader),
            _ => None,
        }
    }

    /// What is left of the stream, for one of our own readers. What was filled and not consumed is part of it.
    pub(crate) fn bytes(&mut self) -> Result<AnyReader<'_>, Fault> {
        self.filled = 0;
        self.reader()
    }
}

/// Code that reads from a stream pointer.
pub type EagreReadScope = Option<unsafe extern "C" fn(stream: *const c_void, context: *mut c_void)>;

/// The pointer to byte 0 of the stream. Reading through it consumes the stream. Null on failure: EAGRE_NO_POINTER.
///
/// Valid until this end is closed. A read may touch the furthest block read so far, the M blocks before it, and
/// anything after it up to the end and the zero byte that follows it; a read further back ends the process with a
/// message, as the block has been given back. After a failure of the stream zeros are read; ask eagre_reader_check
/// before you trust a result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_reader_pointer(reader: *mut EagreReader) -> *mut c_void {
    value(null_mut(), || {
        // SAFETY: the caller's promise.
        Ok(unsafe { exclusive(reader, "reader")? }.reader()?.pointer()?.as_ptr().cast())
    })
}

/// Calls read(stream, context) with the pointer to byte 0 of the stream, and tells whether the stream failed meanwhile:
/// what read found is to be trusted only if this returns EAGRE_OK.
///
/// Under the signal trap the fault signals are unblocked in this thread for as long as it runs. read must return: no
/// longjmp, no exception.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_reader_scope(
    reader: *mut EagreReader,
    read: EagreReadScope,
    context: *mut c_void,
) -> EagreStatus {
    status(|| {
        let read = read.ok_or_else(|| Fault::invalid("read is a null pointer"))?;
        // SAFETY: the caller's promise.
        let reader = unsafe { exclusive(reader, "reader")? };
        // SAFETY: the caller's function, with the arguments it was promised.
        Ok(reader.reader()?.scope(|stream| unsafe { read(stream.cast(), context) })?)
    })
}

/// The next bytes: at least bytes of them (0 counts as 1), contiguous; fewer only where the stream ends, none at its
/// end. Waits for the writer. No faults.
///
/// Puts how many bytes there are into *size. Valid until the next call with this reader; eagre_reader_consume says how
/// many are done with. At the end of the stream *size is 0 and the pointer is not null.
///
/// Null on failure: the stream's, or EAGRE_TOO_LARGE if the bytes would span more than M + 1 blocks, or if a
/// pointer has read ahead and the window has left the position behind: say how far with eagre_reader_advance_to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_reader_fill(reader: *mut EagreReader, bytes: usize, size: *mut usize) -> *const c_void {
    value(null(), || {
        // SAFETY: the caller's promise.
        let (reader, size) = unsafe { (exclusive(reader, "reader")?, exclusive(size, "size")?) };
        (reader.filled, *size) = (0, 0);
        let slice = reader.reader()?.fill(bytes)?;
        *size = slice.len();
        // An empty slice may point anywhere; C had better get an address that exists.
        let start = if slice.is_empty() { c"".as_ptr().cast() } else { slice.as_ptr() };
        reader.filled = *size;
        Ok(start.cast())
    })
}

/// The first bytes bytes of what eagre_reader_fill gave are done with. Blocks behind them go back to the writer.
///
/// Fails with EAGRE_INVALID if that is more than there was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_reader_consume(reader: *mut EagreReader, bytes: usize) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let reader = unsafe { exclusive(reader, "reader")? };
        if bytes > reader.filled {
            return Err(Fault::invalid(format_args!("consume of {bytes} bytes, {} filled", reader.filled)));
        }
        reader.filled -= bytes;
        reader.reader()?.consume(bytes);
        Ok(())
    })
}

/// Copies the next size bytes to data, however many they are. Waits for the writer. No faults.
///
/// Puts how many were copied into *copied (unless copied is null): fewer than size only at the end of the stream. On
/// failure some bytes may have been consumed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_reader_copy_out(
    reader: *mut EagreReader,
    data: *mut c_void,
    size: usize,
    copied: *mut usize,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (reader, data, copied) =
            unsafe { (exclusive(reader, "reader")?, bytes_mut(data.cast(), size)?, copied.as_mut()) };
        reader.filled = 0;
        let done = reader.reader()?.copy_out(data)?;
        if let Some(copied) = copied {
            *copied = done;
        }
        Ok(())
    })
}

/// The length of the stream in bytes, once the writer has finished or if it was announced at open; else EAGRE_UNKNOWN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_reader_length(reader: *const EagreReader) -> u64 {
    // SAFETY: the caller's promise.
    value(EAGRE_UNKNOWN, || Ok(unsafe { shared(reader, "reader")? }.length().unwrap_or(EAGRE_UNKNOWN)))
}

/// How many bytes have been consumed, or declared read by eagre_reader_advance_to. EAGRE_UNKNOWN if reader is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_reader_position(reader: *const EagreReader) -> u64 {
    // SAFETY: the caller's promise.
    value(EAGRE_UNKNOWN, || Ok(unsafe { shared(reader, "reader")? }.position()))
}

/// Declares that a pointer has read everything before offset: fill and copy_out go on from there.
///
/// Fails with EAGRE_INVALID_LENGTH if offset lies before what has been given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_reader_advance_to(reader: *mut EagreReader, offset: u64) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let reader = unsafe { exclusive(reader, "reader")? };
        reader.filled = 0;
        Ok(reader.reader()?.advance_to(offset)?)
    })
}

/// Says that the stream has been read to its end, and checks that. Waits for the writer if it is not known yet where the end is; between
/// hosts, also until the other side knows that everything has arrived, so that this program may end. Then only eagre_reader_close is
/// left to do. A reader on a pointer says with eagre_reader_advance_to how far it has read.
///
/// Fails with EAGRE_INVALID, and changes nothing, if there is more to read; with the stream's failure; between hosts, with EAGRE_NETWORK,
/// and with EAGRE_CLOSED if it is finished already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_reader_finish(reader: *mut EagreReader) -> EagreStatus {
    // SAFETY: the caller's promise.
    status(|| unsafe { exclusive(reader, "reader")? }.finish())
}

/// Fails the stream: the writer gets EAGRE_READER_GONE with this message, which may be null and is copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_reader_fail(reader: *mut EagreReader, message: *const c_char) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (reader, message) = unsafe { (exclusive(reader, "reader")?, text(message)) };
        reader.reader()?.fail(message.as_deref().unwrap_or("no reason given"));
        Ok(())
    })
}

/// Whether the stream has failed, and how. For code on a pointer, which is not told.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_reader_check(reader: *const EagreReader) -> EagreStatus {
    // SAFETY: the caller's promise.
    status(|| match unsafe { shared(reader, "reader")? }.control.failure() {
        Some(failure) => Err(failure.into()),
        None => Ok(()),
    })
}

/// A handle to watch and cancel the stream from any thread. Close it with eagre_control_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_reader_control(
    reader: *const EagreReader,
    control: *mut *mut EagreControl,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (place, reader) = unsafe { (Place::new(control, "control")?, shared(reader, "reader")?) };
        place.put(EagreControl(reader.control.clone()));
        Ok(())
    })
}

/// Takes the next block, to be used while others are in use: up to M + 1 at a time, released in any order. The
/// position must be at the start of a block. Waits for the writer. At the end of the stream *block is null.
///
/// Give the block back with eagre_reader_release. Fails with the stream's failure, or with EAGRE_BUSY if M + 1 blocks
/// are out or the position is inside a block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_reader_take(reader: *mut EagreReader, block: *mut *mut EagreReadBlock) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (place, reader) = unsafe { (Place::new(block, "block")?, exclusive(reader, "reader")?) };
        reader.filled = 0;
        if let Some(block) = reader.reader()?.take()? {
            place.put(EagreReadBlock { stream: reader.control.clone(), block });
        }
        Ok(())
    })
}

/// A block taken is done with; it is not to be used any more. Blocks go back in order, whatever the order of release.
///
/// Fails with EAGRE_INVALID, and leaves the block alone, if it was taken from another stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_reader_release(reader: *mut EagreReader, block: *mut EagreReadBlock) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (reader, taken) = unsafe { (exclusive(reader, "reader")?, shared(block, "block")?) };
        if taken.stream != reader.control {
            return Err(Fault::invalid("the block was taken from another stream"));
        }
        // SAFETY: not null, and the caller's promise.
        if let Some(taken) = unsafe { take(block) } {
            reader.reader()?.release_block(taken.block);
        }
        Ok(())
    })
}

/// Closes this end and frees the handle. Null is nothing.
///
/// Closed before the writer finished, the writer gets EAGRE_READER_GONE. Pointers of this end are not to be used any
/// more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_reader_close(reader: *mut EagreReader) {
    status(|| {
        // SAFETY: the caller's promise.
        drop(unsafe { take(reader) });
        Ok(())
    });
}
