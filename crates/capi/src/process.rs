//! Streams between processes. A connection is a descriptor, as C passes it on.

use crate::arguments::{self, Place, exclusive, shared, take};
use crate::options::{EAGRE_POINTERS, EAGRE_UNKNOWN, EagreOptions};
use crate::pair::{EagreMover, EagreTrap, block_size};
use crate::reader::EagreReader;
use crate::status::{EagreStatus, Fault, status};
use crate::versioned;
use crate::writer::EagreWriter;
use eagre::process::{Connection, Listener, Options, Reader, Writer};
use std::ffi::{c_char, c_int};
use std::os::fd::{BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::time::Duration;

/// A name at which other processes of the same user connect. Several threads may use it at once, but for closing it.
pub struct EagreProcessListener(Listener);

/// `EBADF`: no open descriptor has this number.
const EBADF: i32 = 9;

/// The connection that C gives away.
///
/// # Safety
/// If a descriptor of this number is open, nobody else owns it.
unsafe fn given(connection: c_int) -> Result<Connection, Fault> {
    match connection {
        0 => return Ok(Connection::from_stdin()?),
        ..=2 => {
            let text = format_args!("connection is {connection}: it must be a descriptor, and not output or errors");
            return Err(Fault::invalid(text));
        }
        _ => {}
    }
    // SAFETY: not -1; whether it is open is what the call finds out.
    let copy = unsafe { BorrowedFd::borrow_raw(connection) }.try_clone_to_owned();
    if copy.is_err_and(|error| error.raw_os_error() == Some(EBADF)) {
        return Err(Fault::invalid(format_args!("connection is {connection}: no descriptor of this number is open")));
    }
    // SAFETY: open, and the caller's promise.
    Ok(unsafe { OwnedFd::from_raw_fd(connection) }.into())
}

fn descriptor(connection: Connection) -> c_int {
    OwnedFd::from(connection).into_raw_fd()
}

/// A place for a descriptor, with -1 in it.
///
/// # Safety
/// `place` is null or may be written through.
unsafe fn place_for<'a>(place: *mut c_int, name: &str) -> Result<&'a mut c_int, Fault> {
    // SAFETY: the caller's promise.
    let place = unsafe { exclusive(place, name)? };
    *place = -1;
    Ok(place)
}

/// # Safety
/// `name` is null or a C string.
unsafe fn named<'a>(name: *const c_char) -> Result<std::borrow::Cow<'a, str>, Fault> {
    // SAFETY: the caller's promise.
    unsafe { arguments::text(name) }.ok_or_else(|| Fault::invalid("name is a null pointer"))
}

/// What these options ask for, and whether pointers are needed.
///
/// # Safety
/// As [`EagreOptions::builder`].
unsafe fn asked(from: *const EagreOptions) -> Result<(Options, bool), Fault> {
    // SAFETY: the caller's promise.
    let options: EagreOptions = unsafe { versioned::read(from)? };
    let traps = [EagreTrap::Default as i32, EagreTrap::Signal as i32];
    let movers = [EagreMover::Default as i32, EagreMover::Remap as i32];
    let other = [
        (options.flags & !EAGRE_POINTERS != 0, "flags other than EAGRE_POINTERS"),
        (options.length != EAGRE_UNKNOWN, "length"),
        (!traps.contains(&options.trap), "trap other than EAGRE_TRAP_SIGNAL"),
        (!movers.contains(&options.mover), "mover other than EAGRE_MOVER_REMAP"),
        (!options.pool.is_null(), "pool"),
    ];
    if let Some((_, field)) = other.into_iter().find(|(is_set, _)| *is_set) {
        let text = format_args!("cannot open a stream: one between processes has no {field}; leave the default");
        return Err(Fault::new(EagreStatus::EagreSetting, text));
    }
    let mut asked =
        Options::new().block_size(block_size(options.block_size)?).rewrite(options.rewrite).lookback(options.lookback);
    // SAFETY: the caller's promise.
    if let Some(name) = unsafe { arguments::text(options.name) } {
        asked = asked.name(&name);
    }
    if options.read_ahead != 0 {
        asked = asked.read_ahead(options.read_ahead);
    }
    if options.capacity != 0 {
        asked = asked.capacity(options.capacity);
    }
    if options.timeout_ns != 0 {
        asked = asked.timeout(Duration::from_nanos(options.timeout_ns));
    }
    Ok((asked, options.flags & EAGRE_POINTERS != 0))
}

/// Makes a connection between two processes, and puts both sides of it into *ours and *theirs: two descriptors that are closed on exec.
/// One stream is opened on it.
///
/// A child gets *theirs as its standard input (dup2(theirs, 0) between fork and exec), or under its own number, once FD_CLOEXEC is
/// cleared in the child. It may also be passed over a Unix socket (SCM_RIGHTS). Close it in this process when it was passed on: as
/// long as it is open here, the end of the other process may be noticed later.
///
/// Fails with EAGRE_INVALID or EAGRE_RESOURCES.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_process_pair(ours: *mut c_int, theirs: *mut c_int) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (to_ours, to_theirs) = unsafe { (place_for(ours, "ours"), place_for(theirs, "theirs")) };
        let (to_ours, to_theirs) = (to_ours?, to_theirs?);
        let (ours, theirs) = Connection::pair()?;
        (*to_ours, *to_theirs) = (descriptor(ours), descriptor(theirs));
        Ok(())
    })
}

/// Connects to the process of the same user that listens as name, and puts the descriptor of the connection into *connection.
///
/// Fails with EAGRE_SETTING if it is no name, EAGRE_UNAVAILABLE if nobody listens there or another user does, EAGRE_INVALID or
/// EAGRE_RESOURCES.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_process_connect(name: *const c_char, connection: *mut c_int) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (place, name) = unsafe { (place_for(connection, "connection")?, named(name)?) };
        *place = descriptor(Connection::connect(&name)?);
        Ok(())
    })
}

/// Listens as name, for processes of the same user: a socket in $XDG_RUNTIME_DIR/eagre, or in /run/user/UID/eagre. What a process that
/// was killed has left there is replaced. Close it with eagre_process_listener_close.
///
/// Fails with EAGRE_SETTING if it is no name (it has a slash, begins with a dot, or is too long), EAGRE_UNAVAILABLE if somebody listens
/// there or this user has no such folder, EAGRE_INVALID or EAGRE_RESOURCES.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_process_listener_open(
    name: *const c_char,
    listener: *mut *mut EagreProcessListener,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (place, name) = unsafe { (Place::new(listener, "listener")?, named(name)?) };
        place.put(EagreProcessListener(Listener::bind(&name)?));
        Ok(())
    })
}

/// Waits for the next process that connects, and puts the descriptor of the connection into *connection. limit_ns is for how long, in
/// nanoseconds; 0: for ever. Processes of other users are turned away.
///
/// Fails with EAGRE_TIMED_OUT if nobody has connected by then, EAGRE_INVALID or EAGRE_RESOURCES.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_process_listener_accept(
    listener: *const EagreProcessListener,
    limit_ns: u64,
    connection: *mut c_int,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (place, listener) = unsafe { (place_for(connection, "connection")?, shared(listener, "listener")?) };
        let accepted = match limit_ns {
            0 => listener.0.accept()?,
            limit => listener.0.accept_within(Duration::from_nanos(limit))?.ok_or_else(|| {
                Fault::new(EagreStatus::EagreTimedOut, "no other process has connected within the time limit")
            })?,
        };
        *place = descriptor(accepted);
        Ok(())
    })
}

/// Stops listening and frees the handle; connections and streams go on. No other thread may be inside a function of this handle.
/// Null is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_process_listener_close(listener: *mut EagreProcessListener) {
    status(|| {
        // SAFETY: the caller's promise.
        drop(unsafe { take(listener) });
        Ok(())
    });
}

/// Makes a stream on a connection, which this process writes. The other process joins it with eagre_process_join_reader, now or later.
///
/// connection is the library's from here on, whatever the result: it is closed with the stream. 0 is standard input, which reads
/// as empty from here on. options may be null. Its name, block_size, rewrite, lookback, read_ahead and timeout_ns are the stream's, and
/// its capacity is how many bytes a pointer of either end reaches: an end that has no addresses for so many gets no pointer.
/// EAGRE_POINTERS asks for that of this end. The others must be the defaults, but for EAGRE_TRAP_SIGNAL and EAGRE_MOVER_REMAP.
///
/// Every form of the writer works on it. If the other process ends, however it does, or closes its end, calls fail with
/// EAGRE_READER_GONE, at once where they wait. What the other process says of lengths and counters is checked: a contradiction is
/// EAGRE_SYSTEM. It can change the bytes of the stream at any time.
///
/// Fails with EAGRE_INVALID, EAGRE_WRONG_VERSION, EAGRE_SETTING or EAGRE_RESOURCES; with EAGRE_UNAVAILABLE if the descriptor is no
/// connection, the other process is gone, or there are no pointers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_process_make_writer(
    connection: c_int,
    options: *const EagreOptions,
    writer: *mut *mut EagreWriter,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let connection = unsafe { given(connection)? };
        // SAFETY: as above.
        let (place, (options, pointers)) = unsafe { (Place::new(writer, "writer")?, asked(options)?) };
        let mut made = options.writer(connection)?;
        if pointers {
            made.as_mut_ptr().map_err(|error| Fault::new(EagreStatus::EagreUnavailable, error))?;
        }
        place.put(EagreWriter::between_processes(made));
        Ok(())
    })
}

/// Makes a stream on a connection, which this process reads. The other process joins it with eagre_process_join_writer, now or later.
///
/// As eagre_process_make_writer; if the other process ends before it has finished, calls fail with EAGRE_WRITER_GONE when what it has
/// written before is read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_process_make_reader(
    connection: c_int,
    options: *const EagreOptions,
    reader: *mut *mut EagreReader,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let connection = unsafe { given(connection)? };
        // SAFETY: as above.
        let (place, (options, pointers)) = unsafe { (Place::new(reader, "reader")?, asked(options)?) };
        let mut made = options.reader(connection)?;
        if pointers {
            made.as_ptr().map_err(|error| Fault::new(EagreStatus::EagreUnavailable, error))?;
        }
        place.put(EagreReader::between_processes(made));
        Ok(())
    })
}

/// Joins the stream that the other process has made with eagre_process_make_reader: this process writes it. Waits until it is made.
///
/// connection is the library's from here on, as with eagre_process_make_writer, whose stream this is like.
///
/// Fails with EAGRE_UNAVAILABLE if the descriptor is no connection, or the other process has ended before it made a stream, or is of
/// another version; EAGRE_SETTING if it writes as well; EAGRE_INVALID or EAGRE_RESOURCES.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_process_join_writer(connection: c_int, writer: *mut *mut EagreWriter) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (connection, place) = unsafe { (given(connection)?, Place::new(writer, "writer")?) };
        place.put(EagreWriter::between_processes(Writer::join(connection)?));
        Ok(())
    })
}

/// Joins the stream that the other process has made with eagre_process_make_writer: this process reads it. Waits until it is made.
/// As eagre_process_join_writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_process_join_reader(connection: c_int, reader: *mut *mut EagreReader) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (connection, place) = unsafe { (given(connection)?, Place::new(reader, "reader")?) };
        place.put(EagreReader::between_processes(Reader::join(connection)?));
        Ok(())
    })
}
