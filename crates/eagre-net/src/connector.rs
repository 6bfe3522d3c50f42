//! The side that calls.

use std::time::Duration;

use eagre::{Reader, Writer};

use crate::address::Address;
use crate::ends::{NetworkReader, NetworkWriter, Transfer};
use crate::error::{NetError, NetErrorKind};
use crate::greeting::{Hello, Role, State, check_name};
use crate::options::Options;
use crate::security::random;
use crate::session::Session;

/// Opens streams to a [`Listener`](crate::Listener) on another host, or in another process or thread of this one.
#[derive(Clone, Debug)]
#[must_use]
pub struct Connector {
    address: Address,
    options: Options,
}

impl Connector {
    /// Streams to `HOST`, `HOST:PORT` or `[IPV6]:PORT`, with default [`Options`]. Nothing is sent yet.
    ///
    /// # Errors
    /// [`NetErrorKind::Address`](crate::NetErrorKind::Address) if it cannot be read.
    pub fn new(address: &str) -> Result<Connector, NetError> {
        Ok(Connector { address: Address::parse(address)?, options: Options::new() })
    }

    /// The settings of streams opened from now on.
    pub fn options(mut self, options: Options) -> Connector {
        self.options = options;
        self
    }

    /// One whose streams have other settings.
    #[cfg(feature = "transfer")]
    pub(crate) fn with(&self, set: impl FnOnce(Options) -> Options) -> Connector {
        Connector { address: self.address.clone(), options: set(self.options.clone()) }
    }

    /// Opens a stream that is written here and read there, where somebody asks for a reader of this name. Waits for that, and for
    /// a listener, as long as [`Options::retry`] says.
    ///
    /// # Errors
    /// Why it could not be opened.
    pub fn writer(&self, name: &str) -> Result<NetworkWriter, NetError> {
        let own = self.options.state(Role::Writes);
        let (session, _) = self.call(name, Role::Writes, own)?;
        let (writer, reader) = self.options.outgoing(session.place(), session.is_here())?.split();
        NetworkWriter::start(writer, reader, session, own)
    }

    /// Opens a stream that is written there, where somebody asks for a writer of this name, and read here. Waits as
    /// [`Connector::writer`] does.
    ///
    /// # Errors
    /// Why it could not be opened.
    pub fn reader(&self, name: &str) -> Result<NetworkReader, NetError> {
        let own = self.options.state(Role::Reads);
        let (session, there) = self.call(name, Role::Reads, own)?;
        let (writer, reader) = self.options.incoming(session.place(), session.is_here(), there.length)?.split();
        NetworkReader::start(writer, reader, session, own)
    }

    /// Sends what an existing stream carries: `reader` is its reading end, from which nothing has been read. The stream's lookback
    /// is the window.
    ///
    /// # Errors
    /// Why it could not be opened.
    pub fn send_from(&self, name: &str, reader: Reader) -> Result<Transfer, NetError> {
        let own = self.options.state_of(Role::Writes, &reader.control());
        let (session, _) = self.call(name, Role::Writes, own)?;
        Transfer::sending(reader, session, own)
    }

    /// Receives what an existing stream shall carry: `writer` is its writing end, into which nothing has been written.
    ///
    /// # Errors
    /// Why it could not be opened.
    pub fn receive_into(&self, name: &str, writer: Writer) -> Result<Transfer, NetError> {
        let own = self.options.state_of(Role::Reads, &writer.control());
        let (session, _) = self.call(name, Role::Reads, own)?;
        Transfer::receiving(writer, session, own)
    }

    fn call(&self, name: &str, role: Role, state: State) -> Result<(Session, State), NetError> {
        check_name(name)?;
        let hello = Hello {
            session: random()?,
            role,
            name: name.to_owned(),
            state,
            resumes: false,
            round_trip: Duration::ZERO,
        };
        let (session, there) = Session::call(&self.address, hello, &self.options)?;
        let wrong = |why| NetError::new(NetErrorKind::Setting, format_args!("{}: {why}", session.place()));
        self.options.check_rdma(&there).map_err(wrong)?;
        Ok((session, there))
    }
}
