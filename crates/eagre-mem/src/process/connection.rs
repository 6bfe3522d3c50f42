//! Connections: how the other process is reached.
//!
//! A connection is a Unix socket. It carries the descriptors of a stream once, then wake-ups, and it tells when the other process
//! is gone. A pair of them is made for a child or for whoever else a descriptor is passed to; by name, one process listens
//! and the other connects.

#![forbid(unsafe_code)]

use crate::stream::OpenError;
use crate::sys::socket::{self, Seen};
use crate::sys::{Errno, Refusal, process};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// How long one sleep takes at most.
const LONG: Duration = Duration::from_secs(3600);

/// One side of a connection between two processes: what a stream is opened on.
///
/// It is a descriptor that is closed on `exec`. It becomes a child's standard input ([`Stdio`]), is passed over a Unix socket
/// ([`Connection::send_over`]), or comes from [`Connection::connect`] and [`Listener::accept`].
#[derive(Debug)]
pub struct Connection(OwnedFd);

impl Connection {
    /// Both sides of a new connection: one to keep, and one for another process.
    ///
    /// The side that is passed on should be closed here when it has been: as long as this process has it, the end of the other
    /// process may be noticed later. A [`Command`](std::process::Command) keeps what it was given until it is dropped.
    ///
    /// # Errors
    /// [`OpenError::Resources`]: there are no descriptors left.
    pub fn pair() -> Result<(Connection, Connection), OpenError> {
        let (ours, theirs) = socket::pair().map_err(refused)?;
        Ok((Connection(ours), Connection(theirs)))
    }

    /// The side that the parent has passed as this process's standard input. That reads as empty from here on.
    ///
    /// # Errors
    /// [`OpenError::Resources`], [`OpenError::Unavailable`].
    pub fn from_stdin() -> Result<Connection, OpenError> {
        socket::take_stdin().map(Connection).map_err(refused)
    }

    /// Connects to the process of the same user that listens as `name`.
    ///
    /// # Errors
    /// [`OpenError::Setting`]: not a name. [`OpenError::Unavailable`]: nobody listens there, or another user does.
    pub fn connect(name: &str) -> Result<Connection, OpenError> {
        let path = path_of(&folder()?, name)?;
        let nobody = |refusal: Refusal| match refusal.errno {
            Errno(libc::ENOENT | libc::ECONNREFUSED) => {
                OpenError::Unavailable(format!("nobody listens as {name:?}; start the other process first"))
            }
            _ => refused(refusal),
        };
        let connected = socket::connect(&path).map_err(nobody)?;
        check_user(&connected)?;
        Ok(Connection(connected))
    }

    /// Passes this side to the process at the other end of `socket`.
    ///
    /// # Errors
    /// Those of `sendmsg(2)`.
    pub fn send_over(self, socket: &UnixStream) -> io::Result<()> {
        socket::send_with(socket, b"c", &[self.as_fd()]).map_err(|refusal| refusal.errno.to_io())
    }

    /// Receives a side that was passed with [`Connection::send_over`].
    ///
    /// # Errors
    /// Those of `recvmsg(2)`; [`io::ErrorKind::UnexpectedEof`] if something else came, or nothing.
    pub fn receive_over(socket: &UnixStream) -> io::Result<Connection> {
        let (_, fds) = socket::receive_with(socket, &mut [0; 1]).map_err(|refusal| refusal.errno.to_io())?;
        fds.into_iter().flatten().next().map(Connection).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    pub(super) fn into_socket(self) -> Result<OwnedFd, OpenError> {
        socket::close_on_exec(&self.0).map_err(refused)?;
        Ok(self.0)
    }
}

impl From<OwnedFd> for Connection {
    /// A descriptor that was a [`Connection`] in another process.
    fn from(fd: OwnedFd) -> Connection {
        Connection(fd)
    }
}

impl From<Connection> for OwnedFd {
    fn from(connection: Connection) -> OwnedFd {
        connection.0
    }
}

impl From<Connection> for Stdio {
    /// For the standard input of a child, which calls [`Connection::from_stdin`].
    fn from(connection: Connection) -> Stdio {
        connection.0.into()
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A name in the user's own folder at which other processes of the same user connect.
#[derive(Debug)]
pub struct Listener {
    socket: OwnedFd,
    path: PathBuf,
    inode: u64,
    process: u32,
}

impl Listener {
    /// Listens as `name`, in `$XDG_RUNTIME_DIR/eagre` (else `/run/user/UID/eagre`), which only this user can enter. What a process
    /// that was killed has left there is replaced.
    ///
    /// # Errors
    /// [`OpenError::Setting`]: not a name: it has a slash, or is too long. [`OpenError::Unavailable`]: somebody listens
    /// there, or this user has no such folder.
    pub fn bind(name: &str) -> Result<Listener, OpenError> {
        process::remember();
        let folder = folder()?;
        let path = path_of(&folder, name)?;
        let made = std::fs::DirBuilder::new().mode(0o700).create(&folder);
        if let Err(error) = made
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(OpenError::Unavailable(format!("{}: {error}; set XDG_RUNTIME_DIR", folder.display())));
        }
        let _one_at_a_time = socket::lock_folder(&folder).map_err(refused)?;
        let socket = match socket::listen(&path) {
            Err(refusal) if refusal.errno == Errno(libc::EADDRINUSE) => {
                let left_behind =
                    matches!(socket::connect(&path), Err(refusal) if refusal.errno == Errno(libc::ECONNREFUSED));
                if !left_behind {
                    return Err(OpenError::Unavailable(format!("somebody listens as {name:?}; take another name")));
                }
                let _ = std::fs::remove_file(&path);
                socket::listen(&path)
            }
            other => other,
        };
        let socket = socket.map_err(refused)?;
        let inode = inode(&path);
        Ok(Listener { socket, path, inode, process: process::id() })
    }

    /// Waits for the next process of the same user that connects. Others are turned away, and who has hung up already is passed over.
    ///
    /// # Errors
    /// [`OpenError::Resources`]: there are no descriptors left.
    pub fn accept(&self) -> Result<Connection, OpenError> {
        loop {
            if let Some(connection) = self.accept_within(LONG)? {
                return Ok(connection);
            }
        }
    }

    /// As [`Listener::accept`], but not for longer than `limit`. `None` if nobody has connected by then.
    ///
    /// # Errors
    /// As [`Listener::accept`].
    pub fn accept_within(&self, limit: Duration) -> Result<Option<Connection>, OpenError> {
        let deadline = Instant::now().checked_add(limit);
        loop {
            // Somebody else may have taken who was seen.
            if let Some(connected) = socket::accept(&self.socket).map_err(refused)? {
                let waits = socket::watch(&connected, None, Some(Duration::ZERO)) != Seen::Gone;
                if waits && check_user(&connected).is_ok() {
                    return Ok(Some(Connection(connected)));
                }
                continue;
            }
            let left = deadline.map_or(LONG, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(None);
            }
            socket::watch(&self.socket, None, Some(left.min(LONG)));
        }
    }
}

impl AsFd for Listener {
    /// Readable when somebody has connected.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Only what is ours: the file may have been replaced, or this be a forked child.
        if self.process == process::id() && self.inode != 0 && inode(&self.path) == self.inode {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn inode(path: &Path) -> u64 {
    std::fs::symlink_metadata(path).map_or(0, |found| found.ino())
}

/// The folder of names.
pub(super) fn folder() -> Result<PathBuf, OpenError> {
    let given = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let parent = given.unwrap_or_else(|| PathBuf::from(format!("/run/user/{}", socket::own_user())));
    match std::fs::metadata(&parent) {
        Ok(found) if found.uid() == socket::own_user() => Ok(parent.join("eagre")),
        _ => Err(OpenError::Unavailable(format!(
            "{} is not a folder of this user; set XDG_RUNTIME_DIR to one that only this user can enter",
            parent.display()
        ))),
    }
}

fn path_of(folder: &Path, name: &str) -> Result<PathBuf, OpenError> {
    // What fits into an address of a socket, with the zero byte behind it.
    const MOST: usize = 107;
    let path = folder.join(name);
    let wrong = name.is_empty() || name.starts_with('.') || name.contains(['/', '\0']);
    match wrong || path.as_os_str().len() > MOST {
        true => Err(OpenError::Setting(format!(
            "{name:?} is no name for a stream: letters and digits, at most {MOST} bytes with its folder {}",
            folder.display()
        ))),
        false => Ok(path),
    }
}

fn check_user(socket: &OwnedFd) -> Result<(), OpenError> {
    let (other, own) = (socket::peer_user(socket).map_err(refused)?, socket::own_user());
    match other == own {
        true => Ok(()),
        false => Err(OpenError::Unavailable(format!(
            "the process at the other side belongs to user {other}, this one to {own}; run both as one user"
        ))),
    }
}

/// A call that a connection needs was refused.
pub(super) fn refused(refusal: Refusal) -> OpenError {
    match refusal.errno {
        Errno(libc::EMFILE | libc::ENFILE) => {
            OpenError::Resources(format!("no descriptor for a connection: {refusal}; raise `ulimit -n`"))
        }
        _ if refusal.is_shortage() => OpenError::Resources(format!("no connection: {refusal}; use less memory")),
        Errno(libc::ENOTSOCK) => OpenError::Unavailable(format!(
            "{refusal}; pass a Connection to this process, as its standard input for example"
        )),
        _ => OpenError::Unavailable(format!("no connection to the other process: {refusal}")),
    }
}
