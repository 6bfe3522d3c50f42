//! How blocks find a way beside a connection.
//!
//! The connection stays what it was: both sides prove there who they are, tell each other that they live, and say why they give up.
//! The side that reads offers its memory on it, the other one connects to that through libfabric, and from then on only blocks take
//! the other way: into the very memory where the reader's pointer finds them.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

use eagre::{Control, RewireErrorKind};
use eagre_fabric::{Calling, Fabric, FabricError, FabricErrorKind, Inlet, Memory, Offer, Outlet, Registering, Waiting};

use crate::error::{NetError, NetErrorKind};
use crate::frame::Kind;
use crate::greeting::State;
use crate::link::{Broken, Link};
use crate::rdma::{Rdma, RdmaAlgorithm, RdmaCosts};
use crate::session::GREETING;
use crate::stop::Stop;

/// The largest piece: what is checked and written at once.
const PIECE: u64 = 1 << 20;

/// What both ways have.
pub(crate) struct Route {
    pub(crate) memory: Arc<Memory>,
    /// How many buffers blocks are copied through.
    pub(crate) buffers: Option<usize>,
    /// The most bytes of a piece. All have as many, but the last one of a stream, and the first one of another connection.
    pub(crate) piece: u64,
    /// Whether pieces are checked.
    pub(crate) checks: bool,
    /// Bytes that were copied.
    pub(crate) copied: u64,
}

/// The way out.
pub(crate) struct Out {
    pub(crate) route: Route,
    pub(crate) outlet: Outlet,
}

/// The way in.
pub(crate) struct In {
    pub(crate) route: Route,
    pub(crate) inlet: Inlet,
}

impl Out {
    pub(crate) fn costs(&self) -> RdmaCosts {
        RdmaCosts { registrations: self.outlet.registrations(), copied: self.route.copied }
    }
}

impl In {
    pub(crate) fn costs(&self) -> RdmaCosts {
        RdmaCosts { registrations: self.inlet.registrations(), copied: self.route.copied }
    }
}

impl Route {
    fn new(rdma: Rdma, own: &State, there: &State, stream: &Control) -> Result<Route, NetError> {
        let piece = own.block.min(there.block).min(PIECE);
        let memory = match rdma.algorithm.buffers() {
            Some(buffers) => Memory::new(buffers * piece as usize).map_err(refused)?,
            None => Memory::of_pool(stream.fixed_memory().map_err(|error| {
                let kind = match error.kind() {
                    RewireErrorKind::Moves => NetErrorKind::Setting,
                    _ => NetErrorKind::Resources,
                };
                NetError::new(kind, format_args!("{rdma}: {error}"))
            })?),
        };
        let checks = rdma.checks || there.rdma.is_some_and(|there| there.checks);
        Ok(Route { memory: Arc::new(memory), buffers: rdma.algorithm.buffers(), piece, checks, copied: 0 })
    }
}

fn registering(rdma: Rdma) -> Registering {
    if rdma.algorithm == RdmaAlgorithm::EachBlock { Registering::EachPiece } else { Registering::Once }
}

fn refused(error: FabricError) -> NetError {
    let kind = match error.kind() {
        FabricErrorKind::Missing | FabricErrorKind::Setting => NetErrorKind::Setting,
        _ => NetErrorKind::Resources,
    };
    NetError::new(kind, error)
}

/// Another connection may do, unless something is missing here.
impl From<FabricError> for Stop {
    fn from(error: FabricError) -> Stop {
        match error.kind() {
            FabricErrorKind::Gone | FabricErrorKind::Late | FabricErrorKind::Damaged => {
                Stop::Broken(Broken::System(error.to_string()))
            }
            _ => Stop::Failed { error: refused(error), tell: true },
        }
    }
}

impl From<NetError> for Stop {
    fn from(error: NetError) -> Stop {
        Stop::Failed { error, tell: true }
    }
}

/// Waits for a message of this kind, and for no other.
fn expect(link: &Link, kind: Kind, place: &str, given_up: &dyn Fn() -> bool) -> Result<Vec<u8>, Stop> {
    let deadline = Instant::now() + GREETING;
    loop {
        let header = link.receive_header(true, &|| given_up() || Instant::now() >= deadline)?;
        match header.kind {
            Kind::Beat => {}
            Kind::Abort => return Err(Stop::told(place, &link.receive_text(&header)?)),
            found if found == kind => return Ok(link.receive_short(&header)?),
            _ => return Err(Stop::protocol(place, "the other side says nothing about its memory")),
        }
    }
}

/// The side that reads: offers its memory, and waits until the other side has connected.
pub(crate) fn offer(
    rdma: Rdma,
    (own, there): (&State, &State),
    link: &Link,
    stream: &Control,
    place: &str,
    given_up: &dyn Fn() -> bool,
) -> Result<In, Stop> {
    let route = Route::new(rdma, own, there, stream)?;
    let fabric = Fabric::open().map_err(refused)?;
    let address = link.own_address().map_err(Broken::from)?.ip().to_canonical();
    let waiting = Waiting::open(&fabric, rdma.provider, address, route.memory.clone(), registering(rdma), rdma.busy)?;
    link.send(Kind::Offer, 0, &waiting.offer().to_bytes())?;
    let answer = expect(link, Kind::Answer, place, given_up)?;
    // Whoever has given up says so on the connection.
    let said = RefCell::new(None);
    let is_over = || {
        while said.borrow().is_none() && link.has_news() {
            *said.borrow_mut() = reason(link, place).err();
        }
        given_up() || said.borrow().is_some()
    };
    let accepted = waiting.accept(&answer, rdma.busy, Instant::now() + GREETING, &is_over);
    match said.into_inner() {
        Some(stop) => Err(stop),
        None => Ok(In { route, inlet: accepted? }),
    }
}

/// Hears what the other side says on the connection while blocks go beside it: that it lives, or why it gives up.
pub(crate) fn reason(link: &Link, place: &str) -> Result<(), Stop> {
    let header = link.receive_header(true, &|| false)?;
    match header.kind {
        Kind::Beat => Ok(()),
        Kind::Abort => Err(Stop::told(place, &link.receive_text(&header)?)),
        _ => Err(Stop::protocol(place, "the other side speaks where blocks go by RDMA")),
    }
}

/// The side that writes: connects to what the other side offers.
pub(crate) fn answer(
    rdma: Rdma,
    (own, there): (&State, &State),
    link: &Link,
    stream: &Control,
    place: &str,
    given_up: &dyn Fn() -> bool,
) -> Result<Out, Stop> {
    let route = Route::new(rdma, own, there, stream)?;
    let offer = Offer::from_bytes(&expect(link, Kind::Offer, place, given_up)?)?;
    if offer.provider() != rdma.provider {
        return Err(Stop::protocol(place, "the other side offers another provider"));
    }
    let fabric = Fabric::open().map_err(refused)?;
    let calling = Calling::open(&fabric, offer, route.memory.clone(), registering(rdma), rdma.busy)?;
    link.send(Kind::Answer, 0, calling.answer())?;
    let mut outlet = calling.connect(Instant::now() + GREETING, given_up)?;
    outlet.begin_at(there.received);
    Ok(Out { route, outlet })
}
