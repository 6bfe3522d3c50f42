//! The library has streams between hosts.

use super::{Carried, Secret, Wanted};
use crate::status::{EagreStatus, Fault};
use eagre::{Reader, StreamError, StreamErrorKind, Writer};
use eagre_net::security::load_token;
use eagre_net::{Fingerprint, Identity, NetError, NetErrorKind, Security};
use std::ops::{Deref, DerefMut};
use std::time::Duration;

pub(crate) struct Options(eagre_net::Options);
pub(crate) struct Connector(eagre_net::Connector);
pub(crate) struct Listener(eagre_net::Listener);
pub(crate) struct Offer(eagre_net::Offer);
pub(crate) struct Transfer(eagre_net::Transfer);
pub(crate) struct NetworkWriter(eagre_net::NetworkWriter);
pub(crate) struct NetworkReader(eagre_net::NetworkReader);

impl From<NetError> for Fault {
    fn from(error: NetError) -> Fault {
        let status = match error.kind() {
            NetErrorKind::Setting => EagreStatus::EagreSetting,
            NetErrorKind::Address => EagreStatus::EagreInvalid,
            NetErrorKind::Resources => EagreStatus::EagreResources,
            _ => EagreStatus::EagreNetwork,
        };
        Fault::new(status, error)
    }
}

/// The fault of a stream that was not carried to its end. `failure`: how the end on this side failed, if it did.
fn ended(error: NetError, failure: Option<StreamError>) -> Fault {
    // What the program did itself, such as a cancel, has a status of its own.
    let own = failure.filter(|failure| error.kind() == NetErrorKind::Stream && failure.kind() != StreamErrorKind::Io);
    own.map_or_else(|| error.into(), Fault::from)
}

impl Options {
    pub(crate) fn new(wanted: Wanted<'_>) -> Result<Options, Fault> {
        let mut options = eagre_net::Options::new().retry(wanted.retry).silence(wanted.silence);
        if let Some(window) = wanted.window {
            options = options.window(window);
        }
        if let Some(stream) = wanted.stream {
            options = options.stream(stream);
        }
        if let Some(block) = wanted.block_size {
            options = options.block_size(block);
        }
        if let Some(length) = wanted.length {
            options = options.length(length);
        }
        if let Some(limit) = wanted.limit {
            options = options.limit(limit);
        }
        if let Some(rdma) = wanted.rdma {
            let wrong = |why| Fault::new(EagreStatus::EagreSetting, format_args!("network options: rdma: {why}"));
            options = options.rdma(rdma.parse().map_err(wrong)?);
        }
        let security = match wanted.secret {
            Secret::Loopback => Security::loopback(),
            Secret::InsecurePlain => Security::insecure_plain(),
            Secret::Token(token) => Security::token(token)?,
            Secret::TokenFile(path) => Security::token(&load_token(path)?)?,
            Secret::Keys(identity, peers) => {
                let peers = peers.iter().map(|peer| peer.parse()).collect::<Result<Vec<Fingerprint>, NetError>>()?;
                Security::keys(&Identity::load(identity)?, &peers)?
            }
        };
        Ok(Options(options.security(security)))
    }
}

impl Connector {
    pub(crate) fn new(address: &str, options: Options) -> Result<Connector, Fault> {
        Ok(Connector(eagre_net::Connector::new(address)?.options(options.0)))
    }

    pub(crate) fn writer(&self, name: &str) -> Result<NetworkWriter, Fault> {
        Ok(NetworkWriter(self.0.writer(name)?))
    }

    pub(crate) fn reader(&self, name: &str) -> Result<NetworkReader, Fault> {
        Ok(NetworkReader(self.0.reader(name)?))
    }

    pub(crate) fn send_from(&self, name: &str, reader: Reader) -> Result<Transfer, Fault> {
        Ok(Transfer(self.0.send_from(name, reader)?))
    }

    pub(crate) fn receive_into(&self, name: &str, writer: Writer) -> Result<Transfer, Fault> {
        Ok(Transfer(self.0.receive_into(name, writer)?))
    }
}

impl Listener {
    pub(crate) fn bind(address: &str, options: Options) -> Result<Listener, Fault> {
        Ok(Listener(eagre_net::Listener::bind(address, options.0)?))
    }

    pub(crate) fn address(&self) -> String {
        self.0.local_address().to_string()
    }

    /// A stream that nobody waits for by name. `None` as the limit: for ever.
    pub(crate) fn accept(&self, limit: Option<Duration>) -> Result<Offer, Fault> {
        let offer = match limit {
            None => self.0.accept()?,
            Some(limit) => self.0.accept_within(limit)?.ok_or_else(|| {
                let place = self.0.local_address();
                let text = format_args!("{place}: nobody called within the time limit");
                Fault::new(EagreStatus::EagreTimedOut, text)
            })?,
        };
        Ok(Offer(offer))
    }

    /// A stream of this name. `None` as the limit: for ever.
    pub(crate) fn offer(&self, name: &str, peer_writes: bool, limit: Option<Duration>) -> Result<Offer, Fault> {
        loop {
            let offer = self.0.offer_within(name, peer_writes, limit.unwrap_or(Duration::from_secs(3600)))?;
            match (offer, limit) {
                (Some(offer), _) => return Ok(Offer(offer)),
                (None, None) => {}
                (None, Some(_)) => {
                    let (what, place) = (if peer_writes { "write" } else { "read" }, self.0.local_address());
                    let text = format_args!("{name} at {place}: nobody called to {what} it within the time limit");
                    return Err(Fault::new(EagreStatus::EagreTimedOut, text));
                }
            }
        }
    }
}

impl Offer {
    pub(crate) fn name(&self) -> &str {
        self.0.name()
    }

    pub(crate) fn peer(&self) -> String {
        self.0.peer().to_string()
    }

    pub(crate) fn peer_writes(&self) -> bool {
        self.0.peer_writes()
    }

    pub(crate) fn writer(self) -> Result<NetworkWriter, Fault> {
        Ok(NetworkWriter(self.0.writer()?))
    }

    pub(crate) fn reader(self) -> Result<NetworkReader, Fault> {
        Ok(NetworkReader(self.0.reader()?))
    }

    pub(crate) fn send_from(self, reader: Reader) -> Result<Transfer, Fault> {
        Ok(Transfer(self.0.send_from(reader)?))
    }

    pub(crate) fn receive_into(self, writer: Writer) -> Result<Transfer, Fault> {
        Ok(Transfer(self.0.receive_into(writer)?))
    }

    pub(crate) fn refuse(self, why: &str) {
        self.0.refuse(why);
    }
}

impl Transfer {
    pub(crate) fn join(self) -> Result<Carried, Fault> {
        let summary = self.0.join()?;
        Ok(Carried { bytes: summary.bytes, digest: summary.digest })
    }
}

impl NetworkWriter {
    pub(crate) fn finish_at(self, length: u64) -> Result<(), Fault> {
        let control = self.0.control();
        self.0.finish_at(length).map(drop).map_err(|error| ended(error, control.failure()))
    }
}

impl NetworkReader {
    pub(crate) fn finish(self) -> Result<(), Fault> {
        let control = self.0.control();
        self.0.finish().map(drop).map_err(|error| ended(error, control.failure()))
    }
}

impl Deref for NetworkWriter {
    type Target = eagre::Writer;
    fn deref(&self) -> &eagre::Writer {
        &self.0
    }
}

impl DerefMut for NetworkWriter {
    fn deref_mut(&mut self) -> &mut eagre::Writer {
        &mut self.0
    }
}

impl Deref for NetworkReader {
    type Target = eagre::Reader;
    fn deref(&self) -> &eagre::Reader {
        &self.0
    }
}

impl DerefMut for NetworkReader {
    fn deref_mut(&mut self) -> &mut eagre::Reader {
        &mut self.0
    }
}
