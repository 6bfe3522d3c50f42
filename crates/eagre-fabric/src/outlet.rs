//! The side that writes.
#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::abi;
use crate::card::{Card, Region};
use crate::end::{End, Seen, late};
use crate::error::{FabricError, FabricErrorKind};
use crate::library::Fabric;
use crate::memory::Memory;
use crate::names;
use crate::offer::{LINE, LINED, LINES, Offer, Registering};

/// A message: the next piece may be written. Its number, address, key and room, and what of the stream has arrived.
pub(crate) const GRANT: u64 = 1;
/// A message: what of the stream has arrived, where there is nothing to grant.
pub(crate) const ARRIVED: u64 = 3;
/// A message: nothing follows. The length of the stream, and its digest.
pub(crate) const END: u64 = 2;

/// An end that knows where to write, and is not connected yet.
pub struct Calling {
    offer: Offer,
    end: End,
    whole: Option<Region>,
    memory: Arc<Memory>,
    answer: Vec<u8>,
}

impl Calling {
    /// Registers memory with a card that will read it. `busy`: waits look all the time.
    ///
    /// # Errors
    /// [`FabricErrorKind::Missing`], [`FabricErrorKind::Refused`].
    pub fn open(
        fabric: &Fabric,
        offer: Offer,
        memory: Arc<Memory>,
        registering: Registering,
        busy: bool,
    ) -> Result<Calling, FabricError> {
        let provider = offer.provider;
        fabric.check(provider)?;
        let mut answer = Vec::new();
        let end = match provider.connects() {
            true => {
                let wrong = |_| FabricError::new(FabricErrorKind::Setting, "an offer of a ring has no address");
                let address: std::net::SocketAddr = offer.address.parse().map_err(wrong)?;
                let (ip, port) = (address.ip().to_string(), address.port().to_string());
                let card = Card::open(fabric, provider, fabric.interfaces(provider, &ip, &port, 0)?)?;
                End::open(card, busy)?
            }
            false => {
                let end = End::named(fabric, provider, busy)?;
                answer = end.name().as_bytes().to_vec();
                end
            }
        };
        let whole = match registering {
            Registering::Once => Some(end.card().register(&memory, 0..memory.len(), abi::WRITE)?),
            Registering::EachPiece => None,
        };
        Ok(Calling { offer, end, whole, memory, answer })
    }

    /// What the other side needs before it accepts.
    pub fn answer(&self) -> &[u8] {
        &self.answer
    }

    /// Connects, not later than `deadline`, unless nobody wants it any more.
    ///
    /// # Errors
    /// [`FabricErrorKind::Gone`] or [`FabricErrorKind::Late`] if nobody answers or the offer is not theirs.
    pub fn connect(self, deadline: Instant, given_up: &dyn Fn() -> bool) -> Result<Outlet, FabricError> {
        // A caller that goes before it has said who it is leaves a socket behind at the other side, in libfabric.
        if given_up() {
            return Err(late("nobody wanted the ring"));
        }
        let Calling { offer, mut end, whole, memory, .. } = self;
        match offer.provider.connects() {
            true => {
                end.connect(&offer.token)?;
                end.connected(deadline, given_up)?;
            }
            false => end.learn(&offer.address)?,
        }
        let registrations = 1 + u64::from(whole.is_some());
        let named = !offer.provider.connects();
        let (on_their_way, state) = (VecDeque::new(), State::default());
        Ok(Outlet { whole, on_their_way, end, memory, offer, state, registrations, named })
    }
}

/// A place that the other side has granted.
struct Grant {
    named: (u64, u64),
    room: u64,
}

/// How far everything is.
#[derive(Default)]
struct State {
    grants: VecDeque<Grant>,
    granted: u64,
    posted: u64,
    written: u64,
    /// Up to where pieces of the stream were sent, and have arrived.
    sent: u64,
    received: u64,
    trouble: Option<FabricError>,
}

fn damaged(what: &str) -> FabricError {
    FabricError::new(FabricErrorKind::Damaged, what)
}

impl State {
    fn arrived(&mut self, received: u64) {
        if !(self.received..=self.sent).contains(&received) {
            self.trouble = Some(damaged("the other side of the ring speaks of bytes that were not sent"));
        }
        self.received = received;
    }

    fn see(&mut self, seen: Seen) {
        match seen {
            Seen::Written if self.written < self.posted => self.written += 1,
            Seen::Message([GRANT, number, address, key, room, received, ..])
                if number == self.granted && self.grants.len() < LINES =>
            {
                self.arrived(received);
                self.granted += 1;
                self.grants.push_back(Grant { named: (address, key), room });
            }
            Seen::Message([ARRIVED, received, ..]) => self.arrived(received),
            _ => self.trouble = Some(damaged("the other side of the ring says something that makes no sense")),
        }
    }
}

/// Writes pieces to an [`Inlet`](crate::Inlet) elsewhere, each where that has granted.
pub struct Outlet {
    // What is registered is closed before the card, which is the end's.
    whole: Option<Region>,
    on_their_way: VecDeque<Option<Region>>,
    end: End,
    memory: Arc<Memory>,
    offer: Offer,
    state: State,
    registrations: u64,
    /// Whether the ends have names that are still in use.
    named: bool,
}

impl Outlet {
    /// Begins at this byte of the stream: what lies before has arrived.
    pub fn begin_at(&mut self, offset: u64) {
        (self.state.sent, self.state.received) = (offset, offset);
    }

    /// The room that the other side has granted for the next piece; none yet, perhaps.
    pub fn room(&self) -> Option<u64> {
        self.state.grants.front().map(|grant| grant.room)
    }

    /// How many pieces were posted, and how many writes have ended: those are read, and may change.
    pub fn posted_and_written(&self) -> (u64, u64) {
        (self.state.posted, self.state.written)
    }

    /// Up to where the stream has arrived, and is right.
    pub fn received(&self) -> u64 {
        self.state.received
    }

    /// How often memory was registered.
    pub fn registrations(&self) -> u64 {
        self.registrations
    }

    /// Looks at what has come; waits for something, not longer than `limit`. Whether something came.
    ///
    /// # Errors
    /// [`FabricErrorKind::Gone`]; [`FabricErrorKind::Damaged`] if the other side breaks the rules.
    pub fn look(&mut self, limit: Duration) -> Result<bool, FabricError> {
        let mut news = false;
        while let Some(seen) = self.end.look(if news { Duration::ZERO } else { limit })? {
            news = true;
            self.state.see(seen);
            self.settle()?;
        }
        Ok(news)
    }

    /// Lets go of what has been written, and of names when both sides know each other: the other one has granted something.
    fn settle(&mut self) -> Result<(), FabricError> {
        if self.named && self.state.granted > 0 {
            self.named = false;
            names::remove(&self.offer.address);
            names::remove(self.end.name());
        }
        while self.on_their_way.len() as u64 > self.state.posted - self.state.written {
            self.on_their_way.pop_front();
        }
        self.state.trouble.clone().map_or(Ok(()), Err)
    }

    /// Writes a piece: a part of the memory, which begins at `offset` in the stream, with a checksum or none. It must not change until the
    /// write has ended.
    ///
    /// # Errors
    /// As [`Outlet::look`].
    ///
    /// # Panics
    /// If there is no [room](Outlet::room) for it.
    pub fn post(&mut self, piece: Range<usize>, offset: u64, check: Option<u64>) -> Result<(), FabricError> {
        let grant = self.state.grants.pop_front().filter(|grant| piece.len() as u64 <= grant.room).expect("room");
        let own = match self.whole {
            Some(_) => None,
            None => {
                self.registrations += 1;
                Some(self.end.card().register(&self.memory, piece.clone(), abi::WRITE)?)
            }
        };
        let (number, length) = (self.state.posted, piece.len() as u64);
        let state = &mut self.state;
        let mut see = |seen| state.see(seen);
        let mut says = number as u32 & !LINED;
        if check.is_some() || length < grant.room {
            let (lines, key) = self.offer.lines;
            let line = lines.wrapping_add(number % LINES as u64 * LINE as u64);
            let words = [number, offset, length, check.unwrap_or(0)];
            self.end.write_words(&words, (line, key), &mut see)?;
            says |= LINED;
        }
        let region = own.as_ref().or(self.whole.as_ref()).expect("one of them");
        self.end.write(region, piece, grant.named, says, &mut see)?;
        self.state.posted += 1;
        self.state.sent = offset + length;
        self.on_their_way.push_back(own);
        self.settle()
    }

    /// Says that nothing follows.
    ///
    /// # Errors
    /// As [`Outlet::look`].
    pub fn end(&mut self, length: u64, digest: &[u8; 32]) -> Result<(), FabricError> {
        let mut words = [END, length, 0, 0, 0, 0];
        for (word, bytes) in words[2..].iter_mut().zip(digest.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        }
        let state = &mut self.state;
        self.end.say(&words, &mut |seen| state.see(seen))?;
        self.settle()
    }
}
