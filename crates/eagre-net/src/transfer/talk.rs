//! The streams of a transfer, whoever calls whom.
//!
//! A round has four streams, which are used one after the other:
//!
//! | stream | from | holds |
//! |---|---|---|
//! | `list` | sender | what there is to send ([`super::list`]) |
//! | `have` | receiver | what it has of that already ([`super::have`]) |
//! | `data` | sender | the contents ([`super::content`]) |
//! | `done` | receiver | what it could not take; all else is on its disk ([`super::done`]) |
//!
//! The side that calls opens all of them at once, so that each side notices when the other is gone. Their names have a random number,
//! so several transfers can run at once. If the list says so, more streams `data-1`, `data-2` ... are opened behind `have`, and the
//! contents come over all of them ([`super::stripes`]).
#![forbid(unsafe_code)]

use std::fmt::Write as _;
use std::io;
use std::time::{Duration, Instant};

use crate::connector::Connector;
use crate::ends::{NetworkReader, NetworkWriter};
use crate::error::{NetError, NetErrorKind};
use crate::link::TICK;
use crate::listener::{Listener, Offer};
use crate::options::Options;
use crate::security::random;

use super::failure::TransferError;
use super::stop::{Stop, UnderWay};
use super::stripes::{self, StripedReader, StripedWriter};

/// The other side, by the way to it. Who calls does not decide who sends.
#[derive(Clone, Copy, Debug)]
pub enum Peer<'a> {
    /// This side calls.
    Connector(&'a Connector),
    /// This side is called.
    Listener(&'a Listener),
}

impl<'a> From<&'a Connector> for Peer<'a> {
    fn from(connector: &'a Connector) -> Peer<'a> {
        Peer::Connector(connector)
    }
}

impl<'a> From<&'a Listener> for Peer<'a> {
    fn from(listener: &'a Listener) -> Peer<'a> {
        Peer::Listener(listener)
    }
}

/// One transfer.
pub(super) struct Talk<'a> {
    peer: Peer<'a>,
    id: String,
    /// How many have begun.
    rounds: u32,
    /// The first stream, if the other side has asked for it.
    first: Option<Offer>,
    under_way: UnderWay,
}

const LIST: &str = "list";
const DATA: &str = "data";
/// How long the other streams of a round may come behind the first.
const PATIENCE: Duration = Duration::from_secs(60);

impl<'a> Talk<'a> {
    /// Begins a transfer. Waits for somebody to call, if this side is called. `sends`: this side is the sender.
    pub(super) fn begin(peer: Peer<'a>, sends: bool, stop: &Stop) -> Result<Talk<'a>, TransferError> {
        let listener = match peer {
            Peer::Connector(_) => {
                return Ok(Talk { peer, id: hex(&random::<16>()?), rounds: 0, first: None, under_way: stop.begin() });
            }
            Peer::Listener(listener) => listener,
        };
        loop {
            // Other streams of transfers are for those that began them, be it at the same listener.
            let suits = |name: &str| id_of(name).is_some() || !is_ours(name);
            let Some(offer) = listener.accept_if(&suits, Duration::from_secs(3600)).map_err(told)? else { continue };
            let Some(id) = id_of(offer.name()) else {
                offer.refuse("this is for 'eagre send' and 'eagre receive'");
                continue;
            };
            if offer.peer_writes() == sends {
                offer.refuse(if sends {
                    "both sides send; start 'eagre receive' on one of them"
                } else {
                    "both sides receive; start 'eagre send' on one of them"
                });
                continue;
            }
            let id = id.to_owned();
            return Ok(Talk { peer, id, rounds: 0, first: Some(offer), under_way: stop.begin() });
        }
    }

    /// Opens the streams of a round, for the side that sends.
    pub(super) fn sender(&mut self) -> Result<Streams<NetworkWriter, NetworkReader, StripedWriter>, TransferError> {
        self.begin_round();
        let (list, have) = (self.writer(LIST)?, self.reader("have")?);
        let (data, done) = (StripedWriter::new(self.writer(DATA)?), self.reader("done")?);
        Ok(Streams { list, have, data, done })
    }

    /// Lets the contents go over so many streams.
    pub(super) fn stripe_writer(&mut self, data: &mut StripedWriter, streams: usize) -> Result<(), TransferError> {
        let more = (1..streams).map(|number| self.writer(&stripe(number))).collect::<Result<_, _>>()?;
        data.extend(more);
        Ok(())
    }

    /// Opens the streams of a round, for the side that receives.
    pub(super) fn receiver(&mut self) -> Result<Streams<NetworkReader, NetworkWriter, StripedReader>, TransferError> {
        self.begin_round();
        let (list, have) = (self.reader(LIST)?, self.writer("have")?);
        let (data, done) = (StripedReader::new(self.reader(DATA)?), self.writer("done")?);
        Ok(Streams { list, have, data, done })
    }

    /// Lets the contents come over so many streams.
    pub(super) fn stripe_reader(&mut self, data: &mut StripedReader, streams: usize) -> Result<(), TransferError> {
        let more = (1..streams).map(|number| self.reader(&stripe(number))).collect::<Result<_, _>>()?;
        data.extend(more);
        Ok(())
    }

    fn begin_round(&mut self) {
        self.rounds += 1;
        self.under_way.has_none();
    }

    fn writer(&mut self, stream: &str) -> Result<NetworkWriter, TransferError> {
        let name = self.name(stream);
        let opened = match self.peer {
            Peer::Connector(connector) => connector.with(|options| suited(options, stream)).writer(&name),
            Peer::Listener(listener) => {
                self.called(listener, &name, false)?.with(|options| suited(options, stream)).writer()
            }
        };
        let opened = opened.map_err(told)?;
        self.under_way.has(opened.control());
        Ok(opened)
    }

    fn reader(&mut self, stream: &str) -> Result<NetworkReader, TransferError> {
        let name = self.name(stream);
        let opened = match self.peer {
            Peer::Connector(connector) => connector.with(|options| suited(options, stream)).reader(&name),
            Peer::Listener(listener) => {
                self.called(listener, &name, true)?.with(|options| suited(options, stream)).reader()
            }
        };
        let opened = opened.map_err(told)?;
        self.under_way.has(opened.control());
        Ok(opened)
    }

    /// The call for a stream, which comes soon after the first: all are opened before anything is said.
    fn called(&mut self, listener: &Listener, name: &str, peer_writes: bool) -> Result<Offer, TransferError> {
        if let Some(first) = self.first.take() {
            return Ok(first);
        }
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if let Some(offer) = listener.offer_within(name, peer_writes, left.min(TICK))? {
                return Ok(offer);
            }
            // The other side may have given up, or this one may have been stopped.
            if let Some(failure) = self.under_way.failure() {
                return Err(told(failure.into()));
            }
            if left.is_zero() {
                let text = "the other side: it began a transfer and fell silent; start it again there";
                return Err(NetError::new(NetErrorKind::Lost, text).into());
            }
        }
    }

    fn name(&self, stream: &str) -> String {
        format!("{stream}:{}:{}", self.id, self.rounds - 1)
    }
}

/// The streams of a round. `Out` is the direction of the sender.
pub(super) struct Streams<Out, Back, Data> {
    pub(super) list: Out,
    pub(super) have: Back,
    pub(super) data: Data,
    pub(super) done: Back,
}

/// The name of another stream of contents.
fn stripe(number: usize) -> String {
    format!("{DATA}-{number}")
}

/// The options for a stream. Contents are not digested as a whole: each file in them is.
fn suited(options: Options, stream: &str) -> Options {
    if stream.starts_with(DATA) { options.for_contents(stripes::UNIT) } else { options }
}

/// Writes a whole stream.
pub(super) fn say(
    mut stream: NetworkWriter,
    write: impl FnOnce(&mut NetworkWriter) -> io::Result<()>,
) -> Result<(), TransferError> {
    // If it cannot be written, its end says why.
    let _ = write(&mut stream);
    stream.finish().map(drop).map_err(told)
}

/// Reads a whole stream. `what` it holds is for messages.
pub(super) fn hear<T>(
    what: &'static str,
    mut stream: NetworkReader,
    read: impl FnOnce(&mut NetworkReader) -> io::Result<T>,
) -> Result<T, TransferError> {
    match read(&mut stream) {
        Ok(heard) => stream.finish().map(|_| heard).map_err(told),
        Err(error) => Err(not_heard(what, stream, &error)),
    }
}

/// Why a stream could not be read to its end: it makes no sense, or it failed.
pub(super) fn not_heard(what: &'static str, mut stream: NetworkReader, error: &io::Error) -> TransferError {
    let failed = stream.control().failure();
    if error.kind() == io::ErrorKind::InvalidData && failed.is_none() {
        let why = format!("the other side did not understand the {what}: {error}");
        stream.fail_io(&io::Error::other(""), &why);
        drop(stream.finish());
        return TransferError::Protocol(what, error.to_string());
    }
    if error.kind() == io::ErrorKind::OutOfMemory && failed.is_none() {
        let why = TransferError::Here(format!("room for the {what}"), io::Error::from(error.kind()));
        stream.fail_io(&io::Error::other(""), &why.to_string());
        drop(stream.finish());
        return why;
    }
    match stream.finish() {
        Err(error) => told(error),
        Ok(_) => NetError::new(NetErrorKind::Stream, error).into(),
    }
}

/// Writes the end of a stream that cannot go on.
pub(super) fn give_up(mut stream: NetworkWriter, why: &TransferError) {
    // This text alone reaches the other side.
    stream.fail_io(&io::Error::other(""), &why.to_string());
    drop(stream.finish());
}

/// An error without the name of the stream, of which nobody has heard.
pub(super) fn told(error: NetError) -> TransferError {
    let without = error.without(|text| {
        let (name, rest) = text.split_once(" at ")?;
        is_ours(name).then_some(rest)
    });
    without.into()
}

/// Whether this is the name of a stream of a transfer.
fn is_ours(name: &str) -> bool {
    let mut parts = name.split(':');
    let ours = |name: &str| matches!(name, LIST | "have" | DATA | "done") || name.starts_with("data-");
    parts.next().is_some_and(ours) && parts.count() == 2
}

/// The number of the transfer of which this is the first stream.
fn id_of(name: &str) -> Option<&str> {
    let id = name.strip_prefix(LIST)?.strip_prefix(':')?.strip_suffix(":0")?;
    (id.len() == 32 && id.bytes().all(|digit| digit.is_ascii_hexdigit())).then_some(id)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_stream_begins_a_transfer() {
        let id = hex(&[0xa5; 16]);
        assert_eq!(id_of(&format!("list:{id}:0")), Some(&*id));
        for other in [format!("list:{id}:1"), format!("data:{id}:0"), "list:5:0".into(), "list".into(), String::new()] {
            assert_eq!(id_of(&other), None, "{other}");
        }
    }
}
