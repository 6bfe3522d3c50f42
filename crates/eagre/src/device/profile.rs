//! A profile: measurements of a device, and when they were taken.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::identity::{self, Identity};
use super::rates;

/// How a file is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Access {
    /// Requests one behind the other, past the page cache where that is possible.
    SequentialRead,
    /// The same for writes into fresh space.
    SequentialWrite,
    /// Requests at random places, past the page cache where that is possible.
    RandomRead,
    /// The same for writes into space that is written already.
    RandomWrite,
    /// Sequential writes through the page cache, with the time until they are durable (`fsync`).
    DurableWrite,
    /// Sequential reads of bytes that are in the page cache.
    CachedRead,
    /// Reads at random places of bytes that are in the page cache, through a mapping.
    CachedGather,
    /// Sequential reads while as many threads write.
    ReadBesideWrite,
    /// Sequential writes while as many threads read.
    WriteBesideRead,
}

impl Access {
    /// All of them, in the order of a profile.
    pub const ALL: [Access; 9] = [
        Access::SequentialRead,
        Access::SequentialWrite,
        Access::RandomRead,
        Access::RandomWrite,
        Access::DurableWrite,
        Access::CachedRead,
        Access::CachedGather,
        Access::ReadBesideWrite,
        Access::WriteBesideRead,
    ];

    /// Its name in a profile and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Access::SequentialRead => "sequential-read",
            Access::SequentialWrite => "sequential-write",
            Access::RandomRead => "random-read",
            Access::RandomWrite => "random-write",
            Access::DurableWrite => "durable-write",
            Access::CachedRead => "cached-read",
            Access::CachedGather => "cached-gather",
            Access::ReadBesideWrite => "read-beside-write",
            Access::WriteBesideRead => "write-beside-read",
        }
    }

    /// Whether bytes go to the device.
    #[must_use]
    pub fn is_write(self) -> bool {
        use Access::{DurableWrite, RandomWrite, SequentialWrite, WriteBesideRead};
        matches!(self, SequentialWrite | RandomWrite | DurableWrite | WriteBesideRead)
    }

    /// Whether requests go to random places.
    #[must_use]
    pub fn is_random(self) -> bool {
        matches!(self, Access::RandomRead | Access::RandomWrite | Access::CachedGather)
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Access {
    type Err = ();
    fn from_str(name: &str) -> Result<Access, ()> {
        Access::ALL.into_iter().find(|access| access.name() == name).ok_or(())
    }
}

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Measured {
    /// How the file was accessed.
    pub access: Access,
    /// The bytes of a request.
    pub request: u64,
    /// How many requests were in flight, each from a thread of its own.
    pub depth: u32,
    /// Bytes per second, of all threads together.
    pub rate: f64,
}

impl Measured {
    /// A measurement; `rate` in bytes per second. It is rounded to whole ones, as a kept profile has it, and 1 at least.
    #[must_use]
    pub fn new(access: Access, request: u64, depth: u32, rate: f64) -> Measured {
        Measured { access, request, depth, rate: rate.round().max(1.0) }
    }
}

/// How much was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Thoroughness {
    /// The numbers without which no plan can be chosen ([`Profile::probe`]).
    Probe,
    /// All of them ([`Profile::measure`]).
    Full,
}

/// What a device can do.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Profile {
    /// The device.
    pub identity: Identity,
    /// The release of the kernel that was running.
    pub kernel: String,
    /// When the measurement ended, in seconds since 1970.
    pub taken: u64,
    /// How much was measured.
    pub thoroughness: Thoroughness,
    /// How many threads could run at once.
    pub threads: u32,
    /// The emulated device whose delays are in the numbers.
    pub emulated: Option<String>,
    /// The measurements.
    pub measured: Vec<Measured>,
}

impl Profile {
    /// A profile of these measurements, taken now on this machine. To be used with numbers from elsewhere: for
    /// [`Profile::measure`] calls this itself.
    #[must_use]
    pub fn new(identity: Identity, thoroughness: Thoroughness, measured: Vec<Measured>) -> Profile {
        let threads = eagre_mem::threads::available().get();
        Profile {
            identity,
            kernel: identity::kernel(),
            taken: now(),
            thoroughness,
            threads: u32::try_from(threads).unwrap_or(u32::MAX),
            emulated: None,
            measured,
        }
    }

    /// What is to be expected of a device that was not measured: of memory, what memory does; of others, nothing is known.
    pub(crate) fn expected(identity: Identity) -> Profile {
        let small = [
            (Access::RandomRead, 512, 1, 0.8e9),
            (Access::RandomRead, 512, 4, 1.6e9),
            (Access::CachedGather, 100, 1, 3e9),
            (Access::CachedGather, 100, 4, 6e9),
            (Access::CachedGather, 1024, 1, 10e9),
            (Access::CachedGather, 1024, 4, 20e9),
        ];
        let small = small.map(|(access, request, depth, rate)| Measured::new(access, request, depth, rate));
        let large = [
            (Access::SequentialRead, 1, 4e9),
            (Access::SequentialRead, 4, 8e9),
            (Access::SequentialWrite, 1, 3e9),
            (Access::SequentialWrite, 4, 5e9),
            (Access::RandomRead, 1, 4e9),
            (Access::RandomRead, 4, 8e9),
            (Access::CachedRead, 1, 5e9),
            (Access::CachedRead, 4, 10e9),
        ];
        let large = large.map(|(access, depth, rate)| Measured::new(access, 1 << 20, depth, rate));
        let measured = if identity.in_memory { [&small[..], &large].concat() } else { Vec::new() };
        Profile::new(identity, Thoroughness::Probe, measured)
    }

    /// Bytes per second with requests of `request` bytes, `depth` of them in flight; both at least 1.
    ///
    /// Between measurements, the logarithms are interpolated. Random requests that are smaller or larger than all measured
    /// ones take as long as the nearest, but are never faster than sequential ones. With fewer in flight than measured,
    /// the rate falls in proportion; with more, it stays.
    ///
    /// What was not measured is estimated from what was: random writes as random reads, durable writes as half of
    /// sequential ones, reads and writes beside each other as half of what they are alone. Without any measurement to
    /// go by, the answer is 500 MB/s.
    #[must_use]
    pub fn rate(&self, access: Access, request: u64, depth: u32) -> f64 {
        rates::rate(&self.measured, access, request.max(1), depth.max(1))
    }

    /// Seconds to move `bytes` bytes at that rate.
    #[must_use]
    pub fn seconds(&self, access: Access, bytes: u64, request: u64, depth: u32) -> f64 {
        bytes as f64 / self.rate(access, request, depth)
    }

    /// What reading and writing at the same time gains: the sum of what either reaches beside the other, each as a
    /// fraction of what it reaches alone. 2 if they do not notice each other; at most 1 if overlapping gains nothing.
    #[must_use]
    pub fn overlap(&self) -> f64 {
        // Few requests do not keep a device busy, so they do not disturb each other.
        let beside = self.measured.iter().filter(|measured| measured.access == Access::ReadBesideWrite);
        let beside = beside.max_by_key(|measured| measured.depth);
        let Some(&Measured { request, depth, .. }) = beside else { return 1.0 };
        let of = |access| self.rate(access, request, depth);
        of(Access::ReadBesideWrite) / of(Access::SequentialRead)
            + of(Access::WriteBesideRead) / of(Access::SequentialWrite)
    }

    /// The smallest request, a power of two from 512 B to 16 MiB, whose random reads reach half of the sequential rate.
    /// Pieces that are smaller should be read with what lies between them.
    #[must_use]
    pub fn least_random_read(&self) -> u64 {
        let depth = self.depth(Access::RandomRead);
        let enough = self.rate(Access::SequentialRead, 1 << 20, depth) / 2.0;
        let mut sizes = (9..24).map(|shift| 1 << shift);
        sizes.find(|&size| self.rate(Access::RandomRead, size, depth) >= enough).unwrap_or(1 << 24)
    }

    /// The fewest requests in flight, of those measured, that reach nine tenths of the best rate of this access at its
    /// largest request, or at its smallest if it is random: there the depth counts. 1 if nothing was measured.
    #[must_use]
    pub fn depth(&self, access: Access) -> u32 {
        let of = || self.measured.iter().filter(move |measured| measured.access == access);
        let sizes = of().map(|measured| measured.request);
        let Some(request) = (if access.is_random() { sizes.min() } else { sizes.max() }) else { return 1 };
        let row = || of().filter(|measured| measured.request == request);
        let best = row().map(|measured| measured.rate).fold(0.0, f64::max);
        row().filter(|measured| measured.rate >= 0.9 * best).map(|measured| measured.depth).min().unwrap_or(1)
    }

    /// How long ago the measurement ended. Zero if the clock was turned back.
    #[must_use]
    pub fn age(&self) -> Duration {
        Duration::from_secs(now().saturating_sub(self.taken))
    }
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
