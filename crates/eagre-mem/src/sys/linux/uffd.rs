//! userfaultfd: our own thin `UFFDIO_*` calls (`linux/userfaultfd.h`, ioctl_userfaultfd(2)).

use super::{Errno, Refusal};
use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const API: u64 = 0xAA;
const FEATURE_SIGBUS: u64 = 1 << 7;
const FEATURE_EXACT_ADDRESS: u64 = 1 << 11;
const FEATURE_POISON: u64 = 1 << 14;
const FEATURE_MOVE: u64 = 1 << 16;
const USER_MODE_ONLY: i32 = 1;
const REGISTER_MODE_MISSING: u64 = 1;
const MOVE_MODE_DONTWAKE: u64 = 1;

/// Who resolves the faults of a descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// A pager thread reads fault messages; faults inside system calls count. Needs privilege.
    Pager,
    /// Faults of user code become SIGBUS in the faulting thread. Any user may.
    Signal,
}

/// One fault as the pager reads it (`struct uffd_msg`).
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Message {
    event: u8,
    _reserved: [u8; 7],
    flags: u64,
    address: u64,
    _thread: u64,
}

impl Message {
    /// The address touched, if this is a page fault.
    pub(crate) fn fault_address(&self) -> Option<usize> {
        (self.event == 0x12).then_some(self.address as usize)
    }
}

/// A userfaultfd.
#[derive(Debug)]
pub(crate) struct Uffd {
    fd: OwnedFd,
}

#[repr(C)]
struct ApiArg {
    api: u64,
    features: u64,
    ioctls: u64,
}
#[repr(C)]
struct RegisterArg {
    start: u64,
    len: u64,
    mode: u64,
    ioctls: u64,
}
#[repr(C)]
struct MoveArg {
    dst: u64,
    src: u64,
    len: u64,
    mode: u64,
    moved: i64,
}
#[repr(C)]
struct RangeArg {
    start: u64,
    len: u64,
}
/// `uffdio_zeropage` and `uffdio_poison` have the same shape.
#[repr(C)]
struct FillArg {
    start: u64,
    len: u64,
    mode: u64,
    filled: i64,
}

const fn request(direction: u64, number: u64, size: usize) -> u64 {
    direction << 30 | (size as u64) << 16 | API << 8 | number
}
const READ_WRITE: u64 = 3;
const READ: u64 = 2;
const UFFDIO_API: u64 = request(READ_WRITE, 0x3F, size_of::<ApiArg>());
const UFFDIO_REGISTER: u64 = request(READ_WRITE, 0x00, size_of::<RegisterArg>());
const UFFDIO_WAKE: u64 = request(READ, 0x02, size_of::<RangeArg>());
const UFFDIO_ZEROPAGE: u64 = request(READ_WRITE, 0x04, size_of::<FillArg>());
const UFFDIO_MOVE: u64 = request(READ_WRITE, 0x05, size_of::<MoveArg>());
const UFFDIO_POISON: u64 = request(READ_WRITE, 0x08, size_of::<FillArg>());
/// `USERFAULTFD_IOC_NEW` of /dev/userfaultfd (kernel 6.1).
const USERFAULTFD_IOC_NEW: u64 = 0xAA << 8;

/// One ioctl as a raw system call: no errno, so that it may run in a handler.
///
/// # Safety
/// `arg` points to the structure that `request` names, and the ranges in it belong to the caller.
#[inline]
unsafe fn ioctl<T>(fd: BorrowedFd<'_>, request: u64, arg: *mut T) -> Result<i32, Errno> {
    struct Raw(u64, *mut std::ffi::c_void);
    // SAFETY: the request's argument is a pointer that the kernel reads and writes in place; the output is its result.
    unsafe impl rustix::ioctl::Ioctl for Raw {
        type Output = i32;
        const IS_MUTATING: bool = true;
        fn opcode(&self) -> rustix::ioctl::Opcode {
            self.0 as rustix::ioctl::Opcode
        }
        fn as_ptr(&mut self) -> *mut std::ffi::c_void {
            self.1
        }
        unsafe fn output_from_ptr(
            out: rustix::ioctl::IoctlOutput,
            _: *mut std::ffi::c_void,
        ) -> rustix::io::Result<i32> {
            Ok(out)
        }
    }
    // SAFETY: the caller's contract.
    Ok(unsafe { rustix::ioctl::ioctl(fd, Raw(request, arg.cast()))? })
}

impl Uffd {
    /// Opens a descriptor that can move pages (kernel 6.8).
    ///
    /// # Errors
    /// `ENOSYS`/`EPERM` where userfaultfd is missing or forbidden, `EINVAL` where it cannot move pages.
    pub(crate) fn open(mode: Mode) -> Result<Uffd, Errno> {
        let flags = libc::O_CLOEXEC | libc::O_NONBLOCK;
        let fd = match mode {
            Mode::Signal => syscall_open(flags | USER_MODE_ONLY)?,
            Mode::Pager => syscall_open(flags).or_else(|error| device_open(flags).map_err(|_| error))?,
        };
        let fd = super::above_standard(fd)?;
        let wanted =
            FEATURE_MOVE | if mode == Mode::Signal { FEATURE_SIGBUS } else { FEATURE_POISON | FEATURE_EXACT_ADDRESS };
        let mut arg = ApiArg { api: API, features: wanted, ioctls: 0 };
        // SAFETY: `arg` is what UFFDIO_API takes.
        unsafe { ioctl(rustix::fd::AsFd::as_fd(&fd), UFFDIO_API, &mut arg)? };
        Ok(Uffd { fd })
    }

    /// The descriptor, for `poll`.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        rustix::fd::AsFd::as_fd(&self.fd)
    }

    /// Registers a range: touching what is missing in it becomes a fault of this descriptor.
    ///
    /// # Safety
    /// The range belongs to the caller.
    pub(crate) unsafe fn register(&self, start: usize, len: usize) -> Result<(), Refusal> {
        let mut arg = RegisterArg { start: start as u64, len: len as u64, mode: REGISTER_MODE_MISSING, ioctls: 0 };
        // SAFETY: the caller owns the range.
        let registered = unsafe { ioctl(self.fd(), UFFDIO_REGISTER, &mut arg) };
        registered.map(drop).map_err(Refusal::of("ioctl(UFFDIO_REGISTER)"))
    }

    /// Moves the pages at `from` to `to`; all of them or none: those that have moved when one refuses go back, through
    /// `source`, for the kernel moves pages only to where the descriptor is registered.
    ///
    /// Wakes nobody: a thread must not run on before its touch has been recorded. `wake` is a call of its own.
    ///
    /// # Errors
    /// `EBUSY`: a page is pinned or was once shared by a fork. Whatever else the kernel says.
    ///
    /// # Safety
    /// Both ranges belong to the caller; `to` is registered here, open, and has nothing behind it. `from` is registered
    /// with `source`, or what has moved stays at `to` after an error.
    pub(crate) unsafe fn move_pages(&self, from: usize, to: usize, len: usize, source: &Uffd) -> Result<(), Errno> {
        let (mut done, mut failure) = (0usize, None);
        while done < len {
            let mut arg = MoveArg {
                dst: (to + done) as u64,
                src: (from + done) as u64,
                len: (len - done) as u64,
                mode: MOVE_MODE_DONTWAKE,
                moved: 0,
            };
            // SAFETY: the caller owns both ranges.
            match unsafe { ioctl(self.fd(), UFFDIO_MOVE, &mut arg) } {
                Ok(_) => return Ok(()),
                Err(error) => {
                    done += arg.moved.max(0) as usize;
                    // The address space was changing, or part of the pages moved: go on from there.
                    if error == Errno::AGAIN || arg.moved > 0 {
                        continue;
                    }
                    failure = Some(error);
                    break;
                }
            }
        }
        match failure {
            // SAFETY: the same ranges the other way round: what moved goes back to where it was. It moved a moment
            // ago, so nothing pins it.
            Some(error) if done > 0 => unsafe { source.move_pages(to, from, done, self) }.and(Err(error)),
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Maps zero pages (copy on write) into what is missing of a range and wakes who waits there.
    ///
    /// # Safety
    /// The range belongs to the caller and is registered here and open.
    pub(crate) unsafe fn zero(&self, start: usize, len: usize) -> Result<(), Errno> {
        // SAFETY: the caller owns the range.
        unsafe { self.fill(UFFDIO_ZEROPAGE, start, len) }
    }

    /// Marks what is missing of a range as broken memory: touching it is SIGBUS, a system call there gets EFAULT.
    ///
    /// # Safety
    /// The range belongs to the caller and is registered here.
    pub(crate) unsafe fn poison(&self, start: usize, len: usize) -> Result<(), Errno> {
        // SAFETY: the caller owns the range.
        unsafe { self.fill(UFFDIO_POISON, start, len) }
    }

    /// # Safety
    /// The range belongs to the caller and is registered here.
    unsafe fn fill(&self, request: u64, start: usize, len: usize) -> Result<(), Errno> {
        let mut done = 0;
        while done < len {
            let mut arg = FillArg { start: (start + done) as u64, len: (len - done) as u64, mode: 0, filled: 0 };
            // SAFETY: the caller owns the range.
            match unsafe { ioctl(self.fd(), request, &mut arg) } {
                Ok(_) => return Ok(()),
                Err(_) if arg.filled > 0 => done += arg.filled as usize,
                Err(error) if error == Errno::AGAIN => {}
                // Present already: step over that page.
                Err(error) if error == Errno::EXIST => done += crate::units::PAGE,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Wakes the threads that wait in a range.
    pub(crate) fn wake(&self, start: usize, len: usize) {
        let mut arg = RangeArg { start: start as u64, len: len as u64 };
        // SAFETY: waking changes no memory; a range without waiters is fine.
        let _ = unsafe { ioctl(self.fd(), UFFDIO_WAKE, &mut arg) };
    }

    /// Reads the faults that wait to be resolved; an empty slice if there are none.
    pub(crate) fn read<'b>(&self, buffer: &'b mut [Message; 16]) -> &'b [Message] {
        let len = size_of_val(buffer);
        // SAFETY: `Message` is plain old data, valid for any bytes, and the slice covers exactly the array.
        let bytes = unsafe { std::slice::from_raw_parts_mut(buffer.as_mut_ptr().cast::<u8>(), len) };
        let got = rustix::io::read(self.fd(), bytes).unwrap_or(0);
        &buffer[..got / size_of::<Message>()]
    }
}

fn syscall_open(flags: i32) -> Result<OwnedFd, Errno> {
    // SAFETY: userfaultfd(2) takes flags only.
    let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
    if fd < 0 {
        return Err(Errno::last());
    }
    // SAFETY: a descriptor just made, ours alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

fn device_open(flags: i32) -> Result<OwnedFd, Errno> {
    use rustix::fs::{Mode, OFlags};
    let device = rustix::fs::open("/dev/userfaultfd", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    // SAFETY: USERFAULTFD_IOC_NEW takes the flags by value.
    let fd = unsafe { libc::ioctl(device.as_raw_fd(), USERFAULTFD_IOC_NEW as libc::Ioctl, flags) };
    if fd < 0 {
        return Err(Errno::last());
    }
    // SAFETY: a descriptor just made, ours alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
