//! Connections to other processes: Unix sockets that carry small packets and descriptors, and tell when the other side is gone.
//!
//! `send`, `receive`, `watch`, `shut` and `open_process` may run in a handler.

use super::{Errno, Refusal};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use rustix::io::FdFlags;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering::*};
use std::time::Duration;

/// The most descriptors in one packet.
const MOST_FDS: usize = 2;

/// What [`watch`] has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The time is up, or a signal came.
    Nothing,
    /// A packet has arrived.
    Packet,
    /// The other side is gone. There may be packets of its all the same.
    Gone,
}

fn above_standard(fd: OwnedFd) -> Result<OwnedFd, Refusal> {
    super::above_standard(fd).map_err(Refusal::of("fcntl"))
}

/// Two sockets connected to each other.
pub(crate) fn pair() -> Result<(OwnedFd, OwnedFd), Refusal> {
    let made = rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
    let (one, other) = made.map_err(Refusal::of("socketpair"))?;
    Ok((above_standard(one)?, above_standard(other)?))
}

fn new(flags: SocketFlags) -> Result<OwnedFd, Refusal> {
    let flags = flags | SocketFlags::CLOEXEC;
    let made = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
    above_standard(made.map_err(Refusal::of("socket"))?)
}

fn address(path: &Path) -> Result<SocketAddrUnix, Refusal> {
    SocketAddrUnix::new(path).map_err(Refusal::of("socket path"))
}

/// A socket that others connect to by `path`, which only this user may do.
pub(crate) fn listen(path: &Path) -> Result<OwnedFd, Refusal> {
    let (socket, address) = (new(SocketFlags::NONBLOCK)?, address(path)?);
    rustix::net::bind(&socket, &address).map_err(Refusal::of("bind"))?;
    // Before `listen` nobody can connect.
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::chmod(path, mode).map_err(Refusal::of("chmod"))?;
    rustix::net::listen(&socket, 64).map_err(Refusal::of("listen"))?;
    Ok(socket)
}

/// Connects to who listens at `path`.
pub(crate) fn connect(path: &Path) -> Result<OwnedFd, Refusal> {
    let (socket, address) = (new(SocketFlags::empty())?, address(path)?);
    rustix::io::retry_on_intr(|| rustix::net::connect(&socket, &address)).map_err(Refusal::of("connect"))?;
    Ok(socket)
}

/// The next connection, if somebody has connected to a socket that listens.
pub(crate) fn accept(socket: &OwnedFd) -> Result<Option<OwnedFd>, Refusal> {
    use rustix::io::Errno as Io;
    match rustix::io::retry_on_intr(|| rustix::net::accept_with(socket, SocketFlags::CLOEXEC)) {
        // Nobody, or one that has gone again.
        Err(Io::AGAIN | Io::CONNABORTED) => Ok(None),
        accepted => above_standard(accepted.map_err(Refusal::of("accept"))?).map(Some),
    }
}

/// The user that the process at the other side of a connection runs as.
pub(crate) fn peer_user(socket: &OwnedFd) -> Result<u32, Refusal> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of_val(&peer) as libc::socklen_t;
    // SAFETY: the structure and its length are what SO_PEERCRED fills.
    let failed = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut peer).cast(), &raw mut len)
    };
    if failed != 0 { Err(Refusal { call: "getsockopt(SO_PEERCRED)", errno: Errno::last() }) } else { Ok(peer.uid) }
}

/// The user that this process runs as.
pub(crate) fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Keeps a descriptor from programs that this process becomes or starts.
pub(crate) fn close_on_exec(fd: &OwnedFd) -> Result<(), Refusal> {
    rustix::io::fcntl_setfd(fd, FdFlags::CLOEXEC).map_err(Refusal::of("fcntl"))
}

/// Takes standard input away: what it was, and nothing is read from it any more.
pub(crate) fn take_stdin() -> Result<OwnedFd, Refusal> {
    let stdin = rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 3).map_err(Refusal::of("fcntl"))?;
    let nothing = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty());
    rustix::stdio::dup2_stdin(nothing.map_err(Refusal::of("open"))?).map_err(Refusal::of("dup2"))?;
    Ok(stdin)
}

/// Sends one packet unless that would wait.
#[inline]
pub(crate) fn send(socket: &OwnedFd, packet: &[u8]) -> Result<(), Errno> {
    rustix::net::send(socket, packet, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Sends one packet with descriptors.
pub(crate) fn send_with(socket: impl AsFd, packet: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Refusal> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(Refusal { call: "sendmsg", errno: Errno::INVAL });
    }
    let send = || rustix::net::sendmsg(socket.as_fd(), &[IoSlice::new(packet)], &mut control, SendFlags::NOSIGNAL);
    rustix::io::retry_on_intr(send).map(drop).map_err(Refusal::of("sendmsg"))
}

/// Receives one packet, cut to `packet`, if there is one: its length, 0 if the other side is gone.
#[inline]
pub(crate) fn receive(socket: &OwnedFd, packet: &mut [u8]) -> Result<usize, Errno> {
    let (_, length) = rustix::net::recv(socket, &mut *packet, RecvFlags::DONTWAIT)?;
    Ok(length.min(packet.len()))
}

/// Waits for a packet with descriptors: its length, 0 if the other side is gone.
pub(crate) fn receive_with(
    socket: impl AsFd,
    packet: &mut [u8],
) -> Result<(usize, [Option<OwnedFd>; MOST_FDS]), Refusal> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let receive =
        || rustix::net::recvmsg(socket.as_fd(), &mut [IoSliceMut::new(packet)], &mut control, RecvFlags::CMSG_CLOEXEC);
    let received = rustix::io::retry_on_intr(receive).map_err(Refusal::of("recvmsg"))?;
    let mut fds = [const { None }; MOST_FDS];
    for message in control.drain() {
        let RecvAncillaryMessage::ScmRights(passed) = message else { continue };
        for fd in passed {
            let place = fds.iter_mut().find(|place| place.is_none());
            *place.ok_or(Refusal { call: "recvmsg", errno: Errno::INVAL })? = Some(above_standard(fd)?);
        }
    }
    if received.flags.contains(ReturnFlags::CTRUNC) {
        // Too many, or this process may have no more.
        return Err(Refusal { call: "recvmsg", errno: Errno(libc::EMFILE) });
    }
    Ok((received.bytes, fds))
}

/// Waits until a packet has arrived or the other side is gone: the socket's, or the process. At most for `limit`.
pub(crate) fn watch(socket: &OwnedFd, process: Option<BorrowedFd<'_>>, limit: Option<Duration>) -> Seen {
    let limit = limit.map(|limit| Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos() as _ });
    let mut fds = [
        PollFd::new(socket, PollFlags::IN | PollFlags::RDHUP),
        PollFd::from_borrowed_fd(process.unwrap_or(socket.as_fd()), PollFlags::IN),
    ];
    let count = if process.is_some() { 2 } else { 1 };
    if !matches!(rustix::event::poll(&mut fds[..count], limit.as_ref()), Ok(1..)) {
        return Seen::Nothing;
    }
    let gone = PollFlags::HUP | PollFlags::RDHUP | PollFlags::ERR | PollFlags::NVAL;
    let ended = process.is_some() && !fds[1].revents().is_empty();
    if ended || fds[0].revents().intersects(gone) { Seen::Gone } else { Seen::Packet }
}

/// Ends a connection, for both sides and whoever else has the descriptor.
pub(crate) fn shut(socket: &OwnedFd) {
    let _ = rustix::net::shutdown(socket, Shutdown::Both);
}

/// A descriptor of a process, to be watched; in the numbers of `process_space`.
pub(crate) fn open_process(number: u32) -> Result<OwnedFd, Errno> {
    let process = i32::try_from(number).ok().and_then(rustix::process::Pid::from_raw).ok_or(Errno::INVAL)?;
    // From kernel 5.3 on. It is close-on-exec.
    super::above_standard(rustix::process::pidfd_open(process, rustix::process::PidfdFlags::empty())?)
}

/// Which numbers this process knows others by; 0 if it is not known.
pub(crate) fn process_space() -> u64 {
    std::fs::metadata("/proc/self/ns/pid").map_or(0, |space| space.ino())
}

/// Locks a folder against others who do so, until the descriptor is closed.
pub(crate) fn lock_folder(path: &Path) -> Result<OwnedFd, Refusal> {
    use rustix::fs::{FlockOperation, Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = above_standard(rustix::fs::open(path, flags, Mode::empty()).map_err(Refusal::of("open"))?)?;
    let lock = || rustix::fs::flock(&folder, FlockOperation::LockExclusive);
    rustix::io::retry_on_intr(lock).map_err(Refusal::of("flock"))?;
    Ok(folder)
}

/// The process at the other side, once it is known. Set and read in handlers.
#[derive(Debug)]
pub(crate) struct OtherProcess(AtomicI32);

impl OtherProcess {
    /// Not known yet.
    pub(crate) fn unknown() -> OtherProcess {
        OtherProcess(AtomicI32::new(-1))
    }

    /// The first one counts.
    pub(crate) fn set(&self, process: OwnedFd) {
        if self.0.compare_exchange(-1, process.as_raw_fd(), SeqCst, SeqCst).is_ok() {
            let _ = process.into_raw_fd();
        }
    }

    pub(crate) fn get(&self) -> Option<BorrowedFd<'_>> {
        let fd = self.0.load(SeqCst);
        // SAFETY: ours, and open until this is dropped.
        (fd >= 0).then(|| unsafe { BorrowedFd::borrow_raw(fd) })
    }
}

impl Drop for OtherProcess {
    fn drop(&mut self) {
        let fd = *self.0.get_mut();
        if fd >= 0 {
            // SAFETY: ours since `set`.
            drop(unsafe { OwnedFd::from_raw_fd(fd) });
        }
    }
}
