//! A file on its way from one tmpfs to another over loopback TCP: `eagre send`, and what people use today.
//!
//! A receiver is started first, and the clock when it waits. It stops when sender and receiver have ended, or, of a daemon, when
//! the sender has. Of croc it is the sender who waits.

use std::fs::{self, File};
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};

use crate::catalogue::{Corpus, Courier, Place};
use crate::child::{self, Ended, Process, Running};
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
            Courier::Rclone => (on_path("rclone", "install rclone")?, None),
            Courier::Croc => (on_path("croc", "go install github.com/schollz/croc/v10@latest")?, None),
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
            Courier::Eagre { tls, streams } => {
                receiver.args(["receive", "--listen", &here]);
                sender.args(["send", "--streams", &streams.to_string()]);
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
            Courier::Rclone => {
                receiver.args(["serve", "webdav", "--addr", &here, "--config", ""]).arg(to);
                sender
                    .args(["copy", "--config", "", "--webdav-url", &format!("http://{here}")])
                    .arg(from)
                    .arg(":webdav:");
            }
            Courier::Croc => {
                // Here it is the sender who waits.
                for command in [&mut receiver, &mut sender] {
                    command.env("CROC_SECRET", "of-the-benchmark").env("CROC_CONFIG_DIR", room.file("croc"));
                    command.args(["--local", "--yes", "--ignore-stdin", "--disable-clipboard"]);
                }
                receiver.args(["send", "--port", &room.port.to_string()]).arg(from);
                sender.args(["--ip", &here, "--overwrite", "--out"]).arg(to);
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

    /// Whether what is started first goes on when the file has arrived.
    fn is_daemon(&self) -> bool {
        matches!(self.courier, Courier::Rsync | Courier::Scp | Courier::Rclone)
    }

    /// Runs the sender, and waits for the end of the receiver, which is killed if it would go on for ever.
    fn both(&self, receiver: Running, sender: &mut Command) -> Result<(Ended, Ended), Trouble> {
        let (pid, daemon) = (receiver.pid(), self.is_daemon());
        std::thread::scope(|scope| {
            let sent = scope.spawn(move || {
                let sent = child::run(sender);
                if let Some(pid) = pid.filter(|_| daemon || sent.is_err()) {
                    let _ = kill_process(pid, Signal::KILL);
                }
                sent
            });
            let received = receiver.end_anyhow();
            let sent = sent.join().map_err(|_| Trouble::Failed("the thread of the sender panicked".into()))??;
            let (status, received, last) = received?;
            match status.success() || daemon {
                true => Ok((sent, received)),
                false => Err(Trouble::Failed(format!("the receiver: {status}: {last}"))),
            }
        })
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
        let receiver = Running::start(&mut receiver)?;
        if let Err(trouble) = waits(&receiver, self.courier, room.port) {
            // If it has ended, its own words say more.
            return Err(if receiver.has_ended() { receiver.end().err().unwrap_or(trouble) } else { trouble });
        }
        let start = Instant::now();
        let (sent, received) = self.both(receiver, &mut sender)?;
        let took = if self.is_daemon() { sent.took } else { start.elapsed() };
        let arrived = fs::read_dir(&to).map_err(|e| Trouble::failed("directory", e))?.flatten().next();
        let arrived = arrived.ok_or_else(|| Trouble::Wrong("nothing arrived".into()))?.path();
        let answer = add_up(&arrived)?;
        drop(fs::remove_file(&arrived));
        let process = Process {
            processor: sent.process.processor + received.process.processor,
            memory: sent.process.memory.max(received.process.memory),
            resident: sent.process.resident.max(received.process.resident),
        };
        Ok(Measured { process: Some(process), ..Measured::pipe(took, size, answer) })
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
            Courier::Mbuffer | Courier::Rclone | Courier::Croc => Ok(()),
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

/// Waits until what was started first waits for the other side. A connection for the trial would be taken for that.
fn waits(first: &Running, courier: Courier, port: u16) -> Result<(), Trouble> {
    let (began, wanted) = (Instant::now(), format!(":{port:04X} 00000000:0000 0A"));
    let listens = |table| fs::read_to_string(table).is_ok_and(|table| table.contains(&wanted));
    while began.elapsed() < PATIENCE && !first.has_ended() {
        let ready = match courier {
            // It listens before anybody may call.
            Courier::Croc => first.has_complained_of("Code is"),
            _ => ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().any(listens),
        };
        if ready {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err(Trouble::Failed("what should wait for the other side does not".into()))
}
