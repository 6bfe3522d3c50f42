//! One stream's life over several connections.
//!
//! A stream has a session number, which only its two sides know. The side that calls dials again when a connection breaks; the
//! other side waits for the call. Both tell each other how much has arrived, and the stream goes on there.

use std::any::Any;
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::address::Address;
use crate::cancel::Cancel;
use crate::error::{NetError, NetErrorKind};
use crate::greeting::{Hello, Reply, State};
use crate::link::{Broken, Link, TICK};
use crate::options::Options;

/// How long a side has to shake hands and to greet.
pub(crate) const GREETING: Duration = Duration::from_secs(10);
/// How long a call may ring at one address.
const RINGING: Duration = Duration::from_secs(5);
/// A round trip from which on a way counts as long.
const LONG_WAY: Duration = Duration::from_millis(5);
/// How often a call may be hung up on before that counts as distrust.
const HUNG_UP: u32 = 3;

/// How the next connection comes.
enum Way {
    Call { address: Address, hello: Hello },
    Called { slot: Arc<Slot>, _entry: Box<dyn Any + Send> },
}

/// A stream's connections.
pub(crate) struct Session {
    way: Way,
    options: Options,
    /// Where the other side is, for messages.
    place: String,
    here: bool,
    /// A connection that has been made already.
    ready: Option<(Arc<Link>, State)>,
    /// Since when there has been trouble without progress, and what it was.
    trouble: Option<(Instant, String)>,
    reconnections: u32,
    /// Since when there is a connection.
    connected: Instant,
}

impl Session {
    /// Calls, and returns when the other side has the stream.
    ///
    /// # Errors
    /// [`NetErrorKind::Setting`], [`NetErrorKind::Address`], [`NetErrorKind::Unreachable`], [`NetErrorKind::Untrusted`],
    /// [`NetErrorKind::Refused`].
    pub(crate) fn call(address: &Address, hello: Hello, options: &Options) -> Result<(Session, State), NetError> {
        let way = |hello| Way::Call { address: address.clone(), hello };
        let place = format!("{} at {address}", hello.name);
        let mut session = Session::new(way(hello), place, options);
        let cancelled = || options.cancel.as_ref().is_some_and(Cancel::is_cancelled);
        let (link, state) = session.dial(None, &cancelled)?;
        session.begin(link, state);
        Ok((session, state))
    }

    /// The side that has been called, on the connection that greeted it first.
    /// `entry`: connections of this session arrive as long as it lives.
    pub(crate) fn called(
        slot: Arc<Slot>,
        link: Arc<Link>,
        hello: &Hello,
        options: &Options,
        entry: Box<dyn Any + Send>,
    ) -> Session {
        let place = format!("{} at {}", hello.name, link.peer());
        let mut session = Session::new(Way::Called { slot, _entry: entry }, place, options);
        session.begin(link, hello.state);
        session
    }

    fn new(way: Way, place: String, options: &Options) -> Session {
        Session {
            way,
            options: options.clone(),
            place,
            here: false,
            ready: None,
            trouble: None,
            reconnections: 0,
            connected: Instant::now(),
        }
    }

    /// The first connection.
    fn begin(&mut self, link: Arc<Link>, state: State) {
        self.here = link.peer().ip().to_canonical().is_loopback();
        self.ready = Some((link, state));
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Where the other side is.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Whether the other side was on this machine when the stream began.
    pub(crate) fn is_here(&self) -> bool {
        self.here
    }

    pub(crate) fn reconnections(&self) -> u32 {
        self.reconnections
    }

    /// A connection broke. `progress`: it has carried something.
    pub(crate) fn broke(&mut self, why: &Broken, progress: bool) {
        let lived = self.connected.elapsed() > self.options.silence;
        if progress || lived || self.trouble.is_none() {
            self.trouble = Some((Instant::now(), why.to_string()));
        }
    }

    /// The next connection, and what the other side says of its end. `own` says the same of this one. `given_up`: whether nobody
    /// wants it any more.
    ///
    /// # Errors
    /// [`NetErrorKind::Lost`], [`NetErrorKind::Refused`].
    pub(crate) fn next(&mut self, own: State, given_up: &dyn Fn() -> bool) -> Result<(Arc<Link>, State), NetError> {
        if let Some(ready) = self.ready.take() {
            return Ok(ready);
        }
        let next = match &self.way {
            Way::Call { .. } => self.dial(Some(own), given_up),
            Way::Called { .. } => self.wait(own, given_up),
        };
        self.reconnections += u32::from(next.is_ok());
        self.connected = Instant::now();
        next
    }

    /// When retries end.
    fn deadline(&self) -> Instant {
        let since = self.trouble.as_ref().map_or_else(Instant::now, |(since, _)| *since);
        since + self.options.retry
    }

    fn lost(&self) -> NetError {
        let why = self.trouble.as_ref().map_or("the connection broke", |(_, why)| why);
        let text = format_args!(
            "{}: {why}, and no other connection came about in {} s; check that the other side runs and can be reached",
            self.place,
            self.options.retry.as_secs()
        );
        NetError::new(NetErrorKind::Lost, text)
    }

    fn given_up(&self) -> NetError {
        NetError::new(NetErrorKind::Stream, format_args!("{}: the stream was given up", self.place))
    }

    fn wait(&self, own: State, given_up: &dyn Fn() -> bool) -> Result<(Arc<Link>, State), NetError> {
        let Way::Called { slot, .. } = &self.way else { return Err(self.lost()) };
        let deadline = self.deadline();
        loop {
            if given_up() {
                return Err(self.given_up());
            }
            if let Some((link, state)) = slot.take(TICK.min(deadline.saturating_duration_since(Instant::now())))
                && Reply::Welcome(own).send(&link).is_ok()
            {
                return Ok((link, state));
            }
            if Instant::now() >= deadline {
                return Err(self.lost());
            }
        }
    }

    /// Calls until somebody answers. `own`: the state of a stream that has begun; `None` before it has.
    fn dial(&self, own: Option<State>, given_up: &dyn Fn() -> bool) -> Result<(Arc<Link>, State), NetError> {
        let Way::Call { address, hello } = &self.way else { return Err(self.lost()) };
        let first = own.is_none();
        let mut hello = hello.clone();
        if let Some(own) = own {
            (hello.state, hello.resumes) = (own, true);
        }
        let deadline = self.deadline();
        let (mut pause, mut hung_up) = (Duration::from_millis(20), 0);
        loop {
            let failed = match self.ring(address, &mut hello, deadline) {
                Ok(answered) => return Ok(answered),
                // Whoever cannot prove to be the other side does not end a stream that has begun.
                Err(Failed::Final(error)) if first || error.kind() == NetErrorKind::Refused => return Err(error),
                Err(Failed::Final(error) | Failed::Now(error)) => error,
            };
            hung_up = if failed.kind() == NetErrorKind::Untrusted { hung_up + 1 } else { 0 };
            if given_up() {
                return Err(self.given_up());
            }
            if first && hung_up >= HUNG_UP {
                return Err(failed);
            }
            if Instant::now() + pause >= deadline {
                return Err(if first { failed } else { self.lost() });
            }
            thread::sleep(pause);
            pause = (2 * pause).min(Duration::from_secs(1));
        }
    }

    /// One call.
    fn ring(&self, address: &Address, hello: &mut Hello, deadline: Instant) -> Result<(Arc<Link>, State), Failed> {
        let now = |kind, why: String| Failed::Now(NetError::new(kind, format_args!("{}: {why}", self.place)));
        let distrust = |broken: &Broken| {
            let why = format!("{broken}; check that both sides have the same token, or each other's fingerprint");
            NetError::new(NetErrorKind::Untrusted, format_args!("{}: {why}", self.place))
        };
        let mut failed = None;
        for number in address.resolve().map_err(Failed::Final)? {
            self.options.security.check(number.ip()).map_err(Failed::Final)?;
            let began = Instant::now();
            let left = deadline.saturating_duration_since(began).clamp(TICK, RINGING);
            let socket = match TcpStream::connect_timeout(&number, left) {
                Ok(socket) if !calls_itself(&socket) => socket,
                Ok(_) => {
                    failed = Some("Connection refused".to_owned());
                    continue;
                }
                Err(error) => {
                    failed = Some(crate::error::reason(&error));
                    continue;
                }
            };
            hello.round_trip = began.elapsed();
            let options = &self.options;
            // A stream that is open is not ended by what may end its opening.
            let cancel = options.cancel.as_ref().filter(|_| !hello.resumes);
            let _watched = cancel
                .map(|cancel| cancel.watch(&socket))
                .transpose()
                .map_err(|error| Failed::Now(NetError::refused("no socket to watch a call", &error)))?;
            let link = Link::open(socket, options.security.trust(), true, options.silence, began + GREETING);
            let link = link.map_err(|broken| match broken.is_distrust() {
                true => Failed::Final(distrust(&broken)),
                false if matches!(broken, Broken::Closed) => Failed::Now(distrust(&broken)),
                false => now(NetErrorKind::Unreachable, broken.to_string()),
            })?;
            let answered = link.send_raw(&hello.write(), &[]).and_then(|()| Reply::receive(&link, deadline));
            let refused = |why: String| {
                Failed::Final(NetError::new(NetErrorKind::Refused, format_args!("{}: {why}", self.place)))
            };
            return match answered {
                Ok(Reply::Welcome(state)) => {
                    if hello.round_trip >= LONG_WAY {
                        link.prepare_for_long_way();
                    }
                    Ok((Arc::new(link), state))
                }
                Ok(Reply::Forgotten) => {
                    Err(refused("the other side has given this stream up, or was started anew; begin again".into()))
                }
                Ok(Reply::Refused(why)) => Err(refused(why)),
                Ok(Reply::Version(version)) => Err(refused(format!(
                    "the other side speaks version {version} of the protocol; use the same version of eagre on both sides"
                ))),
                Ok(Reply::Busy) => {
                    Err(now(NetErrorKind::Unreachable, "too many streams wait there; try again later".into()))
                }
                Err(broken) if broken.is_distrust() => Err(Failed::Final(distrust(&broken))),
                Err(broken @ (Broken::Closed | Broken::Garbled(_))) => Err(Failed::Now(distrust(&broken))),
                Err(Broken::Late | Broken::Silent) => Err(now(
                    NetErrorKind::Unreachable,
                    format!(
                        "nobody there asked for the stream {}; check its name, and that the other side waits for it",
                        hello.name
                    ),
                )),
                Err(broken) => Err(now(NetErrorKind::Unreachable, broken.to_string())),
            };
        }
        let why = failed.unwrap_or_else(|| "no address".into());
        Err(now(NetErrorKind::Unreachable, format!("{why}; check that the other side runs, and its port")))
    }
}

/// Why one call led to nothing.
enum Failed {
    /// Another call may.
    Now(NetError),
    /// No other call would.
    Final(NetError),
}

/// Whether a connection to a port of this machine that nobody listens at has met itself (TCP's simultaneous open).
fn calls_itself(socket: &TcpStream) -> bool {
    socket.local_addr().ok() == socket.peer_addr().ok()
}

/// Where connections of one session arrive at the side that is called.
#[derive(Default)]
pub(crate) struct Slot {
    arrived: Mutex<Arrived>,
    changed: Condvar,
}

#[derive(Default)]
struct Arrived {
    next: Option<(Arc<Link>, State)>,
    /// The connection in use.
    current: Option<TcpStream>,
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Arrived> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A slot whose first connection is in use.
    pub(crate) fn of(link: &Link) -> Slot {
        let slot = Slot::default();
        slot.lock().current = link.handle().ok();
        slot
    }

    /// Another connection for the session. It takes the place of the one in use, which the caller has given up.
    pub(crate) fn put(&self, link: Arc<Link>, hello: &Hello) {
        if hello.round_trip >= LONG_WAY {
            link.prepare_for_long_way();
        }
        let mut arrived = self.lock();
        if let Some(current) = arrived.current.take() {
            let _ = current.shutdown(std::net::Shutdown::Both);
        }
        arrived.next = Some((link, hello.state));
        self.changed.notify_all();
    }

    fn take(&self, limit: Duration) -> Option<(Arc<Link>, State)> {
        let arrived = self.lock();
        let waited = self.changed.wait_timeout_while(arrived, limit, |arrived| arrived.next.is_none());
        let (mut arrived, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let (link, state) = arrived.next.take()?;
        arrived.current = link.handle().ok();
        Some((link, state))
    }
}
