//! Streams of this process that are carried to another host, or from one, by a thread of the library.

use crate::arguments::{Place, shared, take};
use crate::hosts::{Connector, Transfer};
use crate::network::{EagreListener, limit, words};
use crate::network_options::EagreNetworkOptions;
use crate::reader::EagreReader;
use crate::status::{EagreStatus, Fault, status};
use crate::writer::EagreWriter;
use std::ffi::c_char;

/// The thread that carries a stream to another host, or from one.
pub struct EagreTransfer(pub(crate) Transfer);

/// Sends what a stream of this process carries to another host, where eagre_listener_reader asks for this name, or
/// eagre_listener_receive_into. reader is the reading end of a pipe or a file, from which nothing has been read. It is the library's
/// from here on, whatever the result: a thread reads it. options may be null. Its length, and those of its fields that make a stream,
/// are not used; how far the stream can be read back is the window.
///
/// Fails as eagre_connect_writer, and with EAGRE_SETTING if something was read; EAGRE_INVALID if the stream comes from another process
/// or host, or from a sort.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_connect_send_from(
    address: *const c_char,
    name: *const c_char,
    options: *const EagreNetworkOptions,
    reader: *mut EagreReader,
    transfer: *mut *mut EagreTransfer,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let reader = unsafe { EagreReader::to_attach(reader) };
        // SAFETY: the caller's promise.
        let (place, connector, name) = unsafe {
            let place = Place::new(transfer, "transfer")?;
            let (address, name) = (words(address, "address")?, words(name, "name")?);
            (place, Connector::new(&address, EagreNetworkOptions::read(options)?)?, name)
        };
        place.put(EagreTransfer(connector.send_from(&name, reader?)?));
        Ok(())
    })
}

/// Receives from another host, where eagre_listener_writer asks for this name, or eagre_listener_send_from, what a stream of this process
/// shall carry. writer is the writing end of a pipe, into which nothing has been written. All else is as with eagre_connect_send_from.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_connect_receive_into(
    address: *const c_char,
    name: *const c_char,
    options: *const EagreNetworkOptions,
    writer: *mut EagreWriter,
    transfer: *mut *mut EagreTransfer,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let writer = unsafe { EagreWriter::to_attach(writer) };
        // SAFETY: the caller's promise.
        let (place, connector, name) = unsafe {
            let place = Place::new(transfer, "transfer")?;
            let (address, name) = (words(address, "address")?, words(name, "name")?);
            (place, Connector::new(&address, EagreNetworkOptions::read(options)?)?, name)
        };
        place.put(EagreTransfer(connector.receive_into(&name, writer?)?));
        Ok(())
    })
}

/// Waits until another host opens a stream of this name to read it, and sends what a stream of this process carries. limit_ns is that of
/// eagre_listener_writer; reader, transfer and failures are those of eagre_connect_send_from, and EAGRE_TIMED_OUT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_listener_send_from(
    listener: *const EagreListener,
    name: *const c_char,
    limit_ns: u64,
    reader: *mut EagreReader,
    transfer: *mut *mut EagreTransfer,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let reader = unsafe { EagreReader::to_attach(reader) };
        // SAFETY: the caller's promise.
        let (place, listener, name) =
            unsafe { (Place::new(transfer, "transfer")?, shared(listener, "listener")?, words(name, "name")?) };
        let reader = reader?;
        place.put(EagreTransfer(listener.0.offer(&name, false, limit(limit_ns))?.send_from(reader)?));
        Ok(())
    })
}

/// Waits until another host opens a stream of this name to write it, and receives what a stream of this process shall carry, as
/// eagre_listener_send_from sends it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_listener_receive_into(
    listener: *const EagreListener,
    name: *const c_char,
    limit_ns: u64,
    writer: *mut EagreWriter,
    transfer: *mut *mut EagreTransfer,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let writer = unsafe { EagreWriter::to_attach(writer) };
        // SAFETY: the caller's promise.
        let (place, listener, name) =
            unsafe { (Place::new(transfer, "transfer")?, shared(listener, "listener")?, words(name, "name")?) };
        let writer = writer?;
        place.put(EagreTransfer(listener.0.offer(&name, true, limit(limit_ns))?.receive_into(writer)?));
        Ok(())
    })
}

/// Waits until the stream has been carried to its end and both sides know it, and frees the handle. Puts the length of the stream into
/// *bytes, and the BLAKE3 digest of all of it, 32 bytes, into digest, unless they are null.
///
/// Fails with EAGRE_NETWORK if it has not arrived, or EAGRE_INVALID. To end it early, cancel the stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_transfer_join(
    transfer: *mut EagreTransfer,
    bytes: *mut u64,
    digest: *mut u8,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let transfer = unsafe { take(transfer) }.ok_or_else(|| Fault::invalid("transfer is a null pointer"))?;
        let carried = transfer.0.join()?;
        // SAFETY: null or places for them, by the caller's promise.
        unsafe {
            if let Some(bytes) = bytes.as_mut() {
                *bytes = carried.bytes;
            }
            if !digest.is_null() {
                digest.cast::<[u8; 32]>().write(carried.digest);
            }
        }
        Ok(())
    })
}

/// Frees the handle of a transfer that nobody waits for: the stream is carried on. Null is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_transfer_close(transfer: *mut EagreTransfer) {
    status(|| {
        // SAFETY: the caller's promise.
        drop(unsafe { take(transfer) });
        Ok(())
    });
}
