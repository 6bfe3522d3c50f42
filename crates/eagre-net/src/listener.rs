//! The side that waits for calls.
//!
//! One thread accepts connections, and one greets each caller. A caller that wants a stream of this side's waits until somebody
//! here asks for that stream by name, or takes what comes. A caller that has one already, and lost its connection, goes straight
//! to it.

mod registry;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use eagre::{Reader, Writer};
use rustix::event::{PollFd, PollFlags, poll};

use crate::address::Address;
use crate::ends::{NetworkReader, NetworkWriter, Transfer};
use crate::error::{NetError, NetErrorKind};
use crate::greeting::{Hello, Reply, Role, State, check_name};
use crate::link::{Broken, Link};
use crate::options::Options;
use crate::session::{GREETING, Session, Slot};
use registry::{Caller, Registry, Wanted};

/// How long to wait where the system has no socket or thread to give.
const PAUSE: Duration = Duration::from_millis(100);

/// Waits for streams that a [`Connector`](crate::Connector) opens. Any number of them, by name.
///
/// When it is dropped, no new streams can be opened. Those that are open go on.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    options: Options,
    registry: Arc<Registry>,
}

impl Listener {
    /// Listens at `ADDRESS:PORT`; port 0 is one that is free.
    ///
    /// # Errors
    /// [`NetErrorKind::Address`]; [`NetErrorKind::Setting`] if the address needs more security than the options have;
    /// [`NetErrorKind::Resources`] if the system does not let it.
    pub fn bind(address: &str, options: Options) -> Result<Listener, NetError> {
        let address = Address::parse(address)?;
        let resolved = address.resolve()?;
        for number in &resolved {
            options.security.check(number.ip())?;
        }
        let cannot = |error: io::Error| {
            let cure = match error.kind() {
                io::ErrorKind::AddrInUse => "; end what listens there, or name another port",
                io::ErrorKind::AddrNotAvailable => "; name an address of this machine",
                io::ErrorKind::PermissionDenied => "; name a port from 1024 on",
                _ => "",
            };
            NetError::new(NetErrorKind::Resources, format_args!("{address}: {}{cure}", crate::error::reason(&error)))
        };
        let socket = TcpListener::bind(&resolved[..]).map_err(cannot)?;
        socket.set_nonblocking(true).map_err(cannot)?;
        let (bell, door) = UnixStream::pair().map_err(cannot)?;
        bell.set_nonblocking(true).and_then(|()| door.set_nonblocking(true)).map_err(cannot)?;
        let registry = Arc::new(Registry::new(bell));
        let bound = socket.local_addr().map_err(cannot)?;
        let thread = {
            let (registry, options) = (registry.clone(), options.clone());
            thread::Builder::new()
                .name("eagre-listen".into())
                .spawn(move || accept(&socket, &door, &registry, &options))
        };
        thread.map_err(|error| NetError::no_thread("a listener", &error))?;
        Ok(Listener { address: bound, options, registry })
    }

    /// Where it listens.
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Waits for a caller that writes a stream of this name, and opens it to be read here.
    ///
    /// # Errors
    /// Why it could not be opened.
    pub fn reader(&self, name: &str) -> Result<NetworkReader, NetError> {
        self.named(name, Role::Writes)?.reader()
    }

    /// Waits for a caller that reads a stream of this name, and opens it to be written here.
    ///
    /// # Errors
    /// Why it could not be opened.
    pub fn writer(&self, name: &str) -> Result<NetworkWriter, NetError> {
        self.named(name, Role::Reads)?.writer()
    }

    /// Waits for a caller that reads a stream of this name, and sends it what an existing stream carries: `reader` is its reading
    /// end, from which nothing has been read. The stream's lookback is the window.
    ///
    /// # Errors
    /// Why it could not be opened.
    pub fn send_from(&self, name: &str, reader: Reader) -> Result<Transfer, NetError> {
        self.named(name, Role::Reads)?.send_from(reader)
    }

    /// Waits for a caller that writes a stream of this name, and receives what an existing stream shall carry: `writer` is its
    /// writing end, into which nothing has been written.
    ///
    /// # Errors
    /// Why it could not be opened.
    pub fn receive_into(&self, name: &str, writer: Writer) -> Result<Transfer, NetError> {
        self.named(name, Role::Writes)?.receive_into(writer)
    }

    /// Waits for the next stream that a caller wants and nobody here waits for by name.
    ///
    /// # Errors
    /// [`NetErrorKind::Resources`] if it listens no more.
    pub fn accept(&self) -> Result<Offer, NetError> {
        loop {
            if let Some(offer) = self.accept_within(Duration::from_secs(3600))? {
                return Ok(offer);
            }
        }
    }

    /// As [`Listener::accept`], but no longer than `limit`.
    ///
    /// # Errors
    /// As [`Listener::accept`].
    pub fn accept_within(&self, limit: Duration) -> Result<Option<Offer>, NetError> {
        self.accept_if(&|_| true, limit)
    }

    /// As [`Listener::accept_within`], but only streams whose names suit.
    pub(crate) fn accept_if(&self, suits: &dyn Fn(&str) -> bool, limit: Duration) -> Result<Option<Offer>, NetError> {
        let caller = self.registry.take(None, suits, limit)?;
        Ok(caller.map(|caller| self.offer(caller)))
    }

    /// Waits for a caller of a stream of this name, no longer than `limit`. `peer_writes`: the caller writes it.
    ///
    /// # Errors
    /// As [`Listener::accept`].
    pub fn offer_within(&self, name: &str, peer_writes: bool, limit: Duration) -> Result<Option<Offer>, NetError> {
        check_name(name)?;
        let role = if peer_writes { Role::Writes } else { Role::Reads };
        let wanted = Wanted { name: name.to_owned(), role };
        let caller = self.registry.take(Some(wanted), &|_| true, limit)?;
        Ok(caller.map(|caller| self.offer(caller)))
    }

    fn named(&self, name: &str, role: Role) -> Result<Offer, NetError> {
        loop {
            if let Some(offer) = self.offer_within(name, role == Role::Writes, Duration::from_secs(3600))? {
                return Ok(offer);
            }
        }
    }

    fn offer(&self, caller: Caller) -> Offer {
        Offer { caller, options: self.options.clone(), registry: self.registry.clone() }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.registry.close();
    }
}

/// A stream that a caller wants. Dropped, it is refused.
#[derive(Debug)]
pub struct Offer {
    caller: Caller,
    options: Options,
    registry: Arc<Registry>,
}

impl Offer {
    /// The name of the stream.
    pub fn name(&self) -> &str {
        &self.caller.hello.name
    }

    /// Whether the caller writes, so that this side reads.
    pub fn peer_writes(&self) -> bool {
        self.caller.hello.role == Role::Writes
    }

    /// Where the caller is.
    pub fn peer(&self) -> SocketAddr {
        self.caller.link.peer()
    }

    /// The same stream with other settings.
    #[cfg(feature = "transfer")]
    pub(crate) fn with(self, set: impl FnOnce(Options) -> Options) -> Offer {
        Offer { options: set(self.options), ..self }
    }

    /// Opens the stream to be read here.
    ///
    /// # Errors
    /// Why it could not be opened. [`NetErrorKind::Protocol`] if the caller wants to read too.
    pub fn reader(self) -> Result<NetworkReader, NetError> {
        self.check_role(Role::Writes)?;
        let (own, options) = (self.options.state(Role::Reads), self.options.clone());
        let (session, there) = self.welcome(own)?;
        let (writer, reader) = options.incoming(session.place(), session.is_here(), there.length)?.split();
        NetworkReader::start(writer, reader, session, own)
    }

    /// Opens the stream to be written here.
    ///
    /// # Errors
    /// Why it could not be opened. [`NetErrorKind::Protocol`] if the caller wants to write too.
    pub fn writer(self) -> Result<NetworkWriter, NetError> {
        self.check_role(Role::Reads)?;
        let (own, options) = (self.options.state(Role::Writes), self.options.clone());
        let (session, _) = self.welcome(own)?;
        let (writer, reader) = options.outgoing(session.place(), session.is_here())?.split();
        NetworkWriter::start(writer, reader, session, own)
    }

    /// Sends what an existing stream carries: `reader` is its reading end, from which nothing has been read. The stream's lookback
    /// is the window.
    ///
    /// # Errors
    /// Those of [`Offer::writer`]; [`NetErrorKind::Setting`] if something was read.
    pub fn send_from(self, reader: Reader) -> Result<Transfer, NetError> {
        self.check_role(Role::Reads)?;
        let own = self.options.state_of(Role::Writes, &reader.control());
        let (session, _) = self.welcome(own)?;
        Transfer::sending(reader, session, own)
    }

    /// Receives what an existing stream shall carry: `writer` is its writing end, into which nothing has been written.
    ///
    /// # Errors
    /// Those of [`Offer::reader`]; [`NetErrorKind::Setting`] if something was written.
    pub fn receive_into(self, writer: Writer) -> Result<Transfer, NetError> {
        self.check_role(Role::Writes)?;
        let own = self.options.state_of(Role::Reads, &writer.control());
        let (session, _) = self.welcome(own)?;
        Transfer::receiving(writer, session, own)
    }

    /// Refuses the stream: the caller gets this reason, and does not try again.
    pub fn refuse(self, why: &str) {
        // A caller that has gone needs no answer.
        let _ = Reply::Refused(why.to_owned()).send(&self.caller.link);
        self.caller.link.close();
    }

    fn check_role(&self, role: Role) -> Result<(), NetError> {
        if self.caller.hello.role == role {
            return self.options.check_rdma(&self.caller.hello.state).map_err(|why| {
                // The caller would wait, and call again.
                let _ = Reply::Refused(why.clone()).send(&self.caller.link);
                NetError::new(NetErrorKind::Setting, format_args!("{} at {}: {why}", self.name(), self.peer()))
            });
        }
        let text = format_args!("{} at {}: both sides want to do the same with it", self.name(), self.peer());
        Err(NetError::new(NetErrorKind::Protocol, text))
    }

    fn welcome(self, own: State) -> Result<(Session, State), NetError> {
        let Offer { caller: Caller { hello, link, .. }, options, registry } = self;
        let slot = Arc::new(Slot::of(&link));
        // From now on, connections of this session go there, should the reply not arrive.
        let place = registry.enter(hello.session, &slot);
        let _ = Reply::Welcome(own).send(&link);
        Ok((Session::called(slot, link, &hello, &options, Box::new(place)), hello.state))
    }
}

/// Accepts connections until the listener and all its streams have gone.
fn accept(socket: &TcpListener, door: &UnixStream, registry: &Arc<Registry>, options: &Options) {
    while registry.is_needed() {
        let mut ready = [PollFd::new(socket, PollFlags::IN), PollFd::new(door, PollFlags::IN)];
        // Interrupted or not: the next look says what there is.
        let _ = poll(&mut ready, None);
        let _ = io::Read::read(&mut &*door, &mut [0; 64]);
        match socket.accept() {
            Ok((caller, _)) => greet_beside(caller, registry, options),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // The caller has gone again, or there are too many files open: others may still be served.
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

/// Greets a caller in a thread of its own. Where too many are being greeted, the one that has taken longest is cut off.
fn greet_beside(caller: TcpStream, registry: &Arc<Registry>, options: &Options) {
    let Ok(handle) = caller.try_clone() else { return };
    let number = registry.begin_greeting(handle);
    let (shared, options) = (registry.clone(), options.clone());
    let greeting = move || {
        // A caller that cannot prove who it is, or says nothing of sense, is of no interest to anybody.
        let _ = greet(caller, &shared, &options);
        shared.end_greeting(number);
    };
    if thread::Builder::new().name("eagre-greet".into()).stack_size(256 << 10).spawn(greeting).is_err() {
        registry.end_greeting(number);
        thread::sleep(PAUSE);
    }
}

fn greet(caller: TcpStream, registry: &Registry, options: &Options) -> Result<(), Broken> {
    let deadline = Instant::now() + GREETING;
    let link = Link::open(caller, options.security.trust(), false, options.silence, deadline)?;
    let hello = Hello::receive(&link, deadline)?;
    registry.arrive(hello, Arc::new(link));
    Ok(())
}
