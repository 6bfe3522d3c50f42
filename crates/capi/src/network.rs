//! Streams between hosts.

use crate::arguments::{self, Place, shared, take};
use crate::hosts::{Connector, Listener};
use crate::network_options::EagreNetworkOptions;
use crate::reader::EagreReader;
use crate::status::{EagreStatus, Fault, status, value};
use crate::text::print;
use crate::writer::EagreWriter;
use std::borrow::Cow;
use std::ffi::c_char;
use std::time::Duration;

/// Where others open streams to this side. Several threads may use it at once, but for closing it.
pub struct EagreListener(pub(crate) Listener);

/// # Safety
/// `text` is null or a C string for as long as the result is used.
pub(crate) unsafe fn words<'a>(text: *const c_char, what: &str) -> Result<Cow<'a, str>, Fault> {
    // SAFETY: the caller's promise.
    unsafe { arguments::text(text) }.ok_or_else(|| Fault::invalid(format_args!("{what} is a null pointer")))
}

/// Opens a stream that is written here and read on another host, where eagre_listener_reader asks for this name. Waits for that as
/// long as options.retry_ns says.
///
/// address is HOST or HOST:PORT, where HOST may be a number of IPv6 in brackets; the port is 7373 where none is named. options may be
/// null. Every form of the writer works on it: pointers, explicit calls, blocks. eagre_writer_finish waits until the other side has
/// everything, and has compared the digest of the whole stream. A connection that breaks is made again, and the stream goes on where
/// the other side has it.
///
/// Fails with EAGRE_INVALID if the address cannot be read or its host is unknown; EAGRE_SETTING; EAGRE_RESOURCES; EAGRE_NETWORK if
/// nobody answers or asks for the stream, or the two sides do not trust each other; EAGRE_UNAVAILABLE if the library was built
/// without streams between hosts. If the stream fails later, explicit calls of both ends fail with EAGRE_SYSTEM, and finishing
/// fails with EAGRE_NETWORK.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_connect_writer(
    address: *const c_char,
    name: *const c_char,
    options: *const EagreNetworkOptions,
    writer: *mut *mut EagreWriter,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (place, connector, name) = unsafe {
            let place = Place::new(writer, "writer")?;
            let (address, name) = (words(address, "address")?, words(name, "name")?);
            (place, Connector::new(&address, EagreNetworkOptions::read(options)?)?, name)
        };
        place.put(EagreWriter::between_hosts(connector.writer(&name)?));
        Ok(())
    })
}

/// Opens a stream that is written on another host, where eagre_listener_writer asks for this name, and read here. Arguments, waits
/// and failures are those of eagre_connect_writer.
///
/// Call eagre_reader_finish when all is read: the other side is told that everything has arrived.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_connect_reader(
    address: *const c_char,
    name: *const c_char,
    options: *const EagreNetworkOptions,
    reader: *mut *mut EagreReader,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (place, connector, name) = unsafe {
            let place = Place::new(reader, "reader")?;
            let (address, name) = (words(address, "address")?, words(name, "name")?);
            (place, Connector::new(&address, EagreNetworkOptions::read(options)?)?, name)
        };
        place.put(EagreReader::between_hosts(connector.reader(&name)?));
        Ok(())
    })
}

/// Listens at an address of this machine for those who open streams: ADDRESS:PORT, where port 0 is one that is free. A thread of
/// the library accepts them. options may be null. Close it with eagre_listener_close.
///
/// Fails with EAGRE_INVALID, EAGRE_SETTING or EAGRE_UNAVAILABLE as eagre_connect_writer; with EAGRE_RESOURCES if the system refuses
/// the port, or a thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_listener_open(
    address: *const c_char,
    options: *const EagreNetworkOptions,
    listener: *mut *mut EagreListener,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (place, address, options) = unsafe {
            let place = Place::new(listener, "listener")?;
            (place, words(address, "address")?, EagreNetworkOptions::read(options)?)
        };
        place.put(EagreListener(Listener::bind(&address, options)?));
        Ok(())
    })
}

/// Where it listens, with the real port: "127.0.0.1:40123".
///
/// Writes at most size bytes to buffer, the zero byte at the end included, and returns how long the text is without it, as
/// eagre_wait_report does. 0 if listener is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_listener_address(
    listener: *const EagreListener,
    buffer: *mut c_char,
    size: usize,
) -> usize {
    value(0, || {
        // SAFETY: the caller's promise.
        let (listener, buffer) = unsafe { (shared(listener, "listener")?, arguments::bytes_mut(buffer.cast(), size)?) };
        Ok(print(&listener.0.address(), buffer))
    })
}

pub(crate) fn limit(limit_ns: u64) -> Option<Duration> {
    (limit_ns != 0).then(|| Duration::from_nanos(limit_ns))
}

/// Waits until another host opens a stream of this name to read it (eagre_connect_reader), and gives out its writer here: as that of
/// eagre_connect_writer. limit_ns is for how long, in nanoseconds; 0: for ever.
///
/// Fails with EAGRE_TIMED_OUT if nobody has called by then; with EAGRE_RESOURCES; with EAGRE_SETTING if the window does not fit the
/// blocks, or no name can be so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_listener_writer(
    listener: *const EagreListener,
    name: *const c_char,
    limit_ns: u64,
    writer: *mut *mut EagreWriter,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (place, listener, name) =
            unsafe { (Place::new(writer, "writer")?, shared(listener, "listener")?, words(name, "name")?) };
        place.put(EagreWriter::between_hosts(listener.0.offer(&name, false, limit(limit_ns))?.writer()?));
        Ok(())
    })
}

/// Waits until another host opens a stream of this name to write it (eagre_connect_writer), and gives out its reader here, as
/// eagre_listener_writer does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_listener_reader(
    listener: *const EagreListener,
    name: *const c_char,
    limit_ns: u64,
    reader: *mut *mut EagreReader,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (place, listener, name) =
            unsafe { (Place::new(reader, "reader")?, shared(listener, "listener")?, words(name, "name")?) };
        place.put(EagreReader::between_hosts(listener.0.offer(&name, true, limit(limit_ns))?.reader()?));
        Ok(())
    })
}

/// Stops listening and frees the handle: nobody can open a stream here any more, and streams that are open go on. No other thread may
/// be inside a function of this handle. Null is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_listener_close(listener: *mut EagreListener) {
    status(|| {
        // SAFETY: the caller's promise.
        drop(unsafe { take(listener) });
        Ok(())
    });
}

#[cfg(all(test, not(feature = "network")))]
mod tests {
    use super::*;
    use std::ptr::{null, null_mut};

    #[test]
    fn what_the_library_was_built_without_is_unavailable() {
        let (mut writer, mut reader, mut listener) = (null_mut(), null_mut(), null_mut());
        let (address, name) = (c"127.0.0.1".as_ptr(), c"stream".as_ptr());
        // SAFETY: texts and places.
        unsafe {
            assert_eq!(eagre_connect_writer(address, name, null(), &mut writer), EagreStatus::EagreUnavailable);
            assert_eq!(eagre_connect_reader(address, name, null(), &mut reader), EagreStatus::EagreUnavailable);
            assert_eq!(eagre_listener_open(address, null(), &mut listener), EagreStatus::EagreUnavailable);
        }
        assert!(writer.is_null() && reader.is_null() && listener.is_null());
    }
}
