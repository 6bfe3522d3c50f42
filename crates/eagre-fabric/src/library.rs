//! The library, opened, and what it has.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::{mem, ptr};

use crate::abi::{self, FabricAttr, FidFabric, Info};
use crate::error::{FabricError, FabricErrorKind};
use crate::provider::Provider;

/// What says who tells the cache of registrations that mappings change. There is nothing for it to do here, and it would do much.
const MONITOR: &str = "FI_MR_CACHE_MONITOR";

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

/// A device that libfabric knows a way through.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Device {
    /// The provider, as `tcp`, `verbs` or `shm`.
    pub provider: String,
    /// The device, as `eth0` or `mlx5_0`.
    pub name: String,
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
        let handle = load();
        if handle.is_null() {
            return Err(missing("libfabric.so.1 cannot be opened"));
        }
        let find = |name: &CStr, version: &CStr| {
            // SAFETY: the handle is open, and both names end with a zero.
            let symbol = unsafe { versioned(handle, name, version) };
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

    /// The version of the library.
    pub fn version(&self) -> (u32, u32) {
        (self.version >> 16, self.version & 0xFFFF)
    }

    /// Whether the provider can be used by this process as it is.
    ///
    /// # Errors
    /// [`FabricErrorKind::Setting`], with the cure.
    pub(crate) fn check(&self, provider: Provider) -> Result<(), FabricError> {
        let disabled = std::env::var_os(MONITOR).is_some_and(|value| value == "disabled");
        if provider == Provider::Verbs && !disabled {
            let text = format_args!(
                "libfabric's cache of registrations would watch every mapping that changes; set {MONITOR}=disabled before the \
                 program starts"
            );
            return Err(FabricError::new(FabricErrorKind::Setting, text));
        }
        Ok(())
    }

    /// The providers that work here, each with its devices, in order.
    ///
    /// # Errors
    /// [`FabricErrorKind::Refused`] if libfabric cannot tell.
    pub fn devices(&self) -> Result<Vec<Device>, FabricError> {
        let infos = self.info(None, 0, ptr::null())?;
        let mut devices = Vec::new();
        let mut next = infos.first;
        while !next.is_null() {
            // SAFETY: the list is the library's, ends with null, and is freed after this. Its attributes are there, and names are
            // null or end with a zero.
            unsafe {
                let info = &*next;
                devices.push(Device {
                    provider: text((*info.fabric_attr).prov_name),
                    name: text((*info.domain_attr).name),
                });
                next = info.next;
            }
        }
        devices.sort();
        devices.dedup();
        Ok(devices)
    }

    /// What a provider needs: for an end at `node` if the flags say [`abi::SOURCE`], or else for one that goes there.
    pub(crate) fn interfaces(
        &self,
        provider: Provider,
        node: &str,
        service: &str,
        flags: u64,
    ) -> Result<Infos, FabricError> {
        // SAFETY: null asks for an empty one.
        let hints = unsafe { (self.dupinfo)(ptr::null()) };
        if hints.is_null() {
            return Err(self.refused("fi_allocinfo", -libc::ENOMEM));
        }
        let hints = Infos { first: hints, free: self.freeinfo };
        let text = |text: &str| {
            CString::new(text).map_err(|_| FabricError::new(FabricErrorKind::Setting, "an address holds a zero"))
        };
        let (name, node, service) = (text(provider.name())?, text(node)?, text(service)?);
        // SAFETY: it is a fresh one with all its attributes, ours alone until it is freed. The library frees the name.
        unsafe {
            let info = &mut *hints.first;
            info.caps = abi::MSG | abi::RMA;
            info.mode = abi::RX_CQ_DATA;
            (*info.ep_attr).kind = if provider.connects() { abi::EP_MSG } else { abi::EP_RDM };
            (*info.tx_attr).msg_order = abi::ORDER_WAW;
            (*info.domain_attr).threading = abi::THREAD_DOMAIN;
            (*info.domain_attr).mr_mode = abi::MR_LOCAL | abi::MR_VIRT_ADDR | abi::MR_ALLOCATED | abi::MR_PROV_KEY;
            (*info.domain_attr).cq_data_size = 4;
            (*info.fabric_attr).prov_name = libc::strdup(name.as_ptr());
        }
        let numeric = if provider.connects() { abi::NUMERICHOST } else { 0 };
        let infos = self.info(Some((&node, &service)), flags | numeric, hints.first)?;
        if infos.first.is_null() {
            let text = format_args!("libfabric has no provider {provider} at {}", node.to_string_lossy());
            return Err(FabricError::new(FabricErrorKind::Missing, text));
        }
        Ok(infos)
    }

    fn info(&self, place: Option<(&CStr, &CStr)>, flags: u64, hints: *const Info) -> Result<Infos, FabricError> {
        let (node, service) =
            place.map_or((ptr::null(), ptr::null()), |(node, service)| (node.as_ptr(), service.as_ptr()));
        let mut first = ptr::null_mut();
        // SAFETY: texts end with a zero, hints are null or whole, and there is room for the answer.
        let code = unsafe { (self.getinfo)(abi::VERSION, node, service, flags, hints, &raw mut first) };
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

/// The signals that a library may want to hear of: it prints where a program broke, and ends it.
const BREAKING: [c_int; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGABRT, libc::SIGFPE, libc::SIGTERM];

/// Loads the library; null if there is none. Libraries for old cards that come with it take signals over as soon as they are loaded,
/// those by which streams notice touches among them: each is given back to whom it belonged.
fn load() -> *mut c_void {
    // SAFETY: zeros are such a setting; signals are valid; the name ends with a zero. What else the library's constructors do is set
    // up its own state.
    unsafe {
        let before = BREAKING.map(|signal| {
            let mut action: libc::sigaction = mem::zeroed();
            (libc::sigaction(signal, ptr::null(), &raw mut action) == 0).then_some(action)
        });
        let handle = libc::dlopen(c"libfabric.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        for (signal, action) in BREAKING.into_iter().zip(&before) {
            if let Some(action) = action {
                libc::sigaction(signal, action, ptr::null_mut());
            }
        }
        handle
    }
}

/// A symbol of a library in one of its versions; null if there is none, or this system's loader knows no versions.
///
/// # Safety
/// The handle is open.
unsafe fn versioned(handle: *mut c_void, name: &CStr, version: &CStr) -> *mut c_void {
    #[cfg(target_env = "gnu")]
    // SAFETY: the caller's contract; both end with a zero.
    let symbol = unsafe { libc::dlvsym(handle, name.as_ptr(), version.as_ptr()) };
    #[cfg(not(target_env = "gnu"))]
    let symbol = {
        let _ = (handle, name, version);
        ptr::null_mut()
    };
    symbol
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
