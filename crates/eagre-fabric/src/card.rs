//! What the library opens for one connection: a domain, its queues, and registered memory.

use std::cell::Cell;
use std::ffi::c_int;
use std::mem::{self, ManuallyDrop, offset_of};
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use crate::abi::{
    self, AvAttr, CqAttr, CqEntry, CqError, EqAttr, EqEntry, EqError, Fid, FidAv, FidCq, FidDomain, FidEp, FidEq,
    FidFabric, FidMr, Info,
};
use crate::error::{FabricError, FabricErrorKind};
use crate::library::{Fabric, Infos};
use crate::memory::Memory;
use crate::provider::Provider;
use crate::random::random;

/// How long a wait for events lasts before it looks up, in milliseconds.
const TICK: c_int = 50;
/// Completions that a queue has room for.
const QUEUE: usize = 1 << 10;

/// What has been opened: each is closed after what uses it. One thread at a time uses it.
pub(crate) struct Card {
    pub(crate) library: Fabric,
    pub(crate) provider: Provider,
    pub(crate) infos: Infos,
    pub(crate) fabric: *mut FidFabric,
    pub(crate) events: *mut FidEq,
    domain: *mut FidDomain,
    completions: *mut FidCq,
    /// Names of other ends, where ends do not connect.
    pub(crate) names: *mut FidAv,
    /// The next remote key, where the library does not choose them: nobody guesses where they begin.
    key: Cell<u64>,
}

// SAFETY: the library is asked for objects that one thread at a time may use, whichever it is (FI_THREAD_DOMAIN).
unsafe impl Send for Card {}

/// Closes an object of the library's, and tells whether it is closed. Null is.
///
/// # Safety
/// It is null or open, begins with a `Fid`, and is not used any more.
pub(crate) unsafe fn close<T>(object: *mut T) -> bool {
    let fid: *mut Fid = object.cast();
    // SAFETY: the caller's contract; every open object has its table of calls.
    fid.is_null() || unsafe { ((*(*fid).ops).close)(fid) } == 0
}

impl Card {
    pub(crate) fn open(library: &Fabric, provider: Provider, infos: Infos) -> Result<Card, FabricError> {
        let key = u64::from_le_bytes(random()?);
        let fabric = library.fabric(&infos)?;
        let mut card = Card {
            library: *library,
            provider,
            infos,
            fabric,
            events: ptr::null_mut(),
            domain: ptr::null_mut(),
            completions: ptr::null_mut(),
            names: ptr::null_mut(),
            key: Cell::new(key),
        };
        let wait = if provider.connects() { abi::WAIT_UNSPEC } else { abi::WAIT_NONE };
        let mut eq = EqAttr { size: 0, flags: 0, wait: abi::WAIT_UNSPEC, vector: 0, set: ptr::null_mut() };
        let mut cq = CqAttr {
            size: QUEUE,
            flags: 0,
            format: abi::CQ_FORMAT_DATA,
            wait,
            vector: 0,
            cond: 0,
            set: ptr::null_mut(),
        };
        let mut av = AvAttr {
            kind: abi::AV_TABLE,
            rx_ctx_bits: 0,
            count: 1,
            ep_per_node: 0,
            name: ptr::null(),
            map_addr: ptr::null_mut(),
            flags: 0,
        };
        let (null, info) = (ptr::null_mut(), card.infos.first);
        let done = |call: &str, code: c_int| if code == 0 { Ok(()) } else { Err(library.refused(call, code)) };
        // SAFETY: each object is open when it is used, and has its table of calls; attributes are whole. What was opened before
        // something is refused is closed when the card is dropped.
        unsafe {
            if provider.connects() {
                done("fi_eq_open", ((*(*fabric).ops).eq_open)(fabric, &raw mut eq, &raw mut card.events, null))?;
            }
            done("fi_domain", ((*(*fabric).ops).domain)(fabric, info, &raw mut card.domain, null))?;
            let domain = card.domain;
            done("fi_cq_open", ((*(*domain).ops).cq_open)(domain, &raw mut cq, &raw mut card.completions, null))?;
            if !provider.connects() {
                done("fi_av_open", ((*(*domain).ops).av_open)(domain, &raw mut av, &raw mut card.names, null))?;
            }
        }
        Ok(card)
    }

    /// Registers a part of some memory for this access.
    pub(crate) fn register(
        &self,
        memory: &Arc<Memory>,
        range: Range<usize>,
        access: u64,
    ) -> Result<Region, FabricError> {
        memory.check(&range);
        let (mut object, key) = (ptr::null_mut(), self.key.get());
        self.key.set(key.wrapping_add(1));
        // SAFETY: the domain is open, and the part is inside the memory, which stays until the region is closed.
        let code = unsafe {
            let (domain, start) = (self.domain, memory.start().add(range.start).cast());
            ((*(*domain).mr).reg)(
                domain.cast(),
                start,
                range.len(),
                access,
                0,
                key,
                0,
                &raw mut object,
                ptr::null_mut(),
            )
        };
        if code != 0 {
            return Err(self.not_registered(code, range.len()));
        }
        // SAFETY: the list is there.
        let by_address = unsafe { (*(*self.infos.first).domain_attr).mr_mode } & abi::MR_VIRT_ADDR != 0;
        Ok(Region { object, start: range.start, by_address, memory: ManuallyDrop::new(memory.clone()) })
    }

    fn not_registered(&self, code: c_int, len: usize) -> FabricError {
        let error = self.library.refused("fi_mr_reg", code);
        match -code {
            libc::ENOMEM | libc::EAGAIN | libc::EPERM => FabricError::new(
                FabricErrorKind::Refused,
                format_args!("{error} ({len} bytes); raise `ulimit -l`, which limits memory that cards may use"),
            ),
            _ => error,
        }
    }

    /// An end, not connected.
    pub(crate) fn endpoint(&self, info: *mut Info) -> Result<*mut FidEp, FabricError> {
        let mut end = ptr::null_mut();
        // SAFETY: everything is open; the info is the library's. On an error the end is closed and not used.
        unsafe {
            let code = ((*(*self.domain).ops).endpoint)(self.domain, info, &raw mut end, ptr::null_mut());
            if code != 0 {
                return Err(self.library.refused("fi_endpoint", code));
            }
            let fid: *mut Fid = end.cast();
            let ops = (*fid).ops;
            let other: *mut Fid = if self.provider.connects() { self.events.cast() } else { self.names.cast() };
            let mut code = ((*ops).bind)(fid, other, 0);
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
    pub(crate) fn event(&self, entry: &mut EqEntry, wait: bool) -> Result<Option<(u32, usize)>, FabricError> {
        if self.events.is_null() {
            return Ok(None);
        }
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

    /// The next completion, if there is one within so many milliseconds.
    pub(crate) fn completion(&self, milliseconds: c_int) -> Result<Option<CqEntry>, FabricError> {
        let mut entry = CqEntry { context: ptr::null(), flags: 0, len: 0, buf: ptr::null(), data: 0 };
        // SAFETY: the queue is open, and there is room for one entry.
        let read = unsafe {
            let (queue, ops) = (self.completions, (*self.completions).ops);
            let place = ptr::from_mut(&mut entry).cast();
            match milliseconds {
                0 => ((*ops).read)(queue, place, 1),
                _ => ((*ops).sread)(queue, place, 1, ptr::null(), milliseconds),
            }
        };
        match c_int::try_from(read).unwrap_or(-libc::EIO) {
            1 => Ok(Some(entry)),
            code if [0, -libc::EAGAIN, -libc::EINTR, -libc::ETIMEDOUT].contains(&code) => Ok(None),
            code if i64::from(code) == -abi::EAVAIL => Err(self.failed()),
            code => Err(self.library.refused("fi_cq_read", code)),
        }
    }

    /// Why something on its way did not get there.
    fn failed(&self) -> FabricError {
        // SAFETY: zeros are such an entry, and the queue is open.
        let error = unsafe {
            let mut error: CqError = mem::zeroed();
            ((*(*self.completions).ops).readerr)(self.completions, &raw mut error, 0);
            error.err
        };
        self.trouble("transfer", -error)
    }

    /// A call for a connection failed, with this code, less than zero.
    pub(crate) fn trouble(&self, call: &str, code: c_int) -> FabricError {
        match -code {
            libc::ECANCELED
            | libc::ECONNRESET
            | libc::ECONNABORTED
            | libc::ENOTCONN
            | libc::EPIPE
            | libc::EIO
            | libc::ESHUTDOWN
            | libc::ESRCH => gone(),
            _ => self.library.refused(call, code),
        }
    }
}

/// The other side is.
pub(crate) fn gone() -> FabricError {
    FabricError::new(FabricErrorKind::Gone, "the other side of the ring is gone")
}

impl Drop for Card {
    fn drop(&mut self) {
        // SAFETY: nobody uses these any more, and what uses each is closed before it.
        unsafe {
            close(self.names);
            close(self.completions);
            close(self.domain);
            close(self.events);
            close(self.fabric);
        }
    }
}

/// Registered memory: its pages are pinned as long as this lives. It goes before its card.
pub(crate) struct Region {
    object: *mut FidMr,
    start: usize,
    by_address: bool,
    memory: ManuallyDrop<Arc<Memory>>,
}

// SAFETY: as for the card.
unsafe impl Send for Region {}

impl Region {
    /// The memory that a part of is registered.
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// What the library wants to see for memory of this side.
    pub(crate) fn description(&self) -> *mut std::ffi::c_void {
        // SAFETY: the region is open.
        unsafe { (*self.object).desc }
    }

    /// How the other side calls byte `at` of the memory: address and key.
    pub(crate) fn named(&self, at: usize) -> (u64, u64) {
        // SAFETY: the region is open.
        let key = unsafe { (*self.object).key };
        let base = if self.by_address { self.memory.start().expose_provenance() + self.start } else { 0 };
        ((base + at - self.start) as u64, key)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more. Memory that is still registered stays.
        unsafe {
            if close(self.object) {
                ManuallyDrop::drop(&mut self.memory);
            }
        }
    }
}
