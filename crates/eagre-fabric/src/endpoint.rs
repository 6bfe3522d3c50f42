//! Connections, registrations and completions.

use std::ffi::c_int;
use std::mem::{self, ManuallyDrop, offset_of};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ptr;
use std::time::{Duration, Instant};

use crate::abi::{
    self, CqAttr, CqEntry, CqError, EqAttr, EqEntry, EqError, Fid, FidCq, FidDomain, FidEp, FidEq, FidFabric, FidMr,
    FidPep, Info,
};
use crate::error::{FabricError, FabricErrorKind};
use crate::library::{Fabric, Infos};
use crate::memory::Memory;

/// How long a wait lasts before it looks up, in milliseconds.
const TICK: c_int = 50;
/// Completions that a queue has room for.
const QUEUE: usize = 1 << 11;
/// A connection has one peer: addresses of calls are not looked at.
const PEER: u64 = u64::MAX;

/// What the library has opened for one ring: each is closed after what uses it. One thread at a time uses it.
struct Card {
    library: Fabric,
    infos: Infos,
    fabric: *mut FidFabric,
    events: *mut FidEq,
    domain: *mut FidDomain,
    completions: *mut FidCq,
    region: *mut FidMr,
    memory: ManuallyDrop<Memory>,
}

// SAFETY: the library is asked for objects that one thread at a time may use, whichever it is (FI_THREAD_DOMAIN).
unsafe impl Send for Card {}

/// Closes an object of the library's, and tells whether it is closed. Null is.
///
/// # Safety
/// It is null or open, begins with a `Fid`, and is not used any more.
unsafe fn close<T>(object: *mut T) -> bool {
    let fid: *mut Fid = object.cast();
    // SAFETY: the caller's contract; every open object has its table of calls.
    fid.is_null() || unsafe { ((*(*fid).ops).close)(fid) } == 0
}

impl Card {
    /// Opens what a ring needs, and registers its memory: once.
    fn open(library: &Fabric, infos: Infos, memory: Memory, access: u64) -> Result<Card, FabricError> {
        let fabric = library.fabric(&infos)?;
        let mut card = Card {
            library: *library,
            infos,
            fabric,
            events: ptr::null_mut(),
            domain: ptr::null_mut(),
            completions: ptr::null_mut(),
            region: ptr::null_mut(),
            memory: ManuallyDrop::new(memory),
        };
        let mut eq = EqAttr { size: 0, flags: 0, wait: abi::WAIT_UNSPEC, vector: 0, set: ptr::null_mut() };
        let mut cq = CqAttr {
            size: QUEUE,
            flags: 0,
            format: abi::CQ_FORMAT_DATA,
            wait: abi::WAIT_UNSPEC,
            vector: 0,
            cond: 0,
            set: ptr::null_mut(),
        };
        let (null, info, refused) = (ptr::null_mut(), card.infos.first, |call: &str, code| library.refused(call, code));
        let done = |call: &str, code: c_int| if code == 0 { Ok(()) } else { Err(refused(call, code)) };
        // SAFETY: each object is open when it is used, and has its table of calls; attributes are whole. The memory stays until the
        // region is closed. What was opened before something is refused is closed when the card is dropped.
        unsafe {
            let code = ((*(*fabric).ops).eq_open)(fabric, &raw mut eq, &raw mut card.events, null);
            done("fi_eq_open", code)?;
            let code = ((*(*fabric).ops).domain)(fabric, info, &raw mut card.domain, null);
            done("fi_domain", code)?;
            let domain = card.domain;
            let code = ((*(*domain).ops).cq_open)(domain, &raw mut cq, &raw mut card.completions, null);
            done("fi_cq_open", code)?;
            let (start, len) = (card.memory.start().cast(), card.memory.len());
            let register = (*(*domain).mr).reg;
            let code = register(domain.cast(), start, len, access, 0, 0, 0, &raw mut card.region, null);
            done("fi_mr_reg", code)?;
        }
        Ok(card)
    }

    /// The remote key of the memory, and the address it begins at for others.
    fn exposed(&self) -> (u64, u64) {
        // SAFETY: the region and the list are there.
        let (key, mode) = unsafe { ((*self.region).key, (*(*self.infos.first).domain_attr).mr_mode) };
        (key, if mode & abi::MR_VIRT_ADDR != 0 { self.memory.start() as u64 } else { 0 })
    }

    /// An end of a connection, not connected.
    fn endpoint(&self, info: *mut Info) -> Result<*mut FidEp, FabricError> {
        let mut end = ptr::null_mut();
        // SAFETY: everything is open; the info is the library's. On an error the end is closed and not used.
        unsafe {
            let code = ((*(*self.domain).ops).endpoint)(self.domain, info, &raw mut end, ptr::null_mut());
            if code != 0 {
                return Err(self.library.refused("fi_endpoint", code));
            }
            let fid: *mut Fid = end.cast();
            let ops = (*fid).ops;
            let mut code = ((*ops).bind)(fid, self.events.cast(), 0);
            if code == 0 {
                code = ((*ops).bind)(fid, self.completions.cast(), abi::SEND | abi::RECV);
            }
            if code == 0 {
                code = ((*ops).control)(fid, abi::ENABLE, ptr::null_mut());
            }
            if code != 0 {
                close(end);
                return Err(self.library.refused("fi_enable", code));
            }
        }
        Ok(end)
    }

    /// The next event of connections, if one comes soon: which, and how many bytes of the entry are its data.
    fn event(&self, entry: &mut EqEntry, wait: bool) -> Result<Option<(u32, usize)>, FabricError> {
        let (mut event, size) = (0, mem::size_of::<EqEntry>());
        // SAFETY: the queue is open, and the entry has room for what it is said to.
        let read = unsafe {
            let (queue, ops) = (self.events, (*self.events).ops);
            let place = ptr::from_mut(entry).cast();
            match wait {
                true => ((*ops).sread)(queue, &raw mut event, place, size, TICK, 0),
                false => ((*ops).read)(queue, &raw mut event, place, size, 0),
            }
        };
        if read >= 0 {
            return Ok(Some((event, (read as usize).saturating_sub(offset_of!(EqEntry, data)))));
        }
        match c_int::try_from(read).unwrap_or(-libc::EIO) {
            code if code == -libc::EAGAIN || code == -libc::EINTR || code == -libc::ETIMEDOUT => Ok(None),
            code if i64::from(code) == -abi::EAVAIL => {
                // SAFETY: zeros are such an entry, and the queue is open.
                let code = unsafe {
                    let mut error: EqError = mem::zeroed();
                    ((*(*self.events).ops).readerr)(self.events, &raw mut error, 0);
                    error.err
                };
                Err(FabricError::new(FabricErrorKind::Gone, self.library.refused("connection", -code)))
            }
            code => Err(self.library.refused("fi_eq_sread", code)),
        }
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        // SAFETY: nobody uses these any more, and what uses each is closed before it. Memory that is still registered stays.
        unsafe {
            if close(self.region) {
                ManuallyDrop::drop(&mut self.memory);
            }
            close(self.completions);
            close(self.domain);
            close(self.events);
            close(self.fabric);
        }
    }
}

fn late(what: &str) -> FabricError {
    FabricError::new(FabricErrorKind::Late, format_args!("{what} in time"))
}

/// An entry without anything.
fn empty() -> EqEntry {
    EqEntry { fid: ptr::null_mut(), info: ptr::null_mut(), data: [0; 64] }
}

/// Memory that waits for another host to connect.
pub(crate) struct Listening {
    passive: *mut FidPep,
    card: Option<Card>,
}

// SAFETY: as for the card.
unsafe impl Send for Listening {}

impl Listening {
    /// Registers memory that others may write, and listens at an address of this host; port 0 is any.
    pub(crate) fn open(library: &Fabric, address: SocketAddr, memory: Memory) -> Result<Listening, FabricError> {
        let infos = library.connections(address, abi::SOURCE)?;
        let card = Card::open(library, infos, memory, abi::REMOTE_WRITE)?;
        let mut passive = ptr::null_mut();
        let (fabric, events, info) = (card.fabric, card.events, card.infos.first);
        // SAFETY: everything is open; the passive end is closed before the card.
        let (listening, code) = unsafe {
            let mut code = ((*(*fabric).ops).passive_ep)(fabric, info, &raw mut passive, ptr::null_mut());
            let listening = Listening { passive, card: Some(card) };
            if code == 0 {
                code = ((*(*passive).fid.ops).bind)(passive.cast(), events.cast(), 0);
            }
            if code == 0 {
                code = ((*(*passive).cm).listen)(passive);
            }
            (listening, code)
        };
        if code == 0 { Ok(listening) } else { Err(library.refused("fi_listen", code)) }
    }

    fn card(&self) -> &Card {
        self.card.as_ref().expect("it is taken at the end only")
    }

    pub(crate) fn exposed(&self) -> (u64, u64) {
        self.card().exposed()
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> Result<SocketAddr, FabricError> {
        let mut bytes = [0; 64];
        let mut len = bytes.len();
        // SAFETY: the passive end is open, and there is as much room as is said.
        let code =
            unsafe { ((*(*self.passive).cm).getname)(self.passive.cast(), bytes.as_mut_ptr().cast(), &raw mut len) };
        let family = c_int::from(u16::from_ne_bytes([bytes[0], bytes[1]]));
        let port = u16::from_be_bytes([bytes[2], bytes[3]]);
        let ip = match family {
            libc::AF_INET => bytes[4..8].try_into().map(|ip: [u8; 4]| IpAddr::V4(Ipv4Addr::from(ip))).ok(),
            libc::AF_INET6 => bytes[8..24].try_into().map(|ip: [u8; 16]| IpAddr::V6(Ipv6Addr::from(ip))).ok(),
            _ => None,
        };
        match ip {
            Some(ip) if code == 0 => Ok(SocketAddr::new(ip, port)),
            _ => Err(self.card().library.refused("fi_getname", if code == 0 { -libc::EAFNOSUPPORT } else { code })),
        }
    }

    /// Waits for the one who knows the token. Others are turned away.
    pub(crate) fn accept(mut self, token: &[u8], deadline: Instant) -> Result<Connection, FabricError> {
        loop {
            if Instant::now() >= deadline {
                return Err(late("nobody connected to the ring"));
            }
            let mut entry = empty();
            // A caller that gave up is no trouble of ours.
            let Ok(Some((abi::CONNREQ, len))) = self.card().event(&mut entry, true) else { continue };
            let asked = self.card().library.adopt(entry.info);
            // All of it is compared, however early it differs.
            let said = entry.data.get(..len).unwrap_or(&entry.data);
            let knows = said.len() >= token.len()
                && said.iter().zip(token).fold(0, |differs, (one, other)| differs | (one ^ other)) == 0;
            if !knows {
                // SAFETY: the request is the library's, and answered once.
                unsafe { ((*(*self.passive).cm).reject)(self.passive, (*asked.first).handle, ptr::null(), 0) };
                continue;
            }
            let end = self.card().endpoint(asked.first)?;
            // SAFETY: nobody else shall connect; the passive end is not used any more.
            unsafe { close(mem::replace(&mut self.passive, ptr::null_mut())) };
            let connection = Connection {
                end,
                gone: false,
                deadline: Some(deadline),
                card: self.card.take().expect("it is still there"),
            };
            // SAFETY: the end is open and was asked for.
            let code = unsafe { ((*(*end).cm).accept)(end, ptr::null(), 0) };
            if code != 0 {
                return Err(connection.card.library.refused("fi_accept", code));
            }
            return connection.connected(deadline);
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // SAFETY: it is null or open, and not used any more.
        unsafe { close(self.passive) };
    }
}

/// What a wait has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completion {
    /// A block of ours has been written.
    Written,
    /// A message has arrived, in the room that was given first.
    Received,
    /// The other side has written here, and says this.
    Arrived(u64),
    /// Anything else.
    Other,
}

/// A connection, and the memory that it is for.
pub(crate) struct Connection {
    end: *mut FidEp,
    gone: bool,
    /// Until it is connected: by when.
    deadline: Option<Instant>,
    card: Card,
}

// SAFETY: as for the card.
unsafe impl Send for Connection {}

impl Connection {
    /// Registers memory that this side writes from, and connects to who listens. `before`: what has to be done first.
    pub(crate) fn open(
        library: &Fabric,
        address: SocketAddr,
        token: &[u8],
        memory: Memory,
        deadline: Instant,
        before: impl FnOnce(&mut Connection) -> Result<(), FabricError>,
    ) -> Result<Connection, FabricError> {
        let infos = library.connections(address, 0)?;
        let card = Card::open(library, infos, memory, abi::WRITE | abi::RECV | abi::SEND)?;
        let end = card.endpoint(card.infos.first)?;
        let mut connection = Connection { end, gone: false, deadline: Some(deadline), card };
        before(&mut connection)?;
        // SAFETY: the end is open, and the address is the library's own.
        let code = unsafe {
            let to = (*connection.card.infos.first).dest_addr;
            ((*(*end).cm).connect)(end, to, token.as_ptr().cast(), token.len())
        };
        match code {
            0 => connection.connected(deadline),
            code => Err(library.refused("fi_connect", code)),
        }
    }

    fn connected(mut self, deadline: Instant) -> Result<Connection, FabricError> {
        while Instant::now() < deadline {
            match self.card.event(&mut empty(), true)? {
                Some((abi::CONNECTED, _)) => {
                    self.deadline = None;
                    return Ok(self);
                }
                Some((abi::SHUTDOWN, _)) => return Err(self.lost()),
                _ => {}
            }
        }
        Err(late("the other side did not answer"))
    }

    fn lost(&self) -> FabricError {
        FabricError::new(FabricErrorKind::Gone, "the other side of the ring is gone")
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.card.memory
    }

    pub(crate) fn memory_mut(&mut self) -> &mut Memory {
        &mut self.card.memory
    }

    /// Does it again while the library has no room, and drives what is on its way. `seen` hears what completes.
    fn until_taken(
        &mut self,
        call: &str,
        seen: &mut dyn FnMut(Completion),
        mut post: impl FnMut(&Connection) -> isize,
    ) -> Result<(), FabricError> {
        loop {
            match post(self) {
                0 => return Ok(()),
                code if code == -(libc::EAGAIN as isize) => {
                    if let Some(completion) = self.look(Duration::ZERO)? {
                        seen(completion);
                    } else if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                        return Err(late("libfabric made no room for the ring"));
                    } else {
                        std::thread::yield_now();
                    }
                }
                _ if self.gone => return Err(self.lost()),
                code => {
                    let code = c_int::try_from(code).unwrap_or(-libc::EIO);
                    return Err(match -code {
                        libc::ENOTCONN | libc::ECONNRESET | libc::EPIPE | libc::ECONNABORTED | libc::ESHUTDOWN => {
                            self.lost()
                        }
                        _ => self.card.library.refused(call, code),
                    });
                }
            }
        }
    }

    /// Writes a part of our memory to the other side, which hears `data`.
    pub(crate) fn write(
        &mut self,
        from: std::ops::Range<usize>,
        to: u64,
        key: u64,
        data: u32,
        seen: &mut dyn FnMut(Completion),
    ) -> Result<(), FabricError> {
        let start: *const u8 = self.memory().bytes(from.clone()).as_ptr();
        self.until_taken("fi_writedata", seen, |connection| {
            // SAFETY: the part is inside the registered memory, which stays until the end is closed.
            unsafe {
                let (end, desc) = (connection.end, (*connection.card.region).desc);
                let write = (*(*end).rma).writedata;
                write(end, start.cast(), from.len(), desc, u64::from(data), PEER, to, key, ptr::null_mut())
            }
        })
    }

    /// Writes a few numbers to the other side, before whatever is written afterwards.
    pub(crate) fn write_words(
        &mut self,
        words: &[u64; 4],
        to: u64,
        key: u64,
        seen: &mut dyn FnMut(Completion),
    ) -> Result<(), FabricError> {
        self.until_taken("fi_inject_write", seen, |connection| {
            // SAFETY: the numbers are copied before the call returns.
            unsafe {
                let end = connection.end;
                ((*(*end).rma).inject)(end, words.as_ptr().cast(), mem::size_of_val(words), PEER, to, key)
            }
        })
    }

    /// Sends a number.
    pub(crate) fn send(&mut self, number: u64, seen: &mut dyn FnMut(Completion)) -> Result<(), FabricError> {
        self.until_taken("fi_inject", seen, |connection| {
            // SAFETY: the number is copied before the call returns.
            unsafe {
                let end = connection.end;
                ((*(*end).msg).inject)(end, (&raw const number).cast(), mem::size_of::<u64>(), PEER)
            }
        })
    }

    /// Makes room for a number, at a place in the memory that is used for nothing else.
    pub(crate) fn receive(&mut self, at: usize, seen: &mut dyn FnMut(Completion)) -> Result<(), FabricError> {
        let start = self.memory_mut().bytes_mut(at..at + 8).as_mut_ptr();
        self.until_taken("fi_recv", seen, |connection| {
            // SAFETY: the place is inside the registered memory, which stays until the end is closed, and is read when it is filled.
            unsafe {
                let (end, desc) = (connection.end, (*connection.card.region).desc);
                ((*(*end).msg).recv)(end, start.cast(), 8, desc, PEER, ptr::null_mut())
            }
        })
    }

    /// The next completion. None if none comes soon.
    pub(crate) fn next(&mut self) -> Result<Option<Completion>, FabricError> {
        self.look(Duration::from_millis(TICK as u64))
    }

    fn look(&mut self, wait: Duration) -> Result<Option<Completion>, FabricError> {
        loop {
            let wait = if self.gone { 0 } else { wait.as_millis() as c_int };
            // SAFETY: zeros are such an entry; the queue is open and has entries of this kind.
            let (read, entry) = unsafe {
                let mut entry: CqEntry = mem::zeroed();
                let (queue, place) = (self.card.completions, (&raw mut entry).cast());
                let read = match wait {
                    0 => ((*(*queue).ops).read)(queue, place, 1),
                    wait => ((*(*queue).ops).sread)(queue, place, 1, ptr::null(), wait),
                };
                (read, entry)
            };
            if read > 0 {
                return Ok(Some(match entry.flags {
                    flags if flags & abi::REMOTE_CQ_DATA != 0 => Completion::Arrived(entry.data),
                    flags if flags & abi::RECV != 0 => Completion::Received,
                    flags if flags & abi::WRITE != 0 => Completion::Written,
                    _ => Completion::Other,
                }));
            }
            let code = c_int::try_from(read).unwrap_or(-libc::EIO);
            let nothing = code == 0 || [libc::EAGAIN, libc::EINTR, libc::ETIMEDOUT].contains(&-code);
            if !nothing {
                return Err(if i64::from(code) == -abi::EAVAIL {
                    self.failed()
                } else {
                    self.card.library.refused("fi_cq_read", code)
                });
            }
            // What came before the end is read before the end is told.
            if self.gone {
                return Err(self.lost());
            }
            match self.card.event(&mut empty(), false) {
                Ok(Some((abi::SHUTDOWN, _))) | Err(_) => self.gone = true,
                Ok(_) => return Ok(None),
            }
        }
    }

    /// Why something on its way did not get there.
    fn failed(&mut self) -> FabricError {
        // SAFETY: zeros are such an entry, and the queue is open.
        let error = unsafe {
            let mut error: CqError = mem::zeroed();
            ((*(*self.card.completions).ops).readerr)(self.card.completions, &raw mut error, 0);
            error.err
        };
        self.gone = true;
        match error {
            libc::ECANCELED | libc::ECONNRESET | libc::ECONNABORTED | libc::ENOTCONN | libc::EPIPE | libc::EIO => {
                self.lost()
            }
            code => self.card.library.refused("transfer", -code),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: the end is open and not used any more; the card is dropped after this.
        unsafe {
            ((*(*self.end).cm).shutdown)(self.end, 0);
            close(self.end);
        }
    }
}
