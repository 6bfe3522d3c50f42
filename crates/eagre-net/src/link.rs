//! One connection: whole messages in both directions, plain or through TLS.
//!
//! One thread receives and one sends; they may be two. Whoever waits looks up every [`TICK`]: a side that has said nothing for a
//! while says that it lives, and one that has heard nothing for long counts the connection as broken.

use std::fmt;
use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use eagre::heap;
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg, sockopt};
use rustls::Connection;

use crate::error::{one_line, reason, shortened};
use crate::frame::{HEADER, Header, Kind, TEXT};
use crate::security::Trust;

/// How often a thread that waits looks up.
pub(crate) const TICK: Duration = Duration::from_millis(200);
/// How much is read from a connection at once before it is decrypted.
const AT_ONCE: usize = 256 << 10;

/// Why a connection does not go on.
#[derive(Clone, Debug)]
pub(crate) enum Broken {
    /// The other side has closed it.
    Closed,
    /// The other side says nothing any more.
    Silent,
    /// A deadline has passed.
    Late,
    /// The system says so, in these words.
    System(String),
    /// TLS says so.
    Tls(rustls::Error),
    /// What arrives is not what was sent, or makes no sense.
    Garbled(&'static str),
    /// The stream was given up on this side.
    GivenUp,
}

impl Broken {
    /// Whether the two sides do not trust each other, as far as this tells.
    pub(crate) fn is_distrust(&self) -> bool {
        use rustls::{AlertDescription as Alert, Error};
        matches!(
            self,
            Broken::Tls(
                Error::InvalidCertificate(_)
                    | Error::NoCertificatesPresented
                    | Error::InvalidMessage(_)
                    | Error::PeerIncompatible(_)
                    | Error::AlertReceived(
                        Alert::AccessDenied
                            | Alert::BadCertificate
                            | Alert::CertificateUnknown
                            | Alert::CertificateRequired
                            | Alert::HandshakeFailure
                            | Alert::UnsupportedCertificate
                            | Alert::DecryptError
                            | Alert::ProtocolVersion
                    )
            )
        )
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::Closed => f.write_str("the other side closed the connection"),
            Broken::Silent => f.write_str("the other side has fallen silent"),
            Broken::Late => f.write_str("the other side did not answer in time"),
            Broken::System(why) => f.write_str(why),
            Broken::Tls(error) => write!(f, "TLS: {error}"),
            Broken::Garbled(what) => write!(f, "{what}"),
            Broken::GivenUp => f.write_str("the stream was given up"),
        }
    }
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Broken {
        match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Broken::Closed,
            _ => Broken::System(reason(&error)),
        }
    }
}

impl From<rustls::Error> for Broken {
    fn from(error: rustls::Error) -> Broken {
        Broken::Tls(error)
    }
}

/// A connection.
pub(crate) struct Link {
    socket: TcpStream,
    peer: SocketAddr,
    tls: Option<Mutex<Connection>>,
    /// What has been read and not decrypted. Locked by the thread that receives.
    incoming: Mutex<Incoming>,
    /// What has been encrypted and not written. Locked by the thread that sends.
    outgoing: Mutex<Vec<u8>>,
    silence: Duration,
    began: Instant,
    /// When something was heard, and said, last: milliseconds from `began`.
    heard: AtomicU64,
    said: AtomicU64,
}

#[derive(Default)]
struct Incoming {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Link {
    /// Takes a socket into use, and shakes hands if there is someone to trust. `calls`: this side has made the connection.
    pub(crate) fn open(
        socket: TcpStream,
        trust: Option<&Arc<Trust>>,
        calls: bool,
        silence: Duration,
        deadline: Instant,
    ) -> Result<Link, Broken> {
        let peer = socket.peer_addr()?;
        socket.set_nonblocking(false)?;
        socket.set_nodelay(true)?;
        // What is on its way counts as lost no sooner and no later than the other side counts as silent. Not everywhere possible.
        let _ = sockopt::set_tcp_user_timeout(&socket, u32::try_from(silence.as_millis()).unwrap_or(u32::MAX));
        let tls = match trust {
            None => None,
            Some(trust) => {
                let mut tls = match calls {
                    true => Connection::Client(trust.calling()?),
                    false => Connection::Server(trust.called()?),
                };
                if let Err(broken) = shake_hands(&mut tls, &socket, deadline) {
                    // The other side shall hear why, before its own bytes come back as a reset.
                    let _ = socket.shutdown(Shutdown::Write);
                    read_out(&socket, deadline.min(Instant::now() + Duration::from_secs(1)));
                    return Err(broken);
                }
                // The caller bounds what is sent at once.
                tls.set_buffer_limit(None);
                Some(Mutex::new(tls))
            }
        };
        socket.set_read_timeout(Some(TICK))?;
        socket.set_write_timeout(Some(TICK))?;
        Ok(Link {
            socket,
            peer,
            tls,
            incoming: Mutex::default(),
            outgoing: Mutex::default(),
            silence,
            began: Instant::now(),
            heard: AtomicU64::new(0),
            said: AtomicU64::new(0),
        })
    }

    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// A second handle to the socket, to end the connection from elsewhere.
    pub(crate) fn handle(&self) -> io::Result<TcpStream> {
        self.socket.try_clone()
    }

    /// On a long way, packets that are lost say little about how fast the link is: BBR, where the system has it, measures.
    pub(crate) fn prepare_for_long_way(&self) {
        let _ = sockopt::set_tcp_congestion(&self.socket, "bbr");
    }

    /// Whether the other side has neither said anything nor gone.
    pub(crate) fn is_quiet(&self) -> bool {
        let quiet = |error: io::Error| error.kind() == io::ErrorKind::WouldBlock;
        let _ = self.socket.set_nonblocking(true);
        let is_quiet = self.socket.peek(&mut [0]).is_err_and(quiet);
        self.socket.set_nonblocking(false).is_ok() && is_quiet
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn since(&self, time: &AtomicU64) -> Duration {
        Duration::from_millis(self.now().saturating_sub(time.load(Relaxed)))
    }

    /// Says that this side lives, unless it has just said something.
    pub(crate) fn beat(&self) -> Result<(), Broken> {
        match self.since(&self.said) >= self.silence / 4 {
            true => self.send(Kind::Beat, 0, &[]),
            false => Ok(()),
        }
    }

    /// From now on it counts how long the other side is silent: nobody has listened before.
    pub(crate) fn listens_again(&self) {
        self.heard.store(self.now(), Relaxed);
    }

    pub(crate) fn check_silence(&self) -> Result<(), Broken> {
        if self.since(&self.heard) > self.silence { Err(Broken::Silent) } else { Ok(()) }
    }

    /// Sends a message.
    pub(crate) fn send(&self, kind: Kind, offset: u64, bytes: &[u8]) -> Result<(), Broken> {
        self.send_unless(&|| false, kind, offset, bytes)
    }

    /// Sends a message. Where it has to wait, it asks now and then whether the stream was given up; the message may be cut off then.
    pub(crate) fn send_unless(
        &self,
        given_up: &dyn Fn() -> bool,
        kind: Kind,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), Broken> {
        self.send_parts(&Header::of(kind, offset, bytes).write(), bytes, given_up)
    }

    /// Sends bytes, the second after the first.
    pub(crate) fn send_raw(&self, first: &[u8], second: &[u8]) -> Result<(), Broken> {
        self.send_parts(first, second, &|| false)
    }

    fn send_parts(&self, first: &[u8], second: &[u8], given_up: &dyn Fn() -> bool) -> Result<(), Broken> {
        let mut out = lock(&self.outgoing);
        match &self.tls {
            None => self.write(first, second, given_up)?,
            Some(tls) => {
                out.clear();
                {
                    let mut tls = lock(tls);
                    tls.writer().write_all(first)?;
                    tls.writer().write_all(second)?;
                    while tls.wants_write() {
                        tls.write_tls(&mut *out)?;
                    }
                }
                self.write(&out, &[], given_up)?;
            }
        }
        self.said.store(self.now(), Relaxed);
        Ok(())
    }

    fn write(&self, first: &[u8], second: &[u8], given_up: &dyn Fn() -> bool) -> Result<(), Broken> {
        let (mut done, all) = (0, first.len() + second.len());
        while done < all {
            let parts = [
                IoSlice::new(first.get(done..).unwrap_or_default()),
                IoSlice::new(&second[done.saturating_sub(first.len())..]),
            ];
            match Quiet(&self.socket).write_vectored(&parts) {
                Ok(0) => return Err(Broken::Closed),
                Ok(bytes) => done += bytes,
                Err(error) if is_time(&error) => {
                    self.check_silence()?;
                    if given_up() {
                        return Err(Broken::GivenUp);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Receives a header. `beats`: this thread says meanwhile that this side lives. Where it has to wait, it asks now and then whether
    /// the stream was given up.
    pub(crate) fn receive_header(&self, beats: bool, given_up: &dyn Fn() -> bool) -> Result<Header, Broken> {
        let mut bytes = [0; HEADER];
        self.receive_unless(&mut bytes, beats, None, given_up)?;
        Header::read(&bytes).ok_or(Broken::Garbled("a message arrived damaged"))
    }

    /// Whether something has arrived that was not received yet, or the connection has ended.
    pub(crate) fn has_news(&self) -> bool {
        let decrypted = self.tls.as_ref().is_some_and(|tls| {
            let (waiting, mut tls) = (lock(&self.incoming), lock(tls));
            let plain = tls.process_new_packets().map_or(1, |state| state.plaintext_bytes_to_read());
            plain > 0 || waiting.start < waiting.end
        });
        decrypted || !self.is_quiet()
    }

    /// Receives the bytes of a short message.
    pub(crate) fn receive_short(&self, header: &Header) -> Result<Vec<u8>, Broken> {
        let mut bytes = vec![0; (header.length as usize).min(TEXT)];
        self.receive(&mut bytes, false, None)?;
        if !header.fits(&bytes) {
            return Err(Broken::Garbled("a message arrived damaged"));
        }
        Ok(bytes)
    }

    /// Receives the text of a message.
    pub(crate) fn receive_text(&self, header: &Header) -> Result<String, Broken> {
        Ok(one_line(&self.receive_short(header)?))
    }

    /// The address of this side, as the other one reaches it.
    pub(crate) fn own_address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Receives as many bytes as there is room for.
    pub(crate) fn receive(&self, bytes: &mut [u8], beats: bool, deadline: Option<Instant>) -> Result<(), Broken> {
        self.receive_unless(bytes, beats, deadline, &|| false)
    }

    fn receive_unless(
        &self,
        bytes: &mut [u8],
        beats: bool,
        deadline: Option<Instant>,
        given_up: &dyn Fn() -> bool,
    ) -> Result<(), Broken> {
        let mut done = 0;
        let tick = || {
            if given_up() {
                return Err(Broken::GivenUp);
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(Broken::Late);
            }
            if beats { self.beat().and_then(|()| self.check_silence()) } else { self.check_silence() }
        };
        while done < bytes.len() {
            let read = match &self.tls {
                None => self.read(&mut bytes[done..], &tick)?,
                Some(tls) => self.decrypt(tls, &mut bytes[done..], &tick)?,
            };
            done += read;
        }
        Ok(())
    }

    /// Reads some bytes from the socket.
    fn read(&self, bytes: &mut [u8], tick: &dyn Fn() -> Result<(), Broken>) -> Result<usize, Broken> {
        loop {
            match (&self.socket).read(bytes) {
                Ok(0) => return Err(Broken::Closed),
                Ok(read) => {
                    self.heard.store(self.now(), Relaxed);
                    return Ok(read);
                }
                Err(error) if is_time(&error) => tick()?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Reads some bytes through TLS.
    fn decrypt(
        &self,
        tls: &Mutex<Connection>,
        bytes: &mut [u8],
        tick: &dyn Fn() -> Result<(), Broken>,
    ) -> Result<usize, Broken> {
        let mut incoming = lock(&self.incoming);
        let incoming = &mut *incoming;
        loop {
            let mut tls = lock(tls);
            match tls.reader().read(bytes) {
                Ok(0) => return Err(Broken::Closed),
                Ok(read) => return Ok(read),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
            if incoming.start < incoming.end {
                incoming.start += tls.read_tls(&mut &incoming.bytes[incoming.start..incoming.end])?;
                if let Err(error) = tls.process_new_packets() {
                    // The other side hears why, if it still listens.
                    let _ = tls.write_tls(&mut Quiet(&self.socket));
                    return Err(error.into());
                }
                continue;
            }
            drop(tls);
            if incoming.bytes.is_empty() {
                incoming.bytes = heap::filled(AT_ONCE, 0).map_err(io::Error::from)?;
            }
            incoming.end = self.read(&mut incoming.bytes, tick)?;
            incoming.start = 0;
        }
    }

    /// Tells the other side why this one gives up, and closes.
    pub(crate) fn abort(&self, why: &str) {
        if self.send(Kind::Abort, 0, shortened(why, TEXT).as_bytes()).is_ok() {
            self.close();
        }
    }

    /// Says that nothing more comes.
    pub(crate) fn say_goodbye(&self) {
        if let Some(tls) = &self.tls {
            let mut out = Vec::new();
            {
                let mut tls = lock(tls);
                tls.send_close_notify();
                while tls.wants_write() && tls.write_tls(&mut out).is_ok() {}
            }
            let _ = self.write(&out, &[], &|| false);
        }
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    /// Says that nothing more comes, and reads on until the other side has said so too, for a moment. A socket that is closed
    /// with bytes unread resets the connection, and the other side might lose what it has not read.
    pub(crate) fn close(&self) {
        self.say_goodbye();
        read_out(&self.socket, Instant::now() + Duration::from_secs(2).min(self.silence));
    }

    /// Ends the connection. Threads that wait for it return.
    pub(crate) fn cut(&self) {
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

/// Reads what comes until the other side ends it, or the deadline.
fn read_out(socket: &TcpStream, deadline: Instant) {
    let mut until = Until { socket, deadline };
    let mut left = [0; 4096];
    while until.read(&mut left).is_ok_and(|read| read > 0) {}
}

/// Whether a timeout of the socket has passed.
fn is_time(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// A socket that is an error, and no SIGPIPE, when the other side has closed it: programs that are not Rust may not ignore that.
struct Quiet<'a>(&'a TcpStream);

impl Write for Quiet<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(sendmsg(self.0, parts, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A socket until a deadline.
struct Until<'a> {
    socket: &'a TcpStream,
    deadline: Instant,
}

impl Until<'_> {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Until<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(self.left()?)?;
        self.socket.read(bytes)
    }
}

impl Write for Until<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(self.left()?)?;
        Quiet(self.socket).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Makes both sides prove who they are.
fn shake_hands(tls: &mut Connection, socket: &TcpStream, deadline: Instant) -> Result<(), Broken> {
    let mut socket = Until { socket, deadline };
    while tls.is_handshaking() {
        if let Err(error) = tls.complete_io(&mut socket) {
            if is_time(&error) {
                return Err(Broken::Late);
            }
            let known = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()).cloned();
            return Err(known.map_or_else(|| error.into(), Broken::Tls));
        }
    }
    Ok(())
}
