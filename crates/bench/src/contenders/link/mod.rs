//! Two hosts on this machine with a link of a known rate between them: network namespaces, and a cable (veth) whose two ends a
//! token bucket (tbf) slows down, or a [long way](long_way). They go when this goes.

mod long_way;
#[allow(unsafe_code, reason = "an ioctl")]
mod tun;

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use self::long_way::LongWay;
use crate::catalogue::Wire;
use crate::contenders::Trouble;

const CABLE: &str = "cable";

/// What is missing where there can be no such hosts.
fn unavailable() -> Trouble {
    Trouble::Unavailable("no hosts with a link; be root, and install util-linux and iproute2".into())
}

/// The two hosts.
pub(super) struct Link {
    pub(super) near: Host,
    pub(super) far: Host,
    _way: Option<LongWay>,
}

impl Link {
    pub(super) fn new(wire: Wire) -> Result<Link, Trouble> {
        let [near, far] = [Host::new("10.9.0.1")?, Host::new("10.9.0.2")?];
        let way = if wire.round_trip == 0 { short(&near, &far, wire) } else { long(&near, &far, wire).map(Some) }?;
        for (host, other) in [(&near, &far), (&far, &near)] {
            let address = ["addr", "add", host.address, "peer", other.address, "dev", CABLE];
            is_done(host.command("ip").args(address))?;
            is_done(host.command("ip").args(["link", "set", "dev", CABLE, "up"]))?;
        }
        Ok(Link { near, far, _way: way })
    }
}

/// A cable, each end of which takes no more than the rate.
fn short(near: &Host, far: &Host, wire: Wire) -> Result<Option<LongWay>, Trouble> {
    let [one, other] = [near, far].map(|host| host.holder.id().to_string());
    let cable = ["link", "add", CABLE, "netns", &one, "type", "veth", "peer", "name", CABLE, "netns", &other];
    is_done(Command::new("ip").args(cable))?;
    let megabits = wire.megabits;
    // What may leave at once: what is gained between two ticks of the slowest clock, and a large packet.
    let burst = (u64::from(megabits) * 1_000_000 / 8 / 100).max(128 << 10);
    let shape = format!("qdisc add dev {CABLE} root tbf rate {megabits}mbit burst {burst} latency 50ms");
    for host in [near, far] {
        is_done(host.command("tc").args(shape.split(' ')))?;
    }
    Ok(None)
}

/// Two devices, and who carries packets between them.
fn long(near: &Host, far: &Host, wire: Wire) -> Result<LongWay, Trouble> {
    let device = |host: &Host| host.run(|| tun::device(CABLE).map_err(|_| unavailable()));
    LongWay::between(device(near)?, device(far)?, wire).map_err(|e| Trouble::failed("a carrier", e))
}

fn is_done(command: &mut Command) -> Result<(), Trouble> {
    let done = command.stdin(Stdio::null()).output().map_err(|_| unavailable())?;
    done.status.success().then_some(()).ok_or_else(unavailable)
}

/// A network namespace, held by a process that ends when this one does.
pub(super) struct Host {
    holder: Child,
    pub(super) address: &'static str,
}

impl Host {
    fn new(address: &'static str) -> Result<Host, Trouble> {
        let mut holder = Command::new("unshare");
        holder.args(["--net", "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let holder = holder.spawn().map_err(|_| unavailable())?;
        let mut host = Host { holder, address };
        // What comes back comes from inside.
        let asked = host.holder.stdin.as_mut().map(|to| to.write_all(b"?"));
        let answered = host.holder.stdout.as_mut().map(|from| from.read_exact(&mut [0]));
        match (asked, answered) {
            (Some(Ok(())), Some(Ok(()))) => Ok(host),
            _ => Err(unavailable()),
        }
    }

    /// A command that runs on this host.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.holder.id().to_string(), "--net", "--", program]);
        command
    }

    /// Does something in a thread on this host: sockets and devices that it opens are this host's, and threads that it starts begin
    /// here.
    pub(super) fn run<R: Send>(&self, work: impl FnOnce() -> Result<R, Trouble> + Send) -> Result<R, Trouble> {
        let there = || self.enter().and_then(|()| work());
        let done = std::thread::scope(|scope| scope.spawn(there).join());
        done.unwrap_or_else(|_| Err(Trouble::Failed("a thread of a host panicked".into())))
    }

    fn enter(&self) -> Result<(), Trouble> {
        let path = format!("/proc/{}/ns/net", self.holder.id());
        let there = File::open(&path).map_err(|e| Trouble::failed(&path, e))?;
        let moved = move_into_link_name_space(there.as_fd(), Some(LinkNameSpaceType::Network));
        moved.map_err(|e| Trouble::failed(&path, e))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}
