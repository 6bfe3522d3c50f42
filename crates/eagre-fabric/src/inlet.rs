//! The side whose memory is written.
#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::abi;
use crate::card::{Card, Region};
use crate::end::{End, Seen};
use crate::error::{FabricError, FabricErrorKind};
use crate::library::Fabric;
use crate::listening::Listening;
use crate::memory::Memory;
use crate::names;
use crate::offer::{LINE, LINED, LINES, Offer, Registering};
use crate::outlet::{ARRIVED, END, GRANT};
use crate::provider::Provider;
use crate::random::random;

/// Memory that waits for the other side.
pub struct Waiting {
    offer: Offer,
    inside: Inside,
    registering: Registering,
    way: Way,
}

/// What is registered.
struct Inside {
    memory: Arc<Memory>,
    whole: Option<Region>,
    lines: Region,
}

enum Way {
    Listens(Listening),
    Named(End),
}

impl Inside {
    fn new(card: &Card, memory: Arc<Memory>, registering: Registering) -> Result<Inside, FabricError> {
        let table = Arc::new(Memory::new(LINES * LINE)?);
        let lines = card.register(&table, 0..table.len(), abi::REMOTE_WRITE)?;
        let whole = match registering {
            Registering::Once => Some(card.register(&memory, 0..memory.len(), abi::REMOTE_WRITE)?),
            Registering::EachPiece => None,
        };
        Ok(Inside { memory, whole, lines })
    }
}

/// What has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A piece is where the oldest grant has put it.
    Piece {
        /// Where it begins in the stream.
        offset: u64,
        /// How many bytes it has.
        length: u64,
        /// Its checksum, or 0 if the sender makes none.
        check: u64,
    },
    /// Nothing follows.
    End {
        /// The length of the stream.
        length: u64,
        /// What the sender says of the whole.
        digest: [u8; 32],
    },
}

impl Waiting {
    /// Registers memory with a card, and says who may write there. `address`: of this host, as the other one reaches it; not used by
    /// providers for one machine. `busy`: waits look all the time.
    ///
    /// # Errors
    /// [`FabricErrorKind::Missing`], [`FabricErrorKind::Refused`].
    pub fn open(
        fabric: &Fabric,
        provider: Provider,
        address: IpAddr,
        memory: Arc<Memory>,
        registering: Registering,
        busy: bool,
    ) -> Result<Waiting, FabricError> {
        fabric.check(provider)?;
        let (way, inside, address) = match provider.connects() {
            true => {
                let listening = Listening::open(fabric, provider, address)?;
                let inside = Inside::new(listening.card(), memory, registering)?;
                let address = listening.address()?.to_string();
                (Way::Listens(listening), inside, address)
            }
            false => {
                let end = End::named(fabric, provider, busy)?;
                let inside = Inside::new(end.card(), memory, registering)?;
                let name = end.name().to_owned();
                (Way::Named(end), inside, name)
            }
        };
        let offer = Offer { provider, token: random()?, lines: inside.lines.named(0), address };
        Ok(Waiting { offer, inside, registering, way })
    }

    /// What the other side needs.
    pub fn offer(&self) -> &Offer {
        &self.offer
    }

    /// Waits for the other side until `deadline`, or until nobody wants it any more. `answer`: what
    /// [`Calling::answer`](crate::Calling::answer) gave there. Who does not know the offer is turned away.
    ///
    /// # Errors
    /// [`FabricErrorKind::Late`] if nobody came.
    pub fn accept(
        self,
        answer: &[u8],
        busy: bool,
        deadline: Instant,
        given_up: &dyn Fn() -> bool,
    ) -> Result<Inlet, FabricError> {
        let Waiting { offer, inside, registering, way } = self;
        let end = match way {
            Way::Listens(listening) => listening.accept(&offer.token, busy, deadline, given_up)?,
            Way::Named(mut end) => {
                end.learn(&names::of_answer(answer)?)?;
                end
            }
        };
        let registrations = 2 + u64::from(registering == Registering::Once);
        Ok(Inlet {
            end,
            inside,
            registering,
            granted: 0,
            arrived: 0,
            position: 0,
            places: VecDeque::new(),
            registrations,
            ended: false,
        })
    }
}

/// Memory that the other side writes, piece by piece, each where it was granted to.
pub struct Inlet {
    // It is closed before what is registered, and that before the card, which is the end's.
    inside: Inside,
    places: VecDeque<(Range<usize>, Option<Region>)>,
    end: End,
    registering: Registering,
    granted: u64,
    arrived: u64,
    position: u64,
    registrations: u64,
    ended: bool,
}

fn damaged(what: &str) -> FabricError {
    FabricError::new(FabricErrorKind::Damaged, what)
}

impl Inlet {
    /// The most grants that may be out.
    pub const MOST: usize = LINES - 1;

    /// How many grants are out.
    pub fn outstanding(&self) -> usize {
        self.places.len()
    }

    /// How often memory was registered.
    pub fn registrations(&self) -> u64 {
        self.registrations
    }

    /// Lets the other side write its next piece here. `received`: what of the stream is here, and right. False if that cannot be said
    /// now: look at what comes, and try again.
    ///
    /// # Errors
    /// [`FabricErrorKind::Gone`], [`FabricErrorKind::Refused`].
    ///
    /// # Panics
    /// If it is not inside the memory, or [`Inlet::MOST`] grants are out.
    pub fn grant(&mut self, place: Range<usize>, received: u64) -> Result<bool, FabricError> {
        assert!(self.places.len() < Inlet::MOST, "too many grants");
        self.inside.memory.check(&place);
        let (region, (address, key)) = match (&self.inside.whole, self.registering) {
            (Some(whole), Registering::Once) => (None, whole.named(place.start)),
            _ => {
                let region = self.end.card().register(&self.inside.memory, place.clone(), abi::REMOTE_WRITE)?;
                let named = region.named(place.start);
                (Some(region), named)
            }
        };
        let words = [GRANT, self.granted, address, key, place.len() as u64, received];
        if !self.end.try_say(&words)? {
            return Ok(false);
        }
        self.registrations += u64::from(region.is_some());
        self.places.push_back((place, region));
        self.granted += 1;
        Ok(true)
    }

    /// Says what of the stream is here, and right, where there is nothing to grant. False if that cannot be said now.
    ///
    /// # Errors
    /// [`FabricErrorKind::Gone`].
    pub fn acknowledge(&mut self, received: u64) -> Result<bool, FabricError> {
        self.end.try_say(&[ARRIVED, received])
    }

    /// What comes next, if it comes within `limit`.
    ///
    /// # Errors
    /// [`FabricErrorKind::Gone`]; [`FabricErrorKind::Damaged`] if the other side breaks the rules.
    pub fn next(&mut self, limit: Duration) -> Result<Option<(Arrival, Range<usize>)>, FabricError> {
        match self.end.look(limit)? {
            Some(Seen::Arrived(number)) => self.arrival(number).map(Some),
            Some(Seen::Message([END, length, digest @ ..])) if !self.ended => {
                self.ended = true;
                let mut bytes = [0; 32];
                for (bytes, word) in bytes.chunks_exact_mut(8).zip(digest) {
                    bytes.copy_from_slice(&word.to_le_bytes());
                }
                Ok(Some((Arrival::End { length, digest: bytes }, 0..0)))
            }
            Some(Seen::Message(_)) => Err(damaged("the other side of the ring says something that makes no sense")),
            Some(Seen::Written) | None => Ok(None),
        }
    }

    /// Begins at this byte of the stream: what lies before is here.
    pub fn begin_at(&mut self, offset: u64) {
        self.position = offset;
    }

    fn arrival(&mut self, number: u32) -> Result<(Arrival, Range<usize>), FabricError> {
        let expected = self.arrived;
        let in_turn = number & !LINED == expected as u32 & !LINED;
        let place = self.places.pop_front().filter(|_| in_turn && !self.ended);
        let Some((place, region)) = place else {
            return Err(damaged("the other side of the ring writes pieces out of turn"));
        };
        // Before anybody looks at the piece, the card forgets where it is.
        drop(region);
        let (length, check) = match number & LINED {
            0 => (place.len() as u64, 0),
            _ => {
                let line = expected as usize % LINES * LINE;
                let [said, offset, length, check] = self.inside.lines.memory().words(line);
                let fits = said == expected && offset == self.position && (1..=place.len() as u64).contains(&length);
                if !fits {
                    return Err(damaged("a piece arrived in the ring with a line that makes no sense"));
                }
                (length, check)
            }
        };
        let offset = self.position;
        self.position += length;
        self.arrived += 1;
        Ok((Arrival::Piece { offset, length, check }, place.start..place.start + length as usize))
    }
}
