//! Streams that callers offer to a listener, whatever their names.

use crate::arguments::{self, Place, bytes_mut, shared, take};
use crate::hosts::Offer;
use crate::network::{EagreListener, limit};
use crate::reader::EagreReader;
use crate::status::{EagreStatus, Fault, status, value};
use crate::text::print;
use crate::transfers::EagreTransfer;
use crate::writer::EagreWriter;
use std::ffi::{c_char, c_int};

/// A stream that a caller wants, and that nobody has opened yet.
pub struct EagreOffer(Offer);

/// # Safety
/// `offer` is null or came from [`eagre_listener_accept`] and is not used any more.
unsafe fn taken(offer: *mut EagreOffer) -> Result<Offer, Fault> {
    // SAFETY: the caller's promise.
    unsafe { take(offer) }.map(|offer| offer.0).ok_or_else(|| Fault::invalid("offer is a null pointer"))
}

/// Waits until another host opens a stream that nobody here waits for by name, and puts an offer of it into *offer: look at it with
/// eagre_offer_name, eagre_offer_peer and eagre_offer_peer_writes, then open it (eagre_offer_writer, eagre_offer_reader), attach a stream
/// to it (eagre_offer_send_from, eagre_offer_receive_into) or refuse it (eagre_offer_refuse). limit_ns is for how long, in nanoseconds;
/// 0: for ever.
///
/// Fails with EAGRE_TIMED_OUT if nobody has called by then, EAGRE_INVALID or EAGRE_RESOURCES.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_listener_accept(
    listener: *const EagreListener,
    limit_ns: u64,
    offer: *mut *mut EagreOffer,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (place, listener) = unsafe { (Place::new(offer, "offer")?, shared(listener, "listener")?) };
        place.put(EagreOffer(listener.0.accept(limit(limit_ns))?));
        Ok(())
    })
}

/// The name of the stream, as eagre_listener_address gives text out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_offer_name(offer: *const EagreOffer, buffer: *mut c_char, size: usize) -> usize {
    value(0, || {
        // SAFETY: the caller's promise.
        let (offer, buffer) = unsafe { (shared(offer, "offer")?, bytes_mut(buffer.cast(), size)?) };
        Ok(print(offer.0.name(), buffer))
    })
}

/// Where the caller is, "192.0.2.1:40123", as eagre_listener_address gives text out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_offer_peer(offer: *const EagreOffer, buffer: *mut c_char, size: usize) -> usize {
    value(0, || {
        // SAFETY: the caller's promise.
        let (offer, buffer) = unsafe { (shared(offer, "offer")?, bytes_mut(buffer.cast(), size)?) };
        Ok(print(&offer.0.peer(), buffer))
    })
}

/// 1 if the caller writes the stream, so that this side reads it; 0 if it is the other way round, or offer is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_offer_peer_writes(offer: *const EagreOffer) -> c_int {
    // SAFETY: the caller's promise.
    value(0, || Ok(c_int::from(unsafe { shared(offer, "offer")? }.0.peer_writes())))
}

/// Opens the stream to be written here. The offer is the library's from here on, whatever the result.
///
/// Fails with EAGRE_NETWORK if the caller wants to write too, or has gone; with EAGRE_SETTING, EAGRE_INVALID or EAGRE_RESOURCES.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_offer_writer(offer: *mut EagreOffer, writer: *mut *mut EagreWriter) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (offer, place) = unsafe { (taken(offer)?, Place::new(writer, "writer")?) };
        place.put(EagreWriter::between_hosts(offer.writer()?));
        Ok(())
    })
}

/// Opens the stream to be read here. All else is as with eagre_offer_writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_offer_reader(offer: *mut EagreOffer, reader: *mut *mut EagreReader) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (offer, place) = unsafe { (taken(offer)?, Place::new(reader, "reader")?) };
        place.put(EagreReader::between_hosts(offer.reader()?));
        Ok(())
    })
}

/// Sends the caller what a stream of this process carries, as eagre_connect_send_from does. Offer and reader are the library's from
/// here on, whatever the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_offer_send_from(
    offer: *mut EagreOffer,
    reader: *mut EagreReader,
    transfer: *mut *mut EagreTransfer,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (offer, reader) = unsafe { (taken(offer), EagreReader::to_attach(reader)) };
        // SAFETY: the caller's promise.
        let place = unsafe { Place::new(transfer, "transfer")? };
        place.put(EagreTransfer(offer?.send_from(reader?)?));
        Ok(())
    })
}

/// Receives from the caller what a stream of this process shall carry, as eagre_connect_receive_into does. Offer and writer are the
/// library's from here on, whatever the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_offer_receive_into(
    offer: *mut EagreOffer,
    writer: *mut EagreWriter,
    transfer: *mut *mut EagreTransfer,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (offer, writer) = unsafe { (taken(offer), EagreWriter::to_attach(writer)) };
        // SAFETY: the caller's promise.
        let place = unsafe { Place::new(transfer, "transfer")? };
        place.put(EagreTransfer(offer?.receive_into(writer?)?));
        Ok(())
    })
}

/// Refuses the stream and frees the offer: the caller is told why, and does not try again. why may be null. A null offer is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_offer_refuse(offer: *mut EagreOffer, why: *const c_char) {
    status(|| {
        // SAFETY: the caller's promise.
        let (offer, why) = unsafe { (take(offer), arguments::text(why)) };
        if let Some(offer) = offer {
            offer.0.refuse(why.as_deref().unwrap_or("the stream was refused"));
        }
        Ok(())
    });
}
