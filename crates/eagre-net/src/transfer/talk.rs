//! The streams of a transfer, whoever calls whom.
//!
//! A round has four streams, one after the other:
//!
//! | stream | from | holds |
//! |---|---|---|
//! | `list` | sender | what there is to send ([`super::list`]) |
//! | `have` | receiver | what it has of that already ([`super::have`]) |
//! | `data` | sender | the contents ([`super::content`]) |
//! | `done` | receiver | what it could not take; all else is on its disk ([`super::done`]) |
//!
//! The side that calls opens them. Their names have a random number, so several transfers can run at once.
#![forbid(unsafe_code)]

use std::fmt::Write as _;
use std::io;

use crate::connector::Connector;
use crate::ends::{NetworkReader, NetworkWriter};
use crate::error::{NetError, NetErrorKind};
use crate::listener::{Listener, Offer};
use crate::security::random;

use super::failure::TransferError;

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
    round: u32,
    /// The first stream, if the other side has asked for it.
    first: Option<Offer>,
}

const LIST: &str = "list";

impl<'a> Talk<'a> {
    /// Begins a transfer. Waits for somebody to call, if this side is called. `sends`: this side is the sender.
    pub(super) fn begin(peer: Peer<'a>, sends: bool) -> Result<Talk<'a>, TransferError> {
        let listener = match peer {
            Peer::Connector(_) => return Ok(Talk { peer, id: hex(&random::<16>()?), round: 0, first: None }),
            Peer::Listener(listener) => listener,
        };
        loop {
            let offer = listener.accept()?;
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
            return Ok(Talk { peer, id, round: 0, first: Some(offer) });
        }
    }

    /// The streams from now on are those of the next round.
    pub(super) fn next_round(&mut self) {
        self.round += 1;
    }

    fn name(&self, stream: &str) -> String {
        format!("{stream}:{}:{}", self.id, self.round)
    }

    /// Opens a stream to the other side.
    pub(super) fn writer(&mut self, stream: &str) -> Result<NetworkWriter, NetError> {
        match (self.first.take(), self.peer) {
            (Some(offer), _) => offer.writer(),
            (None, Peer::Connector(connector)) => connector.writer(&self.name(stream)),
            (None, Peer::Listener(listener)) => listener.writer(&self.name(stream)),
        }
    }

    /// Opens a stream from the other side.
    pub(super) fn reader(&mut self, stream: &str) -> Result<NetworkReader, NetError> {
        match (self.first.take(), self.peer) {
            (Some(offer), _) => offer.reader(),
            (None, Peer::Connector(connector)) => connector.reader(&self.name(stream)),
            (None, Peer::Listener(listener)) => listener.reader(&self.name(stream)),
        }
    }

    /// Writes a whole stream.
    pub(super) fn say(
        &mut self,
        stream: &'static str,
        write: impl FnOnce(&mut NetworkWriter) -> io::Result<()>,
    ) -> Result<(), TransferError> {
        let mut writer = self.writer(stream)?;
        // If it cannot be written, the end of the stream says why.
        let _ = write(&mut writer);
        writer.finish()?;
        Ok(())
    }

    /// Reads a whole stream.
    pub(super) fn hear<T>(
        &mut self,
        stream: &'static str,
        read: impl FnOnce(&mut NetworkReader) -> io::Result<T>,
    ) -> Result<T, TransferError> {
        let mut reader = self.reader(stream)?;
        match read(&mut reader) {
            Ok(heard) => reader.finish().map(|_| heard).map_err(TransferError::from),
            Err(error) => Err(not_heard(stream, reader, &error)),
        }
    }
}

/// Why a stream could not be read to its end: it makes no sense, or it failed.
pub(super) fn not_heard(stream: &'static str, mut reader: NetworkReader, error: &io::Error) -> TransferError {
    if error.kind() == io::ErrorKind::InvalidData {
        reader.fail("what it sent cannot be understood");
        return TransferError::Protocol(stream, error.to_string());
    }
    match reader.finish() {
        Err(error) => error.into(),
        Ok(_) => NetError::new(NetErrorKind::Stream, error).into(),
    }
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
