//! Two ends of a transfer, as processes. No wait in a test is longer than [`LIMIT`].
#![allow(dead_code, reason = "not every test file uses all of it")]

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::common::{eagre, seeded};

/// What takes longer does not end.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// A command that runs.
pub(crate) struct Running {
    what: String,
    pid: Pid,
    ended: Receiver<ExitStatus>,
    out: Receiver<Vec<u8>>,
    lines: Receiver<String>,
    err: String,
}

/// How it ended: exit code (`None` if a signal ended it), standard output and standard error.
pub(crate) type Ended = (Option<i32>, Vec<u8>, String);

/// Starts the command in a folder. Nothing is retried for longer than two seconds unless the arguments say otherwise.
pub(crate) fn start<S: AsRef<OsStr>>(folder: &Path, arguments: impl IntoIterator<Item = S>) -> Running {
    let mut command = eagre();
    command.current_dir(folder).args(arguments);
    run(command)
}

pub(crate) fn run(mut command: Command) -> Running {
    let what = format!("{command:?}");
    let mut child: Child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = Pid::from_child(&child);
    let (mut stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (say, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stderr).split(b'\n') {
            let line = String::from_utf8_lossy(&line.unwrap_or_default()).into_owned();
            if say.send(line).is_err() {
                return;
            }
        }
    });
    let (give, out) = channel();
    thread::spawn(move || {
        let mut all = Vec::new();
        let _ = stdout.read_to_end(&mut all);
        let _ = give.send(all);
    });
    let (end, ended) = channel();
    thread::spawn(move || end.send(child.wait().unwrap()));
    Running { what, pid, ended, out, lines, err: String::new() }
}

impl Running {
    /// Where it listens.
    pub(crate) fn address(&mut self) -> String {
        loop {
            let line = self.lines.recv_timeout(LIMIT);
            let line = line.unwrap_or_else(|_| panic!("{} does not listen: {}", self.what, self.err));
            if let Some((_, address)) = line.split_once("listening on ") {
                return address.to_owned();
            }
            self.err += &format!("{line}\n");
        }
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ended {
        let Ok(status) = self.ended.recv_timeout(LIMIT) else {
            self.signal(Signal::KILL);
            self.err.extend(self.lines.iter().map(|line| line + "\n"));
            panic!("{} does not end: {}", self.what, self.err);
        };
        let out = self.out.recv_timeout(LIMIT).unwrap_or_default();
        while let Ok(line) = self.lines.recv_timeout(LIMIT) {
            self.err += &format!("{line}\n");
        }
        (status.code(), out, self.err)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let _ = kill_process(self.pid, signal);
    }

    /// Ends it as nothing else does.
    pub(crate) fn kill(self) {
        self.signal(Signal::KILL);
        assert_eq!(self.end().0, None);
    }

    /// Waits until it has written so many bytes to files and pipes.
    pub(crate) fn wait_until_written(&self, bytes: u64) {
        until(&format!("{} has written {bytes} bytes", self.what), || self.written().is_some_and(|now| now >= bytes));
    }

    /// The same, or it has ended.
    pub(crate) fn wait_until_written_or_ended(&self, bytes: u64) {
        until(&format!("{} has written {bytes} bytes", self.what), || self.written().is_none_or(|now| now >= bytes));
    }

    /// How many bytes it has written. `None` if it has ended.
    fn written(&self) -> Option<u64> {
        let io = std::fs::read_to_string(format!("/proc/{}/io", self.pid.as_raw_nonzero())).ok()?;
        io.lines().find_map(|line| line.strip_prefix("wchar: "))?.parse().ok()
    }
}

/// Waits until something is so.
pub(crate) fn until(what: &str, is: impl Fn() -> bool) {
    let began = Instant::now();
    while !is() {
        assert!(began.elapsed() < LIMIT, "it is not so that {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Sends `sources` from one folder into the current directory of another, with these arguments more for each side, and returns how
/// both ended: the sender, and the receiver.
pub(crate) fn transfer(from: &Path, send: &[&str], sources: &[&OsStr], to: &Path, receive: &[&str]) -> (Ended, Ended) {
    let own = ["receive", "--listen", "127.0.0.1:0"];
    let mut receiver = start(to, own.iter().chain(receive));
    let address = receiver.address();
    let mut sender = eagre();
    sender.current_dir(from).arg("send").args(send).args(sources).arg(address);
    let sent = run(sender).end();
    (sent, receiver.end())
}

/// Bytes at random, the same for a length.
pub(crate) fn noise(length: usize) -> Vec<u8> {
    let mut random = seeded(length as u64);
    let mut bytes = vec![0; length];
    random.fill(&mut bytes);
    bytes
}

/// One to send from, and one to receive in.
pub(crate) fn folders() -> [tempfile::TempDir; 2] {
    [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()]
}

/// It has done its work, and had nothing to say.
pub(crate) fn fine() -> Ended {
    (Some(0), Vec::new(), String::new())
}

#[track_caller]
pub(crate) fn assert_arrives(from: &Path, send: &[&str], sources: &[&str], to: &Path, receive: &[&str]) {
    let sources: Vec<_> = sources.iter().map(OsStr::new).collect();
    let (sent, received) = transfer(from, send, &sources, to, receive);
    assert_eq!((sent, received), (fine(), fine()), "{send:?} {sources:?} {receive:?}");
}
