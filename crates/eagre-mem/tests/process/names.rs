//! Processes that find each other by name.

use crate::common::{SMALL, check, pattern, say};
use crate::peer::{Part, Peer};
use crate::watched;
use eagre_mem::BlockSize;
use eagre_mem::process::{Connection, Listener, Options, Reader};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

pub(crate) const PARTS: &[Part] = &[
    ("listen", listen_part),
    ("connect", connect_part),
    ("refused names", refused_names),
    ("listen for ever", |connection, name| {
        let _listener = Listener::bind(name).unwrap();
        ready(connection).read_exact(&mut [0]).unwrap();
    }),
];

const LENGTH: usize = 7 * SMALL + 77;

/// Tells the parent that this process has come so far.
fn ready(connection: Connection) -> File {
    let mut parent = File::from(OwnedFd::from(connection));
    parent.write_all(b"r").unwrap();
    parent
}

/// Waits until the child has said so.
fn wait_ready(connection: Connection) -> File {
    let mut child = File::from(OwnedFd::from(connection));
    child.read_exact(&mut [0]).unwrap();
    child
}

/// Sends the same to as many as the argument says.
fn listen_part(connection: Connection, argument: &str) {
    let (name, times) = argument.split_once(' ').unwrap();
    let listener = Listener::bind(name).unwrap();
    let error = Listener::bind(name).unwrap_err().to_string();
    assert!(error.contains("somebody listens as"), "{error}");
    // Nobody knows the name yet.
    assert!(listener.accept_within(Duration::from_millis(1)).unwrap().is_none());
    let _parent = ready(connection);
    for number in 0..times.parse().unwrap() {
        let accepted = match number {
            0 => listener.accept_within(Duration::MAX).unwrap().unwrap(),
            _ => listener.accept().unwrap(),
        };
        let mut writer = Options::new().block_size(BlockSize::MIN).name("named").writer(accepted).unwrap();
        let mut at = 0;
        while at < LENGTH {
            let bytes = pattern(at as u64, LENGTH - at);
            writer.copy_in(bytes).unwrap();
            at += bytes.len();
        }
        writer.finish().unwrap();
    }
}

fn connect_part(_: Connection, name: &str) {
    let mut reader = Reader::join(Connection::connect(name).unwrap()).unwrap();
    assert_eq!(reader.name(), "named");
    let mut all = Vec::new();
    reader.read_to_end(&mut all).unwrap();
    assert_eq!(all.len(), LENGTH);
    check(0, &all);
}

/// A folder for names, and the variable that says so.
fn with_folder(test: impl FnOnce(&Path, &[(&str, &str)])) {
    let folder = tempfile::tempdir().unwrap();
    test(folder.path(), &[("XDG_RUNTIME_DIR", folder.path().to_str().unwrap())]);
}

fn start(part: &str, argument: &str, environment: &[(&str, &str)]) -> (Peer, Connection) {
    let (ours, theirs) = Connection::pair().unwrap();
    (Peer::start_on(part, argument, theirs, environment), ours)
}

#[test]
fn one_listens_and_others_connect() {
    let _dog = watched("one_listens_and_others_connect");
    with_folder(|folder, environment| {
        let (listener, connection) = start("listen", "prices 3", environment);
        let _listener = wait_ready(connection);
        let socket = folder.join("eagre/prices");
        assert_eq!(socket.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(folder.join("eagre").metadata().unwrap().permissions().mode() & 0o777, 0o700);
        let readers: Vec<_> = (0..3).map(|_| start("connect", "prices", environment)).collect();
        readers.into_iter().for_each(|(reader, _)| reader.succeeds());
        listener.succeeds();
        assert!(!socket.exists());
    });
}

#[test]
fn what_a_killed_listener_leaves_behind_is_replaced() {
    let _dog = watched("what_a_killed_listener_leaves_behind_is_replaced");
    with_folder(|folder, environment| {
        let (killed, connection) = start("listen for ever", "prices", environment);
        let _killed = wait_ready(connection);
        killed.signal(libc::SIGKILL);
        killed.ends();
        assert!(folder.join("eagre/prices").exists());
        let (listener, connection) = start("listen", "prices 1", environment);
        let _listener = wait_ready(connection);
        start("connect", "prices", environment).0.succeeds();
        listener.succeeds();
        assert_eq!(folder.join("eagre").read_dir().unwrap().count(), 0);
    });
}

fn refused_names(_: Connection, folder: &str) {
    for name in ["", ".", "..", ".hidden", "a/b", "nul\0byte", &"n".repeat(200)] {
        let error = Listener::bind(name).unwrap_err().to_string();
        assert!(error.contains("is no name for a stream"), "{name:?}: {error}");
        Connection::connect(name).unwrap_err();
    }
    let error = Connection::connect("nobody").unwrap_err().to_string();
    assert!(error.contains("nobody listens as \"nobody\"; start the other process first"), "{error}");
    assert!(!Path::new(folder).join("eagre").exists());
}

#[test]
fn bad_names_and_missing_folders_are_refused() {
    let _dog = watched("bad_names_and_missing_folders_are_refused");
    with_folder(|folder, environment| start("refused names", folder.to_str().unwrap(), environment).0.succeeds());
}

/// Connects as another user: what comes is the end of the connection.
fn connect_as_another(socket: &Path) -> bool {
    // SAFETY: the child makes system calls only, on memory of its own.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: as above.
        unsafe {
            let fd = libc::socket(libc::AF_UNIX, libc::SOCK_SEQPACKET, 0);
            let mut address: libc::sockaddr_un = std::mem::zeroed();
            address.sun_family = libc::AF_UNIX as _;
            let path = std::os::unix::ffi::OsStrExt::as_bytes(socket.as_os_str());
            for (to, from) in address.sun_path.iter_mut().zip(path) {
                *to = *from as _;
            }
            let other = libc::setuid(65_534) == 0;
            let len = size_of_val(&address) as u32;
            let connected = libc::connect(fd, (&raw const address).cast(), len) == 0;
            let mut byte = 0u8;
            let turned_away = libc::recv(fd, (&raw mut byte).cast(), 1, 0) == 0;
            libc::_exit(i32::from(other && connected && turned_away));
        }
    }
    let mut status = 0;
    // SAFETY: our own child; the call fills the status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 1
}

#[test]
fn another_user_is_turned_away() {
    let _dog = watched("another_user_is_turned_away");
    // SAFETY: asks who this is.
    if unsafe { libc::geteuid() } != 0 {
        return say("skipped: another user: needs the right to become one");
    }
    with_folder(|folder, environment| {
        let (listener, connection) = start("listen", "prices 1", environment);
        let _listener = wait_ready(connection);
        // Modes keep others out in the first place.
        for (path, mode) in [("", 0o755), ("eagre", 0o755), ("eagre/prices", 0o666)] {
            std::fs::set_permissions(folder.join(path), PermissionsExt::from_mode(mode)).unwrap();
        }
        assert!(connect_as_another(&folder.join("eagre/prices")));
        start("connect", "prices", environment).0.succeeds();
        listener.succeeds();
    });
}

#[test]
fn a_side_is_passed_over_a_socket() {
    let _dog = watched("a_side_is_passed_over_a_socket");
    let (one, other) = std::os::unix::net::UnixStream::pair().unwrap();
    let (ours, theirs) = Connection::pair().unwrap();
    theirs.send_over(&one).unwrap();
    let passed = Connection::receive_over(&other).unwrap();
    let mut writer = Options::new().block_size(BlockSize::MIN).writer(ours).unwrap();
    writer.copy_in(b"passed on").unwrap();
    writer.finish().unwrap();
    let mut text = String::new();
    Reader::join(passed).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "passed on");
    drop(one);
    Connection::receive_over(&other).unwrap_err();
}
