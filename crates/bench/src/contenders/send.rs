//! A file on its way from one tmpfs to another over loopback TCP: `eagre send`, and what people use today.
//!
//! A receiver is started first, and the clock when it listens. It stops when sender and receiver have ended, or, of a daemon, when
//! the sender has.

use std::fs::{self, File};
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::catalogue::{Corpus, Courier, Place};
use crate::child;
use crate::contenders::file::program::{beside, line, on_path, version};
use crate::contenders::{Contender, Measured, Trouble};
use crate::corpus::Store;
use crate::kernels::Tally;
use crate::memory::{Pages, Region, bytes_of_mut};
use crate::outcome::Identity;

/// How long a receiver may take until it listens.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Send {
    courier: Courier,
    program: PathBuf,
    /// What receives, where that is another program.
    receiver: PathBuf,
    store: Arc<Store>,
}

impl Send {
    pub(super) fn new(courier: Courier, store: &Arc<Store>) -> Result<Send, Trouble> {
        let (program, receiver) = match courier {
            Courier::Eagre { .. } => (beside("eagre", "cargo build --release -p eagre-cli")?, None),
            Courier::Rsync => (on_path("rsync", "install rsync")?, None),
            Courier::Mbuffer => (on_path("mbuffer", "install mbuffer")?, None),
            Courier::Scp => {
                let server = Path::new("/usr/sbin/sshd").to_owned();
                if !server.is_file() || !rustix::process::geteuid().is_root() {
                    return Err(Trouble::Unavailable(
                        "no sshd that may be started; install openssh-server, be root".into(),
                    ));
                }
                (on_path("scp", "install openssh-client")?, Some(server))
            }
        };
        let receiver = receiver.unwrap_or_else(|| program.clone());
        Ok(Send { courier, program, receiver, store: store.clone() })
    }

    /// What is started first and listens at `port`, and what then sends `from`; the file arrives in `to`.
    fn commands(&self, room: &Room, from: &Path, to: &Path) -> (Command, Command) {
        let (mut receiver, mut sender) = (Command::new(&self.receiver), Command::new(&self.program));
        let here = format!("127.0.0.1:{}", room.port);
        match self.courier {
            Courier::Eagre { tls } => {
                receiver.args(["receive", "--listen", &here]);
                sender.arg("send");
                if tls {
                    receiver.arg("--token").arg(room.file("token"));
                    sender.arg("--token").arg(room.file("token"));
                }
                receiver.arg(to);
                sender.arg(from).arg(&here);
            }
            Courier::Rsync => {
                receiver.args(["--daemon", "--no-detach", "--config"]).arg(room.file("rsyncd"));
                sender.arg("--whole-file").arg(from).arg(format!("rsync://{here}/to/"));
            }
            Courier::Mbuffer => {
                receiver.args(["-q", "-I", &room.port.to_string(), "-o"]).arg(to.join("file"));
                sender.args(["-q", "-O", &here, "-i"]).arg(from);
            }
            Courier::Scp => {
                receiver.args(["-D", "-q", "-f"]).arg(room.file("sshd"));
                sender.args(["-q", "-P", &room.port.to_string(), "-i"]).arg(room.file("key"));
                sender.args(["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]);
                sender.arg(from).arg(format!("127.0.0.1:{}/", to.display()));
            }
        }
        (receiver, sender)
    }

    fn is_daemon(&self) -> bool {
        matches!(self.courier, Courier::Rsync | Courier::Scp)
    }
}

impl Contender for Send {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let made = self.store.corpus(Corpus::Numbers, Place::Memory, size)?;
        let room = Room::new(&self.store.temporary(Place::Memory)?)?;
        let to = room.file("to");
        fs::create_dir(&to).map_err(|e| Trouble::failed("directory", e))?;
        room.prepare(self.courier)?;
        let (mut receiver, mut sender) = self.commands(&room, &made.path, &to);
        let mut receiver = Running::start(&mut receiver)?;
        receiver.listens(room.port)?;
        let start = Instant::now();
        let sent = child::run(&mut sender)?;
        if !self.is_daemon() {
            receiver.ends()?;
        }
        let took = start.elapsed();
        drop(receiver);
        let arrived = fs::read_dir(&to).map_err(|e| Trouble::failed("directory", e))?.flatten().next();
        let arrived = arrived.ok_or_else(|| Trouble::Wrong("nothing arrived".into()))?.path();
        let answer = add_up(&arrived)?;
        drop(fs::remove_file(&arrived));
        Ok(Measured { process: Some(sent.process), ..Measured::pipe(took, size, answer) })
    }

    fn identity(&self) -> Identity {
        let room = Room { directory: "DIR".into(), port: 7373 };
        let (receiver, sender) = self.commands(&room, Path::new("FILE"), Path::new("DIR/to"));
        let command = format!("{}; {}", line(&receiver), line(&sender));
        Identity { version: Some(version(&self.program)), command: Some(command) }
    }
}

/// The sum of the words of a file, if they are in their places.
fn add_up(path: &Path) -> Result<u64, Trouble> {
    let failed = |e| Trouble::failed("what arrived", e);
    let mut file = File::open(path).map_err(failed)?;
    let mut buffer = Region::touched(1 << 20, Pages::Small).map_err(|e| Trouble::failed("memory", e))?;
    let (words, mut tally) = (buffer.words_mut(), Tally::default());
    loop {
        let (bytes, mut held) = (bytes_of_mut(words), 0);
        while held < bytes.len() {
            match file.read(&mut bytes[held..]).map_err(failed)? {
                0 => break,
                got => held += got,
            }
        }
        let whole = held == bytes.len();
        tally.add(&words[..held / 8]);
        if !whole {
            return tally.answer();
        }
    }
}

/// A directory with what the programs need, and a port that is free.
struct Room {
    directory: PathBuf,
    port: u16,
}

impl Room {
    fn new(directory: &Path) -> Result<Room, Trouble> {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        Ok(Room { directory: directory.to_owned(), port: port.map_err(|e| Trouble::failed("port", e))?.port() })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Writes a file that only its owner may read.
    fn write(&self, name: &str, text: &str) -> Result<(), Trouble> {
        let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(self.file(name));
        let written = file.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
        written.map_err(|e| Trouble::failed(name, e))
    }

    fn prepare(&self, courier: Courier) -> Result<(), Trouble> {
        let directory = self.directory.display();
        match courier {
            Courier::Eagre { .. } => self.write("token", "of the benchmark, and no secret"),
            Courier::Mbuffer => Ok(()),
            Courier::Rsync => self.write(
                "rsyncd",
                &format!(
                    "port = {}\naddress = 127.0.0.1\nuse chroot = no\nuid = {}\ngid = {}\nreverse lookup = no\n[to]\npath = {directory}/to\nread only = no\n",
                    self.port,
                    rustix::process::getuid().as_raw(),
                    rustix::process::getgid().as_raw()
                ),
            ),
            Courier::Scp => {
                for key in ["host", "key"] {
                    let mut command = Command::new("ssh-keygen");
                    command.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(self.file(key));
                    child::run(&mut command)?;
                }
                // sshd wants this place of its own, which packages make when it is started.
                fs::create_dir_all("/run/sshd").map_err(|e| Trouble::failed("/run/sshd", e))?;
                self.write(
                    "sshd",
                    &format!(
                        "Port {}\nListenAddress 127.0.0.1\nHostKey {directory}/host\nAuthorizedKeysFile {directory}/key.pub\n\
                         StrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\nSubsystem sftp internal-sftp\n",
                        self.port
                    ),
                )
            }
        }
    }
}

/// A receiver that is stopped at the end.
struct Running {
    child: Child,
    name: String,
}

impl Running {
    fn start(command: &mut Command) -> Result<Running, Trouble> {
        let name = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|e| Trouble::failed(&name, e))?;
        Ok(Running { child, name })
    }

    /// Waits until somebody listens at the port. A connection for the trial would be taken for the sender's.
    fn listens(&mut self, port: u16) -> Result<(), Trouble> {
        let (began, wanted) = (Instant::now(), format!(":{port:04X} 00000000:0000 0A"));
        while began.elapsed() < PATIENCE {
            if fs::read_to_string("/proc/net/tcp").is_ok_and(|table| table.contains(&wanted)) {
                return Ok(());
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(Trouble::Failed(format!("{}: {status} before it listened", self.name)));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err(Trouble::Failed(format!("{}: it does not listen", self.name)))
    }

    fn ends(&mut self) -> Result<(), Trouble> {
        let status = self.child.wait().map_err(|e| Trouble::failed(&self.name, e))?;
        if status.success() { Ok(()) } else { Err(Trouble::Failed(format!("{}: {status}", self.name))) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
