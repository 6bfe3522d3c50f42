//! What is measured, in which order, and for how long.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use eagre_mem::Mapping;

use super::bench::{self, Load, Moved};
use super::identity::Identity;
use super::profile::{Access, Measured, Profile, Thoroughness};
use super::scratch::Scratch;
use crate::doctor;
use crate::file::failure::Task;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The largest request. Scratch files are multiples of it.
const LARGEST: u64 = 4 * MIB;
/// The scratch file that is read: larger than the caches of processors, and than those of most disks.
const DATA: u64 = 1 << 30;
/// On a file system in memory, and where bytes are brought into the page cache.
const DATA_IN_MEMORY: u64 = 256 * MIB;
/// For a probe.
const DATA_OF_PROBE: u64 = 64 * MIB;
/// Pieces that are gathered: records with short, usual and long values.
const PIECES: [u64; 4] = [16, 100, 256, 1024];

/// How far a measurement has come.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Step {
    /// How many measurements are done.
    pub done: u32,
    /// How many there are.
    pub of: u32,
    /// What is measured next.
    pub next: Access,
    /// The bytes of its requests.
    pub request: u64,
    /// How many of them will be in flight.
    pub depth: u32,
}

/// A measurement to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    access: Access,
    request: u64,
    depth: u32,
}

impl Profile {
    /// Measures the file system of `directory` with scratch files that have no name. It takes about `budget`, at most 30
    /// seconds unless the device is very slow, and no more than an eighth of the free room (1.5 GB at most). With less time
    /// the numbers are less exact. `progress` is called before each of the measurements, and can end them.
    ///
    /// The numbers are right only if nothing else uses the device meanwhile.
    ///
    /// # Errors
    /// Those of the system, with the name of the directory: it does not exist or may not be written, it has less than 192
    /// MiB of free room, or a request fails. `Interrupted` if `progress` said `Break`.
    pub fn measure(
        directory: &Path,
        budget: Duration,
        progress: &mut dyn FnMut(&Step) -> ControlFlow<()>,
    ) -> io::Result<Profile> {
        let budget = budget.min(Duration::from_secs(30));
        take(directory, &full(), Thoroughness::Full, DATA, budget, progress).map_err(|error| named(directory, &error))
    }

    /// Measures, in half a second, the numbers without which no plan can be chosen: sequential reads and writes, small
    /// random reads, and reads of small pieces from the page cache. For programs that need a profile now, when
    /// [`Profile::load`] has none.
    ///
    /// # Errors
    /// As [`Profile::measure`], but 48 MiB of free room are enough.
    pub fn probe(directory: &Path) -> io::Result<Profile> {
        let budget = Duration::from_millis(300);
        let whatever = &mut |_: &Step| ControlFlow::Continue(());
        take(directory, &essential(), Thoroughness::Probe, DATA_OF_PROBE, budget, whatever)
            .map_err(|error| named(directory, &error))
    }
}

fn named(directory: &Path, error: &io::Error) -> io::Error {
    Task::of("measure", directory).error(error)
}

/// All measurements. Those of the page cache come last: what is in it may not be changed past it.
pub(super) fn full() -> Vec<Cell> {
    let mut cells = Vec::new();
    let mut add = |access, requests: &[u64], depths: &[u32]| {
        for &request in requests {
            cells.extend(depths.iter().map(|&depth| Cell { access, request, depth }));
        }
    };
    let large = [64 * KIB, 256 * KIB, MIB, 4 * MIB];
    add(Access::SequentialWrite, &large, &[1, 2, 4]);
    add(Access::DurableWrite, &[MIB], &[1]);
    add(Access::SequentialRead, &large, &[1, 2, 4, 8]);
    add(Access::RandomRead, &[512, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB], &[1, 4, 16, 32]);
    add(Access::RandomWrite, &[4 * KIB, 64 * KIB, 256 * KIB], &[1, 4, 16]);
    // Both at once, with as many readers as writers.
    add(Access::ReadBesideWrite, &[MIB], &[1, 4]);
    add(Access::CachedRead, &[256 * KIB], &[1, 2, 4]);
    add(Access::CachedGather, &PIECES, &[1, 2, 4]);
    cells
}

/// The measurements of a probe.
pub(super) fn essential() -> Vec<Cell> {
    let threads = u32::try_from(eagre_mem::threads::available().get()).unwrap_or(1);
    vec![
        Cell { access: Access::SequentialRead, request: MIB, depth: 4 },
        Cell { access: Access::RandomRead, request: 4 * KIB, depth: 16 },
        Cell { access: Access::CachedRead, request: 256 * KIB, depth: threads },
        Cell { access: Access::CachedGather, request: 100, depth: threads },
        Cell { access: Access::CachedGather, request: 1024, depth: threads },
    ]
}

pub(super) fn take(
    directory: &Path,
    cells: &[Cell],
    thoroughness: Thoroughness,
    most: u64,
    budget: Duration,
    progress: &mut dyn FnMut(&Step) -> ControlFlow<()>,
) -> io::Result<Profile> {
    let started = Instant::now();
    let mut identity = Identity::of(directory)?;
    let mut bench = Bench::new(directory, &mut identity, most, thoroughness)?;
    // The first write is a measurement too.
    let mut measured = vec![bench.lay(budget / 6)?];
    for (done, cell) in cells.iter().enumerate() {
        let &Cell { access: next, request, depth } = cell;
        let step = Step { done: done as u32, of: cells.len() as u32, next, request, depth };
        if progress(&step).is_break() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        // What one measurement takes longer, the others have less. A tenth is for what lies between them.
        let left = budget.saturating_sub(started.elapsed()) * 9 / 10;
        let time = left / (cells.len() - done) as u32;
        measured.extend(bench.measure(cell, time)?);
    }
    measured.sort_by_key(|measured| (measured.access, measured.request, measured.depth));
    // What was laid down first is measured once more, and then better.
    measured.reverse();
    measured.dedup_by_key(|measured| (measured.access, measured.request, measured.depth));
    measured.reverse();
    Ok(Profile::new(identity, thoroughness, measured))
}

/// The scratch files.
struct Bench {
    /// Read, and written at random places.
    data: Scratch,
    /// Its bytes.
    region: u64,
    /// Written from its beginning. Not for a probe.
    sink: Option<Scratch>,
    /// The most bytes of it.
    sink_region: u64,
    /// Requests past the page cache are multiples of this.
    alignment: u64,
    /// The part of `data` that was brought into the page cache: its bytes, and a mapping of them if there can be one.
    warm: Option<(u64, Option<Mapping>)>,
}

impl Bench {
    fn new(directory: &Path, identity: &mut Identity, most: u64, thoroughness: Thoroughness) -> io::Result<Bench> {
        let room = rustix::fs::statvfs(directory)?;
        // Some file systems do not count blocks.
        let free = if room.f_blocks == 0 { u64::MAX } else { room.f_bavail.saturating_mul(room.f_frsize) };
        let most = if identity.in_memory { most.min(DATA_IN_MEMORY).min(spare_memory()) } else { most };
        // Both files together take an eighth of the room.
        let region = most.min(free / 12) / LARGEST * LARGEST;
        let least = if thoroughness == Thoroughness::Probe { LARGEST } else { 4 * LARGEST };
        if region < least {
            return Err(rustix::io::Errno::NOSPC.into());
        }
        let sink_region = (region / 2).next_multiple_of(LARGEST);
        let data = Scratch::new(directory, region + sink_region)?;
        identity.look_at(data.cached());
        let sink = match thoroughness {
            Thoroughness::Full => Some(Scratch::new(directory, region + sink_region)?),
            Thoroughness::Probe => None,
        };
        let mut bench = Bench { data, region, sink, sink_region, alignment: 1, warm: None };
        // Some file systems open files for transfers past the page cache, and then refuse these.
        let first = load(bench.data.direct(), Access::SequentialWrite, LARGEST, 1, LARGEST);
        if one(first, Duration::ZERO).is_err() {
            for scratch in [Some(&mut bench.data), bench.sink.as_mut()].into_iter().flatten() {
                scratch.give_up_direct();
            }
        }
        if !bench.data.is_direct() {
            identity.direct = None;
        }
        bench.alignment = identity.direct.map_or(1, u64::from);
        Ok(bench)
    }

    /// Writes the file that is read later, as far as that goes in `time`.
    fn lay(&mut self, time: Duration) -> io::Result<Measured> {
        self.data.restart(self.region)?;
        let load = Load { again: false, ..load(self.data.direct(), Access::SequentialWrite, MIB, 4, self.region) };
        let moved = one(load, time)?;
        self.region = (moved.bytes / LARGEST * LARGEST).max(LARGEST);
        self.data.cached().set_len(self.region)?;
        Ok(Measured::new(Access::SequentialWrite, MIB, 4, moved.rate()))
    }

    /// Nothing, if this device has no such requests.
    fn measure(&mut self, cell: &Cell, time: Duration) -> io::Result<Vec<Measured>> {
        let &Cell { access, request, depth } = cell;
        let moved = match access {
            Access::CachedRead | Access::CachedGather => match self.cached(cell, time)? {
                Some(moved) => moved,
                None => return Ok(Vec::new()),
            },
            _ if !request.is_multiple_of(self.alignment) => return Ok(Vec::new()),
            Access::ReadBesideWrite | Access::WriteBesideRead => return self.beside(cell, time),
            Access::SequentialWrite | Access::DurableWrite => self.written(cell, time)?,
            Access::SequentialRead | Access::RandomRead | Access::RandomWrite => {
                if !self.data.is_direct() {
                    self.data.forget();
                }
                one(load(self.data.direct(), access, request, depth, self.region), time)?
            }
        };
        Ok(vec![Measured::new(access, request, depth, moved.rate())])
    }

    fn sink(&self) -> &Scratch {
        self.sink.as_ref().unwrap_or(&self.data)
    }

    /// Writes into fresh space.
    fn written(&self, cell: &Cell, time: Duration) -> io::Result<Moved> {
        let &Cell { access, request, depth } = cell;
        let durable = access == Access::DurableWrite;
        self.sink().restart(self.sink_region)?;
        let file = if durable { self.sink().cached() } else { self.sink().direct() };
        let load = load(file, access, request, depth, self.sink_region);
        // A buffer that is filled at the speed of memory takes longer to become durable: less of it.
        let time = if durable { time / 4 } else { time };
        one(Load { again: false, durable, ..load }, time)
    }

    /// Reads one file and writes the other.
    fn beside(&self, cell: &Cell, time: Duration) -> io::Result<Vec<Measured>> {
        let &Cell { request, depth, .. } = cell;
        self.sink().restart(self.sink_region)?;
        if !self.data.is_direct() {
            self.data.forget();
        }
        let reads = load(self.data.direct(), Access::SequentialRead, request, depth, self.region);
        let writes = load(self.sink().direct(), Access::SequentialWrite, request, depth, self.sink_region);
        let moved = bench::run(&[reads, writes], time)?;
        let both = [Access::ReadBesideWrite, Access::WriteBesideRead];
        Ok(both
            .into_iter()
            .zip(moved)
            .map(|(access, moved)| Measured::new(access, request, depth, moved.rate()))
            .collect())
    }

    /// Reads bytes that are in the page cache. `None` if they cannot be mapped.
    fn cached(&mut self, cell: &Cell, time: Duration) -> io::Result<Option<Moved>> {
        let &Cell { access, request, depth } = cell;
        let (region, mapping) = match &mut self.warm {
            Some(warm) => warm,
            none => {
                let region = self.region.min(DATA_IN_MEMORY).min(spare_memory()) / LARGEST * LARGEST;
                let region = region.max(LARGEST);
                let all = Load { again: false, ..load(self.data.cached(), Access::CachedRead, MIB, 1, region) };
                one(all, Duration::MAX)?;
                let mapping = Mapping::new(self.data.cached(), 0, region as usize).ok();
                if let Some(mapping) = &mapping {
                    mapping.populate(0..region as usize);
                }
                none.insert((region, mapping))
            }
        };
        match (access, mapping) {
            (Access::CachedGather, None) => Ok(None),
            (Access::CachedGather, Some(mapping)) => bench::gather(mapping, request as usize, depth, time).map(Some),
            _ => one(load(self.data.cached(), access, request, depth, *region), time).map(Some),
        }
    }
}

fn load(file: &std::fs::File, access: Access, request: u64, depth: u32, region: u64) -> Load<'_> {
    let (write, random) = (access.is_write(), access.is_random());
    Load { file, write, random, request: request as usize, depth, region, again: true, durable: false }
}

fn one(load: Load<'_>, time: Duration) -> io::Result<Moved> {
    Ok(bench::run(&[load], time)?[0])
}

/// A quarter of what this process may still take, so that nobody else is pushed out.
fn spare_memory() -> u64 {
    doctor::available_memory().map_or(DATA_IN_MEMORY, |left| left.bytes / 4)
}
