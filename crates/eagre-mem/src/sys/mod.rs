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

/// An error number of the operating system, as a handler can carry it. The numbers that decide anything have their names here
/// and nowhere else; they are the same on every Linux that Eagre runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) i32);

impl Errno {
    /// `EPERM`: forbidden.
    pub(crate) const PERM: Errno = Errno(1);
    /// `ESRCH`: there is no such process.
    pub(crate) const SRCH: Errno = Errno(3);
    /// `EINTR`: a signal came first.
    pub(crate) const INTR: Errno = Errno(4);
    /// `EAGAIN`: not now, or a limit is reached.
    pub(crate) const AGAIN: Errno = Errno(11);
    /// `ENOMEM`: too little memory, or too few addresses or mappings.
    pub(crate) const NOMEM: Errno = Errno(12);
    /// `EACCES`: forbidden by the rights of a file.
    pub(crate) const ACCES: Errno = Errno(13);
    /// `EBUSY`: in use; of a page, pinned by I/O or shared by a fork.
    pub(crate) const BUSY: Errno = Errno(16);
    /// `EEXIST`: there is one already.
    pub(crate) const EXIST: Errno = Errno(17);
    /// `EINVAL`: an argument that this kernel does not take.
    pub(crate) const INVAL: Errno = Errno(22);
    /// `EFBIG`: a file, or memory with a descriptor, would be larger than the process may make one.
    pub(crate) const FBIG: Errno = Errno(27);
    /// `ENOSPC`: a file, or memory with a descriptor, cannot grow.
    pub(crate) const NOSPC: Errno = Errno(28);
    /// `ENOSYS`: a system call that this platform does not have.
    pub(crate) const NOSYS: Errno = Errno(38);

    /// Whether there was too little of something. Otherwise the call is forbidden, or wrong.
    pub(crate) fn is_shortage(self) -> bool {
        matches!(self, Errno::NOMEM | Errno::AGAIN)
    }

    /// The error that the last call of the C library has left in this thread.
    #[cfg(all(target_os = "linux", not(miri)))]
    pub(crate) fn last() -> Errno {
        Errno::of(&std::io::Error::last_os_error())
    }

    /// The number of an error of the standard library; `ENOSYS` for one that is the library's own.
    pub(crate) fn of(error: &std::io::Error) -> Errno {
        error.raw_os_error().map_or(Errno::NOSYS, Errno)
    }

    /// The error as the standard library knows it.
    pub(crate) fn to_io(self) -> std::io::Error {
        std::io::Error::from_raw_os_error(self.0)
    }
}

/// A system call that was refused: by the kernel, which lacks something, or by a filter in front of it.
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
        self.errno.is_shortage()
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
