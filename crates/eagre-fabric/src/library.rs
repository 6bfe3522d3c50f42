//! The library, opened, and what it has.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::{mem, ptr};

use crate::abi::{self, FabricAttr, FidFabric, Info};
use crate::error::{FabricError, FabricErrorKind};

type GetInfo = unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const Info, *mut *mut Info) -> c_int;

/// `libfabric.so.1`, opened. It stays open until the program ends.
#[derive(Clone, Copy, Debug)]
pub struct Fabric {
    getinfo: GetInfo,
    freeinfo: unsafe extern "C" fn(*mut Info),
    dupinfo: unsafe extern "C" fn(*const Info) -> *mut Info,
    open: unsafe extern "C" fn(*mut FabricAttr, *mut *mut FidFabric, *mut c_void) -> c_int,
    strerror: unsafe extern "C" fn(c_int) -> *const c_char,
    version: u32,
}

/// A way to other hosts that libfabric knows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Provider {
    /// The name, as `tcp`, `verbs` or `shm`.
    pub name: String,
    /// The device, as `eth0` or `mlx5_0`.
    pub device: String,
}

impl Fabric {
    /// Opens libfabric.
    ///
    /// # Errors
    /// [`FabricErrorKind::Missing`] if it is not installed or too old.
    pub fn open() -> Result<Fabric, FabricError> {
        let missing = |why: &str| {
            FabricError::new(
                FabricErrorKind::Missing,
                format_args!("{why}; install libfabric 1.14 or newer (Debian: libfabric1)"),
            )
        };
        // SAFETY: the name ends with a zero. The library's constructors only set up its own state.
        let handle = unsafe { libc::dlopen(c"libfabric.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(missing("libfabric.so.1 cannot be opened"));
        }
        let find = |name: &CStr, version: &CStr| {
            // SAFETY: the handle is open, and both names end with a zero.
            let symbol = unsafe { libc::dlvsym(handle, name.as_ptr(), version.as_ptr()) };
            if symbol.is_null() { Err(missing("libfabric.so.1 lacks what is needed")) } else { Ok(symbol) }
        };
        let version = find(c"fi_version", c"FABRIC_1.0")?;
        // SAFETY: these symbols, in these versions, are functions of these types; fi_version takes nothing and can always be called.
        let fabric = unsafe {
            Fabric {
                getinfo: mem::transmute::<*mut c_void, GetInfo>(find(c"fi_getinfo", c"FABRIC_1.3")?),
                freeinfo: mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut Info)>(find(
                    c"fi_freeinfo",
                    c"FABRIC_1.3",
                )?),
                dupinfo: mem::transmute::<*mut c_void, unsafe extern "C" fn(*const Info) -> *mut Info>(find(
                    c"fi_dupinfo",
                    c"FABRIC_1.3",
                )?),
                open: mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(*mut FabricAttr, *mut *mut FidFabric, *mut c_void) -> c_int,
                >(find(c"fi_fabric", c"FABRIC_1.1")?),
                strerror: mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> *const c_char>(find(
                    c"fi_strerror",
                    c"FABRIC_1.0",
                )?),
                version: mem::transmute::<*mut c_void, unsafe extern "C" fn() -> u32>(version)(),
            }
        };
        match fabric.version >= abi::VERSION {
            true => Ok(fabric),
            false => Err(missing("libfabric.so.1 is too old")),
        }
    }

    /// The providers that work here, each with its devices, in order.
    ///
    /// # Errors
    /// [`FabricErrorKind::Refused`] if libfabric cannot tell.
    pub fn providers(&self) -> Result<Vec<Provider>, FabricError> {
        let infos = self.info(None, 0, ptr::null())?;
        let mut providers = Vec::new();
        let mut next = infos.first;
        while !next.is_null() {
            // SAFETY: the list is the library's, ends with null, and is freed after this. Its attributes are there, and names are
            // null or end with a zero.
            unsafe {
                let info = &*next;
                providers.push(Provider {
                    name: text((*info.fabric_attr).prov_name),
                    device: text((*info.domain_attr).name),
                });
                next = info.next;
            }
        }
        providers.sort();
        providers.dedup();
        Ok(providers)
    }

    /// What a connection through the provider `tcp` needs, at or to an address.
    pub(crate) fn connections(&self, address: std::net::SocketAddr, flags: u64) -> Result<Infos, FabricError> {
        // SAFETY: null asks for an empty one.
        let hints = unsafe { (self.dupinfo)(ptr::null()) };
        if hints.is_null() {
            return Err(self.refused("fi_allocinfo", -libc::ENOMEM));
        }
        let hints = Infos { first: hints, free: self.freeinfo };
        // SAFETY: it is a fresh one with all its attributes, ours alone until it is freed. The library frees the name.
        unsafe {
            let info = &mut *hints.first;
            info.caps = abi::MSG | abi::RMA;
            (*info.ep_attr).kind = abi::EP_MSG;
            (*info.tx_attr).msg_order = abi::ORDER_WAW;
            (*info.domain_attr).threading = abi::THREAD_DOMAIN;
            (*info.domain_attr).mr_mode = abi::MR_LOCAL | abi::MR_VIRT_ADDR | abi::MR_ALLOCATED | abi::MR_PROV_KEY;
            (*info.domain_attr).cq_data_size = 4;
            (*info.fabric_attr).prov_name = libc::strdup(c"tcp".as_ptr());
        }
        let infos = self.info(Some(address), flags | abi::NUMERICHOST, hints.first)?;
        if infos.first.is_null() { Err(self.refused("fi_getinfo", -libc::ENODATA)) } else { Ok(infos) }
    }

    fn info(
        &self,
        address: Option<std::net::SocketAddr>,
        flags: u64,
        hints: *const Info,
    ) -> Result<Infos, FabricError> {
        let none = |_| FabricError::new(FabricErrorKind::Setting, "an address holds a zero");
        let node = address.map(|at| CString::new(at.ip().to_string())).transpose().map_err(none)?;
        let service = address.map(|at| CString::new(at.port().to_string())).transpose().map_err(none)?;
        let pointer = |text: &Option<CString>| text.as_ref().map_or(ptr::null(), |text| text.as_ptr());
        let mut first = ptr::null_mut();
        // SAFETY: texts end with a zero, hints are null or whole, and there is room for the answer.
        let code =
            unsafe { (self.getinfo)(abi::VERSION, pointer(&node), pointer(&service), flags, hints, &raw mut first) };
        match code {
            0 => Ok(Infos { first, free: self.freeinfo }),
            code if code == -libc::ENODATA => Ok(Infos { first: ptr::null_mut(), free: self.freeinfo }),
            code => Err(self.refused("fi_getinfo", code)),
        }
    }

    /// Takes over what the library has allocated.
    pub(crate) fn adopt(&self, first: *mut Info) -> Infos {
        Infos { first, free: self.freeinfo }
    }

    pub(crate) fn fabric(&self, infos: &Infos) -> Result<*mut FidFabric, FabricError> {
        let mut fabric = ptr::null_mut();
        // SAFETY: the list is not empty and has its attributes.
        let code = unsafe { (self.open)((*infos.first).fabric_attr, &raw mut fabric, ptr::null_mut()) };
        if code == 0 { Ok(fabric) } else { Err(self.refused("fi_fabric", code)) }
    }

    /// The library refused a call with this code, less than zero.
    pub(crate) fn refused(&self, call: &str, code: c_int) -> FabricError {
        // SAFETY: any number has a text that stays.
        let why = unsafe { text((self.strerror)(code.saturating_neg())) };
        FabricError::new(FabricErrorKind::Refused, format_args!("libfabric's {call} failed: {why}"))
    }
}

/// A text of the library's, or nothing.
///
/// # Safety
/// It is null or ends with a zero.
unsafe fn text(pointer: *const c_char) -> String {
    match pointer.is_null() {
        true => String::new(),
        // SAFETY: the caller's contract.
        false => unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned(),
    }
}

/// A list that the library made.
pub(crate) struct Infos {
    pub(crate) first: *mut Info,
    free: unsafe extern "C" fn(*mut Info),
}

// SAFETY: it is plain memory of the heap that one owner uses.
unsafe impl Send for Infos {}

impl Drop for Infos {
    fn drop(&mut self) {
        if !self.first.is_null() {
            // SAFETY: the library made it, and nobody uses it any more.
            unsafe { (self.free)(self.first) }
        }
    }
}
