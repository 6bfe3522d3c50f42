//! Every system call Eagre makes, behind small contracts.
//!
//! Two folders answer the same names: `linux` asks the kernel, `portable` stands on the standard library alone and
//! serves Miri and the `off` trap on other systems. Code above this module never names a system call.
//!
//! The functions used inside a fault handler (`map`, `uffd`, `futex`, `report`) make raw system calls: they neither
//! allocate nor lock, and they leave `errno` alone.

#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) mod per_process;
pub(crate) mod report;

#[cfg(all(target_os = "linux", not(miri)))]
mod linux;
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) use linux::*;

#[cfg(any(not(target_os = "linux"), miri))]
mod portable;
#[cfg(any(not(target_os = "linux"), miri))]
pub(crate) use portable::*;

use crate::heap::Refused;

/// An error number of the operating system, as a handler can carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) i32);

impl Errno {
    /// A system call this platform does not have.
    pub(crate) const NOSYS: Errno = Errno(38);
    /// Too little memory, or too few addresses or mappings.
    pub(crate) const NOMEM: Errno = Errno(12);
    /// Too much memory would be locked (`mmap`), or there are too many threads.
    pub(crate) const AGAIN: Errno = Errno(11);

    /// The error as the standard library knows it.
    pub(crate) fn to_io(self) -> std::io::Error {
        std::io::Error::from_raw_os_error(self.0)
    }
}

/// A system call that was refused: by the kernel for want of something, or by a filter in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The call, as its man page names it.
    pub(crate) call: &'static str,
    pub(crate) errno: Errno,
}

impl Refusal {
    /// For `map_err`: `call` was refused.
    pub(crate) fn of<E: Into<Errno>>(call: &'static str) -> impl FnOnce(E) -> Refusal {
        move |errno| Refusal { call, errno: errno.into() }
    }

    /// Whether there was too little of something. Otherwise the call is forbidden, or wrong.
    pub(crate) fn is_shortage(self) -> bool {
        matches!(self.errno, Errno::NOMEM | Errno::AGAIN)
    }

    /// Whether the limit on locked memory was in the way: what a process maps that locks all it maps (`mlockall`) counts there.
    pub(crate) fn is_locked(self) -> bool {
        self.call == "mmap" && self.errno == Errno::AGAIN
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.call, self.errno)
    }
}

impl From<Refused> for Refusal {
    fn from(_: Refused) -> Refusal {
        Refusal { call: "malloc", errno: Errno::NOMEM }
    }
}

impl From<Refusal> for Errno {
    fn from(refusal: Refusal) -> Errno {
        refusal.errno
    }
}

impl std::fmt::Display for Errno {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // As the standard library has it, which takes memory for it.
        let mut text = [0u8; 128];
        // SAFETY: a buffer of that length.
        unsafe { libc::strerror_r(self.0, text.as_mut_ptr().cast(), text.len()) };
        let words = std::ffi::CStr::from_bytes_until_nul(&text).ok().and_then(|text| text.to_str().ok());
        write!(f, "{} (os error {})", words.unwrap_or("unknown error"), self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_called_as_elsewhere() {
        for number in [1, 11, 12, 22, 4000] {
            assert_eq!(Errno(number).to_string(), Errno(number).to_io().to_string());
        }
    }
}
