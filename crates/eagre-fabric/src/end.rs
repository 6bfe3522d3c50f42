//! One end of a connection: what it writes, says and hears.

use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::abi::{self, CqEntry, EqEntry, FidEp, Info};
use crate::card::{Card, Region, close, gone};
use crate::error::{FabricError, FabricErrorKind};
use crate::library::Fabric;
use crate::memory::Memory;
use crate::names;
use crate::provider::Provider;

/// The longest message, in numbers of eight bytes.
pub(crate) const MESSAGE: usize = 8;
/// Rooms for messages, and for what comes with writes: more than can be on their way.
const ROOMS: usize = 160;
/// The longest sleep, in milliseconds.
const TICK: c_int = 50;
/// How long libfabric may have no room for another call: then the other side does nothing any more.
const STUCK: Duration = Duration::from_secs(30);

/// What a look has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The oldest write of ours that was on its way has ended.
    Written,
    /// A message.
    Message([u64; MESSAGE]),
    /// The other side has written here, and says this.
    Arrived(u32),
}

/// An end.
pub(crate) struct End {
    own: ManuallyDrop<Own>,
    /// The other end, where there are names.
    peer: u64,
    own_name: String,
    gone: bool,
    /// Whether a wait looks all the time.
    busy: bool,
}

/// What the library has made for an end. It is closed in order: the end, what it has registered, the card.
struct Own {
    object: *mut FidEp,
    rooms: Region,
    card: Card,
}

// SAFETY: as for the card.
unsafe impl Send for Own {}

impl Drop for Own {
    fn drop(&mut self) {
        // SAFETY: the end is open and not used any more; its memory and the card are closed after this.
        unsafe {
            if self.card.provider.connects() {
                ((*(*self.object).cm).shutdown)(self.object, 0);
            }
            close(self.object);
        }
    }
}

/// Waits a moment, whatever for.
fn pause() {
    std::thread::yield_now();
}

pub(crate) fn late(what: &str) -> FabricError {
    FabricError::new(FabricErrorKind::Late, format_args!("{what} in time"))
}

/// An entry without anything.
pub(crate) fn empty() -> EqEntry {
    EqEntry { fid: ptr::null_mut(), info: ptr::null_mut(), data: [0; 64] }
}

impl End {
    /// An end of this card with rooms for what comes. Not connected.
    pub(crate) fn open(card: Card, busy: bool) -> Result<End, FabricError> {
        let (object, rooms) = End::parts(&card, card.infos.first)?;
        End::of_parts(card, object, rooms, busy)
    }

    /// An end that has a name.
    pub(crate) fn named(fabric: &Fabric, provider: Provider, busy: bool) -> Result<End, FabricError> {
        let infos = fabric.interfaces(provider, &names::fresh(), "0", abi::SOURCE)?;
        End::open(Card::open(fabric, provider, infos)?, busy)
    }

    /// What the card makes for an end.
    pub(crate) fn parts(card: &Card, info: *mut Info) -> Result<(*mut FidEp, Region), FabricError> {
        let memory = Arc::new(Memory::new(ROOMS * MESSAGE * 8)?);
        let rooms = card.register(&memory, 0..memory.len(), abi::RECV | abi::SEND)?;
        Ok((card.endpoint(info)?, rooms))
    }

    /// Takes both over.
    pub(crate) fn of_parts(card: Card, object: *mut FidEp, rooms: Region, busy: bool) -> Result<End, FabricError> {
        let own = ManuallyDrop::new(Own { object, rooms, card });
        let (peer, own_name) = (u64::MAX, String::new());
        let mut end = End { own, peer, own_name, gone: false, busy };
        if !end.own.card.provider.connects() {
            end.own_name = end.ask_name()?;
            names::enter(&end.own_name);
        }
        (0..ROOMS).try_for_each(|room| end.open_room(room))?;
        Ok(end)
    }

    /// Gives a room for the next message.
    fn open_room(&self, room: usize) -> Result<(), FabricError> {
        let len = MESSAGE * 8;
        // SAFETY: the room is inside registered memory that stays as long as the end, and nothing is on its way into it.
        let code = unsafe {
            let place = self.own.rooms.memory().start().add(room * len).cast();
            let context = ptr::without_provenance_mut(room + 1);
            ((*(*self.own.object).msg).recv)(
                self.own.object,
                place,
                len,
                self.own.rooms.description(),
                self.peer,
                context,
            )
        };
        if code == 0 { Ok(()) } else { Err(self.own.card.trouble("fi_recv", code_of(code))) }
    }

    /// Asks to be connected, with a token.
    pub(crate) fn connect(&self, token: &[u8]) -> Result<(), FabricError> {
        // SAFETY: the end is open, and the address is the library's own.
        let code = unsafe {
            let to = (*self.own.card.infos.first).dest_addr;
            ((*(*self.own.object).cm).connect)(self.own.object, to, token.as_ptr().cast(), token.len())
        };
        if code == 0 { Ok(()) } else { Err(self.own.card.trouble("fi_connect", code)) }
    }

    /// Agrees to be connected.
    pub(crate) fn accept(&self) -> Result<(), FabricError> {
        // SAFETY: the end is open and was asked for.
        let code = unsafe { ((*(*self.own.object).cm).accept)(self.own.object, ptr::null(), 0) };
        if code == 0 { Ok(()) } else { Err(self.own.card.trouble("fi_accept", code)) }
    }

    /// Learns the name of the other end.
    pub(crate) fn learn(&mut self, name: &str) -> Result<(), FabricError> {
        let text = std::ffi::CString::new(name)
            .map_err(|_| FabricError::new(FabricErrorKind::Setting, "the name of an end holds a zero"))?;
        let (known, peer) = (self.own.card.names, &raw mut self.peer);
        // SAFETY: the list of names is open, and there is room for one number.
        let insert = || unsafe { ((*(*known).ops).insert)(known, text.as_ptr().cast(), 1, peer, 0, ptr::null_mut()) };
        match names::learn(&self.own_name, name, insert) {
            Some(1) => Ok(()),
            None | Some(0) => Err(gone()),
            Some(code) => Err(self.own.card.trouble("fi_av_insert", code)),
        }
    }

    /// Waits until the ends are connected.
    pub(crate) fn connected(&self, deadline: Instant, given_up: &dyn Fn() -> bool) -> Result<(), FabricError> {
        while Instant::now() < deadline && !given_up() {
            match self.own.card.event(&mut empty(), true)? {
                Some((abi::CONNECTED, _)) => return Ok(()),
                Some((abi::SHUTDOWN, _)) => return Err(gone()),
                _ => {}
            }
        }
        Err(late("the other side did not answer"))
    }

    /// The card.
    pub(crate) fn card(&self) -> &Card {
        &self.own.card
    }

    /// The name of this end, where ends have names.
    pub(crate) fn name(&self) -> &str {
        &self.own_name
    }

    fn ask_name(&self) -> Result<String, FabricError> {
        let (bytes, len) = self.address_bytes()?;
        let text = bytes.get(..len).unwrap_or(&bytes).split(|&byte| byte == 0).next().unwrap_or_default();
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    fn address_bytes(&self) -> Result<([u8; 256], usize), FabricError> {
        // SAFETY: the end is open.
        unsafe { address_bytes(self.own.object.cast(), (*self.own.object).cm, &self.own.card) }
    }

    /// Writes a part of registered memory to the other side, which hears `data`.
    pub(crate) fn write(
        &mut self,
        region: &Region,
        from: std::ops::Range<usize>,
        to: (u64, u64),
        data: u32,
        seen: &mut dyn FnMut(Seen),
    ) -> Result<(), FabricError> {
        region.memory().check(&from);
        let (address, key) = to;
        self.until_taken("fi_writedata", seen, |end| {
            // SAFETY: the part is inside registered memory, which stays until the write has ended: the caller keeps the region.
            unsafe {
                let start = region.memory().start().add(from.start).cast();
                let write = (*(*end.own.object).rma).writedata;
                let (description, none) = (region.description(), ptr::null_mut());
                write(end.own.object, start, from.len(), description, u64::from(data), end.peer, address, key, none)
            }
        })
    }

    /// Writes a few numbers to the other side, before whatever is written afterwards.
    pub(crate) fn write_words(
        &mut self,
        words: &[u64; 4],
        (address, key): (u64, u64),
        seen: &mut dyn FnMut(Seen),
    ) -> Result<(), FabricError> {
        self.until_taken("fi_inject_write", seen, |end| {
            // SAFETY: the numbers are copied before the call returns.
            unsafe {
                let inject = (*(*end.own.object).rma).inject;
                inject(end.own.object, words.as_ptr().cast(), size_of_val(words), end.peer, address, key)
            }
        })
    }

    /// Sends a message, unless the library has no room for it now. Whether it was sent.
    pub(crate) fn try_say(&mut self, words: &[u64]) -> Result<bool, FabricError> {
        assert!(words.len() <= MESSAGE, "a message has {MESSAGE} numbers");
        match self.inject(words) {
            0 => Ok(true),
            code if code == -libc::EAGAIN => Ok(false),
            _ if self.gone => Err(gone()),
            code => Err(self.own.card.trouble("fi_inject", code)),
        }
    }

    fn inject(&self, words: &[u64]) -> c_int {
        // SAFETY: the numbers are copied before the call returns.
        let code = unsafe {
            let inject = (*(*self.own.object).msg).inject;
            inject(self.own.object, words.as_ptr().cast(), size_of_val(words), self.peer)
        };
        code_of(code)
    }

    /// Sends a message.
    pub(crate) fn say(&mut self, words: &[u64], seen: &mut dyn FnMut(Seen)) -> Result<(), FabricError> {
        assert!(words.len() <= MESSAGE, "a message has {MESSAGE} numbers");
        self.until_taken("fi_inject", seen, |end| end.inject(words) as isize)
    }

    /// Does it again while the library has no room, and drives what is on its way. `seen` hears what is seen meanwhile.
    fn until_taken(
        &mut self,
        call: &str,
        seen: &mut dyn FnMut(Seen),
        post: impl Fn(&End) -> isize,
    ) -> Result<(), FabricError> {
        let mut since = Instant::now();
        loop {
            match code_of(post(self)) {
                0 => return Ok(()),
                code if code == -libc::EAGAIN => match self.look(Duration::ZERO)? {
                    Some(news) => {
                        since = Instant::now();
                        seen(news);
                    }
                    None if since.elapsed() > STUCK => return Err(late("the other side of the ring made no room")),
                    None => pause(),
                },
                _ if self.gone => return Err(gone()),
                code => return Err(self.own.card.trouble(call, code)),
            }
        }
    }

    /// What comes next, if it comes within `limit`. What came before the other side went is seen before that is an error.
    pub(crate) fn look(&mut self, limit: Duration) -> Result<Option<Seen>, FabricError> {
        if let Some(seen) = self.look_once(0)? {
            return Ok(Some(seen));
        }
        if limit.is_zero() {
            return Ok(None);
        }
        let waits = !self.busy && self.own.card.provider.connects();
        let began = Instant::now();
        loop {
            let waited = began.elapsed();
            if waited >= limit {
                return Ok(None);
            }
            let wait = match waits && !self.gone {
                true => c_int::try_from((limit - waited).as_millis()).unwrap_or(c_int::MAX).clamp(1, TICK),
                false => 0,
            };
            if let Some(seen) = self.look_once(wait)? {
                return Ok(Some(seen));
            }
            self.check_connection()?;
            if !waits {
                pause();
            }
        }
    }

    /// What comes next, if it comes within so many milliseconds.
    fn look_once(&mut self, milliseconds: c_int) -> Result<Option<Seen>, FabricError> {
        loop {
            let completion = self.own.card.completion(milliseconds).inspect_err(|_| self.gone = true)?;
            match completion {
                None => return Ok(None),
                Some(entry) => match self.understand(&entry)? {
                    Some(seen) => return Ok(Some(seen)),
                    None => continue,
                },
            }
        }
    }

    /// Whether the connection has ended. What came before that is seen first.
    fn check_connection(&mut self) -> Result<(), FabricError> {
        if self.gone {
            return Err(gone());
        }
        let event = self.own.card.event(&mut empty(), false);
        self.gone = matches!(event, Ok(Some((abi::SHUTDOWN, _))) | Err(_));
        Ok(())
    }

    /// What a completion says; nothing if it says nothing.
    fn understand(&self, entry: &CqEntry) -> Result<Option<Seen>, FabricError> {
        let room = entry.context.addr().checked_sub(1).filter(|&room| room < ROOMS);
        let seen = match entry.flags {
            flags if flags & abi::REMOTE_CQ_DATA != 0 => Some(Seen::Arrived(entry.data as u32)),
            flags if flags & abi::RECV != 0 => {
                room.map(|room| Seen::Message(self.own.rooms.memory().words(room * MESSAGE * 8)))
            }
            flags if flags & abi::WRITE != 0 => return Ok(Some(Seen::Written)),
            _ => None,
        };
        // With some providers, what comes with a write takes a room too.
        if let Some(room) = room {
            self.open_room(room)?;
        }
        Ok(seen)
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // SAFETY: taken once.
        let own = unsafe { ManuallyDrop::take(&mut self.own) };
        match own.card.provider.connects() {
            true => drop(own),
            false => names::leave(&self.own_name, Box::new(own)),
        }
    }
}

fn code_of(code: isize) -> c_int {
    c_int::try_from(code).unwrap_or(-libc::EIO)
}

/// The address of an object.
///
/// # Safety
/// It is open, and these are its calls.
unsafe fn address_bytes(
    object: *mut abi::Fid,
    calls: *const abi::OpsCm,
    card: &Card,
) -> Result<([u8; 256], usize), FabricError> {
    let mut bytes = [0; 256];
    let mut len = bytes.len();
    // SAFETY: the caller's contract, and there is as much room as is said.
    let code = unsafe { ((*calls).getname)(object, bytes.as_mut_ptr().cast::<c_void>(), &raw mut len) };
    if code == 0 { Ok((bytes, len)) } else { Err(card.trouble("fi_getname", code)) }
}

/// Where a listening object listens.
///
/// # Safety
/// It is open.
pub(crate) unsafe fn socket_address(object: *mut abi::FidPep, card: &Card) -> Result<SocketAddr, FabricError> {
    // SAFETY: the caller's contract.
    let (bytes, _) = unsafe { address_bytes(object.cast(), (*object).cm, card)? };
    let family = c_int::from(u16::from_ne_bytes([bytes[0], bytes[1]]));
    let port = u16::from_be_bytes([bytes[2], bytes[3]]);
    let ip = match family {
        libc::AF_INET => bytes[4..8].try_into().map(|ip: [u8; 4]| IpAddr::V4(Ipv4Addr::from(ip))).ok(),
        libc::AF_INET6 => bytes[8..24].try_into().map(|ip: [u8; 16]| IpAddr::V6(Ipv6Addr::from(ip))).ok(),
        _ => None,
    };
    let ip = ip.ok_or_else(|| card.library.refused("fi_getname", -libc::EAFNOSUPPORT))?;
    Ok(SocketAddr::new(ip, port))
}
