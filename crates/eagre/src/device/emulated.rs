//! Devices that this machine does not have: memory or a disk, with delays added.
//!
//! WiscSort (section 4.5) sorts on memory that is slowed down, to see which property of a device makes which algorithm
//! win. A [`Model`] says what is slow; [`Emulated`] counts who reads and writes at the moment, and makes them wait. Code
//! that reads or writes wraps each access in [`Emulated::read`] or [`Emulated::write`]. Many small pieces should be one
//! access with [`Pattern::Random`], since each access looks at the clock.
//!
//! | name | random reads | writes | stands for |
//! |---|---|---|---|
//! | `bd` | + 2 us for each block of 4 KiB | | storage behind memory addresses, that moves whole blocks |
//! | `brd` | | | memory |
//! | `bard` | | + 100 ns for each cache line | memory whose writes are slow |
//! | `braid` | + 40 ns for each 256 B | + 60 ns for each cache line, and no faster with more than 2 writers | persistent memory; each writer slows reads by half |
//!
//! The letters name the properties that the device *has*: `bd` lacks fast random reads, `brd` lacks asymmetry.

use std::fmt;
use std::hint;
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::{Duration, Instant};

use super::profile::{Access, Measured, Profile};

/// A cache line.
const LINE: u64 = 64;

/// What is slow about a device. The delays are those of one thread; threads wait at the same time.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Model {
    /// Its name, for people.
    pub name: String,
    /// The bytes that a random read moves at a time, at least. A power of two.
    pub granule: u64,
    /// What a random read takes longer for each granule that it touches.
    pub random_read: Duration,
    /// What a write takes longer for each cache line of 64 bytes.
    pub write: Duration,
    /// How much longer a read takes for each thread that writes meanwhile, as a fraction of its time.
    pub read_beside_writer: f64,
    /// With more writers than this, each waits for the others, so that together they are no faster. At least 1.
    pub writers: u32,
}

impl Model {
    /// A device without delays, as `brd`.
    #[must_use]
    pub fn new(name: &str) -> Model {
        Model {
            name: name.to_owned(),
            granule: LINE,
            random_read: Duration::ZERO,
            write: Duration::ZERO,
            read_beside_writer: 0.0,
            writers: u32::MAX,
        }
    }

    /// How much longer a read of `bytes` bytes takes that took `time`, with `writers` threads writing meanwhile.
    #[must_use]
    pub fn read_delay(&self, pattern: Pattern, bytes: u64, time: Duration, writers: u32) -> Duration {
        let delay = match pattern {
            Pattern::Sequential => 0.0,
            Pattern::Random { piece } => self.pieces_delay(piece, bytes as f64 / piece.max(1) as f64),
        };
        Duration::from_secs_f64((delay + time.as_secs_f64()) * self.slowdown(writers) - time.as_secs_f64())
    }

    /// How much longer a write of `bytes` bytes takes that took `time`, with `writers` threads writing, this one
    /// included.
    #[must_use]
    pub fn write_delay(&self, bytes: u64, time: Duration, writers: u32) -> Duration {
        let delay = self.write.as_secs_f64() * bytes.div_ceil(LINE) as f64;
        let queue = (f64::from(writers) / f64::from(self.writers.max(1))).max(1.0);
        Duration::from_secs_f64((delay + time.as_secs_f64()) * queue - time.as_secs_f64())
    }

    /// Seconds for random reads of `count` pieces. A piece that begins anywhere touches 1 + (piece - 1) / granule granules
    /// on average.
    fn pieces_delay(&self, piece: u64, count: f64) -> f64 {
        let granules = 1.0 + piece.saturating_sub(1) as f64 / self.granule.max(1) as f64;
        self.random_read.as_secs_f64() * granules * count
    }

    fn slowdown(&self, writers: u32) -> f64 {
        1.0 + self.read_beside_writer * f64::from(writers)
    }

    /// What a measurement of the device below becomes when it is this device. `threads` run at once.
    fn slowed(&self, measured: &Measured, threads: u32) -> Measured {
        let &Measured { access, request, depth, rate } = measured;
        let at_once = f64::from(depth.min(threads).max(1));
        // What one request of one thread takes.
        let time = request as f64 / rate * at_once;
        let (time, at_once) = match access {
            Access::RandomRead | Access::CachedGather => (time + self.pieces_delay(request, 1.0), at_once),
            Access::ReadBesideWrite => (time * self.slowdown(depth), at_once),
            _ if access.is_write() => {
                let time = time + self.write.as_secs_f64() * request.div_ceil(LINE) as f64;
                (time, at_once.min(f64::from(self.writers.max(1))))
            }
            _ => (time, at_once),
        };
        Measured::new(access, request, depth, request as f64 * at_once / time)
    }
}

/// The name of a model that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownModel(String);

impl fmt::Display for UnknownModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no device to emulate is called '{}'; name one of: bd, brd, bard, braid", self.0.escape_debug())
    }
}

impl std::error::Error for UnknownModel {}

impl FromStr for Model {
    type Err = UnknownModel;
    fn from_str(name: &str) -> Result<Model, UnknownModel> {
        let (micros, nanos, plain) = (Duration::from_micros, Duration::from_nanos, Model::new(name));
        match name {
            "bd" => Ok(Model { granule: 4096, random_read: micros(2), ..plain }),
            "brd" => Ok(plain),
            "bard" => Ok(Model { write: nanos(100), ..plain }),
            "braid" => Ok(Model {
                granule: 256,
                random_read: nanos(40),
                write: nanos(60),
                read_beside_writer: 0.5,
                writers: 2,
                ..plain
            }),
            _ => Err(UnknownModel(name.to_owned())),
        }
    }
}

/// The order of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pattern {
    /// Behind the last one.
    Sequential,
    /// At random places, in pieces of this many bytes.
    Random {
        /// The bytes of a piece.
        piece: u64,
    },
}

/// A device with delays. Threads share it.
#[derive(Debug)]
pub struct Emulated {
    model: Model,
    readers: AtomicU32,
    writers: AtomicU32,
    /// What looking at the clock takes, which delays as well.
    overhead: Duration,
}

impl Emulated {
    /// A device of this model, which nobody uses yet.
    #[must_use]
    pub fn new(model: Model) -> Emulated {
        let tries = (0..64).map(|_| Instant::now().elapsed());
        let overhead = tries.min().unwrap_or_default();
        Emulated { model, readers: AtomicU32::new(0), writers: AtomicU32::new(0), overhead }
    }

    /// What is slow about it.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// How many threads read and write at the moment.
    #[must_use]
    pub fn users(&self) -> (u32, u32) {
        (self.readers.load(SeqCst), self.writers.load(SeqCst))
    }

    /// Calls `read`, which reads `bytes` bytes, and waits as long as this device would take longer.
    pub fn read<R>(&self, pattern: Pattern, bytes: u64, read: impl FnOnce() -> R) -> R {
        let _held = self.reading(pattern, bytes);
        read()
    }

    /// Calls `write`, which writes `bytes` bytes, and waits as long as this device would take longer.
    pub fn write<R>(&self, bytes: u64, write: impl FnOnce() -> R) -> R {
        let _held = self.writing(bytes);
        write()
    }

    /// This thread begins to read `bytes` bytes. It waits when the result is dropped, and counts as a reader until then.
    #[must_use = "the read lasts until this is dropped"]
    pub fn reading(&self, pattern: Pattern, bytes: u64) -> Held<'_> {
        self.readers.fetch_add(1, SeqCst);
        Held { device: self, kind: Kind::Read(pattern), bytes, began: Instant::now() }
    }

    /// This thread begins to write `bytes` bytes. It waits when the result is dropped, and counts as a writer until then.
    #[must_use = "the write lasts until this is dropped"]
    pub fn writing(&self, bytes: u64) -> Held<'_> {
        self.writers.fetch_add(1, SeqCst);
        Held { device: self, kind: Kind::Write, bytes, began: Instant::now() }
    }

    /// The profile of this device, if `base` is that of the device below it.
    #[must_use]
    pub fn profile(&self, base: &Profile) -> Profile {
        let mut below = base.measured.clone();
        for access in [Access::ReadBesideWrite, Access::WriteBesideRead] {
            // A probe does not measure these, but here they are known.
            if !below.iter().any(|measured| measured.access == access) {
                below.extend([1, 4].map(|depth| Measured {
                    access,
                    request: 1 << 20,
                    depth,
                    rate: base.rate(access, 1 << 20, depth),
                }));
            }
        }
        let measured = below.iter().map(|measured| self.model.slowed(measured, base.threads)).collect();
        Profile { emulated: Some(self.model.name.clone()), measured, ..base.clone() }
    }
}

impl FromStr for Emulated {
    type Err = UnknownModel;
    fn from_str(name: &str) -> Result<Emulated, UnknownModel> {
        name.parse().map(Emulated::new)
    }
}

#[derive(Debug)]
enum Kind {
    Read(Pattern),
    Write,
}

/// A read or write that goes on. Dropping it waits for the rest of the time that the device takes.
#[derive(Debug)]
pub struct Held<'a> {
    device: &'a Emulated,
    kind: Kind,
    bytes: u64,
    began: Instant,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let Emulated { model, readers, writers, overhead } = self.device;
        let ended = Instant::now();
        let (time, busy) = (ended - self.began, writers.load(SeqCst));
        let (delay, count) = match self.kind {
            Kind::Read(pattern) => (model.read_delay(pattern, self.bytes, time, busy), readers),
            Kind::Write => (model.write_delay(self.bytes, time, busy), writers),
        };
        // Short delays are the rule: a sleep would take fifty times as long.
        let delay = delay.saturating_sub(*overhead);
        while !delay.is_zero() && ended.elapsed() < delay {
            hint::spin_loop();
        }
        count.fetch_sub(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICRO: Duration = Duration::from_micros(1);

    #[test]
    fn names_are_known_and_others_are_listed() {
        for name in ["bd", "brd", "bard", "braid"] {
            assert_eq!(name.parse::<Model>().unwrap().name, name);
        }
        let error = "optane".parse::<Emulated>().unwrap_err().to_string();
        assert!(error.contains("'optane'") && error.contains("bard"), "{error}");
    }

    #[test]
    fn each_model_delays_what_it_says() {
        let of = |name: &str| name.parse::<Model>().unwrap();
        let random = Pattern::Random { piece: 1 };
        // A thousand single bytes, each in a block of its own.
        assert_eq!(of("bd").read_delay(random, 1000, MICRO, 0), 2000 * MICRO);
        assert_eq!(of("bd").read_delay(Pattern::Sequential, 1 << 20, MICRO, 3), Duration::ZERO);
        assert_eq!(of("bd").write_delay(1 << 20, MICRO, 8), Duration::ZERO);
        assert_eq!(of("brd").read_delay(random, 1000, MICRO, 3), Duration::ZERO);
        assert_eq!(of("bard").read_delay(random, 1000, MICRO, 3), Duration::ZERO);
        assert_eq!(of("bard").write_delay(640, MICRO, 3), MICRO);
        let braid = of("braid");
        assert_eq!(braid.read_delay(Pattern::Sequential, 1 << 20, 10 * MICRO, 2), 10 * MICRO);
        assert_eq!(braid.write_delay(0, 10 * MICRO, 2), Duration::ZERO);
        assert_eq!(braid.write_delay(0, 10 * MICRO, 4), 10 * MICRO);
    }

    #[test]
    fn users_are_counted_until_they_are_done() {
        let device: Emulated = "brd".parse().unwrap();
        let first = device.reading(Pattern::Sequential, 1);
        device.write(1, || {
            let _second = device.reading(Pattern::Sequential, 1);
            assert_eq!(device.users(), (2, 1));
        });
        assert_eq!(device.users(), (1, 0));
        drop(first);
        assert_eq!(device.users(), (0, 0));
    }

    #[test]
    fn an_access_takes_its_delay_at_least() {
        let device = Emulated::new(Model { random_read: 500 * MICRO, ..Model::new("slow") });
        let began = Instant::now();
        device.read(Pattern::Random { piece: 1 }, 4, || ());
        assert!(began.elapsed() >= 1999 * MICRO);
    }
}
