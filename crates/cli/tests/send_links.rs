//! `eagre send` and `eagre receive` between two hosts whose link is cut, restored or lost: network namespaces with a cable (veth)
//! between them. They end with the test, however it ends.
#![forbid(unsafe_code)]

mod common;

#[path = "common/remote.rs"]
mod remote;

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::{eagre, names};
use remote::{Running, fine, folders, noise, run, until};

/// A network namespace, held by a process that ends when this one does.
struct Host {
    holder: Child,
    address: &'static str,
}

impl Host {
    /// `None` where that is forbidden.
    fn new(address: &'static str) -> Option<Host> {
        let mut holder = Command::new("unshare");
        holder.args(["--net", "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut host = Host { holder: holder.spawn().ok()?, address };
        // What comes back comes from inside.
        let mut answer = [0; 3];
        host.holder.stdin.as_mut()?.write_all(b"in\n").ok()?;
        host.holder.stdout.as_mut()?.read_exact(&mut answer).ok()?;
        Some(host)
    }

    /// A command that runs on this host.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.holder.id().to_string(), "--net", "--"]).arg(program);
        command
    }

    /// Runs a command that sets something there. False if it fails.
    fn can_set(&self, arguments: &str) -> bool {
        let mut words = arguments.split(' ');
        let done = self.command(words.next().unwrap()).args(words).output();
        done.is_ok_and(|done| done.status.success())
    }

    #[track_caller]
    fn set(&self, arguments: &str) {
        assert!(self.can_set(arguments), "{arguments}");
    }

    fn start(&self, folder: &Path, arguments: &[&str]) -> Running {
        let mut command = self.command(eagre().get_program());
        command.current_dir(folder).args(arguments);
        run(command)
    }

    /// The most often that anything was sent again on a connection that waits for an answer.
    fn sent_again(&self) -> u64 {
        let connections = fs::read_to_string(format!("/proc/{}/net/tcp", self.holder.id())).unwrap_or_default();
        let field = |line: &str| line.split_whitespace().nth(6).and_then(|number| u64::from_str_radix(number, 16).ok());
        connections.lines().skip(1).filter_map(field).max().unwrap_or(0)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// The host that sends and the one that receives, with a link of 8 Mbit/s. `None`, and said, where there can be none.
fn hosts() -> Option<[Host; 2]> {
    let linked = || {
        let [sender, receiver] = [Host::new("10.9.0.1")?, Host::new("10.9.0.2")?];
        let [one, other] = [&sender, &receiver].map(|host| host.holder.id().to_string());
        let link = ["link", "add", "cable", "netns", &one, "type", "veth", "peer", "name", "cable", "netns", &other];
        Command::new("ip").args(link).output().ok().filter(|done| done.status.success())?;
        let hosts = [sender, receiver];
        let is_set = |host: &Host| {
            host.can_set(&format!("ip addr add {}/24 dev cable", host.address))
                && host.can_set("ip link set dev cable up")
                && host.can_set("tc qdisc add dev cable root tbf rate 8mbit burst 64k latency 50ms")
        };
        hosts.iter().all(is_set).then_some(hosts)
    };
    let hosts = linked();
    if hosts.is_none() {
        eprintln!("skipped: no network namespaces (not root, or there is no unshare, ip, tc or veth)");
    }
    hosts
}

fn with_token(folder: &Path) {
    fs::write(folder.join("token"), "a secret of this test and no other").unwrap();
    fs::set_permissions(folder.join("token"), Permissions::from_mode(0o600)).unwrap();
}

/// A file that takes four seconds, of which half a second is over: the two commands, the one that sends first.
fn under_way([sender, receiver]: &[Host; 2], from: &Path, to: &Path, sender_calls: bool, retry: &str) -> [Running; 2] {
    for folder in [from, to] {
        with_token(folder);
    }
    fs::write(from.join("a"), noise(4 << 20)).unwrap();
    let options = |command| [command, "--token", "token", "--retry", retry];
    let side = |command, more: &[&'static str]| [&options(command)[..], more].concat();
    let [sends, receives] = if sender_calls {
        let mut receives = receiver.start(to, &side("receive", &["--listen", "10.9.0.2:7373"]));
        receives.address();
        [sender.start(from, &side("send", &["--streams", "2", "a", "10.9.0.2"])), receives]
    } else {
        let mut sends = sender.start(from, &side("send", &["--listen", "10.9.0.1:7373", "a"]));
        sends.address();
        [sends, receiver.start(to, &side("receive", &["--connect", "10.9.0.1"]))]
    };
    receives.wait_until_written(1 << 19);
    [sends, receives]
}

#[track_caller]
fn arrives([sends, receives]: [Running; 2], from: &Path, to: &Path) {
    assert_eq!((sends.end(), receives.end()), (fine(), fine()));
    assert!(fs::read(from.join("a")).unwrap() == fs::read(to.join("a")).unwrap());
    assert_eq!(names(to), ["a", "token"]);
}

#[test]
fn a_link_that_is_cut_and_restored() {
    for sender_calls in [true, false] {
        let Some(hosts) = hosts() else { return };
        let [from, to] = folders();
        let running = under_way(&hosts, from.path(), to.path(), sender_calls, "60");
        hosts[1].set("ip link set dev cable down");
        until("packets are lost", || hosts[0].sent_again() >= 3);
        hosts[1].set("ip link set dev cable up");
        arrives(running, from.path(), to.path());
    }
}

/// The connection cannot be used any more, which is noticed by its silence; another one takes over.
#[test]
fn an_address_that_changes() {
    let Some(hosts) = hosts() else { return };
    let [from, to] = folders();
    let running = under_way(&hosts, from.path(), to.path(), true, "60");
    hosts[0].set("ip addr del 10.9.0.1/24 dev cable");
    hosts[0].set("ip addr add 10.9.0.3/24 dev cable");
    arrives(running, from.path(), to.path());
}

/// Each side ends by itself, says why in one line, and the receiver leaves nothing.
#[test]
fn a_link_that_stays_cut() {
    let Some(hosts) = hosts() else { return };
    let [from, to] = folders();
    let running = under_way(&hosts, from.path(), to.path(), true, "1");
    hosts[1].set("ip link set dev cable down");
    for (side, running) in ["sender", "receiver"].into_iter().zip(running) {
        let (code, out, err) = running.end();
        assert_eq!((code, out.len(), err.lines().count()), (Some(2), 0, 1), "{side}: {err}");
    }
    assert_eq!(names(to.path()), ["token"]);
}

/// A host that is there no more answers nothing, not even that.
#[test]
fn a_host_that_vanishes() {
    let Some([sender, receiver]) = hosts() else { return };
    let [from, to] = folders();
    let hosts = [sender, receiver];
    let [sends, receives] = under_way(&hosts, from.path(), to.path(), true, "1");
    hosts[1].set("ip link set dev cable down");
    receives.kill();
    let (code, _, err) = sends.end();
    assert_eq!((code, err.lines().count()), (Some(2), 1), "{err}");
}
