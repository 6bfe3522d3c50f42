//! One measurement: threads that do nothing but requests for a while, and how many bytes they moved.

use std::fs::File;
use std::hint::black_box;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use eagre_mem::Mapping;
use eagre_mem::threads::with_helpers;

use crate::file::cache::Buffer;

/// What some threads do to a file.
pub(super) struct Load<'a> {
    pub(super) file: &'a File,
    pub(super) write: bool,
    pub(super) random: bool,
    /// Bytes of a request.
    pub(super) request: usize,
    /// How many threads.
    pub(super) depth: u32,
    /// The bytes of the file that they use: whole requests.
    pub(super) region: u64,
    /// Whether sequential requests begin again where the region ends. Otherwise they end there.
    pub(super) again: bool,
    /// Whether the bytes must be durable in the end.
    pub(super) durable: bool,
}

/// What came of a load.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moved {
    pub(super) bytes: u64,
    pub(super) seconds: f64,
}

impl Moved {
    pub(super) fn rate(self) -> f64 {
        self.bytes as f64 / self.seconds
    }
}

/// A thread of a load.
struct Lane<'a> {
    load: &'a Load<'a>,
    /// The next byte of a sequential load.
    next: &'a AtomicU64,
    buffer: Buffer,
    random: Random,
    began: Instant,
    ended: Instant,
    bytes: u64,
    error: Option<io::Error>,
}

impl Lane<'_> {
    /// Makes requests until `time` is over, but one at least.
    fn run(&mut self, time: Duration, start: Instant) {
        self.began = Instant::now();
        loop {
            match self.request() {
                Ok(0) => break,
                Ok(bytes) => self.bytes += bytes as u64,
                Err(error) => {
                    self.error = Some(error);
                    break;
                }
            }
            if start.elapsed() >= time {
                break;
            }
        }
        if self.load.durable && self.error.is_none() {
            self.error = self.load.file.sync_data().err();
        }
        self.ended = Instant::now();
    }

    /// One request; 0 at the end of the region.
    fn request(&mut self) -> io::Result<usize> {
        let Load { file, write, random, request, region, again, .. } = *self.load;
        let requests = region / request as u64;
        let number = if random { self.random.next() } else { self.next.fetch_add(1, Relaxed) };
        if requests == 0 || (!random && !again && number >= requests) {
            return Ok(0);
        }
        let offset = number % requests * request as u64;
        let bytes = self.buffer.bytes(request);
        loop {
            match if write { file.write_at(bytes, offset) } else { file.read_at(bytes, offset) } {
                // Another program cannot have the file, so it has all its bytes.
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                moved => return moved,
            }
        }
    }
}

/// Runs several loads at the same time, each with its threads.
pub(super) fn run(loads: &[Load<'_>], time: Duration) -> io::Result<Vec<Moved>> {
    let next: Vec<AtomicU64> = loads.iter().map(|_| AtomicU64::new(0)).collect();
    let mut lanes = Vec::new();
    for (load, next) in loads.iter().zip(&next) {
        for _ in 0..load.depth {
            let mut random = Random(lanes.len() as u64 + 1);
            let mut buffer = Buffer::new(load.request)?;
            // Bytes that no file system and no disk can make fewer of.
            random.fill(buffer.bytes(load.request));
            let now = Instant::now();
            let lane = Lane { load, next, buffer, random, began: now, ended: now, bytes: 0, error: None };
            lanes.push(Mutex::new(lane));
        }
    }
    let (turn, start) = (AtomicUsize::new(0), Instant::now());
    let work = || {
        if let Some(lane) = lanes.get(turn.fetch_add(1, Relaxed)) {
            lane.lock().unwrap_or_else(PoisonError::into_inner).run(time, start);
        }
    };
    with_helpers(Some(c"eagre-device"), lanes.len().saturating_sub(1), &work, work);
    let mut lanes = lanes.into_iter().map(|lane| lane.into_inner().unwrap_or_else(PoisonError::into_inner));
    loads.iter().map(|load| summed(lanes.by_ref().take(load.depth as usize))).collect()
}

fn summed<'a>(lanes: impl Iterator<Item = Lane<'a>>) -> io::Result<Moved> {
    let mut sum: Option<(u64, Instant, Instant)> = None;
    for lane in lanes {
        if let Some(error) = lane.error {
            return Err(error);
        }
        // A thread that the system refused did nothing.
        if lane.bytes > 0 {
            let (bytes, began, ended) = sum.unwrap_or((0, lane.began, lane.ended));
            sum = Some((bytes + lane.bytes, began.min(lane.began), ended.max(lane.ended)));
        }
    }
    let (bytes, began, ended) = sum.ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok(Moved { bytes, seconds: (ended - began).as_secs_f64().max(1e-9) })
}

/// How many places are touched before the first of them is copied: the processor fetches them at the same time.
const AHEAD: usize = 32;

/// Copies pieces of `piece` bytes from random places of a mapped file, with `threads` threads.
pub(super) fn gather(mapping: &Mapping, piece: usize, threads: u32, time: Duration) -> io::Result<Moved> {
    let (turn, start) = (AtomicU64::new(1), Instant::now());
    let (bytes, trouble) = (AtomicU64::new(0), Mutex::new(None));
    let work = || {
        let mut random = Random(turn.fetch_add(1, Relaxed));
        let copied = mapping.look(0..mapping.len(), |all| copy_pieces(all, piece, &mut random, time, start));
        match copied {
            Ok(copied) => drop(bytes.fetch_add(copied, Relaxed)),
            Err(error) => *trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error),
        }
    };
    with_helpers(Some(c"eagre-device"), threads.saturating_sub(1) as usize, &work, work);
    match trouble.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(io::Error::other(error)),
        None => Ok(Moved { bytes: bytes.into_inner(), seconds: start.elapsed().as_secs_f64().max(1e-9) }),
    }
}

fn copy_pieces(all: &[u8], piece: usize, random: &mut Random, time: Duration, start: Instant) -> u64 {
    let Some(places) = all.len().checked_sub(piece).map(|last| last as u64 + 1) else { return 0 };
    // The target stays in the first-level cache, as the block of an output that is being filled does.
    let mut target = [0u8; 16 << 10];
    let mut offsets = [0usize; AHEAD];
    let mut copied = 0u64;
    loop {
        for _ in 0..AHEAD {
            let mut touched = 0;
            for offset in &mut offsets {
                *offset = (random.next() % places) as usize;
                touched ^= all[*offset] ^ all[*offset + piece - 1];
            }
            black_box(touched);
            for &offset in &offsets {
                let room = &mut target[..piece];
                room.copy_from_slice(&all[offset..offset + piece]);
                black_box(room);
            }
        }
        copied += (AHEAD * AHEAD * piece) as u64;
        if start.elapsed() >= time {
            return copied;
        }
    }
}

/// Numbers that look random (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        for word in bytes.chunks_mut(8) {
            word.copy_from_slice(&self.next().to_le_bytes()[..word.len()]);
        }
    }
}
