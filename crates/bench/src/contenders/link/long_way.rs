//! A long way that loses packets, for kernels without netem: this program carries them, each later by half a round trip.
//!
//! Packets leave one after the other at the rate of the link. Those that would have to wait for longer than a round trip are lost, as
//! in a router whose buffer is full, and so is one of many at random.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::catalogue::Wire;

/// More than a packet has.
const PACKET: usize = 2048;
/// How many packets are taken before those that are due are delivered.
const AT_ONCE: usize = 32;
/// How often a carrier looks whether it shall end.
const LOOK: Duration = Duration::from_millis(50);

/// The carriers, one for each direction. They end with this.
pub(super) struct LongWay {
    over: Arc<AtomicBool>,
    carriers: Vec<JoinHandle<()>>,
}

impl LongWay {
    pub(super) fn between(near: File, far: File, wire: Wire) -> std::io::Result<LongWay> {
        let mut way = LongWay { over: Arc::default(), carriers: Vec::new() };
        let ends = [(near.try_clone()?, far.try_clone()?), (far, near)];
        for (seed, (from, to)) in ends.into_iter().enumerate() {
            let over = way.over.clone();
            let carrier = std::thread::Builder::new().name("carrier".into());
            way.carriers.push(carrier.spawn(move || Carrier::new(from, to, wire, seed as u64).carry(&over))?);
        }
        Ok(way)
    }
}

impl Drop for LongWay {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        for carrier in self.carriers.drain(..) {
            let _ = carrier.join();
        }
    }
}

struct Carrier {
    from: File,
    to: File,
    wire: Wire,
    random: fastrand::Rng,
    /// Packets on their way, and when they arrive.
    on_the_way: VecDeque<(Instant, Vec<u8>)>,
    /// When the last of them has left.
    left: Instant,
}

impl Carrier {
    fn new(from: File, to: File, wire: Wire, seed: u64) -> Carrier {
        let random = fastrand::Rng::with_seed(seed);
        Carrier { from, to, wire, random, on_the_way: VecDeque::new(), left: Instant::now() }
    }

    fn carry(mut self, over: &AtomicBool) {
        let mut packet = [0; PACKET];
        while !over.load(Relaxed) {
            for _ in 0..AT_ONCE {
                match self.from.read(&mut packet) {
                    Ok(length) => self.take(&packet[..length]),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    // The device has gone.
                    Err(_) => return,
                }
            }
            let now = Instant::now();
            while self.on_the_way.front().is_some_and(|(due, _)| *due <= now) {
                if let Some((_, packet)) = self.on_the_way.pop_front() {
                    // A host that is not up, or has no room, loses it.
                    let _ = self.to.write(&packet);
                }
            }
            let next = self.on_the_way.front().map_or(LOOK, |(due, _)| due.saturating_duration_since(now).min(LOOK));
            let limit = Timespec { tv_sec: 0, tv_nsec: i64::from(next.subsec_nanos()) };
            let _ = poll(&mut [PollFd::new(&self.from.as_fd(), PollFlags::IN)], Some(&limit));
        }
    }

    fn take(&mut self, packet: &[u8]) {
        let (now, round_trip) = (Instant::now(), Duration::from_millis(self.wire.round_trip.into()));
        let starts = self.left.max(now);
        if self.random.u32(..self.wire.lost_one_in) == 0 || starts - now > round_trip {
            return;
        }
        let nanoseconds = packet.len() as u64 * 8 * 1000 / u64::from(self.wire.megabits);
        self.left = starts + Duration::from_nanos(nanoseconds);
        self.on_the_way.push_back((self.left + round_trip / 2, packet.to_owned()));
    }
}
