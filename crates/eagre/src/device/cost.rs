//! How long each plan of an external sort takes on a device, as far as its profile tells.
//!
//! A plan is a list of phases. In a phase some bytes are read, some are written, and the processor works; the three go on
//! at the same time, so the slowest decides. Reads and writes of one device share it: together they take the sum of what
//! each takes alone, divided by what [overlapping them gains](Profile::overlap). Where files live in memory, or in the page
//! cache, moving their bytes is work of the processor.
//!
//! | plan | phases |
//! |---|---|
//! | [`InMemory`](Way::InMemory) | read all; sort; gather the records and write them |
//! | [`OnePass`](Way::OnePass) | read the keys; sort (key, pointer) entries in memory; gather the records from the input by random reads, and write them |
//! | [`MergePass`](Way::MergePass) | as `OnePass`, but the entries are sorted in runs on storage, and merged |
//! | [`Classic`](Way::Classic) | runs of whole records on storage, merged in as many passes as it takes |
//!
//! The functions are pure: they look at no file and no clock.

use super::profile::{Access, Profile};

/// What is to be sorted, and with what.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The bytes of the input.
    pub input: u64,
    /// The mean bytes of a record; at least 1.
    pub record: f64,
    /// The bytes of a key.
    pub key: u64,
    /// The bytes of memory that may be used.
    pub memory: u64,
    /// The threads that may be used.
    pub threads: u32,
    /// The part of the input that is in the page cache, from 0 to 1.
    pub cached: f64,
    /// How many bytes of the input the page cache keeps once they are read. 0 where that cannot be counted on.
    pub page_cache: u64,
    /// Whether the place of a key is known without reading the values before it: records of a fixed size.
    pub strided: bool,
    /// Whether records are found by looking at all bytes: lines.
    pub text: bool,
}

/// The profiles of the devices of a sort. They may be the same.
#[derive(Clone, Copy, Debug)]
pub struct Devices<'a> {
    /// Where the input is.
    pub input: &'a Profile,
    /// Where runs are kept.
    pub temporary: &'a Profile,
    /// Where the output goes.
    pub output: &'a Profile,
}

impl<'a> Devices<'a> {
    /// Everything on one device.
    #[must_use]
    pub fn one(profile: &'a Profile) -> Devices<'a> {
        Devices { input: profile, temporary: profile, output: profile }
    }
}

/// What one thread of this processor does.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Processor {
    /// Entries sorted per second.
    pub sort: f64,
    /// Seconds to find and prefetch a record in memory that is to be copied.
    pub find: f64,
    /// Bytes copied per second.
    pub copy: f64,
    /// Records merged per second.
    pub merge: f64,
    /// Bytes of text per second in which records and keys are found.
    pub parse: f64,
    /// Bytes of fresh memory per second: the kernel clears its pages. One thread reads into it.
    pub fresh: f64,
}

impl Default for Processor {
    /// A server of 2025, measured with records of 100 bytes.
    fn default() -> Processor {
        Processor { sort: 60e6, find: 35e-9, copy: 8e9, merge: 12e6, parse: 1.5e9, fresh: 2e9 }
    }
}

/// A way to sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Way {
    /// All records in memory.
    InMemory,
    /// Keys and pointers in memory; records stay in the input until they are written.
    OnePass,
    /// Keys and pointers in runs; records stay in the input.
    MergePass,
    /// Runs of whole records.
    Classic,
}

impl Way {
    /// All of them.
    pub const ALL: [Way; 4] = [Way::InMemory, Way::OnePass, Way::MergePass, Way::Classic];
}

/// What a phase waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// For its threads.
    Processor,
    /// For its devices.
    Device,
}

/// A part of a plan.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Phase {
    /// What is done.
    pub name: &'static str,
    /// The bytes read from files.
    pub read: u64,
    /// The bytes written to files.
    pub written: u64,
    /// How long it takes.
    pub seconds: f64,
    /// What it waits for.
    pub limit: Limit,
}

/// How long a plan takes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// The plan.
    pub way: Way,
    /// Its phases, one after the other.
    pub phases: Vec<Phase>,
}

impl Estimate {
    /// All phases together.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.phases.iter().map(|phase| phase.seconds).sum()
    }
}

/// The bytes of a key prefix with its pointer.
const ENTRY: u64 = 16;
/// The bytes of a request for sequential transfers, and how many are in flight.
const REQUEST: u64 = 1 << 20;
const DEPTH: u32 = 4;
/// How many random requests are in flight.
const RANDOM_DEPTH: u32 = 16;
/// The least that a merge keeps in memory of each run: a block that is read, and one that is merged.
const PER_RUN: u64 = 2 * REQUEST;
/// What the buffers of reading and writing take at most, and as a part of the memory.
const BUFFERS: u64 = 64 << 20;

/// The time that a plan takes. `None` if it does not fit in the memory.
#[must_use]
pub fn predict(way: Way, job: &Job, devices: &Devices<'_>, processor: &Processor) -> Option<Estimate> {
    let model = Sorting { job, devices, processor };
    let phases = match way {
        Way::InMemory => model.in_memory(),
        Way::OnePass => model.one_pass(),
        Way::MergePass => Some(model.merge_pass()),
        Way::Classic => Some(model.classic()),
    };
    phases.map(|phases| Estimate { way, phases })
}

/// All plans that fit in the memory, the fastest first.
#[must_use]
pub fn rank(job: &Job, devices: &Devices<'_>, processor: &Processor) -> Vec<Estimate> {
    let mut all: Vec<_> = Way::ALL.into_iter().filter_map(|way| predict(way, job, devices, processor)).collect();
    all.sort_by(|a, b| a.seconds().total_cmp(&b.seconds()));
    all
}

/// Bytes on their way from or to a device.
#[derive(Clone, Copy)]
struct Transfer<'a> {
    profile: &'a Profile,
    bytes: u64,
    /// What the device needs for them, and what the threads need, in seconds.
    device: f64,
    threads: f64,
}

struct Sorting<'a> {
    job: &'a Job,
    devices: &'a Devices<'a>,
    processor: &'a Processor,
}

impl<'a> Sorting<'a> {
    fn in_memory(&self) -> Option<Vec<Phase>> {
        let all = self.job.input as f64 + self.records() * ENTRY as f64;
        if all > self.room() {
            return None;
        }
        let read = self.read_input();
        let write = self.write(self.devices.output, self.job.input);
        Some(vec![
            self.phase("read", Some(read), None, self.parse() + self.fresh(all)),
            self.phase("sort", None, None, self.sort()),
            self.phase("write", None, Some(write), self.copy_records()),
        ])
    }

    fn one_pass(&self) -> Option<Vec<Phase>> {
        let entries = self.records() * ENTRY as f64;
        if entries > self.room() {
            return None;
        }
        let write = self.write(self.devices.output, self.job.input);
        Some(vec![
            self.phase("read keys", Some(self.read_keys()), None, self.parse() + self.fresh(entries)),
            self.phase("sort", None, None, self.sort()),
            self.phase("gather and write", Some(self.gather()), Some(write), 0.0),
        ])
    }

    fn merge_pass(&self) -> Vec<Phase> {
        let entries = (self.records() * ENTRY as f64) as u64;
        let temporary = self.devices.temporary;
        let runs = (entries as f64 / self.room()).ceil();
        let keys = self.phase(
            "read keys, write runs",
            Some(self.read_keys()),
            Some(self.write(temporary, entries)),
            self.parse() + self.sort() + self.fresh(entries as f64),
        );
        let mut phases = vec![keys];
        for _ in 1..self.passes(runs) {
            let (read, write) = (self.read(temporary, entries), self.write(temporary, entries));
            phases.push(self.merging("merge keys", read, write));
        }
        // The entries come from the runs, and the records from the input.
        let gather = self.gather();
        let entries = self.read(temporary, entries);
        let shared = entries.profile.identity.is_same_device(&gather.profile.identity);
        let both = Transfer {
            bytes: gather.bytes.saturating_add(entries.bytes),
            device: if shared { gather.device + entries.device } else { gather.device.max(entries.device) },
            threads: gather.threads + entries.threads,
            ..gather
        };
        let write = self.write(self.devices.output, self.job.input);
        phases.push(self.merging("merge keys, gather and write", both, write));
        phases
    }

    fn classic(&self) -> Vec<Phase> {
        let (input, temporary) = (self.job.input, self.devices.temporary);
        // A run has its records and their entries in memory.
        let run = self.room() * self.record() / (self.record() + ENTRY as f64);
        let runs = (input as f64 / run).ceil();
        let work = self.parse() + self.sort() + self.copy_records() + self.fresh(input as f64);
        let first = self.phase("write runs", Some(self.read_input()), Some(self.write(temporary, input)), work);
        let mut phases = vec![first];
        let passes = self.passes(runs);
        for pass in 0..passes {
            let last = pass + 1 == passes;
            let (name, to) = if last { ("merge", self.devices.output) } else { ("merge runs", temporary) };
            let (read, write) = (self.read(temporary, input), self.write(to, input));
            let work = self.merge() + input as f64 / self.processor.copy;
            phases.push(self.phase(name, Some(read), Some(write), work / self.threads()));
        }
        phases
    }

    fn records(&self) -> f64 {
        self.job.input as f64 / self.record()
    }

    fn record(&self) -> f64 {
        self.job.record.max(1.0)
    }

    fn threads(&self) -> f64 {
        f64::from(self.job.threads.max(1))
    }

    /// The bytes of memory without the buffers.
    fn room(&self) -> f64 {
        let memory = self.job.memory;
        memory.saturating_sub((memory / 4).min(BUFFERS)).max(1) as f64
    }

    /// How often runs are merged until there is one.
    fn passes(&self, runs: f64) -> u32 {
        let ways = (self.room() / PER_RUN as f64).floor().max(2.0);
        let (mut left, mut passes) = (runs, 1);
        while left > ways {
            left = (left / ways).ceil();
            passes += 1;
        }
        passes
    }

    /// The work of all threads, in seconds.
    fn sort(&self) -> f64 {
        self.records() / self.processor.sort / self.threads()
    }

    fn parse(&self) -> f64 {
        if self.job.text { self.job.input as f64 / self.processor.parse / self.threads() } else { 0.0 }
    }

    /// Taking `bytes` bytes of fresh memory, as far as the budget goes.
    fn fresh(&self, bytes: f64) -> f64 {
        bytes.min(self.room()) / self.processor.fresh
    }

    /// Copying records that are in memory, in another order.
    fn copy_records(&self) -> f64 {
        let Processor { find, copy, .. } = self.processor;
        (self.records() * find + self.job.input as f64 / copy) / self.threads()
    }

    /// The work of merging, in seconds of one thread.
    fn merge(&self) -> f64 {
        self.records() / self.processor.merge
    }

    /// How much of the input needs no device: before it is read, and once it has been.
    fn cached(&self) -> (f64, f64) {
        if self.devices.input.identity.is_byte_addressable() {
            return (1.0, 1.0);
        }
        let before = self.job.cached.clamp(0.0, 1.0);
        (before, if self.job.page_cache >= self.job.input { 1.0 } else { before })
    }

    /// All of the input, in order.
    fn read_input(&self) -> Transfer<'a> {
        let (cached, _) = self.cached();
        self.in_order(self.devices.input, self.job.input, cached)
    }

    /// The keys of the input: with the values between them, or without where that is faster.
    fn read_keys(&self) -> Transfer<'a> {
        let whole = self.read_input();
        let profile = self.devices.input;
        let (cached, kept) = self.cached();
        // Reading everything brings the values into the page cache, where they will be gathered.
        if !self.job.strided || kept > cached {
            return whole;
        }
        let keys = self.pieces(profile, self.job.key.max(1) as f64, cached);
        if keys.device.max(keys.threads) < whole.device.max(whole.threads) { keys } else { whole }
    }

    /// All records of the input, in any order.
    fn gather(&self) -> Transfer<'a> {
        let (_, kept) = self.cached();
        self.pieces(self.devices.input, self.record(), kept)
    }

    /// One piece of each record of the input, `cached` of them in the page cache.
    fn pieces(&self, profile: &'a Profile, piece: f64, cached: f64) -> Transfer<'a> {
        let threads = self.job.threads;
        // Past the page cache, whole blocks move. Some devices are slow with the smallest that they take.
        let small = f64::from(profile.identity.direct.unwrap_or(4096));
        let (moved, one) = [small, small.max(4096.0)]
            .map(|block| ((1.0 + (piece - 1.0) / block).ceil() * block) as u64)
            .map(|moved| (moved, profile.seconds(Access::RandomRead, moved, moved, RANDOM_DEPTH)))
            .into_iter()
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .unwrap_or_default();
        let one_cached = piece / profile.rate(Access::CachedGather, piece as u64, threads);
        let (count, cold) = (self.records(), 1.0 - cached);
        Transfer {
            profile,
            bytes: (count * (cold * moved as f64 + cached * piece)) as u64,
            device: count * cold * one,
            threads: count * cached * one_cached,
        }
    }

    /// Bytes of a run.
    fn read(&self, profile: &'a Profile, bytes: u64) -> Transfer<'a> {
        self.in_order(profile, bytes, if profile.identity.is_byte_addressable() { 1.0 } else { 0.0 })
    }

    fn in_order(&self, profile: &'a Profile, bytes: u64, cached: f64) -> Transfer<'a> {
        let all = bytes as f64;
        let memory = profile.rate(Access::CachedRead, 256 << 10, self.job.threads);
        let device = profile.rate(Access::SequentialRead, REQUEST, DEPTH);
        Transfer { profile, bytes, device: all * (1.0 - cached) / device, threads: all * cached / memory }
    }

    fn write(&self, profile: &'a Profile, bytes: u64) -> Transfer<'a> {
        let none = Transfer { profile, bytes, device: 0.0, threads: 0.0 };
        if profile.identity.is_byte_addressable() {
            return Transfer {
                threads: profile.seconds(Access::SequentialWrite, bytes, REQUEST, self.job.threads),
                ..none
            };
        }
        Transfer { device: profile.seconds(Access::SequentialWrite, bytes, REQUEST, DEPTH), ..none }
    }

    /// A phase in which one thread merges, while the others do the rest.
    fn merging(&self, name: &'static str, read: Transfer<'_>, write: Transfer<'_>) -> Phase {
        let phase = self.phase(name, Some(read), Some(write), self.merge() / self.threads());
        if self.merge() > phase.seconds {
            return Phase { seconds: self.merge(), limit: Limit::Processor, ..phase };
        }
        phase
    }

    /// Everything at once. `work` is what the threads do beside the transfers, in seconds.
    fn phase(&self, name: &'static str, read: Option<Transfer<'_>>, write: Option<Transfer<'_>>, work: f64) -> Phase {
        let of = |transfer: Option<Transfer<'_>>| transfer.map_or((0, 0.0, 0.0), |t| (t.bytes, t.device, t.threads));
        let ((read_bytes, reading, a), (written, writing, b)) = (of(read), of(write));
        let device = match (read, write) {
            (Some(from), Some(to)) if from.profile.identity.is_same_device(&to.profile.identity) => {
                ((reading + writing) / from.profile.overlap().clamp(1.0, 2.0)).max(reading.max(writing))
            }
            _ => reading.max(writing),
        };
        let threads = work + a + b;
        let limit = if device > threads { Limit::Device } else { Limit::Processor };
        Phase { name, read: read_bytes, written, seconds: device.max(threads), limit }
    }
}
